// Package check checks after a run of the chaos tests that tenants are as their claims ask, and that they have lost nothing.
package check

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/test/chaos/schedule"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
)

// Keys of the parameters of Argo CD by which changes are recognized. Claims set one, plans another, and the channel the third.
const (
	ClaimParameter = "controller.status.processors"
	PlanParameter  = "controller.operation.processors"
	OfferParameter = "controller.kubectl.parallelism.limit"
)

// Params is the path of the parameters in the values of the chart.
var Params = []string{"configs", "params"}

// Wanted is what a tenant should be like.
type Wanted struct {
	schedule.Spec

	// PlanValue is the value that its plan has, and OfferValue the one that the channel offers.
	PlanValue, OfferValue int
	// Revision is the number of the channel's revision.
	Revision int64
	// BackedUpSince is when a backup was asked for; the zero time for never.
	BackedUpSince time.Time
}

// offered returns what a tenant should have of the channel: the number of the revision, and the value. Both are empty for a tenant without a
// channel.
func (w Wanted) offered() (revision int64, value string) {
	if !w.InChannel {
		return 0, ""
	}
	return w.Revision, strconv.Itoa(w.OfferValue)
}

// A Tenant is the observed state of a tenant.
type Tenant struct {
	Claim    *claim.State
	XR       *unstructured.Unstructured
	Composed []*unstructured.Unstructured
	// VCluster and ArgoCD are the last revisions that Helm has installed.
	VCluster, ArgoCD *release.Release
	// Settings are Argo CD's parameters in the virtual cluster; nil if that is simulated.
	Settings map[string]string
}

// Read reads the state of a claim's tenant, except for Helm's releases.
func Read(ctx context.Context, l *claim.Live) (Tenant, error) {
	t := Tenant{}
	var err error
	if t.Claim, err = l.State(ctx); err != nil {
		return t, err
	}
	if t.XR, err = l.XR(ctx); err != nil {
		return t, err
	}
	t.Composed, err = l.Composed(ctx)
	return t, err
}

// Installed returns the last revision of a Helm release, by the records in a namespace.
func Installed(client kubernetes.Interface, namespace, name string) (*release.Release, error) {
	last, err := storage.Init(driver.NewSecrets(client.CoreV1().Secrets(namespace))).Last(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read Helm's record of %s: %w", name, err)
	}
	return last, nil
}

// Problems returns what isn't as wanted in a tenant; nothing if all is.
func (t Tenant) Problems(w Wanted) []string {
	p := &problems{}
	t.checkClaim(p, w)
	t.checkConditions(p)
	t.checkAccepted(p, w)
	t.checkVersions(p, w)
	t.checkValues(p, w)
	t.checkBackup(p, w)
	return p.found
}

// problems are the problems that were found.
type problems struct{ found []string }

// same notes a problem if two things differ.
func (p *problems) same(what string, is, want any) {
	if is != want {
		p.found = append(p.found, fmt.Sprintf("%s is %v, want %v", what, is, want))
	}
}

func (t Tenant) checkClaim(p *problems, w Wanted) {
	p.same("the phase", t.Claim.Phase, "Ready")
	for _, kind := range []string{claim.Ready, claim.Synced, claim.SpecAccepted, claim.VirtualClusterReady, claim.ArgoCDReady} {
		p.same("condition "+kind, t.Claim.Condition(kind).Status, metav1.ConditionTrue)
	}
	plan, _, _ := unstructured.NestedString(t.Claim.Object.Object, "status", "plan")
	p.same("the plan by the status", plan, w.Plan)
	inChannel, _, _ := unstructured.NestedString(t.Claim.Object.Object, "status", "channel", "name")
	waits, _, _ := unstructured.NestedBool(t.Claim.Object.Object, "status", "channel", "updateAvailable")
	p.same("in the channel by the status", inChannel == schedule.Channel, w.InChannel)
	p.same("waits for an update by the status", waits, false)
}

