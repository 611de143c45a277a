package admission

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
)

const (
	// pod is the beginning of one, up to its spec.
	pod    = `{metadata: {labels: {vcluster.loft.sh/managed-by: vcluster}}, spec: {serviceAccountName: vc-workload-vcluster, automountServiceAccountToken: false`
	one    = `, containers: [{name: c, image: i}]`
	usual  = pod + one + `}}`
	noNode = "chooses no node by name"
	ofOwn  = "names no namespace but its own in its affinity"
	ofPod  = "leave host out"
)

// TestPodsOfTenants: a pod that vcluster copies is one of the tenant's, whatever it asks for.
func TestPodsOfTenants(t *testing.T) { ask(t, pods()) }

func pods() map[string]verdict {
	do := func(object string) request {
		return request{by: syncer, resource: "pods", namespace: "vargo-a", object: object}
	}
	with := func(spec string) request { return do(pod + one + ", " + spec + `}}`) }
	gpu := with(`resourceClaims: [{name: a}]`)
	gpu.object = strings.Replace(gpu.object, "image: i}]", "resources: {limits: {nvidia.com/gpu: 1}}}], runtimeClassName: gvisor", 1)
	gpu.namespace, gpu.by = "vargo-gpu", "system:serviceaccount:vargo-gpu:vc-vcluster"
	priority, native := with(`priorityClassName: tenants, runtimeClassName: gvisor`), with(`runtimeClassName: native`)
	native.namespace, native.by = "vargo-gpu", "system:serviceaccount:vargo-gpu:vc-vcluster"
	priority.namespace, priority.by = "vargo-gpu", "system:serviceaccount:vargo-gpu:vc-vcluster"
	status := func(old, object string) request {
		with := func(s string) string { return strings.TrimSuffix(usual, "}") + `, status: ` + s + `}` }
		return request{by: syncer, resource: "pods/status", namespace: "vargo-a", old: with(old), object: with(object)}
	}
	resources := func(text string) request { return do(pod + `, containers: [{name: c, resources: ` + text + `}]}}`) }
	container := func(text string) request { return do(pod + `, containers: [{name: c, ` + text + `}]}}`) }
	affinity := func(text string) request { return with(`affinity: {nodeAffinity: {` + text + `}}`) }
	return map[string]verdict{
		"Pod":               {with(`tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists}], schedulerName: default-scheduler, volumes: [{name: a, projected: {sources: [{secret: {name: b}}]}}]`), ""},
		"PodWithoutLabel":   {do(`{spec: {serviceAccountName: vc-workload-vcluster, automountServiceAccountToken: false, containers: []}}`), "label vcluster.loft.sh/managed-by"},
		"PodAsControlPlane": {do(strings.Replace(usual, "vc-workload-vcluster", "vc-vcluster", 1)), "no rights"},
		"PodWithToken":      {do(strings.Replace(usual, "false", "true", 1)), "no token"},
		"PodMountsByItself": {do(strings.Replace(usual, ", automountServiceAccountToken: false", "", 1)), "no token"},
		"PodProjectsToken":  {with(`volumes: [{name: a, projected: {sources: [{serviceAccountToken: {path: t}}]}}]`), "no token"},
		"PodProjectsID":     {with(`volumes: [{name: a, projected: {sources: [{secret: {name: b}}, {podCertificate: {signerName: s}}]}}]`), "no token"},
		"PodProjectsTrust":  {with(`volumes: [{name: a, projected: {sources: [{clusterTrustBundle: {path: t}}]}}]`), "no token"},
		"PodOnNode":         {with(`nodeName: control-plane-1`), "choose its node"},
		"PodToleratesAll":   {with(`tolerations: [{operator: Exists}]`), "no taints but node.kubernetes.io/not-ready"},
		"PodToleratesOther": {with(`tolerations: [{key: dedicated, operator: Exists}]`), "no taints but"},
		"PodToleratesPlans": {with(`tolerations: [{key: plans-a, value: b}]`), ""},
		"PodOnControlPlane": {with(`tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Exists}]`), "no taints but"},
		"PodsVolumes":       {with(`volumes: [{emptyDir: {}}, {configMap: {}}, {secret: {}}, {persistentVolumeClaim: {}}, {downwardAPI: {}}, {ephemeral: {}}, {image: {}}]`), ""},
		"PodWithNFS":        {with(`volumes: [{emptyDir: {}}, {name: a, nfs: {server: 10.0.0.1, path: /}}]`), "a volume of a tenant's pod"},
		"PodWithDisk":       {with(`volumes: [{name: a, awsElasticBlockStore: {volumeID: vol-1}}]`), "a volume of a tenant's pod"},
		"PodWithGitRepo":    {with(`volumes: [{name: a, gitRepo: {repository: "https://10.0.0.1/a"}}]`), "a volume of a tenant's pod"},
		"PodWithInlineCSI":  {with(`volumes: [{name: a, csi: {driver: secrets-store.csi.k8s.io}}]`), "a volume of a tenant's pod"},

		"PodsPriority":       {with(`priorityClassName: system-node-critical`), "no PriorityClass but that of its plan, which names none, not system-node-critical"},
		"PodsOwnPriority":    {priority, ""},
		"OtherRuntime":       {native, "has the RuntimeClass of its plan, gvisor"},
		"EphemeralVolume":    {with(`volumes: [{name: a, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce]}}}}]`), ""},
		"EphemeralCopy":      {with(`volumes: [{name: a, ephemeral: {volumeClaimTemplate: {spec: {dataSource: {kind: PersistentVolumeClaim, name: data-vcluster-0}}}}}]`), "is made for it"},
		"EphemeralVolumeIs":  {with(`volumes: [{name: a, ephemeral: {volumeClaimTemplate: {spec: {volumeName: pv-1}}}}]`), "is made for it"},
		"EphemeralOrder":     {with(`volumes: [{name: a, ephemeral: {volumeClaimTemplate: {metadata: {annotations: {a: b}}, spec: {}}}}]`), "no labels and annotations"},
		"PodOnKindOfNode":    {with(`nodeSelector: {kubernetes.io/os: linux, example.org/pool: a}, affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname}]}, nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [a]}]}]}}}`), ""},
		"PodOnHostname":      {with(`nodeSelector: {kubernetes.io/hostname: control-plane-1}`), noNode},
		"PodNearHostname":    {affinity(`preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [a]}]}}]`), noNode},
		"PodBoundToHostname": {affinity(`requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}, {matchExpressions: [{key: kubernetes.io/hostname, operator: Exists}]}]}`), noNode},
		"PodOnNodesName":     {affinity(`requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [a]}]}]}`), noNode},
		"PodNearNodesName":   {affinity(`preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchFields: [{key: metadata.name, operator: In, values: [a]}]}}]`), noNode},
		"OtherScheduler":     {with(`schedulerName: mine`), "scheduled by the host's scheduler"},

		"ApartFromItsOwn":     {with(`affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {a: b}}}], preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: a, namespaces: [vargo-a]}}]}}`), ""},
		"KeepsOthersAway":     {with(`affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/os, namespaceSelector: {}, labelSelector: {matchExpressions: [{key: a, operator: DoesNotExist}]}}]}}`), ofOwn},
		"KeepsOneAway":        {with(`affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a}, {topologyKey: kubernetes.io/os, namespaces: [vargo-b]}]}}`), ofOwn},
		"PushesOthersAway":    {with(`affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, podAffinityTerm: {topologyKey: kubernetes.io/hostname, namespaceSelector: {matchLabels: {a: b}}}}]}}`), ofOwn},
		"BesideOthers":        {with(`affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, namespaces: [vargo-a, vargo-b]}]}}`), ofOwn},
		"NearOthers":          {with(`affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, podAffinityTerm: {topologyKey: kubernetes.io/hostname, namespaceSelector: {}}}]}}`), ofOwn},
		"Probed":              {container(`livenessProbe: {httpGet: {port: 80, host: ""}}, readinessProbe: {tcpSocket: {port: 80}}, startupProbe: {grpc: {port: 80}}, lifecycle: {preStop: {exec: {command: [a]}}, postStart: {httpGet: {port: 80}}}`), ""},
		"KubeletRequests":     {container(`livenessProbe: {httpGet: {port: 80, host: 169.254.169.254, httpHeaders: [{name: Metadata-Flavor, value: Google}]}}`), ofPod},
		"KubeletConnects":     {container(`readinessProbe: {tcpSocket: {port: 6443, host: 10.96.0.1}}`), ofPod},
		"KubeletStarts":       {container(`startupProbe: {httpGet: {port: 10250, host: localhost}}`), ofPod},
		"KubeletAfterStart":   {container(`lifecycle: {postStart: {httpGet: {port: 80, host: a.vargo-b.svc}}}`), ofPod},
		"KubeletBeforeStop":   {container(`lifecycle: {preStop: {tcpSocket: {port: 80, host: 10.0.0.1}}}`), ofPod},
		"KubeletRequestsInit": {with(`initContainers: [{name: i, restartPolicy: Always, startupProbe: {httpGet: {port: 80, host: 10.0.0.1}}}]`), ofPod},

		"UsualResources":      {resources(`{limits: {cpu: 1, memory: 1Gi, ephemeral-storage: 1Gi}, requests: {cpu: 1}}`), ""},
		"Device":              {resources(`{limits: {nvidia.com/gpu: 64}}`), "no resources but cpu, memory, ephemeral-storage"},
		"DeviceInRequest":     {resources(`{requests: {deviceclass.resource.kubernetes.io/gpu: 1}}`), "no resources but"},
		"HugePages":           {resources(`{limits: {hugepages-2Mi: 1Gi}}`), "no resources but"},
		"DeviceOfInit":        {with(`initContainers: [{name: i, resources: {limits: {squat.ai/fuse: 1}}}]`), "no resources but"},
		"DeviceOfThePod":      {with(`resources: {limits: {hugepages-2Mi: 1Gi}}`), "no resources but"},
		"ResourceClaim":       {with(`resourceClaims: [{name: a, resourceClaimName: b}]`), "no ResourceClaims"},
		"DeviceOfThePlan":     {gpu, ""},
		"ManyContainers":      {do(pod + `, containers: [` + many(64, "{name: c%d}") + `]}}`), ""},
		"LargestPod":          {do(pod + `, volumes: [` + many(60, "{name: v%d, projected: {sources: ["+many(20, "{secret: {name: s}}")+"]}}") + `], containers: [` + many(64, "{name: c%d, image: i, livenessProbe: {httpGet: {}, terminationGracePeriodSeconds: 5}, resources: {limits: {cpu: 1, memory: 1}}, env: ["+many(40, "{name: KUBERNETES_SERVICE_PORT, value: tcp://10.96.0.1}")+"]}") + `]}}`), ""},
		"TooManyContainers":   {do(pod + `, initContainers: [{name: a}], containers: [` + many(64, "{name: c%d}") + `]}}`), "at most 64 containers"},
		"DeepInDebugging":     {request{by: syncer, resource: "pods/ephemeralcontainers", namespace: "vargo-a", old: usual, object: pod + one + `, ephemeralContainers: [` + many(64, "{name: d%d}") + `]}}`}, "at most 64 containers"},
		"Debugging":           {request{by: syncer, resource: "pods/ephemeralcontainers", namespace: "vargo-a", old: usual, object: pod + one + `, ephemeralContainers: [{name: d}]}}`}, ""},
		"Grows":               {request{by: syncer, resource: "pods/resize", namespace: "vargo-a", old: usual, object: pod + `, containers: [{name: c, resources: {limits: {cpu: 2}}}]}}`}, ""},
		"GrowsADevice":        {request{by: syncer, resource: "pods/resize", namespace: "vargo-a", old: usual, object: pod + `, containers: [{name: c, resources: {limits: {nvidia.com/gpu: 2}}}]}}`}, "no resources but"},
		"ByStatusUnlabelled":  {request{by: syncer, resource: "pods/status", namespace: "vargo-a", old: usual, object: strings.Replace(usual, "{vcluster.loft.sh/managed-by: vcluster}", "{}", 1)}, "label vcluster.loft.sh/managed-by"},
		"ElsewhereInTheHost":  {request{by: "admin", resource: "pods", namespace: "team", object: `{spec: {nodeName: a, containers: []}}`}, ""},
		"ConditionByVCluster": {status(`{phase: Pending}`, `{phase: Pending, conditions: [{type: ready, status: "True"}]}`), ""},
		"AddressByVCluster":   {status(`{phase: Pending}`, `{phase: Pending, podIP: 10.96.0.1, podIPs: [{ip: 10.96.0.1}]}`), "but conditions"},
		"NodeByVCluster":      {status(`{phase: Pending}`, `{phase: Pending, nominatedNodeName: a}`), "but conditions"},
		"AddressTakenAway":    {status(`{phase: Running, podIP: 10.0.0.1}`, `{phase: Running}`), "but conditions"},
		"StatusTakenAway":     {request{by: syncer, resource: "pods/status", namespace: "vargo-a", old: strings.TrimSuffix(usual, "}") + `, status: {podIP: 10.96.0.1}}`, object: usual}, "but conditions"},
		"PhaseByVCluster":     {status(`{phase: Pending}`, `{phase: Failed}`), "but conditions"},
		"FirstByVCluster":     {request{by: syncer, resource: "pods/status", namespace: "vargo-a", old: usual, object: strings.TrimSuffix(usual, "}") + `, status: {podIP: 10.96.0.1}}`}, "but conditions"},
		"LongCondition":       {status(`{phase: Pending}`, `{phase: Pending, conditions: [{type: ready, message: `+strings.Repeat("x", 40000)+`}]}`), "at most 32 KiB"},
		"WideCondition":       {status(`{phase: Pending}`, `{phase: Pending, conditions: [{type: ready, message: `+strings.Repeat("\U0001F600", 10000)+`}]}`), "at most 32 KiB"},
		"ReadinessByVCluster": {request{by: syncer, resource: "pods/status", namespace: "vargo-a", old: usual, object: usual}, ""},
	}
}

