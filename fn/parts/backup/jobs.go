package backup

import (
	"cmp"
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/fn/job"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/hibernation"
	composed "github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
	"github.com/virtual-argocd/virtual-argocd/fn/versions"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// commonScript has what all steps have, and backupScript the steps of a backup: a container's first argument is the name of its step.
//
//go:embed common.sh
var commonScript string

//go:embed backup.sh
var backupScript string

// rows are the rows of the CronJob, of the Job that the claim's annotation asks for, and of what they use.
func rows(t tenant.Tenant) []composed.Row {
	stored := has(t) && t.Backup.Folder != ""
	on := stored && (t.Composed(tenant.BackupCronJob).Exists() || !unnamed(t) && !isRestoring(t))
	// What a Job would run before that has nothing to save.
	waits := !argocd.Deployed(t) || argocdImage(t) == "" || hibernation.StateOf(t).Phase != ""
	out := []composed.Row{
		row(tenant.BackupRecord, stored, record(t.Names.Backup)),
		row(tenant.BackupRole, isOn(t), role),
		row(tenant.BackupRoleBinding, isOn(t), roleBinding),
		{Name: tenant.BackupCronJob, Has: on, Waits: waits, Ready: true, Build: cronJob},
	}
	out = append(out, job.AccountRows(t, tenant.BackupAccount, t.Names.BackupAccount, tenant.BackupBinding, "backup", isOn(t))...)
	out = append(out, job.Row(tenant.BackupMissed, on && makesUp(t), waits, backupJob))
	for _, name := range askedFor(t, on) {
		out = append(out, job.Row(name, true, waits, backupJob))
	}
	return out
}

// askedFor returns the names in the composition of the Jobs that are there by the claim's annotation: that of its value, once no other one runs any
// more. Whoever may write the annotation has one Job at a time by it, whose memory no quota counts. One that runs is left to end, as it does within
// deadline, also when the annotation goes.
func askedFor(t tenant.Tenant, on bool) []string {
	if !on {
		return nil
	}
	if runs := stillRun(t); len(runs) > 0 || t.Backup.Now == "" {
		return runs
	}
	return []string{tenant.BackupNowResource(t.Backup.Now)}
}

// stillRun returns the Jobs by values of the annotation that aren't finished, sorted. An earlier version of the function has made several at once.
func stillRun(t tenant.Tenant) []string {
	var out []string
	for name := range t.Observed.Composed {
		if strings.HasPrefix(name, tenant.BackupNowPrefix) && t.Composed(name).Exists() && !isFinished(t.Composed(name)) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// isFinished reports whether a Job has succeeded or was given up.
func isFinished(is wire.Composed) bool {
	return is.Condition(string(batchv1.JobComplete)).True() || is.Condition(string(batchv1.JobFailed)).True()
}

// makesUp reports whether the Job that makes up for what was missed is to be there. One that runs is left to end, whoever else has made a backup
// meanwhile; one that is finished goes once the tenant falls asleep again, or has been asleep since.
func makesUp(t tenant.Tenant) bool {
	is := t.Composed(tenant.BackupMissed)
	if !is.Exists() {
		return see(t).missed
	}
	return !isFinished(is) || hibernation.StateOf(t).Phase == "" && !is.Created().Before(hibernation.AwakeSince(t))
}

// row is the row of a resource that nothing waits for.
func row(name string, has bool, build func(tenant.Tenant) (composed.Object, error)) composed.Row {
	return composed.Row{Name: name, Has: has, Ready: true, Build: build}
}

// record composes a ConfigMap that Jobs report to. Its data is theirs.
func record(name string) func(tenant.Tenant) (composed.Object, error) {
	return func(t tenant.Tenant) (composed.Object, error) {
		return composed.Object{Typed: &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: job.InPlatform(t, name)}}, nil
	}
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
		TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"}, ObjectMeta: job.InPlatform(t, t.Names.Backup), Rules: rules,
	}}, nil
}

