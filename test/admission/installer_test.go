package admission

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
)

const (
	installer = "system:serviceaccount:crossplane-system:vargo-a"
)

// TestInstaller: who installs the chart writes what the chart has.
func TestInstaller(t *testing.T) { ask(t, installs()) }

func installs() map[string]verdict {
	const not, empty = "writes nothing but what the vcluster chart has", `{spec: {template: {spec: {containers: []}}}}`
	do := func(operation admission.Operation, resource, name, object string) request {
		r := request{by: installer, operation: operation, resource: resource, namespace: "vargo-a", name: name, object: object}
		switch operation {
		case admission.Delete:
			r.object, r.old, r.options = "", object, &metav1.DeleteOptions{}
		case admission.Update:
			r.old = object
		}
		return r
	}
	create := func(resource, name string) request { return do(admission.Create, resource, name, `{spec: {}}`) }
	byName := create("serviceaccounts", "vc-vcluster")
	byName.object = `{metadata: {name: other}}`
	generated := create("serviceaccounts", "")
	generated.object = `{metadata: {generateName: vc-vcluster}}`
	elsewhere := create("configmaps", "x")
	elsewhere.namespace = "vargo-bare"
	ofAnother := create("serviceaccounts", "vc-vcluster")
	ofAnother.by = "system:serviceaccount:elsewhere:vargo-a"
	dry := func(operation admission.Operation, name string) request {
		r := do(operation, "pods", name, `{spec: {}}`)
		r.dryRun = true
		return r
	}
	const argocds = "argocd-server-x-argocd-x-vcluster"
	ingress := func(dryRun bool, name string) request {
		r := do(admission.Update, "networking.k8s.io/ingresses", name, `{spec: {}}`)
		r.dryRun = dryRun
		return r
	}
	record := do(admission.Create, "secrets", "sh.helm.release.v1.vcluster.v12", `{metadata: {labels: {owner: helm}}, type: helm.sh/release.v1}`)
	return map[string]verdict{
		"Account":            {create("serviceaccounts", "vc-vcluster"), ""},
		"WorkloadsAccount":   {create("serviceaccounts", "vc-workload-vcluster"), ""},
		"OtherAccount":       {create("serviceaccounts", "default"), not},
		"NameInTheObject":    {byName, not},
		"GeneratedName":      {generated, not},
		"Record":             {record, ""},
		"RecordRemoved":      {do(admission.Delete, "secrets", "sh.helm.release.v1.vcluster.v1", `{}`), ""},
		"RecordOfAnother":    {do(admission.Create, "secrets", "sh.helm.release.v1.other.v1", `{type: helm.sh/release.v1}`), not},
		"Configuration":      {do(admission.Update, "secrets", "vc-config-vcluster", `{type: Opaque}`), ""},
		"Kubeconfig":         {do(admission.Update, "secrets", "vc-vcluster", `{}`), not},
		"AllSecretsRemoved":  {do(admission.Delete, "secrets", "-", `{}`), not},
		"SetRemoved":         {do(admission.Delete, "apps/statefulsets", "vcluster", `{}`), ""},
		"DisruptionBudget":   {create("policy/poddisruptionbudgets", "vcluster"), ""},
		"OtherSet":           {do(admission.Create, "apps/statefulsets", "other", empty), not},
		"EtcdAsDeployment":   {do(admission.Create, "apps/deployments", "vcluster-etcd", empty), not},
		"DaemonSet":          {create("apps/daemonsets", "vcluster"), not},
		"Scale":              {do(admission.Update, "apps/statefulsets/scale", "vcluster", `{spec: {}}`), not},
		"Pod":                {create("pods", "vcluster"), not},
		"PodObserved":        {dry(admission.Update, "vcluster-0"), ""},
		"EtcdObserved":       {dry(admission.Update, "vcluster-etcd-0"), ""},
		"PodChanged":         {do(admission.Update, "pods", "vcluster-0", `{spec: {}}`), not},
		"OtherPodObserved":   {dry(admission.Update, "argocd-server"), not},
		"IngressObserved":    {ingress(true, argocds), ""},
		"IngressChanged":     {ingress(false, argocds), not},
		"OtherIngress":       {ingress(true, "grpc-x-argocd-x-vcluster"), not},
		"PodTried":           {dry(admission.Create, "vcluster-0"), not},
		"Enters":             {do(admission.Connect, "pods/exec", "vcluster-0", `{}`), not},
		"Proxies":            {do(admission.Connect, "services/proxy", "vcluster", `{}`), not},
		"Evicts":             {create("pods/eviction", "vcluster-0"), not},
		"AccountsToken":      {create("serviceaccounts/token", "vc-vcluster"), not},
		"Role":               {create("rbac.authorization.k8s.io/roles", "vc-vcluster"), not},
		"RoleBinding":        {create("rbac.authorization.k8s.io/rolebindings", "vc-vcluster"), not},
		"Policies":           {do(admission.Delete, "networking.k8s.io/networkpolicies", "virtual-argocd-tenant", `{}`), not},
		"Quota":              {do(admission.Update, "resourcequotas", "vc-vcluster", `{spec: {}}`), not},
		"ConfigMap":          {create("configmaps", "vcluster"), not},
		"OtherKinds":         {create("example.org/widgets", "vcluster"), not},
		"AccountOfAnyPlace":  {ofAnother, ""},
		"OtherTenantsObject": {elsewhere, "may write only in that tenant's namespace"},
	}
}

