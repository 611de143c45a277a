package main

import (
	"strings"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/resource"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

// TestChannelNextInput: a tenant that a next version of the function serves, with an input that the channel's function can't read,
// keeps the input that it has until the channel can offer the other: see docs/staging.md.
func TestChannelNextInput(t *testing.T) {
	t.Parallel()
	const reads = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"values":{"server":{"replicas":2}}}}}`
	w := fleet(t, 2, `{}`)
	compose := func(input string) {
		w.cluster["Composition//virtual-argocd-next"] = resource.MustStructJSON(`{"apiVersion":"apiextensions.crossplane.io/v1","kind":"Composition",
			"metadata":{"name":"virtual-argocd-next"},"spec":{"compositeTypeRef":{"kind":"XVirtualArgoCD"},"pipeline":[{"step":"a","input":` + input + `}]}}`)
	}
	e := w.tenants["c0"]
	compose(strings.Replace(reads, `"charts"`, `"new":true,"charts"`, 1))
	e.req.Input = resource.MustStructJSON(reads)
	w.settle(10, time.Minute)
	const message = "waits until channel stable offers the change of the function's input; would change: values of argo-cd (server.replicas)"
	if got := e.status("channel", "message"); got != message || e.status("phase") != "Ready" || replicas(e) == 2 {
		t.Errorf("want %q, got %q: it is %s, and has %v replicas", message, got, e.status("phase"), replicas(e))
	}
	w.wantCondition("stable", v1alpha1.ConditionComplete, true, "all 2")

	// The channel's function can read it now.
	compose(reads)
	w.settle(10, time.Minute)
	if other := w.tenants["c1"]; replicas(e) != 2 || replicas(other) == 2 {
		t.Errorf("want the input for the tenant of its Composition alone, they have %v and %v replicas", replicas(e), replicas(other))
	}
	w.wantCondition("stable", v1alpha1.ConditionComplete, true, "all 2")
}