// TestUpdatesOfPods: a pod that runs gets nothing that it could not begin with.
func TestUpdatesOfPods(t *testing.T) { ask(t, updatesOfPods()) }

func updatesOfPods() map[string]verdict {
	const (
		own     = `{metadata: {labels: {app: vcluster, release: vcluster}}, spec: {serviceAccountName: vc-vcluster, containers: [{name: syncer}]}}`
		runs    = pod + one + `, nodeName: node-1`
		before  = pod + one + `, nodeName: node-1, nodeSelector: {kubernetes.io/hostname: node-1}, terminationGracePeriodSeconds: 600`
		toleant = `, tolerations: [{operator: Exists}]}}`
	)
	do := func(old, object string) request {
		return request{by: syncer, resource: "pods", namespace: "vargo-a", old: old, object: object}
	}
	leaving := func(text string) string {
		return strings.Replace(text, "{labels", "{deletionTimestamp: '2026-01-01T00:00:00Z', labels", 1)
	}
	return map[string]verdict{
		"Labels":             {do(runs+`}}`, strings.Replace(runs, "vcluster.loft.sh/managed-by", "app: x, vcluster.loft.sh/managed-by", 1)+`}}`), ""},
		"LosesItsLabel":      {do(runs+`}}`, strings.Replace(runs, "vcluster.loft.sh/managed-by: vcluster", "app: x", 1)+`}}`), "label vcluster.loft.sh/managed-by"},
		"Taint":              {do(runs+`}}`, runs+`, tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Exists}]}}`), "no taints but"},
		"EveryTaint":         {do(runs+`}}`, runs+toleant), "no taints but"},
		"LeavesAsItWas":      {do(runs+toleant, leaving(runs)+toleant), ""},
		"TakesTaintsAlong":   {do(leaving(runs)+`}}`, leaving(runs)+toleant), "no taints but"},
		"FromBefore":         {do(before+`}}`, strings.Replace(before, "{vcluster", "{app: x, vcluster", 1)+`}}`), ""},
		"FromBeforeImage":    {do(before+`}}`, strings.Replace(before, "image: i", "image: j", 1)+`}}`), noNode},
		"ControlPlane":       {do(own, own), ""},
		"ControlPlanesImage": {do(own, strings.Replace(own, "syncer", "syncer, image: x", 1)), "leaves the pods of its control plane alone"},
		"ControlPlanesDebug": {request{by: syncer, resource: "pods/ephemeralcontainers", namespace: "vargo-a", name: "vcluster-0", old: own, object: strings.Replace(own, "containers", "ephemeralContainers: [{name: d}], containers", 1)}, "leaves the pods of its control plane alone"},
		"ControlPlanesSize":  {request{by: syncer, resource: "pods/resize", namespace: "vargo-a", name: "vcluster-0", old: own, object: strings.Replace(own, "syncer", "syncer, resources: {limits: {cpu: 9}}", 1)}, "leaves the pods of its control plane alone"},
	}
}

