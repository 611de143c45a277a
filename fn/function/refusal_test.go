package function_test

import (
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

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
		"InputDigestWithoutOCI":     {`{}`, input + `,"charts":{"argocd":{"digests":{"10.1.1":"sha256:` + strings.Repeat("0", 64) + `"}}}}`, []string{"input.charts.argocd.digests", "https://argoproj.github.io/argo-helm", "write an oci://"}},
		"InputDigestOfRange":        {`{}`, input + `,"charts":{"vcluster":{"repository":"oci://a.b","digests":{"v0.36.1":"sha256:` + strings.Repeat("0", 64) + `"}}}}`, []string{`input.charts.vcluster.digests: "v0.36.1" is not a version`}},
		"InputDigestTooShort":       {`{}`, input + `,"charts":{"vcluster":{"repository":"oci://a.b","digests":{"0.36.1":"sha256:0"}}}}`, []string{`input.charts.vcluster.digests[0.36.1]: "sha256:0" is not a digest`}},
		"InputSetsProtected":        {`{}`, input + `,"charts":{"vcluster":{"values":{"policies":{"networkPolicy":{"enabled":true}}}}}}`, []string{"input.charts.vcluster.values.policies.networkPolicy", "is protected", "leave it out"}},
		"InputTakesProtectedAway":   {`{}`, input + `,"charts":{"vcluster":{"values":{"policies":null}}}}`, []string{"input.charts.vcluster.values.policies", "is protected"}},
		"InputDomainTooLong":        {`{}`, input + `,"ingress":{"domain":"` + strings.Repeat("abcdefghi.", 19) + `org"}}`, []string{"input.ingress.domain: has 193 characters: write one of at most 189"}},
		"InputHostsOfNoClaim":       {`{}`, input + `,"ingress":{"hosts":["*.Example.org"]}}`, []string{`input.ingress.hosts[0]: "*.Example.org" is not a hostname`}},
		"InputPeerField":            {`{}`, input + `,"network":{"allowTo":[{"ipBlok":{}}]}}`, []string{"input", "network.allowTo[0].ipBlok"}},
		"InputGone":                 {`{}`, input + `,"usageAPI":"None"}`, []string{"input.usageAPI: there is no such field", "usageAPI"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, tc.spec, tc.input)
			e.CheckRefused(tc.want...)
			msg := crossplanetest.Refusal(e.Response)
			for _, c := range e.Response.GetConditions() {
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
		"Empty":              crossplanetest.TenantXR(`{}`),
		"None":               `{"apiVersion":"virtualargocd.io/v1alpha1","kind":"XVirtualArgoCD","metadata":{"name":"a"}}`,
		"OtherGroup":         `{"apiVersion":"demo.example.org/v1alpha1","kind":"XVirtualArgoCD","metadata":{"name":"a"},"spec":{}}`,
		"OriginalDemo":       crossplanetest.TenantXR(`{"argocd":{"values":{}}}`),
		"OriginalDemoBoth":   crossplanetest.TenantXR(`{"argocd":{"values":{}},"vcluster":{"values":{}}}`),
		"Nulls":              crossplanetest.TenantXR(`{"argocd":null,"kubernetes":{},"vcluster":{"values":null}}`),
		"CrossplanesOwn":     crossplanetest.TenantXR(`{"compositionRef":{"name":"virtual-argocd"},"resourceRefs":[]}`),
		"AllowedValues":      crossplanetest.TenantXR(`{"vcluster":{"values":{"sync":{"toHost":{"persistentVolumeClaims":{"enabled":true}}},"controlPlane":{"statefulSet":{"resources":{"limits":{"memory":"3Gi"}}}}}}}`),
		"EmptyMapSetsNoting": crossplanetest.TenantXR(`{"vcluster":{"values":{"controlPlane":{"statefulSet":{}}}}}`),
		"VersionsWithV":      crossplanetest.TenantXR(`{"argocd":{"chartVersion":"v9.3.7"},"kubernetes":{"version":"1.36.0"},"vcluster":{"chartVersion":"v0.36.1"}}`),
	} {
		t.Run(name, func(t *testing.T) { crossplanetest.NewXR(t, xr, "").Install() })
	}
}
