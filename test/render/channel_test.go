package render

import (
	"path/filepath"
	"regexp"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// clock matches times: the function that is tested has a real clock.
var clock = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// TestChannel renders a channel, a tenant in it, and the channel with that tenant's record,
// and compares each with its golden files.
func TestChannel(t *testing.T) {
	setUp(t)
	const example = "examples/channels/stable.yaml"
	channel := newTenant(t, example, channelXRD, channelComposition, "")
	channel.xr = read(t, filepath.Join(root, example))[0]
	check(t, unstructured.SetNestedField(channel.xr.Object, false, "spec", "paused"))
	channel.xr.SetUID("7d4c9c3a-1f0b-4c51-9d57-5a0f0c1f7e11")
	for _, file := range []string{composition, channelComposition, "examples/plans/standard.yaml", "examples/plans/small.yaml"} {
		channel.required = append(channel.required, read(t, filepath.Join(root, file))...)
	}
	var objects []*object
	at := func(te *tenant, reason, stage string) {
		t.Helper()
		te.reconcile()
		compareGolden(t, reason, filepath.Join("channel", stage), te.rendered, func(text []byte) []byte { return clock.ReplaceAll(text, []byte("2026-01-02T03:04:05Z")) })
		objects = append(objects, te.written()...)
	}
	at(channel, "A channel without tenants.", "1-no-tenants")

	member := newTenant(t, "examples/claims/customer1.yaml", xrd, composition, "")
	check(t, unstructured.SetNestedField(member.xr.Object, "stable", "spec", "channel"))
	member.required = append(member.required, channel.get("offer"), channel.get("revision-1"))
	at(member, "A new tenant takes what is offered.", "2-new-tenant")

	channel.required = append(channel.required, member.get("channel-record"))
	at(channel, "The channel has seen the tenant's record.", "3-one-tenant")
	for i, wrong := range validate(t, objects) {
		if wrong != "" {
			t.Errorf("%s doesn't fit its schema: %s", objects[i].GetName(), wrong)
		}
	}
}
