package v1alpha1

// AnnotationBackup is an annotation of a claim: each new value of it makes a backup at once.
const AnnotationBackup = "virtualargocd.io/backup"

// BackupSpec says when a tenant is backed up. A backup has everything in the virtual cluster's
// API, Argo CD's own objects in a form that any Argo CD reads, and what the platform keeps of the
// tenant. It has no volumes.
type BackupSpec struct {
	// Whether backups are made. A claim's own setting replaces the plan's. Default: false.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// When backups are made, as in a CronJob: minute, hour, day of the month, month and day of
	// the week, such as "30 2 * * *". Once an hour at most. Default: each night between 00:00
	// and 06:00, at a minute that follows from the tenant's name, so that not all tenants are
	// backed up at once.
	// +optional
	// +kubebuilder:validation:MaxLength=100
	Schedule string `json:"schedule,omitempty"`

	// Time zone of the schedule, such as Europe/Berlin: a name of the IANA time zone database.
	// Default: Etc/UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || self.matches('^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$') && self.lowerAscii() != 'local'",message="write a name of the IANA time zone database, such as Europe/Berlin"
	TimeZone string `json:"timeZone,omitempty"`

	// Number of backups that are kept; older ones are deleted after a new one was made.
	// Default: 14.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=366
	Keep int64 `json:"keep,omitempty"`
}

// BackupStatus is the state of a tenant's backups.
type BackupStatus struct {
	// Name of the last good backup. Every backup is read back from where it was stored, and
	// only good if that is what was written.
	// +optional
	Name string `json:"name,omitempty"`

	// When the last good backup was made.
	// +optional
	// +kubebuilder:validation:Format=date-time
	LastSuccess string `json:"lastSuccess,omitempty"`

	// Size of the last good backup, in bytes.
	// +optional
	Size int64 `json:"size,omitempty"`

	// Number of objects of the virtual cluster's API in the last good backup.
	// +optional
	Objects int64 `json:"objects,omitempty"`

	// Number of Applications in the last good backup.
	// +optional
	Applications int64 `json:"applications,omitempty"`

	// SHA-256 of the names and specs of Applications, ApplicationSets, projects, repositories and
	// credential templates in the last good backup.
	// +optional
	Digest string `json:"digest,omitempty"`

	// When the next backup is due.
	// +optional
	// +kubebuilder:validation:Format=date-time
	Next string `json:"next,omitempty"`

	// Why the last attempt failed; empty after a good one.
	// +optional
	Message string `json:"message,omitempty"`
}

// RestoreSpec says from which backup a new tenant begins.
type RestoreSpec struct {
	// Name of the claim of this namespace whose backup is restored. With the name of this
	// claim, everything in the virtual cluster comes back, and with another one Argo CD's own
	// objects, as a copy. Default: the name of this claim.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="write the name of a claim of this namespace, such as customer1"
	Tenant string `json:"tenant,omitempty"`

	// Name of the backup, such as 2026-11-28T020000Z-1804289383, or latest. Default: latest.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self == 'latest' || self.matches('^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{6}Z(-[0-9]{1,10})?$')",message="write the name of a backup, such as 2026-11-28T020000Z-1804289383, or latest"
	Backup string `json:"backup,omitempty"`

	// Whether the restored Argo CD may act. Until then its controllers don't run, so that
	// nothing is synced, and a copy has no credentials of clusters. Default: false.
	// +optional
	Activate bool `json:"activate,omitempty"`
}

// RestoreStatus is the state of a restore.
type RestoreStatus struct {
	// Name of the backup that was restored.
	// +optional
	Name string `json:"name,omitempty"`

	// When it was restored.
	// +optional
	// +kubebuilder:validation:Format=date-time
	RestoredAt string `json:"restoredAt,omitempty"`

	// Number of objects that were restored.
	// +optional
	Objects int64 `json:"objects,omitempty"`

	// Number of Applications among them.
	// +optional
	Applications int64 `json:"applications,omitempty"`

	// The same digest of what the tenant had when its objects had been restored, without a
	// snapshot.
	// +optional
	Digest string `json:"digest,omitempty"`

	// Why the last attempt failed; empty after one that succeeded.
	// +optional
	Message string `json:"message,omitempty"`
}
