package function

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

func TestInstallation(t *testing.T) {
	e := newEngine(t, tenantXR(`{}`), "")
	first := []string{"namespace", "accepted", "installer-account"}
	second := append(slices.Clone(first), "kubeconfig", "installer-credentials", "host-helm-provider-config", "host-kubernetes-provider-config", "installer-binding", "control-plane-binding", "limits", "priority-level", "flow-schema",
		"network-policy-virtual-argocd-acme", "network-policy-virtual-argocd-applications", "network-policy-virtual-argocd-control-plane", "network-policy-virtual-argocd-dns", "network-policy-virtual-argocd-tenant", "network-policy-virtual-argocd-url")
	bounded := append(slices.Clone(second), "quota", "values-secret")
	fourth := append(slices.Clone(bounded), "vcluster")
	published := append(slices.Clone(fourth), "helm-provider-config", "kubernetes-provider-config")
	fifth := append(slices.Clone(published), "argocd")
	all := append(slices.Clone(fifth), "argocd-workloads")

	steps := []struct {
		reason     string
		resources  []string
		phase      v1alpha1.Phase
		vc, argocd string
		progress   float64
	}{
		{"Nothing is there yet.", first, v1alpha1.PhasePending, v1alpha1.ReasonWaitingForNamespace, v1alpha1.ReasonWaitingForVirtualCluster, 0},
		{"The namespace is there.", second, v1alpha1.PhasePending, v1alpha1.ReasonWaitingForNamespace, v1alpha1.ReasonWaitingForVirtualCluster, 0},
		{"The account has a token.", second, v1alpha1.PhasePending, v1alpha1.ReasonWaitingForNamespace, v1alpha1.ReasonWaitingForVirtualCluster, 0},
		{"The account has a kubeconfig, so the quota may come.", bounded, v1alpha1.PhasePending, v1alpha1.ReasonWaitingForNamespace, v1alpha1.ReasonWaitingForVirtualCluster, 0},
		{"The quota is there, so vcluster may come.", fourth, v1alpha1.PhasePending, v1alpha1.ReasonWaitingForNamespace, v1alpha1.ReasonWaitingForVirtualCluster, 0},
		{"vcluster has published its kubeconfig.", published, v1alpha1.PhaseProvisioning, v1alpha1.ReasonInstalling, v1alpha1.ReasonWaitingForVirtualCluster, 10},
		{"The kubeconfig is written anew, so Argo CD may come.", fifth, v1alpha1.PhaseProvisioning, v1alpha1.ReasonAvailable, v1alpha1.ReasonInstalling, 50},
		{"The chart is installed, so its workloads can be observed.", all, v1alpha1.PhaseProvisioning, v1alpha1.ReasonAvailable, v1alpha1.ReasonWaitingForWorkloads, 70},
		{"Every workload is available, so the password may be read.", all, v1alpha1.PhaseProvisioning, v1alpha1.ReasonAvailable, v1alpha1.ReasonWaitingForPassword, 99},
		{"The password is read.", all, v1alpha1.PhaseReady, v1alpha1.ReasonAvailable, v1alpha1.ReasonAvailable, 100},
		{"Argo CD has run, so there is something to protect, and to delete at once.", append(slices.Clone(all), "usage", "control-plane-service", "control-plane-workload"), v1alpha1.PhaseReady, v1alpha1.ReasonAvailable, v1alpha1.ReasonAvailable, 100},
	}
	for _, s := range steps {
		rsp := e.reconcile()
		if msg := refusal(rsp); msg != "" {
			t.Fatal(msg)
		}
		slices.Sort(s.resources)
		if diff := cmp.Diff(s.resources, slices.Sorted(maps.Keys(rsp.GetDesired().GetResources()))); diff != "" {
			t.Errorf("\n%s\ndesired resources: -want, +got:\n%s", s.reason, diff)
		}
		got := []string{e.status("phase"), e.condition(v1alpha1.ConditionVirtualClusterReady).GetReason(), e.condition(v1alpha1.ConditionArgoCDReady).GetReason()}
		if diff := cmp.Diff([]string{string(s.phase), s.vc, s.argocd}, got); diff != "" {
			t.Errorf("\n%s\nphase, reasons: -want, +got:\n%s", s.reason, diff)
		}
		if got := e.status("vcluster", "version"); (got != "") != (s.progress >= 50) {
			t.Errorf("\n%s\nstatus.vcluster.version: %q, with progress %v", s.reason, got, s.progress)
		}
		if got := field(e.xr(), "status").GetFields()["progress"].GetNumberValue(); got != s.progress {
			t.Errorf("\n%s\nprogress: want %v, got %v", s.reason, s.progress, got)
		}
		if ready := rsp.GetDesired().GetComposite().GetReady() == fnv1.Ready_READY_TRUE; ready != (s.phase == v1alpha1.PhaseReady) {
			t.Errorf("\n%s\nXR ready: %v in phase %s", s.reason, ready, s.phase)
		}
		e.heal()
	}

	want := map[string][]byte{
		"kubeconfig": e.kubeconfig(), "password": []byte(testPassword), "username": []byte("admin"),
		"url": []byte("https://argocd-server-x-argocd-x-vcluster.vargo-customer1-7rw8j.svc"),
	}
	if diff := cmp.Diff(want, e.rsp.GetDesired().GetComposite().GetConnectionDetails()); diff != "" {
		t.Errorf("connection details: -want, +got:\n%s", diff)
	}
	for path, want := range map[string]string{
		"namespace": "vargo-customer1-7rw8j", "argocd.version": "v3.4.4", "argocd.chartVersion": "10.1.1", "vcluster.version": "0.36.1",
		"vcluster.kubernetesVersion": "v1.36.0", "vcluster.kubeconfigSecretName": "customer1-7rw8j-kubeconfig", "vcluster.kubeconfigSecretKey": "kubeconfig",
		"vcluster.helmProviderName": "vargo-customer1-7rw8j", "vcluster.kubernetesProviderName": "vargo-customer1-7rw8j",
	} {
		if got := e.status(strings.Split(path, ".")...); got != want {
			t.Errorf("status.%s: want %q, got %q", path, want, got)
		}
	}
	events := len(e.events)
	e.reconcile()
	if len(e.events) != events {
		t.Errorf("a reconcile that changes nothing made events: %v", e.events[events:])
	}
}

