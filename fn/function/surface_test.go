package function_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
	"github.com/virtual-argocd/virtual-argocd/internal/memtest"
)

// What an answer to a request that is too large or too deep may take: memory as a
// multiple of what the request itself has, and time.
const (
	mostMemory = 48
	mostTime   = 5 * time.Second
)

// TestOversized: what is too large or too deep is refused, or left out, before it
// costs much: in a claim, the input, a plan and a Secret.
func TestOversized(t *testing.T) {
	text := strings.Repeat("x", 3<<20)
	deep := strings.Repeat(`{"a":`, 4000) + "1" + strings.Repeat("}", 4000)
	deepList := strings.Repeat(`[`, 4000) + strings.Repeat("]", 4000)
	var wide strings.Builder
	wide.WriteString(`{"a":1`)
	for i := range 100000 {
		wide.WriteString(`,"k` + strconv.Itoa(i) + `":{}`)
	}
	wide.WriteString("}")
	list := "[" + strings.TrimSuffix(strings.Repeat(`{"name":"a"},`, 100000), ",") + "]"
	const input = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input",`
	const cluster = `{"clusters":[{"name":"prod","secretRef":{"name":"prod-token"}}]}`
	cases := map[string]struct {
		spec, input, plan string
		secret            map[string]string
		want              string // part of the refusal, or of the message about the Secret
	}{
		"ClaimText":        {spec: `{"argocd":{"values":{"a":"` + text + `"}}}`, want: "spec.argocd.values: values are larger than 256 KiB"},
		"ClaimDeep":        {spec: `{"argocd":{"values":` + deep + `}}`, want: "spec.argocd.values: values are nested deeper than 32 levels"},
		"ClaimDeepList":    {spec: `{"vcluster":{"values":{"a":` + deepList + `}}}`, want: "spec.vcluster.values: values are nested deeper than 32 levels"},
		"ClaimWide":        {spec: `{"argocd":{"values":` + wide.String() + `}}`, want: "spec.argocd.values: values are larger than 256 KiB"},
		"ClaimLabels":      {spec: `{"ingress":{"host":"a.b","annotations":{"a":"` + text + `"}}}`, want: "spec.ingress.annotations: values are larger than 256 KiB"},
		"ClaimList":        {spec: `{"clusters":` + list + `}`, want: "spec.clusters: has 100000 entries: write 50 at most"},
		"ClaimVersion":     {spec: `{"argocd":{"chartVersion":"` + text + `"}}`, want: "spec.argocd.chartVersion"},
		"ClaimPlan":        {spec: `{"plan":"` + text + `"}`, want: "spec.plan"},
		"ClaimElsewhere":   {spec: `{"unknown":` + deep + `,"bootstrap":` + deep + `}`, want: "spec.bootstrap"},
		"InputText":        {spec: `{}`, input: input + `"charts":{"argocd":{"values":{"a":"` + text + `"}}}}`, want: "input: values are larger than 256 KiB"},
		"InputDeep":        {spec: `{}`, input: input + `"charts":{"argocd":{"values":` + deep + `}}}`, want: "input: values are nested deeper than 32 levels"},
		"PlanText":         {spec: `{}`, plan: `{"values":{"argocd":{"a":"` + text + `"}}}`, want: "plan p: spec: values are larger than 256 KiB"},
		"PlanDeep":         {spec: `{}`, plan: `{"values":{"argocd":` + deep + `}}`, want: "plan p: spec: values are nested deeper than 32 levels"},
		"PlanWide":         {spec: `{}`, plan: `{"quota":` + wide.String() + `}`, want: "plan p: spec: values are larger than 256 KiB"},
		"SecretText":       {spec: cluster, secret: map[string]string{"kubeconfig": text[:900<<10]}, want: "it is too large: keep it to 256 KiB"},
		"SecretLarge":      {spec: cluster, secret: map[string]string{"server": "https://a.b", "config": `{"bearerToken":"` + text[:900<<10] + `"}`}, want: "it is too large: keep it to 256 KiB"},
		"SecretFits":       {spec: cluster, secret: map[string]string{"server": "https://a.b", "config": `{"bearerToken":"` + text[:200<<10] + `"}`}, want: "too large together"},
		"SecretDeep":       {spec: cluster, secret: map[string]string{"server": "https://a.b", "config": strings.Repeat(`{"a":`, 50000)}, want: "config"},
		"SecretYAMLDeep":   {spec: cluster, secret: map[string]string{"kubeconfig": strings.Repeat("[", 250000)}, want: "kubeconfig"},
		"SecretYAMLLaughs": {spec: cluster, secret: map[string]string{"kubeconfig": laughs()}, want: "kubeconfig"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, tc.spec, tc.input)
			if tc.plan != "" {
				e.AddPlan("p", tc.plan, "default-plan=true")
			}
			if tc.secret != nil {
				e.AddSecret("prod-token", "Opaque", tc.secret)
			}
			// So that the request has what is asked for.
			e.Reconcile()
			began := time.Now()
			bytes := allocated(t, e, e.Request)
			took := time.Since(began)
			msg := crossplanetest.Refusal(e.Response)
			if tc.secret != nil {
				msg = e.Condition(v1alpha1.ConditionClustersConnected).GetMessage()
			}
			if !strings.Contains(msg, tc.want) || len(msg) > 2048 {
				t.Errorf("want a message of 2 KiB or less that says %q, got %d bytes: %.200q", tc.want, len(msg), msg)
			}
			if limit := uint64(mostMemory*proto.Size(e.Request) + 2<<20); bytes > limit {
				t.Errorf("%d KiB were allocated for a request of %d KiB", bytes>>10, proto.Size(e.Request)>>10)
			}
			if took > mostTime {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// laughs is a small YAML document that means a large one.
func laughs() string {
	doc := "a: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 10; i++ {
		doc += "b" + strconv.Itoa(i) + ": &a" + strconv.Itoa(i) + " [" + strings.TrimSuffix(strings.Repeat("*a"+strconv.Itoa(i-1)+",", 10), ",") + "]\n"
	}
	return doc
}

// TestWorstClaims: the inputs that test/helm measures are ones that the function accepts, and it takes less memory for a call with
// one than half of its limit in examples/install/runtime.yaml.
func TestWorstClaims(t *testing.T) {
	const half = 256 << 20
	for name, values := range memtest.Claims() {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(map[string]any{"argocd": map[string]any{"values": values}})
			if err != nil {
				t.Fatal(err)
			}
			e := crossplanetest.New(t, string(text), "").Install()
			got := allocated(t, e, e.Request)
			t.Logf("a call allocates %d MiB", got>>20)
			if got > half {
				t.Errorf("a call allocates %d MiB, want at most %d", got>>20, half>>20)
			}
		})
	}
}
