package proxy

import (
	"slices"
	"strings"
	"testing"
)

// TestSummaryNames: only a list of workloads, and a bounded one, is the name of a summary.
func TestSummaryNames(t *testing.T) {
	server := Workload{Kind: "Deployment", Name: "argocd-server"}
	controller := Workload{Kind: "StatefulSet", Name: "argocd-application-controller"}
	name := SummaryName([]Workload{server, controller})
	if got, err := ReadSummaryName(name); err != nil || len(got) != 2 || !slices.ContainsFunc(got, func(w Workload) bool { return w.key() == controller.key() }) {
		t.Errorf("%s: got %v, %v", name, got, err)
	}
	// Those of components are in several namespaces. A name may have dots, and a namespace has none.
	components := []Workload{{Kind: "Deployment", Namespace: "argo", Name: "server"}, {Kind: "Deployment", Namespace: "argo-events", Name: "server.v1"}}
	got, err := ReadSummaryName(ComponentsName(components))
	if err != nil || !slices.EqualFunc(got, []Workload{components[1], components[0]}, Workload.Same) {
		t.Errorf("%s: got %v, %v", ComponentsName(components), got, err)
	}
	for _, bad := range [][]Workload{{server}, {{Kind: "Deployment", Namespace: "a/b", Name: "c"}}, nil, slices.Repeat(components[:1], maxComponentWorkloads+1)} {
		if _, err := ReadSummaryName(ComponentsName(bad)); err == nil {
			t.Errorf("%.100s is a name", ComponentsName(bad))
		}
	}
	for _, tc := range []struct {
		asked []Workload
		want  string
	}{
		{[]Workload{{Kind: "Secret", Name: "a"}}, "not secret.a"},
		{[]Workload{{Kind: "Deployment", Name: "../../secrets/a"}}, "not deployment.../../secrets/a"},
		{[]Workload{{Kind: "Deployment", Name: "a?b"}}, "not deployment.a?b"},
		{slices.Repeat([]Workload{server}, maxWorkloads+1), "at most 20"},
		{nil, "not "},
	} {
		if _, err := ReadSummaryName(SummaryName(tc.asked)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: want an error with %q, got %v", tc.asked, tc.want, err)
		}
	}
}