// TestVersionOfArgoCD: the status has what runs, if that is a version, and keeps it while nothing can be seen to run.
func TestVersionOfArgoCD(t *testing.T) {
	e := newEngine(t, tenantXR(`{}`), "").install()
	for _, step := range []struct {
		image     string
		available bool
		want      string
	}{
		{"quay.io/argoproj/argocd:v3.4.5", true, "v3.4.5"},
		{"quay.io/argoproj/argocd:v3.4.6", false, "v3.4.5"},
		{"quay.io/argoproj/argocd:no-version", true, ""},
		{"quay.io/argoproj/argocd:v3.4.6", true, "v3.4.6"},
	} {
		e.setWorkload("argocd-server", func(w *proxy.Workload) {
			w.Available, w.Images = step.available, map[string]string{"server": step.image}
		})
		e.reconcile()
		if got := e.status("argocd", "version"); got != step.want {
			t.Errorf("%+v: got %q", step, got)
		}
	}
}

func TestHealth(t *testing.T) {
	cases := map[string]struct {
		reason  string
		breakIt func(e *engine)
		typ     string
		want    string
		message string
		phase   string
	}{
		"WorkloadUnavailable": {
			"A workload that loses its replicas is named.",
			func(e *engine) { e.setReplicas("argocd-repo-server", 0) },
			v1alpha1.ConditionArgoCDReady, v1alpha1.ReasonWorkloadsUnavailable, "Deployment argocd-repo-server is not fully available, replicas wanted: 1", "Degraded",
		},
		"WorkloadMissing": {
			"A workload that is gone is named.",
			func(e *engine) {
				e.setWorkload("argocd-server", func(w *proxy.Workload) { *w = proxy.Workload{Kind: w.Kind, Name: w.Name, Missing: true} })
			},
			v1alpha1.ConditionArgoCDReady, v1alpha1.ReasonWorkloadsUnavailable, "Deployment argocd-server does not exist", "Degraded",
		},
		"VirtualClusterUnreachable": {
			"What can't be observed isn't known to be healthy.",
			func(e *engine) {
				setCondition(e.observed(tenant.Workloads), "Synced", "False", "ReconcileError", "connection refused")
			},
			v1alpha1.ConditionArgoCDReady, v1alpha1.ReasonWorkloadsUnavailable, "Argo CD's workloads cannot be observed: waiting for the API server of the virtual cluster, which doesn't answer", "Degraded",
		},
		"BadChartVersion": {
			"The provider's error names the chart version.",
			func(e *engine) {
				setCondition(e.observed(tenant.ArgoCDRelease), "Synced", "False", "ReconcileError", `chart "argo-cd" version "99.0.0" not found`)
			},
			v1alpha1.ConditionArgoCDReady, v1alpha1.ReasonInstallFailed, `version "99.0.0" not found`, "Degraded",
		},
		"VirtualClusterSilent": {
			"A chart that is installed and can't be looked at has not failed to install.",
			func(e *engine) {
				setCondition(e.observed(tenant.ArgoCDRelease), "Synced", "False", "ReconcileError", "observe failed: failed to get last helm release: connection refused")
			},
			v1alpha1.ConditionArgoCDReady, v1alpha1.ReasonWorkloadsUnavailable, "Cannot look into the virtual cluster: waiting for the API server of the virtual cluster, which doesn't answer", "Degraded",
		},
		"KubeconfigNotWritten": {
			"vcluster writes its kubeconfig when it is up: nothing has failed.",
			func(e *engine) {
				e.publish("")
				delete(e.observed(tenant.KubeconfigSecret).GetFields(), "data")
			},
			v1alpha1.ConditionVirtualClusterReady, v1alpha1.ReasonInstalling, "Installing chart vcluster", "Degraded",
		},
		"PasswordNotWritten": {
			"Argo CD makes its admin's password a moment after it is up: nothing has failed.",
			func(e *engine) {
				e.req.GetObserved().GetResources()[tenant.ArgoCDRelease].ConnectionDetails = nil
				delete(e.req.GetObserved().GetComposite().GetConnectionDetails(), "password")
				setCondition(e.observed(tenant.ArgoCDRelease), "Synced", "False", "ReconcileError", "observe failed: cannot get connection details")
			},
			v1alpha1.ConditionArgoCDReady, v1alpha1.ReasonWaitingForPassword, "Waiting for the initial password of user admin: observe failed", "Degraded",
		},
		"FailedRelease": {
			"Helm's description tells why a release failed.",
			func(e *engine) {
				setCondition(e.observed(tenant.VClusterRelease), "Ready", "False", "Unavailable", "")
				setStatus(e.observed(tenant.VClusterRelease), `{"state":"failed","releaseDescription":"context deadline exceeded"}`)
			},
			v1alpha1.ConditionVirtualClusterReady, v1alpha1.ReasonInstallFailed, "waiting for the API server of the host, which doesn't answer", "Degraded",
		},
		"RollingOut": {
			"A Release whose newest spec the provider hasn't seen isn't ready, whatever its conditions say.",
			func(e *engine) {
				o := e.observed(tenant.ArgoCDRelease)
				field(o, "metadata").Fields["generation"] = structpb.NewNumberValue(3)
				for _, c := range field(o, "status").GetFields()["conditions"].GetListValue().GetValues() {
					c.GetStructValue().Fields["observedGeneration"] = structpb.NewNumberValue(2)
				}
			},
			v1alpha1.ConditionArgoCDReady, v1alpha1.ReasonInstalling, "Rolling out a change of chart argo-cd 10.1.1", "Updating",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, tenantXR(`{}`), "").install()
			events := len(e.events)
			tc.breakIt(e)
			e.reconcile()
			c := e.condition(tc.typ)
			if c.GetStatus() != fnv1.Status_STATUS_CONDITION_FALSE || c.GetReason() != tc.want || !strings.Contains(c.GetMessage(), tc.message) {
				t.Errorf("\n%s\nwant False, %s, %q, got: %v", tc.reason, tc.want, tc.message, c)
			}
			if e.status("phase") != tc.phase || !strings.Contains(e.status("message"), tc.message) {
				t.Errorf("\n%s\nwant %s, got %s: %s", tc.reason, tc.phase, e.status("phase"), e.status("message"))
			}
			e.reconcile()
			if got := len(e.events) - events; got != 1 {
				t.Errorf("\n%s\nwant one event, got %d: %v", tc.reason, got, e.events[events:])
			}
			e.heal()
			field(e.observed(tenant.ArgoCDRelease), "metadata").Fields["generation"] = structpb.NewNumberValue(1)
			e.reconcile()
			e.reconcile()
			if e.status("phase") != "Ready" {
				t.Errorf("\n%s\nwant Ready once healed, got %s: %s", tc.reason, e.status("phase"), e.status("message"))
			}
		})
	}
}