func roleBinding(t tenant.Tenant) (composed.Object, error) {
	return composed.Object{Typed: &rbacv1.RoleBinding{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"}, ObjectMeta: job.InPlatform(t, t.Names.Backup),
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: t.Names.Backup},
		Subjects: []rbacv1.Subject{job.Subject(t, t.Names.BackupAccount)},
	}}, nil
}

// suspended is true while the tenant is asleep.
func suspended(t tenant.Tenant) *bool {
	if hibernation.StateOf(t).Phase == "" {
		return nil
	}
	return new(true)
}

// startsWithin is how late the CronJob's controller may start a run. What was due longer ago, while the tenant was asleep, is made up for.
const startsWithin = 30 * time.Minute

func cronJob(t tenant.Tenant) (composed.Object, error) {
	return composed.Object{Typed: &batchv1.CronJob{
		TypeMeta: metav1.TypeMeta{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "CronJob"}, ObjectMeta: job.InPlatform(t, t.Names.Backup),
		Spec: batchv1.CronJobSpec{
			// There is no virtual API to save.
			Suspend: suspended(t), Schedule: t.Backup.Schedule, TimeZone: &t.Backup.TimeZone, ConcurrencyPolicy: batchv1.ForbidConcurrent,
			StartingDeadlineSeconds: new(int64(startsWithin.Seconds())), SuccessfulJobsHistoryLimit: new(int32(1)), FailedJobsHistoryLimit: new(int32(1)),
			JobTemplate: batchv1.JobTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: composed.OfTenant(t)}, Spec: backupJob(t)},
		},
	}}, nil
}

// Paths in the pod.
const (
	workPath       = "/work"
	kubeconfigPath = "/kubeconfig"
	tenantPath     = "/tenant"
	storePath      = "/store"
)

// exportStep is the step that exports Argo CD's objects.
const exportStep = "export"

// backupJob makes a backup.
func backupJob(t tenant.Tenant) batchv1.JobSpec {
	return jobOf(t, backupScript, []job.Step{
		{Name: "snapshot", Image: t.Backup.Kubectl, Env: []string{"NAMESPACE", t.Names.Namespace}, Mounts: []string{"token"}},
		{Name: exportStep, Image: argocdImage(t), Env: []string{"KUBECONFIG", kubeconfigPath + "/" + tenant.KubeconfigKey, "NAMESPACE", tenant.ArgoCDNamespace, "OWN", own(t)}, Mounts: []string{"kubeconfig"}},
		{Name: "store", Image: t.Backup.Rclone, Env: store("FOLDER", t.Backup.Folder, "OWNER", t.Backup.Owner, "SINCE", t.Backup.Since, "KEEP", strconv.FormatInt(t.Backup.Keep, 10)), PodIn: "POD", Mounts: []string{"tenant", "store"}},
		{Name: "report", Image: t.Backup.Kubectl, Env: []string{"NAMESPACE", t.SecretsIn, "RECORD", t.Names.Backup}, Mounts: []string{"token"}},
	})
}

// own returns what the names of Argo CD's workloads and Helm release, and those of components in its namespace, are or begin with before a dash, as
// alternatives of a regular expression.
func own(t tenant.Tenant) string {
	names := []string{tenant.HelmArgoCD}
	for _, c := range t.Components {
		if c.Namespace != tenant.ArgoCDNamespace {
			continue
		}
		names = append(names, c.Name)
		for _, w := range c.Workloads {
			names = append(names, w.Name)
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), "|")
}

// store returns the environment of a step that talks to the store.
func store(env ...string) []string {
	return append(env, "RCLONE_CONFIG", storePath+"/rclone.conf", "RCLONE_RETRIES", "2", "RCLONE_LOW_LEVEL_RETRIES", "3", "RCLONE_CONTIMEOUT", "10s", "RCLONE_TIMEOUT", "2m")
}

