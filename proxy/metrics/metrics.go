// Package metrics reads the metrics of Argo CD's application controllers, line by line and without keeping them: a tenant may have any number
// of Applications and clusters, and may answer with anything.
package metrics //nolint:revive // The standard library's is runtime/metrics, which nothing here imports.

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

// Controller is the component whose pods have the metrics.
const Controller = "argocd-application-controller"

// Apps begins the lines with the repository, the destination, the health and the sync status of each Application (Argo CD 3.0 to 3.6).
const Apps = "argocd_app_info{"

const (
	maxLine = 8 << 10
	// maxLabels is how many labels of a line are read: Argo CD's metrics have a dozen, and a line of a tenant's own has room for a thousand.
	maxLabels = 64
)

// Lines calls f for each line of the metrics of an application controller, up to that many bytes, until it returns false. It returns how many
// bytes it has read, and reports false if the controller didn't answer with metrics.
func Lines(ctx context.Context, c *virtualapi.Client, namespace, pod string, most int64, f func(line string) bool) (read int64, ok bool) {
	response, err := c.GetFromPod(ctx, namespace, pod, "8082", "/metrics")
	if err != nil {
		return 0, false
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Encoding") != "" {
		return 0, false
	}
	scan := bufio.NewScanner(io.LimitReader(response.Body, most))
	scan.Buffer(make([]byte, maxLine), maxLine)
	for scan.Scan() {
		read += int64(len(scan.Bytes())) + 1
		if !f(scan.Text()) {
			return read, true
		}
	}
	return read, scan.Err() == nil
}

var (
	// ofLine has the labels and the value in a line.
	ofLine   = regexp.MustCompile(`^[a-z_]+\{(.*)\} ([0-9.e+]+)`)
	ofLabel  = regexp.MustCompile(`([a-zA-Z0-9_]+)="((?:[^"\\]|\\.)*)"`)
	unescape = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, " ")
)

// Read returns the labels and the value in a line of metrics.
func Read(line string) (labels map[string]string, value float64, ok bool) {
	match := ofLine.FindStringSubmatch(line)
	if match == nil {
		return nil, 0, false
	}
	value, err := strconv.ParseFloat(match[2], 64)
	labels = map[string]string{}
	for _, l := range ofLabel.FindAllStringSubmatch(match[1], maxLabels) {
		labels[l[1]] = unescape.Replace(l[2])
	}
	return labels, value, err == nil
}