// TestUpgradedRelease: provider-helm says Ready=False of a Release that it has
// just upgraded, until its next poll.
func TestUpgradedRelease(t *testing.T) {
	e := newEngine(t, tenantXR(`{}`), "").install()
	for _, name := range []string{tenant.VClusterRelease, tenant.ArgoCDRelease} {
		setCondition(e.observed(name), "Ready", "False", "Unavailable", "")
	}
	e.reconcile()
	if e.status("phase") != "Ready" {
		t.Errorf("want Ready, got %s: %s", e.status("phase"), e.status("message"))
	}
}

func TestRefusal(t *testing.T) {
	const input = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input"`
	cases := map[string]struct {
		spec, input string
		want        []string
	}{
		"VClusterPathNotATenants":   {`{"vcluster":{"values":{"controlPlane":{"statefulSet":{"image":{"tag":"x"}}}}}}`, "", []string{"spec.vcluster.values.controlPlane.statefulSet.image.tag", "controlPlane.statefulSet.resources"}},
		"DottedKeyIsOneKey":         {`{"vcluster":{"values":{"sync.toHost.configMaps.all":true}}}`, "", []string{"spec.vcluster.values.sync.toHost.configMaps.all"}},
		"ValueOfThePlans":           {`{"vcluster":{"values":{"policies":{"resourceQuota":{"quota":{"limits.cpu":"99"}}}}}}`, "", []string{"spec.vcluster.values.policies.resourceQuota.quota.limits.cpu", "what the tenant may use of the host"}},
		"OwnNetworkPolicies":        {`{"vcluster":{"values":{"sync":{"toHost":{"networkPolicies":{"enabled":true}}}}}}`, "", []string{"spec.vcluster.values.sync.toHost.networkPolicies.enabled", "policies add up"}},
		"HostForGRPC":               {`{"ingress":{"host":"grpc.argocd.example.org"}}`, "", []string{"spec.ingress.host", "kept for gRPC of the claim that has argocd.example.org"}},
		"HostOfThePlatform":         {`{"ingress":{"host":"a.b.apps.example.org"}}`, input + `,"ingress":{"hosts":["*.apps.example.org","one.example.org"]}}`, []string{"spec.ingress.host", "a.b.apps.example.org", "write one of *.apps.example.org, one.example.org"}},
		"NoPatternOfHosts":          {`{}`, input + `,"ingress":{"domain":"example.org","hosts":["one.example.org","*"]}}`, []string{"input.ingress.hosts[1]", "*.example.org"}},
		"ListInPlaceOfMap":          {`{"vcluster":{"values":{"controlPlane":[]}}}`, "", []string{"spec.vcluster.values.controlPlane"}},
		"NullInPlaceOfMap":          {`{"vcluster":{"values":{"controlPlane":null}}}`, "", []string{"spec.vcluster.values.controlPlane"}},
		"ProtectedArgoCDPath":       {`{"argocd":{"values":{"fullnameOverride":"mine"}}}`, "", []string{"spec.argocd.values.fullnameOverride", "leave it out"}},
		"ProtectedArgoCDPathNested": {`{"argocd":{"values":{"server":{"name":"mine"}}}}`, "", []string{"spec.argocd.values.server.name"}},
		"ProtectedArgoCDList":       {`{"argocd":{"values":{"namespaceOverride":["a"]}}}`, "", []string{"spec.argocd.values.namespaceOverride"}},
		"VersionRange":              {`{"argocd":{"chartVersion":"^9.0.0"}}`, "", []string{"spec.argocd.chartVersion", "^9.0.0", "1.2.3"}},
		"TemplateInValues":          {`{"argocd":{"values":{"server":{"initContainers":[{"name":"{{ .Release.Name }}"}]}}}}`, "", []string{"spec.argocd.values.server.initContainers", "templates"}},
		"TooManyReplicas":           {`{"argocd":{"values":{"server":{"replicas":1000000}}}}`, "", []string{"spec.argocd.values.server.replicas", "from 0 to 200"}},
		"VClusterVersionIncomplete": {`{"vcluster":{"chartVersion":"0.36"}}`, "", []string{"spec.vcluster.chartVersion", "0.36"}},
		"KubernetesUnknown":         {`{"kubernetes":{"version":"v1.29.0"}}`, "", []string{"spec.kubernetes.version", "v1.29.0", "write v1.36.0"}},
		"KubernetesIncomplete":      {`{"kubernetes":{"version":"1.36"}}`, "", []string{"spec.kubernetes.version", "1.36"}},
		"SpecIsText":                {`"all"`, "", []string{"spec", "an object"}},
		"ValuesAreAList":            {`{"argocd":{"values":[]}}`, "", []string{"spec.argocd.values", "an object"}},
		"VersionIsANumber":          {`{"argocd":{"chartVersion":9}}`, "", []string{"spec.argocd.chartVersion", "9", "text"}},
		"ValuesTooDeep":             {`{"argocd":{"values":` + strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat(`}`, 40) + `}}`, "", []string{"spec.argocd.values", "32"}},
		"ValuesTooLarge":            {`{"argocd":{"values":{"a":"` + strings.Repeat("x", 300<<10) + `"}}}`, "", []string{"spec.argocd.values", "256 KiB"}},
		"InputFieldUnknown":         {`{}`, input + `,"host":{"helmProviderCfg":"x"}}`, []string{"input", "host.helmProviderCfg"}},
		"InputFieldOfWrongType":     {`{}`, input + `,"storage":{"size":1}}`, []string{"input", "size"}},
		"InputKindUnknown":          {`{}`, `{"apiVersion":"v1","kind":"ConfigMap"}`, []string{"input", "ConfigMap", "Input"}},
		"InputVersionRange":         {`{}`, input + `,"charts":{"argocd":{"version":"*"}}}`, []string{"input.charts.argocd.version", "*"}},
		"InputSetsProtected":        {`{}`, input + `,"charts":{"vcluster":{"values":{"policies":{"networkPolicy":{"enabled":true}}}}}}`, []string{"input.charts.vcluster.values.policies.networkPolicy", "is protected", "leave it out"}},
		"InputTakesProtectedAway":   {`{}`, input + `,"charts":{"vcluster":{"values":{"policies":null}}}}`, []string{"input.charts.vcluster.values.policies", "is protected"}},
		"InputRangeNotOne":          {`{}`, input + `,"network":{"internalCIDRs":["203.0.113.7/24"]}}`, []string{"input.network.internalCIDRs[0]", "203.0.113.7/24"}},
		"InputRangeOfAll":           {`{}`, input + `,"network":{"internalCIDRs":["::/0"]}}`, []string{"input.network.internalCIDRs[0]", "every address"}},
		"InputAPIServerNotARange":   {`{}`, input + `,"host":{"apiServer":{"cidrs":["10.0.0.1"]}}}`, []string{"input.host.apiServer.cidrs[0]", "10.0.0.1"}},
		"InputPeerIsNobody":         {`{}`, input + `,"network":{"allowFrom":[{}]}}`, []string{"input.network.allowFrom[0]", "ipBlock"}},
		"InputPeerIsBoth":           {`{}`, input + `,"network":{"allowTo":[{"ipBlock":{"cidr":"10.0.0.0/8"},"podSelector":{}}]}}`, []string{"input.network.allowTo[0]", "one of them"}},
		"InputPeerSelector":         {`{}`, input + `,"network":{"allowTo":[{"podSelector":{"matchExpressions":[{"key":"a","operator":"Is"}]}}]}}`, []string{"input.network.allowTo[0].podSelector", "Is", "write one such as matchLabels: {app: git}"}},
		"InputMetricsFromNobody":    {`{}`, input + `,"network":{"metricsFrom":[{}]}}`, []string{"input.network.metricsFrom[0]", "ipBlock"}},
		"InputNamespaceSelector":    {`{}`, input + `,"network":{"allowFrom":[{"namespaceSelector":{"matchLabels":{"a b":"c"}}}]}}`, []string{"input.network.allowFrom[0].namespaceSelector", "a b", "write one such as matchLabels: {kubernetes.io/metadata.name: git}"}},
		"InputExceptElsewhere":      {`{}`, input + `,"network":{"allowTo":[{"ipBlock":{"cidr":"10.0.0.0/8","except":["10.1.0.0/16","11.0.0.0/16"]}}]}}`, []string{"input.network.allowTo[0].ipBlock.except[1]: 11.0.0.0/16 is no part of cidr 10.0.0.0/8: write a narrower range within it"}},
		"InputExceptAll":            {`{}`, input + `,"network":{"allowTo":[{"ipBlock":{"cidr":"10.0.0.0/8","except":["10.0.0.0/8"]}}]}}`, []string{"input.network.allowTo[0].ipBlock.except[0]", "narrower"}},
		"InputExceptWider":          {`{}`, input + `,"network":{"allowTo":[{"ipBlock":{"cidr":"10.0.0.0/16","except":["10.0.0.0/8"]}}]}}`, []string{"input.network.allowTo[0].ipBlock.except[0]", "narrower"}},
		"InputExceptOfOtherFamily":  {`{}`, input + `,"network":{"allowTo":[{"ipBlock":{"cidr":"0.0.0.0/0","except":["2001:db8::/32"]}}]}}`, []string{"input.network.allowTo[0].ipBlock.except[0]", "narrower"}},
		"InputAPIServerPort":        {`{}`, input + `,"host":{"apiServer":{"port":70000}}}`, []string{"input.host.apiServer.port: 70000 is not a port: write a number from 1 to 65535"}},
		"InputAPIServerPortBelow":   {`{}`, input + `,"host":{"apiServer":{"port":-1}}}`, []string{"input.host.apiServer.port: -1 is not a port"}},
		"InputStorageOfNothing":     {`{}`, input + `,"storage":{"size":"0"}}`, []string{`input.storage.size: "0" is not an amount: write one such as 2Gi`}},
		"InputStorageBelow":         {`{}`, input + `,"storage":{"size":"-1Gi"}}`, []string{`input.storage.size: "-1Gi"`}},
		"InputDomainTooLong":        {`{}`, input + `,"ingress":{"domain":"` + strings.Repeat("abcdefghi.", 19) + `org"}}`, []string{"input.ingress.domain: has 193 characters: write one of at most 189"}},
		"InputHostsOfNoClaim":       {`{}`, input + `,"ingress":{"hosts":["*.Example.org"]}}`, []string{`input.ingress.hosts[0]: "*.Example.org" is not a hostname`}},
		"InputPeerField":            {`{}`, input + `,"network":{"allowTo":[{"ipBlok":{}}]}}`, []string{"input", "network.allowTo[0].ipBlok"}},
		"InputControllerNotAName":   {`{}`, input + `,"network":{"ingressControllers":["a/b"]}}`, []string{"input.network.ingressControllers[0]", "a/b"}},
		"InputCredentialsLabel":     {`{}`, input + `,"credentials":{"label":"No"}}`, []string{"input.credentials.label", "No", "Required", "Ignored"}},
		"InputGone":                 {`{}`, input + `,"usageAPI":"None"}`, []string{"input.usageAPI: there is no such field", "usageAPI"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, tenantXR(tc.spec), tc.input)
			msg := refusal(e.reconcile())
			for _, want := range tc.want {
				if !strings.Contains(msg, want) {
					t.Errorf("error should say %q: %q", want, msg)
				}
			}
			for _, c := range e.rsp.GetConditions() {
				reason := v1alpha1.ReasonInvalidSpec
				if strings.HasPrefix(msg, "input") {
					reason = v1alpha1.ReasonInvalidInput
				}
				if c.GetReason() != reason || c.GetMessage() != msg || c.GetTarget() != fnv1.Target_TARGET_COMPOSITE_AND_CLAIM {
					t.Errorf("the claim's condition should say so: %v", c)
				}
			}
		})
	}
}

