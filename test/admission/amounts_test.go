package admission

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

// TestAmounts: nothing of a tenant has an amount with which the API server or a kubelet would compute for long.
func TestAmounts(t *testing.T) { ask(t, amounts()) }

func amounts() map[string]verdict {
	const (
		huge                 = "1e10000000"
		ofPod, ofClaim, ofCP = "an amount of a tenant's pod", "an amount of a tenant's volume claim", "an amount of a tenant's control plane"
	)
	by := func(account, resource, name, object string) request {
		return request{by: account, resource: resource, namespace: "vargo-a", name: name, object: object}
	}
	do := func(object string) request { return by(syncer, "pods", "", object) }
	with := func(spec string) request { return do(pod + one + ", " + spec + `}}`) }
	container := func(text string) string { return `[{name: c, image: i, ` + text + `}]` }
	claim := func(spec string) request {
		return by(syncer, "persistentvolumeclaims", "", `{spec: {`+spec+`}}`)
	}
	divisor := func(text string) string {
		return `resourceFieldRef: {resource: limits.cpu, divisor: "` + text + `"}`
	}
	chart := func(container, volume, claim, spec string) request {
		return by(installer, "apps/statefulsets", "vcluster", `{spec: {template: {metadata: {labels: {app: vcluster, release: vcluster}}, spec: {serviceAccountName: vc-vcluster, containers: [{name: syncer, image: "`+
			imageOfVCluster+`", `+container+`}], volumes: [{emptyDir: {`+volume+`}}]`+spec+`}}, volumeClaimTemplates: [{metadata: {name: data}, spec: {`+claim+`}}]}}`)
	}
	resize := with(`nodeName: n`)
	resize.resource, resize.name, resize.old = "pods/resize", "p", usual
	resize.object = pod + `, containers: ` + container(`resources: {limits: {cpu: "`+huge+`"}}`) + `}}`
	debug := by(syncer, "pods/ephemeralcontainers", "p", pod+one+`, ephemeralContainers: `+container(`env: [{name: A, valueFrom: {`+divisor(huge)+`}}]`)+`}}`)
	debug.old = usual
	grown := claim(`resources: {requests: {storage: "` + huge + `"}}`)
	grown.old = `{spec: {resources: {requests: {storage: 1Gi}}}}`
	classy := claim(`volumeAttributesClassName: gold, resources: {requests: {storage: 2Gi}}`)
	classy.old = `{spec: {volumeAttributesClassName: gold, resources: {requests: {storage: 1Gi}}}}`
	var every []string
	for _, amount := range []string{"1", "0", "0.5", "100m", "1Gi", "1.5G", "1e9", "129E6", "1E", "5n", "3u", "-1", "1e-3"} {
		every = append(every, fmt.Sprintf("{name: c, resources: {limits: {cpu: %q}, requests: {memory: %q}}}", amount, amount))
	}
	// As large as an object of a tenant may be: the budgets of the policies must suffice.
	var many []string
	for range 20 {
		many = append(many, `{name: c, resources: {limits: {cpu: 1, memory: 1Gi}}, env: [`+strings.TrimSuffix(strings.Repeat(`{name: A, valueFrom: {`+divisor("1Mi")+`}}, `, 30), ", ")+`]}`)
	}
	return map[string]verdict{
		"Usual":             {do(pod + `, containers: [` + strings.Join(every, ", ") + `], volumes: [{emptyDir: {sizeLimit: 1Gi}}, {emptyDir: {sizeLimit: 5}}]}}`), ""},
		"Many":              {do(pod + `, containers: [` + strings.Join(many, ", ") + `]}}`), ""},
		"UsualClaim":        {claim(`resources: {requests: {storage: 1e9}, limits: {storage: 2Gi}}`), ""},
		"UsualControlPlane": {chart(`resources: {limits: {cpu: 2, memory: 1Gi}}`, `sizeLimit: 1Gi`, `resources: {requests: {storage: 5Gi}}`, ``), ""},

		"Limit":             {do(pod + `, containers: ` + container(`resources: {limits: {cpu: "`+huge+`"}}`) + `}}`), ofPod},
		"Request":           {do(pod + `, containers: ` + container(`resources: {requests: {cpu: "`+huge+`"}}`) + `}}`), ofPod},
		"ThreeDigits":       {do(pod + `, containers: ` + container(`resources: {limits: {cpu: "1e100"}}`) + `}}`), ofPod},
		"SmallExponent":     {do(pod + `, containers: ` + container(`resources: {limits: {cpu: "1e-100"}}`) + `}}`), ofPod},
		"ManyDigits":        {do(pod + `, containers: ` + container(`resources: {limits: {cpu: "`+strings.Repeat("9", 41)+`"}}`) + `}}`), ofPod},
		"LimitOfInit":       {with(`initContainers: ` + container(`resources: {limits: {cpu: "`+huge+`"}}`)), ofPod},
		"LimitOfThePod":     {with(`resources: {limits: {cpu: "` + huge + `"}}`), ofPod},
		"Resize":            {resize, ofPod},
		"Debug":             {debug, ofPod},
		"Overhead":          {with(`overhead: {cpu: "` + huge + `"}`), ofPod},
		"SizeLimit":         {with(`volumes: [{emptyDir: {}}, {emptyDir: {sizeLimit: "` + huge + `"}}]`), ofPod},
		"EphemeralClaim":    {with(`volumes: [{ephemeral: {volumeClaimTemplate: {spec: {resources: {requests: {storage: "` + huge + `"}}}}}}]`), ofPod},
		"Divisor":           {do(pod + `, containers: ` + container(`env: [{name: A}, {name: A, valueFrom: {`+divisor(huge)+`}}]`) + `}}`), ofPod},
		"DivisorOfFile":     {with(`volumes: [{downwardAPI: {items: [{path: a, ` + divisor(huge) + `}]}}]`), ofPod},
		"DivisorOfProject":  {with(`volumes: [{projected: {sources: [{secret: {name: a}}, {downwardAPI: {items: [{path: a, ` + divisor(huge) + `}]}}]}}]`), ofPod},
		"Claim":             {claim(`resources: {requests: {storage: "` + huge + `"}}`), ofClaim},
		"ClaimsLimit":       {claim(`resources: {limits: {storage: "` + huge + `"}}`), ofClaim},
		"ClaimGrows":        {grown, ofClaim},
		"ControlPlane":      {chart(`resources: {limits: {cpu: "`+huge+`"}}`, ``, ``, ``), ofCP},
		"ControlPlanesSize": {chart(`resources: {}`, `sizeLimit: "`+huge+`"`, ``, ``), ofCP},
		"Store":             {chart(`resources: {}`, ``, `resources: {requests: {storage: "`+huge+`"}}`, ``), ofCP},
		"ControlPlanesPod":  {chart(`resources: {}`, ``, ``, `, resources: {limits: {cpu: "`+huge+`"}}`), ofCP},
		"Environment":       {chart(`env: [{name: POD_IP, valueFrom: {`+divisor(huge)+`}}]`, ``, ``, ``), ofCP},

		"AttributesClass":            {claim(`volumeAttributesClassName: gold`), "names no VolumeAttributesClass but"},
		"AttributesClassOfEphemeral": {with(`volumes: [{ephemeral: {volumeClaimTemplate: {spec: {volumeAttributesClassName: gold}}}}]`), "is made for it"},
		"AttributesClassStays":       {classy, ""},
	}
}

// TestAmountsAsTheAPIServerWritesThem: policies see amounts as Kubernetes writes them.
func TestAmountsAsTheAPIServerWritesThem(t *testing.T) {
	s := newAPIServer(t)
	for text, want := range map[string]string{"1e3": "", "1024Mi": "", "0.1": "", "12345678901234567890": "", "1e99": "", "1e1000": "an amount", "1000000e5000": "an amount"} {
		q := resource.MustParse(text)
		v := verdict{request{by: syncer, resource: "pods", namespace: "vargo-a", object: pod + `, containers: [{name: c, resources: {limits: {cpu: "` + q.String() + `"}}}]}}`}, want}
		if wrong := v.wrong(s.decide(t, v.request)); wrong != "" {
			t.Errorf("%s, written as %s: %s", text, q.String(), wrong)
		}
	}
}
