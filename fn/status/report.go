// Package status tells users how their tenant is: status fields, conditions,
// events and connection details, all from what is observed.
package status

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/compose"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/core/vcluster"
	"github.com/virtual-argocd/virtual-argocd/fn/few"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/parts"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/accounts"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/clusters"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/hibernation"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// A Report says how a tenant is.
type Report struct {
	v1alpha1.Status
	// Ready reports whether all that the tenant needs is ready.
	Ready bool
	// Why is the reason for the phase that goes into the tenant's record; "" if that is unknown.
	Why string
	// core are the conditions that Ready waits for, and optional those of the parts that the spec has.
	core, optional []condition.Condition
}

// Of returns how a tenant is, of which something is missing.
func Of(t tenant.Tenant, missing compose.Missing) Report {
	r := Report{}
	r.core, r.optional = conditions(t)
	r.Ready = len(missing.Waiting) == 0 && len(missing.NotReady) == 0 && !slices.ContainsFunc(r.core, func(is condition.Condition) bool { return !is.True })
	r.Status = statusOf(t, missing, r.core, r.optional, r.Ready)
	r.Why = why(r.Status, r.core)
	return r
}

func statusOf(t tenant.Tenant, missing compose.Missing, core, optional []condition.Condition, ready bool) v1alpha1.Status {
	was := t.Observed.XR.Get("status", "argocd")
	s := v1alpha1.Status{
		Phase:        phase(t, core, ready),
		Progress:     new(progress(t, ready)),
		ReadyAt:      readyAt(t),
		Message:      message(core, optional, missing),
		Plan:         t.PlanName,
		VersionsHeld: t.VersionsHeld,
		Namespace:    t.Names.Namespace,
		VCluster: &v1alpha1.VClusterStatus{
			KubeconfigSecretName:   t.Names.KubeconfigSecret,
			KubeconfigSecretKey:    tenant.KubeconfigKey,
			HelmProviderName:       t.Names.ProviderConfig,
			KubernetesProviderName: t.Names.ProviderConfig,
			Version:                t.Observed.Running.VCluster,
			KubernetesVersion:      t.Observed.Running.Kubernetes,
			CertificatesExpireAt:   certificatesExpireAt(t),

			DesiredVersion:           t.VirtualCluster.Version,
			DesiredKubernetesVersion: t.Kubernetes,
		},
		ArgoCD: &v1alpha1.ArgoCDStatus{
			Version:      was.String("version"),
			ChartVersion: t.Observed.Running.ArgoCD,
			URL:          was.String("url"),

			DesiredChartVersion: t.ArgoCD.Version,
		},
	}
	if version, known := argocd.RunningVersion(t); known {
		s.ArgoCD.Version = version
	}
	if argocd.Installed(t) {
		s.ArgoCD.URL = tenant.URL(t.Decision)
	}
	s.Applications = argocd.Applications(t)
	if t.Standing.TenantChannel != (v1alpha1.TenantChannel{}) {
		s.Channel = &t.Standing.TenantChannel
	}
	parts.Report(t, &s)
	return s
}

// certificatesExpireAt returns when the virtual cluster's certificates expire. While its
// kubeconfig can't be read, the previous one stays in use, and so does this time.
func certificatesExpireAt(t tenant.Tenant) string {
	if c := t.Observed.Published; c != nil && !c.Expires.IsZero() {
		return c.Expires.UTC().Format(time.RFC3339)
	}
	return t.Observed.XR.String("status", "vcluster", "certificatesExpireAt")
}

// rollsOut reports whether a change that is being rolled out, or was just now, is the only
// reason why the core isn't ready.
func rollsOut(t tenant.Tenant, core []condition.Condition) bool {
	changes := func(name string) bool { return release.StateOf(t.Composed(name)).RollsOut() }
	if !changes(tenant.VClusterRelease) && !changes(tenant.ArgoCDRelease) && !argocd.Settles(t) {
		return false
	}
	return only(core, v1alpha1.ReasonInstalling, v1alpha1.ReasonWaitingForVirtualCluster, v1alpha1.ReasonWaitingForWorkloads)
}

// only reports whether what isn't ready of the core has one of some reasons.
func only(core []condition.Condition, reasons ...string) bool {
	return !slices.ContainsFunc(core, func(c condition.Condition) bool { return !c.True && !slices.Contains(reasons, c.Reason) })
}

// starts reports whether a tenant that was woken may still be starting: it wasn't seen to be awake yet, or no more is known than that
// workloads of Argo CD aren't available.
func starts(t tenant.Tenant, core []condition.Condition) bool {
	return tenant.IsAsleep(t.Observed) ||
		argocd.MayBeStarting(t) && only(core, v1alpha1.ReasonInstalling, v1alpha1.ReasonWaitingForVirtualCluster, v1alpha1.ReasonWaitingForWorkloads, v1alpha1.ReasonWorkloadsUnavailable)
}

