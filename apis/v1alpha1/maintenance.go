package v1alpha1

// MaintenanceSpec says when what the platform changes may reach a tenant. What its claim
// changes it gets at once.
type MaintenanceSpec struct {
	// Hours in which a change of the platform's may begin. Default: all.
	// +optional
	// +nullable
	TimeWindow *TimeWindow `json:"timeWindow,omitempty"`

	// Days on which the time window begins, by its own time zone or offset from UTC: with Sun
	// a window from 220000+0100 to 030000+0100 ends on Monday. Default: every day.
	// +optional
	// +nullable
	// +listType=set
	// +kubebuilder:validation:MaxItems=7
	Days []Weekday `json:"days,omitempty"`

	// A time without changes of the platform's.
	// +optional
	// +nullable
	Freeze *Freeze `json:"freeze,omitempty"`
}

// Weekday is a day of the week.
//
// +kubebuilder:validation:Enum=Mon;Tue;Wed;Thu;Fri;Sat;Sun
type Weekday string

// TimeWindow is a part of the day of at least 30 minutes and less than 24 hours. A change
// begins in it, and no later than 15 minutes before its end. How long it takes isn't
// bounded.
//
// +kubebuilder:validation:XValidation:fieldPath=".begin",rule="(has(self.timeZone) && size(self.timeZone) > 0) != self.begin.matches('[+-]')",messageExpression="'is ' + self.begin + (has(self.timeZone) && size(self.timeZone) > 0 ? ', and timeZone is ' + self.timeZone + ': write hours, minutes and seconds alone, such as 220000, or leave timeZone out' : ', without an offset from UTC: write it, such as 220000+0100, or set timeZone')"
// +kubebuilder:validation:XValidation:fieldPath=".end",rule="(has(self.timeZone) && size(self.timeZone) > 0) != self.end.matches('[+-]')",messageExpression="'is ' + self.end + (has(self.timeZone) && size(self.timeZone) > 0 ? ', and timeZone is ' + self.timeZone + ': write hours, minutes and seconds alone, such as 030000, or leave timeZone out' : ', without an offset from UTC: write it, such as 030000+0100, or set timeZone')"
type TimeWindow struct {
	// When it begins: hours, minutes and seconds, and without timeZone the offset from UTC,
	// such as 220000+0100. An offset is the same in summer and winter.
	// +kubebuilder:validation:MaxLength=11
	// +kubebuilder:validation:XValidation:rule="self.matches('^([01][0-9]|2[0-3])[0-5][0-9][0-5][0-9]([+-](0[0-9]|1[0-4])[0-5][0-9])?$')",message="write hours, minutes, seconds and the offset from UTC, such as 220000+0100, or 220000 with timeZone"
	Begin string `json:"begin"`

	// When it ends, such as 030000+0100. An end that isn't after the begin is on the next
	// day.
	// +kubebuilder:validation:MaxLength=11
	// +kubebuilder:validation:XValidation:rule="self.matches('^([01][0-9]|2[0-3])[0-5][0-9][0-5][0-9]([+-](0[0-9]|1[0-4])[0-5][0-9])?$')",message="write hours, minutes, seconds and the offset from UTC, such as 030000+0100, or 030000 with timeZone"
	End string `json:"end"`

	// Time zone by which the window begins and ends, such as Europe/Berlin: a name of the
	// IANA's time zone database, as in a CronJob. Begin and end have no offset then. A time
	// that clocks skip is the moment at which they do; of a time that they show twice the
	// first one counts. A window that is shortened so lasts for 30 minutes at least. Default:
	// none, begin and end have offsets.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || self.matches('^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$') && self.lowerAscii() != 'local'",message="write a time zone of the IANA's database, such as Europe/Berlin"
	TimeZone string `json:"timeZone,omitempty"`
}

// Freeze is a time without changes of the platform's, which has an end.
type Freeze struct {
	// Date from which changes may come again, such as 2027-01-10: from the beginning of
	// that day by the time window's time zone or offset, in UTC where there is no window.
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{4}-[0-9]{2}-[0-9]{2}$')",message="write a date, such as 2027-01-10"
	Until string `json:"until"`

	// Why, for those who wait for it.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason,omitempty"`
}

// TenantChannel is where a tenant stands in its channel.
type TenantChannel struct {
	// Name of the channel; empty for none.
	// +optional
	Name string `json:"name,omitempty"`

	// Digest of what the channel offers.
	// +optional
	Offer string `json:"offer,omitempty"`

	// Digest of the offer that the tenant has; empty before it has one.
	// +optional
	Accepted string `json:"accepted,omitempty"`

	// Whether the platform offers a change that the tenant doesn't have yet.
	// +optional
	UpdateAvailable bool `json:"updateAvailable"`

	// What the tenant waits for, such as its window, and what would change; empty when it
	// waits for nothing.
	// +optional
	Message string `json:"message,omitempty"`
}
