package demo

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/virtual-argocd/virtual-argocd/lab/platform"
	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

var closingText = template.Must(template.New("closing").Parse(`
{{ .Claim }} is Ready: Argo CD {{ .Version }} in a virtual cluster of its own.
{{- if .Paths }}

Talk to the cluster:

  export KUBECONFIG={{ .Kubeconfig }} PATH={{ .Paths }}:$PATH
{{- end }}

What to try next:

  kubectl get vargo                           # phase, versions, conditions
  kubectl describe vargo {{ .Claim }}
  kubectl explain vargo.spec                  # the fields of a claim
  kubectl get mvargo                          # customer3, of Crossplane 2's namespaced kind
  kubectl apply -f examples/claims/customer2.yaml

To look into the customer's virtual cluster{{ if .Forward }}, from a pod{{ end }}:

  kubectl -n {{ .Namespace }} get secret {{ .Secret }} -o jsonpath='{.data.kubeconfig}' | base64 -d > {{ .Claim }}.kubeconfig
  kubectl --kubeconfig {{ .Claim }}.kubeconfig {{ .ToVirtual }}get pods -A

To clean up:

  kubectl delete vargo {{ .Claim }}              # removes the tenant
  {{- if .Paths }}
  make demo-down                              # removes the cluster
  {{- end }}
{{- if .Monitoring }}

To see all tenants, as the platform does:

  {{ .Monitoring }}                 # the fleet
  {{ .Monitoring }}/vmalert/groups  # the rules, and the alerts that fire
  {{ .Monitoring }}/vmui            # the metrics
  Grafana shows more: add {{ .Monitoring }} as a Prometheus datasource, and import examples/monitoring/dashboards.
{{- end }}
{{- if .Ways }}

To open its Argo CD:
{{ range .Ways }}
  {{ . }}{{ end }}
{{- end }}

Argo CD of {{ .Claim }}:

  URL        {{ .URL }}
  {{- if .Forward }}
             while this runs: {{ .Forward }}{{ end }}
  user       admin
  password   kubectl -n {{ .Namespace }} get secret {{ .Secret }} -o jsonpath='{.data.password}' | base64 -d; echo

`))

type closingData struct {
	Claim, Namespace, Version, Secret string
	URL, Forward                      string
	// Ways are commands that open the URL.
	Ways []string
	// Kubeconfig of the embedded cluster, and Paths of the programs that it has been built with.
	Kubeconfig, Paths string
	// Monitoring is the address of what monitors tenants, where that is installed.
	Monitoring string
	// ToVirtual are kubectl's flags to reach the virtual cluster from here.
	ToVirtual string
}

// closing prints what to do next, and how to reach the customer's Argo CD.
func closing(ctx context.Context, out io.Writer, o platform.Options, cluster platform.Cluster, claim *unstructured.Unstructured) error {
	d := closingData{Claim: claim.GetName(), Namespace: claim.GetNamespace(), Kubeconfig: cluster.Kubeconfig, Monitoring: cluster.Monitoring}
	d.Version, _, _ = unstructured.NestedString(claim.Object, "status", "argocd", "version")
	d.Secret, _, _ = unstructured.NestedString(claim.Object, "spec", "writeConnectionSecretToRef", "name")
	if cluster.Embedded {
		kubectl, err := o.Cache.Binary("kubectl")
		if err != nil {
			return err
		}
		d.Paths = filepath.Dir(kubectl)
		// With upstream's images no program is built for one.
		if argocd, err := o.Cache.Binary(toolchain.ArgoCD); err == nil {
			d.Paths += ":" + filepath.Dir(argocd)
		}
		if d.ToVirtual, err = toVirtual(ctx, cluster.Client, claim); err != nil {
			return err
		}
	}
	if err := d.setURL(ctx, cluster, claim); err != nil {
		return err
	}
	return closingText.Execute(out, d)
}

