package clusters_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/tunnel"
	"github.com/virtual-argocd/virtual-argocd/tunnel/agent"
	"github.com/virtual-argocd/virtual-argocd/tunnel/server"
)

// tunnelSpec is a spec with these clusters, each with a tunnel.
func tunnelSpec(names ...string) string {
	var list []string
	for _, name := range names {
		entry := `{"name":"` + name + `","tunnel":{}}`
		if name, rotated, ok := strings.Cut(name, "="); ok {
			entry = `{"name":"` + name + `","tunnel":{"rotateKey":"` + rotated + `"}}`
		}
		list = append(list, entry)
	}
	return `{"ingress":{"host":"a.example.org"},"clusters":[` + strings.Join(list, ",") + `]}`
}

// aClosedCluster is a tenant with a cluster behind a tunnel, whose Secret is there.
func aClosedCluster(t *testing.T) *crossplanetest.Engine {
	t.Helper()
	cert, _ := crossplanetest.KeyPair()
	e := crossplanetest.New(t, tunnelSpec("store-0042"), crossplanetest.TunnelInput)
	e.AddSecret("store-0042", "Opaque", map[string]string{"token": "tok-of-store-1", "ca.crt": cert})
	return e
}

// tunnelConfig is what the server of the tunnels has; empty for no server.
func tunnelConfig(t *testing.T, e *crossplanetest.Engine) (raw []byte, c tunnel.Config) {
	t.Helper()
	for _, o := range objectsOf(t, e) {
		if o["kind"] == "Secret" && o["metadata"].(map[string]any)["name"] == tunnel.Service {
			raw, err := base64.StdEncoding.DecodeString(o["data"].(map[string]any)[tunnel.ConfigFile].(string))
			if err == nil {
				err = json.Unmarshal(raw, &c)
			}
			if err != nil {
				t.Fatal(err)
			}
			return raw, c
		}
	}
	return nil, c
}

func objectsOf(t *testing.T, e *crossplanetest.Engine) []map[string]any {
	t.Helper()
	var out []map[string]any
	list, _ := crossplanetest.ValuesOf(t, e.Observed(tenant.ValuesSecret))["extraObjects"].([]any)
	for _, o := range list {
		out = append(out, o.(map[string]any))
	}
	return out
}

// manifestText is what is published to be applied in a closed cluster.
func manifestText(e *crossplanetest.Engine, agent string) string {
	return string(e.Request.GetObserved().GetComposite().GetConnectionDetails()[tenant.TunnelKey(agent)])
}

// manifestOf returns the objects of an agent's manifest, by their kind and name.
func manifestOf(t *testing.T, e *crossplanetest.Engine, agent string) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for _, text := range strings.Split("\n"+manifestText(e, agent), "\n---\n") {
		o := map[string]any{}
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			t.Fatal(err)
		}
		if len(o) > 0 {
			out[o["kind"].(string)+" "+o["metadata"].(map[string]any)["name"].(string)] = o
		}
	}
	return out
}

