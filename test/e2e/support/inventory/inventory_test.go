package inventory

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestDiff(t *testing.T) {
	pod := func(name string) Object { return Object{schema.GroupResource{Resource: "pods"}, "default", name} }
	role := Object{schema.GroupResource{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"}, "", "vc-customer1"}

	cases := map[string]struct {
		reason        string
		before, after Listing
		want          []string
	}{
		"TheSame": {
			reason: "two equal listings differ in nothing",
			before: Listing{pod("a"): "1", role: "2"},
			after:  Listing{role: "2", pod("a"): "1"},
		},
		"LeftBehind": {
			reason: "an object that was not there before is named with its group and without a namespace when it has none",
			before: Listing{pod("a"): "1"},
			after:  Listing{pod("a"): "1", role: "2"},
			want:   []string{"new: clusterroles.rbac.authorization.k8s.io vc-customer1"},
		},
		"GoneAndReplaced": {
			reason: "an object of the same name but another identity is not the same object",
			before: Listing{pod("a"): "1", pod("b"): "2"},
			after:  Listing{pod("a"): "3"},
			want:   []string{"gone: pods default/b", "replaced by another of the same name: pods default/a"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Diff(tc.before, tc.after)); diff != "" {
				t.Errorf("\n%s\nDiff(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestAbout(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	l := Listing{
		{pods, "vargo-customer1-x", "vcluster-0"}: "1",
		{pods, "default", "customer1-x-helm"}:     "2",
		{pods, "default", "customer2-y"}:          "3",
		{pods, "default", "mycustomer1-x"}:        "4",
	}
	want := Listing{
		{pods, "vargo-customer1-x", "vcluster-0"}: "1",
		{pods, "default", "customer1-x-helm"}:     "2",
	}
	if diff := cmp.Diff(want, l.About("customer1-x")); diff != "" {
		t.Errorf("\na tenant's objects carry its name in theirs or in their namespace's\nAbout(...): -want, +got:\n%s", diff)
	}
}

func TestUnnamedPods(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	with := func(system, other string) Listing {
		return Listing{{pods, "system", system}: "1", {pods, "default", other}: "2"}.UnnamedPods("system")
	}
	if diff := Diff(with("a", "c"), with("b", "c")); len(diff) > 0 {
		t.Errorf("a pod of another name is another one: %v", diff)
	}
	if diff := Diff(with("a", "c"), with("a", "d")); len(diff) != 2 {
		t.Errorf("a pod elsewhere is the same under another name: %v", diff)
	}
	two := Listing{{pods, "system", "a"}: "1", {pods, "system", "b"}: "3", {pods, "default", "c"}: "2"}.UnnamedPods("system")
	if diff := Diff(with("a", "c"), two); len(diff) != 1 {
		t.Errorf("two pods are as one: %v", diff)
	}
}
