package connections

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/proxy"
)

const (
	// maxErrors is how many Applications are read for their errors, and maxConditions how many conditions of each. Argo CD has one of each
	// type.
	maxErrors     = 12
	maxConditions = 10
	// firstApplications is how many Applications are read for their further sources.
	firstApplications = "40"
)

// What begins the messages of an Application's conditions.
const (
	ofTarget = "Failed to load target state: "
	ofLive   = "Failed to load live state: "
)

var (
	// ofSource precedes the error of one of an Application's sources.
	ofSource = regexp.MustCompile(`^failed to generate manifest for source (\d+) of \d+: `)
	rpcError = regexp.MustCompile(`^rpc error: code = \w+ desc = `)
	// wasRead are words of errors that come once Argo CD has read the repository, whatever else they say.
	wasRead = regexp.MustCompile(`(?i)app path does not exist|app path is|to a commit SHA|manifest generation error|error unmarshal|failed to unmarshal|helm template|error converting YAML|reference not found`)
	// unreached are words of errors of Git, Helm and OCI clients that couldn't connect, or weren't let in.
	unreached = regexp.MustCompile(`(?i)authenti|authoriz|unauthori[sz]ed|forbidden|permission denied|access denied|credential|could not read|repository not found|unable to connect|not a valid chart repository|` +
		`failed to list refs|failed to initialize repository|dial tcp|no such host|connection re(fused|set)|no route to host|network is unreachable|i/o timeout|timed out|x509:|tls:|certificate|knownhosts|ssh: |handshake|\b40[13]\b|\b50[0-9]\b`)
	// further are words of errors that are about something else than the Application's own repository, such as a dependency of its chart.
	further = regexp.MustCompile("(?i)helm dependency|kustomize build|plugin sidecar")
)

// An appName is that of an Application that Argo CD can't compare.
type appName struct{ namespace, name string }

// An app is what is read of an Application, or of one in a list.
type app struct {
	Spec struct {
		Source  appSource   `json:"source"`
		Sources []appSource `json:"sources"`
	} `json:"spec"`
	Status struct {
		Sync struct {
			Status string `json:"status"`
		} `json:"sync"`
		Conditions []struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"conditions"`
	} `json:"status"`
}

type appSource struct {
	RepoURL string `json:"repoURL"`
}

var errStatus = errors.New("the status isn't OK")

// get reads an Application, or their list.
func (p *poll) get(ctx context.Context, uri string, into any) error {
	return p.client.Fetch(ctx, uri, p.client.Ordinary(), func(status int, body []byte) error {
		if status != http.StatusOK {
			return errStatus
		}
		return json.Unmarshal(body, into)
	})
}

// applicationsIn returns the path of the Applications in a namespace.
func applicationsIn(namespace string) string {
	return "/apis/argoproj.io/v1alpha1/namespaces/" + namespace + "/applications"
}

// readSources finds repositories in the further sources of Applications, of which metrics have the first alone. It reads the first
// Applications only.
func (p *poll) readSources(ctx context.Context) {
	missing := func(k proxy.ConnectionKey) bool { _, ok := p.found[k]; return p.asked[k] && !ok }
	some := false
	for k := range p.asked {
		some = some || k.IsRepository() && missing(k)
	}
	list := struct {
		Items []app `json:"items"`
	}{}
	if !some || p.get(ctx, applicationsIn(p.namespace)+"?limit="+firstApplications, &list) != nil {
		return
	}
	for _, a := range list.Items {
		if status := a.Status.Sync.Status; len(a.Spec.Sources) < 2 || status != "Synced" && status != "OutOfSync" {
			continue
		}
		for _, source := range a.Spec.Sources {
			if k := proxy.RepositoryKey(source.RepoURL); missing(k) {
				p.set(k, true, "")
			}
		}
	}
}

// readError reads why an Application can't be compared, which says whether its repository or its cluster can't be reached.
func (p *poll) readError(ctx context.Context, k proxy.ConnectionKey, of appName) {
	a := app{}
	if p.get(ctx, applicationsIn(of.namespace)+"/"+of.name, &a) != nil {
		return
	}
	for i, c := range a.Status.Conditions {
		if i == maxConditions {
			return
		}
		if len(c.Message) > maxMessage {
			c.Message = c.Message[:maxMessage]
		}
		if message, ok := strings.CutPrefix(c.Message, ofTarget); ok {
			p.setSource(a, message)
		}
		if message, ok := strings.CutPrefix(c.Message, ofLive); ok && k.IsCluster() {
			if is, ok := p.found[k]; ok && !is.Connected {
				p.set(k, false, message)
			}
		}
	}
}

// setSource sets what the error of an Application says of the repository of its source.
func (p *poll) setSource(a app, message string) {
	sources, at := a.Spec.Sources, 0
	if len(sources) == 0 {
		sources = []appSource{a.Spec.Source}
	}
	if match := ofSource.FindStringSubmatch(message); match != nil {
		n, _ := strconv.Atoi(match[1])
		message, at = strings.TrimPrefix(message, match[0]), n-1
	}
	if at < 0 || at >= len(sources) {
		return
	}
	message = rpcError.ReplaceAllString(message, "")
	k := proxy.RepositoryKey(sources[at].RepoURL)
	switch {
	case !p.asked[k] || further.MatchString(message):
	case wasRead.MatchString(message):
		p.set(k, true, "")
	case unreached.MatchString(message):
		p.set(k, false, message)
	}
	// Other errors, such as that Argo CD's own repository server is away, say nothing of the repository.
}
