package story

import (
	"fmt"
	"slices"
	"strings"
)

// A station is a state on a tenant's way.
type station struct {
	State

	// passing: it may be so short that nobody sees it.
	passing bool
}

// Hold holds the states that a claim was seen in against the way that all take. Each state must be a station of it, in
// the same order, and only those stations may be missing that are passing. After a station, the claim may be seen once as at
// the station before: Crossplane may restore its conditions from before for a moment.
func Hold(seen []State) error {
	at, restored, states := 0, -1, whole(seen)
	for i := 0; i < len(states); i++ {
		s := states[i]
		next := firstOf(s, at)
		switch {
		case next < len(way) && way[next].State == s:
			at = next + 1
		case restored != at && i > 1 && i+1 < len(states) && s == states[i-2]:
			restored = at
			if states[i+1] == states[i-1] {
				i++
			}
		case next < len(way):
			return fmt.Errorf("the claim was not seen as\n%s\nbut as\n%s\n\nIt was seen as\n%s", way[next].State, s, lines(seen))
		default:
			return fmt.Errorf("the claim was seen as\n%s\nwhich comes nowhere after station %d\n\nIt was seen as\n%s", s, at, lines(seen))
		}
	}
	for _, left := range way[at:] {
		if !left.passing {
			return fmt.Errorf("the claim was never seen as\n%s\n\nIt was seen as\n%s", left.State, lines(seen))
		}
	}
	return nil
}

// firstOf returns the first station, from at on, that has a state or isn't passing; the number of stations for none.
func firstOf(s State, at int) int {
	for at < len(way) && way[at].State != s && way[at].passing {
		at++
	}
	return at
}

// whole leaves out states that Crossplane has written by half: it writes the phase first and then the conditions, so that a
// claim may have the phase of one station with the conditions of another, until its conditions follow, or until the claim is gone.
func whole(seen []State) []State {
	known := func(is func(State) bool) bool {
		return slices.ContainsFunc(way, func(w station) bool { return is(w.State) })
	}
	r := recorder{}
	for i, s := range seen {
		conditions := s
		conditions.Phase = ""
		half := (i+1 == len(seen) || seen[i+1].Phase == s.Phase) && !known(func(is State) bool { return is == s }) &&
			known(func(is State) bool { return is.Phase == s.Phase }) &&
			known(func(is State) bool { is.Phase = ""; return is == conditions })
		if !half {
			r.see(s)
		}
	}
	return r.seen
}

func lines(states []State) string {
	out := make([]string, 0, len(states))
	for _, s := range states {
		out = append(out, s.String())
	}
	return strings.Join(out, "\n")
}
