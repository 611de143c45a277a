// Package provider simulates provider-helm and provider-kubernetes for tenants whose virtual clusters don't exist.
//
// What the real providers take from Crossplane's libraries is the real code here, too: the reconciler of managed
// resources with its finalizers, annotations, conditions, events and connection Secrets, the controller of
// ProviderConfigs, the tracking of their users, rate limits and polls. Only what is behind it is simulated:
//
//   - Helm. Its records are real ones, written by Helm's own library into the tenant's namespace on the host, also those
//     of argo-cd, which are in the virtual cluster otherwise. An installation that waits occupies a worker as long as it
//     takes. Nothing of a chart is created.
//   - Virtual clusters. The Secret with the kubeconfig appears a while after the chart was installed. All have the same
//     client certificate. The summary of Argo CD's workloads, the first Application, the Ingress and the pod of the
//     control plane are made up.
//
// Namespaces and ResourceQuotas are really created on the host. That is done by an administrator: the rights of the
// tenants' installers aren't tried. For everything else the providers act as their ServiceAccounts.
package provider
