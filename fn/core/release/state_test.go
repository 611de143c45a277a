package release

import (
	"testing"

	"github.com/crossplane/function-sdk-go/resource"

	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

func TestStateOf(t *testing.T) {
	const seen, unseen = `"metadata": {"generation": 2}, "status": {"conditions": [{"type": "Synced", "status": "True", "observedGeneration": 2}]`,
		`"metadata": {"generation": 3}, "status": {"conditions": [{"type": "Synced", "status": "True", "observedGeneration": 2}]`
	state := func(of, helms string) string {
		return `{"kind": "Release", ` + of + `, "atProvider": {"state": "` + helms + `"}}}`
	}
	conditions := func(synced, ready string) string {
		return `{"kind": "Release", "status": {"conditions": [{"type": "Synced", "status": "` + synced + `"}, {"type": "Ready", "status": "` + ready + `"}], "atProvider": {"state": "deployed"}}}`
	}
	for name, tc := range map[string]struct {
		release string
		want    State
	}{
		"Absent":             {"", Absent},
		"New":                {`{"kind": "Release"}`, Installing},
		"Installing":         {state(seen, ""), Installing},
		"FailedBefore":       {state(unseen, "failed"), Outdated},
		"CutShort":           {state(seen, "pending-install"), CutShort},
		"CutShortUpgrade":    {state(unseen, "pending-upgrade"), CutShort},
		"Failed":             {state(seen, "failed"), Failed},
		"Changing":           {state(unseen, "deployed"), Changing},
		"Deployed":           {state(seen, "deployed"), Deployed},
		"UpgradedNotReady":   {conditions("True", "False"), Deployed},
		"CannotObserve":      {conditions("False", "True"), Unready},
		"NothingSaid":        {conditions("Unknown", "False"), Unready},
		"ReadyNotSynced":     {conditions("Unknown", "True"), Deployed},
		"NoGenerationIsSeen": {conditions("True", "True"), Deployed},
	} {
		t.Run(name, func(t *testing.T) {
			c := wire.Composed{}
			if tc.release != "" {
				c.Struct = wire.Of(resource.MustStructJSON(tc.release))
			}
			if got := StateOf(c); got != tc.want {
				t.Errorf("want %d, got %d", tc.want, got)
			}
		})
	}
}
