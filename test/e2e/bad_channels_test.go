//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// channels is the kind of channels.
var channels = schema.GroupVersionKind{Group: claim.GVK.Group, Version: claim.GVK.Version, Kind: v1alpha1.ChannelKind}

// badChannel is the spec of a channel that is wrong in one way, and what the API server says when it refuses it. If the API server
// accepts it, that is empty, and function is what the channel's condition SpecAccepted says.
type badChannel struct{ spec, server, function string }

// badChannels by what is wrong with them.
var badChannels = map[string]badChannel{
	// What the schema knows.
	"UnknownField": {
		spec: "{offer: {argocd: {version: 10.1.1}}}", server: `unknown field "spec.offer.argocd.version"`,
	},
	"OfferIsAString": {
		spec: "{offer: all}", server: `spec.offer: Invalid value: "string"`,
	},
	"Range": {
		spec:   `{offer: {argocd: {chartVersion: "*"}}}`,
		server: `spec.offer.argocd.chartVersion: Invalid value: "*": write an exact version of the chart, such as 10.1.1, not a range`,
	},
	"KubernetesNotAVersion": {
		spec:   "{offer: {kubernetes: {version: latest}}}",
		server: `spec.offer.kubernetes.version: Invalid value: "latest": write a whole Kubernetes version, such as v1.36.0`,
	},
	"PercentAbove100": {
		spec: "{rollout: {steps: [{percent: 101}]}}", server: "spec.rollout.steps[0].percent: Invalid value: 101",
	},
	"SoakInDays": {
		spec:   "{rollout: {steps: [{percent: 10, minSuccessTime: 1d}]}}",
		server: `spec.rollout.steps[0].minSuccessTime: Invalid value: "1d": write a duration in hours, minutes or seconds, such as 24h or 30m`,
	},
	"HaltAfterNone": {
		spec: "{rollout: {maxFailures: 501}}", server: "spec.rollout.maxFailures: Invalid value: 501",
	},

	// What only the function knows.
	"VClusterTooOld": {
		spec: "{offer: {vcluster: {chartVersion: 0.1.0}}}", function: "spec.offer.vcluster.chartVersion: vcluster 0.1.0 is not supported",
	},
	"KubernetesTooNew": {
		spec: "{offer: {kubernetes: {version: v1.99.0}}}", function: "spec.offer.kubernetes.version",
	},
	"ProtectedValue": {
		spec:     "{offer: {vcluster: {values: {policies: {networkPolicy: {enabled: true}}}}}}",
		function: "spec.offer.vcluster.values.policies.networkPolicy",
	},
	"DescendingSteps": {
		spec: "{rollout: {steps: [{percent: 50}, {percent: 20}]}}", function: "spec.rollout.steps[1].percent: 20 is not more than the step before has",
	},
	"NoTimeToChange": {
		spec: "{rollout: {progressDeadline: 0s}}", function: "spec.rollout.progressDeadline: 0s leaves no tenant the time to change",
	},
	"FirstSelectsEverybody": {
		spec: "{rollout: {mandatoryGroup: {}}}", function: "spec.rollout.mandatoryGroup: selects every claim",
	},
	"NotANamespace": {
		spec: "{namespaces: [team-b, Team A]}", function: `spec.namespaces[1]: "Team A" is neither a namespace nor a pattern`,
	},
}

// TestBadChannels creates channels that are wrong in one way each. They have no tenants, so they disturb no other test.
func TestBadChannels(t *testing.T) {
	ctx := context.Background()
	var all sync.WaitGroup
	for name, bad := range badChannels {
		all.Go(func() { t.Run(name, func(t *testing.T) { bad.refused(ctx, t, "bad-"+strings.ToLower(name)) }) })
	}
	all.Go(func() { t.Run("UnknownFieldWithoutValidation", func(t *testing.T) { unknownFieldDropped(ctx, t) }) })
	all.Wait()
}

