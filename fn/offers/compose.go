package offers

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/channel"
	requests "github.com/virtual-argocd/virtual-argocd/fn/decode"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// compose adds the channel's objects to the response: what it publishes, its admissions that
// are in force, and its memory.
func compose(rsp *fnv1.RunFunctionResponse, c *request, r channel.Result, now time.Time) error {
	p := c.published(r.State)
	composed := map[string]resource.Object{}
	configMap := func(composedName, name, key string, v any) error {
		text, err := json.Marshal(v)
		composed[composedName] = resource.Object{Typed: &corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Namespace: c.secretsIn, Name: name},
			Data:       map[string]string{key: string(text)},
		}}
		return err
	}
	if err := configMap(composedState, tenant.ChannelState(c.name), channel.StateKey, memory{State: r.State, Published: p, Inputs: c.inputOf, LabelsAt: c.memory.LabelsAt}); err != nil {
		return err
	}
	for _, a := range r.State.Admitted {
		name := tenant.AdmissionName(c.name, a.Tenant)
		if !a.Valid(c.digest, now) {
			continue
		}
		if err := configMap(composedAdmission+name, name, channel.AdmissionKey, a); err != nil {
			return err
		}
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
			TypeMeta:   metav1.TypeMeta{APIVersion: requests.EnvironmentAPIVersion, Kind: requests.EnvironmentKind},
			ObjectMeta: metav1.ObjectMeta{Name: "virtual-argocd-channel-" + c.name, Labels: map[string]string{channel.Label: c.name}},
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

// published returns what the channel tells all of its tenants in a state.
func (c *request) published(s channel.State) tenant.Published {
	p := tenant.Published{
		Digest: c.digest, Offer: c.spec.Offer, With: c.with, Namespaces: c.spec.Namespaces, Paused: c.spec.Paused, Halted: s.Halted != nil,
		Labels: labels(c.spec.Rollout), Proved: metav1.Duration{Duration: channel.Proved(c.spec.Rollout)},
	}
	if s.Complete == c.digest {
		p.Complete = tenant.Completed{Digest: c.digest, Offer: c.spec.Offer}
	} else if content, known := c.memory.Published.Content(s.Complete); known && s.Complete != "" {
		p.Complete = tenant.Completed{Digest: s.Complete, Offer: content}
	}
	return p
}

// labels returns the keys of the labels that rollout.first selects by, sorted.
func labels(rollout v1alpha1.ChannelRollout) []string {
	if rollout.First == nil {
		return nil
	}
	keys := slices.Collect(maps.Keys(rollout.First.MatchLabels))
	for _, of := range rollout.First.MatchExpressions {
		keys = append(keys, of.Key)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