// TestTunnelOfClaim: a cluster with a tunnel is reached by the server beside Argo CD, and what is to be applied there is published.
func TestTunnelOfClaim(t *testing.T) {
	e := aClosedCluster(t).Install()
	is := crossplanetest.Must(json.Marshal(crossplanetest.ValuesOf(t, e.Observed(tenant.ValuesSecret))["configs"].(map[string]any)["clusterCredentials"].(map[string]any)["store-0042"]))
	for _, want := range []string{`"server":"https://store-0042.argocd-tunnel.argocd.svc"`, `"serverName":"kubernetes.default.svc"`, `"proxyUrl":"http://argocd-tunnel.argocd.svc:8081"`, `"bearerToken":"tok-of-store-1"`, `"insecure":false`, `"caData":"`} {
		if !strings.Contains(string(is), want) {
			t.Errorf("the cluster has no %s: %s", want, is)
		}
	}
	kinds := []string{}
	for _, o := range objectsOf(t, e) {
		kinds = append(kinds, o["kind"].(string)+" "+o["metadata"].(map[string]any)["name"].(string))
	}
	slices.Sort(kinds)
	if diff := cmp.Diff([]string{"Deployment argocd-tunnel", "Secret argocd-redis", "Secret argocd-tunnel", "Service argocd-tunnel"}, kinds); diff != "" {
		t.Errorf("objects: -want, +got:\n%s", diff)
	}
	paths, _ := e.ArgoCDValue("server", "ingress", "extraPaths").([]any)
	if diff := cmp.Diff([]any{map[string]any{"path": "/tunnel", "pathType": "Prefix", "backend": map[string]any{"service": map[string]any{"name": "argocd-tunnel", "port": map[string]any{"number": 8080.}}}}}, paths); diff != "" {
		t.Errorf("paths of the Ingress: -want, +got:\n%s", diff)
	}
	e.SetSpec(strings.Replace(tunnelSpec("store-0042"), `"host":"a.example.org"`, `"host":"a.example.org","additionalHosts":["b.example.org"]`, 1))
	e.Cycle(4)
	if diff := cmp.Diff([]any{map[string]any{"host": "b.example.org", "http": map[string]any{"paths": paths}}}, e.ArgoCDValue("server", "ingress", "extraRules")); diff != "" {
		t.Errorf("rules of the Ingress: -want, +got:\n%s", diff)
	}
	if !e.Has("network-policy-virtual-argocd-tunnels") {
		t.Error("no NetworkPolicy lets the ingress controllers in")
	}
	objects := manifestOf(t, e, "store-0042")
	want := []string{
		"ClusterRoleBinding virtual-argocd-agent:customer1-store-0042-argocd", "Deployment customer1-store-0042", "Namespace virtual-argocd-agent", "NetworkPolicy customer1-store-0042",
		"Secret customer1-store-0042", "Secret customer1-store-0042-argocd", "ServiceAccount customer1-store-0042-argocd",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(objects))); diff != "" {
		t.Errorf("manifest: -want, +got:\n%s", diff)
	}
	if text := manifestText(e, "store-0042"); !strings.Contains(text, "--server=https://a.example.org/tunnel") || !strings.Contains(text, "image: xpkg.crossplane.io/virtual-argocd/function-virtual-argocd:v0.3.0") {
		t.Errorf("the agent doesn't connect:\n%s", text)
	}
	// The last one goes, and everything of it.
	e.SetSpec(`{"ingress":{"host":"a.example.org"}}`)
	e.Cycle(4)
	if _, c := tunnelConfig(t, e); c.Key != "" || manifestText(e, "store-0042") != "" || e.Has("network-policy-virtual-argocd-tunnels") || e.ArgoCDValue("server", "ingress", "extraPaths") != nil {
		t.Error("something of the tunnel is left")
	}
}

// TestTunnelConnects: with what the function composes, the agent connects to the server, and it is the one that the server knows.
func TestTunnelConnects(t *testing.T) {
	e := aClosedCluster(t).Install()
	s := server.New(logging.NewNopLogger())
	raw, _ := tunnelConfig(t, e)
	if err := s.Configure(raw); err != nil {
		t.Fatal(err)
	}
	agents := httptest.NewServer(s.Handler(tunnel.AgentsPort))
	folder := t.TempDir()
	for name, text := range manifestOf(t, e, "store-0042")["Secret customer1-store-0042"]["stringData"].(map[string]any) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text.(string)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		agent.New(strings.Replace(agents.URL, "http", "ws", 1), folder, "127.0.0.1:1", logging.NewNopLogger()).Run(ctx)
	}()
	defer func() { cancel(); <-done; agents.CloseClientConnections(); agents.Close() }()
	for range 100 {
		w := httptest.NewRecorder()
		if s.Metrics(w, nil); strings.Contains(w.Body.String(), `state="connected"`) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("the agent doesn't connect")
}