func TestAcceptedSpecs(t *testing.T) {
	for name, xr := range map[string]string{
		"Empty":              tenantXR(`{}`),
		"None":               `{"apiVersion":"virtualargocd.io/v1alpha1","kind":"XVirtualArgoCD","metadata":{"name":"a"}}`,
		"OtherGroup":         `{"apiVersion":"demo.example.org/v1alpha1","kind":"XVirtualArgoCD","metadata":{"name":"a"},"spec":{}}`,
		"OriginalDemo":       tenantXR(`{"argocd":{"values":{}}}`),
		"OriginalDemoBoth":   tenantXR(`{"argocd":{"values":{}},"vcluster":{"values":{}}}`),
		"Nulls":              tenantXR(`{"argocd":null,"kubernetes":{},"vcluster":{"values":null}}`),
		"CrossplanesOwn":     tenantXR(`{"compositionRef":{"name":"virtual-argocd"},"resourceRefs":[]}`),
		"AllowedValues":      tenantXR(`{"vcluster":{"values":{"sync":{"toHost":{"persistentVolumeClaims":{"enabled":true}}},"controlPlane":{"statefulSet":{"resources":{"limits":{"memory":"3Gi"}}}}}}}`),
		"EmptyMapSetsNoting": tenantXR(`{"vcluster":{"values":{"controlPlane":{"statefulSet":{}}}}}`),
		"VersionsWithV":      tenantXR(`{"argocd":{"chartVersion":"v9.3.7"},"kubernetes":{"version":"1.36.0"},"vcluster":{"chartVersion":"v0.36.1"}}`),
	} {
		t.Run(name, func(t *testing.T) { newEngine(t, xr, "").install() })
	}
}

