package vcluster

import (
	"fmt"
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/versions"
)

// Argo CD's application controller ends with a panic when it sees a pod with a
// container that requests nothing, while its status says that it has something
// (kubernetes/kubernetes#136534, in kubectl's code up to 1.35). In a virtual cluster
// each such pod is one: the host's LimitRange gives it requests, and vcluster brings
// the host's status back.
const (
	// resizeSince is the first minor version of Kubernetes 1.x whose API server keeps
	// a container's resources in the status, and resizeLocked the first that can't be
	// told not to.
	resizeSince, resizeLocked = 33, 35
)

// requestsPolicy gives containers of the virtual cluster that name neither requests
// nor limits a request, that of DefaultRequests. It is of one API version in all of
// Kubernetes 1.35 to 1.39: vcluster deletes what it has applied in another one, and
// its control plane ends where the API server doesn't serve that any more.
const podRequestsPolicy = `apiVersion: admissionregistration.k8s.io/v1beta1
kind: MutatingAdmissionPolicy
metadata:
  name: virtual-argocd-requests
spec:
  failurePolicy: Ignore
  reinvocationPolicy: IfNeeded
  matchConstraints:
    resourceRules:
      - apiGroups: [""]
        apiVersions: [v1]
        operations: [CREATE]
        resources: [pods]
  matchConditions:
    - name: requests-nothing
      expression: 'object.spec.containers.exists(c, !has(c.resources) || !has(c.resources.requests))'
  mutations:
    - patchType: ApplyConfiguration
      applyConfiguration:
        expression: >-
          Object{spec: Object.spec{containers: object.spec.containers
          .filter(c, !has(c.resources) || !has(c.resources.requests))
          .map(c, Object.spec.containers{name: c.name, resources: Object.spec.containers.resources{requests: {"cpu": "%s"}}})}}
---
apiVersion: admissionregistration.k8s.io/v1beta1
kind: MutatingAdmissionPolicyBinding
metadata:
  name: virtual-argocd-requests
spec:
  policyName: virtual-argocd-requests
`

// Values of the vcluster chart that the platform's input may set, too.
var (
	pathOfManifests = []string{"experimental", "deploy", "vcluster", "manifests"}
	pathOfArguments = []string{"controlPlane", "distro", "k8s", "apiServer", "extraArgs"}
)

// podRequests are the values that keep Argo CD from that panic, after what the
// platform's values have in the same place.
func podRequests(kubernetes string, platforms values.Values) (values.Values, error) {
	arguments, policy := podRequestsIn(versions.Parse(kubernetes).Minor())
	out := values.Values{}
	if policy {
		at, _ := values.Lookup(platforms, pathOfManifests...)
		before, ok := at.(string)
		if at != nil && !ok {
			return nil, fmt.Errorf("input.charts.vcluster.values.%s: is not text: write manifests in YAML, as in a file", strings.Join(pathOfManifests, "."))
		}
		if before != "" {
			before += "\n---\n"
		}
		values.Insert(out, before+fmt.Sprintf(podRequestsPolicy, host.DefaultRequests()["cpu"]), pathOfManifests...)
	}
	if len(arguments) > 0 {
		before, err := platformsList(platforms, pathOfArguments, "[--event-ttl=30m]")
		if err != nil {
			return nil, err
		}
		values.Insert(out, slices.Concat(before, arguments), pathOfArguments...)
	}
	return out, nil
}

// platformsList is a list in the platform's values, to which the function adds.
func platformsList(platforms values.Values, path []string, example string) ([]any, error) {
	at, _ := values.Lookup(platforms, path...)
	list, ok := at.([]any)
	if at != nil && !ok {
		return nil, fmt.Errorf("input.charts.vcluster.values.%s: is not a list: write one such as %s", strings.Join(path, "."), example)
	}
	return list, nil
}

// podRequestsIn are the arguments of the API server that it takes in a minor version of
// Kubernetes 1.x, and whether it takes the policy.
func podRequestsIn(minor uint64) (arguments []any, policy bool) {
	switch {
	case minor < resizeSince:
		return nil, false
	case minor < resizeLocked:
		return []any{"--feature-gates=InPlacePodVerticalScaling=false"}, false
	}
	return []any{"--feature-gates=MutatingAdmissionPolicy=true", "--runtime-config=admissionregistration.k8s.io/v1beta1=true"}, true
}
