package clusters

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/localaccount"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/tunnel"
)

// maxRotateKey bounds tunnel.rotateKey, in bytes.
const maxRotateKey = 64

// apiServerName is a name that the certificate of each API server has.
const apiServerName = "kubernetes.default.svc"

// tunnelled returns a cluster with what a tunnel says of it: the API server as Argo CD knows it, and the Secret, where it names none.
func tunnelled(c v1alpha1.ClusterSpec) v1alpha1.ClusterSpec {
	if c.Tunnel == nil {
		return c
	}
	c.Server = tunnel.APIServer(tenant.TunnelAgentName(c.Name))
	if c.SecretRef == nil {
		c.SecretRef = &v1alpha1.SecretReference{Name: c.Name}
	}
	return c
}

// setTunnel has Argo CD reach a cluster by its agent. TLS goes from Argo CD to the API server, so whoever has the agent's key reads nothing of
// it, and gets no token.
func setTunnel(c v1alpha1.ClusterSpec, s *credentials.Reader, v values.Values) {
	if c.Tunnel == nil || v == nil || s.Problem != nil {
		return
	}
	tls := []string{configKey, "tlsClientConfig"}
	switch {
	case values.At[bool](v, append(slices.Clone(tls), "insecure")...):
		s.Fail("it says not to verify the API server's certificate, without which whoever has the key of the agent could pretend to be the cluster: write its certificate authority, at the key ca.crt for instance")
	case values.At[string](v, configKey, "proxyUrl") != "":
		s.Fail("it has a proxy URL, and the proxy to a cluster with a tunnel is the tunnel: leave it out")
	default:
		if name := append(slices.Clone(tls), "serverName"); values.At[string](v, name...) == "" {
			values.Insert(v, apiServerName, name...)
		}
		values.Insert(v, tunnel.Proxy, configKey, "proxyUrl")
		s.NoteSince("the proxy URL by which Argo CD uses the tunnel", sinceProxy)
	}
}

// setTunnels decides on the tunnels of the spec, and adds their server to Argo CD's objects.
func setTunnels(of part.Candidate) error {
	if !of.Spec.HasTunnels() {
		return nil
	}
	in := of.Platform.Tunnels
	if in == nil {
		if of.Unassigned {
			return nil
		}
		i := slices.IndexFunc(of.Spec.Clusters, func(c v1alpha1.ClusterSpec) bool { return c.Tunnel != nil })
		return fmt.Errorf("spec.clusters[%d].tunnel: this platform has no tunnels: input.tunnels of the function isn't set", i)
	}
	if err := mistakes.Join(mistakes.By(mistakes.Input, checkInput(*in)), checkKeys(of)); err != nil {
		return err
	}
	t := &of.Decision.Tunnels
	t.Image = tenant.ImageOf(of.Platform, in.Image, inputv1alpha1.Image{Registry: "xpkg.crossplane.io", Repository: "virtual-argocd/function-virtual-argocd"})
	t.Authority = in.CertificateAuthority
	key := localaccount.KeyOf(of.Kept, of.Token)
	config := tunnel.Config{Agents: map[string]string{}}
	if len(key) > 0 {
		config.Key, t.Server = keyPair(localaccount.Derive(key, "tunnel"))
	}
	for _, c := range of.Spec.Clusters {
		if c.Tunnel == nil {
			continue
		}
		name := tenant.TunnelAgentName(c.Name)
		a := tenant.TunnelAgent{Name: name}
		if len(key) > 0 {
			a.Key, config.Agents[name] = keyPair(localaccount.Derive(key, "tunnel/"+name+"/"+c.Tunnel.RotateKey))
		}
		t.Agents = append(t.Agents, a)
	}
	if len(key) == 0 {
		return nil
	}
	raw, err := json.Marshal(config)
	if err != nil {
		return fmt.Errorf("cannot write the configuration of tunnels: %w", err)
	}
	of.Sensitive.Objects = append(of.Sensitive.Objects, serverObjects(t.Image, base64.StdEncoding.EncodeToString(raw))...)
	return nil
}

// checkInput checks what the platform says of tunnels.
func checkInput(in inputv1alpha1.Tunnels) error {
	var found []error
	if in.Image.Tag == "" {
		found = append(found, fmt.Errorf("input.tunnels.image.tag: is missing: write the version of the function, such as v0.3.0"))
	}
	if in.CertificateAuthority != "" {
		_, err := credentials.CheckCertificates("input.tunnels.certificateAuthority", in.CertificateAuthority)
		found = append(found, err)
	}
	return mistakes.Join(found...)
}