// TestTunnelKeys: an agent keeps its key whatever else changes, until its own rotateKey does.
func TestTunnelKeys(t *testing.T) {
	e := crossplanetest.New(t, tunnelSpec("a", "b"), crossplanetest.TunnelInput).Install()
	before, first := tunnelConfig(t, e)
	if len(first.Agents) != 2 || first.Agents["a"] == first.Agents["b"] {
		t.Fatalf("agents: %v", first.Agents)
	}
	e.SetToken(tenant.InstallerCredentials, "another-token-0123456789")
	e.Reconcile()
	if after, _ := tunnelConfig(t, e); string(after) != string(before) {
		t.Error("keys change with the token of the tenant's account")
	}
	deployment := func() string {
		for _, o := range objectsOf(t, e) {
			if o["kind"] == "Deployment" {
				return string(crossplanetest.Must(json.Marshal(o)))
			}
		}
		return ""
	}
	server, manifest := deployment(), manifestText(e, "b")
	e.SetSpec(tunnelSpec("a=2026-05-01", "b", "c"))
	e.Cycle(4)
	_, second := tunnelConfig(t, e)
	if second.Key != first.Key || second.Agents["b"] != first.Agents["b"] || second.Agents["a"] == first.Agents["a"] || second.Agents["c"] == "" {
		t.Errorf("keys: the server's stays: %t, b's: %t, a's: %t", second.Key == first.Key, second.Agents["b"] == first.Agents["b"], second.Agents["a"] == first.Agents["a"])
	}
	if deployment() != server || server == "" || manifestText(e, "b") != manifest {
		t.Error("another agent notices")
	}
}

// TestTunnelRefused: what no tunnel can have.
func TestTunnelRefused(t *testing.T) {
	const none = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input"}`
	for name, tc := range map[string]struct{ spec, input, want string }{
		"NoHostname": {`{"clusters":[{"name":"a","tunnel":{}}]}`, crossplanetest.TunnelInput, "spec.clusters[0].tunnel: its agent connects to the hostname of the claim, which has none: write spec.ingress.host"},
		"NoTunnels":  {tunnelSpec("a"), none, "spec.clusters[0].tunnel: this platform has no tunnels: input.tunnels of the function isn't set"},
		"NoTag":      {tunnelSpec("a"), `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","tunnels":{"image":{}}}`, "input.tunnels.image.tag: is missing: write the version of the function"},
		"Authority":  {tunnelSpec("a"), `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","tunnels":{"image":{"tag":"v1"},"certificateAuthority":"x"}}`, "input.tunnels.certificateAuthority: is not a PEM certificate"},
		"InCluster":  {tunnelSpec("in-cluster"), crossplanetest.TunnelInput, "spec.clusters[0].tunnel: in-cluster is the virtual cluster itself"},
		"Server":     {`{"ingress":{"host":"a.example.org"},"clusters":[{"name":"a","server":"https://10.0.0.1:6443","tunnel":{}}]}`, crossplanetest.TunnelInput, "spec.clusters[0].server: has no effect with a tunnel"},
		"NoSecret":   {tunnelSpec("Store 42"), crossplanetest.TunnelInput, "spec.clusters[0].secretRef.name: is missing, and no Secret can have the name of the cluster"},
		"RotateKey":  {tunnelSpec("a=" + strings.Repeat("x", 65)), crossplanetest.TunnelInput, "spec.clusters[0].tunnel.rotateKey: has more than 64 characters"},
		"OwnPaths":   {strings.TrimSuffix(tunnelSpec("a"), "}") + `,"argocd":{"values":{"server":{"ingress":{"extraPaths":[]}}}}}`, crossplanetest.TunnelInput, "spec.argocd.values.server.ingress is set by spec.ingress"},
	} {
		t.Run(name, func(t *testing.T) {
			crossplanetest.New(t, tc.spec, tc.input).CheckRefused(tc.want)
		})
	}
}

// TestTunnelsAreBounded: a connection Secret, of which Crossplane removes no key, doesn't grow with each name that a claim has had.
func TestTunnelsAreBounded(t *testing.T) {
	e := crossplanetest.New(t, tunnelSpec("a"), crossplanetest.TunnelInput).Install()
	details := e.Request.GetObserved().GetComposite().GetConnectionDetails()
	for i := range 99 {
		details[tenant.TunnelKey(fmt.Sprint("of-before-", i))] = []byte{}
	}
	e.SetSpec(tunnelSpec("a", "of-before-7"))
	e.Reconcile()
	if is := crossplanetest.Refusal(e.Response); is != "" {
		t.Errorf("a name of before is refused: %s", is)
	}
	e.SetSpec(tunnelSpec("a", "b"))
	e.Reconcile()
	if is := crossplanetest.Refusal(e.Response); !strings.Contains(is, "spec.clusters[1].tunnel: with it, the connection Secret would have more than 100 keys of tunnels") {
		t.Errorf("refused: %q", is)
	}
}