// BackupMissing reports whether a tenant has no backup since one was asked for.
func (t Tenant) BackupMissing(w Wanted) bool {
	last, err := time.Parse(time.RFC3339, t.Claim.Backup.LastSuccess)
	// It is in whole seconds.
	return !w.BackedUpSince.IsZero() && (err != nil || last.Before(w.BackedUpSince.Truncate(time.Second)))
}

func (t Tenant) checkBackup(p *problems, w Wanted) {
	if w.BackedUpSince.IsZero() {
		return
	}
	if t.BackupMissing(w) {
		p.found = append(p.found, fmt.Sprintf("the last backup is of %q, and one was asked for at %s: %s", t.Claim.Backup.LastSuccess, w.BackedUpSince.UTC().Format(time.RFC3339), t.Claim.Backup.Message))
	}
	p.same("condition "+claim.BackedUp, t.Claim.Condition(claim.BackedUp).Status, metav1.ConditionTrue)
}

// checkConditions checks the conditions that Crossplane and the providers set: none fails, and none is of an older generation.
func (t Tenant) checkConditions(p *problems) {
	for _, o := range append([]*unstructured.Unstructured{t.XR}, t.Composed...) {
		conditions := conditionsOf(o)
		for _, kind := range []string{claim.Ready, claim.Synced} {
			c := meta.FindStatusCondition(conditions, kind)
			if c == nil {
				if o == t.XR {
					p.same("condition "+kind+" of the composite resource", "missing", metav1.ConditionTrue)
				}
				continue
			}
			// After an upgrade, provider-helm leaves Ready False until it looks at the Release again, ten minutes later. What
			// Helm has installed is compared with the Release elsewhere.
			late := kind == claim.Ready && o.GetKind() == "Release"
			if c.Status != metav1.ConditionTrue && !late {
				p.found = append(p.found, fmt.Sprintf("%s %s: %s is %s: %s %s", o.GetKind(), o.GetName(), kind, c.Status, c.Reason, c.Message))
			}
			if c.ObservedGeneration != 0 && o == t.XR {
				p.same("the generation that "+kind+" of the composite resource is about", c.ObservedGeneration, o.GetGeneration())
			}
		}
		if o.GetDeletionTimestamp() != nil {
			p.found = append(p.found, fmt.Sprintf("%s %s is being deleted", o.GetKind(), o.GetName()))
		}
	}
}

// checkAccepted compares what was accepted last with what was asked for last.
func (t Tenant) checkAccepted(p *problems, w Wanted) {
	o := t.composed(tenant.AcceptedSecret)
	if o == nil {
		p.found = append(p.found, "the Secret with what is accepted is missing")
		return
	}
	text, _, _ := unstructured.NestedString(o.Object, "data", tenant.AcceptedKey)
	data, err := base64.StdEncoding.DecodeString(text)
	a := tenant.Accepted{}
	if err == nil {
		err = json.Unmarshal(data, &a)
	}
	if err != nil {
		p.found = append(p.found, fmt.Sprintf("cannot read what is accepted: %v", err))
		return
	}
	revision, _ := w.offered()
	p.same("the accepted revision", a.Offered.Number, revision)
	p.same("the accepted plan", a.Spec.Plan, w.Plan)
	p.same("the accepted chart version", a.Spec.ArgoCDChartVersion, w.ArgoCD)
	p.same("the accepted Kubernetes version", a.Spec.KubernetesVersion, w.Kubernetes)
	p.same("the accepted value", parameter(a.Spec.ArgoCDValues, ClaimParameter), strconv.Itoa(w.Value))
	plan := map[string]any{}
	if raw := a.Plan.Spec.Values.ArgoCD; raw != nil && json.Unmarshal(raw.Raw, &plan) != nil {
		p.found = append(p.found, "cannot read the accepted values of the plan")
	}
	p.same("the accepted value of the plan", parameter(plan, PlanParameter), strconv.Itoa(w.PlanValue))
}

