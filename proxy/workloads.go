package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/internal/podtrouble"
)

// summaryPrefix begins the names of the ConfigMaps that the proxy makes up. No real object
// can have such a name, so nothing of a tenant's is hidden by one.
const summaryPrefix = "virtual-argocd-workloads:"

// maxWorkloads is how many workloads a summary may have.
const maxWorkloads = 20

// Keys of a summary's data.
const (
	// SummaryWorkloads has the list of workloads, as JSON.
	SummaryWorkloads = "workloads"
	// SummaryUnavailable has the names of those that aren't available, and SummaryStopped of
	// those that are to have no replicas, with commas between; for queries, which read no
	// JSON.
	SummaryUnavailable = "unavailable"
	SummaryStopped     = "stopped"
)

// startsWithin is how long a new workload has before the proxy looks at its pods, and
// explainWithin how long that may take for all of a summary.
const (
	startsWithin  = 15 * time.Second
	explainWithin = 5 * time.Second
	// readyWithin is how long a pod on a node has before the proxy looks at its events: while it
	// starts, there may be warnings that mean nothing. recent is how old such an event may be.
	readyWithin = 2 * time.Minute
	recent      = 5 * time.Minute
)

// readAtOnce is how many workloads of a summary the proxy reads at the same time. One after another, those of a virtual API server that
// takes two seconds for each would take longer than a request may.
const readAtOnce = 5

// explainedItems is how many pods and events it looks at, and explainedBytes how much of
// such a list: what is cut off can't be read.
const (
	explainedItems = "10"
	explainedBytes = 512 << 10
)

// toldContainers is of how many containers a summary tells the image.
const toldContainers = 8

// A Workload is what a summary tells of a Deployment or a StatefulSet.
type Workload struct {
	// Kind is Deployment or StatefulSet.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// UID of the workload: one that was deleted and created again has another.
	UID string `json:"uid,omitempty"`
	// Missing: there is none of that name.
	Missing bool `json:"missing,omitempty"`
	// Replicas that are wanted.
	Replicas int32 `json:"replicas"`
	// Available: as many current replicas are available as are wanted.
	Available bool `json:"available"`
	// Why one of its pods doesn't run, in the words of the scheduler or the kubelet; ""
	// where they say nothing, and for a workload that is new, or is available without replicas
	// from before a change.
	Why string `json:"why,omitempty"`
	// Images of its containers by the containers' names.
	Images map[string]string `json:"images,omitempty"`
}

func (w Workload) key() string { return strings.ToLower(w.Kind) + "." + w.Name }

