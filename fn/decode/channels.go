package decode

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/fn/channel"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// Names of the requirements for a channel.
const (
	// EnvironmentAPIVersion and EnvironmentKind are those of what a channel publishes.
	EnvironmentAPIVersion = "apiextensions.crossplane.io/v1beta1"
	EnvironmentKind       = "EnvironmentConfig"

	// requiredChannels is for all EnvironmentConfigs, when a claim can't have the channel that
	// it names.
	requiredChannels = "channels"
	// requiredChannel is the prefix for what a channel publishes for all of its tenants.
	requiredChannel = "channel/"
	// requiredAdmission is the prefix for the admission of this tenant. It is required by name,
	// so that a change of it has only this tenant reconciled: Crossplane 2.4 looks up the
	// composite resources that require an object by name, and tries all label selectors
	// (composite/dependency/tracker.go).
	requiredAdmission = "admission/"
)

// channelName returns the channel that a tenant's plan names, or else its claim; "" for none.
func channelName(a tenant.Accepted) string { return cmp.Or(a.Plan.Spec.Channel, a.Spec.Channel) }

// Gate returns what is known of the channel that a names. If nothing is, or the claim's namespace
// isn't in the channel's list any more, its Problem says so.
func Gate(req *fnv1.RunFunctionRequest, r tenant.Given, a tenant.Accepted) tenant.Gate {
	g, err := findChannel(req, r, a)
	if err == nil && a.Plan.Spec.Channel == "" && g.Name != "" {
		err = mayName(g, r.Claim.Namespace)
	}
	if err != nil && g.Problem == "" {
		g.Problem = err.Error()
	}
	return g
}

// findChannel returns what is known of the channel that a names. It returns ErrUnread if
// Crossplane hasn't read the channel yet, and an error that names the field if there is no such
// channel or it can't be used.
func findChannel(req *fnv1.RunFunctionRequest, r tenant.Given, a tenant.Accepted) (tenant.Gate, error) {
	g := tenant.Gate{Name: channelName(a)}
	if g.Name == "" {
		return g, nil
	}
	field := "spec.channel"
	if a.Plan.Spec.Channel != "" {
		field = a.Plan.At("channel")
	}
	if len(validation.IsValidLabelValue(g.Name)) > 0 {
		return g, fmt.Errorf("%s: %.80q is not the name of a channel: write one such as stable", field, g.Name)
	}
	found, read := wire.Required(req, requiredChannel+g.Name, EnvironmentAPIVersion, EnvironmentKind)
	found = slices.DeleteFunc(found, func(s wire.Struct) bool { return s.String("metadata", "labels", channel.Label) != g.Name })
	switch {
	case !read:
		return g, ErrUnread
	case len(found) > 1:
		return g, fmt.Errorf("%s: EnvironmentConfigs %s all have the label %s: %s: delete all but the one that channel %[4]s has composed", field, names(found), channel.Label, g.Name)
	case len(found) == 0:
		all, read := wire.Required(req, requiredChannels, EnvironmentAPIVersion, EnvironmentKind)
		if !read {
			return g, ErrUnread
		}
		g.Problem = "channel " + g.Name + " doesn't exist"
		return g, fmt.Errorf("%s: %q is unknown: %s", field, g.Name, possibleChannels(all, r.Claim.Namespace))
	}
	data, err := found[0].Get("data").JSON()
	if err == nil {
		err = json.Unmarshal(data, &g.Published)
	}
	if err != nil || g.Published.Digest == "" {
		return g, fmt.Errorf("%s: EnvironmentConfig %s doesn't hold what channel %s writes: see the conditions of the channel", field, names(found), g.Name)
	}
	admission, _ := wire.RequiredObject(req, requiredAdmission+g.Name, "ConfigMap", secretsIn(a), tenant.AdmissionName(g.Name, r.XRName))
	if of := admission.String("data", channel.AdmissionKey); of != "" {
		g.Admission = &channel.Admission{}
		if json.Unmarshal([]byte(of), g.Admission) != nil || g.Admission.Tenant != r.XRName {
			g.Admission = nil
		}
	}
	return g, nil
}

// mayName returns an error if claims of a namespace may not name a channel.
func mayName(g tenant.Gate, namespace string) error {
	ok, err := plan.Lists("spec.namespaces of channel "+g.Name, g.Published.Namespaces, namespace)
	if err == nil && !ok {
		err = fmt.Errorf("spec.channel: channel %s is not for claims of namespace %s: leave it out, or ask whoever runs the platform for a channel", g.Name, namespace)
	}
	return err
}

// possibleChannels returns the end of an error about a channel that doesn't exist: it lists the
// channels that claims of a namespace may name.
func possibleChannels(all []wire.Struct, namespace string) string {
	var there []string
	for _, s := range all {
		name := s.String("metadata", "labels", channel.Label)
		if ok, err := plan.Lists("", s.Strings("data", "namespaces"), namespace); name != "" && ok && err == nil {
			there = append(there, name)
		}
	}
	if slices.Sort(there); len(there) == 0 {
		return "there is no channel to choose from: leave it out"
	}
	return "write one of " + strings.Join(slices.Compact(there), ", ")
}

// requireChannel asks Crossplane for the channel of a tenant, and for the tenant's admission.
func requireChannel(req *fnv1.RunFunctionRequest, selectors map[string]*fnv1.ResourceSelector, xrName string, a tenant.Accepted) {
	name := channelName(a)
	if name == "" || len(validation.IsValidLabelValue(name)) > 0 {
		return
	}
	selectors[requiredChannel+name] = published(map[string]string{channel.Label: name})
	selectors[requiredAdmission+name] = &fnv1.ResourceSelector{
		ApiVersion: "v1", Kind: "ConfigMap", Namespace: proto.String(secretsIn(a)),
		Match: &fnv1.ResourceSelector_MatchName{MatchName: tenant.AdmissionName(name, xrName)},
	}
	if found, read := wire.Required(req, requiredChannel+name, EnvironmentAPIVersion, EnvironmentKind); read && len(found) == 0 {
		selectors[requiredChannels] = published(nil)
	}
}

// published selects EnvironmentConfigs by labels. Without labels, it selects all.
func published(labels map[string]string) *fnv1.ResourceSelector {
	return &fnv1.ResourceSelector{
		ApiVersion: EnvironmentAPIVersion, Kind: EnvironmentKind,
		Match: &fnv1.ResourceSelector_MatchLabels{MatchLabels: &fnv1.MatchLabels{Labels: labels}},
	}
}

func secretsIn(a tenant.Accepted) string {
	return tenant.WithDefaults(a.Input).ConnectionSecretNamespace
}