// TestTunnelForms: each form of credentials is possible, and whoever has the agent's key can't pretend to be the cluster.
func TestTunnelForms(t *testing.T) {
	cert, _ := crossplanetest.KeyPair()
	for name, tc := range map[string]struct {
		data map[string]string
		want string
	}{
		"Token":             {map[string]string{"token": "tok-1", "ca.crt": cert}, ""},
		"Kubeconfig":        {map[string]string{"kubeconfig": crossplanetest.ClusterKubeconfig(map[string]any{"token": "tok-1"}, map[string]any{"server": "https://127.0.0.1:6443", "certificate-authority-data": crossplanetest.Base64(cert)})}, ""},
		"Declarative":       {map[string]string{"server": "https://kubernetes.default.svc", "config": `{"bearerToken":"tok-1","tlsClientConfig":{"caData":"` + crossplanetest.Base64(cert) + `"}}`}, ""},
		"TokenWithoutCA":    {map[string]string{"token": "tok-1"}, "key ca.crt is missing or empty"},
		"KubeconfigNoCheck": {map[string]string{"kubeconfig": crossplanetest.ClusterKubeconfig(map[string]any{"token": "tok-1"}, map[string]any{"server": "https://10.0.0.1:6443", "insecure-skip-tls-verify": true})}, "without which whoever has the key of the agent could pretend to be the cluster"},
		"Proxy":             {map[string]string{"server": "https://a", "config": `{"bearerToken":"tok-1","proxyUrl":"http://proxy.example.org:3128"}`}, "the proxy to a cluster with a tunnel is the tunnel"},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, tunnelSpec("a"), crossplanetest.TunnelInput)
			e.AddSecret("a", "Opaque", tc.data)
			e.Install()
			is := clustersOf(t, e)
			message := e.Condition(v1alpha1.ConditionClustersConnected).GetMessage()
			if tc.want != "" {
				if len(is) > 0 || !strings.Contains(message, tc.want) {
					t.Errorf("want %q, got %q and %v", tc.want, message, is)
				}
				return
			}
			if is["a"].server != "https://a.argocd-tunnel.argocd.svc" {
				t.Errorf("got %v: %s", is, message)
			}
		})
	}
}