func phase(t tenant.Tenant, core []condition.Condition, ready bool) v1alpha1.Phase {
	asleep := hibernation.StateOf(t).Phase
	switch {
	case asleep != "":
		return asleep
	case ready:
		return v1alpha1.PhaseReady
	case slices.ContainsFunc(core, func(c condition.Condition) bool { return c.Reason == v1alpha1.ReasonHibernated }):
		return v1alpha1.PhaseWaking
	case tenant.WasReady(t.Observed) && rollsOut(t, core):
		return v1alpha1.PhaseUpdating
	case tenant.WasReady(t.Observed):
		return v1alpha1.PhaseDegraded
	case !t.Composed(tenant.VClusterRelease).Exists():
		return v1alpha1.PhasePending
	case slices.ContainsFunc(core, func(c condition.Condition) bool {
		return c.Reason == v1alpha1.ReasonInstallFailed || c.Reason == v1alpha1.ReasonPodsCannotStart
	}):
		return v1alpha1.PhaseFailing
	default:
		return v1alpha1.PhaseProvisioning
	}
}

// readyAt returns when the tenant became Ready for the first time, in RFC 3339; "" before that.
// Crossplane's condition has the time at the next reconcile, and the status keeps it.
func readyAt(t tenant.Tenant) string {
	xr := t.Observed.XR
	at := xr.String("status", "readyAt")
	if ready := xr.Condition("Ready"); at == "" && ready.True() {
		at = ready.LastTransitionTime
	}
	return at
}

// Progress at each step of an installation, in percent: about the share of the
// time that has passed by then.
const (
	progressNamespace    = 10
	progressVCluster     = 50
	progressArgoCD       = 70
	progressAllWorkloads = 99
	progressReady        = 100
)

// progress never goes back, so a tenant that was Ready once has all of it, whatever becomes of it: the phase says that. The status
// remembers how far the tenant came.
func progress(t tenant.Tenant, ready bool) int64 {
	return max(step(t, ready), min(t.Observed.XR.Int(0, "status", "progress"), progressReady))
}

// step returns the progress of what is there now.
func step(t tenant.Tenant, ready bool) int64 {
	switch {
	case ready:
		return progressReady
	case !t.Composed(tenant.VClusterRelease).Exists():
		return 0
	case !resource.HasKubeconfig(t):
		return progressNamespace
	case !argocd.Deployed(t):
		return progressVCluster
	}
	broken, _, unseen := argocd.BrokenWorkloads(t)
	if unseen {
		return progressArgoCD
	}
	all := max(1, len(t.Workloads))
	return progressArgoCD + int64((progressAllWorkloads-progressArgoCD)*(all-len(broken))/all)
}

// message is that of the first condition of the core that doesn't hold, and of a change that isn't in use; when all
// do, it names those of parts that don't.
func message(core, optional []condition.Condition, missing compose.Missing) string {
	waits := waitsFor(core, missing)
	if i := slices.IndexFunc(optional, func(c condition.Condition) bool { return c.Type == v1alpha1.ConditionSpecAccepted && !c.True }); i >= 0 {
		return cmp.Or(waits, "Argo CD is ready") + ", and a change is not in use: " + optional[i].Message
	}
	if waits != "" {
		return waits
	}
	var not []string
	unknown := false
	for _, c := range optional {
		unknown = unknown || c.Reason == v1alpha1.ReasonUnusedValues
		if !c.True && !c.Unknown {
			not = append(not, c.Type)
		}
	}
	if len(not) == 0 && unknown {
		return "Argo CD is ready, but some values change nothing: see the condition SpecAccepted"
	}
	if len(not) > 0 {
		return "Argo CD is ready, but these conditions are False: " + strings.Join(not, ", ")
	}
	return "Argo CD is ready"
}

// waitsFor returns the message of the first condition of the core that doesn't hold, or what else Ready waits for; "" for nothing.
func waitsFor(core []condition.Condition, missing compose.Missing) string {
	for _, c := range core {
		if !c.True {
			return c.Message
		}
	}
	if waiting := slices.Concat(missing.Waiting, missing.NotReady); len(waiting) > 0 {
		return "Waiting for composed resource " + waiting[0]
	}
	return ""
}

// why returns the reason for the phase that goes into the tenant's record: the message of the
// status, but while a change is rolled out only what keeps it from going on.
func why(s v1alpha1.Status, core []condition.Condition) string {
	if s.Phase != v1alpha1.PhaseUpdating {
		return s.Message
	}
	for _, c := range core {
		if !c.True {
			return c.Detail
		}
	}
	return ""
}

