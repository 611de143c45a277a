package tenants

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// A Cell is a host with tenants.
type Cell struct {
	// Name is empty where there is only one.
	Name     string `json:"cell"`
	Tenants  int    `json:"tenants"`
	Ready    int    `json:"ready"`
	Degraded int    `json:"degraded"`
	// Room is for how many more tenants there is room.
	Room int `json:"room"`
	// CPU and Memory are the shares of what nodes have that pods request.
	CPU    float64 `json:"cpuRequested"`
	Memory float64 `json:"memoryRequested"`
}

// A Tenant is a claim.
type Tenant struct {
	Cell       string `json:"cell"`
	Namespace  string `json:"namespace"`
	Claim      string `json:"claim"`
	Plan       string `json:"plan"`
	Channel    string `json:"channel"`
	ArgoCD     string `json:"argocd"`
	Kubernetes string `json:"kubernetes"`
	Phase      string `json:"phase"`

	Applications int `json:"applications"`
	OutOfSync    int `json:"outOfSync"`
	NotHealthy   int `json:"notHealthy"`
	ClustersLost int `json:"clustersLost"`
	Deployments  int `json:"deploymentsPerDay"`
}

// Trouble reports whether somebody should look at the tenant.
func (t Tenant) Trouble() bool {
	return t.OutOfSync > 0 || t.NotHealthy > 0 || t.ClustersLost > 0 || t.Phase != "Ready" && t.Phase != "Hibernated"
}

// A Cost is what a tenant has occupied for a time, in core hours and in GiB hours. Allocated is what it has requested, or used if that was more.
type Cost struct {
	Cell          string  `json:"cell"`
	Namespace     string  `json:"namespace"`
	Claim         string  `json:"claim"`
	Plan          string  `json:"plan"`
	HostNamespace string  `json:"hostNamespace"`
	CPURequested  float64 `json:"cpuRequested"`
	CPUUsed       float64 `json:"cpuUsed"`
	CPU           float64 `json:"cpuAllocated"`
	MemRequested  float64 `json:"memoryRequested"`
	MemUsed       float64 `json:"memoryUsed"`
	Mem           float64 `json:"memoryAllocated"`
	Storage       float64 `json:"storageAllocated"`
}

