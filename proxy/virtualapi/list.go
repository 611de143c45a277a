package virtualapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// listItems is how many items of a list are read, and listBytes how much of it: a list with more is an error, since what is cut off can't be
// read.
const (
	listItems = "10"
	listBytes = 512 << 10
)

// Pods returns the first ten pods in a namespace with these labels.
func (c *Client) Pods(ctx context.Context, namespace, labelSelector string) ([]corev1.Pod, error) {
	pods := corev1.PodList{}
	err := c.list(ctx, namespace, "pods", url.Values{"labelSelector": {labelSelector}}, &pods)
	return pods.Items, err
}

// Events returns the first ten events in a namespace with these fields.
func (c *Client) Events(ctx context.Context, namespace, fieldSelector string) ([]corev1.Event, error) {
	events := corev1.EventList{}
	err := c.list(ctx, namespace, "events", url.Values{"fieldSelector": {fieldSelector}}, &events)
	return events.Items, err
}

// list reads the first items of a list of the core group in a namespace.
func (c *Client) list(ctx context.Context, namespace, plural string, query url.Values, into any) error {
	query.Set("limit", listItems)
	uri := "/api/v1/namespaces/" + namespace + "/" + plural + "?" + query.Encode()
	return c.Fetch(ctx, uri, Bounds{Bytes: listBytes, Values: c.Limits.Values}, func(status int, body []byte) error {
		if status != http.StatusOK {
			return fmt.Errorf("it answers for %s with status %d", plural, status)
		}
		return json.Unmarshal(body, into)
	})
}

// IsReady reports whether a pod is ready.
func IsReady(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
