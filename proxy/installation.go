package proxy

import (
	"encoding/json"
	"regexp"
)

// Keys of a summary's data about the installation that the workloads belong to. A key is absent where nothing is missing, or nothing is known.
const (
	// SummaryMissing has what is missing of the chart, and SummaryApplications how many Applications there are, as JSON.
	SummaryMissing      = "missing"
	SummaryApplications = "applications"
)

// Missing are objects of a chart that somebody has deleted.
type Missing struct {
	// Revision of the Helm release that they belong to. A later one may have no such objects.
	Revision int64 `json:"revision"`
	// Objects in the form "KIND NAME", sorted; the first MaxMissing of them.
	Objects []string `json:"objects"`
}

// MaxMissing is how many objects are named.
const MaxMissing = 10

// MaxApplications is more than what a poll counts.
const MaxApplications = 1_000_000

// Applications are how many an Argo CD has.
type Applications struct {
	Total int64 `json:"total"`
	// NotHealthy have another health than Healthy, and NotSynced another sync status than Synced.
	NotHealthy int64 `json:"notHealthy"`
	NotSynced  int64 `json:"notSynced"`
}

// missingObjects matches what Missing has of an object.
var missingObjects = regexp.MustCompile(`^[A-Za-z]{1,40} [a-zA-Z0-9]([-a-zA-Z0-9.:]{0,251}[a-zA-Z0-9])?$`)

// IsMissingObject reports whether a text has the form of an object in Missing.
func IsMissingObject(text string) bool { return missingObjects.MatchString(text) }

// ReadMissing returns what the text at SummaryMissing says; nil for nothing.
func ReadMissing(text string) *Missing {
	out := &Missing{}
	if json.Unmarshal([]byte(text), out) != nil || len(out.Objects) == 0 || len(out.Objects) > MaxMissing {
		return nil
	}
	for _, o := range out.Objects {
		if !IsMissingObject(o) {
			return nil
		}
	}
	return out
}

// ReadApplications returns what the text at SummaryApplications says; nil for nothing.
func ReadApplications(text string) *Applications {
	out := &Applications{}
	if json.Unmarshal([]byte(text), out) != nil || out.NotHealthy < 0 || out.NotHealthy > out.Total || out.NotSynced < 0 || out.NotSynced > out.Total || out.Total > MaxApplications {
		return nil
	}
	return out
}

// AddTo adds what is known to the data of a summary; nil for nothing.
func AddTo(data map[string]string, missing *Missing, applications *Applications) {
	// Strings and numbers can always be encoded.
	if missing != nil && len(missing.Objects) > 0 {
		raw, _ := json.Marshal(missing)
		data[SummaryMissing] = string(raw)
	}
	if applications != nil {
		raw, _ := json.Marshal(applications)
		data[SummaryApplications] = string(raw)
	}
}