// jobOf is one that runs steps, one after the other. What they hand on is in memory alone.
func jobOf(t tenant.Tenant, script string, steps []job.Step) batchv1.JobSpec {
	for i := range steps {
		steps[i].Env = append([]string{"MAX_SIZE", t.Backup.MaxSize.String()}, steps[i].Env...)
	}
	// What is in a volume in memory counts for the container that writes it. All of it is reserved, so that Jobs that don't fit wait for their turn.
	most := t.Backup.MaxSize.DeepCopy()
	most.Add(resource.MustParse("256Mi"))
	out := job.Spec(t, job.Of{Account: t.Names.BackupAccount, Package: "backup", Script: commonScript + script, Steps: steps, Volumes: volumes(t), Memory: most, Reserved: most})
	out.BackoffLimit, out.ActiveDeadlineSeconds = new(int32(1)), new(int64(deadline.Seconds()))
	return out
}

// volumes are those that steps may have.
func volumes(t tenant.Tenant) []job.Volume {
	secret := func(of, key string) corev1.VolumeSource {
		return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: of, Items: []corev1.KeyToPath{{Key: key, Path: key}}}}
	}
	// Without the platform's Secret, rclone says so. A pod that waits for it would report nothing.
	credentials := secret(t.Backup.Secret, "rclone.conf")
	credentials.Secret.Optional = new(true)
	kept := []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: t.Names.AcceptedSecret}}}}
	if argocd.HasAccountsSecret(t) {
		kept = append(kept, corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: t.Names.AccountsSecret}}})
	}
	return []job.Volume{
		{Name: "work", Path: workPath, All: true, From: job.InMemory(t.Backup.MaxSize)},
		{Name: "kubeconfig", Path: kubeconfigPath, From: secret(t.Names.KubeconfigSecret, tenant.KubeconfigKey)},
		{Name: "tenant", Path: tenantPath, From: job.Projected(kept...)},
		{Name: "store", Path: storePath, From: credentials},
		job.Token,
	}
}

// argocdImage returns the image that exports Argo CD's objects: the platform's, or that of the version that Argo CD has, or that of the backups until now;
// "" where none is known.
func argocdImage(t tenant.Tenant) string {
	if _, tag := host.SplitImage(t.Backup.ArgoCD); tag != "" {
		return t.Backup.ArgoCD
	}
	if version := versionOf(t); version != "" {
		return t.Backup.ArgoCD + ":" + version
	}
	for _, c := range t.Composed(tenant.BackupCronJob).List("spec", "jobTemplate", "spec", "template", "spec", "initContainers") {
		if c.String("name") == exportStep {
			return c.String("image")
		}
	}
	return ""
}

// versionOf returns the version of Argo CD that is installed, as the tag of an image; "" where it isn't known. It is what the values of its chart name, or
// else one that the chart may have. Which exactly, the function can't know: only the virtual cluster tells which version runs, or ran last, and its admin
// has it tell what he likes.
func versionOf(t tenant.Tenant) string {
	tag := func(component string) string { return values.At[string](t.ArgoCD.Values, component, "image", "tag") }
	if named := cmp.Or(tag("server"), tag("global")); named != "" {
		if version := argocd.Version(named); versions.MayBe(version) {
			return version
		}
		return ""
	}
	var charts []string
	if known.Named(t.ArgoCD.Name) != nil {
		// Until an upgrade has ended, it is of either.
		charts = []string{t.ArgoCD.Version, cmp.Or(t.Observed.Running.ArgoCD, t.ArgoCD.Version)}
	}
	running, _ := argocd.RunningVersion(t)
	for _, version := range []string{running, argocd.Version(t.Observed.XR.String("status", "argocd", "version"))} {
		if versions.MayBe(version, charts...) {
			return version
		}
	}
	return ""
}

// unnamed reports whether Argo CD runs with an image whose tag doesn't tell its version, or tells one that its chart doesn't have, so that there is none
// to export its objects with.
func unnamed(t tenant.Tenant) bool {
	_, runs := argocd.RunningVersion(t)
	return runs && argocdImage(t) == ""
}

// unnamedMessage is for the platform: images are its own.
const unnamedMessage = "Argo CD runs with an image whose tag isn't a version that its chart has, so that none is known to export its objects with: set input.backup.argocd.tag of the function"
