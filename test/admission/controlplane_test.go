package admission

import (
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/admission"
)

const (
	imageOfVCluster   = "ghcr.io/loft-sh/vcluster-oss:0.36.1"
	imageOfKubernetes = "ghcr.io/loft-sh/kubernetes:v1.35.4"
	imageOfEtcd       = "registry.k8s.io/etcd:3.6.4-0"
)

// TestControlPlaneAgainstItself: who steers the virtual cluster's program does not get past it.
func TestControlPlaneAgainstItself(t *testing.T) { ask(t, againstItself()) }

func againstItself() map[string]verdict {
	const (
		set     = `{spec: {replicas: 1, serviceName: vcluster-headless, template: {metadata: {labels: {app: vcluster}, annotations: {vClusterConfigHash: a}}, spec: {containers: [{name: syncer, image: i}]}}}}`
		alone   = "changes nothing of a workload of the host"
		helm    = `{metadata: {labels: {owner: helm, name: vcluster}}, type: helm.sh/release.v1}`
		service = `{spec: {selector: {app: vcluster, release: vcluster}}}`
	)
	change := func(resource, name, old, object string) request {
		return request{by: syncer, resource: resource, namespace: "vargo-a", name: name, old: old, object: object}
	}
	workload := func(from, to string) request {
		return change("apps/statefulsets", "vcluster", set, strings.Replace(set, from, to, 1))
	}
	remove := func(resource, name, old string) request {
		return request{by: syncer, operation: admission.Delete, resource: resource, namespace: "vargo-a", name: name, old: old}
	}
	enter := func(resource, name string) request {
		return request{by: syncer, operation: admission.Connect, resource: resource, namespace: "vargo-a", name: name, object: `{}`}
	}
	made := change("apps/deployments", "x", "", set)
	made.operation = admission.Create
	byHost := workload("replicas: 1", "replicas: 2")
	byHost.by = "system:serviceaccount:kube-system:x"
	return map[string]verdict{
		"Restart":              {workload("vClusterConfigHash: a", `vClusterConfigHash: a, vcluster.loft.sh/cert-rotation-at: "2026-01-01T00:00:00Z"`), ""},
		"RestartOfDeployment":  {change("apps/deployments", "vcluster", set, strings.Replace(set, "vClusterConfigHash: a", `vClusterConfigHash: a, vcluster.loft.sh/cert-rotation-at: "1"`, 1)), ""},
		"FirstAnnotation":      {change("apps/statefulsets", "vcluster-etcd", `{spec: {template: {metadata: {labels: {app: e}}}}}`, `{spec: {template: {metadata: {labels: {app: e}, annotations: {vcluster.loft.sh/cert-rotation-at: "1"}}}}}`), ""},
		"OddTime":              {workload("vClusterConfigHash: a", `vClusterConfigHash: a, vcluster.loft.sh/cert-rotation-at: "a b"`), alone},
		"OtherAnnotation":      {workload("vClusterConfigHash: a", "vClusterConfigHash: b"), alone},
		"AnnotationTakenAway":  {workload("vClusterConfigHash: a", ""), alone},
		"LabelOfTemplate":      {workload("app: vcluster", "app: x"), alone},
		"Image":                {workload("image: i", "image: j"), alone},
		"Replicas":             {workload("replicas: 1", "replicas: 9"), alone},
		"FieldTakenAway":       {workload("serviceName: vcluster-headless, ", ""), alone},
		"ReplicaSet":           {change("apps/replicasets", "x", set, strings.Replace(set, "image: i", "image: j", 1)), alone},
		"Scale":                {change("apps/statefulsets/scale", "vcluster", `{spec: {replicas: 1}}`, `{spec: {replicas: 9}}`), alone},
		"MetadataOfWorkload":   {change("apps/statefulsets", "vcluster", set, strings.Replace(set, "{spec", "{metadata: {labels: {app: x}}, spec", 1)), ""},
		"NewWorkload":          {made, "makes and removes no workloads"},
		"WorkloadRemoved":      {remove("apps/statefulsets", "vcluster", set), "makes and removes no workloads"},
		"ByTheHost":            {byHost, ""},
		"RecordRemoved":        {remove("secrets", "sh.helm.release.v1.vcluster.v1", helm), "leaves Helm's records alone"},
		"RecordOvertaken":      {change("secrets", "sh.helm.release.v1.vcluster.v1", helm, `{type: helm.sh/x, metadata: {labels: {owner: helm}}}`), "Helm's"},
		"RecordRelabelled":     {change("secrets", "sh.helm.release.v1.vcluster.v1", `{metadata: {labels: {owner: helm}}}`, `{metadata: {labels: {owner: x}}}`), "leaves Helm's records alone"},
		"SecretRemoved":        {remove("secrets", "a-x-default-x-vcluster", `{}`), ""},
		"Configuration":        {change("secrets", "vc-config-vcluster", `{data: {config.yaml: YQ==}}`, `{data: {config.yaml: Yg==}}`), "its own configuration"},
		"ConfigurationRemoved": {remove("secrets", "vc-config-vcluster", `{data: {config.yaml: YQ==}}`), "its own configuration"},
		"ConfigurationNoted":   {change("secrets", "vc-config-vcluster", `{data: {config.yaml: YQ==}}`, `{metadata: {annotations: {vcluster.loft.sh/store: a}}, data: {config.yaml: YQ==}}`), ""},
		"ConfigurationFrozen":  {change("secrets", "vc-config-vcluster", `{data: {config.yaml: YQ==}}`, `{immutable: true, data: {config.yaml: YQ==}}`), "its own configuration"},
		"ConfigurationsOwner":  {change("secrets", "vc-config-vcluster", `{data: {config.yaml: YQ==}}`, `{metadata: {ownerReferences: [{kind: Pod, name: x, uid: y}]}, data: {config.yaml: YQ==}}`), "may not change the owner references"},
		"WorkloadsOwner":       {change("apps/statefulsets", "vcluster", set, strings.Replace(set, "{spec", "{metadata: {ownerReferences: [{kind: Pod, name: x, uid: y}]}, spec", 1)), "may not change the owner references"},
		"StatusOfItsPod":       {change("pods/status", "vcluster-0", `{metadata: {labels: {app: vcluster}}, spec: {containers: []}, status: {podIP: 10.0.0.1}}`, `{metadata: {labels: {app: vcluster}}, spec: {containers: []}, status: {}}`), "leaves the pods of its control plane alone"},
		"NextRecord":           {change("secrets", "sh.helm.release.v1.vcluster.v7", "", `{type: Opaque}`), "may not be a Helm release record"},
		"LabelsOfItsPod":       {change("pods", "vcluster-0", `{metadata: {labels: {app: vcluster, release: vcluster}}, spec: {containers: []}}`, `{metadata: {labels: {app: vcluster, release: vcluster, x: y}}, spec: {containers: []}}`), "leaves the labels of the pods"},
		"ServiceRange":         {change("services", "vcluster", service, `{metadata: {annotations: {vcluster.loft.sh/service-cidr: 10.96.0.0/12}}, spec: {selector: {app: vcluster, release: vcluster}}}`), ""},
		"ServiceLeadsAway":     {change("services", "vcluster", service, `{spec: {selector: {app: mine}}}`), "leaves the Services of its control plane alone"},
		"ServiceRemoved":       {remove("services", "vcluster-etcd", service), "leaves the Services of its control plane alone"},
		"ServicesStatus":       {change("services/status", "vcluster", service, `{spec: {selector: {app: mine}}}`), "leaves the Services of its control plane alone"},
		"CopysService":         {change("services", "a-x-default-x-vcluster", service, `{spec: {selector: {app: mine}}}`), ""},
		"EntersACopy":          {enter("pods/exec", "a-x-default-x-vcluster"), ""},
		"EntersALongName":      {enter("pods/attach", strings.Repeat("a", 52)+"-0123456789"), ""},
		"EntersItself":         {enter("pods/exec", "vcluster-0"), "may connect only to pods that it copied"},
		"AttachesToEtcd":       {enter("pods/attach", "vcluster-etcd-0"), "may connect only to pods that it copied"},
		"ForwardsFromItself":   {enter("pods/portforward", "vcluster-5d4f8c7b9-abcde"), "may connect only to pods that it copied"},
		"ProxiesItself":        {enter("pods/proxy", "vcluster-0"), "may connect only to pods that it copied"},
	}
}

