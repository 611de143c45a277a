// Package backup is the part of a claim with its backups. A CronJob in the platform's namespace makes them: its first container
// has vcluster write a snapshot of the virtual API, its second exports Argo CD's objects through it, and its third, which alone has
// the credentials of the store, stores both and reads them back, without reading what a tenant has written. The last reports to a ConfigMap.
package backup

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/maintenance"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// Part is spec.backup.
var Part = part.Part{
	Field: "spec.backup", Resolve: resolve, Rows: rows,
	Condition: v1alpha1.ConditionBackedUp, Has: has, Observe: observe, Report: report,
}

func has(t tenant.Tenant) bool { return t.Backup.On }

func resolve(of part.Candidate) error {
	is := of.Plan.Spec.Backup
	found := []error{check(of.Plan.At("backup"), is), check(mistakes.Field{Owner: mistakes.Claim, Path: "spec.backup"}, of.Spec.Backup)}
	mostKept, err := mostKept(of)
	if found = append(found, err); found[0] == nil && found[1] == nil {
		found = append(found, checkKeep(of, mostKept))
	}
	if err := mistakes.Join(found...); err != nil {
		return err
	}
	s := over(ptr.Deref(is, v1alpha1.BackupSpec{}), of.Spec.Backup)
	on := ptr.Deref(s.Enabled, false)
	if !on && of.Spec.RestoreFrom == nil {
		return nil
	}
	in, most := of.Input.Backup, cmp.Or(of.Input.Backup.MaxSize, "256Mi")
	size, ok := values.ParseAmount(most)
	if !ok || size.Value() < 1<<20 {
		return mistakes.Field{Owner: mistakes.Input, Path: "input.backup.maxSize"}.Errorf("%.32q is no size of at least 1Mi: write one such as 256Mi", most)
	}
	d := of.Decision
	d.Backup = tenant.Backup{
		On: on, Schedule: cmp.Or(s.Schedule, nightly(d.Names.Tenant)), TimeZone: cmp.Or(s.TimeZone, "Etc/UTC"), Keep: min(cmp.Or(s.Keep, keep), mostKept),
		Now: of.BackupNow, Secret: cmp.Or(in.SecretName, "virtual-argocd-backup"), MaxSize: size,
		ArgoCD:  tenant.ImageOf(of.Input, in.ArgoCD, inputv1alpha1.Image{Registry: "quay.io", Repository: "argoproj/argocd"}),
		Kubectl: tenant.KubectlImage(of.Input),
		Rclone:  tenant.ImageOf(of.Input, in.Rclone, inputv1alpha1.Image{Registry: "docker.io", Repository: "rclone/rclone", Tag: "1.76.0"}),
	}
	if on && in.Remote != "" {
		d.Backup.Owner = ownerOf(of.Claim.Namespace, of.Claim.Name, of.XRName)
		d.Backup.Folder = folder(in.Remote, d.Backup.Owner)
		if !of.Created.IsZero() {
			d.Backup.Since = of.Created.UTC().Format(time.RFC3339)
		}
	}
	return nil
}

// keep is how many backups are kept by default. maxKeep is the most in the schema of the claim, which a platform may replace.
const keep, maxKeep = 14, 366

// maxOfClaims is how many backups claims may have kept, where the input doesn't say it.
const maxOfClaims = 60

// mostKept returns how many backups of a tenant are kept at most.
func mostKept(of part.Candidate) (int64, error) {
	most := of.Input.Backup.MaxKeep
	if most < 0 || most > maxKeep {
		return 0, mistakes.Field{Owner: mistakes.Input, Path: "input.backup.maxKeep"}.Errorf("%d is not possible: write 1 to %d, or leave it out for %d", most, maxKeep, maxOfClaims)
	}
	most = cmp.Or(most, maxOfClaims)
	return max(most, cmp.Or(ptr.Deref(of.Plan.Spec.Backup, v1alpha1.BackupSpec{}).Keep, min(keep, most))), nil
}

// checkKeep refuses to keep more backups than the platform lets claims keep. Those of a claim that was accepted with more before are fewer now.
func checkKeep(of part.Candidate, most int64) error {
	is, was := ptr.Deref(of.Spec.Backup, v1alpha1.BackupSpec{}).Keep, ptr.Deref(of.WasAsked().Backup, v1alpha1.BackupSpec{}).Keep
	if most == 0 || is <= most || is == was {
		return nil
	}
	return mistakes.Field{Owner: mistakes.Claim, Path: "spec.backup.keep"}.Errorf("%d is more than this platform keeps of a claim: write %d at most", is, most)
}

// check returns the mistakes of a plan's or a claim's settings.
func check(field mistakes.Field, s *v1alpha1.BackupSpec) error {
	if s == nil {
		return nil
	}
	var found []error
	if s.Keep < 0 || s.Keep > maxKeep {
		found = append(found, mistakes.Field{Owner: field.Owner, Path: field.Path + ".keep"}.Errorf("%d is not possible: write 1 to %d, or leave it out for %d", s.Keep, maxKeep, keep))
	}
	if s.Schedule != "" || s.TimeZone != "" {
		_, err := maintenance.ParseCron(field.Path, "schedule", cmp.Or(s.Schedule, "0 0 * * *"), s.TimeZone)
		found = append(found, mistakes.By(field.Owner, err))
	}
	return mistakes.Join(found...)
}

// over returns the settings of a plan with those of a claim over them.
func over(s v1alpha1.BackupSpec, claim *v1alpha1.BackupSpec) v1alpha1.BackupSpec {
	if claim == nil {
		return s
	}
	if claim.Enabled != nil {
		s.Enabled = claim.Enabled
	}
	if claim.Schedule != "" {
		// The zone of the plan is that of the plan's schedule.
		s.Schedule, s.TimeZone = claim.Schedule, ""
	}
	s.TimeZone, s.Keep = cmp.Or(claim.TimeZone, s.TimeZone), cmp.Or(claim.Keep, s.Keep)
	return s
}

// nightHours are the hours of the night, from midnight, in which tenants are backed up by default.
const nightHours = 6

// nightly returns the default schedule of a tenant.
func nightly(name string) string {
	minute := maintenance.Spread(name, nightHours*60)
	return fmt.Sprintf("%d %d * * *", minute%60, minute/60)
}

// ownerOf returns what the backups of a tenant say whose they are, which is also where they are below the remote: a name that its claim has on
// every host, and after it was made anew.
func ownerOf(namespace, claim, xr string) string {
	if namespace == "" {
		// No namespace begins like that.
		return "_composite/" + xr
	}
	return namespace + "/" + claim
}

// folder returns where the backups of an owner are.
func folder(remote, owner string) string {
	if !strings.HasSuffix(remote, ":") {
		remote = strings.TrimSuffix(remote, "/") + "/"
	}
	return remote + owner
}

// deadline is how long a backup may take, with the attempt after one that has failed, and restoreDeadline how long one attempt of a restore may.
const deadline, restoreDeadline = 20 * time.Minute, time.Hour