func TestValuesReachTheChart(t *testing.T) {
	e := newEngine(t, tenantXR(`{"argocd":{"values":{"server":{"replicas":2},"dex":{"enabled":false}}},"kubernetes":{"version":"1.35.4"}}`),
		`{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"values":{"server":{"replicas":1,"logLevel":"debug"}}}},"kubernetes":{"version":"v1.35.4"},"images":{"registry":"mirror.test/m"}}`).install()
	values := field(e.observed(tenant.ArgoCDRelease), "spec", "forProvider", "values").AsMap()
	probe := map[string]any{"initialDelaySeconds": 1., "periodSeconds": 3., "failureThreshold": 10.}
	want := map[string]any{
		"fullnameOverride": "argocd", "namespaceOverride": "argocd",
		"configs":    map[string]any{"secret": map[string]any{"extra": map[string]any{"virtualargocd.tenant": "customer1-7rw8j"}}},
		"server":     map[string]any{"replicas": 2., "logLevel": "debug", "readinessProbe": probe},
		"controller": map[string]any{"readinessProbe": probe}, "repoServer": map[string]any{"readinessProbe": probe},
		"dex":             map[string]any{"enabled": false, "image": map[string]any{"repository": "mirror.test/m/dexidp/dex"}},
		"global":          map[string]any{"domain": "argocd-server-x-argocd-x-vcluster.vargo-customer1-7rw8j.svc", "image": map[string]any{"repository": "mirror.test/m/argoproj/argocd"}},
		"redisSecretInit": map[string]any{"enabled": false},
		"redis":           map[string]any{"image": map[string]any{"repository": "mirror.test/m/docker/library/redis"}},
		"redis-ha": map[string]any{
			"image":   map[string]any{"repository": "mirror.test/m/docker/library/redis"},
			"haproxy": map[string]any{"image": map[string]any{"repository": "mirror.test/m/docker/library/haproxy"}},
		},
	}
	if diff := cmp.Diff(want, values); diff != "" {
		t.Errorf("argo-cd values: -want, +got:\n%s", diff)
	}
	if manifest := field(e.observed(tenant.Workloads), "spec", "forProvider", "manifest", "metadata"); strings.Contains(manifest.String(), "dex") {
		t.Error("a workload that is switched off is observed")
	}
	if got := e.status("vcluster", "kubernetesVersion"); got != "v1.35.4" {
		t.Errorf("status.vcluster.kubernetesVersion: want v1.35.4, got %s", got)
	}
}

