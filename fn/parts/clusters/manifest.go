package clusters

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	kresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/tunnel"
)

// Deliver returns the connection details with the manifests of agents. Nothing is composed in the namespace of the claim, where its people could
// have it pose as something else of the tenant. What isn't known now stays as it is published; of a tunnel that isn't in the spec any more, the
// key is left, empty: Crossplane removes none.
func Deliver(t tenant.Tenant) (map[string][]byte, error) {
	out := map[string][]byte{}
	for key := range t.Observed.XRConnection {
		if strings.HasPrefix(key, tenant.TunnelPrefix) {
			out[key] = []byte{}
		}
	}
	for _, a := range t.Tunnels.Agents {
		key := tenant.TunnelKey(a.Name)
		if is := t.Observed.XRConnection[key]; a.Key == "" || t.Ingress.Hostname == "" {
			if len(is) > 0 {
				out[key] = is
			}
			continue
		}
		raw, err := manifest(t, a)
		if err != nil {
			return nil, fmt.Errorf("cannot write the manifest of an agent: %w", err)
		}
		out[key] = raw
	}
	return out, nil
}

// agentNamespace is the namespace of agents in closed clusters.
const agentNamespace = "virtual-argocd-agent"

// maxObject is the maximum length of the names of objects in a closed cluster.
const maxObject = 52

// manifest returns what is to be applied in a closed cluster. Its objects have the name of the claim and the cluster: several tenants can
// deploy to one cluster.
func manifest(t tenant.Tenant, a tenant.TunnelAgent) ([]byte, error) {
	name := tenant.BoundedLabel(cmp.Or(t.Claim.Name, t.Names.Tenant)+"-"+a.Name, maxObject)
	of := metav1.ObjectMeta{Namespace: agentNamespace, Name: name, Labels: map[string]string{"app.kubernetes.io/name": agentNamespace, "app.kubernetes.io/instance": name}}
	account := of
	account.Name = name + "-argocd"
	token := account
	token.Annotations = map[string]string{corev1.ServiceAccountNameKey: account.Name}
	wide := account
	wide.Namespace, wide.Name = "", agentNamespace+":"+account.Name
	files := map[string]string{tunnel.KeyFile: a.Key, tunnel.ServerFile: t.Tunnels.Server}
	if t.Tunnels.Authority != "" {
		files[tunnel.AuthorityFile] = t.Tunnels.Authority
	}
	parts := []struct {
		why    string
		object any
	}{
		{"The namespace of agents.", &corev1.Namespace{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: agentNamespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}},
		}},
		{"The account with which Argo CD deploys. The claim needs its token and its ca.crt.", &corev1.ServiceAccount{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: account, AutomountServiceAccountToken: new(bool),
		}},
		{"", &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: token, Type: corev1.SecretTypeServiceAccountToken}},
		{"What Argo CD may do here. Write another role to let it do less.", &rbacv1.ClusterRoleBinding{
			TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"}, ObjectMeta: wide,
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: agentNamespace, Name: account.Name}},
		}},
		{"The key of the agent, which is for this cluster alone, and the public key of the server, which the agent compares.", &corev1.Secret{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: of, Type: corev1.SecretTypeOpaque, StringData: files,
		}},
		{"Nobody connects to the agent. It connects to DNS, to the URL and to the API server: add the API server's port if it is another.", agentPolicy(of)},
		{"The agent. In a network with a proxy, add the environment variable HTTPS_PROXY.", agentDeployment(t, of)},
	}
	out := bytes.Buffer{}
	for _, p := range parts {
		m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p.object)
		if err != nil {
			return nil, err
		}
		resource.DropEmpty(m)
		delete(m, "status")
		raw, err := yaml.Marshal(m)
		if err != nil {
			return nil, err
		}
		out.WriteString("---\n")
		if p.why != "" {
			out.WriteString("# " + p.why + "\n")
		}
		out.Write(raw)
	}
	return out.Bytes(), nil
}

func agentPolicy(of metav1.ObjectMeta) *networkingv1.NetworkPolicy {
	ports := func(protocol corev1.Protocol, numbers ...int32) []networkingv1.NetworkPolicyPort {
		var out []networkingv1.NetworkPolicyPort
		for _, number := range numbers {
			out = append(out, networkingv1.NetworkPolicyPort{Protocol: new(protocol), Port: new(intstr.FromInt32(number))})
		}
		return out
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "NetworkPolicy"}, ObjectMeta: of,
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: of.Labels},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Egress: []networkingv1.NetworkPolicyEgressRule{
				{Ports: append(ports(corev1.ProtocolUDP, 53), ports(corev1.ProtocolTCP, 53)...)},
				{Ports: ports(corev1.ProtocolTCP, 443, 6443, 8443, 16443)},
			},
		},
	}
}

func agentDeployment(t tenant.Tenant, of metav1.ObjectMeta) *appsv1.Deployment {
	const folder = "/etc/tunnel"
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment"}, ObjectMeta: of,
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: of.Labels},
			// The server takes one agent with a key.
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: of.Labels},
				Spec: corev1.PodSpec{
					AutomountServiceAccountToken: new(bool), EnableServiceLinks: new(bool),
					SecurityContext: &corev1.PodSecurityContext{
						RunAsNonRoot: new(true), RunAsUser: new(int64(65532)), RunAsGroup: new(int64(65532)), FSGroup: new(int64(65532)),
						SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
					},
					Volumes: []corev1.Volume{{Name: "keys", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: of.Name}}}},
					Containers: []corev1.Container{{
						Name: "agent", Image: t.Tunnels.Image,
						Args:           []string{"tunnel", "agent", "--server=https://" + t.Ingress.Hostname + t.RootPath + tunnel.Path, "--folder=" + folder},
						Ports:          []corev1.ContainerPort{{Name: "health", ContainerPort: 8080}},
						ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromString("health")}}},
						Resources: corev1.ResourceRequirements{
							Requests: corev1.ResourceList{corev1.ResourceCPU: kresource.MustParse("10m"), corev1.ResourceMemory: kresource.MustParse("64Mi")},
							Limits:   corev1.ResourceList{corev1.ResourceMemory: kresource.MustParse("256Mi")},
						},
						SecurityContext: &corev1.SecurityContext{
							AllowPrivilegeEscalation: new(bool), ReadOnlyRootFilesystem: new(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
						},
						VolumeMounts: []corev1.VolumeMount{{Name: "keys", MountPath: folder, ReadOnly: true}},
					}},
				},
			},
		},
	}
}
