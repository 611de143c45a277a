package v1alpha1

// HibernationSpec says when a tenant is asleep. None of its pods runs then, so that nothing is
// synced and nothing is healed in any cluster, and its URL doesn't answer. Its volumes, Secrets
// and everything in the virtual cluster's API stay. Changes of the claim, and those of the
// platform, take effect when it wakes up. A tenant that isn't Ready yet falls asleep once it is.
type HibernationSpec struct {
	// Whether the tenant is asleep: true for now, false for not, whatever the schedules say.
	// Default: as the schedules say.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// When the tenant is asleep. A claim's schedules replace the plan's. Tenants with the
	// plan's wake up at different moments of the quarter of an hour before the end. At most 10.
	// Default: never.
	// +optional
	// +nullable
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Schedules []HibernationSchedule `json:"schedules,omitempty"`
}

// HibernationSchedule is a time that comes again and again. Of several schedules, the start or
// end that came last counts.
type HibernationSchedule struct {
	// When the tenant falls asleep, as in a CronJob: minute, hour, day of the month, month and
	// day of the week, such as "0 20 * * 1-5". Once an hour at most, and once a year at least.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Start string `json:"start"`

	// When it wakes up, such as "0 7 * * 1-5". Default: it stays asleep until it is woken by
	// another schedule or by enabled.
	// +optional
	// +kubebuilder:validation:MaxLength=100
	End string `json:"end,omitempty"`

	// Time zone of start and end, such as Europe/Berlin: a name of the IANA time zone database.
	// Default: Etc/UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || self.matches('^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$') && self.lowerAscii() != 'local'",message="write a name of the IANA time zone database, such as Europe/Berlin"
	TimeZone string `json:"timeZone,omitempty"`
}

// SuspensionSpec has a tenant sleep until the platform removes it.
type SuspensionSpec struct {
	// Why, for the claim's status and its events.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	Reason string `json:"reason"`
}

// HibernationStatus says since when a tenant sleeps, and until when.
type HibernationStatus struct {
	// When the last of its pods was gone; empty while the tenant isn't asleep.
	// +optional
	// +kubebuilder:validation:Format=date-time
	Since string `json:"since,omitempty"`

	// When it wakes up; empty for not by itself, and while it is awake.
	// +optional
	// +kubebuilder:validation:Format=date-time
	Until string `json:"until,omitempty"`

	// When it falls asleep next; empty for not by itself, and while it is asleep.
	// +optional
	// +kubebuilder:validation:Format=date-time
	Next string `json:"next,omitempty"`

	// When the time that the plan gives the tenant ends, or has ended; empty until a day before.
	// +optional
	// +kubebuilder:validation:Format=date-time
	ExpiresAt string `json:"expiresAt,omitempty"`

	// Why it is asleep, or is to be; empty otherwise.
	// +optional
	Reason string `json:"reason,omitempty"`
}
