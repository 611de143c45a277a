package admission

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/flowcontrol"
	flowmetrics "k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	flowrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/component-base/metrics/legacyregistry"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/test/render/golden"
)

const (
	// defaultSeats are those of an API server: 400 by --max-requests-inflight and 200 by --max-mutating-requests-inflight.
	defaultSeats = 600

	platformLevel = "virtual-argocd-platform"
	someTenant    = "vargo-t0"
)

// TestSeats: of the API server's seats, the platform's level and Kubernetes' own keep enough beside the levels of 1,000 tenants, and a
// tenant has one, however few tenants there are. Kubernetes' own code computes them. A request is compared with the FlowSchemas of all tenants
// in no time worth mentioning, and one of the platform with none.
func TestSeats(t *testing.T) {
	for tenants, want := range map[int]map[string]seats{
		// As docs/scale.md has them.
		1:    {someTenant: {1, 0, 1}, platformLevel: {355, 35, 955}, "system": {30, 20, 630}, "node-high": {40, 30, 640}, "leader-election": {10, 10, 610}, "workload-high": {40, 20, 640}, "workload-low": {100, 10, 700}},
		100:  {someTenant: {1, 0, 1}, platformLevel: {305, 30, 905}, "system": {26, 17, 626}, "node-high": {35, 26, 635}, "leader-election": {9, 9, 609}, "workload-high": {35, 17, 635}, "workload-low": {86, 9, 686}},
		1000: {someTenant: {1, 0, 1}, platformLevel: {134, 13, 734}, "system": {12, 8, 612}, "node-high": {15, 11, 615}, "leader-election": {4, 4, 604}, "workload-high": {15, 7, 615}, "workload-low": {38, 4, 638}},
	} {
		t.Run(fmt.Sprint(tenants), func(t *testing.T) {
			p := newPriorities(t, tenants)
			is := seatsOf(t)
			for _, level := range slices.Sorted(maps.Keys(want)) {
				if is[level] != want[level] {
					t.Errorf("%s: nominal, lower and upper limit: want %v, got %v", level, want[level], is[level])
				}
			}
			platform, others := p.matched(t, "crossplane-system"), p.matched(t, "default")
			t.Logf("a request of the platform gets a seat in %s, one of the host's other ServiceAccounts in %s", platform, others)
			if max(platform, others) > matchedWithin {
				t.Errorf("want both in at most %s", matchedWithin)
			}
		})
	}
}

// TestTenantsRequests: what a tenant sends waits for that tenant's seat, while the platform and another tenant are served.
func TestTenantsRequests(t *testing.T) {
	p := newPriorities(t, 2)
	release, began := make(chan struct{}), make(chan struct{}, 9)
	var busy sync.WaitGroup
	for range cap(began) {
		busy.Go(func() {
			p.handle(t, "vargo-t0", func() { began <- struct{}{}; <-release })
		})
	}
	<-began
	for _, namespace := range []string{"crossplane-system", "vargo-t1", "kube-system", "default"} {
		served := make(chan struct{})
		go p.handle(t, namespace, func() { close(served) })
		select {
		case <-served:
		case <-time.After(10 * time.Second):
			t.Errorf("a request of namespace %s waits for those of a tenant", namespace)
		}
	}
	if n := len(began); n > 0 {
		t.Errorf("%d more requests of a tenant are served beside its first", n)
	}
	close(release)
	busy.Wait()
}

// matchedWithin is ten times what is measured on a machine with two busy cores.
const matchedWithin = time.Millisecond

// matched measures how long the API server takes to find a request's level, and to give it a seat.
func (p priorityAndFairness) matched(t *testing.T, namespace string) time.Duration {
	t.Helper()
	took := make([]time.Duration, 201)
	for i := range took {
		start := time.Now()
		p.handle(t, namespace, func() {})
		took[i] = time.Since(start)
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// seats are the limits of a priority level: what it has when all are busy, what it keeps when it is idle, and what it may borrow up to.
type seats struct{ nominal, lower, upper int }

// seatsOf reads them from the metrics of the process, as an API server shows them.
func seatsOf(t *testing.T) map[string]seats {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]seats{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() != "priority_level" {
					continue
				}
				level, value := out[l.GetValue()], int(m.GetGauge().GetValue())
				switch family.GetName() {
				case "apiserver_flowcontrol_nominal_limit_seats":
					level.nominal = value
				case "apiserver_flowcontrol_lower_limit_seats":
					level.lower = value
				case "apiserver_flowcontrol_upper_limit_seats":
					level.upper = value
				}
				out[l.GetValue()] = level
			}
		}
	}
	return out
}

