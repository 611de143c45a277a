package backup

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	composed "github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// commonScript has what all steps have, and backupScript the steps of a backup: a container's first argument is the name of its step.
//
//go:embed common.sh
var commonScript string

//go:embed backup.sh
var backupScript string

// rows are the rows of the CronJob, of the Job that the claim's annotation asks for, and of what they use.
func rows(t tenant.Tenant) []composed.Row {
	on := has(t) && t.Backup.Folder != ""
	// What a Job would run before that has nothing to save.
	waits := !argocd.Deployed(t) || runningArgoCD(t) == ""
	out := []composed.Row{
		row(tenant.BackupRecord, on, record(t.Names.Backup)),
		row(tenant.BackupAccount, isOn(t), account),
		host.Binding(t, tenant.BackupBinding, "backup", subject(t), isOn(t)),
		row(tenant.BackupRole, isOn(t), role),
		row(tenant.BackupRoleBinding, isOn(t), roleBinding),
		{Name: tenant.BackupCronJob, Has: on, Waits: waits, Ready: true, Build: cronJob},
	}
	if on && t.Backup.Now != "" {
		out = append(out, jobRow(tenant.BackupNowResource(t.Backup.Now), waits, backupJob))
	}
	return out
}

// row is the row of a resource that nothing waits for.
func row(name string, has bool, build func(tenant.Tenant) (composed.Object, error)) composed.Row {
	return composed.Row{Name: name, Has: has, Ready: true, Build: build}
}

// jobRow is the row of a Job.
func jobRow(name string, waits bool, spec func(tenant.Tenant) batchv1.JobSpec) composed.Row {
	return composed.Row{Name: name, Has: true, Waits: waits, Ready: true, Build: func(t tenant.Tenant) (composed.Object, error) {
		typ, meta := metav1.TypeMeta{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job"}, inPlatform(t, t.Names.Composed(name))
		if is := t.Composed(name); is.Exists() {
			// The template of a Job can't be changed.
			spec, _ := is.Value("spec").AsInterface().(map[string]any)
			return composed.Object{Typed: &metav1.PartialObjectMetadata{TypeMeta: typ, ObjectMeta: meta}, Raw: spec, RawAt: []string{"spec"}}, nil
		}
		return composed.Object{Typed: &batchv1.Job{TypeMeta: typ, ObjectMeta: meta, Spec: spec(t)}}, nil
	}}
}

func inPlatform(t tenant.Tenant, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: t.SecretsIn, Name: name, Labels: composed.OfTenant(t)}
}

// record composes a ConfigMap that Jobs report to. Its data is theirs.
func record(name string) func(tenant.Tenant) (composed.Object, error) {
	return func(t tenant.Tenant) (composed.Object, error) {
		return composed.Object{Typed: &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: inPlatform(t, name)}}, nil
	}
}

func account(t tenant.Tenant) (composed.Object, error) {
	return composed.Object{Typed: &corev1.ServiceAccount{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: inPlatform(t, t.Names.BackupAccount),
		AutomountServiceAccountToken: new(bool),
	}}, nil
}

func subject(t tenant.Tenant) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: t.SecretsIn, Name: t.Names.BackupAccount}
}

// role lets the account report.
func role(t tenant.Tenant) (composed.Object, error) {
	may := func(resource string, names ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, ResourceNames: names, Verbs: []string{"get", "patch"}}
	}
	rules := []rbacv1.PolicyRule{may("configmaps", t.Names.Backup)}
	if restores(t) {
		rules = []rbacv1.PolicyRule{may("configmaps", t.Names.Backup, t.Names.Restore), may("secrets", t.Names.Restore)}
	}
	return composed.Object{Typed: &rbacv1.Role{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"}, ObjectMeta: inPlatform(t, t.Names.Backup), Rules: rules,
	}}, nil
}

func roleBinding(t tenant.Tenant) (composed.Object, error) {
	return composed.Object{Typed: &rbacv1.RoleBinding{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"}, ObjectMeta: inPlatform(t, t.Names.Backup),
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: t.Names.Backup},
		Subjects: []rbacv1.Subject{subject(t)},
	}}, nil
}

func cronJob(t tenant.Tenant) (composed.Object, error) {
	return composed.Object{Typed: &batchv1.CronJob{
		TypeMeta: metav1.TypeMeta{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "CronJob"}, ObjectMeta: inPlatform(t, t.Names.Backup),
		Spec: batchv1.CronJobSpec{
			Schedule: t.Backup.Schedule, TimeZone: &t.Backup.TimeZone, ConcurrencyPolicy: batchv1.ForbidConcurrent,
			StartingDeadlineSeconds: new(int64(1800)), SuccessfulJobsHistoryLimit: new(int32(1)), FailedJobsHistoryLimit: new(int32(1)),
			JobTemplate: batchv1.JobTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: composed.OfTenant(t)}, Spec: backupJob(t)},
		},
	}}, nil
}

// labelPackage is the label by which examples/install/network.yaml selects pods.
const labelPackage = "virtualargocd.io/package"

// Paths in the pod.
const (
	workPath       = "/work"
	kubeconfigPath = "/kubeconfig"
	tenantPath     = "/tenant"
	storePath      = "/store"
	tokenPath      = "/var/run/secrets/kubernetes.io/serviceaccount"
)

// A step is a container of a Job.
type step struct {
	name, image string
	// env has names and values in turn.
	env []string
	// mounts are the volumes beside those that all steps have.
	mounts []string
}

// volumes of a step, and where they are.
var volumes = map[string]string{"kubeconfig": kubeconfigPath, "tenant": tenantPath, "store": storePath, "token": tokenPath}