func TestDeletedInitialPassword(t *testing.T) {
	e := newEngine(t, tenantXR(`{}`), "").install()
	reads := func() bool {
		e.reconcile()
		_, ok := field(e.observed(tenant.ArgoCDRelease), "spec").GetFields()["connectionDetails"]
		return ok
	}
	if !reads() {
		t.Error("the Release doesn't read the password")
	}
	setCondition(e.observed(tenant.ArgoCDRelease), "Synced", "False", "ReconcileError", "observe failed: connection refused")
	if !reads() {
		t.Error("the Release stops reading a Secret for another reason")
	}
	setCondition(e.observed(tenant.ArgoCDRelease), "Synced", "False", "ReconcileError", `observe failed: cannot get connection details: cannot get object: secrets "argocd-initial-admin-secret" not found`)
	if reads() {
		t.Error("the Release still reads a Secret that may be gone")
	}
	e.heal()
	e.req.GetObserved().GetResources()[tenant.ArgoCDRelease].ConnectionDetails = nil
	if reads() {
		t.Error("the Release reads the Secret again")
	}
	if got := e.status("phase"); got != "Ready" {
		t.Errorf("want Ready, got %s: %s", got, e.status("message"))
	}
	if got := string(e.rsp.GetDesired().GetComposite().GetConnectionDetails()["password"]); got != testPassword {
		t.Errorf("the published password is lost: got %q", got)
	}
}

