package plan

import "fmt"

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
	// mutatingSince is the first one with MutatingAdmissionPolicies for all.
	mutatingSince = 36
)

// requestsPolicy gives containers of the virtual cluster that name neither requests
// nor limits a request, that of DefaultRequests.
const requestsPolicy = `apiVersion: admissionregistration.k8s.io/%[1]s
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
          .map(c, Object.spec.containers{name: c.name, resources: Object.spec.containers.resources{requests: {"cpu": "10m"}}})}}
---
apiVersion: admissionregistration.k8s.io/%[1]s
kind: MutatingAdmissionPolicyBinding
metadata:
  name: virtual-argocd-requests
spec:
  policyName: virtual-argocd-requests
`

// requests are the values that keep Argo CD from that panic.
func requests(kubernetes string) Values {
	v := parse(kubernetes)
	minor := v.Minor()
	manifests := func(version string) Values {
		return Values{"experimental": Values{"deploy": Values{"vcluster": Values{"manifests": fmt.Sprintf(requestsPolicy, version)}}}}
	}
	arguments := func(list ...any) Values {
		return Values{"controlPlane": Values{"distro": Values{"k8s": Values{"apiServer": Values{"extraArgs": list}}}}}
	}
	switch {
	case minor < resizeSince:
		return Values{}
	case minor < resizeLocked:
		return arguments("--feature-gates=InPlacePodVerticalScaling=false")
	case minor < mutatingSince:
		return Merge(manifests("v1beta1"), arguments("--feature-gates=MutatingAdmissionPolicy=true", "--runtime-config=admissionregistration.k8s.io/v1beta1=true"))
	}
	return manifests("v1")
}