// checkVersions compares the versions in the status with those that Helm has installed.
func (t Tenant) checkVersions(p *problems, w Wanted) {
	s := t.Claim
	if w.ArgoCD != "" {
		p.same("the chart version of Argo CD by the status", s.ArgoCD.ChartVersion, w.ArgoCD)
	}
	if w.Kubernetes != "" {
		p.same("the Kubernetes version by the status", s.VCluster.KubernetesVersion, w.Kubernetes)
	}
	p.same("the chart version of Argo CD by the status", s.ArgoCD.ChartVersion, s.ArgoCD.DesiredChartVersion)
	p.same("the vcluster version by the status", s.VCluster.Version, s.VCluster.DesiredVersion)
	p.same("the Kubernetes version by the status", s.VCluster.KubernetesVersion, s.VCluster.DesiredKubernetesVersion)
	p.same("the installed chart version of Argo CD", t.ArgoCD.Chart.Metadata.Version, s.ArgoCD.ChartVersion)
	p.same("the installed vcluster version", t.VCluster.Chart.Metadata.Version, s.VCluster.Version)
	kubernetes, _, _ := unstructured.NestedString(t.VCluster.Config, "controlPlane", "distro", "k8s", "version")
	p.same("the installed Kubernetes version", kubernetes, s.VCluster.KubernetesVersion)
}

// checkValues compares what Helm has installed with what is asked for, and with what the Releases say.
func (t Tenant) checkValues(p *problems, w Wanted) {
	t.checkRelease(p, tenant.VClusterRelease, t.VCluster)
	t.checkRelease(p, tenant.ArgoCDRelease, t.ArgoCD)
	p.same("the installed value", parameter(t.ArgoCD.Config, ClaimParameter), strconv.Itoa(w.Value))
	p.same("the installed value of the plan", parameter(t.ArgoCD.Config, PlanParameter), strconv.Itoa(w.PlanValue))
	_, offered := w.offered()
	p.same("the installed value of the offer", parameter(t.ArgoCD.Config, OfferParameter), offered)
	if t.Settings != nil {
		p.same("the value in the virtual cluster", t.Settings[ClaimParameter], strconv.Itoa(w.Value))
		p.same("the value of the plan in the virtual cluster", t.Settings[PlanParameter], strconv.Itoa(w.PlanValue))
		p.same("the value of the offer in the virtual cluster", t.Settings[OfferParameter], offered)
	}
}

// checkRelease compares what a Release says with what Helm has installed.
func (t Tenant) checkRelease(p *problems, name string, is *release.Release) {
	p.same("the release "+name, is.Info.Status, release.StatusDeployed)
	o := t.composed(name)
	if o == nil {
		p.found = append(p.found, "the Release "+name+" is missing")
		return
	}
	revision, _, _ := unstructured.NestedInt64(o.Object, "status", "atProvider", "revision")
	p.same("the revision of the Release "+name, revision, int64(is.Version))
	version, _, _ := unstructured.NestedString(o.Object, "spec", "forProvider", "chart", "version")
	p.same("the chart version of the Release "+name, version, is.Chart.Metadata.Version)
}

// composed returns the composed resource with a name in the composition; nil for none.
func (t Tenant) composed(name string) *unstructured.Unstructured {
	for _, o := range t.Composed {
		if o.GetAnnotations()["crossplane.io/composition-resource-name"] == name {
			return o
		}
	}
	return nil
}

// parameter returns a parameter of Argo CD in the values of its chart.
func parameter(values map[string]any, name string) string {
	is, _, _ := unstructured.NestedFieldNoCopy(values, append(Params[:len(Params):len(Params)], name)...)
	s, _ := is.(string)
	return s
}

func conditionsOf(o *unstructured.Unstructured) (out []metav1.Condition) {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range list {
		is := metav1.Condition{}
		if c, ok := c.(map[string]any); ok && runtime.DefaultUnstructuredConverter.FromUnstructured(c, &is) == nil {
			out = append(out, is)
		}
	}
	return out
}