// setURL finds how this Argo CD is opened from here.
func (d *closingData) setURL(ctx context.Context, cluster platform.Cluster, claim *unstructured.Unstructured) error {
	address, _, _ := unstructured.NestedString(claim.Object, "status", "argocd", "url")
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("cannot parse the claim's status.argocd.url %q: %w", address, err)
	}
	if !strings.HasSuffix(u.Hostname(), ".svc") && u.Hostname() != "" {
		d.URL = address
		if !cluster.Embedded {
			return nil
		}
		_, err := exec.LookPath(browser)
		d.Ways = ways(u.Hostname(), cluster.Ingress, resolves(ctx, u.Hostname(), cluster.Ingress.Address), err == nil)
		return answers(ctx, address, cluster.Ingress.Address)
	}
	service, err := argoCDService(ctx, cluster.Client, address)
	if err != nil {
		return err
	}
	if cluster.Embedded {
		// Service addresses are reachable from this machine; names inside the
		// cluster are not known to it.
		d.URL = "https://" + service.Spec.ClusterIP
		return answers(ctx, d.URL, service.Spec.ClusterIP)
	}
	d.URL = "https://localhost:8443"
	d.Forward = fmt.Sprintf("kubectl -n %s port-forward service/%s 8443:443", service.Namespace, service.Name)
	return nil
}

// browser is one that can be told on its command line what names mean.
const browser = "chromium"

// ways are commands that open a host of the embedded cluster's ingress controller
// on this machine.
func ways(host string, in platform.Ingress, resolves, browses bool) []string {
	// It remembers that, and has no other way to trust an authority from then on.
	login := fmt.Sprintf("argocd login %s --insecure --grpc-web --username admin", host)
	if resolves {
		return []string{fmt.Sprintf("curl --cacert %s https://%s/healthz", in.CA, host), login}
	}
	out := []string{fmt.Sprintf("curl --cacert %s --resolve %s:443:%s https://%s/healthz", in.CA, host, in.Address, host)}
	if browses {
		out = append(out, fmt.Sprintf("%s --no-sandbox --ignore-certificate-errors --host-resolver-rules='MAP %s %s' https://%s", browser, host, in.Address, host))
	}
	return append(out, fmt.Sprintf("echo %s %s >>/etc/hosts   # DNS here doesn't know it; after this every program does", in.Address, host), login)
}

// resolves reports whether this machine's DNS knows that the host means the address.
func resolves(ctx context.Context, host, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	found, err := net.DefaultResolver.LookupHost(ctx, host)
	return err == nil && slices.Contains(found, address)
}

// toVirtual are flags that replace the address in the customer's kubeconfig, a
// name that is known inside the cluster alone.
func toVirtual(ctx context.Context, c client.Client, claim *unstructured.Unstructured) (string, error) {
	namespace, _, _ := unstructured.NestedString(claim.Object, "status", "namespace")
	s := &corev1.Service{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "vcluster"}, s); err != nil {
		return "", fmt.Errorf("cannot get the virtual cluster's Service: %w", err)
	}
	return fmt.Sprintf("--server=https://%s --tls-server-name=vcluster.%s.svc ", s.Spec.ClusterIP, namespace), nil
}

// argoCDService finds the Service behind the claim's URL:
// https://<service>.<namespace>.svc.
func argoCDService(ctx context.Context, c client.Client, address string) (*corev1.Service, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("cannot parse the claim's status.argocd.url %q: %w", address, err)
	}
	parts := strings.Split(u.Hostname(), ".")
	if len(parts) < 2 {
		return nil, fmt.Errorf("the claim's status.argocd.url is %q: want the address of a Service", address)
	}
	s := &corev1.Service{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: parts[1], Name: parts[0]}, s); err != nil {
		return nil, fmt.Errorf("cannot get the Service of %s: %w", address, err)
	}
	return s, nil
}

// answers makes sure that a URL about to be printed works at an IP address.
func answers(ctx context.Context, address, ip string) error {
	c := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
			_, port, err := net.SplitHostPort(to)
			if err != nil {
				return nil, err
			}
			return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(ip, port))
		},
		// Argo CD or the lab has made its certificate.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // Nothing is sent or believed.
	}}
	var last error
	for range 6 {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/healthz", nil)
		if err != nil {
			return err
		}
		resp, err := c.Do(req)
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
			err = fmt.Errorf("%s/healthz answers %s", address, resp.Status)
		}
		last = err
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return fmt.Errorf("the claim is Ready, but its Argo CD does not answer: %w", last)
}
