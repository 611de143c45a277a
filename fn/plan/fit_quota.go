package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// A need is what the tenant's own pods take of a quota, and what of it which takes.
type need struct {
	resource.Quantity
	names  []string
	shares map[string]*resource.Quantity
}

func (n *need) add(name string, q resource.Quantity, times int64) {
	q = q.DeepCopy()
	q.Mul(times)
	n.Add(q)
	if n.shares[name] == nil {
		n.names, n.shares[name] = append(n.names, name), &resource.Quantity{}
	}
	n.shares[name].Add(q)
}

// String reads like "3Gi: the control plane 2Gi, Argo CD 1Gi".
func (n *need) String() string {
	var out []string
	for _, name := range n.names {
		out = append(out, name+" "+n.shares[name].String())
	}
	return n.Quantity.String() + ": " + strings.Join(out, ", ")
}

// check refuses bounds that don't leave a tenant what it has to have.
func (f fit) check() error {
	if err := f.checkLimits(); err != nil {
		return err
	}
	parts, err := f.parts()
	if err != nil {
		return err
	}
	for _, p := range parts {
		for _, c := range slices.Concat(p.containers, p.first) {
			if err := f.checkContainer(c); err != nil {
				return err
			}
		}
	}
	return f.checkQuota(parts)
}

// checkQuota refuses a quota with less in it than the parts take: the control
// planes while they are replaced, the others while they are not.
func (f fit) checkQuota(parts []part) error {
	needs := map[string]*need{}
	add := func(limit, name string, q resource.Quantity, times int64) {
		if needs[limit] == nil {
			needs[limit] = &need{shares: map[string]*resource.Quantity{}}
		}
		needs[limit].add(name, q, times)
	}
	one := resource.MustParse("1")
	for _, p := range parts {
		add("count/pods", p.name, one, p.pods)
		for _, name := range containerNames {
			request, limit, err := f.ofPod(p, name)
			if err != nil {
				return err
			}
			add("requests."+name, p.name, request, p.pods)
			add("limits."+name, p.name, limit, p.pods)
		}
	}
	// Volumes that are there take nothing any more.
	if size, ok := parseAmount(f.store.Size); ok && f.isNew {
		volumes := max(f.store.Members, 1)
		add("requests.storage", "the store", size, volumes)
		add("count/persistentvolumeclaims", "the store", one, volumes)
	}
	for _, limit := range []string{
		"count/pods", "limits.memory", "limits.cpu", "limits.ephemeral-storage", "requests.memory", "requests.cpu", "requests.ephemeral-storage",
		"requests.storage", "count/persistentvolumeclaims",
	} {
		if err := f.within(limit, needs[limit], parts); err != nil {
			return err
		}
	}
	return nil
}

// ofPod is what a pod takes of a resource, as Kubernetes counts it.
func (f fit) ofPod(p part, name string) (request, limit resource.Quantity, err error) {
	for _, c := range p.containers {
		r, l, err := f.sizes(c, name)
		if err != nil {
			return request, limit, err
		}
		request.Add(orNothing(r))
		limit.Add(orNothing(l))
	}
	for _, c := range p.first {
		r, l, err := f.sizes(c, name)
		if err != nil {
			return request, limit, err
		}
		request, limit = larger(request, orNothing(r)), larger(limit, orNothing(l))
	}
	return request, limit, nil
}

func orNothing(a *amount) resource.Quantity {
	if a == nil {
		return resource.Quantity{}
	}
	return a.Quantity
}

func larger(a, b resource.Quantity) resource.Quantity {
	if b.Cmp(a) > 0 {
		return b
	}
	return a
}

// within refuses a need that the quota doesn't have, by each of the names that
// Kubernetes has for it.
func (f fit) within(limit string, n *need, parts []part) error {
	if n == nil {
		return nil
	}
	_, short, _ := strings.Cut(limit, "/")
	if of, ok := strings.CutPrefix(limit, "requests."); ok && of != "storage" {
		short = of
	}
	for _, name := range []string{limit, short} {
		if name == "" {
			continue
		}
		has, err := f.amount(chartVCluster, "policies", "resourceQuota", "quota", name)
		if err != nil {
			return err
		}
		if has == nil || n.Cmp(has.Quantity) <= 0 {
			continue
		}
		by, field := f.whose(has.chart, has.path)
		taker, takes := f.taker(parts)
		if taker == ofClaim {
			return fmt.Errorf("%s: what Argo CD and its virtual cluster take of %s comes to %s with it, and %s is %s: write less, or choose another plan", takes, name, n, field, has.Quantity.String())
		}
		if taker == ofInput && by == builtIn {
			field = "input.charts.vcluster.values." + strings.Join(has.path, ".")
		}
		return fmt.Errorf("%s: is %s, and Argo CD and its virtual cluster take %s: write at least %s", field, has.Quantity.String(), n, n.Quantity.String())
	}
	return nil
}

// taker is who decided last on what the parts take, and the field in which.
func (f fit) taker(parts []part) (of owner, field string) {
	if f.controlPlanes > 1 || f.store.Kind == StoreEtcd {
		of = ofPlan
	}
	see := func(chart string, path []string) {
		if v, _ := lookup(f.of[chart].all, path...); v == nil {
			return
		}
		if o, at := f.whose(chart, path); o > of {
			of, field = o, at
		}
	}
	see(chartVCluster, []string{"controlPlane", "coredns", "deployment", "replicas"})
	for _, c := range components {
		see(chartArgoCD, c.path("replicas"))
	}
	for _, p := range parts {
		for _, c := range slices.Concat(p.containers, p.first) {
			for _, kind := range []string{"requests", "limits"} {
				for _, name := range containerNames {
					see(c.chart, append(slices.Clone(c.path), kind, name))
				}
			}
		}
	}
	return of, field
}

// checkFits refuses bounds that don't leave the tenant what it has to have. Where
// they don't without the claim's values either, the mistake isn't the claim's.
func (p *Plan) checkFits(r Request, vcluster, argocd source) error {
	_, policy := requestsIn(parse(p.Kubernetes).Minor())
	f := fit{
		plan: r.Plan, of: map[string]source{chartVCluster: vcluster, chartArgoCD: argocd},
		store: p.Store, controlPlanes: p.ControlPlanes, isNew: r.Running.Store == nil, policy: policy,
	}
	err := f.check()
	if err == nil {
		return nil
	}
	vcluster.claim, argocd.claim = nil, nil
	f.of = map[string]source{chartVCluster: vcluster.merge(), chartArgoCD: argocd.merge()}
	return cmp.Or(f.check(), err)
}