// TestTunnelStates: the state of a cluster says what was seen of its agent.
func TestTunnelStates(t *testing.T) {
	const at, published = 1764331200, "tunnel.store-0042.yaml"
	cluster, key := proxy.ClusterKey("https://store-0042.argocd-tunnel.argocd.svc"), proxy.AgentKey("store-0042")
	is := func(state string, twice bool) proxy.Connection {
		return proxy.Connection{Key: key, Connected: state == tunnel.Connected, Agent: &proxy.Agent{State: state, Since: at, Twice: twice}}
	}
	refused := proxy.Connection{Key: cluster, Message: "Argo CD's requests are answered with 401 Unauthorized: its credentials aren't accepted"}
	for name, tc := range map[string]struct {
		seen                          []proxy.Connection
		noSecret                      bool
		state, reason, since, message string
	}{
		"Unseen":    {[]proxy.Connection{{Key: key}, {Key: cluster}}, false, "Configured", "Configured", "", ""},
		"Waiting":   {[]proxy.Connection{is(tunnel.Waiting, false), {Key: cluster, Message: "503"}}, false, "WaitingForAgent", "WaitingForAgent", "2025-11-28T12:00:00Z", "its agent hasn't connected since 2025-11-28T12:00:00Z: apply there what is at the key " + published + " of the Secret that spec.writeConnectionSecretToRef names; without that field, nobody gets it: write the name of a Secret there"},
		"Lost":      {[]proxy.Connection{is(tunnel.Lost, false)}, false, "AgentLost", "AgentLost", "2025-11-28T12:00:00Z", "its agent isn't connected any more since 2025-11-28T12:00:00Z"},
		"Unused":    {[]proxy.Connection{is(tunnel.Connected, false), {Key: cluster}}, false, "Configured", "Configured", "2025-11-28T12:00:00Z", ""},
		"Connected": {[]proxy.Connection{is(tunnel.Connected, false)}, false, "Connected", "Available", "2025-11-28T12:00:00Z", ""},
		"Refused":   {[]proxy.Connection{is(tunnel.Connected, false), refused}, false, "Failed", "ConnectionFailed", "2025-11-28T12:00:00Z", refused.Message},
		"Twice":     {[]proxy.Connection{is(tunnel.Connected, true)}, false, "Connected", "Available", "2025-11-28T12:00:00Z", "somebody else tries to connect with the key of its agent, too: stop the agent that is too many, or write another tunnel.rotateKey"},
		"NoSecret":  {[]proxy.Connection{is(tunnel.Waiting, false)}, true, "SecretMissing", "SecretMissing", "2025-11-28T12:00:00Z", "Secret store-0042 in namespace team-a does not exist: create it; its agent hasn't connected since 2025-11-28T12:00:00Z: apply there what is at the key " + published + " of the Secret that spec.writeConnectionSecretToRef names; without that field, nobody gets it: write the name of a Secret there"},
	} {
		t.Run(name, func(t *testing.T) {
			e := aClosedCluster(t)
			if tc.noSecret {
				e = crossplanetest.New(t, tunnelSpec("store-0042"), crossplanetest.TunnelInput)
			}
			e.Install()
			e.SetConnections(tc.seen...)
			e.Reconcile()
			got, _ := e.StatusList("clusters")[0].(map[string]any)
			want := map[string]any{"name": "store-0042", "state": tc.state}
			for _, c := range tc.seen {
				if c.Agent != nil {
					want["agent"] = map[string]any{"state": strings.ToUpper(c.Agent.State[:1]) + c.Agent.State[1:], "since": tc.since}
				}
			}
			if tc.message != "" {
				want["message"] = tc.message
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("status: -want, +got:\n%s", diff)
			}
			c := e.Condition(v1alpha1.ConditionClustersConnected)
			if c.GetReason() != tc.reason || (c.GetStatus() == fnv1.Status_STATUS_CONDITION_TRUE) != (tc.reason == "Available") {
				t.Errorf("condition: %v", c)
			}
			if e.Status("phase") != "Ready" {
				t.Errorf("phase %s: %s", e.Status("phase"), e.Status("message"))
			}
		})
	}
}

