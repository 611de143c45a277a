// Package provider simulates provider-helm and provider-kubernetes for tenants whose virtual clusters don't exist.
//
// It uses the same code of Crossplane's libraries as the real providers: the reconciler of managed resources with its
// finalizers, annotations, conditions, events and connection Secrets, the controller of ProviderConfigs, the tracking of
// their usages, rate limits and polls. Polls, rates and whether Objects are watched follow from examples/install/runtime.yaml
// of the project that is tested, and from spec.watch of the Objects. What the providers work on is simulated:
//
//   - Helm. Helm's own library writes real records into the tenant's namespace on the host, including those of argo-cd,
//     which are really in the virtual cluster. An installation occupies a worker for as long as it takes. No object of a
//     chart is created.
//   - Virtual clusters. The Secret with the kubeconfig appears some time after the chart was installed. All virtual
//     clusters have the same client certificate. The simulation makes up the summary of Argo CD's workloads, the first
//     Application, the Ingress and the pod of the control plane.
//   - Jobs of tenants: those that make and restore backups, and have tenants fall asleep and wake up. The API server leaves them to the simulation,
//     which completes them after some time, with the reports that real ones write. No pod is created, and the store is in memory.
//
// Namespaces and ResourceQuotas are really created on the host, by an administrator, so that the rights of the tenants'
// installers aren't tested. For everything else, the providers act as their ServiceAccounts.
package provider
