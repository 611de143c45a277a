package channel

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

// A candidate is a tenant that can be admitted now.
type candidate struct {
	*Record
	selected, broken bool
	rank             rank
	position         uint64
}

// A rank orders candidates before their position does: the lowest comes first.
type rank int

const (
	// rankFirst: selected by rollout.first.
	rankFirst rank = iota
	// rankBroken: an earlier offer has broken it. At most haltAfter.degraded tenants of a
	// customer have this rank, since whoever writes claims can break any number.
	rankBroken
	rankReady
	rankNotReady
	// rankSilent: it was admitted and didn't begin.
	rankSilent
)

func rankOf(r *Record, selected, broken, silent bool) rank {
	switch {
	case silent:
		return rankSilent
	case selected:
		return rankFirst
	case broken:
		return rankBroken
	case r.Phase == v1alpha1.PhaseReady:
		return rankReady
	}
	return rankNotReady
}

// slots returns how many slots are free, and how many there are in all.
func (t *tenants) slots(u rules) (free, all int) {
	all = min(u.maxUpdating, max(u.degraded, t.proved)-t.broken.N)
	return all - t.updating.N, all
}

// withdraw withdraws all admissions.
func (t *tenants) withdraw(s *State, now time.Time) {
	for i := range s.Admitted {
		t.changed = s.Admitted[i].withdraw(now) || t.changed
		if until := s.Admitted[i].Until.Add(Settle); until.After(now) {
			t.look(until)
		}
	}
}

// admit admits tenants to the offer.
func (t *tenants) admit(u rules, s *State, in step, now time.Time) {
	room := max(0, t.room(in))
	if room > 0 {
		t.look(t.opens)
	}
	free, all := t.slots(u)
	if free <= 0 {
		return
	}
	if t.silent.N >= mostSilent {
		t.ready = slices.DeleteFunc(t.ready, func(c candidate) bool { return c.rank != rankSilent })
	}
	next := t.allowed(u, s.Offer, room)
	n := min(free, len(next))
	// Each change of the state has tenants reconciled, so several are admitted at once.
	if n == 0 || n < len(next) && 2*free < all {
		return
	}
	for _, c := range next[:n] {
		a := Admission{Tenant: c.Tenant, Offer: s.Offer, Until: now.Add(inForce), Broken: c.broken}
		if i := slices.IndexFunc(s.Admitted, func(a Admission) bool { return a.Tenant == c.Tenant }); i >= 0 {
			a.Tries = s.Admitted[i].Tries + 1
			s.Admitted = slices.Delete(s.Admitted, i, i+1)
		}
		s.Admitted = append(s.Admitted, a)
		t.updating.Add(c.name())
	}
	t.changed = true
	t.look(now.Add(inForce + Settle))
}

// allowed returns the candidates that the step allows to begin, in order. room is how many
// more tenants may have the offer, beside those that rollout.first selects.
func (t *tenants) allowed(u rules, offer string, room int) []candidate {
	candidates := t.ready
	if t.first.N > 0 || room == 0 {
		candidates = slices.DeleteFunc(candidates, func(c candidate) bool { return !c.selected })
	}
	for i := range candidates {
		candidates[i].position = position(candidates[i].Tenant, offer)
	}
	order := func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.position, b.position), cmp.Compare(a.Tenant, b.Tenant))
	}
	slices.SortFunc(candidates, order)
	for i, c := range candidates {
		if c.rank != rankBroken {
			continue
		}
		if t.mended[c.customer()]++; t.mended[c.customer()] > u.degraded {
			candidates[i].rank = rankOf(c.Record, false, false, false)
		}
	}
	slices.SortFunc(candidates, order)
	return slices.DeleteFunc(candidates, func(c candidate) bool {
		if c.selected {
			return false
		}
		room--
		return room < 0
	})
}

// position returns the position of a tenant in the order of an offer. With 64 bits, two
// tenants hardly ever have the same.
func position(tenant, offer string) uint64 {
	sum := sha256.Sum256([]byte(offer + "/" + tenant))
	return binary.BigEndian.Uint64(sum[:])
}
