package admission

import (
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/admission"
)

const (
	syncer     = "system:serviceaccount:vargo-a:vc-vcluster"
	controller = "system:serviceaccount:kube-system:statefulset-controller"
	// owned and copied are metadata as vcluster writes them.
	owned = `ownerReferences: [{apiVersion: v1, kind: Service, name: vcluster, uid: u}]`
	// leads is an event of vcluster's leader election.
	leads  = `involvedObject: {kind: Lease, name: vcluster-vcluster-controller}, source: {component: vcluster}`
	copied = `labels: {vcluster.loft.sh/managed-by: vcluster, vcluster.loft.sh/namespace: default}`
)

// TestObjectsOfTenants: what vcluster copies gives no orders to controllers of the host.
func TestObjectsOfTenants(t *testing.T) { ask(t, objects()) }

func objects() map[string]verdict {
	const helm, noHelm, noLabel, noAnnotation = "owner: helm", "may not be a Helm release record", "may not have the label ", "may not have the annotation "
	labels := func(text string) string { return "{metadata: {" + owned + ", labels: {" + text + "}}, spec: {}}" }
	annotations := func(text string) string {
		return "{metadata: {" + owned + ", " + copied + ", annotations: {" + text + "}}, spec: {}}"
	}
	plain := labels("app: x")
	do := func(resource, object string) request {
		return request{by: syncer, resource: resource, namespace: "vargo-a", object: object}
	}
	change := func(resource, old, object string) request {
		return request{by: syncer, resource: resource, namespace: "vargo-a", old: old, object: object}
	}
	return map[string]verdict{
		"Secret":               {do("secrets", `{metadata: {`+copied+`}, type: Opaque, data: {a: Yg==}}`), ""},
		"ImagePullSecret":      {do("secrets", `{metadata: {`+copied+`, annotations: {vcluster.loft.sh/force-sync: "true"}}, type: kubernetes.io/dockerconfigjson, data: {.dockerconfigjson: e30=}}`), ""},
		"ConfigMap":            {do("configmaps", `{metadata: {annotations: {kubernetes.io/description: "a CA bundle"}}, data: {a: b}}`), ""},
		"ForgedRecord":         {do("secrets", labels(helm+", name: vcluster, status: deployed")), noHelm},
		"ForgedRecordInUpdate": {change("secrets", plain, labels(helm)), noHelm},
		"RecordAsConfigMap":    {do("configmaps", labels("OWNER: Helm")), noHelm},
		"RecordOfTiller":       {do("configmaps", labels("OWNER: TILLER")), noHelm},
		"RecordByType":         {do("secrets", `{type: helm.sh/release.v1}`), noHelm},
		"RecordOnAPod":         {change("persistentvolumeclaims", plain, labels(helm)), noHelm},
		"OwnedByATeam":         {do("secrets", labels("owner: payments")), ""},
		"RecordOfTheInstaller": {request{by: "system:serviceaccount:crossplane-system:vargo-a", resource: "secrets", namespace: "vargo-a", name: "sh.helm.release.v1.vcluster.v1", object: `{metadata: {labels: {owner: helm}}, type: helm.sh/release.v1}`}, ""},
		"ElsewhereByAnybody":   {request{by: "admin", resource: "secrets", namespace: "team", object: labels(helm)}, ""},
		"LookalikeAccount":     {request{by: "system:serviceaccount:vargo-ab:vc-vcluster", resource: "configmaps", namespace: "vargo-a", object: labels("grafana_dashboard: '1'")}, ""},
		"AccountToken":         {do("secrets", `{metadata: {annotations: {kubernetes.io/service-account.name: vc-vcluster}}, type: kubernetes.io/service-account-token}`), "asks for no token"},
		"BootstrapToken":       {do("secrets", `{type: bootstrap.kubernetes.io/token}`), "asks for no token"},
		"VirtualAccountsToken": {do("secrets", `{metadata: {annotations: {kubernetes.io/service-account.name: x, kubernetes.io/service-account.uid: y}}, type: Opaque}`), ""},

		"VClustersLabels":      {change("persistentvolumeclaims", plain, labels("vcluster.loft.sh/managed-by: vcluster, vcluster.loft.sh/namespace: a, vcluster.loft.sh/label-vcluster-x-0123456789: b, vcluster.loft.sh/ns-label-vcluster-x-abcdef0123: c")), ""},
		"NodesService":         {do("services", `{metadata: {labels: {vcluster.loft.sh/belongs-to: vcluster, vcluster.loft.sh/node: n}}, spec: {}}`), ""},
		"NodesServiceOfTenant": {do("services", `{metadata: {labels: {vcluster.loft.sh/managed-by: vcluster, vcluster.loft.sh/belongs-to: vcluster}}, spec: {}}`), noLabel + "vcluster.loft.sh/belongs-to"},
		"SnapshotOrder":        {do("configmaps", labels("vcluster.loft.sh/snapshot-request: ''")), noLabel + "vcluster.loft.sh/snapshot-request"},
		"RestoreOrder":         {change("secrets", plain, labels("vcluster.loft.sh/restore-request: ''")), noLabel},
		"LikeATranslatedLabel": {do("configmaps", labels("vcluster.loft.sh/label-snapshot-request: a")), noLabel},
		"ControlledBy":         {do("configmaps", labels("vcluster.loft.sh/controlled-by: a")), noLabel},
		"SkipTranslate":        {do("persistentvolumeclaims", annotations("vcluster.loft.sh/skip-translate: 'true'")), noAnnotation + "vcluster.loft.sh/skip-translate"},
		"ForceSync":            {do("configmaps", annotations("vcluster.loft.sh/force-sync: 'true'")), ""},
		"VClustersAnnotations": {do("secrets", annotations("vcluster.loft.sh/object-name: a, vcluster.loft.sh/object-namespace: b, vcluster.loft.sh/object-uid: c, vcluster.loft.sh/object-kind: d, vcluster.loft.sh/object-host-name: e, vcluster.loft.sh/object-host-namespace: f")), ""},
		"TokensOfAPod":         {do("secrets", `{metadata: {`+owned+`, annotations: {vcluster.loft.sh/skip-backsync: "true"}}, type: Opaque}`), ""},
		"ServiceBeingMade":     {do("services", `{metadata: {annotations: {vcluster.loft.sh/block-deletion: "true"}}, spec: {}}`), ""},
		"TestOfServiceRange":   {do("services", `{metadata: {generateName: test-service-delete-me-}, spec: {ports: [{port: 80}], clusterIP: 10.96.0.2}}`), ""},
		"StoreInTheConfig":     {change("secrets", `{metadata: {labels: {app: vcluster, release: vcluster, heritage: Helm}}}`, `{metadata: {labels: {app: vcluster, release: vcluster, heritage: Helm}, annotations: {vcluster.loft.sh/store: embedded-database}}}`), ""},
		"Kubeconfig":           {request{by: syncer, resource: "secrets", namespace: "vargo-a", name: "vc-vcluster", object: `{metadata: {labels: {app: vcluster, vcluster-name: vcluster}}, type: Opaque}`}, ""},
		"Lease":                {request{by: syncer, resource: "coordination.k8s.io/leases", namespace: "vargo-a", name: "vcluster-vcluster-controller", object: `{spec: {holderIdentity: a}}`}, ""},
		"LargeEvent":           {do("events", `{`+leads+`, type: Normal, message: `+strings.Repeat("x", 9000)+`}`), "an event of a tenant takes at most 8 KiB"},
		"Event":                {do("events", `{`+leads+`, type: Normal, reason: LeaderElection}`), ""},
		"EventOfTheKubelet":    {do("events", `{involvedObject: {kind: Lease}, source: {component: kubelet}}`), "from vcluster"},
		"EventOfNobody":        {do("events", `{involvedObject: {kind: Lease}}`), "from vcluster"},
		"EventAboutAPod":       {do("events", `{involvedObject: {kind: Pod, name: vcluster-0}, source: {component: vcluster}}`), "about a Lease"},
		"EventAboutNothing":    {do("events", `{type: Normal, reason: LeaderElection}`), "about a Lease"},
		"NewEvent":             {do("events.k8s.io/events", `{regarding: {kind: Lease}, reportingController: vcluster}`), ""},
		"NewEventAboutAPod":    {do("events.k8s.io/events", `{regarding: {kind: Pod, name: vcluster-0}, reportingController: vcluster}`), "about a Lease"},
		"NewEventOfTheKubelet": {do("events.k8s.io/events", `{regarding: {kind: Lease}, reportingController: kubelet, deprecatedSource: {component: vcluster}}`), "from vcluster"},

		"LabelsOfArgoCD":      {do("services", `{metadata: {`+owned+`, labels: {app.kubernetes.io/name: argocd-server, app.kubernetes.io/instance: argocd, helm.sh/chart: argo-cd-9.3.7, argocd.argoproj.io/secret-type: repository}, annotations: {argocd.argoproj.io/tracking-id: "a:apps/Deployment:b/c"}}, spec: {}}`), ""},
		"LabelsOfWorkloads":   {change("persistentvolumeclaims", plain, labels("pod-template-hash: a, controller-revision-hash: b, statefulset.kubernetes.io/pod-name: c, apps.kubernetes.io/pod-index: '0', batch.kubernetes.io/job-name: d, job-name: d, rollouts-pod-template-hash: e, acme.cert-manager.io/http01-solver: 'true', io.kompose.service: f, vcluster.loft.sh/managed-by: vcluster")), ""},
		"WorkflowsPod":        {change("persistentvolumeclaims", plain, labels("workflows.argoproj.io/workflow: a, workflows.argoproj.io/completed: 'false', workflows.argoproj.io/component: agent")), ""},
		"WorkflowsAnnotation": {change("persistentvolumeclaims", plain, annotations("workflows.argoproj.io/node-id: a, workflows.argoproj.io/node-name: b, kubectl.kubernetes.io/default-container: main")), ""},
		"WorkflowsFinalizer":  {do("persistentvolumeclaims", "{metadata: {"+owned+", finalizers: [workflows.argoproj.io/status]}, spec: {}}"), "has no finalizers"},
		"RolloutsService":     {change("services", `{spec: {}}`, annotations("argo-rollouts.argoproj.io/managed-by-rollouts: a, experiment.argoproj.io/name: b")), ""},
		"RolloutsLabel":       {do("configmaps", labels("argo-rollouts.argoproj.io/controller-instance-id: a")), noLabel + "argo-rollouts.argoproj.io/controller-instance-id"},
		"EventsObject":        {do("configmaps", labels("events.argoproj.io/sensor: a, events.argoproj.io/trigger: b, events.argoproj.io/action-timestamp: c, eventbus-name: default, owner-name: d")), ""},
		"OtherArgo":           {do("configmaps", labels("argoproj.io/a: b")), noLabel + "argoproj.io/a"},
		"TrackedWithoutOwner": {do("configmaps", `{metadata: {labels: {app.kubernetes.io/instance: platform}}}`), "must have an owner reference"},
		"TrackedByAnnotation": {do("configmaps", `{metadata: {annotations: {argocd.argoproj.io/tracking-id: "platform:/ConfigMap:vargo-a/x-x-default-x-vcluster"}}}`), "must have an owner reference"},
		"LosesItsOwner":       {change("configmaps", labels("app.kubernetes.io/instance: argocd"), `{metadata: {labels: {app.kubernetes.io/instance: argocd}}}`), "must have an owner reference"},
		"GrafanasDashboard":   {do("configmaps", labels("grafana_dashboard: '1'")), noLabel + "grafana_dashboard"},
		"GrafanasSource":      {change("secrets", plain, labels("grafana_datasource: '1'")), noLabel + "grafana_datasource"},
		"MeshByLabel":         {do("configmaps", labels("sidecar.istio.io/inject: 'true'")), noLabel + "sidecar.istio.io/inject"},
		"MeshOfNamespaces":    {do("configmaps", labels("istio-injection: enabled")), noLabel + "istio-injection"},
		"IdentityInAzure":     {do("configmaps", labels("azure.workload.identity/use: 'true'")), noLabel + "azure.workload.identity/use"},
		"IdentityByBinding":   {do("configmaps", labels("aadpodidbinding: a")), noLabel + "aadpodidbinding"},
		"IdentityInAWS":       {do("configmaps", annotations("iam.amazonaws.com/role: a")), noAnnotation + "iam.amazonaws.com/role"},
		"ReleaseOfTheChart":   {change("persistentvolumeclaims", plain, labels("release: vcluster")), noLabel + "release"},
		"ByPodsStatus":        {change("persistentvolumeclaims", plain, labels("velero.io/backup-name: a")), noLabel + "velero.io/backup-name"},
		"KyvernosLabel":       {do("poddisruptionbudgets", labels("generate.kyverno.io/clone-source: ''")), noLabel},
		"OfACustomResource":   {do("example.org/widgets", labels("kapp.k14s.io/app: a")), noLabel},

		"AnnotationsOfPods":   {change("persistentvolumeclaims", plain, annotations("checksum/cm: a, kubectl.kubernetes.io/restartedAt: b, cluster-autoscaler.kubernetes.io/safe-to-evict: 'false', kubernetes.io/limit-ranger: c, rollme: d, container.apparmor.security.beta.kubernetes.io/x: runtime/default, vcluster.loft.sh/name: e, vcluster.loft.sh/labels: f, vcluster.loft.sh/owner-references: g")), ""},
		"Networks":            {change("persistentvolumeclaims", plain, annotations("k8s.v1.cni.cncf.io/networks: a")), noAnnotation + "k8s.v1.cni.cncf.io/networks"},
		"AddressOfCalico":     {change("persistentvolumeclaims", plain, annotations(`cni.projectcalico.org/ipAddrs: '["10.0.0.1"]'`)), noAnnotation},
		"Device":              {change("persistentvolumeclaims", plain, annotations("cdi.k8s.io/x: vendor.com/gpu=all")), noAnnotation},
		"RuntimesOrder":       {change("persistentvolumeclaims", plain, annotations("io.kubernetes.cri-o.ShmSize: 1Gi")), noAnnotation},
		"KatasOrder":          {change("persistentvolumeclaims", plain, annotations("io.katacontainers.config.hypervisor.path: /x")), noAnnotation},
		"GVisorsOrder":        {change("persistentvolumeclaims", plain, annotations("dev.gvisor.spec.mount.a.source: /x")), noAnnotation},
		"OtherAppArmor":       {change("persistentvolumeclaims", plain, annotations("container.apparmor.security.beta.kubernetes.io/x: localhost/y")), noAnnotation},
		"MetricsOfAnybody":    {do("services", annotations("prometheus.io/scrape: 'true'")), noAnnotation + "prometheus.io/scrape"},
		"MetricsOfCoreDNS":    {request{by: syncer, resource: "services", namespace: "vargo-a", name: "kube-dns-x-kube-system-x-vcluster", object: `{metadata: {labels: {k8s-app: vcluster-kube-dns, kubernetes.io/cluster-service: "true", kubernetes.io/name: CoreDNS}, annotations: {prometheus.io/scrape: "true", prometheus.io/port: "9153"}}, spec: {}}`}, ""},
		"Tailscale":           {do("services", annotations("tailscale.com/expose: 'true'")), noAnnotation},
		"GlobalService":       {change("services", `{spec: {}}`, annotations("service.cilium.io/global: 'true'")), noAnnotation},
		"Ambassador":          {do("services", annotations("getambassador.io/config: a")), noAnnotation},
		"LoadBalancersOrder":  {do("services", annotations("metallb.io/loadBalancerIPs: 192.0.2.1")), noAnnotation},
		"VaultsOrder":         {change("persistentvolumeclaims", plain, annotations("vault.hashicorp.com/agent-inject: 'true'")), noAnnotation},
		"Backup":              {change("persistentvolumeclaims", plain, annotations("backup.velero.io/backup-volumes: a")), noAnnotation},
		"NodeOfAVolume":       {do("persistentvolumeclaims", annotations("volume.kubernetes.io/selected-node: control-plane-1")), noAnnotation},
		"CertificatesSecret":  {do("secrets", annotations("cert-manager.io/certificate-name: a, cert-manager.io/alt-names: b")), ""},
		"CertificatesService": {do("services", annotations("cert-manager.io/issuer: a")), noAnnotation},
		"OfTheHostStays":      {change("pods/status", annotations("cni.projectcalico.org/podIP: 10.0.0.1, app: x"), annotations("cni.projectcalico.org/podIP: 10.0.0.1, app: y")), ""},
		"OfTheHostChanges":    {change("pods/status", annotations("cni.projectcalico.org/podIP: 10.0.0.1"), annotations("cni.projectcalico.org/podIP: 10.0.0.2")), noAnnotation},

		"Finalizer":          {do("configmaps", `{metadata: {finalizers: [vcluster.loft.sh/snapshot-controller]}}`), "no finalizers"},
		"FinalizerInUpdate":  {change("services", `{spec: {}}`, `{metadata: {finalizers: [a.b/c]}, spec: {}}`), "no finalizers"},
		"FinalizerOfTheHost": {change("services", `{metadata: {finalizers: [service.kubernetes.io/load-balancer-cleanup]}, spec: {}}`, `{metadata: {finalizers: [service.kubernetes.io/load-balancer-cleanup]}, spec: {}}`), ""},
		"FinalizerOfVolumes": {do("persistentvolumeclaims", `{metadata: {finalizers: [kubernetes.io/pvc-protection]}, spec: {}}`), ""},
		"VolumesOnASecret":   {do("secrets", `{metadata: {finalizers: [kubernetes.io/pvc-protection]}}`), "no finalizers"},

		"LargeConfigMap":     {do("configmaps", `{data: {a: `+strings.Repeat("x", 250_000)+`}}`), ""},
		"TooLargeConfigMap":  {do("configmaps", `{data: {a: `+strings.Repeat("x", 400_000)+`}}`), "at most 256 KiB"},
		"ManyKeys":           {do("configmaps", `{data: {`+many(4_000, "k%d: "+strings.Repeat("y", 40))+`}}`), ""},
		"TooManyKeys":        {do("configmaps", `{data: {`+many(20_000, "k%d: abcdefgh")+`}}`), "at most 256 KiB"},
		"FourBytesALetter":   {do("configmaps", `{data: {a: `+strings.Repeat("𝔞", 80_000)+`}}`), "at most 256 KiB"},
		"GrownSecret":        {change("secrets", `{data: {a: eA==}}`, `{data: {a: `+strings.Repeat("eHh4", 100_000)+`}}`), "at most 256 KiB"},
		"BinaryData":         {do("configmaps", `{binaryData: {a: `+strings.Repeat("eHh4", 100_000)+`}}`), "at most 256 KiB"},
		"LargeOwners":        {do("configmaps", `{metadata: {ownerReferences: [`+many(4_000, "{apiVersion: v1, kind: Service, name: s%d, uid: "+strings.Repeat("z", 60)+"}")+`]}}`), "at most 256 KiB"},
		"GrownOwners":        {change("secrets", `{}`, `{metadata: {ownerReferences: [`+many(4_000, "{apiVersion: v1, kind: Service, name: s%d, uid: "+strings.Repeat("z", 60)+"}")+`]}}`), "at most 256 KiB"},
		"ManagedFields":      {do("configmaps", `{data: {`+many(4_000, "k%d: y")+`}, metadata: {managedFields: [{manager: vcluster, fieldsType: FieldsV1, fieldsV1: {"f:data": {`+many(4_000, `"f:k%d": {}`)+`}}}]}}`), ""},
		"LargeManagedFields": {do("configmaps", `{metadata: {managedFields: [{manager: vcluster, fieldsType: FieldsV1, fieldsV1: {"f:data": {`+many(10_000, `"f:`+strings.Repeat("k", 40)+`%d": {}`)+`}}}]}}`), "object take at most 256 KiB"},
		"LargeAnnotation":    {do("services", annotations(`kubectl.kubernetes.io/last-applied-configuration: `+strings.Repeat("x", 270_000))), "at most 256 KiB"},
		"AnnotatedPod":       {change("persistentvolumeclaims", plain, annotations(many(2_000, "a%d: "+strings.Repeat("z", 90)))), ""},
		"LargePod":           {change("pods/resize", plain, `{metadata: {`+copied+`}, spec: {containers: [{name: c, args: [`+strings.Repeat("x", 270_000)+`]}]}}`), "at most 256 KiB"},
		"AcrossTheCluster":   {request{by: "admin", resource: "rbac.authorization.k8s.io/clusterroles", object: labels(helm)}, ""},
		"OneOfItsNamespaces": {request{by: syncer, resource: "namespaces", name: "vargo-a", operation: admission.Update, old: `{}`, object: labels(helm)}, ""},
	}
}