// priorityAndFairness is the API Priority and Fairness of an API server.
type priorityAndFairness struct{ flowcontrol.Interface }

var registerMetrics = sync.OnceFunc(flowmetrics.Register)

// newPriorities is that of a host with Kubernetes' defaults, priorities.yaml, and what the function creates for each of so many tenants.
func newPriorities(t *testing.T, tenants int) priorityAndFairness {
	t.Helper()
	registerMetrics()
	levels := slices.Concat(bootstrap.MandatoryPriorityLevelConfigurations, bootstrap.SuggestedPriorityLevelConfigurations)
	schemas := slices.Concat(bootstrap.MandatoryFlowSchemas, bootstrap.SuggestedFlowSchemas)
	add := func(data string) {
		level, schema := &flowcontrolv1.PriorityLevelConfiguration{}, &flowcontrolv1.FlowSchema{}
		if strings.Contains(data, "\nkind: PriorityLevelConfiguration\n") {
			unmarshal(t, data, level)
			levels = append(levels, level)
			return
		}
		unmarshal(t, data, schema)
		schemas = append(schemas, schema)
	}
	file, err := os.ReadFile("../../examples/install/priorities.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range strings.Split(string(file), "\n---\n") {
		add(doc)
	}
	composed, namespace := composedPriorities(t)
	for n := range tenants {
		for _, data := range composed {
			add(strings.ReplaceAll(data, namespace, fmt.Sprintf("vargo-t%d", n)))
		}
	}
	objects := make([]runtime.Object, 0, len(levels)+len(schemas))
	for _, l := range levels {
		objects = append(objects, l)
	}
	for _, s := range schemas {
		objects = append(objects, s)
	}
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	p := priorityAndFairness{flowcontrol.New(factory, client.FlowcontrolV1(), defaultSeats)}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	go p.Run(ctx.Done()) //nolint:errcheck // It ends with the test.
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		// The sum of the shares changes with each object until all are read.
		level := ""
		p.serve(t, "crossplane-system", func(_, of string) { level = of }, func() {})
		if level == platformLevel && p.settled(t, tenants) {
			return p
		}
		if time.Now().After(deadline) {
			t.Fatalf("the objects aren't in force: a request of Crossplane has the level %s", level)
		}
	}
}

// settled reports whether the last tenant's requests have that tenant's level.
func (p priorityAndFairness) settled(t *testing.T, tenants int) bool {
	t.Helper()
	if tenants == 0 {
		return true
	}
	last, is := fmt.Sprintf("vargo-t%d", tenants-1), ""
	p.serve(t, last, func(_, level string) { is = level }, func() {})
	return is == last
}

// composedPriorities are the FlowSchema and the PriorityLevelConfiguration that the function composes, and the name of the tenant's namespace in
// them: what the golden files of the smallest claim have.
func composedPriorities(t *testing.T) (manifests []string, namespace string) {
	t.Helper()
	objects, err := golden.Read("../render/testdata/golden/smallest/5-ready")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if o.GetKind() != "FlowSchema" && o.GetKind() != "PriorityLevelConfiguration" {
			continue
		}
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		namespace = o.GetName()
		manifests = append(manifests, string(text))
	}
	if len(manifests) != 2 || namespace == "" {
		t.Fatalf("want two objects of a tenant, got %d", len(manifests))
	}
	return manifests, namespace
}

func unmarshal(t *testing.T, data string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(data), into); err != nil {
		t.Fatal(err)
	}
}

// handle serves a request of a ServiceAccount in a namespace, once it has a seat.
func (p priorityAndFairness) handle(t *testing.T, namespace string, serve func()) {
	t.Helper()
	p.serve(t, namespace, func(string, string) {}, serve)
}

func (p priorityAndFairness) serve(t *testing.T, namespace string, note func(schema, level string), serve func()) {
	t.Helper()
	digest := flowcontrol.RequestDigest{
		RequestInfo: &apirequest.RequestInfo{IsResourceRequest: true, Verb: "create", APIVersion: "v1", Resource: "pods", Namespace: namespace},
		User:        &user.DefaultInfo{Name: "system:serviceaccount:" + namespace + ":a", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}},
	}
	p.Handle(t.Context(), digest,
		func(s *flowcontrolv1.FlowSchema, l *flowcontrolv1.PriorityLevelConfiguration, _ string) {
			note(s.Name, l.Name)
		},
		func() flowrequest.WorkEstimate { return flowrequest.WorkEstimate{InitialSeats: 1} },
		func(bool) {}, serve)
}
