package rollout

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

// A candidate is a tenant that can be assigned the revision now.
type candidate struct {
	*Record
	rank      rank
	mandatory bool
	// broken says that an earlier revision has broken it, and joined that it came later than the revision.
	broken, joined bool
	// again says that it was passed over before.
	again bool
	// busy is how many tenants of its namespace come before it.
	busy     int
	position uint64
}

// A rank orders candidates: the lowest comes first.
type rank int

const (
	// rankMandatory: it is in the mandatory group.
	rankMandatory rank = iota
	// rankBroken: an earlier revision has broken it.
	rankBroken
	rankReady
	rankNotReady
	// rankTimedOut: it was assigned the revision and didn't begin.
	rankTimedOut
	// rankJoined: it came later than the revision.
	rankJoined
)

func rankOf(r *Record, mandatory, joined bool, is verdict) rank {
	switch {
	case joined:
		return rankJoined
	case is.status == timedOut:
		return rankTimedOut
	case mandatory:
		return rankMandatory
	case is.status == failed:
		return rankBroken
	case r.Phase == v1alpha1.PhaseReady:
		return rankReady
	}
	return rankNotReady
}

func labelsOf(r *Record) labels.Set { return labels.Set(r.Labels) }

// assign assigns the revision to the tenants that come next. Others than those that an earlier revision has
// broken get it only if the rollout goes on.
func (t *tenants) assign(c *Channel, in step, goesOn bool, now time.Time) {
	free := c.maxConcurrency - t.taken
	// How many may be at risk. Who is broken has a place already, and keeps it.
	risk := max(c.maxFailures, t.proved) - t.counting(c.maxFailures) - t.taken
	room, most := t.room(in), maxAssignments-t.open
	assigned := map[string]bool{}
	var added []Assignment
	for _, next := range t.inOrder(c.Revision) {
		may := goesOn && risk > 0
		switch {
		case next.broken:
			may = true
		case next.mandatory:
		case next.joined:
			may = may && t.mandatory.N == 0 && in.percent == 100
		default:
			may = may && t.mandatory.N == 0 && room > 0
		}
		if most <= 0 || free <= 0 || !may {
			continue
		}
		if !next.broken {
			risk--
		}
		if !next.mandatory && !next.joined {
			room--
		}
		most--
		free--
		a := Assignment{Tenant: next.Tenant, Revision: c.Revision, Until: now.Add(c.progressDeadline), Mends: next.broken, Again: next.again}
		assigned[a.Tenant], added = true, append(added, a)
		t.progressing.Add(next.name())
		t.statuses[next.Tenant] = progressing
		t.again = sooner(t.again, a.Until.Add(Settle))
	}
	// The assignment with which a tenant was passed over is replaced.
	t.assignments = append(slices.DeleteFunc(t.assignments, func(a Assignment) bool { return assigned[a.Tenant] }), added...)
}

// inOrder returns the candidates in the order in which they get a revision.
func (t *tenants) inOrder(revision int64) []candidate {
	for i := range t.candidates {
		t.candidates[i].position = position(t.candidates[i].Tenant, revision)
	}
	order := func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.busy, b.busy), cmp.Compare(a.position, b.position), cmp.Compare(a.Tenant, b.Tenant))
	}
	slices.SortFunc(t.candidates, order)
	for i, c := range t.candidates {
		namespace := namespaceOf(c.name())
		t.candidates[i].busy = t.busy[namespace]
		t.busy[namespace]++
	}
	slices.SortFunc(t.candidates, order)
	return t.candidates
}

// position returns the position of a tenant in the order of a revision. With 64 bits, two tenants
// hardly ever have the same.
func position(tenant string, revision int64) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%s", revision, tenant))
	return binary.BigEndian.Uint64(sum[:])
}
