package function

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
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
			e := newEngine(t, tenantXR(tc.spec), tc.input)
			if tc.plan != "" {
				e.plan("p", tc.plan, "default-plan=true")
			}
			if tc.secret != nil {
				e.secret("prod-token", "Opaque", tc.secret)
			}
			// So that the request has what is asked for.
			e.reconcile()
			began := time.Now()
			bytes := allocated(t, e.f, e.req)
			took := time.Since(began)
			msg := refusal(e.rsp)
			if tc.secret != nil {
				msg = e.condition(v1alpha1.ConditionClustersConnected).GetMessage()
			}
			if !strings.Contains(msg, tc.want) || len(msg) > 2048 {
				t.Errorf("want a message of 2 KiB or less that says %q, got %d bytes: %.200q", tc.want, len(msg), msg)
			}
			if limit := uint64(mostMemory*proto.Size(e.req) + 2<<20); bytes > limit {
				t.Errorf("%d KiB were allocated for a request of %d KiB", bytes>>10, proto.Size(e.req)>>10)
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

// A logger that panics stands for an error of ours anywhere in the function.
type panicking struct{ logging.Logger }

func (p panicking) WithValues(...any) logging.Logger { return p }
func (p panicking) Debug(string, ...any)             { panic("an error of ours") }

// TestNoPanicReachesGRPC: a call that trips over an error of ours gets an answer
// that stops Crossplane from changing anything, and so does the next one.
func TestNoPanicReachesGRPC(t *testing.T) {
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer()
	fnv1.RegisterFunctionRunnerServiceServer(server, New(panicking{logging.NewNopLogger()}, time.Now))
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		<-served
	})
	conn, err := grpc.NewClient("passthrough:///function", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	req := newEngine(t, tenantXR(`{}`), "").install().req
	for range 2 {
		rsp, err := fnv1.NewFunctionRunnerServiceClient(conn).RunFunction(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(refusal(rsp), "the function failed on this resource") || len(rsp.GetDesired().GetResources()) > 0 {
			t.Errorf("want a fatal result and nothing else: %v", rsp)
		}
	}
}
