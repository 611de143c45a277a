package story

import (
	"slices"
	"strings"
	"testing"
)

func TestHold(t *testing.T) {
	pending, installing, ready, degraded := State{Phase: "Pending"}, State{Phase: "Provisioning"}, State{Phase: "Ready"}, State{Phase: "Degraded"}
	defer func(was []station) { way = was }(way)
	// Conditions of each station.
	pending.Synced, installing.Synced, ready.Ready, degraded.Ready = "Pending", "Installing", "True", "False"
	half, foreign := State{Phase: "Degraded", Ready: "True"}, State{Phase: "Degraded", Ready: "Unknown"}
	way = []station{{pending, true}, {installing, false}, {ready, false}, {degraded, false}, {ready, false}, {State{}, true}}
	for name, c := range map[string]struct {
		seen []State
		want string
	}{
		"Whole":           {[]State{pending, installing, ready, degraded, ready, {}}, ""},
		"PassingUnseen":   {[]State{installing, ready, degraded, ready}, ""},
		"Restored":        {[]State{pending, installing, pending, installing, ready, degraded, ready}, ""},
		"RestoredAndOn":   {[]State{pending, installing, pending, ready, degraded, ready}, ""},
		"RestoredTwice":   {[]State{installing, ready, degraded, ready, degraded, ready, degraded, ready}, "comes nowhere"},
		"Half":            {[]State{installing, ready, half, degraded, ready}, ""},
		"HalfAtTheEnd":    {[]State{installing, ready, degraded, ready, half}, ""},
		"HalfForever":     {[]State{installing, ready, half, ready}, "was not seen as\nDegraded"},
		"ForeignHalf":     {[]State{installing, ready, foreign, degraded, ready}, "was not seen as\nDegraded"},
		"Missing":         {[]State{pending, ready, degraded, ready}, "was not seen as\nProvisioning"},
		"MissingAtTheEnd": {[]State{pending, installing, ready, degraded}, "was never seen as\nReady"},
		"Foreign":         {[]State{installing, ready, degraded, ready, {Phase: "Updating"}}, "comes nowhere"},
		"Backwards":       {[]State{installing, pending, ready, degraded, ready}, "was not seen as\nReady"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Hold(c.seen)
			if got := ""; err != nil {
				got = strings.Join(strings.Fields(err.Error()), " ")
				if c.want == "" || !strings.Contains(got, strings.Join(strings.Fields(c.want), " ")) {
					t.Errorf("%s; want %q", got, c.want)
				}
			} else if c.want != "" {
				t.Errorf("no error, want %q", c.want)
			}
		})
	}
}

// TestWay: a claim may miss all stations that are passing, and none of the others.
func TestWay(t *testing.T) {
	var all, lasting []State
	for _, s := range way {
		all = append(all, s.State)
		if !s.passing {
			lasting = append(lasting, s.State)
		}
	}
	for _, seen := range [][]State{all, lasting} {
		if err := Hold(seen); err != nil {
			t.Error(err)
		}
	}
	for i, s := range lasting {
		if err := Hold(slices.Delete(slices.Clone(lasting), i, i+1)); err == nil {
			t.Errorf("no error without number %d of the stations that aren't passing:\n%s", i+1, s)
		}
	}
}
