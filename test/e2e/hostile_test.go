//go:build e2e

package e2e

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// An attempt is one thing that a tenant tries, with the evidence that it fails, and that it does so for the right reason:
// each looks for the words of the refusal, or shows that the same works where it may.
type attempt struct {
	name string
	try  func(context.Context, *testing.T, *intrusion)
}

// attempts by the names that docs/threat-model.md has for them.
var attempts = []attempt{
	// Pods that would be more than a tenant's on their node.
	{"PrivilegedPod", podRefused("privileged", func(s *corev1.PodSpec) { security(s).Privileged = yes() })},
	{"HostPath", podRefused("hostPath volumes", func(s *corev1.PodSpec) {
		s.Volumes = append(s.Volumes, corev1.Volume{Name: "node", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}})
	})},
	{"HostNetwork", podRefused("hostNetwork=true", func(s *corev1.PodSpec) { s.HostNetwork = true })},
	{"HostPID", podRefused("hostPID=true", func(s *corev1.PodSpec) { s.HostPID = true })},
	{"HostIPC", podRefused("hostIPC=true", func(s *corev1.PodSpec) { s.HostIPC = true })},
	{"HostPort", podRefused("hostPort", func(s *corev1.PodSpec) {
		s.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: answerPort, HostPort: answerPort}}
	})},
	{"Capabilities", podRefused("non-default capabilities", func(s *corev1.PodSpec) {
		security(s).Capabilities = &corev1.Capabilities{Add: []corev1.Capability{"SYS_ADMIN"}}
	})},
	{"HostToken", hostToken},
	{"NodeVolume", nodeVolume},
	{"NodeByHostname", podNotCopied("a pod of a tenant chooses no node by name", onNodeByName)},
	{"Device", podNotCopied("a pod of a tenant asks for no resources but", withDevice)},
	{"CostlyLimit", podNotCopied(refusedAmount, withCostlyLimit)},
	{"CostlySizeLimit", podNotCopied(refusedAmount, withCostlySizeLimit)},
	{"LongGrace", podNotCopied("has a terminationGracePeriodSeconds of 60 or less", graceOf(61))},
	{"DeletedSlowly", deletedSlowly},

	// What it could reach.
	{"OtherTenantByPod", unreachable(asVictim, podsOfVictim)},
	{"OtherTenantByService", unreachable(asVictim, servicesOfVictim)},
	{"OtherTenantByName", byName},
	{"OtherTenantsNames", otherTenantsNames},
	{"HostAPIServer", unreachable(asBystander, hostAPIServer)},
	{"Kubelet", unreachable(asBystander, kubelets)},
	{"KubeletByProxy", kubeletByProxy},
	{"Metadata", unreachable(asBystander, metadataService)},
	{"HostPods", unreachable(asBystander, hostPods)},
	{"ByWebhook", byWebhook},
	{"ByCluster", byCluster},
	{"ByRepository", byRepository},
	{"OwnNetworkPolicy", ownNetworkPolicy},

	// What a developer of its own could do, with the rights to one namespace and one project.
	{"OwnDeveloper", ownDeveloper},
	{"DevelopersRights", developersRights},
	{"DevelopersProject", developersProject},

	// What it could have the platform do, in the namespace where it keeps its records.
	{"HelmRecord", helmRecord},
	{"HelmRecordByAdmin", helmRecordByAdmin},
	{"SnapshotOrder", orderRefused("vcluster.loft.sh/snapshot-request", "snapshotRequest")},
	{"OrderToRestore", orderRefused("vcluster.loft.sh/restore-request", "restoreRequest")},
	{"Kubeconfig", hostileKubeconfig},
	{"ClaimTakesOver", claimTakesOver},
	{"InstallerCannot", installerCannot},

	// What it could have the host's controllers do.
	{"Orders", ordersRefused},
	{"Endpoints", ownEndpoints},
	{"ExternalName", serviceRefused("not of type ExternalName", func(s *corev1.ServiceSpec) {
		s.Type, s.ExternalName, s.Selector = corev1.ServiceTypeExternalName, "metadata.internal", nil
	})},
	{"ExternalIPs", serviceRefused("has no externalIPs", func(s *corev1.ServiceSpec) { s.ExternalIPs = []string{"203.0.113.7"} })},
	{"NodePort", serviceRefused("not of type NodePort", func(s *corev1.ServiceSpec) { s.Type = corev1.ServiceTypeNodePort })},
	{"LoadBalancer", serviceRefused("services.loadbalancers", func(s *corev1.ServiceSpec) { s.Type = corev1.ServiceTypeLoadBalancer })},
	{"OtherTenantsHost", otherTenantsHost},
	{"CollidingNames", collidingNames},

	// What its claim could say.
	{"Values", valuesRefused},
	{"OtherNamespacesSecret", otherNamespacesSecret},
	{"UnlabelledSecret", unlabelledSecret},

	// What it could do to the providers, and so to others.
	{"StallsProviders", stallsProviders},
	{"VirtualClustersGone", virtualClustersGone},

	// What it could use up. These leave no room for more pods of mallory's.
	{"TooLarge", tooLarge},
	{"ManyPorts", serviceRefused("a Service of a tenant has at most 32 ports", manyPorts)},
	{"QuotaOfMemory", memoryRefused},
	{"QuotaOfStorage", storageRefused},
	{"QuotaOfPods", podsBounded},
	{"ManyObjects", manyObjects},

	// What it could leave behind.
	{"AfterTheClaim", afterTheClaim},
}

func TestHostileTenant(t *testing.T) {
	needsEmbedded(t)
	t.Parallel()
	ctx := context.Background()
	i := intrude(ctx, t)
	for _, a := range attempts {
		t.Run(a.name, func(t *testing.T) { a.try(ctx, t, i) })
	}
}

func yes() *bool {
	is := true
	return &is
}

func security(s *corev1.PodSpec) *corev1.SecurityContext {
	c := &s.Containers[0]
	if c.SecurityContext == nil {
		c.SecurityContext = &corev1.SecurityContext{}
	}
	return c.SecurityContext
}
