package provider

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	helmapis "github.com/crossplane-contrib/provider-helm/apis/cluster"
	"github.com/crossplane-contrib/provider-helm/apis/cluster/release/v1beta1"
	helmv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/v1beta1"
	kubernetesapis "github.com/crossplane-contrib/provider-kubernetes/apis/cluster"
	"github.com/crossplane-contrib/provider-kubernetes/apis/cluster/object/v1alpha2"
	kubernetesv1alpha1 "github.com/crossplane-contrib/provider-kubernetes/apis/cluster/v1alpha1"
	kubeconfig "github.com/crossplane-contrib/provider-kubernetes/pkg/kube/config"
	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"
	sdkresource "github.com/crossplane/function-sdk-go/resource"
	helmrelease "helm.sh/helm/v3/pkg/release"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientset "k8s.io/client-go/kubernetes/fake"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	corerelease "github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// fakeManager has what reconcilers take from a manager.
type fakeManager struct {
	ctrl.Manager

	client client.Client
}

func (m fakeManager) GetClient() client.Client                        { return m.client }
func (m fakeManager) GetScheme() *runtime.Scheme                      { return m.client.Scheme() }
func (m fakeManager) GetEventRecorderFor(string) record.EventRecorder { return &record.FakeRecorder{} }

// simulate returns a simulation of the given objects.
func simulate(t *testing.T, objects ...client.Object) (*simulation, fakeManager) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, helmapis.AddToScheme, kubernetesapis.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1beta1.Release{}, &v1alpha2.Object{}, &batchv1.Job{}).Build()
	options, err := Defaults(root)
	if err != nil {
		t.Fatal(err)
	}
	options.Durations, options.RecordSize = Durations{}, 10
	planes := newControlPlanes(options, c, map[string][]byte{tenant.KubeconfigSourceKey: []byte("the kubeconfig")})
	return &simulation{controlPlanes: planes, host: c, typed: clientset.NewClientset()}, fakeManager{client: c}
}

// settle reconciles until the provider would only poll.
func settle(t *testing.T, r reconcile.Reconciler, name string, poll time.Duration) {
	t.Helper()
	var result reconcile.Result
	for range 20 {
		var err error
		result, err = r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: name}})
		if err != nil {
			t.Fatal(err)
		}
		if result.RequeueAfter >= poll/2 || result.IsZero() {
			return
		}
	}
	t.Fatalf("%s doesn't settle: %v", name, result)
}

// configOf is a ProviderConfig with credentials from a key of a Secret.
func configOf(secret, key string) kubeconfig.ProviderConfigSpec {
	return kubeconfig.ProviderConfigSpec{Credentials: kubeconfig.ProviderCredentials{
		Source: xpv1.CredentialsSourceSecret,
		CommonCredentialSelectors: xpv1.CommonCredentialSelectors{
			SecretRef: &xpv1.SecretKeySelector{SecretReference: xpv1.SecretReference{Namespace: "crossplane-system", Name: secret}, Key: key},
		},
	}}
}

func secret(namespace, name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
}

// composed is the metadata that the function gives to managed resources.
func composed(name, external string) metav1.ObjectMeta {
	m := resource.ManagedMeta(name, external)
	m.UID = "uid"
	return m
}

// newRelease is a Release as the function composes it.
func newRelease(name, external, config string) *v1beta1.Release {
	limit := int32(3)
	r := &v1beta1.Release{ObjectMeta: composed(name, external)}
	r.Spec.ProviderConfigReference = &xpv1.Reference{Name: config}
	r.Spec.ManagementPolicies = xpv1.ManagementPolicies{"Observe", "Create", "Update", "LateInitialize"}
	r.Spec.RollbackRetriesLimit = &limit
	r.Spec.ForProvider.Namespace = "vargo-a"
	r.Spec.ForProvider.Chart = v1beta1.ChartSpec{Name: external, Version: "1.0.0"}
	r.Spec.ForProvider.Values = runtime.RawExtension{Raw: []byte(`{"replicas":1}`)}
	r.Spec.ForProvider.Wait, r.Spec.ForProvider.WaitTimeout = true, &metav1.Duration{Duration: time.Minute}
	return r
}