// keys of workloads, with commas between.
func keys(workloads []Workload) string {
	out := make([]string, 0, len(workloads))
	for _, w := range workloads {
		out = append(out, w.key())
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

// SummaryName is the name of the ConfigMap that the proxy answers with when it is asked
// for it in a namespace of a virtual cluster: a summary of the workloads there of these
// kinds and names. One object for all is one that a provider has to look at, and to write
// down, instead of ten.
func SummaryName(workloads []Workload) string { return summaryPrefix + keys(workloads) }

// ReadSummaryName returns the kinds and names of the workloads in the name of a summary.
func ReadSummaryName(name string) ([]Workload, error) {
	list := strings.Split(strings.TrimPrefix(name, summaryPrefix), ",")
	if len(list) > maxWorkloads {
		return nil, fmt.Errorf("a summary has at most %d workloads", maxWorkloads)
	}
	out := make([]Workload, 0, len(list))
	for _, key := range list {
		match := asked.FindStringSubmatch(key)
		if match == nil {
			return nil, fmt.Errorf("a summary has workloads named as deployment.NAME or statefulset.NAME, not %s", key)
		}
		out = append(out, Workload{Kind: kinds[match[1]], Name: match[2]})
	}
	return out, nil
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

// ReadSummary returns the workloads in the text at SummaryWorkloads of a summary; nil where that
// isn't such a list.
func ReadSummary(text string) []Workload {
	var out []Workload
	if json.Unmarshal([]byte(text), &out) != nil {
		return nil
	}
	return out
}

var (
	summaries = regexp.MustCompile(`^/api/v1/namespaces/([^/]+)/configmaps/(` + summaryPrefix + `[^/]+)$`)
	asked     = regexp.MustCompile(`^(deployment|statefulset)\.([a-z0-9.-]+)$`)
	kinds     = map[string]string{"deployment": "Deployment", "statefulset": "StatefulSet"}
)

// summarize answers with the summary of that name. provider-kubernetes also asks, in a dry
// run, what applying its manifest would make of the object that it observes: nothing else.
func (p *Proxy) summarize(ctx context.Context, s *server, r *http.Request, namespace, name string) ([]byte, error) {
	out := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	switch {
	case r.Method == http.MethodPatch && r.URL.Query().Get("dryRun") == metav1.DryRunAll:
		return json.Marshal(out)
	case r.Method != http.MethodGet:
		return nil, errors.New("a summary of workloads can't be changed")
	}
	workloads, err := ReadSummaryName(name)
	if err != nil {
		return nil, err
	}
	if out.Data, _, err = p.summary(ctx, s, namespace, workloads); err != nil {
		p.saw(s, workloadSummaries, target{namespace, name}, digest{})
		return nil, err
	}
	p.saw(s, workloadSummaries, target{namespace, name}, digestOf(out.Data))
	return json.Marshal(out)
}

// summary returns the data of the summary of some workloads. settled says that it stays the
// same until one of them changes.
func (p *Proxy) summary(ctx context.Context, s *server, namespace string, workloads []Workload) (data map[string]string, settled bool, err error) {
	summary, found := slices.Clone(workloads), make([]*workload, len(workloads))
	reading, readingCtx := errgroup.WithContext(ctx)
	reading.SetLimit(readAtOnce)
	for i, w := range summary {
		reading.Go(func() (err error) { found[i], err = p.workload(readingCtx, s, namespace, w); return err })
	}
	if err := reading.Wait(); err != nil {
		return nil, false, err
	}
	settled = true
	explaining, cancel := context.WithTimeout(ctx, explainWithin)
	defer cancel()
	for i, is := range found {
		w := &summary[i]
		if w.Missing = is == nil; w.Missing {
			settled = false
			continue
		}
		// While the pods of a change don't start, those from before it may be available.
		if is.describe(w); !w.Available || is.Status.Replicas > is.Status.UpdatedReplicas {
			settled = false
			w.Why = p.why(explaining, s, namespace, is)
		}
	}
	data, err = Summary(summary)
	return data, settled, err
}

// A workload is what Deployments and StatefulSets have in common.
type workload struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Replicas *int32                `json:"replicas"`
		Selector *metav1.LabelSelector `json:"selector"`
		Template struct {
			Spec struct {
				Containers []struct {
					Name  string `json:"name"`
					Image string `json:"image"`
				} `json:"containers"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64                        `json:"observedGeneration"`
		Replicas           int32                        `json:"replicas"`
		UpdatedReplicas    int32                        `json:"updatedReplicas"`
		AvailableReplicas  int32                        `json:"availableReplicas"`
		Conditions         []appsv1.DeploymentCondition `json:"conditions"`
	} `json:"status"`
}

// describe completes what a summary tells of the workload.
func (is *workload) describe(w *Workload) {
	w.UID = podtrouble.Short(string(is.UID))
	w.Replicas = 1
	if is.Spec.Replicas != nil {
		w.Replicas = *is.Spec.Replicas
	}
	w.Available = is.Status.ObservedGeneration > 0 && is.Status.ObservedGeneration >= is.Generation &&
		is.Status.UpdatedReplicas >= w.Replicas && is.Status.AvailableReplicas >= w.Replicas
	w.Images = map[string]string{}
	for i, c := range is.Spec.Template.Spec.Containers {
		if i < toldContainers {
			w.Images[podtrouble.Short(c.Name)] = podtrouble.Short(c.Image)
		}
	}
}

// workloadsPath returns the path of all workloads of a kind in a namespace.
func workloadsPath(namespace, kind string) string {
	return "/apis/apps/v1/namespaces/" + namespace + "/" + strings.ToLower(kind) + "s"
}

// workload asks for one, within the proxy's limits; nil when there is none.
func (p *Proxy) workload(ctx context.Context, s *server, namespace string, w Workload) (*workload, error) {
	path := workloadsPath(namespace, w.Kind) + "/" + w.Name
	answer, err := get(ctx, s, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, release, err := p.read(ctx, s, answer, path)
	defer release()
	switch {
	case err != nil:
		return nil, err
	case answer.StatusCode == http.StatusNotFound:
		return nil, nil //nolint:nilnil // There is none, and that is no error.
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it answers for %s %s with status %d: %s", w.Kind, w.Name, answer.StatusCode, podtrouble.Short(string(body)))
	}
	var is workload
	err = p.decode(ctx, func() error { return json.Unmarshal(body, &is) })
	if errors.Is(err, errCrowded) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("it answers for %s %s with something else: %w", w.Kind, w.Name, err)
	}
	return &is, nil
}

// get asks the virtual API server for something itself, and returns an answer of a form
// that may be read. The caller closes it.
func get(ctx context.Context, s *server, uri string) (*http.Response, error) {
	return getAs(ctx, s, uri, mediaJSON)
}

// getAs is like get, for certain media types.
func getAs(ctx context.Context, s *server, uri, accept string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, uri, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", accept)
	answer, err := s.ask(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := checkForm(answer, r.URL.Path); err != nil {
		_ = answer.Body.Close()
		return nil, err
	}
	return answer, nil
}

// why says why a workload isn't available; "" where there is nothing to say.
func (p *Proxy) why(ctx context.Context, s *server, namespace string, is *workload) string {
	if is.Spec.Selector == nil || time.Since(is.CreationTimestamp.Time) < startsWithin {
		return ""
	}
	for _, c := range is.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			return podtrouble.Short(c.Message)
		}
	}
	return p.podsTrouble(ctx, s, "namespaces/"+namespace, is.Spec.Selector)
}

// podsTrouble says what is wrong with one of the pods, the newest first: those of an older
// revision may run.
func (p *Proxy) podsTrouble(ctx context.Context, s *server, namespace string, selector *metav1.LabelSelector) string {
	pods := corev1.PodList{}
	if !p.list(ctx, s, namespace+"/pods", url.Values{"labelSelector": {metav1.FormatLabelSelector(selector)}}, &pods) {
		return ""
	}
	slices.SortStableFunc(pods.Items, func(a, b corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	for _, pod := range pods.Items {
		why := podtrouble.Of(pod)
		switch {
		case why != "" || pod.DeletionTimestamp != nil:
		case pod.Spec.NodeName == "":
			why = p.warning(ctx, s, namespace, pod.Name, time.Time{})
		case time.Since(pod.CreationTimestamp.Time) > readyWithin && !isReady(pod):
			why = p.warning(ctx, s, namespace, pod.Name, time.Now().Add(-recent))
		}
		if why != "" {
			return podtrouble.Short("pod " + pod.Name + ": " + why)
		}
	}
	return ""
}

func isReady(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// warning returns the newest event of type Warning of a pod, "" for none since then: what keeps
// vcluster from bringing it to the host, such as the quota there, or the kubelet from running it,
// such as a volume that can't be mounted or a probe that fails.
func (p *Proxy) warning(ctx context.Context, s *server, namespace, pod string, since time.Time) string {
	events := corev1.EventList{}
	if !p.list(ctx, s, namespace+"/events", url.Values{"fieldSelector": {"type=Warning,involvedObject.kind=Pod,involvedObject.name=" + pod}}, &events) || len(events.Items) == 0 {
		return ""
	}
	at := func(e corev1.Event) time.Time { return cmp.Or(e.LastTimestamp.Time, e.EventTime.Time) }
	newest := slices.MaxFunc(events.Items, func(a, b corev1.Event) int { return at(a).Compare(at(b)) })
	if at(newest).Before(since) {
		return ""
	}
	return podtrouble.Short(newest.Message)
}

// list asks the virtual API server for a list of the core group, within the proxy's
// limits. It reports whether there is one.
func (p *Proxy) list(ctx context.Context, s *server, path string, query url.Values, into any) bool {
	query.Set("limit", explainedItems)
	answer, err := get(ctx, s, "/api/v1/"+path+"?"+query.Encode())
	if err != nil {
		return false
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return false
	}
	body, release, err := p.readAll(ctx, s, answer.Body, explainedBytes)
	defer release()
	if err != nil || count(body).values > p.limits.Values {
		return false
	}
	return p.decode(ctx, func() error { return json.Unmarshal(body, into) }) == nil
}
