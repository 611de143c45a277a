package proxy

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// SummaryPrefix begins the names of the ConfigMaps with summaries of workloads, which exist in the proxy alone. No real object can have such
// a name, so none of a tenant's is hidden by one.
const SummaryPrefix = "virtual-argocd-workloads:"

// ComponentsPrefix begins the names of those with summaries of the workloads of components, which are in several namespaces.
const ComponentsPrefix = "virtual-argocd-components:"

// maxWorkloads is how many workloads a summary may have, and maxComponentWorkloads how many one of components: four of each of sixteen.
const (
	maxWorkloads          = 20
	maxComponentWorkloads = 64
)

// Keys of a summary's data.
const (
	// SummaryWorkloads has the list of workloads, as JSON.
	SummaryWorkloads = "workloads"
	// SummaryUnavailable has the names of those that aren't available, and SummaryStopped of those that are to have no replicas, with commas
	// between; for queries, which read no JSON.
	SummaryUnavailable = "unavailable"
	SummaryStopped     = "stopped"
)

// A Workload is what a summary says of a Deployment or a StatefulSet.
type Workload struct {
	// Kind is Deployment or StatefulSet.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Namespace of the workload of a component; "" for that of the ConfigMap.
	Namespace string `json:"namespace,omitempty"`
	// UID of the workload: one that was deleted and created again has another.
	UID string `json:"uid,omitempty"`
	// Missing: there is none of that name.
	Missing bool `json:"missing,omitempty"`
	// Replicas that are wanted.
	Replicas int32 `json:"replicas"`
	// Available: as many current replicas are available as are wanted.
	Available bool `json:"available"`
	// Why one of its pods doesn't run, in the words of the scheduler or the kubelet; "" where they say nothing, and for a workload that is
	// new, or is available without replicas from before a change.
	Why string `json:"why,omitempty"`
	// Images of its containers by the containers' names.
	Images map[string]string `json:"images,omitempty"`
}

func (w Workload) key() string {
	if w.Namespace != "" {
		return strings.ToLower(w.Kind) + "." + w.Namespace + "." + w.Name
	}
	return strings.ToLower(w.Kind) + "." + w.Name
}

// Same reports whether it is the workload of that kind, namespace and name.
func (w Workload) Same(other Workload) bool { return w.key() == other.key() }

// keys of workloads, with commas between.
func keys(workloads []Workload) string {
	out := make([]string, 0, len(workloads))
	for _, w := range workloads {
		out = append(out, w.key())
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

// SummaryName is the name of the ConfigMap that the proxy answers a GET with, in any namespace of a virtual cluster: a summary of the
// workloads there of these kinds and names.
//
// An Object of provider-kubernetes 1.2.1 observes one object, and none in a virtual cluster says of all workloads whether they are available,
// or why a pod doesn't start (see Why). So the name has the query. One Object for each workload, as an ObservedObjectCollection makes them,
// would be ten times the Objects, each with a write to the host at every change and every --poll interval, and would still lack the reasons.
// Upstream, an Object that observes a list by a selector, with the fields that are copied to its status, would replace it.
func SummaryName(workloads []Workload) string { return SummaryPrefix + keys(workloads) }

// ComponentsName is the name of a summary of workloads that have their own namespaces.
func ComponentsName(workloads []Workload) string { return ComponentsPrefix + keys(workloads) }

var (
	workloadKey = regexp.MustCompile(`^(deployment|statefulset)\.([a-z0-9.-]+)$`)
	// A namespace has no dots.
	componentKey = regexp.MustCompile(`^(deployment|statefulset)\.([a-z0-9-]+)\.([a-z0-9.-]+)$`)
	kinds        = map[string]string{"deployment": "Deployment", "statefulset": "StatefulSet"}
)

// ReadSummaryName returns the kinds, namespaces and names of the workloads in the name of a summary.
func ReadSummaryName(name string) ([]Workload, error) {
	text, ofComponents := strings.CutPrefix(name, ComponentsPrefix)
	list, most, form := strings.Split(strings.TrimPrefix(text, SummaryPrefix), ","), maxWorkloads, "deployment.NAME or statefulset.NAME"
	if ofComponents {
		most, form = maxComponentWorkloads, "deployment.NAMESPACE.NAME or statefulset.NAMESPACE.NAME"
	}
	if len(list) > most {
		return nil, fmt.Errorf("a summary has at most %d workloads", most)
	}
	out := make([]Workload, 0, len(list))
	for _, key := range list {
		w, ok := readKey(key, ofComponents)
		if !ok {
			return nil, fmt.Errorf("a summary has workloads named as %s, not %s", form, key)
		}
		out = append(out, w)
	}
	return out, nil
}

func readKey(key string, ofComponent bool) (Workload, bool) {
	if ofComponent {
		match := componentKey.FindStringSubmatch(key)
		if match == nil {
			return Workload{}, false
		}
		return Workload{Kind: kinds[match[1]], Namespace: match[2], Name: match[3]}, true
	}
	match := workloadKey.FindStringSubmatch(key)
	if match == nil {
		return Workload{}, false
	}
	return Workload{Kind: kinds[match[1]], Name: match[2]}, true
}

// Stopped is the value of SummaryStopped.
func Stopped(workloads []Workload) string {
	return keys(slices.DeleteFunc(slices.Clone(workloads), func(w Workload) bool { return w.Missing || w.Replicas > 0 }))
}

// Summary is the data of the ConfigMap with these workloads.
func Summary(workloads []Workload) (map[string]string, error) {
	list, err := json.Marshal(workloads)
	return map[string]string{
		SummaryWorkloads:   string(list),
		SummaryUnavailable: keys(slices.DeleteFunc(slices.Clone(workloads), func(w Workload) bool { return w.Available })),
		SummaryStopped:     Stopped(workloads),
	}, err
}

// ReadSummary returns the workloads in the text at SummaryWorkloads of a summary; nil if that isn't such a list.
func ReadSummary(text string) []Workload {
	var out []Workload
	if json.Unmarshal([]byte(text), &out) != nil {
		return nil
	}
	return out
}