// TestChart: what the installer writes runs the chart's programs.
func TestChart(t *testing.T) { ask(t, charted()) }

func charted() map[string]verdict {
	const (
		set = `{spec: {replicas: 1, template: {metadata: {labels: {app: vcluster, release: vcluster}, annotations: {vClusterConfigHash: a}}, spec: {serviceAccountName: vc-vcluster, terminationGracePeriodSeconds: 15, initContainers: [{name: kubernetes, image: "` + imageOfKubernetes +
			`", command: [cp], args: ["-r", /kubernetes/., /binaries/]}], containers: [{name: syncer, image: "` + imageOfVCluster +
			`", livenessProbe: {httpGet: {}}, env: [{name: POD_NAME}, {name: PLATFORMS}]}], volumes: [{emptyDir: {}}, {secret: {secretName: vc-config-vcluster}}]}}, volumeClaimTemplates: [{metadata: {name: data}, spec: {}}]}}`
		etcd = `{spec: {template: {metadata: {labels: {app: vcluster-etcd, release: vcluster}}, spec: {serviceAccountName: vc-vcluster, containers: [{name: etcd, image: "` + imageOfEtcd +
			`", command: [etcd, --data-dir=/var/lib/etcd, "--advertise-client-urls=https://$(NAME).vcluster-etcd-headless.vargo-a:2379", ` +
			`"--initial-cluster=vcluster-etcd-0=https://vcluster-etcd-0.vcluster-etcd-headless.vargo-a:2380,vcluster-etcd-1=https://vcluster-etcd-1.vcluster-etcd-headless.vargo-a:2380"]}]}}}}`
		images, commands, run = "runs no images but", "are the vcluster chart's, with its commands", "may have no lifecycle hooks but a pause before they stop, and no exec probes"
		devices               = "the control plane of a tenant asks for no resources but cpu, memory, ephemeral-storage, example.org/tpm"
		account, service      = "run as vc-vcluster", `{spec: {type: ClusterIP, selector: {app: vcluster, release: vcluster}}}`
	)
	do := func(resource, name, object string) request {
		return request{by: installer, resource: resource, namespace: "vargo-a", name: name, object: object}
	}
	but := func(from, to string) request {
		return do("apps/statefulsets", "vcluster", strings.Replace(set, from, to, 1))
	}
	etcdBut := func(from, to string) request {
		return do("apps/statefulsets", "vcluster-etcd", strings.Replace(etcd, from, to, 1))
	}
	serviceBut := func(from, to string) request {
		return do("services", "vcluster", strings.Replace(service, from, to, 1))
	}
	later := but(imageOfVCluster, "evil.example.org/x")
	later.old = set
	deployment := do("apps/deployments", "vcluster", strings.Replace(set, imageOfVCluster, "evil.example.org/x", 1))
	secret := do("secrets", "vc-config-vcluster", `{type: kubernetes.io/service-account-token}`)
	secret.old = `{type: Opaque}`
	led := serviceBut("app: vcluster", "app: other")
	led.old = service
	bare := do("apps/statefulsets", "vcluster", set)
	bare.namespace, bare.by = "vargo-bare", "system:serviceaccount:crossplane-system:vargo-bare"
	named := do("serviceaccounts", "vc-vcluster", `{metadata: {annotations: {eks.amazonaws.com/role-arn: a}}}`)
	named.old = `{}`
	pulls := do("serviceaccounts", "vc-workload-vcluster", `{imagePullSecrets: [{name: image-pull-a-x-argocd-x-vcluster}]}`)
	pulls.old = `{}`
	return map[string]verdict{
		"StatefulSet":         {but("", ""), ""},
		"Resources":           {but("livenessProbe", "resources: {limits: {cpu: 2, memory: 1Gi, ephemeral-storage: 8Gi}, requests: {cpu: 60m}}, livenessProbe"), ""},
		"Device":              {but("livenessProbe", "resources: {limits: {nvidia.com/gpu: 8}}, livenessProbe"), devices},
		"HugePages":           {but("livenessProbe", "resources: {requests: {hugepages-2Mi: 1Gi}}, livenessProbe"), devices},
		"DeviceOfInit":        {but("command: [cp]", "resources: {limits: {nvidia.com/gpu: 8}}, command: [cp]"), devices},
		"DeviceOfPod":         {but("terminationGracePeriodSeconds", "resources: {limits: {nvidia.com/gpu: 8}}, terminationGracePeriodSeconds"), devices},
		"DeviceOfPlan":        {but("livenessProbe", "resources: {limits: {example.org/tpm: 1}}, livenessProbe"), ""},
		"ResourceClaim":       {but("terminationGracePeriodSeconds", "resourceClaims: [{name: a}], terminationGracePeriodSeconds"), "names no ResourceClaims"},
		"OlderCopy":           {but(`"-r"`, `"-a"`), ""},
		"Deployment":          {do("apps/deployments", "vcluster", strings.Replace(set, ", volumeClaimTemplates: [{metadata: {name: data}, spec: {}}]", "", 1)), ""},
		"OtherImage":          {but(imageOfVCluster, "evil.example.org/x"), images},
		"OtherImageLater":     {later, images},
		"DeploymentsImage":    {deployment, images},
		"InitImage":           {but(imageOfKubernetes, "evil.example.org/x"), images},
		"ImagesUnknown":       {bare, "virtualargocd.io/images, which isn't there"},
		"Command":             {but("name: syncer", "name: syncer, command: [sh]"), commands},
		"Arguments":           {but("name: syncer", "name: syncer, args: [x]"), commands},
		"Copies":              {but("/kubernetes/.", "/"), commands},
		"Sidecar":             {but("name: syncer", "name: other"), commands},
		"Hook":                {but("name: syncer", "lifecycle: {preStop: {exec: {command: [sh]}}}, name: syncer"), run},
		"HookAtStart":         {but("name: syncer", "lifecycle: {postStart: {sleep: {seconds: 5}}}, name: syncer"), run},
		"HookAtBothEnds":      {but("name: syncer", "lifecycle: {preStop: {sleep: {seconds: 5}}, postStart: {exec: {command: [sh]}}}, name: syncer"), run},
		"Pause":               {but("name: syncer", "lifecycle: {preStop: {sleep: {seconds: 5}}}, name: syncer"), ""},
		"Probe":               {but("httpGet: {}", "exec: {command: [sh]}"), run},
		"KubeletRequests":     {but("httpGet: {}", "httpGet: {host: 169.254.169.254}"), "leave host out"},
		"KubeletConnects":     {but("httpGet: {}", "tcpSocket: {host: 10.96.0.1}"), "leave host out"},
		"KeepsOthersAway":     {but("serviceAccountName", "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/os, namespaceSelector: {}}]}}, serviceAccountName"), "keep no pods of other namespaces away"},
		"KeepsOneAway":        {but("serviceAccountName", "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/os, namespaces: [vargo-b]}]}}, serviceAccountName"), "keep no pods of other namespaces away"},
		"Spreads":             {but("serviceAccountName", "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname}], preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: a, namespaceSelector: {}}}]}}, serviceAccountName"), ""},
		"OtherAccount":        {but("serviceAccountName: vc-vcluster, ", "serviceAccountName: default, "), account},
		"OnANode":             {but("serviceAccountName", "nodeName: a, serviceAccountName"), account},
		"NamesOfHosts":        {but("serviceAccountName", "hostAliases: [{ip: 192.0.2.1}], serviceAccountName"), account},
		"FolderOfTheNode":     {but("emptyDir", "hostPath"), "the volumes of a tenant's control plane"},
		"OthersSecret":        {but("vc-config-vcluster", "x"), "the volumes of a tenant's control plane"},
		"FilesOfAConfigMap":   {but("emptyDir", "configMap"), "the volumes of a tenant's control plane"},
		"TokenOfItsChoice":    {but("emptyDir", "projected"), "the volumes of a tenant's control plane"},
		"OnHostname":          {but("serviceAccountName", "nodeSelector: {kubernetes.io/hostname: a}, serviceAccountName"), "choose no node by name"},
		"OnNodesName":         {but("serviceAccountName", "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [a]}]}]}}}, serviceAccountName"), "choose no node by name"},
		"OnKindOfNode":        {but("serviceAccountName", "nodeSelector: {pool: a}, serviceAccountName"), ""},
		"Tolerates":           {but("serviceAccountName", "tolerations: [{key: other}], serviceAccountName"), "tolerate no taints but those of its plan: plans-a"},
		"ToleratesAll":        {but("serviceAccountName", "tolerations: [{operator: Exists}], serviceAccountName"), "tolerate no taints"},
		"ToleratesPlans":      {but("serviceAccountName", "tolerations: [{key: plans-a}], serviceAccountName"), ""},
		"Priority":            {but("serviceAccountName", "priorityClassName: system-node-critical, serviceAccountName"), "no PriorityClass but"},
		"PlansPriority":       {but("serviceAccountName", "priorityClassName: plans, serviceAccountName"), ""},
		"ManyReplicas":        {but("replicas: 1", "replicas: 2000000000"), "at most 9 replicas"},
		"LongGrace":           {but("Seconds: 15", "Seconds: 2147483647"), "end within 60 seconds"},
		"AsACopy":             {but("app: vcluster,", "app: vcluster, vcluster.loft.sh/managed-by: x,"), "labels and annotations of the vcluster chart"},
		"AsAnother":           {but("app: vcluster,", "app: x,"), "labels and annotations of the vcluster chart"},
		"Orders":              {but("vClusterConfigHash", "k8s.v1.cni.cncf.io/networks"), "labels and annotations of the vcluster chart"},
		"Environment":         {but("name: POD_NAME", "name: LD_PRELOAD"), "no environment variables but"},
		"EnvironmentOfAll":    {but("env: [", "envFrom: [{secretRef: {name: x}}], env: ["), "no environment variables but"},
		"Finalizer":           {but("{spec: {replicas", "{metadata: {finalizers: [a/b]}, spec: {replicas"), "no finalizers"},
		"VolumeOfOthers":      {but("name: data}, spec: {", "name: data}, spec: {volumeName: pv-1"), "in a volume that is made for it"},
		"CopyOfOthers":        {but("name: data}, spec: {", "name: data}, spec: {dataSource: {}"), "in a volume that is made for it"},
		"Etcd":                {etcdBut("", ""), ""},
		"EtcdsOtherCluster":   {etcdBut("https://vcluster-etcd-1.", "https://evil.example.org,x."), commands},
		"EtcdsOtherNamespace": {etcdBut("headless.vargo-a:2379", "headless.vargo-b:2379"), commands},
		"EtcdsFlag":           {etcdBut("--data-dir=/var/lib/etcd", "--log-outputs=/x"), commands},
		"EtcdsArguments":      {etcdBut("command: [etcd", "args: [x], command: [etcd"), commands},
		"EtcdAsShell":         {etcdBut("command: [etcd", "command: [sh"), commands},
		"Service":             {serviceBut("", ""), ""},
		"HeadlessService":     {do("services", "vcluster-etcd-headless", `{spec: {clusterIP: None, selector: {app: vcluster-etcd, release: vcluster}}}`), ""},
		"LoadBalancer":        {serviceBut("ClusterIP", "LoadBalancer"), "of type ClusterIP"},
		"ServiceLeadsAway":    {led, "lead to its own pods"},
		"ServiceWithout":      {do("services", "vcluster", `{spec: {}}`), "lead to its own pods"},
		"EtcdLeadsAway":       {do("services", "vcluster-etcd", service), "lead to its own pods"},
		"ServicesOrders":      {serviceBut("{spec", "{metadata: {annotations: {tailscale.com/expose: a}}, spec"), "no annotations for controllers"},
		"CloudRole":           {named, "may not have an identity of a cloud"},
		"CloudLabel":          {do("serviceaccounts", "vc-workload-vcluster", `{metadata: {labels: {azure.workload.identity/use: "true"}}}`), "may not have an identity of a cloud"},
		"PlatformsAnnotation": {do("serviceaccounts", "vc-vcluster", `{metadata: {annotations: {example.org/a: b}}}`), ""},
		"ImagePullSecrets":    {pulls, ""},
		"TokenAsConfig":       {secret, "may write only vcluster's configuration and Helm release records as Secrets"},
		"TokenAsRecord":       {do("secrets", "sh.helm.release.v1.vcluster.v1", `{type: kubernetes.io/service-account-token}`), "may write only vcluster's configuration and Helm release records as Secrets"},
	}
}