// TestGraceOfPods: a namespace is gone when it is deleted.
func TestGraceOfPods(t *testing.T) { ask(t, grace()) }

func grace() map[string]verdict {
	do := func(object string) request {
		return request{by: syncer, resource: "pods", namespace: "vargo-a", object: object}
	}
	remove := func(seconds int64) request {
		options := &metav1.DeleteOptions{}
		if seconds >= 0 {
			options.GracePeriodSeconds = &seconds
		}
		return request{by: syncer, resource: "pods", namespace: "vargo-a", operation: admission.Delete, old: usual, options: options}
	}
	admin, bare := remove(600), remove(0)
	admin.by = "admin"
	bare.options = nil
	before := remove(600)
	before.old = pod + one + `, terminationGracePeriodSeconds: 600}}`
	probe := func(text string) request {
		return do(pod + `, containers: [{name: c, ` + text + `: {terminationGracePeriodSeconds: 600}}]}}`)
	}
	const most = "of 60"
	debug := do(pod + one + `, ephemeralContainers: [{name: d, livenessProbe: {terminationGracePeriodSeconds: 600}}]}}`)
	debug.resource, debug.old = "pods/ephemeralcontainers", usual
	longer := do(pod + one + `, terminationGracePeriodSeconds: 600}}`)
	longer.old = usual
	return map[string]verdict{
		"Ends":             {do(pod + one + `, terminationGracePeriodSeconds: 60}}`), ""},
		"NeverEnds":        {do(pod + one + `, terminationGracePeriodSeconds: 2147483647}}`), most},
		"EndsLater":        {longer, most},
		"LivesByAProbe":    {probe("livenessProbe"), most},
		"StartsForEver":    {probe("startupProbe"), most},
		"ReadyForEver":     {probe("readinessProbe"), most},
		"DebugsForEver":    {debug, most},
		"Deleted":          {remove(-1), ""},
		"DeletedAtOnce":    {remove(0), ""},
		"DeletedInTime":    {remove(60), ""},
		"NeverDeleted":     {remove(2147483647), "grace period of 60 seconds"},
		"DeletedByDefault": {bare, ""},
		"DeletedAsBefore":  {before, ""},
		"DeletedByAnybody": {admin, ""},
	}
}

