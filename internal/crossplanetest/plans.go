package crossplanetest

import (
	"os"
	"strings"

	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/text"
)

// AddPlan adds a plan with a spec, or replaces it; labels are key=value, without the API group.
func (e *Engine) AddPlan(name, spec string, labels ...string) {
	e.T.Helper()
	o := resource.MustStructJSON(`{"apiVersion":"virtualargocd.io/v1alpha1","kind":"XArgoCDPlan","metadata":{"name":"` + name + `","labels":{}}}`)
	for _, l := range labels {
		key, value, _ := strings.Cut(l, "=")
		Field(o, "metadata", "labels").Fields["virtualargocd.io/"+key] = structpb.NewStringValue(value)
	}
	o.Fields["spec"] = JSON(spec)
	e.Cluster["XArgoCDPlan//"+name] = o
}

// AddPlanFile adds the plan in a file.
func (e *Engine) AddPlanFile(file string) {
	e.T.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		e.T.Fatal(err)
	}
	plan := map[string]any{}
	if err := text.Own(raw, &plan); err != nil {
		e.T.Fatal(err)
	}
	o, err := structpb.NewStruct(plan)
	if err != nil {
		e.T.Fatal(err)
	}
	e.Cluster[Key(o)] = o
}
