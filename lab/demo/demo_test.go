package demo

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/virtual-argocd/virtual-argocd/lab/platform"
)

func TestStatusOfAClaim(t *testing.T) {
	cases := map[string]struct {
		reason string
		status map[string]any
		want   string
	}{
		"Fresh":   {"Crossplane has not looked yet.", nil, "waiting for Crossplane to take the claim up"},
		"Waiting": {"The product's own words.", map[string]any{"phase": "Provisioning", "progress": int64(40), "message": "waiting for the virtual cluster"}, "Provisioning 40%, waiting for the virtual cluster"},
		"Refused": {
			"A claim that can't be reconciled has no phase, but a reason.",
			map[string]any{"conditions": []any{map[string]any{"type": "Synced", "status": "False", "message": "no such composition"}}},
			"Synced=False: no such composition",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			claim := &unstructured.Unstructured{Object: map[string]any{"status": tc.status}}
			if diff := cmp.Diff(tc.want, status(claim)); diff != "" {
				t.Errorf("\n%s\nstatus(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestArgoCDService(t *testing.T) {
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "vargo-x", Name: "argocd-server-x-argocd-x-vcluster"}}
	c := fake.NewClientBuilder().WithObjects(svc).Build()
	for address, wantErr := range map[string]string{
		"https://argocd-server-x-argocd-x-vcluster.vargo-x.svc": "",
		"https://other.vargo-x.svc":                             "cannot get the Service",
		"":                                                      "want the address of a Service",
	} {
		_, err := argoCDService(t.Context(), c, address)
		if (err == nil) != (wantErr == "") || err != nil && !strings.Contains(err.Error(), wantErr) {
			t.Errorf("argoCDService(... %q): want error with %q, got %v", address, wantErr, err)
		}
	}
}

func TestWaysToOpenAURL(t *testing.T) {
	in := platform.Ingress{Address: "10.96.0.11", CA: "/c/ingress-ca.crt"}
	const host = "customer1-default.10-96-0-11.sslip.io"
	const login = "argocd login " + host + " --insecure --grpc-web --username admin"
	curl := "curl --cacert /c/ingress-ca.crt --resolve " + host + ":443:10.96.0.11 https://" + host + "/healthz"
	hosts := "echo 10.96.0.11 " + host + " >>/etc/hosts   # DNS here doesn't know it; after this every program does"
	for name, tc := range map[string]struct {
		resolves, browses bool
		want              []string
	}{
		"NameIsKnown": {true, true, []string{"curl --cacert /c/ingress-ca.crt https://" + host + "/healthz", login}},
		"NoBrowser":   {false, false, []string{curl, hosts, login}},
		"Browser": {false, true, []string{
			curl, "chromium --no-sandbox --ignore-certificate-errors --host-resolver-rules='MAP " + host + " 10.96.0.11' https://" + host, hosts, login,
		}},
	} {
		if diff := cmp.Diff(tc.want, ways(host, in, tc.resolves, tc.browses)); diff != "" {
			t.Errorf("%s: ways(...): -want, +got:\n%s", name, diff)
		}
	}
}

func TestAnswersAtAnAddress(t *testing.T) {
	var host string
	s := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { host = r.Host }))
	defer s.Close()
	ip, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := answers(t.Context(), "https://shop.example.org:"+port, ip); err != nil || host != "shop.example.org:"+port {
		t.Errorf("want the address asked for shop.example.org, got %q, %v", host, err)
	}
}
