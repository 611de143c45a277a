package admission

import (
	"testing"

	"k8s.io/apiserver/pkg/admission"
)

const (
	helm       = "system:serviceaccount:crossplane-system:virtual-argocd-provider-helm"
	kubernetes = "system:serviceaccount:crossplane-system:virtual-argocd-provider-kubernetes"
)

// TestConfinement: by their own accounts the providers keep their records, and make namespaces.
func TestConfinement(t *testing.T) { ask(t, confined()) }

func confined() map[string]verdict {
	const (
		not   = "the providers of virtual-argocd write Secrets"
		good  = `{metadata: {labels: {virtualargocd.io/tenant: a, pod-security.kubernetes.io/enforce: baseline}}}`
		level = "enforces Pod Security baseline or restricted"
	)
	do := func(by, resource, namespace, object string) request {
		return request{by: by, resource: resource, namespace: namespace, name: "x", object: object}
	}
	change := func(r request, old string) request {
		r.old = old
		return r
	}
	does := func(operation admission.Operation, r request) request {
		if r.operation = operation; operation == admission.Delete {
			r.object, r.old = "", r.object
		}
		return r
	}
	space := func(name, old, object string) request {
		return request{by: kubernetes, resource: "namespaces", name: name, old: old, object: object}
	}
	resolver := func(by, name string, dryRun bool) request {
		return request{by: by, resource: "services", namespace: "virtual-argocd-dns", name: name, old: `{}`, object: `{}`, dryRun: dryRun}
	}
	gateway := func(by, resource string, dryRun bool) request {
		return request{by: by, resource: "gateway.networking.k8s.io/" + resource, namespace: "gateways", name: "public", old: `{spec: {}}`, object: `{spec: {}}`, dryRun: dryRun}
	}
	elsewhere, made := resolver(kubernetes, "resolver", true), resolver(kubernetes, "resolver", true)
	elsewhere.namespace, made.old = "kube-system", ""
	byHelm := space("vargo-a", "", good)
	byHelm.by = helm
	return map[string]verdict{
		"ConnectionSecret":   {do(helm, "secrets", "crossplane-system", `{type: connection.crossplane.io/v1alpha1}`), ""},
		"OwnLease":           {change(do(kubernetes, "coordination.k8s.io/leases", "crossplane-system", `{}`), `{}`), ""},
		"OwnConfigMap":       {do(helm, "configmaps", "crossplane-system", `{}`), ""},
		"TenantsSecret":      {do(helm, "secrets", "vargo-a", `{}`), "in vargo-a"},
		"OthersSecret":       {do(helm, "secrets", "kube-system", `{}`), "not secrets in kube-system"},
		"OthersSecretLater":  {change(do(helm, "secrets", "kube-system", `{}`), `{}`), not},
		"OthersSecretGone":   {does(admission.Delete, do(helm, "secrets", "kube-system", `{}`)), not},
		"OthersPod":          {do(helm, "pods", "default", `{spec: {containers: []}}`), not},
		"CrossplanesPod":     {do(helm, "pods", "crossplane-system", `{spec: {containers: []}}`), not},
		"CrossplanesAccount": {do(helm, "serviceaccounts", "crossplane-system", `{}`), not},
		"CrossplanesToken":   {do(kubernetes, "serviceaccounts/token", "crossplane-system", `{}`), not},
		"CrossplanesRole":    {do(kubernetes, "rbac.authorization.k8s.io/rolebindings", "crossplane-system", `{}`), not},
		"CrossplanesApp":     {change(do(helm, "apps/deployments", "crossplane-system", `{spec: {}}`), `{spec: {}}`), not},
		"Enters":             {does(admission.Connect, do(helm, "pods/exec", "crossplane-system", `{}`)), not},
		"ClusterRole":        {do(helm, "rbac.authorization.k8s.io/clusterroles", "", `{}`), "not clusterroles in none"},
		"Node":               {change(do(kubernetes, "nodes", "", `{}`), `{}`), not},
		"OthersLease":        {do(kubernetes, "coordination.k8s.io/leases", "kube-system", `{}`), not},
		"AccountToken":       {do(helm, "secrets", "crossplane-system", `{type: kubernetes.io/service-account-token}`), "ask for no tokens"},
		"BootstrapToken":     {do(kubernetes, "secrets", "crossplane-system", `{type: bootstrap.kubernetes.io/token}`), "ask for no tokens"},
		"ResolverSeen":       {resolver(kubernetes, "resolver", true), ""},
		"ResolverChanged":    {resolver(kubernetes, "resolver", false), "not services in virtual-argocd-dns"},
		"ResolverByHelm":     {resolver(helm, "resolver", true), not},
		"ResolversNeighbour": {resolver(kubernetes, "other", true), not},
		"ServiceSeen":        {elsewhere, not},
		"ResolverMade":       {made, not},
		"ResolverGone":       {does(admission.Delete, resolver(kubernetes, "resolver", true)), not},
		"GatewaySeen":        {gateway(kubernetes, "gateways", true), ""},
		"GatewayChanged":     {gateway(kubernetes, "gateways", false), "not gateways in gateways"},
		"GatewayByHelm":      {gateway(helm, "gateways", true), not},
		"GatewaysStatus":     {gateway(kubernetes, "gateways/status", true), not},
		"AnybodysRoute":      {gateway(kubernetes, "httproutes", true), not},
		"Events":             {do(kubernetes, "events", "default", `{}`), ""},
		"OwnKinds":           {do(kubernetes, "example.org/usages", "", `{}`), ""},
		"SomebodyElse":       {do("admin", "secrets", "kube-system", `{}`), ""},

		"TenantsNamespace":     {space("vargo-a", "", good), ""},
		"TenantsNamespaceGone": {does(admission.Delete, space("vargo-a", "", good)), ""},
		"TenantsNamespaceNote": {space("vargo-a", good, `{metadata: {annotations: {virtualargocd.io/images: a}, labels: {virtualargocd.io/tenant: a, pod-security.kubernetes.io/enforce: baseline}}}`), ""},
		"ByTheOtherProvider":   {byHelm, not},
		"OthersNamespace":      {space("default", "", good), not},
		"OthersNamespaceGone":  {does(admission.Delete, space("default", "", good)), "not namespaces in default"},
		"LookalikeNamespace":   {space("my-vargo-a", "", good), not},
		"Finalized":            {request{by: kubernetes, resource: "namespaces/finalize", name: "vargo-a", old: good, object: good}, not},
		"Unlabelled":           {space("vargo-a", "", `{metadata: {labels: {pod-security.kubernetes.io/enforce: baseline}}}`), "has the label virtualargocd.io/tenant"},
		"LosesItsLabel":        {space("vargo-a", good, `{metadata: {labels: {pod-security.kubernetes.io/enforce: baseline}}}`), "has the label virtualargocd.io/tenant"},
		"OfAnotherTenant":      {space("vargo-a", good, `{metadata: {labels: {virtualargocd.io/tenant: b, pod-security.kubernetes.io/enforce: baseline}}}`), "and keeps it"},
		"Privileged":           {space("vargo-a", "", `{metadata: {labels: {virtualargocd.io/tenant: a, pod-security.kubernetes.io/enforce: privileged}}}`), level},
		"Unsecured":            {space("vargo-a", good, `{metadata: {labels: {virtualargocd.io/tenant: a}}}`), level},
		"LessThanBefore":       {space("vargo-a", `{metadata: {labels: {virtualargocd.io/tenant: a, pod-security.kubernetes.io/enforce: restricted}}}`, good), level},
		"MoreThanBefore":       {space("vargo-a", good, `{metadata: {labels: {virtualargocd.io/tenant: a, pod-security.kubernetes.io/enforce: restricted}}}`), ""},
		"OldVersion":           {space("vargo-a", good, `{metadata: {labels: {virtualargocd.io/tenant: a, pod-security.kubernetes.io/enforce: baseline, pod-security.kubernetes.io/enforce-version: v1.0}}}`), "the latest Pod Security"},
	}
}

