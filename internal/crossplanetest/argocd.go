package crossplanetest

import (
	"encoding/json"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// SetApplication sets the status of the first Application, as JSON.
func (e *Engine) SetApplication(status string) { e.SetManifest(tenant.Bootstrap, status) }

// SetReplicas sets how many replicas of a workload are available, 0 or 1. One is wanted.
func (e *Engine) SetReplicas(name string, available int) {
	e.T.Helper()
	e.SetWorkload(name, func(w *proxy.Workload) {
		if w.Replicas, w.Available = 1, available == 1; w.Available {
			w.Why = ""
		}
	})
}

// SetWorkload changes what the proxy sums up of a workload. The others are available
// unless they were set otherwise before. With no name, all of them are, and nothing is missing.
func (e *Engine) SetWorkload(name string, change func(*proxy.Workload)) {
	e.T.Helper()
	e.summarize(tenant.Workloads, name, change, nil, nil)
}

// SetSummary sets what the proxy says of Argo CD's installation beside its workloads.
func (e *Engine) SetSummary(missing *proxy.Missing, applications *proxy.Applications) {
	e.T.Helper()
	e.summarize(tenant.Workloads, keepAll, nil, missing, applications)
}

// SetComponentWorkload changes what the proxy sums up of a workload of a component.
func (e *Engine) SetComponentWorkload(name string, change func(*proxy.Workload)) {
	e.T.Helper()
	e.summarize(tenant.ComponentWorkloads, name, change, nil, nil)
}

// keepAll is the name of no workload.
const keepAll = "-"

func (e *Engine) summarize(object, name string, change func(*proxy.Workload), missing *proxy.Missing, applications *proxy.Applications) {
	e.T.Helper()
	o := e.Observed(object)
	m := proto.Clone(Field(o, "spec", "forProvider", "manifest")).(*structpb.Struct)
	summary, err := proxy.ReadSummaryName(Field(m, "metadata").GetFields()["name"].GetStringValue())
	if err != nil {
		e.T.Fatal(err)
	}
	// Those of components have one.
	wanted := map[string]int32{}
	for _, w := range argocd.ExpectedWorkloads(Field(e.Observed(tenant.ArgoCDRelease), "spec", "forProvider", "values").AsMap()) {
		wanted[w.Name] = int32(max(1, w.Replicas))
		if w.Idle {
			wanted[w.Name] = 0
		}
	}
	seen := proxy.ReadSummary(Field(o, "status", "atProvider", "manifest", "data").GetFields()[proxy.SummaryWorkloads].GetStringValue())
	for i := range summary {
		w := &summary[i]
		replicas, ok := wanted[w.Name]
		if !ok || object != tenant.Workloads {
			replicas = 1
		}
		if j := slices.IndexFunc(seen, func(s proxy.Workload) bool { return s.Same(*w) }); j >= 0 && name != "" {
			*w = seen[j]
		} else {
			w.UID, w.Replicas, w.Available, w.Images = "uid-of-"+w.Name, replicas, true, map[string]string{"server": "quay.io/argoproj/argocd:v3.4.4"}
		}
		if w.Name == name {
			change(w)
		}
	}
	data, err := proxy.Summary(summary)
	if err != nil {
		e.T.Fatal(err)
	}
	proxy.AddTo(data, missing, applications)
	raw, err := json.Marshal(data)
	if err != nil {
		e.T.Fatal(err)
	}
	m.Fields["data"] = JSON(string(raw))
	show(o, m)
}

// SetConnections sets what the proxy has seen of Argo CD's connections: all work, except those that are given.
func (e *Engine) SetConnections(but ...proxy.Connection) {
	e.T.Helper()
	o := e.Observed(tenant.Connections)
	m := proto.Clone(Field(o, "spec", "forProvider", "manifest")).(*structpb.Struct)
	keys, err := proxy.ReadConnectionsName(Field(m, "metadata").GetFields()["name"].GetStringValue())
	if err != nil {
		e.T.Fatal(err)
	}
	list := []proxy.Connection{}
	for _, k := range keys {
		i := slices.IndexFunc(but, func(c proxy.Connection) bool { return c.Key == k })
		if i < 0 {
			list = append(list, proxy.Connection{Key: k, Connected: true})
		} else if but[i].Connected || but[i].Message != "" || but[i].Agent != nil {
			list = append(list, but[i])
		}
	}
	raw, err := json.Marshal(proxy.ConnectionsData(list))
	if err != nil {
		e.T.Fatal(err)
	}
	m.Fields["data"] = JSON(string(raw))
	show(o, m)
}
