package backup

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/fn/job"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/hibernation"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	composed "github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

//go:embed restore.sh
var restoreScript string

// RestorePart is spec.restoreFrom.
var RestorePart = part.Part{
	Field: "spec.restoreFrom", Resolve: resolveRestore, Rows: restoreRows,
	Condition: v1alpha1.ConditionRestored, Has: restores, Observe: observeRestore, Report: reportRestore,
}

func restores(t tenant.Tenant) bool { return t.Restore.Folder != "" }

const restoreField = "spec.restoreFrom"

func resolveRestore(of part.Candidate) error {
	is, was := of.Spec.RestoreFrom, of.WasAsked().RestoreFrom
	if of.Was != nil && !sameSource(is, was) {
		return errors.New(restoreField + ": a tenant that exists can't be restored: write what it was made with, " + source(was) + ", or delete the claim and make it anew")
	}
	switch {
	case is == nil && of.Was == nil && of.Restored != (tenant.Restored{}):
		// Without it, an Argo CD that isn't active would act.
		return errors.New(restoreField + ": the tenant was restored, and what was accepted of it is lost: write what it was made with, such as {backup: latest, activate: true}")
	case is == nil:
		return nil
	}
	if of.Was == nil && of.Input.Backup.Remote == "" {
		return errors.New(restoreField + ": this platform has no backups: input.backup.remote of the function isn't set")
	}
	if of.Suspended && of.Was == nil {
		return fmt.Errorf(restoreField+": the platform has suspended claim %s: nobody gets its backups until that ends", cmp.Or(is.Tenant, of.Claim.Name))
	}
	if strings.Contains(is.Tenant, "/") {
		// The schema refuses it. It would be a folder of another namespace.
		return fmt.Errorf(restoreField+".tenant: %.64q isn't the name of a claim: write one of this namespace, such as customer1", is.Tenant)
	}
	name := cmp.Or(is.Tenant, of.Claim.Name)
	d, owner := of.Decision, ownerOf(of.Claim.Namespace, name, cmp.Or(is.Tenant, of.XRName))
	d.Restore = tenant.Restore{
		Folder: folder(of.Input.Backup.Remote, owner), Owner: owner, Name: cmp.Or(is.Backup, "latest"),
		// With several control planes, no file is handed to one of them.
		Snapshot: name == of.Claim.Name && d.Store.Kind == plan.StoreSQLite && d.Store.Size != "",
		Active:   is.Activate, Seen: of.Restored,
	}
	if of.Suspended {
		d.Restore.Held = name
	}
	switch {
	case name != of.Claim.Name:
	case d.Store.Kind != plan.StoreSQLite:
		d.Restore.Without = "with " + d.Store.Kind + " as the store of the virtual cluster, a snapshot can't be handed to it"
	case d.Store.Size == "":
		d.Restore.Without = "the virtual cluster has no volume that a snapshot could be handed to"
	}
	if acts(d.Restore) {
		return nil
	}
	d.ArgoCD.Values = values.Merge(d.ArgoCD.Values, values.Values{
		"controller": values.Values{"replicas": float64(0)}, "applicationSet": values.Values{"replicas": float64(0)}, "notifications": values.Values{"enabled": false},
	})
	return nil
}

// acts reports whether a restored Argo CD's controllers run.
func acts(r tenant.Restore) bool { return r.Active && r.Seen.At != "" && (r.Snapshot || r.Seen.Active) }

// sameSource reports whether two restores are the same but for activate.
func sameSource(a, b *v1alpha1.RestoreSpec) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Tenant == b.Tenant && cmp.Or(a.Backup, "latest") == cmp.Or(b.Backup, "latest")
}

func source(r *v1alpha1.RestoreSpec) string {
	if r == nil {
		return "nothing"
	}
	return "tenant: " + strconv.Quote(r.Tenant) + ", backup: " + strconv.Quote(cmp.Or(r.Backup, "latest"))
}