// TestAbsentRelease: of a Release that its provider may only observe, crossplane-runtime says whether Helm has one, in the words that the function
// knows. Components that were never installed are dropped by that.
func TestAbsentRelease(t *testing.T) {
	for _, there := range []bool{false, true} {
		release := newRelease("a-chart-workflows", "workflows", "vargo-a")
		release.Annotations = map[string]string{"crossplane.io/external-name": "workflows"}
		s, mgr := simulate(t, release,
			&helmv1beta1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "vargo-a"}, Spec: configOf("a-kubeconfig", tenant.ProxiedKey)},
			secret("crossplane-system", "a-kubeconfig", map[string][]byte{tenant.ProxiedKey: []byte("a way")}),
			secret("vargo-a", tenant.KubeconfigSource, nil))
		r := s.releaseReconciler(mgr, "releases", s.Helm.Poll)
		if there {
			settle(t, r, release.Name, s.Helm.Poll)
		}
		read := func() {
			if err := mgr.client.Get(t.Context(), client.ObjectKeyFromObject(release), release); err != nil {
				t.Fatal(err)
			}
		}
		read()
		release.Spec.ManagementPolicies = xpv1.ManagementPolicies{xpv1.ManagementActionObserve}
		if err := mgr.client.Update(t.Context(), release); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: release.Name}}); err != nil {
				t.Fatal(err)
			}
		}
		read()
		raw, err := json.Marshal(release)
		if err != nil {
			t.Fatal(err)
		}
		is := wire.Composed{Struct: wire.Of(sdkresource.MustStructJSON(string(raw)))}
		if got := corerelease.IsAbsent(is); got == there {
			t.Errorf("Helm has it: %t, and the function takes it for absent: %t: %v", there, got, release.Status.Conditions)
		}
	}
}

// TestRelease leads a Release of argo-cd through its life.
func TestRelease(t *testing.T) {
	release := newRelease("a-argocd", "argocd", "vargo-a")
	release.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: "crossplane-system", Name: "a-admin"}
	release.Spec.ConnectionDetails = []v1beta1.ConnectionDetail{{ToConnectionSecretKey: "password"}}
	s, mgr := simulate(t, release,
		&helmv1beta1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "vargo-a"}, Spec: configOf("a-kubeconfig", tenant.ProxiedKey)},
		secret("crossplane-system", "a-kubeconfig", map[string][]byte{tenant.ProxiedKey: []byte("a way")}),
		secret("vargo-a", tenant.KubeconfigSource, nil))
	r := s.releaseReconciler(mgr, "releases", s.Helm.Poll)
	is := func(state string, revision int, ready xpv1.ConditionReason) {
		t.Helper()
		if err := mgr.client.Get(t.Context(), client.ObjectKeyFromObject(release), release); err != nil {
			t.Fatal(err)
		}
		at := release.Status.AtProvider
		if string(at.State) != state || at.Revision != revision || release.GetCondition(xpv1.TypeReady).Reason != ready {
			t.Errorf("%s, revision %d, %v; want %s, %d, %s", at.State, at.Revision, release.GetCondition(xpv1.TypeReady), state, revision, ready)
		}
	}
	settle(t, r, release.Name, s.Helm.Poll)
	is("deployed", 1, "Available")
	if len(release.Finalizers) != 1 || release.Annotations["crossplane.io/external-create-succeeded"] == "" {
		t.Errorf("not the metadata that the real provider writes: %v", release.ObjectMeta)
	}
	password := &corev1.Secret{}
	if err := mgr.client.Get(t.Context(), client.ObjectKey{Namespace: "crossplane-system", Name: "a-admin"}, password); err != nil || len(password.Data["password"]) == 0 {
		t.Errorf("no password in %v: %v", password.Data, err)
	}
	usages := &helmv1beta1.ProviderConfigUsageList{}
	if err := mgr.client.List(t.Context(), usages); err != nil || len(usages.Items) != 1 {
		t.Errorf("%d users of ProviderConfigs, want 1: %v", len(usages.Items), err)
	}

	release.Spec.ForProvider.Values.Raw = []byte(`{"replicas":2}`)
	update(t, mgr, release)
	settle(t, r, release.Name, s.Helm.Poll)
	is("deployed", 2, "Unavailable")
	settle(t, r, release.Name, s.Helm.Poll)
	is("deployed", 2, "Available")

	s.Faults.Give(UpgradeFails, "a")
	release.Spec.ForProvider.WaitTimeout.Duration = time.Millisecond
	release.Spec.ForProvider.Values.Raw = []byte(`{"replicas":3}`)
	update(t, mgr, release)
	for range 30 {
		if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(release)}); err != nil {
			t.Fatal(err)
		}
	}
	is("failed", 9, "Unavailable")
	if release.Status.Failed != 3 {
		t.Errorf("taken back %d times, want 3", release.Status.Failed)
	}

	if err := mgr.client.Delete(t.Context(), release); err != nil {
		t.Fatal(err)
	}
	settle(t, r, release.Name, s.Helm.Poll)
	if err := mgr.client.Get(t.Context(), client.ObjectKeyFromObject(release), release); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("a deleted Release is there: %v", err)
	}
}