// TestBackups: the account of a tenant's backups runs commands in the tenant's control plane, and reports.
func TestBackups(t *testing.T) { ask(t, backups()) }

func backups() map[string]verdict {
	const (
		account = "system:serviceaccount:crossplane-system:backup-vargo-a"
		not     = "the account of a tenant's backups may run commands in that tenant's control plane, and report"
	)
	enter := func(resource, namespace, pod string) request {
		return request{by: account, operation: admission.Connect, resource: resource, namespace: namespace, name: pod, object: `{}`}
	}
	report := func(resource, namespace, old string) request {
		return request{by: account, resource: resource, namespace: namespace, name: "a-backup", old: old, object: `{}`}
	}
	gone := report("configmaps", "crossplane-system", `{}`)
	gone.operation, gone.object = admission.Delete, ""
	elsewhere := report("configmaps", "kube-system", `{}`)
	elsewhere.by = "system:serviceaccount:kube-system:backup-vargo-a"
	return map[string]verdict{
		"ControlPlane":      {enter("pods/exec", "vargo-a", "vcluster-0"), ""},
		"ControlPlaneOfHA":  {enter("pods/exec", "vargo-a", "vcluster-6d4cf56db6-x7k2p"), ""},
		"Report":            {report("configmaps", "crossplane-system", `{}`), ""},
		"ReportElsewhere":   {elsewhere, ""},
		"OthersControl":     {enter("pods/exec", "vargo-bare", "vcluster-0"), not},
		"TenantsPod":        {enter("pods/exec", "vargo-a", "web-x-default-x-vcluster"), not},
		"TenantsLookalike":  {enter("pods/exec", "vargo-a", "vcluster-web-x-default-x-vcluster"), not},
		"Store":             {enter("pods/exec", "vargo-a", "vcluster-etcd-0"), not},
		"Crossplane":        {enter("pods/exec", "crossplane-system", "vcluster-0"), not},
		"Attach":            {enter("pods/attach", "vargo-a", "vcluster-0"), not},
		"Forward":           {enter("pods/portforward", "vargo-a", "vcluster-0"), not},
		"NewConfigMap":      {report("configmaps", "crossplane-system", ""), not},
		"NoConfigMap":       {gone, not},
		"OthersConfigMap":   {report("configmaps", "kube-system", `{}`), not},
		"RestoredSecret":    {report("secrets", "crossplane-system", `{}`), ""},
		"NewSecret":         {report("secrets", "crossplane-system", ""), not},
		"TenantsConfigMap":  {report("configmaps", "vargo-a", `{}`), not},
		"AlmostItsTenant":   {request{by: "system:serviceaccount:crossplane-system:backup-vargo-aa", operation: admission.Connect, resource: "pods/exec", namespace: "vargo-a", name: "vcluster-0", object: `{}`}, not},
		"SomebodyElsesExec": {request{by: "admin", operation: admission.Connect, resource: "pods/exec", namespace: "default", name: "x", object: `{}`}, ""},
	}
}

