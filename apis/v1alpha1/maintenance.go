package v1alpha1

// MaintenanceSpec says when platform changes may reach a tenant. Changes of the claim take
// effect at once.
type MaintenanceSpec struct {
	// Hours in which a platform change may begin. Default: all hours.
	// +optional
	// +nullable
	TimeWindow *TimeWindow `json:"timeWindow,omitempty"`

	// Days on which the time window begins, by its own time zone or offset from UTC: with Sun,
	// a window from 220000+0100 to 030000+0100 ends on Monday. Needs timeWindow. Default: every
	// day.
	// +optional
	// +nullable
	// +listType=set
	// +kubebuilder:validation:MaxItems=7
	Days []Weekday `json:"days,omitempty"`

	// A time without platform changes. Default: none.
	// +optional
	// +nullable
	Freeze *Freeze `json:"freeze,omitempty"`
}

// Weekday is a day of the week.
//
// +kubebuilder:validation:Enum=Mon;Tue;Wed;Thu;Fri;Sat;Sun
type Weekday string

// TimeWindow is a part of the day of at least 30 minutes and less than 24 hours. A change
// begins in it, at least 15 minutes before its end. How long the change takes isn't limited.
//
// +kubebuilder:validation:XValidation:fieldPath=".begin",rule="(has(self.timeZone) && size(self.timeZone) > 0) != self.begin.matches('[+-]')",messageExpression="'is ' + self.begin + (has(self.timeZone) && size(self.timeZone) > 0 ? ', and timeZone is ' + self.timeZone + ': write hours, minutes and seconds alone, such as 220000, or leave timeZone out' : ', without an offset from UTC: write it, such as 220000+0100, or set timeZone')"
// +kubebuilder:validation:XValidation:fieldPath=".end",rule="(has(self.timeZone) && size(self.timeZone) > 0) != self.end.matches('[+-]')",messageExpression="'is ' + self.end + (has(self.timeZone) && size(self.timeZone) > 0 ? ', and timeZone is ' + self.timeZone + ': write hours, minutes and seconds alone, such as 030000, or leave timeZone out' : ', without an offset from UTC: write it, such as 030000+0100, or set timeZone')"
type TimeWindow struct {
	// When the window begins: hours, minutes and seconds, and without timeZone the offset
	// from UTC, such as 220000+0100. An offset is the same in summer and winter.
	// +kubebuilder:validation:MaxLength=11
	// +kubebuilder:validation:XValidation:rule="self.matches('^([01][0-9]|2[0-3])[0-5][0-9][0-5][0-9]([+-](0[0-9]|1[0-4])[0-5][0-9])?$')",message="write hours, minutes, seconds and the offset from UTC, such as 220000+0100, or 220000 with timeZone"
	Begin string `json:"begin"`

	// When the window ends, such as 030000+0100. An end that isn't after the beginning is on
	// the next day. The last change begins 15 minutes earlier.
	// +kubebuilder:validation:MaxLength=11
	// +kubebuilder:validation:XValidation:rule="self.matches('^([01][0-9]|2[0-3])[0-5][0-9][0-5][0-9]([+-](0[0-9]|1[0-4])[0-5][0-9])?$')",message="write hours, minutes, seconds and the offset from UTC, such as 030000+0100, or 030000 with timeZone"
	End string `json:"end"`

	// Time zone of begin and end, such as Europe/Berlin: a name of the IANA time zone
	// database, as in a CronJob. Begin and end have no offset then. When clocks go forward, a
	// begin or end in the hour that they skip counts as the moment of the change, and the
	// window is at least 30 minutes long. When clocks go back, a time that occurs twice counts
	// as the first of the two. Default: none, begin and end have offsets.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || self.matches('^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$') && self.lowerAscii() != 'local'",message="write a name of the IANA time zone database, such as Europe/Berlin"
	TimeZone string `json:"timeZone,omitempty"`
}

// Freeze is a time without platform changes. It begins at once.
type Freeze struct {
	// Date from which platform changes may begin again, such as 2027-01-10: from the
	// beginning of that day, by the time zone or offset of the timeWindow beside this freeze,
	// or in UTC if there is none.
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{4}-[0-9]{2}-[0-9]{2}$')",message="write a date, such as 2027-01-10"
	Until string `json:"until"`

	// Reason of the freeze, which status.channel.message of the claim shows. Default: none.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason,omitempty"`
}

// TenantChannel is the state of a tenant in its channel.
type TenantChannel struct {
	// Name of the channel; empty if the tenant has none.
	// +optional
	Name string `json:"name,omitempty"`

	// Number of the channel's newest revision.
	// +optional
	Newest int64 `json:"newest,omitempty"`

	// Number of the revision that the tenant has; 0 before it has one.
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// Whether there is a platform change that the tenant doesn't have yet.
	// +optional
	UpdateAvailable bool `json:"updateAvailable"`

	// What the tenant waits for, such as its maintenance window, and what would change;
	// empty when it waits for nothing.
	// +optional
	Message string `json:"message,omitempty"`
}
