// Package job composes Jobs of the platform's namespace, each of which does something to one tenant with an account of its own.
package job

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	composed "github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// labelPackage is the label by which examples/install/network.yaml selects pods.
const labelPackage = "virtualargocd.io/package"

// TokenPath is where a container has the token of its account, if it mounts Token.
const TokenPath = "/var/run/secrets/kubernetes.io/serviceaccount" //nolint:gosec // It is no token.

// Of says what a Job consists of.
type Of struct {
	// Account that it uses, and Package is the label by which NetworkPolicies select its pods.
	Account, Package string
	// Script runs in each container, with the name of the step as its first argument.
	Script string
	Steps  []Step
	// Volumes that steps may mount, beside those that all have.
	Volumes []Volume
	// Memory that each step may take, and Reserved is what of it no other pod gets.
	Memory, Reserved resource.Quantity
}

// A Step is a container. They run one after the other.
type Step struct {
	Name, Image string
	// Env has names and values in turn. PodIn is the name of a variable with the UID of the pod; "" for none.
	Env   []string
	PodIn string
	// Mounts are the names of volumes.
	Mounts []string
}

// A Volume is one that steps may mount.
type Volume struct {
	Name, Path string
	// All reports whether each step has it, and may write to it.
	All  bool
	From corev1.VolumeSource
}

// InMemory is a volume in memory.
func InMemory(most resource.Quantity) corev1.VolumeSource {
	return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: &most}}
}

// Projected is a volume with files from several sources.
func Projected(sources ...corev1.VolumeProjection) corev1.VolumeSource {
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: sources}}
}

// Token is the volume with what a pod has to reach the host's API server with.
var Token = Volume{Name: "token", Path: TokenPath, From: Projected(
	corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: new(int64(3600))}},
	corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
	corev1.VolumeProjection{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}}}},
)}

// tmp is the volume in which each step has a folder of its own.
const tmp = "tmp"

// mostCPU is what each step may take of the processors. What it works on was written by strangers, who would otherwise choose how much it takes.
var mostCPU = resource.MustParse("1")

// Spec returns what a Job runs.
func Spec(t tenant.Tenant, of Of) batchv1.JobSpec {
	labels := composed.OfTenant(t)
	labels[labelPackage] = of.Package
	all := append([]Volume{{Name: tmp, Path: "/tmp", All: true, From: InMemory(resource.MustParse("16Mi"))}}, of.Volumes...)
	uses := map[string]bool{}
	var containers []corev1.Container
	for _, s := range of.Steps {
		c := corev1.Container{
			Name: s.Name, Image: s.Image, Command: []string{"/bin/sh", "-c", of.Script, s.Name, s.Name},
			Env: []corev1.EnvVar{{Name: "HOME", Value: "/tmp"}},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("20m"), corev1.ResourceMemory: of.Reserved},
				Limits:   corev1.ResourceList{corev1.ResourceCPU: mostCPU, corev1.ResourceMemory: of.Memory},
			},
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(bool), ReadOnlyRootFilesystem: new(true),
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}
		for i := 0; i < len(s.Env); i += 2 {
			c.Env = append(c.Env, corev1.EnvVar{Name: s.Env[i], Value: s.Env[i+1]})
		}
		if s.PodIn != "" {
			c.Env = append(c.Env, corev1.EnvVar{Name: s.PodIn, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.uid"}}})
		}
		mounts := map[string]bool{}
		for _, name := range s.Mounts {
			mounts[name] = true
		}
		for _, v := range all {
			if v.All || mounts[v.Name] {
				uses[v.Name] = true
				mount := corev1.VolumeMount{Name: v.Name, MountPath: v.Path, ReadOnly: !v.All}
				if v.Name == tmp {
					// It is HOME, in which programs look for their configuration: none is of another step's.
					mount.SubPath = s.Name
				}
				c.VolumeMounts = append(c.VolumeMounts, mount)
			}
		}
		containers = append(containers, c)
	}
	var volumes []corev1.Volume
	for _, v := range all {
		if uses[v.Name] {
			volumes = append(volumes, corev1.Volume{Name: v.Name, VolumeSource: v.From})
		}
	}
	last := len(containers) - 1
	return batchv1.JobSpec{
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{
				// A shell that is the first process of its container ignores SIGTERM: until it is killed, a pod that was deleted keeps what is reserved for it.
				TerminationGracePeriodSeconds: new(int64(1)),
				RestartPolicy:                 corev1.RestartPolicyNever, ServiceAccountName: of.Account, AutomountServiceAccountToken: new(bool), EnableServiceLinks: new(bool),
				SecurityContext: &corev1.PodSecurityContext{
					RunAsNonRoot: new(true), RunAsUser: new(int64(65532)), RunAsGroup: new(int64(65532)), FSGroup: new(int64(65532)),
					SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
				},
				Volumes: volumes, InitContainers: containers[:last], Containers: containers[last:],
			},
		},
	}
}

// Row is the row of a Job.
func Row(name string, has, waits bool, spec func(tenant.Tenant) batchv1.JobSpec) composed.Row {
	return composed.Row{Name: name, Has: has, Waits: waits, Ready: true, Build: func(t tenant.Tenant) (composed.Object, error) {
		typ, meta := metav1.TypeMeta{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job"}, InPlatform(t, t.Names.Composed(name))
		if is := t.Composed(name); is.Exists() {
			// The template of a Job can't be changed.
			spec, _ := is.Value("spec").AsInterface().(map[string]any)
			return composed.Object{Typed: &metav1.PartialObjectMetadata{TypeMeta: typ, ObjectMeta: meta}, Raw: spec, RawAt: []string{"spec"}}, nil
		}
		return composed.Object{Typed: &batchv1.Job{TypeMeta: typ, ObjectMeta: meta, Spec: spec(t)}}, nil
	}}
}

// AccountRows are the rows of the account that Jobs use, and of its rights in the tenant's namespace by a ClusterRole of
// examples/install/rbac.yaml. The tenant's Ready doesn't wait for them.
func AccountRows(t tenant.Tenant, account, name, binding, role string, has bool) []composed.Row {
	bound := host.Binding(t, binding, role, Subject(t, name), has)
	bound.Ready = true
	return []composed.Row{{Name: account, Has: has, Ready: true, Build: func(t tenant.Tenant) (composed.Object, error) {
		return composed.Object{Typed: &corev1.ServiceAccount{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: InPlatform(t, name),
			AutomountServiceAccountToken: new(bool),
		}}, nil
	}}, bound}
}

// Subject is an account in the platform's namespace.
func Subject(t tenant.Tenant, account string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: t.SecretsIn, Name: account}
}

// InPlatform is the metadata of something of a tenant in the platform's namespace.
func InPlatform(t tenant.Tenant, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: t.SecretsIn, Name: name, Labels: composed.OfTenant(t)}
}