func restoreRows(t tenant.Tenant) []composed.Row {
	on := restores(t)
	out := []composed.Row{
		row(tenant.RestoreRecord, on, record(t.Names.Restore)),
		row(tenant.RestoredSecret, on && t.Restore.Snapshot, func(t tenant.Tenant) (composed.Object, error) {
			return composed.Object{Typed: composed.Secret(t, t.Names.Restore, corev1.SecretTypeOpaque)}, nil
		}),
	}
	if !on {
		return out
	}
	if t.Restore.Held != "" {
		// A Job that is there would go on trying: it goes, and comes again.
		return out
	}
	if t.Restore.Snapshot {
		name := tenant.RestorePrefix + "snapshot"
		waits := !t.Composed(tenant.VClusterRelease).Exists() || !t.Composed(tenant.RestoredSecret).Exists()
		return append(out, job.Row(name, !hasOtherImages(t, name), waits, restoreJob))
	}
	name := tenant.RestorePrefix + "objects"
	if t.Restore.Active {
		name = tenant.RestorePrefix + "all-objects"
	}
	// Another Job after the one that has imported them would undo what was changed since then.
	has := (t.Composed(name).Exists() || !unnamed(t) && !imported(t.Restore)) && !hasOtherImages(t, name)
	waits := !argocd.Deployed(t) || argocdImage(t) == "" || hibernation.StateOf(t).Phase != ""
	return append(out, job.Row(name, has, waits, restoreJob))
}

// hasOtherImages reports whether a Job that has restored nothing yet has other images than the platform names now, which had perhaps named some that
// can't be pulled. Its template can't be changed: it goes, and comes again. The version of Argo CD in one of them is what a virtual cluster says runs,
// which is not to have Jobs made again and again.
func hasOtherImages(t tenant.Tenant, name string) bool {
	pod := t.Composed(name).Get("spec", "template", "spec")
	if t.Restore.Seen.At != "" || !pod.Exists() {
		return false
	}
	want := restoreJob(t).Template.Spec
	is := append(pod.List("initContainers"), pod.List("containers")...)
	for i, c := range append(want.InitContainers, want.Containers...) {
		if i >= len(is) || c.Image != "" && platforms(t, is[i].String("image")) != platforms(t, c.Image) {
			return true
		}
	}
	return false
}

// platforms returns what the platform has named of an image.
func platforms(t tenant.Tenant, image string) string {
	if repository, _ := host.SplitImage(image); repository == t.Backup.ArgoCD {
		return repository
	}
	return image
}

// imported reports whether everything that a copy may have now was imported.
func imported(r tenant.Restore) bool { return r.Seen.At != "" && (r.Seen.Active || !r.Active) }

// isRestoring reports whether a tenant hasn't got everything of its backup yet: what it has until then must not become the latest one.
func isRestoring(t tenant.Tenant) bool {
	return restores(t) && (t.Restore.Seen.At == "" || !t.Restore.Snapshot && !t.Restore.Seen.Active)
}

