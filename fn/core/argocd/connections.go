package argocd

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/few"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/tunnel"
)

// HasConnections reports whether the spec has anything that Argo CD connects to.
func HasConnections(t tenant.Tenant) bool {
	return len(t.Clusters) > 0 || t.SSO.Provider != "" || slices.ContainsFunc(t.Repositories, func(c tenant.Connection) bool { return c.Kind == v1alpha1.KindRepository })
}

// ObserveConnections composes an Object that observes whether Argo CD connects to what the spec names. It exists in the proxy alone.
func ObserveConnections(t tenant.Tenant) (resource.Object, error) {
	return resource.Watched(resource.Observer(t, tenant.Connections, t.Names.ProviderConfig, resource.ReadyOnceCreated,
		corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: tenant.ArgoCDNamespace, Name: connectionsName(t)})), nil
}

func connectionsName(t tenant.Tenant) string {
	var keys []proxy.ConnectionKey
	for _, c := range slices.Concat(t.Clusters, t.Repositories, []tenant.Connection{signOn(t)}) {
		for _, key := range []proxy.ConnectionKey{c.Key, c.Agent} {
			if key != "" {
				keys = append(keys, key)
			}
		}
	}
	return proxy.ConnectionsName(keys)
}

// signOn is the connection to the identity provider; one without a key where there is none.
func signOn(t tenant.Tenant) tenant.Connection {
	c := tenant.Connection{Kind: "Sign-on", Name: t.SSO.Provider, State: v1alpha1.StateConfigured}
	if t.SSO.Provider != "" {
		c.Key = proxy.SignOnKey(t.RootPath, t.SSO.Dex)
	}
	return c
}

// SignOn returns what was seen of the identity provider.
func SignOn(t tenant.Tenant) tenant.Connection { return Seen(t, []tenant.Connection{signOn(t)})[0] }

// Seen returns connections as they were seen. Those whose Secret can't be used stay as they are, as do those
// that nobody has seen.
func Seen(t tenant.Tenant, all []tenant.Connection) []tenant.Connection {
	o := t.Composed(tenant.Connections)
	m := o.Get("status", "atProvider", "manifest")
	var seen map[proxy.ConnectionKey]proxy.Connection
	if !o.Condition("Synced").False() && m.String("metadata", "name") == connectionsName(t) {
		seen = proxy.ReadConnections(m.String("data", proxy.SummaryConnections))
	}
	out := slices.Clone(all)
	for i := range out {
		is, ok := seen[out[i].Key]
		switch {
		case !ok || out[i].State != v1alpha1.StateConfigured:
		case is.Connected:
			out[i].State = v1alpha1.StateConnected
		default:
			out[i].State = v1alpha1.StateFailed
			out[i].Message = joined(cmp.Or(t.Observed.Redact(is.Message), "Argo CD can't read it"), out[i].Message)
		}
		if out[i].Agent == "" {
			continue
		}
		before := seenBefore(t, out[i].Name)
		if agent := seen[out[i].Agent].Agent; agent != nil {
			out[i] = withAgent(out[i], before, *agent)
		} else {
			out[i].AgentStatus = before
		}
	}
	return out
}

// seenBefore returns an agent as the status of the claim has it; nil for none.
func seenBefore(t tenant.Tenant, cluster string) *v1alpha1.AgentStatus {
	for _, c := range t.Observed.XR.List("status", "clusters") {
		if is := c.Get("agent"); c.String("name") == cluster && is.Exists() {
			return &v1alpha1.AgentStatus{State: v1alpha1.AgentState(is.String("state")), Since: is.String("since"), Key: is.String("key")}
		}
	}
	return nil
}

// agentStates are the states of agents, as the server of the tunnels has them.
var agentStates = map[string]v1alpha1.AgentState{tunnel.Waiting: v1alpha1.AgentWaiting, tunnel.Connected: v1alpha1.AgentConnected, tunnel.Lost: v1alpha1.AgentLost}

// agentOf returns the state of an agent. The server of the tunnels begins anew whenever it is restarted, and waits for all agents. What was seen of
// one before, with the key that it has now, stays true; one that was connected then has been lost.
func agentOf(before *v1alpha1.AgentStatus, is proxy.Agent) *v1alpha1.AgentStatus {
	now := v1alpha1.AgentStatus{State: agentStates[is.State], Since: time.Unix(is.Since, 0).UTC().Format(time.RFC3339), Key: is.Key}
	if now.State != v1alpha1.AgentWaiting || before == nil || before.Key != now.Key || now.Key == "" {
		return &now
	}
	if before.State != v1alpha1.AgentConnected {
		return before
	}
	now.State = v1alpha1.AgentLost
	return &now
}

func joined(messages ...string) string {
	return strings.Join(slices.DeleteFunc(messages, func(s string) bool { return s == "" }), "; ")
}