// TestQuota: provider-kubernetes writes the quota, as the installer. Helm, which is the installer too, can't.
func TestQuota(t *testing.T) { ask(t, quotas()) }

func quotas() map[string]verdict {
	const not = "writes nothing but what the vcluster chart has"
	do := func(resource, name, manager string) request {
		r := request{by: installer, resource: resource, namespace: "vargo-a", name: name, object: `{spec: {}}`, options: &metav1.PatchOptions{FieldManager: manager}}
		if manager == "" {
			r.options = &metav1.CreateOptions{}
		}
		return r
	}
	const kubernetes = "provider-kubernetes/a-quota"
	later := func(r request) request {
		r.old, r.options = `{spec: {}}`, &metav1.PatchOptions{FieldManager: r.options.(*metav1.PatchOptions).FieldManager}
		return r
	}
	gone := request{by: installer, operation: admission.Delete, resource: "resourcequotas", namespace: "vargo-a", name: "virtual-argocd", old: `{spec: {}}`, options: &metav1.DeleteOptions{}}
	elsewhere := do("resourcequotas", "virtual-argocd", kubernetes)
	elsewhere.namespace = "vargo-bare"
	return map[string]verdict{
		"Quota":         {do("resourcequotas", "virtual-argocd", kubernetes), ""},
		"QuotaLater":    {later(do("resourcequotas", "virtual-argocd", kubernetes)), ""},
		"ByHelm":        {do("resourcequotas", "virtual-argocd", "provider-helm"), not},
		"ByHelmLater":   {later(do("resourcequotas", "virtual-argocd", "provider-helm")), not},
		"ByNobody":      {do("resourcequotas", "virtual-argocd", ""), not},
		"QuotaRemoved":  {gone, not},
		"OtherQuota":    {do("resourcequotas", "other", kubernetes), not},
		"QuotasStatus":  {do("resourcequotas/status", "virtual-argocd", kubernetes), not},
		"LimitRange":    {do("limitranges", "virtual-argocd", kubernetes), not},
		"NetworkPolicy": {do("networking.k8s.io/networkpolicies", "virtual-argocd-tenant", kubernetes), not},
		"OtherTenants":  {elsewhere, "may write only in that tenant's namespace"},
	}
}
