package release

import (
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// A State is what is known of a Helm release and of its Release, in the order of an installation.
type State int

const (
	// Absent is the state without a Release.
	Absent State = iota
	// Outdated says that nothing is deployed, and the provider hasn't done yet what the Release asks for now.
	Outdated
	// Installing says that the provider does what the Release asks for, and Helm has no result yet.
	Installing
	// CutShort says that Helm was ended in the middle of an installation or upgrade. It doesn't go on with it.
	CutShort
	// Failed says that Helm has failed with what the Release asks for.
	Failed
	// Changing says that a release is deployed, and the provider hasn't done yet what the Release asks for now.
	Changing
	// Unready says that the release is deployed as the Release asks for, and the provider says that something is wrong,
	// or nothing yet.
	Unready
	// Deployed says that the release is deployed as the Release asks for.
	Deployed
)

// StateOf determines the state of a Release.
func StateOf(c wire.Composed) State {
	helms, synced := c.String("status", "atProvider", "state"), c.Condition("Synced")
	switch deployed := helms == "deployed"; {
	case !c.Exists():
		return Absent
	case helms == "pending-install" || helms == "pending-upgrade":
		return CutShort
	case !c.Current() && deployed:
		return Changing
	case !c.Current():
		return Outdated
	case helms == "failed":
		return Failed
	case !deployed:
		return Installing
	// After an upgrade, provider-helm leaves Ready False until it reads the Release again, ten minutes later.
	case synced.True() || c.Condition("Ready").True() && !synced.False():
		return Deployed
	}
	return Unready
}

// HasDeployed reports whether Helm has deployed a release, as it is wanted or not.
func (s State) HasDeployed() bool { return s >= Changing }

// RollsOut reports whether the provider hasn't done yet what the Release asks for now.
func (s State) RollsOut() bool { return s == Changing || s == Outdated }

// Installed returns the version of a Release's chart that Helm has installed: the one in its spec, once Helm's record has it too, and
// otherwise before. The record alone isn't enough, because the tenant may be able to write it.
func Installed(c wire.Composed, before string) string {
	v := c.String("spec", "forProvider", "chart", "version")
	if StateOf(c).HasDeployed() && c.String("status", "atProvider", "version") == v && v != "" {
		return v
	}
	return before
}

// IsTakenBack reports whether a Release stays as it was before a change that failed, so that its provider may create it, and not update it.
func IsTakenBack(c wire.Composed) bool {
	policies := c.Strings("spec", "managementPolicies")
	return slices.Contains(policies, "Create") && !slices.Contains(policies, "Update")
}

// OnlyObserved reports whether its provider may do nothing with a Release but observe it.
func OnlyObserved(c wire.Composed) bool {
	return slices.Equal(c.Strings("spec", "managementPolicies"), []string{"Observe"})
}

// IsAbsent reports whether Helm has no release of a Release that is only observed: its provider has looked for one, and says so in the words of
// crossplane-runtime, pkg/reconciler/managed.
func IsAbsent(c wire.Composed) bool {
	synced := c.Condition("Synced")
	return OnlyObserved(c) && c.Current() && synced.False() && strings.HasSuffix(synced.Message, "external resource does not exist")
}