// TestVolumesOfTenants: volumes that are made for them, of nothing that isn't theirs.
func TestVolumesOfTenants(t *testing.T) { ask(t, volumes()) }

func volumes() map[string]verdict {
	do := func(object string) request {
		return request{by: syncer, resource: "persistentvolumeclaims", namespace: "vargo-a", object: object}
	}
	change := func(by, old, object string) request {
		r := do(object)
		r.by, r.old = by, old
		return r
	}
	byHost := do(`{spec: {accessModes: [ReadWriteOnce]}}`)
	byHost.by = controller
	const foreign = "copies volume claims and snapshots of the tenant's own"
	hashed := strings.Repeat("a", 52) + "-0123456789"
	binder := "system:serviceaccount:kube-system:persistent-volume-binder"
	return map[string]verdict{
		"Volume":             {do(`{spec: {accessModes: [ReadWriteOnce], storageClassName: fast, dataSourceRef: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: a-x-default-x-vcluster}}}`), ""},
		"StoresVolume":       {byHost, ""},
		"VolumeOfOthers":     {do(`{spec: {volumeName: pv-1}}`), "may not name an existing volume"},
		"VolumeBySelector":   {do(`{spec: {selector: {}}}`), "may not select an existing volume"},
		"StaticVolume":       {do(`{spec: {storageClassName: ""}}`), "may not be empty: name a StorageClass"},
		"CopyOfOthers":       {do(`{spec: {dataSourceRef: {kind: PersistentVolumeClaim, name: a-x-b-x-vcluster, namespace: vargo-b}}}`), "another namespace"},
		"CopyOfItsOwn":       {do(`{spec: {dataSource: {kind: PersistentVolumeClaim, name: a-x-default-x-vcluster}, dataSourceRef: {kind: PersistentVolumeClaim, name: a-x-default-x-vcluster}}}`), ""},
		"CopyOfALongName":    {do(`{spec: {dataSource: {kind: PersistentVolumeClaim, name: ` + hashed + `}}}`), ""},
		"CopyOfTheStore":     {do(`{spec: {dataSource: {kind: PersistentVolumeClaim, name: data-vcluster-0}}}`), foreign},
		"CopyOfEtcd":         {do(`{spec: {dataSourceRef: {kind: PersistentVolumeClaim, name: data-vcluster-etcd-0}}}`), foreign},
		"SnapshotOfTheStore": {do(`{spec: {dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: velero-data-vcluster-0-abcde}}}`), foreign},
		"LongSnapshot":       {do(`{spec: {dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: ` + hashed + `}}}`), foreign},
		"CopyOfOtherKinds":   {do(`{spec: {dataSourceRef: {apiGroup: example.org, kind: Populator, name: a-x-default-x-vcluster}}}`), foreign},
		"Grows":              {change(syncer, `{spec: {volumeName: pv-1, resources: {requests: {storage: 1Gi}}}}`, `{spec: {volumeName: pv-1, resources: {requests: {storage: 2Gi}}}}`), ""},
		"VolumeLater":        {change(syncer, `{spec: {}}`, `{spec: {volumeName: pv-1}}`), "may not name an existing volume"},
		"BoundByTheHost":     {change(binder, `{spec: {}}`, `{spec: {volumeName: pv-1}}`), ""},
		"StaticByNote":       {request{by: controller, resource: "persistentvolumeclaims", namespace: "vargo-a", object: `{metadata: {annotations: {volume.beta.kubernetes.io/storage-class: ""}}, spec: {}}`}, "not in an annotation"},
	}
}