// backupJob makes a backup.
func backupJob(t tenant.Tenant) batchv1.JobSpec {
	return job(t, backupScript, []step{
		{name: "snapshot", image: t.Backup.Kubectl, env: []string{"NAMESPACE", t.Names.Namespace}, mounts: []string{"token"}},
		{name: "export", image: argocdImage(t), env: []string{"KUBECONFIG", kubeconfigPath + "/" + tenant.KubeconfigKey, "NAMESPACE", tenant.ArgoCDNamespace}, mounts: []string{"kubeconfig"}},
		{name: "store", image: t.Backup.Rclone, env: store("FOLDER", t.Backup.Folder, "KEEP", strconv.FormatInt(t.Backup.Keep, 10)), mounts: []string{"tenant", "store"}},
		{name: "report", image: t.Backup.Kubectl, env: []string{"NAMESPACE", t.SecretsIn, "RECORD", t.Names.Backup}, mounts: []string{"token"}},
	})
}

// store returns the environment of a step that talks to the store.
func store(env ...string) []string {
	return append(env, "RCLONE_CONFIG", storePath+"/rclone.conf", "RCLONE_RETRIES", "2", "RCLONE_LOW_LEVEL_RETRIES", "3", "RCLONE_CONTIMEOUT", "10s", "RCLONE_TIMEOUT", "2m")
}

// job is one that runs steps, one after the other. What they hand on is in memory alone.
func job(t tenant.Tenant, script string, steps []step) batchv1.JobSpec {
	labels := composed.OfTenant(t)
	labels[labelPackage] = "backup"
	// What is in a volume in memory counts for the container that writes it.
	most := t.Backup.MaxSize.DeepCopy()
	most.Add(resource.MustParse("256Mi"))
	uses := map[string]bool{"work": true, "tmp": true}
	var containers []corev1.Container
	for _, s := range steps {
		c := corev1.Container{
			Name: s.name, Image: s.image, Command: []string{"/bin/sh", "-c", commonScript + script, s.name, s.name},
			Env:          []corev1.EnvVar{{Name: "HOME", Value: "/tmp"}, {Name: "MAX_SIZE", Value: t.Backup.MaxSize.String()}},
			VolumeMounts: []corev1.VolumeMount{{Name: "work", MountPath: workPath}, {Name: "tmp", MountPath: "/tmp"}},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("20m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
				Limits:   corev1.ResourceList{corev1.ResourceMemory: most},
			},
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(bool), ReadOnlyRootFilesystem: new(true),
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}
		for i := 0; i < len(s.env); i += 2 {
			c.Env = append(c.Env, corev1.EnvVar{Name: s.env[i], Value: s.env[i+1]})
		}
		for _, name := range s.mounts {
			uses[name] = true
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: volumes[name], ReadOnly: true})
		}
		containers = append(containers, c)
	}
	last := len(containers) - 1
	return batchv1.JobSpec{
		BackoffLimit: new(int32(1)), ActiveDeadlineSeconds: new(int64(deadline.Seconds())),
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: t.Names.BackupAccount, AutomountServiceAccountToken: new(bool), EnableServiceLinks: new(bool),
				SecurityContext: &corev1.PodSecurityContext{
					RunAsNonRoot: new(true), RunAsUser: new(int64(65532)), RunAsGroup: new(int64(65532)), FSGroup: new(int64(65532)),
					SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
				},
				Volumes:        slices.DeleteFunc(allVolumes(t), func(v corev1.Volume) bool { return !uses[v.Name] }),
				InitContainers: containers[:last], Containers: containers[last:],
			},
		},
	}
}

// allVolumes are the volumes that steps may have.
func allVolumes(t tenant.Tenant) []corev1.Volume {
	inMemory := func(most resource.Quantity) corev1.VolumeSource {
		return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: &most}}
	}
	projected := func(sources ...corev1.VolumeProjection) corev1.VolumeSource {
		return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: sources}}
	}
	secret := func(of, key string) corev1.VolumeSource {
		return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: of, Items: []corev1.KeyToPath{{Key: key, Path: key}}}}
	}
	kept := []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: t.Names.AcceptedSecret}}}}
	if argocd.HasAccountsSecret(t) {
		kept = append(kept, corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: t.Names.AccountsSecret}}})
	}
	return []corev1.Volume{
		{Name: "work", VolumeSource: inMemory(t.Backup.MaxSize)},
		{Name: "tmp", VolumeSource: inMemory(resource.MustParse("16Mi"))},
		{Name: "kubeconfig", VolumeSource: secret(t.Names.KubeconfigSecret, tenant.KubeconfigKey)},
		{Name: "tenant", VolumeSource: projected(kept...)},
		{Name: "store", VolumeSource: secret(t.Backup.Secret, "rclone.conf")},
		{Name: "token", VolumeSource: projected(
			corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: new(int64(3600))}},
			corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
			corev1.VolumeProjection{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}}}},
		)},
	}
}

// argocdImage returns the image that exports Argo CD's objects: that of the version that runs.
func argocdImage(t tenant.Tenant) string {
	if _, tag := host.SplitImage(t.Backup.ArgoCD); tag != "" {
		return t.Backup.ArgoCD
	}
	return fmt.Sprintf("%s:%s", t.Backup.ArgoCD, runningArgoCD(t))
}

// runningArgoCD returns the version of Argo CD that runs, or that ran last; "" for none known.
func runningArgoCD(t tenant.Tenant) string {
	if version, known := argocd.RunningVersion(t); known && version != "" {
		return version
	}
	return t.Observed.XR.String("status", "argocd", "version")
}