// Cells are all that Prometheus knows, by name.
func (p Prometheus) Cells(ctx context.Context, at time.Time) ([]Cell, error) {
	cells := map[string]*Cell{}
	for _, q := range []struct {
		expr string
		set  func(*Cell, float64)
	}{
		{`sum by (cell) (virtualargocd:cell:tenants)`, func(c *Cell, v float64) { c.Tenants = int(v) }},
		{`sum by (cell) (virtualargocd:cell:tenants{phase="Ready"})`, func(c *Cell, v float64) { c.Ready = int(v) }},
		{`sum by (cell) (virtualargocd:cell:tenants{phase="Degraded"})`, func(c *Cell, v float64) { c.Degraded = int(v) }},
		{`max by (cell) (virtualargocd:cell:room_tenants)`, func(c *Cell, v float64) { c.Room = int(v) }},
		{`max by (cell) (virtualargocd:cell:requested{resource="cpu"} / virtualargocd:cell:allocatable{resource="cpu"})`, func(c *Cell, v float64) { c.CPU = v }},
		{`max by (cell) (virtualargocd:cell:requested{resource="memory"} / virtualargocd:cell:allocatable{resource="memory"})`, func(c *Cell, v float64) { c.Memory = v }},
	} {
		samples, err := p.query(ctx, q.expr, at)
		if err != nil {
			return nil, err
		}
		for _, s := range samples {
			name := s.Metric["cell"]
			if cells[name] == nil {
				cells[name] = &Cell{Name: name}
			}
			q.set(cells[name], s.number())
		}
	}
	var out []Cell
	for _, c := range cells {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b Cell) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// key is which claim a sample is about.
type key struct{ cell, namespace, claim string }

func keyOf(s sample) key {
	return key{s.Metric["cell"], s.Metric["claim_namespace"], s.Metric["claim"]}
}

func (k key) compare(o key) int {
	return cmp.Or(cmp.Compare(k.cell, o.cell), cmp.Compare(k.namespace, o.namespace), cmp.Compare(k.claim, o.claim))
}

// Tenants are all claims, in the order of their cells and namespaces.
func (p Prometheus) Tenants(ctx context.Context, at time.Time) ([]Tenant, error) {
	tenants := map[key]*Tenant{}
	infos, err := p.query(ctx, `max by (cell, claim_namespace, claim, plan, channel, argocd_version, kubernetes_version) (virtualargocd:claim:info)`, at)
	if err != nil {
		return nil, err
	}
	for _, s := range infos {
		m := s.Metric
		tenants[keyOf(s)] = &Tenant{
			Cell: m["cell"], Namespace: m["claim_namespace"], Claim: m["claim"], Plan: m["plan"], Channel: m["channel"],
			ArgoCD: m["argocd_version"], Kubernetes: m["kubernetes_version"],
		}
	}
	for _, q := range []struct {
		expr string
		set  func(*Tenant, sample)
	}{
		{`max by (cell, claim_namespace, claim, phase) (virtualargocd:claim:phase)`, func(t *Tenant, s sample) { t.Phase = s.Metric["phase"] }},
		{`max by (cell, claim_namespace, claim, state) (virtualargocd:claim:applications)`, func(t *Tenant, s sample) {
			switch n := int(s.number()); s.Metric["state"] {
			case "total":
				t.Applications = n
			case "notSynced":
				t.OutOfSync = n
			case "notHealthy":
				t.NotHealthy = n
			}
		}},
		{`max by (cell, claim_namespace, claim) (virtualargocd:claim:clusters_lost)`, func(t *Tenant, s sample) { t.ClustersLost = int(s.number()) }},
		{`max by (cell, claim_namespace, claim) (virtualargocd:claim:deployments_per_day)`, func(t *Tenant, s sample) { t.Deployments = int(s.number()) }},
	} {
		samples, err := p.query(ctx, q.expr, at)
		if err != nil {
			return nil, err
		}
		for _, s := range samples {
			if t := tenants[keyOf(s)]; t != nil {
				q.set(t, s)
			}
		}
	}
	var out []Tenant
	for _, t := range tenants {
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b Tenant) int {
		return key{a.Cell, a.Namespace, a.Claim}.compare(key{b.Cell, b.Namespace, b.Claim})
	})
	return out, nil
}

// quarter is how often costs are looked at.
const quarter = 15 * time.Minute

// Costs are what tenants have occupied from a time until before another one, both at full quarters of an hour.
func (p Prometheus) Costs(ctx context.Context, from, to time.Time) ([]Cost, error) {
	type line struct {
		key

		plan, host string
	}
	costs := map[line]*Cost{}
	for _, record := range []string{"requested", "used", "allocated"} {
		// A second before the end, so that the looks are at each quarter from the first, and not at the end itself.
		expr := fmt.Sprintf("sum by (cell, claim_namespace, claim, plan, namespace, resource) (sum_over_time(virtualargocd:claim:%s[%ds:%ds]))", record,
			int(to.Sub(from).Seconds()), int(quarter.Seconds()))
		samples, err := p.query(ctx, expr, to.Add(-time.Second))
		if err != nil {
			return nil, err
		}
		for _, s := range samples {
			l := line{keyOf(s), s.Metric["plan"], s.Metric["namespace"]}
			if costs[l] == nil {
				costs[l] = &Cost{Cell: l.cell, Namespace: l.namespace, Claim: l.claim, Plan: l.plan, HostNamespace: l.host}
			}
			c, hours := costs[l], s.number()*quarter.Hours()
			switch record + s.Metric["resource"] {
			case "requestedcpu":
				c.CPURequested = hours
			case "usedcpu":
				c.CPUUsed = hours
			case "allocatedcpu":
				c.CPU = hours
			case "requestedmemory":
				c.MemRequested = hours / (1 << 30)
			case "usedmemory":
				c.MemUsed = hours / (1 << 30)
			case "allocatedmemory":
				c.Mem = hours / (1 << 30)
			case "allocatedstorage":
				c.Storage = hours / (1 << 30)
			}
		}
	}
	var out []Cost
	for _, c := range costs {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b Cost) int {
		return cmp.Or(key{a.Cell, a.Namespace, a.Claim}.compare(key{b.Cell, b.Namespace, b.Claim}), cmp.Compare(a.Plan, b.Plan), cmp.Compare(a.HostNamespace, b.HostNamespace))
	})
	return out, nil
}
