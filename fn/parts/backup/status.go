package backup

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/maintenance"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/hibernation"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// seen is what is known of a tenant's backups.
type seen struct {
	v1alpha1.BackupStatus
	// begins is when the schedule applied first; zero for not yet.
	begins, last time.Time
	// overdue is when two runs of the schedule have passed since the last good backup, or since the beginning; zero for unknown.
	overdue time.Time
	// missed reports whether a run was due while the tenant was asleep, and is made up for: the CronJob's controller doesn't start it any more.
	missed bool
}

// Keys of the ConfigMap.
const (
	keyName         = "name"
	keySucceededAt  = "succeededAt"
	keySize         = "size"
	keyObjects      = "objects"
	keyApplications = "applications"
	keyDigest       = "digest"
	keyMessage      = "message"
)

func see(t tenant.Tenant) seen {
	data := t.Composed(tenant.BackupRecord).Get("data")
	number := func(key string) int64 {
		n, _ := strconv.ParseInt(data.String(key), 10, 64)
		return n
	}
	s := seen{BackupStatus: v1alpha1.BackupStatus{
		Name: data.String(keyName), LastSuccess: data.String(keySucceededAt),
		Size: number(keySize), Objects: number(keyObjects), Applications: number(keyApplications), Digest: data.String(keyDigest), Message: data.String(keyMessage),
	}}
	cron, err := maintenance.ParseCron("", "", t.Backup.Schedule, t.Backup.TimeZone)
	if err != nil {
		// It was parsed when it was accepted.
		return s
	}
	s.begins = t.Composed(tenant.BackupCronJob).Created()
	if s.last, err = time.Parse(time.RFC3339, s.LastSuccess); err != nil {
		s.LastSuccess, s.last = "", time.Time{}
	}
	if s.begins.IsZero() {
		return s
	}
	from := s.begins
	if !s.last.IsZero() {
		from = s.last
	}
	if hibernation.StateOf(t).Phase != "" {
		// None is due.
		return s
	}
	woken := hibernation.AwakeSince(t)
	slept := cron.Next(from).Before(woken)
	s.missed = slept && isLeft(t, cron.Last(woken))
	if s.overdue = cron.Next(cron.Next(from)); !s.overdue.IsZero() {
		s.overdue = s.overdue.Add(deadline)
		if slept && s.overdue.Before(woken.Add(2*deadline)) {
			s.overdue = woken.Add(2 * deadline)
		}
	}
	if next := cron.Next(t.Observed.Now); !next.IsZero() {
		s.Next = next.Format(time.RFC3339)
	}
	return s
}

// Again returns when BackedUp turns False by itself, because two runs are overdue; the zero time for never.
func Again(t tenant.Tenant) time.Time {
	if !has(t) || t.Backup.Folder == "" {
		return time.Time{}
	}
	if overdue := see(t).overdue; overdue.After(t.Observed.Now) {
		// At that moment, it isn't over yet.
		return overdue.Add(time.Second)
	}
	return time.Time{}
}

// isLeft reports whether the CronJob's controller has left a run that was due out, and will not start it any more. It may begin late, which is
// why there is no other Job for it until then.
func isLeft(t tenant.Tenant, due time.Time) bool {
	started, err := time.Parse(time.RFC3339, t.Composed(tenant.BackupCronJob).String("status", "lastScheduleTime"))
	return (err != nil || started.Before(due)) && t.Observed.Now.After(due.Add(startsWithin+time.Minute))
}

func report(t tenant.Tenant, out *v1alpha1.Status) {
	if has(t) {
		out.Backup = new(see(t).BackupStatus)
	}
}

func observe(t tenant.Tenant, is condition.Of) condition.Condition {
	out := observeLast(t, is)
	if runs := stillRun(t); t.Backup.Folder != "" && t.Backup.Now != "" && len(runs) > 0 && !slices.Contains(runs, tenant.BackupNowResource(t.Backup.Now)) {
		out.Message += fmt.Sprintf("; one for %.64q of the annotation %s begins once the one that is being made has ended", t.Backup.Now, v1alpha1.AnnotationBackup)
	}
	return out
}

// observeLast tells how the last backups went.
func observeLast(t tenant.Tenant, is condition.Of) condition.Condition {
	if t.Backup.Folder == "" {
		return is.No(v1alpha1.ReasonNoBackup, "The platform has no place for backups: input.backup.remote of the function isn't set", "")
	}
	if unnamed(t) {
		return is.No(v1alpha1.ReasonNoBackup, unnamedMessage, "")
	}
	s := see(t)
	why := s.Message
	if why == "" {
		why = "no Job of CronJob " + t.Names.Backup + " in namespace " + t.SecretsIn + " has reported"
	}
	switch late := !s.overdue.IsZero() && t.Observed.Now.After(s.overdue); {
	case s.begins.IsZero() && isRestoring(t):
		return is.NotYet(v1alpha1.ReasonScheduled, "Backups begin once everything of the tenant is restored, with its clusters")
	case s.begins.IsZero() && hibernation.StateOf(t).Phase == "":
		return is.NotYet(v1alpha1.ReasonScheduled, "Backups begin once Argo CD runs")
	case late && s.last.IsZero():
		return is.No(v1alpha1.ReasonNoBackup, "There is no backup yet, and two were due", why)
	case late:
		return is.No(v1alpha1.ReasonNoBackup, "The last good backup is of "+s.LastSuccess+", and two were due since then", why)
	case s.last.IsZero() && s.Message != "":
		return is.No(v1alpha1.ReasonNoBackup, "There is no backup yet, and the first attempt has failed", s.Message)
	case s.last.IsZero() && s.Next == "":
		return is.NotYet(v1alpha1.ReasonScheduled, "There is no backup yet, and none is due while the tenant is asleep")
	case s.last.IsZero():
		return is.NotYet(v1alpha1.ReasonScheduled, "There is no backup yet: the first is due at "+s.Next)
	case s.Message != "":
		return is.Yes("The last good backup is of " + s.LastSuccess + "; an attempt after it has failed: " + s.Message)
	}
	return is.Yes("The last good backup is of " + s.LastSuccess)
}