// TestAccounts: the accounts of a tenant's namespace write nowhere else.
func TestAccounts(t *testing.T) { ask(t, accounts()) }

func accounts() map[string]verdict {
	const other, unlabelled = "may write only in that tenant's namespace", "without the label virtualargocd.io/tenant"
	do := func(by, namespace string) request {
		return request{by: by, resource: "serviceaccounts", namespace: namespace, name: "vc-vcluster", object: `{}`}
	}
	role := request{by: installer, resource: "rbac.authorization.k8s.io/clusterroles", name: "x", object: `{}`}
	gone := request{by: installer, operation: admission.Delete, resource: "namespaces", name: "vargo-a", old: `{}`}
	enter := request{by: installer, operation: admission.Connect, resource: "pods/exec", namespace: "crossplane-system", name: "x", object: `{}`}
	change := do(installer, "kube-system")
	change.old = `{}`
	return map[string]verdict{
		"InItsOwn":         {do(installer, "vargo-a"), ""},
		"InAnothers":       {do(installer, "vargo-gpu"), other},
		"InCrossplanes":    {do(installer, "crossplane-system"), other},
		"ChangesElsewhere": {change, other},
		"EntersElsewhere":  {enter, other},
		"ClusterRole":      {role, other},
		"NamespaceGone":    {gone, other},
		// With connectionSecretNamespace of the input, the installers are in that namespace.
		"OfOwnNamespace":  {do("system:serviceaccount:secrets:vargo-a", "vargo-a"), ""},
		"OfOwnElsewhere":  {do("system:serviceaccount:secrets:vargo-a", "kube-system"), other},
		"OfOwnInAnothers": {do("system:serviceaccount:secrets:vargo-a", "vargo-gpu"), other},
		"Unlabelled":      {do("system:serviceaccount:crossplane-system:vargo-unlabelled", "vargo-unlabelled"), unlabelled},
	}
}