// maxKeys bounds the keys of a connection Secret that manifests are or were in: Crossplane removes none.
const maxKeys = 100

// checkKeys refuses tunnels to further clusters where the connection Secret has had too many.
func checkKeys(of part.Candidate) error {
	all := map[string]bool{}
	for key := range of.Details {
		if strings.HasPrefix(key, tenant.TunnelPrefix) {
			all[key] = true
		}
	}
	for i, c := range of.Spec.Clusters {
		if key := tenant.TunnelKey(tenant.TunnelAgentName(c.Name)); c.Tunnel != nil && !all[key] {
			if all[key] = true; len(all) > maxKeys {
				return fmt.Errorf("spec.clusters[%d].tunnel: with it, the connection Secret would have more than %d keys of tunnels, and Crossplane removes none: write a name of before, or another claim", i, maxKeys)
			}
		}
	}
	return nil
}

// keyPair returns the keys that follow from 32 secret bytes: the private one in PEM, and the public one as in authorized_keys.
func keyPair(seed []byte) (private, public string) {
	key := ed25519.NewKeyFromSeed(seed)
	// Neither can fail with a key of Ed25519.
	der, _ := x509.MarshalPKCS8PrivateKey(key)
	is, _ := ssh.NewPublicKey(key.Public())
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), string(ssh.MarshalAuthorizedKey(is))
}

// serverObjects are the server of the tunnels beside Argo CD. Its Secret is mounted, so that a change of it restarts nothing.
func serverObjects(image, config string) []any {
	labels := values.Values{"app.kubernetes.io/name": tunnel.Service, "app.kubernetes.io/part-of": "argocd"}
	selector := values.Values{"app.kubernetes.io/name": tunnel.Service}
	metadata := func() values.Values {
		return values.Values{"name": tunnel.Service, "namespace": tenant.ArgoCDNamespace, "labels": values.Merge(labels)}
	}
	port := func(name string, number int) values.Values {
		return values.Values{"name": name, "containerPort": float64(number)}
	}
	probe := values.Values{"httpGet": values.Values{"path": "/metrics", "port": "metrics"}}
	const folder = "/etc/tunnel"
	return []any{
		values.Values{"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": metadata(), "data": values.Values{tunnel.ConfigFile: config}},
		values.Values{"apiVersion": "v1", "kind": "Service", "metadata": metadata(), "spec": values.Values{
			"selector": selector,
			"ports": []any{
				values.Values{"name": "agents", "port": float64(tunnel.AgentsPort), "targetPort": "agents"},
				values.Values{"name": "proxy", "port": float64(tunnel.ProxyPort), "targetPort": "proxy"},
			},
		}},
		values.Values{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata(), "spec": values.Values{
			"replicas": float64(1),
			"selector": values.Values{"matchLabels": selector},
			// An agent is connected to one server.
			"strategy": values.Values{"type": "Recreate"},
			"template": values.Values{
				"metadata": values.Values{"labels": values.Merge(labels)},
				"spec": values.Values{
					"automountServiceAccountToken": false, "enableServiceLinks": false,
					"securityContext": values.Values{"runAsNonRoot": true, "runAsUser": float64(65532), "runAsGroup": float64(65532), "fsGroup": float64(65532),
						"seccompProfile": values.Values{"type": "RuntimeDefault"}},
					"volumes": []any{values.Values{"name": "config", "secret": values.Values{"secretName": tunnel.Service}}},
					"containers": []any{values.Values{
						"name": "server", "image": image, "args": []any{"tunnel", "server", "--config=" + folder + "/" + tunnel.ConfigFile},
						"ports":          []any{port("agents", tunnel.AgentsPort), port("proxy", tunnel.ProxyPort), port("metrics", tunnel.MetricsPort)},
						"readinessProbe": probe, "livenessProbe": values.Merge(probe, values.Values{"periodSeconds": float64(30)}),
						"resources": values.Values{"requests": values.Values{"cpu": "10m", "memory": "64Mi"}, "limits": values.Values{"memory": fmt.Sprintf("%dMi", tunnel.MemoryLimit>>20)}},
						// A tenth less than the limit.
						"env": []any{values.Values{"name": "GOMEMLIMIT", "value": fmt.Sprintf("%dMiB", tunnel.MemoryLimit/10*9>>20)}},
						"securityContext": values.Values{"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
							"capabilities": values.Values{"drop": []any{"ALL"}}},
						"volumeMounts": []any{values.Values{"name": "config", "mountPath": folder, "readOnly": true}},
					}},
				},
			},
		}},
	}
}