// TestReleaseCutShort: a release of argo-cd on which Helm was cut short is installed again.
func TestReleaseCutShort(t *testing.T) {
	for name, c := range map[string]struct {
		// cut are the records that Helm leaves behind.
		cut  []helmrelease.Status
		want int
	}{
		"Install":  {[]helmrelease.Status{helmrelease.StatusPendingInstall}, 1},
		"Removal":  {[]helmrelease.Status{helmrelease.StatusUninstalling}, 1},
		"Upgrade":  {[]helmrelease.Status{helmrelease.StatusDeployed, helmrelease.StatusPendingUpgrade}, 4},
		"Rollback": {[]helmrelease.Status{helmrelease.StatusDeployed, helmrelease.StatusFailed, helmrelease.StatusPendingRollback}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			cr := newRelease("a-argocd", "argocd", "vargo-a")
			s, mgr := simulate(t, cr,
				&helmv1beta1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "vargo-a"}, Spec: configOf("a-kubeconfig", tenant.ProxiedKey)},
				secret("crossplane-system", "a-kubeconfig", map[string][]byte{tenant.ProxiedKey: []byte("a way")}),
				secret("vargo-a", tenant.KubeconfigSource, nil))
			records := newRecords(s.typed, "vargo-a", 3)
			for i, status := range c.cut {
				config := map[string]any{"replicas": 1.0}
				if status == helmrelease.StatusDeployed || status == helmrelease.StatusPendingRollback {
					config["replicas"] = 2.0
				}
				r := &helmrelease.Release{Name: "argocd", Version: i + 1, Chart: chartOf(cr), Config: config, Info: &helmrelease.Info{Status: status}}
				if err := records.Create(r); err != nil {
					t.Fatal(err)
				}
			}
			for range 5 {
				settle(t, s.releaseReconciler(mgr, "releases", s.Helm.Poll), cr.Name, s.Helm.Poll)
			}
			last, err := records.Last("argocd")
			if err != nil || last.Version != c.want || last.Info.Status != helmrelease.StatusDeployed || last.Config["replicas"] != 1.0 {
				t.Errorf("got %+v: %v; want revision %d with one replica", last, err, c.want)
			}
		})
	}
}

// TestControlPlane has a virtual cluster publish its kubeconfig.
func TestControlPlane(t *testing.T) {
	release := newRelease("a-vcluster", "vcluster", "host-vargo-a")
	s, mgr := simulate(t, release,
		&helmv1beta1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "host-vargo-a"}, Spec: configOf("a-installer", "kubeconfig")},
		secret("crossplane-system", "a-installer", map[string][]byte{"kubeconfig": []byte("a way")}),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "vargo-a"}})
	s.Faults.Give(NeverStarts, "a")
	settle(t, s.releaseReconciler(mgr, "releases", s.Helm.Poll), release.Name, s.Helm.Poll)
	if s.publish(t.Context(), "vargo-a", false) == nil || s.answers(t.Context(), mgr.client, "vargo-a") == nil {
		t.Fatal("a virtual cluster that never starts has published its kubeconfig")
	}
	s.Faults.Heal("a")
	for deadline := time.Now().Add(10 * time.Second); s.answers(t.Context(), mgr.client, "vargo-a") != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the virtual cluster hasn't published its kubeconfig")
		}
	}
}