// connection returns the tenant's connection details: what is published stays, even
// while the Secret it came from can't be read.
func connection(t tenant.Tenant) (map[string][]byte, error) {
	o := t.Observed
	tunnels, err := clusters.Deliver(t)
	if err != nil {
		return nil, err
	}
	now := map[string][]byte{
		tenant.KubeconfigKey: t.Composed(tenant.KubeconfigSecret).SecretValue(tenant.KubeconfigKey),
		tenant.PasswordKey:   o.Composed[tenant.ArgoCDRelease].Connection[tenant.PasswordKey],
	}
	delivered := accounts.Deliver(t)
	rotated := accounts.SetsPassword(t)
	if rotated {
		// The one before works until Argo CD has the new one.
		now[tenant.PasswordKey] = delivered[tenant.PasswordKey]
		delete(delivered, tenant.PasswordKey)
	}
	if argocd.Installed(t) {
		now[tenant.URLKey], now[tenant.UsernameKey] = []byte(tenant.URL(t.Decision)), []byte("admin")
	}
	details := delivered
	for _, key := range []string{tenant.KubeconfigKey, tenant.URLKey, tenant.UsernameKey, tenant.PasswordKey} {
		was, published := o.XRConnection[key]
		switch {
		case key == tenant.UsernameKey && t.AdminDisabled, key == tenant.PasswordKey && !t.GeneratesPassword && !rotated:
			// Crossplane removes no key from a Secret, so what isn't true any more is emptied.
			if published {
				details[key] = []byte{}
			}
		case len(now[key]) > 0:
			details[key] = now[key]
		case len(was) > 0:
			details[key] = was
		}
	}
	maps.Copy(details, tunnels)
	return details, nil
}

// ownWords are the conditions whose messages are ours, so that names such as edge-token stay readable. What Argo CD said, and each mistake of
// a refusal, is redacted before it is put into them.
var ownWords = map[string]bool{v1alpha1.ConditionSpecAccepted: true, v1alpha1.ConditionClustersConnected: true, v1alpha1.ConditionRepositoriesConnected: true, v1alpha1.ConditionSecretKeysReady: true, v1alpha1.ConditionAccountsReady: true}

// conditions are those of the core, which Ready waits for, and those of the parts
// that the spec has beside it, without secrets in their messages.
func conditions(t tenant.Tenant) (core, optional []condition.Condition) {
	core = []condition.Condition{vcluster.Condition(t), argocd.Condition(t)}
	ofParts := parts.Conditions(t)
	if state := hibernation.StateOf(t); state.Phase != "" {
		message := state.Message(t)
		for i := range core {
			core[i] = condition.Of(core[i].Type).No(v1alpha1.ReasonHibernated, message, "")
		}
		for i, c := range ofParts {
			// What the platform itself knows is true of a tenant that is asleep, too.
			if c.Type != v1alpha1.ConditionBackedUp && c.Type != v1alpha1.ConditionRestored && c.Reason != v1alpha1.ReasonNotInSpec {
				ofParts[i] = condition.Of(c.Type).NotYet(v1alpha1.ReasonHibernated, "Not known while the tenant isn't awake")
			}
		}
	}
	if hibernation.WakesUp(t) && starts(t, core) {
		for i, c := range core {
			if !c.True && c.Reason != v1alpha1.ReasonHibernated {
				// It was well before, and needs some time.
				core[i] = condition.Of(c.Type).No(v1alpha1.ReasonHibernated, "Wakes up", c.Message)
			}
		}
	}
	optional = append([]condition.Condition{specAccepted(t), host.Condition(t)}, ofParts...)
	for _, conditions := range [][]condition.Condition{core, optional} {
		for i := range conditions {
			if c := &conditions[i]; !c.True && !ownWords[c.Type] {
				c.Message, c.Detail = t.Observed.Redact(c.Message), t.Observed.Redact(c.Detail)
			}
		}
	}
	return core, optional
}

// specAccepted is the condition of what people have written.
func specAccepted(t tenant.Tenant) condition.Condition {
	is := condition.Of(v1alpha1.ConditionSpecAccepted)
	if t.Refused == nil {
		if failed := release.TakenBack(t, time.Time{}); failed != "" {
			return is.No(v1alpha1.ReasonUpgradeFailed, t.Observed.Redact(failed), "")
		}
		const inUse = "The claim, its plan and the platform's input are in use"
		if len(t.NoEffect) > 0 {
			unused := is.Yes(inUse + ". These values change nothing: " + few.Texts(t.NoEffect))
			unused.Reason = v1alpha1.ReasonUnusedValues
			return unused
		}
		return condition.Condition{Type: string(is), True: true, Reason: v1alpha1.ReasonAccepted, Message: inUse}
	}
	return is.No(reasonOf(t.Refused), mistakes.Text(t.Refused, t.Observed.Redact), "")
}

// reasonOf returns the reason of the condition SpecAccepted for a mistake, which says who has to correct it.
func reasonOf(mistake error) string {
	switch mistakes.OwnerOf(mistake) {
	case mistakes.Input:
		return v1alpha1.ReasonInvalidInput
	case mistakes.Plan:
		return v1alpha1.ReasonInvalidPlan
	case mistakes.Channel:
		return v1alpha1.ReasonInvalidChannel
	}
	return v1alpha1.ReasonInvalidSpec
}