func TestFailedInstallationIsTriedAgainAtOnce(t *testing.T) {
	e := newEngine(t, tenantXR(`{}`), "").install()
	for _, name := range []string{tenant.VClusterRelease, tenant.ArgoCDRelease} {
		for failed, want := range []string{"", "1", "2"} {
			field(e.observed(name), "status").Fields["failed"] = structpb.NewNumberValue(float64(failed))
			e.reconcile()
			got := field(e.observed(name), "metadata", "annotations").GetFields()["virtualargocd.io/failed"].GetStringValue()
			if got != want {
				t.Errorf("Release %s has failed %d times: want the annotation %q, got %q", name, failed, want, got)
			}
		}
	}
}

// A first installation is never given up, and Failing only where waiting doesn't mend what it lacks.
func TestFirstInstallationIsNotGivenUp(t *testing.T) {
	first := newEngine(t, tenantXR(`{}`), "")
	first.reconcile()
	first.begin()
	for message, want := range map[string]string{
		"create failed: failed to install release: context deadline exceeded":               "Provisioning",
		"Internal error occurred: resource quota evaluation timed out":                      "Provisioning",
		`serviceaccounts is forbidden: User "x" cannot create resource`:                     "Failing",
		"failed to pull chart: Get \"https://c.example.org/index.yaml\": dial: i/o timeout": "Provisioning",
	} {
		setCondition(first.observed(tenant.VClusterRelease), "Synced", "False", "ReconcileError", message)
		first.reconcile()
		if c := first.condition(v1alpha1.ConditionVirtualClusterReady); first.status("phase") != want || (want == "Failing") != strings.Contains(c.GetMessage(), message) {
			t.Errorf("%s: want phase %s, got %s: %s", message, want, first.status("phase"), c.GetMessage())
		}
	}
	first.created(tenant.VClusterRelease, 6*time.Minute)
	setCondition(first.observed(tenant.VClusterRelease), "Synced", "False", "ReconcileError", "failed to pull chart: i/o timeout")
	if first.reconcile(); first.status("phase") != "Failing" {
		t.Errorf("a chart repository doesn't answer for minutes, and the phase is %s", first.status("phase"))
	}
	first.heal()
	first.reconcile()
	if first.reconcile(); first.status("phase") != "Provisioning" {
		t.Errorf("a first installation goes on, and the phase is %s", first.status("phase"))
	}
}