// TestSilence: a virtual cluster that is silent doesn't answer until it was taken for each reason, nor one that restarts.
func TestSilence(t *testing.T) {
	s, mgr := simulate(t, secret("vargo-a", tenant.KubeconfigSource, nil))
	is := func(what string, answers bool) {
		t.Helper()
		if err := s.answers(t.Context(), mgr.client, "vargo-a"); (err == nil) != answers {
			t.Errorf("%s: answers %t: %v", what, err == nil, err)
		}
	}
	is("at first", true)
	s.Faults.Give(Silent, "a")
	s.Faults.Give(Silent, "a")
	s.Faults.Take(Silent, "a")
	is("for one of two reasons", false)
	s.Faults.Take(Silent, "a")
	s.Faults.Take(Silent, "a")
	is("for none", true)
	s.Durations.Restart = time.Minute
	(&Simulation{planes: s.controlPlanes}).RestartControlPlane("a")
	is("while it restarts", false)
}

// TestWorkloads has an Object observe the summary of Argo CD's workloads.
func TestWorkloads(t *testing.T) {
	const query = `object.data["unavailable"] == '' && object.data["stopped"] == ''`
	object := &v1alpha2.Object{ObjectMeta: composed("a-workloads", "a-workloads")}
	object.Spec.ProviderConfigReference = &xpv1.Reference{Name: "vargo-a"}
	object.Spec.ManagementPolicies = xpv1.ManagementPolicies{"Observe"}
	object.Spec.Readiness = v1alpha2.Readiness{Policy: v1alpha2.ReadinessPolicyDeriveFromCelQuery, CelQuery: query}
	object.Spec.ForProvider.Manifest.Raw = []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"argocd","name":"` +
		proxy.SummaryName([]proxy.Workload{{Kind: "Deployment", Name: "argocd-server"}, {Kind: "Deployment", Name: "argocd-redis"}}) + `"}}`)
	record := secret("vargo-a", "sh.helm.release.v1.argocd.v1", nil)
	record.Labels = map[string]string{"owner": "helm", "name": "argocd", "version": "1", "status": "deployed", versionLabel: labelOf("1.2.3+a")}
	s, mgr := simulate(t, object, record,
		&kubernetesv1alpha1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "vargo-a"}, Spec: configOf("a-kubeconfig", tenant.ProxiedKey)},
		secret("crossplane-system", "a-kubeconfig", map[string][]byte{tenant.ProxiedKey: []byte("a way")}),
		secret("vargo-a", tenant.KubeconfigSource, nil))
	r := s.objectReconciler(mgr, "objects", s.Kubernetes.Poll)
	is := func(what, unavailable, stopped string, ready corev1.ConditionStatus) {
		t.Helper()
		settle(t, r, object.Name, notReadyPoll)
		if err := mgr.client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			t.Fatal(err)
		}
		var summary corev1.ConfigMap
		if err := json.Unmarshal(object.Status.AtProvider.Manifest.Raw, &summary); err != nil {
			t.Fatal(err)
		}
		got := object.GetCondition(xpv1.TypeReady)
		if summary.Data[proxy.SummaryUnavailable] != unavailable || summary.Data[proxy.SummaryStopped] != stopped || got.Status != ready {
			t.Errorf("%s: %v, %v; want unavailable %q, stopped %q, ready %s", what, summary.Data, got, unavailable, stopped, ready)
		}
	}
	is("as wanted", "", "", corev1.ConditionTrue)
	s.Faults.Break("a", proxy.Workload{Name: "argocd-redis", Available: true})
	is("scaled to none", "", "deployment.argocd-redis", corev1.ConditionFalse)
	s.Faults.Heal("a")
	record.Labels["status"] = "pending-upgrade"
	update(t, mgr, record)
	is("during an upgrade", "deployment.argocd-server", "", corev1.ConditionFalse)
	record.Labels["status"], record.Labels["version"] = "deployed", "2"
	update(t, mgr, record)
	is("upgraded", "", "", corev1.ConditionTrue)
	s.Faults.Set(UpgradeDegrades, 1, "1.2.3+a")
	is("with a fault since the upgrade", "", "", corev1.ConditionTrue)
	record.Labels[faultLabel] = string(UpgradeDegrades)
	update(t, mgr, record)
	is("degraded by an upgrade to that version", "deployment.argocd-server", "", corev1.ConditionFalse)
	s.Faults.Set(UpgradeDegrades, 1, "1.2.4")
	is("another version degrades", "", "", corev1.ConditionTrue)
	s.Faults.Give(UpgradeDegrades, "a")
	is("degraded by the upgrade", "deployment.argocd-server", "", corev1.ConditionFalse)
	record.Labels[faultLabel], record.Labels["status"] = string(UpgradeRefused), "failed"
	update(t, mgr, record)
	is("an upgrade is refused", "", "", corev1.ConditionTrue)
	record.Labels[faultLabel] = string(UpgradeFails)
	update(t, mgr, record)
	is("an upgrade has failed", "deployment.argocd-server", "", corev1.ConditionFalse)
}

