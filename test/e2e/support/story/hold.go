package story

import (
	"fmt"
	"strings"
)

// A station is a state on a tenant's way.
type station struct {
	State

	// passing: it may be so short that nobody sees it.
	passing bool
}

// Hold holds the states that a claim was seen in against the way that all take. Each state must be a station of it, in
// the same order, and only those stations may be missing that are passing.
func Hold(seen []State) error {
	at := 0
	for _, s := range seen {
		from := at
		for at < len(way) && way[at].State != s {
			if !way[at].passing {
				return fmt.Errorf("the claim was not seen as\n%s\nbut as\n%s\n\nIt was seen as\n%s", way[at].State, s, lines(seen))
			}
			at++
		}
		if at == len(way) {
			return fmt.Errorf("the claim was seen as\n%s\nwhich comes nowhere after station %d\n\nIt was seen as\n%s", s, from, lines(seen))
		}
		at++
	}
	for _, left := range way[at:] {
		if !left.passing {
			return fmt.Errorf("the claim was never seen as\n%s\n\nIt was seen as\n%s", left.State, lines(seen))
		}
	}
	return nil
}

func lines(states []State) string {
	out := make([]string, 0, len(states))
	for _, s := range states {
		out = append(out, s.String())
	}
	return strings.Join(out, "\n")
}
