package story

// What Crossplane and the product say, as stateOf writes it.
const (
	success, waiting, available, deleting = "True ReconcileSuccess", "False Waiting", "True Available", "False Deleting"
	accepted                              = "True Accepted"

	installing           = "False Installing"
	waitingForNamespace  = "False WaitingForNamespace"
	waitingForVirtual    = "False WaitingForVirtualCluster"
	waitingForWorkloads  = "False WaitingForWorkloads"
	waitingForPassword   = "False WaitingForPassword"
	workloadsUnavailable = "False WorkloadsUnavailable"
	installFailed        = "False InstallFailed"
	upgradeFailed        = "False UpgradeFailed"
)

// way is what a tenant's claim says from its creation to its end.
var way = []station{
	// It comes up.
	{State{}, true},
	{State{Synced: success, Ready: waiting}, true},
	{State{"Pending", success, waiting, waitingForNamespace, waitingForVirtual, accepted}, false},
	{State{"Provisioning", success, waiting, installing, waitingForVirtual, accepted}, false},
	{State{"Provisioning", success, waiting, available, installing, accepted}, false},
	{State{"Provisioning", success, waiting, available, waitingForWorkloads, accepted}, true},
	{State{"Provisioning", success, waiting, available, waitingForPassword, accepted}, true},
	{State{"Ready", success, available, available, available, accepted}, false},

	// A value changes. The only pod of the application controller is replaced, which may be seen after Helm says that it has been. On a
	// busy host, the claim may say once more that it waits for Helm.
	{State{"Updating", success, waiting, available, installing, accepted}, false},
	{State{"Updating", success, waiting, available, waitingForWorkloads, accepted}, true},
	{State{"Updating", success, waiting, available, installing, accepted}, true},
	{State{"Updating", success, waiting, available, waitingForWorkloads, accepted}, true},
	{State{"Ready", success, available, available, available, accepted}, false},

	// The virtual API server refuses a change three times, and Helm rolls it back. The claim may be Updating once more when the provider is
	// told to leave it.
	{State{"Updating", success, waiting, available, installing, accepted}, true},
	{State{"Degraded", success, waiting, available, installFailed, accepted}, false},
	{State{"Degraded", success, waiting, available, installFailed, upgradeFailed}, true},
	{State{"Ready", success, available, available, available, upgradeFailed}, false},
	{State{"Updating", success, waiting, available, installing, upgradeFailed}, true},
	{State{"Ready", success, available, available, available, upgradeFailed}, true},

	// The change is corrected.
	{State{"Updating", success, waiting, available, installing, accepted}, false},
	{State{"Updating", success, waiting, available, waitingForWorkloads, accepted}, true},
	{State{"Updating", success, waiting, available, installing, accepted}, true},
	{State{"Updating", success, waiting, available, waitingForWorkloads, accepted}, true},
	{State{"Ready", success, available, available, available, accepted}, false},

	// A change breaks Argo CD, and Helm finds it ready all the same. The claim is Updating for ten seconds more, in which the workloads may
	// still be seen as they were during the change. On a busy host they may even be seen as before it, so that the claim is Ready for a moment.
	{State{"Updating", success, waiting, available, installing, accepted}, false},
	{State{"Updating", success, waiting, available, waitingForWorkloads, accepted}, true},
	{State{"Updating", success, waiting, available, installing, accepted}, true},
	{State{"Updating", success, waiting, available, waitingForWorkloads, accepted}, true},
	{State{"Ready", success, available, available, available, accepted}, true},
	{State{"Degraded", success, waiting, available, workloadsUnavailable, accepted}, false},

	// The change is corrected.
	{State{"Updating", success, waiting, available, installing, accepted}, false},
	{State{"Updating", success, waiting, available, waitingForWorkloads, accepted}, true},
	{State{"Updating", success, waiting, available, installing, accepted}, true},
	{State{"Updating", success, waiting, available, waitingForWorkloads, accepted}, true},
	{State{"Ready", success, available, available, available, accepted}, false},

	// A workload breaks and heals.
	{State{"Degraded", success, waiting, available, workloadsUnavailable, accepted}, false},
	{State{"Ready", success, available, available, available, accepted}, false},

	// The virtual cluster doesn't answer for a while.
	{State{"Degraded", success, waiting, available, workloadsUnavailable, accepted}, false},
	{State{"Ready", success, available, available, available, accepted}, false},

	// It is deleted.
	{State{"Ready", success, deleting, available, available, accepted}, true},
}
