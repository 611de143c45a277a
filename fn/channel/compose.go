package channel

import (
	"encoding/json"
	"maps"
	"strconv"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/channel/rollout"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// compose adds the channel's objects to the response: what it publishes, its revisions, its assignments,
// and its state.
func compose(rsp *fnv1.RunFunctionResponse, c *request, s rollout.Strategy, r rollout.Result) error {
	composed := map[string]resource.Object{}
	configMap := func(composedName, name, key, text string) *corev1.ConfigMap {
		o := &corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Namespace: c.secretsIn, Name: name},
			Data:       map[string]string{key: text},
		}
		composed[composedName] = resource.Object{Typed: o}
		return o
	}
	state, err := json.Marshal(r.State)
	if err != nil {
		return err
	}
	configMap(composedState, tenant.ChannelState(c.name), tenant.StateKey, string(state))
	p := c.published(s, r.State)
	for number, text := range c.written {
		// Tenants keep a copy of the revision that they have. The one with which new tenants began until now is there until this
		// has been published.
		if number != p.Revision && number != p.Begin && number != c.state.Complete {
			continue
		}
		o := configMap(composedRevision+strconv.FormatInt(number, 10), tenant.RevisionName(c.name, number), tenant.RevisionKey, text)
		o.Immutable = new(true)
	}
	for _, a := range r.Assignments {
		text, err := json.Marshal(a)
		if err != nil {
			return err
		}
		name := tenant.AssignmentName(c.name, a.Tenant)
		configMap(composedAssignment+name, name, tenant.AssignmentKey, string(text))
	}
	data := map[string]any{}
	text, err := json.Marshal(p)
	if err == nil {
		err = json.Unmarshal(text, &data)
	}
	if err != nil {
		return err
	}
	composed[composedOffer] = resource.Object{
		Typed: &metav1.PartialObjectMetadata{
			TypeMeta:   metav1.TypeMeta{APIVersion: tenant.EnvironmentAPIVersion, Kind: tenant.EnvironmentKind},
			ObjectMeta: metav1.ObjectMeta{Name: tenant.ChannelPublished(c.name), Labels: map[string]string{tenant.LabelChannel: c.name}},
		},
		Raw: data, RawAt: []string{"data"},
	}
	// A copy: the response shares the request's desired state.
	desired := make(map[string]*fnv1.Resource, len(composed))
	maps.Copy(desired, rsp.GetDesired().GetResources())
	for name, o := range composed {
		s, err := o.Encode()
		if err != nil {
			return err
		}
		desired[name] = &fnv1.Resource{Resource: s, Ready: fnv1.Ready_READY_TRUE}
	}
	rsp.Desired = &fnv1.State{Composite: rsp.GetDesired().GetComposite(), Resources: desired}
	return nil
}

// published returns what the channel tells all of its tenants in a state. A new tenant begins with the last
// complete revision; where none was complete, with the newest, unless that is held back.
func (c *request) published(s rollout.Strategy, is rollout.State) tenant.Published {
	p := tenant.Published{
		Revision: is.Revision, Complete: is.Complete, Namespaces: c.spec.Namespaces, Paused: c.spec.Paused, Halted: is.Halted != nil,
		Proved: metav1.Duration{Duration: s.Proved},
	}
	_, known := c.revisions[is.Complete]
	switch {
	case known:
		p.Begin = is.Complete
	case is.Complete == 0 && !p.Paused && !p.Halted:
		p.Begin = is.Revision
	}
	return p
}