func restoreJob(t tenant.Tenant) batchv1.JobSpec {
	active := strconv.FormatBool(t.Restore.Active)
	mode, name := "Objects", t.Restore.Name
	switch {
	case t.Restore.Snapshot:
		mode = "Snapshot"
	case t.Restore.Seen.At != "":
		// Everything else was imported before, and may have been changed since. The latest backup may be another one by now.
		mode, name = "Clusters", cmp.Or(t.Restore.Seen.Name, name)
	}
	fetch := job.Step{Name: "fetch", Image: t.Backup.Rclone, Env: store("FOLDER", t.Restore.Folder, "OWNER", t.Restore.Owner, "BACKUP", name), Mounts: []string{"store"}}
	check := job.Step{Name: "check", Image: t.Backup.Kubectl, Env: []string{"OWNER", t.Restore.Owner, "MODE", mode, "ACTIVE", active}}
	report := job.Step{Name: "report", Image: t.Backup.Kubectl, Env: []string{"NAMESPACE", t.SecretsIn, "RECORD", t.Names.Restore, "MODE", mode, "ACTIVE", active}, Mounts: []string{"token"}}
	virtual := []string{"KUBECONFIG", kubeconfigPath + "/" + tenant.KubeconfigKey, "NAMESPACE", tenant.ArgoCDNamespace}
	steps := []job.Step{
		fetch, check, {Name: "namespaces", Image: t.Backup.Kubectl, Env: virtual, Mounts: []string{"kubeconfig"}},
		{Name: "import", Image: argocdImage(t), Env: virtual, Mounts: []string{"kubeconfig"}}, report,
	}
	if t.Restore.Snapshot {
		steps = []job.Step{fetch, check, {Name: "deliver", Image: t.Backup.Kubectl, Env: []string{"NAMESPACE", t.Names.Namespace, "PLATFORM", t.SecretsIn, "SECRET", t.Names.Restore}, Mounts: []string{"token"}}, report}
	}
	j := jobOf(t, restoreScript, steps)
	// It is tried again for about an hour, and longer where attempts take long. Each has a deadline, also for an image that isn't there: longer than what
	// its steps give up within by themselves, so that it is they who say why.
	j.BackoffLimit, j.ActiveDeadlineSeconds = new(int32(12)), nil
	j.Template.Spec.ActiveDeadlineSeconds = new(int64(restoreDeadline.Seconds()))
	return j
}

func observeRestore(t tenant.Tenant, is condition.Of) condition.Condition {
	r, s := t.Restore, t.Restore.Seen
	what, without := "Backup "+cmp.Or(s.Name, r.Name), ""
	if r.Without != "" {
		without = ". Only Argo CD's objects of it come back: " + r.Without
	}
	switch {
	case r.Held != "":
		return is.No(v1alpha1.ReasonRestoring, what+" isn't fetched: the platform has suspended claim "+r.Held+", and nobody gets its backups until that ends", "")
	case s.At == "" && s.Message != "":
		return is.No(v1alpha1.ReasonRestoreFailed, what+" can't be restored", s.Message)
	case s.At == "" && !r.Snapshot && unnamed(t):
		return is.No(v1alpha1.ReasonRestoreFailed, what+" can't be restored", unnamedMessage)
	case s.At == "":
		return is.No(v1alpha1.ReasonRestoring, what+" is being restored"+without, "")
	case r.Snapshot && !composed.HasKubeconfig(t):
		// The Job has seen no more than that it was handed over.
		return is.No(v1alpha1.ReasonRestoring, what+" is handed to the virtual cluster, which hasn't started with it yet", "")
	case !r.Active:
		return is.No(v1alpha1.ReasonInactive, what+" is restored, and Argo CD's controllers don't run: set spec.restoreFrom.activate to true once nothing else acts on the same clusters"+without, "")
	case !acts(r) && s.Message != "":
		return is.No(v1alpha1.ReasonRestoreFailed, what+" can't be restored with its clusters", s.Message)
	case !acts(r):
		return is.No(v1alpha1.ReasonRestoring, what+" is being restored with its clusters"+without, "")
	}
	return is.Yes(what + " is restored" + without)
}

func reportRestore(t tenant.Tenant, out *v1alpha1.Status) {
	if !restores(t) {
		return
	}
	s := t.Restore.Seen
	out.Restore = &v1alpha1.RestoreStatus{Name: s.Name, RestoredAt: s.At, Objects: s.Objects, Applications: s.Applications, Digest: s.Digest, Message: s.Message}
	if _, err := time.Parse(time.RFC3339, s.At); err != nil {
		out.Restore.RestoredAt = ""
	}
}

// isOn reports whether a tenant has Jobs of backups or of a restore.
func isOn(t tenant.Tenant) bool { return has(t) && t.Backup.Folder != "" || restores(t) }