// TestPodsOfControlPlanes: pods with rights in a tenant's namespace are the chart's.
func TestPodsOfControlPlanes(t *testing.T) { ask(t, podsOfControlPlanes()) }

func podsOfControlPlanes() map[string]verdict {
	const (
		own     = `{spec: {serviceAccountName: vc-vcluster, initContainers: [{image: "` + imageOfKubernetes + `"}], containers: [{image: "` + imageOfVCluster + `"}], volumes: [{projected: {}}, {emptyDir: {}}, {secret: {}}, {configMap: {}}, {persistentVolumeClaim: {}}, {downwardAPI: {}}]}}`
		solver  = `{metadata: {labels: {acme.cert-manager.io/http01-solver: "true"}}, spec: {serviceAccountName: default, automountServiceAccountToken: false, containers: [{image: quay.io/jetstack/cert-manager-acmesolver}]}}`
		cert    = "system:serviceaccount:cert-manager:cert-manager"
		theirs  = "those of its control plane from the host's controllers"
		devices = "the control plane of a tenant asks for no resources but cpu, memory, ephemeral-storage, example.org/tpm"
		images  = "runs no images but ghcr.io/loft-sh/vcluster-oss"
	)
	do := func(by, object string) request {
		return request{by: by, resource: "pods", namespace: "vargo-a", name: "vcluster-0", object: object}
	}
	but := func(from, to string) request { return do(controller, strings.Replace(own, from, to, 1)) }
	bare := do(controller, own)
	bare.namespace = "vargo-bare"
	return map[string]verdict{
		"OfAStatefulSet":     {do(controller, own), ""},
		"OfAReplicaSet":      {do("system:serviceaccount:kube-system:replicaset-controller", own), ""},
		"OfOneController":    {do("system:kube-controller-manager", own), ""},
		"OfAnybody":          {do("admin", own), theirs},
		"OfOtherControllers": {do("system:serviceaccount:kube-system:daemon-set-controller", own), theirs},
		"OfTheWorkloads":     {do("admin", usual), theirs},
		"OtherImage":         {but(imageOfVCluster, "evil.example.org/x"), images},
		"OtherInitImage":     {but(imageOfKubernetes, "evil.example.org/x"), images},
		"ImagesUnknown":      {bare, "virtualargocd.io/images, which isn't there"},
		"OnANode":            {but("serviceAccountName", "nodeName: a, serviceAccountName"), "choose its node"},
		"FolderOfANode":      {but("emptyDir", "hostPath"), "a volume of a tenant's control plane"},
		"Device":             {but("containers: [{", "containers: [{resources: {limits: {nvidia.com/gpu: 8}}, "), devices},
		"DeviceOfInit":       {but("initContainers: [{", "initContainers: [{resources: {requests: {hugepages-2Mi: 1Gi}}, "), devices},
		"DeviceOfPod":        {but("serviceAccountName", "resources: {limits: {nvidia.com/gpu: 8}}, serviceAccountName"), devices},
		"DeviceOfPlan":       {but("containers: [{", "containers: [{resources: {limits: {example.org/tpm: 8, cpu: 1}}, "), ""},
		"ResourceClaim":      {but("serviceAccountName", "resourceClaims: [{name: a}], serviceAccountName"), "names no ResourceClaims"},
		"CertManagers":       {do(cert, solver), ""},
		"CertManagersName":   {do(cert, strings.Replace(solver, "serviceAccountName: default, ", "", 1)), ""},
		"SolverWithRights":   {do(cert, strings.Replace(solver, "default", "vc-vcluster", 1)), theirs},
		"SolverWithToken":    {do(cert, strings.Replace(solver, "false", "true", 1)), theirs},
		"SolverWithVolumes":  {do(cert, strings.Replace(solver, "containers", "volumes: [{secret: {secretName: vc-vcluster}}], containers", 1)), theirs},
		"SolverOfASet":       {do(controller, solver), images},
		"SolverOfATenant":    {do(syncer, solver), "managed-by"},
	}
}