// withAgent returns a cluster that is reached by an agent, as the agent is. What is wrong with its Secret counts more.
func withAgent(c tenant.Connection, before *v1alpha1.AgentStatus, is proxy.Agent) tenant.Connection {
	c.AgentStatus = agentOf(before, is)
	usable := !slices.Contains([]v1alpha1.ConnectionState{v1alpha1.StateSecretMissing, v1alpha1.StateSecretInvalid, v1alpha1.StateInactive}, c.State)
	state, message := c.State, ""
	switch since := c.AgentStatus.Since; {
	case c.AgentStatus.State == v1alpha1.AgentWaiting:
		// Crossplane gives each tenant a connection Secret, and the claim's own name of one stays in the claim.
		state, message = v1alpha1.StateWaitingForAgent, "its agent hasn't connected since "+since+": apply there what is at the key "+c.Manifest+" of the Secret that spec.writeConnectionSecretToRef names; without that field, nobody gets it: write the name of a Secret there"
	case c.AgentStatus.State == v1alpha1.AgentLost:
		state, message = v1alpha1.StateAgentLost, "its agent isn't connected any more since "+since
	case is.Twice:
		message = "somebody else tries to connect with the key of its agent, too: stop the agent that is too many, or write another tunnel.rotateKey"
	}
	switch {
	case !usable:
		c.Message = joined(c.Message, message)
	case state != c.State:
		// What Argo CD says of it is a consequence.
		c.State, c.Message = state, message
	default:
		c.Message = joined(message, c.Message)
	}
	return c
}

// kinds of entries, as people say them.
var kinds = map[string]string{v1alpha1.KindRepository: "Repository", v1alpha1.KindCredentialTemplate: "Credential template", "Key": "Key", "Notifications": "Notifications", "Webhook": "Webhook", "Image pull secret": "Image pull secret"}

func nameOf(c tenant.Connection) string { return cmp.Or(kinds[c.Kind], "Cluster") + " " + c.Name }

// Passed is the condition of Secrets that Argo CD gets.
func Passed(t tenant.Tenant, is condition.Of, all []tenant.Connection, what string) condition.Condition {
	if no, broken := unusable(t, is, all, what); broken {
		return no
	}
	return is.Yes(strings.Join(append([]string{"Argo CD has the credentials of every " + what}, notes(all)...), "; "))
}

// Connected is the condition of a list of connections. Credential templates are used by repositories: nothing connects to them.
func Connected(t tenant.Tenant, is condition.Of, all []tenant.Connection, what string) condition.Condition {
	all = Seen(t, all)
	if no, broken := unusable(t, is, all, what); broken {
		return no
	}
	unseen, connected := few.Names{}, 0
	for _, c := range all {
		switch {
		case c.State == v1alpha1.StateConnected:
			connected++
		case c.Kind != v1alpha1.KindCredentialTemplate:
			unseen.Add(c.Name)
		}
	}
	add := func(message string) string { return strings.Join(append([]string{message}, notes(all)...), "; ") }
	switch left := unseen.String(); {
	case left != "":
		when := ": it does once an Application uses it"
		if all[0].Kind == v1alpha1.KindRepository || all[0].Kind == v1alpha1.KindCredentialTemplate {
			when += "; what it reads for ApplicationSets isn't seen"
		}
		return is.NotYet(v1alpha1.ReasonConfigured, add("Argo CD has the credentials of every "+what+", and hasn't been seen to connect yet to "+left+when))
	case connected == 0:
		return is.NotYet(v1alpha1.ReasonConfigured, add("Argo CD has the credentials of every "+what))
	}
	return is.Yes(add("Argo CD is connected to every " + what))
}

// unusable returns the condition of connections of which one fails, or has a Secret that can't be used, or that wait for Argo CD. It
// reports false for others.
func unusable(t tenant.Tenant, is condition.Of, all []tenant.Connection, what string) (no condition.Condition, broken bool) {
	reason, messages, inactive := "", []string{}, false
	for _, c := range all {
		switch c.State {
		case v1alpha1.StateConfigured, v1alpha1.StateConnected:
			continue
		case v1alpha1.StateFailed:
			reason = cmp.Or(reason, v1alpha1.ReasonConnectionFailed)
		case v1alpha1.StateAgentLost, v1alpha1.StateWaitingForAgent:
			reason = cmp.Or(reason, string(c.State))
		case v1alpha1.StateInactive:
			inactive = true
		case v1alpha1.StateSecretMissing, v1alpha1.StateSecretInvalid:
			// This is what somebody has to mend first.
			if reason != v1alpha1.ReasonSecretMissing && reason != v1alpha1.ReasonSecretInvalid {
				reason = string(c.State)
			}
		}
		messages = append(messages, nameOf(c)+": "+c.Message)
	}
	switch {
	case reason != "":
		return is.No(reason, few.Texts(messages), ""), true
	case inactive:
		return is.NotYet(v1alpha1.ReasonInactive, few.Texts(messages)), true
	case !Runs(t):
		return is.No(v1alpha1.ReasonWaitingForArgoCD, "The credentials of every "+what+" wait for Argo CD", ""), true
	}
	return no, false
}

// notes are what is to be said of connections that work.
func notes(all []tenant.Connection) []string {
	var out []string
	for _, c := range all {
		if c.Message != "" {
			out = append(out, nameOf(c)+": "+c.Message)
		}
	}
	return out
}