// TestTeardown: nothing of a tenant's waits for another when it is deleted, other than for its namespace.
func TestTeardown(t *testing.T) {
	e := newEngine(t, tenantXR(`{}`), "").install()
	e.reconcile()
	e.canBeDeleted()
}

// canBeDeleted checks how Crossplane finds the composed resources when it deletes the tenant, for which it doesn't
// call the function.
func (e *engine) canBeDeleted() {
	t := e.t
	t.Helper()
	// Its provider would wait half a minute before it believes that a namespace that it has just made is gone.
	annotations := field(e.observed(tenant.Namespace), "metadata", "annotations").AsMap()
	for _, key := range []string{"crossplane.io/external-create-pending", "crossplane.io/external-create-succeeded"} {
		if at, err := time.Parse(time.RFC3339, fmt.Sprint(annotations[key])); err != nil || time.Since(at) < time.Hour {
			t.Errorf("annotation %s of the namespace's Object is %v, %v", key, annotations[key], err)
		}
	}
	for name, o := range e.req.GetObserved().GetResources() {
		if kind := o.GetResource().GetFields()["kind"].GetStringValue(); name == tenant.Namespace || kind != "Object" && kind != "Release" {
			continue
		}
		policies := field(e.observed(name), "spec").GetFields()["managementPolicies"].GetListValue().AsSlice()
		if len(policies) == 0 || slices.Contains(policies, "Delete") || slices.Contains(policies, "*") {
			t.Errorf("%s goes with the namespace, and must not be deleted by itself: managementPolicies %v", name, policies)
		}
	}
}

func TestAdminWithoutInitialPassword(t *testing.T) {
	for name, values := range map[string]string{
		"AdminDisabled": `{"configs":{"cm":{"admin.enabled":"false"}}}`,
		"OwnPassword":   `{"configs":{"secret":{"argocdServerAdminPassword":"$2a$10$abc"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, tenantXR(`{"argocd":{"values":`+values+`}}`), "").install()
			if details := field(e.observed(tenant.ArgoCDRelease), "spec").GetFields()["connectionDetails"]; details != nil {
				t.Errorf("the Release waits for a Secret that Argo CD doesn't write: %v", details)
			}
			if _, ok := e.rsp.GetDesired().GetComposite().GetConnectionDetails()["password"]; ok {
				t.Error("a password is published that isn't the admin's")
			}
		})
	}
}