// TestTunnelServerRestarts: what was seen of an agent stays when the server of the tunnels begins anew, as after an upgrade or a night in which the
// tenant sleeps, until its key is another.
func TestTunnelServerRestarts(t *testing.T) {
	const key, other = "SHA256:abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG", "SHA256:gfedcbazyxwvutsrqponmlkjihg0123456789ABCDEFG"
	at := func(hour int) (int64, string) {
		is := time.Date(2025, 11, 28, hour, 0, 0, 0, time.UTC)
		return is.Unix(), is.Format(time.RFC3339)
	}
	type seen struct {
		state string
		hour  int
		key   string
	}
	waits := seen{tunnel.Waiting, 5, key}
	for name, tc := range map[string]struct {
		before   []seen
		noSecret bool
		// state of the cluster, and agent and hour those of its agent, in the end.
		state, agent string
		hour         int
	}{
		"LostForLong":       {[]seen{{tunnel.Connected, 1, key}, {tunnel.Lost, 2, key}, waits}, false, "AgentLost", "Lost", 2},
		"Twice":             {[]seen{{tunnel.Lost, 2, key}, {tunnel.Waiting, 4, key}, waits}, false, "AgentLost", "Lost", 2},
		"WasConnected":      {[]seen{{tunnel.Connected, 1, key}, waits}, false, "AgentLost", "Lost", 5},
		"WasConnectedTwice": {[]seen{{tunnel.Connected, 1, key}, {tunnel.Waiting, 4, key}, waits}, false, "AgentLost", "Lost", 4},
		"WasWaiting":        {[]seen{{tunnel.Waiting, 1, key}, waits}, false, "WaitingForAgent", "Waiting", 1},
		"AnotherKey":        {[]seen{{tunnel.Lost, 2, other}, waits}, false, "WaitingForAgent", "Waiting", 5},
		"AnotherKeyLater":   {[]seen{{tunnel.Lost, 2, key}, {tunnel.Waiting, 4, key}, {tunnel.Waiting, 5, other}}, false, "WaitingForAgent", "Waiting", 5},
		"ComesBack":         {[]seen{{tunnel.Lost, 2, key}, waits, {tunnel.Connected, 6, key}}, false, "Connected", "Connected", 6},
		"First":             {[]seen{waits}, false, "WaitingForAgent", "Waiting", 5},
		"NoKey":             {[]seen{{tunnel.Lost, 2, ""}, {tunnel.Waiting, 5, ""}}, false, "WaitingForAgent", "Waiting", 5},
		"UnseenMeanwhile":   {[]seen{{tunnel.Lost, 2, key}, {}, waits}, false, "AgentLost", "Lost", 2},
		"Unseen":            {[]seen{{tunnel.Lost, 2, key}, {}}, false, "Configured", "Lost", 2},
		"NoSecret":          {[]seen{{tunnel.Lost, 2, key}, waits}, true, "SecretMissing", "Lost", 2},
	} {
		t.Run(name, func(t *testing.T) {
			e := aClosedCluster(t)
			if tc.noSecret {
				e = crossplanetest.New(t, tunnelSpec("store-0042"), crossplanetest.TunnelInput)
			}
			e.Install()
			for _, is := range tc.before {
				agent := proxy.Connection{Key: proxy.AgentKey("store-0042")}
				if is.state != "" {
					since, _ := at(is.hour)
					agent.Agent = &proxy.Agent{State: is.state, Since: since, Key: is.key}
				}
				all := []proxy.Connection{agent}
				if is.state == "" {
					all = append(all, proxy.Connection{Key: proxy.ClusterKey("https://store-0042.argocd-tunnel.argocd.svc")})
				}
				e.SetConnections(all...)
				e.Reconcile()
				e.Reconcile()
			}
			got, _ := e.StatusList("clusters")[0].(map[string]any)
			_, since := at(tc.hour)
			want := map[string]any{"state": tc.agent, "since": since}
			if last := tc.before[len(tc.before)-1].key; last != "" {
				want["key"] = last
			} else if name == "Unseen" {
				want["key"] = key
			}
			if diff := cmp.Diff(want, got["agent"]); diff != "" || got["state"] != tc.state {
				t.Errorf("cluster %s, want %s: -want, +got:\n%s", got["state"], tc.state, diff)
			}
			if message, _ := got["message"].(string); tc.agent == "Lost" && tc.state != "Configured" && !strings.Contains(message, "its agent isn't connected any more since "+since) {
				t.Errorf("message: %s", message)
			}
		})
	}
}

// TestTunnelByGateway: where a Gateway serves the claim, its HTTPRoute leads to the tunnels, too.
func TestTunnelByGateway(t *testing.T) {
	e := crossplanetest.New(t, tunnelSpec("a"), strings.TrimSuffix(crossplanetest.GatewayInput, "}")+`,"tunnels":{"image":{"tag":"v1"}}}`)
	e.SetGateway("192.0.2.7")
	e.Install()
	rules := crossplanetest.Field(e.Observed(tenant.Route), "spec", "forProvider", "manifest", "spec").AsMap()["rules"]
	want := []any{
		map[string]any{"matches": []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": "/"}}}, "backendRefs": []any{map[string]any{"name": "argocd-server-x-argocd-x-vcluster", "port": 80.}}},
		map[string]any{"matches": []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": "/tunnel"}}}, "backendRefs": []any{map[string]any{"name": "argocd-tunnel-x-argocd-x-vcluster", "port": 8080.}}},
	}
	if diff := cmp.Diff(want, rules); diff != "" {
		t.Errorf("rules: -want, +got:\n%s", diff)
	}
}