// TestReleaseRefused: a change that is refused fails at once, is rolled back three times, and leaves what was there.
func TestReleaseRefused(t *testing.T) {
	release := newRelease("a-argocd", "argocd", "vargo-a")
	s, mgr := simulate(t, release,
		&helmv1beta1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "vargo-a"}, Spec: configOf("a-kubeconfig", tenant.ProxiedKey)},
		secret("crossplane-system", "a-kubeconfig", map[string][]byte{tenant.ProxiedKey: []byte("a way")}),
		secret("vargo-a", tenant.KubeconfigSource, nil))
	r := s.releaseReconciler(mgr, "releases", s.Helm.Poll)
	settle(t, r, release.Name, s.Helm.Poll)
	// What is rolled back is ready at once, though Argo CD takes its time.
	s.Durations.ArgoCD = time.Hour
	s.Faults.Set(UpgradeRefused, 1, "1.0.1")
	if err := mgr.client.Get(t.Context(), client.ObjectKeyFromObject(release), release); err != nil {
		t.Fatal(err)
	}
	release.Spec.ForProvider.Chart.Version, release.Spec.ForProvider.WaitTimeout.Duration = "1.0.1", time.Millisecond
	update(t, mgr, release)
	for range 30 {
		if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(release)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := mgr.client.Get(t.Context(), client.ObjectKeyFromObject(release), release); err != nil {
		t.Fatal(err)
	}
	at := release.Status.AtProvider
	// The three changes and rollbacks are followed by a last change, which the function has taken back.
	if at.State != helmrelease.StatusFailed || at.Revision != 8 || release.Status.Failed != 3 {
		t.Errorf("%s, revision %d, taken back %d times; want failed, 8, 3", at.State, at.Revision, release.Status.Failed)
	}
	if want := `Upgrade "argocd" failed: ` + errRefused.Error(); at.ReleaseDescription != want {
		t.Errorf("Helm says %q, want %q", at.ReleaseDescription, want)
	}
	if back, err := newRecords(s.typed, "vargo-a", 3).Deployed("argocd"); err != nil || back.Version != 7 || back.Chart.Metadata.Version != "1.0.0" {
		t.Errorf("what is deployed is %+v: %v; want revision 7, of chart 1.0.0", back, err)
	}
}