func (bad badChannel) refused(ctx context.Context, t *testing.T, name string) {
	err := createChannel(ctx, t, name, bad.spec, metav1.FieldValidationStrict)
	if bad.server != "" {
		if err == nil || !strings.Contains(err.Error(), bad.server) {
			t.Errorf("want the API server to say %q, got %v", bad.server, err)
		}
		return
	}
	if err != nil {
		t.Fatalf("the API server refuses what the function is to refuse: %v", err)
	}
	o := channelWith(ctx, t, name, metav1.ConditionFalse, bad.function)
	if synced := condition(o, claim.Synced); synced.Status != metav1.ConditionFalse || !strings.Contains(synced.Message, bad.function) {
		t.Errorf("want %s False with %q, got %v", claim.Synced, bad.function, synced)
	}
	eventually.True(ctx, t, time.Minute, "the channel has an event with "+bad.function, func(ctx context.Context) (bool, string) {
		list, err := host.Typed.CoreV1().Events("").List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
		if err != nil {
			return false, err.Error()
		}
		for _, e := range list.Items {
			if e.Type == corev1.EventTypeWarning && e.Reason == "InvalidSpec" && strings.Contains(e.Message, bad.function) {
				return true, e.Message
			}
		}
		return false, fmt.Sprint(list.Items)
	})
}

// unknownFieldDropped creates a channel with a field that doesn't exist, by a client that doesn't have it validated.
func unknownFieldDropped(ctx context.Context, t *testing.T) {
	const name = "bad-not-validated"
	spec := "{paused: true, offer: {argocd: {version: 10.1.1}}}"
	if err := createChannel(ctx, t, name, spec, metav1.FieldValidationIgnore); err != nil {
		t.Fatal(err)
	}
	o := channelWith(ctx, t, name, metav1.ConditionTrue, "")
	if is, found, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "offer", "argocd", "version"); found {
		t.Errorf("the channel has the field that doesn't exist: %v", is)
	}
	if paused, _, _ := unstructured.NestedBool(o.Object, "spec", "paused"); !paused {
		t.Error("the channel has lost a field that exists")
	}
}

// createChannel creates a channel until the test ends, by when nothing is left of it: later tests compare lists of all objects.
func createChannel(ctx context.Context, t *testing.T, name, spec, validation string) error {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.UnmarshalStrict([]byte("spec: "+spec), &o.Object); err != nil {
		t.Fatal(err)
	}
	o.SetGroupVersionKind(channels)
	o.SetName(name)
	_, err := all(t, channels).Create(ctx, o, metav1.CreateOptions{FieldValidation: validation})
	if err == nil {
		t.Cleanup(func() {
			// Kubernetes keeps the channel until what Crossplane has composed for it is gone.
			foreground := metav1.DeletePropagationForeground
			if err := all(t, channels).Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
				t.Error(err)
			}
			eventually.True(ctx, t, 2*time.Minute, "channel "+name+" is gone", func(ctx context.Context) (bool, string) {
				o, err := all(t, channels).Get(ctx, name, metav1.GetOptions{})
				return kerrors.IsNotFound(err), fmt.Sprint(o, err)
			})
		})
	}
	return err
}

// channelWith waits until a channel says whether its spec is accepted, in these words, and returns the channel.
func channelWith(ctx context.Context, t *testing.T, name string, accepted metav1.ConditionStatus, words string) (o *unstructured.Unstructured) {
	t.Helper()
	eventually.True(ctx, t, 2*time.Minute, fmt.Sprintf("channel %s: SpecAccepted is %s with %q", name, accepted, words),
		func(ctx context.Context) (bool, string) {
			var err error
			if o, err = all(t, channels).Get(ctx, name, metav1.GetOptions{}); err != nil {
				return false, err.Error()
			}
			is := condition(o, v1alpha1.ConditionSpecAccepted)
			return is.Status == accepted && strings.Contains(is.Message, words), fmt.Sprint(o.Object["status"])
		})
	return o
}