// TestNoSuchTag: with an image tag that doesn't exist, Helm waits in vain, unless it needn't wait. Another change ends either.
func TestNoSuchTag(t *testing.T) {
	for name, c := range map[string]struct {
		server string
		state  helmrelease.Status
		works  bool
	}{
		"AnotherTag":              {`{"image":{"tag":"v3.2.6"}}`, helmrelease.StatusDeployed, true},
		"NoSuchTag":               {`{"image":{"tag":"no-such-tag"}}`, helmrelease.StatusFailed, false},
		"HelmWaitsForSomeReplica": {`{"image":{"tag":"no-such-tag"},"deploymentStrategy":{"rollingUpdate":{"maxUnavailable":"25%"}}}`, helmrelease.StatusFailed, false},
		"HelmWaitsForNoReplica":   {`{"image":{"tag":"no-such-tag"},"deploymentStrategy":{"rollingUpdate":{"maxUnavailable":"100%"}}}`, helmrelease.StatusDeployed, false},
	} {
		t.Run(name, func(t *testing.T) {
			release := newRelease("a-argocd", "argocd", "vargo-a")
			// What fails stays as it is.
			release.Spec.RollbackRetriesLimit = nil
			release.Spec.ForProvider.WaitTimeout.Duration = time.Millisecond
			s, mgr := simulate(t, release,
				&helmv1beta1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "vargo-a"}, Spec: configOf("a-kubeconfig", tenant.ProxiedKey)},
				secret("crossplane-system", "a-kubeconfig", map[string][]byte{tenant.ProxiedKey: []byte("a way")}),
				secret("vargo-a", tenant.KubeconfigSource, nil))
			r := s.releaseReconciler(mgr, "releases", s.Helm.Poll)
			is := func(what, values string, revision int, state helmrelease.Status, works bool) {
				t.Helper()
				if err := mgr.client.Get(t.Context(), client.ObjectKeyFromObject(release), release); err != nil {
					t.Fatal(err)
				}
				release.Spec.ForProvider.Values.Raw = []byte(values)
				update(t, mgr, release)
				for range 5 {
					if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(release)}); err != nil {
						t.Fatal(err)
					}
				}
				record, err := s.typed.CoreV1().Secrets("vargo-a").Get(t.Context(), fmt.Sprintf("sh.helm.release.v1.argocd.v%d", revision), metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				record.ResourceVersion = ""
				if err := mgr.client.Create(t.Context(), record); err != nil {
					t.Fatal(err)
				}
				v := virtualObjects{simulation: s, local: mgr.client, namespace: "vargo-a"}
				last, err := v.installed(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if available, why := v.server("a", last); last.status != state || available != works || (why == "") != works {
					t.Errorf("%s: %s, the API server is available: %t, %q; want %s, %t", what, last.status, available, why, state, works)
				}
			}
			is("installed", `{"replicas":1}`, 1, helmrelease.StatusDeployed, true)
			is("changed", `{"server":`+c.server+`}`, 2, c.state, c.works)
			is("corrected", `{"replicas":2}`, 3, helmrelease.StatusDeployed, true)
		})
	}
}

// TestNamespace has an Object create a namespace and delete it.
func TestNamespace(t *testing.T) {
	object := &v1alpha2.Object{ObjectMeta: composed("a-namespace", "a-namespace")}
	object.Spec.ProviderConfigReference = &xpv1.Reference{Name: "host"}
	// As the API server fills them in.
	object.Spec.ManagementPolicies, object.Spec.DeletionPolicy = xpv1.ManagementPolicies{"*"}, xpv1.DeletionDelete
	object.Spec.Readiness.Policy = v1alpha2.ReadinessPolicySuccessfulCreate
	object.Spec.ForProvider.Manifest.Raw = []byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"vargo-a","labels":{"a":"b"}}}`)
	s, mgr := simulate(t, object, &kubernetesv1alpha1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "host"}})
	r := s.objectReconciler(mgr, "objects", s.Kubernetes.Poll)
	settle(t, r, object.Name, notReadyPoll)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "vargo-a"}}
	if err := mgr.client.Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace); err != nil || namespace.Labels["a"] != "b" {
		t.Fatalf("the namespace is %v: %v", namespace, err)
	}
	if err := mgr.client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil || object.GetCondition(xpv1.TypeReady).Status != corev1.ConditionTrue {
		t.Errorf("the Object isn't ready: %v, %v", object.Status, err)
	}
	// Of what was created just now the reconciler doesn't believe that it is gone.
	delete(object.Annotations, "crossplane.io/external-create-succeeded")
	update(t, mgr, object)
	if err := mgr.client.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	settle(t, r, object.Name, notReadyPoll)
	if err := mgr.client.Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the namespace is there: %v", err)
	}
}

func update(t *testing.T, mgr fakeManager, o client.Object) {
	t.Helper()
	if err := mgr.client.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}
