package v1alpha1

import "k8s.io/apimachinery/pkg/runtime"

// NotificationsSpec describes the notifications that Argo CD sends about Applications. Its
// fields are those of Argo CD's ConfigMap argocd-notifications-cm; see
// https://argo-cd.readthedocs.io/en/stable/operator-manual/notifications/.
type NotificationsSpec struct {
	// Secret with whatever services refer to as $<key>, such as $slack-token. All of its keys
	// become keys of Argo CD's own Secret argocd-notifications-secret. While it is missing, or
	// lacks a key that a service refers to, the claim's condition NotificationsReady is False,
	// and what it gave before stays in use. A change takes effect within a minute or so,
	// without a restart.
	// +optional
	// +nullable
	SecretRef *SecretReference `json:"secretRef,omitempty"`

	// Services that send notifications. At most 20.
	// +optional
	// +nullable
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Services []NotificationServiceSpec `json:"services,omitempty"`

	// Templates of notifications. At most 50.
	// +optional
	// +nullable
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=50
	Templates []NotificationTemplateSpec `json:"templates,omitempty"`

	// Triggers, which say when which templates are sent. At most 50.
	// +optional
	// +nullable
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=50
	Triggers []NotificationTriggerSpec `json:"triggers,omitempty"`

	// Triggers of subscriptions that name none, here and in annotations of Applications. At
	// most 50.
	// +optional
	// +nullable
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=128
	DefaultTriggers []string `json:"defaultTriggers,omitempty"`

	// Who is notified about all Applications. Annotations of Applications and projects add
	// further recipients. At most 50.
	// +optional
	// +nullable
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Subscriptions []NotificationSubscriptionSpec `json:"subscriptions,omitempty"`

	// What templates refer to as {{.context.<key>}}. argocdUrl is always the URL of the
	// tenant's Argo CD, as in status.argocd.url, and can't be written here.
	// +optional
	// +nullable
	// +kubebuilder:validation:MaxProperties=50
	Context map[string]ContextValue `json:"context,omitempty"`
}

// ContextValue is a value for templates of notifications.
//
// +kubebuilder:validation:MaxLength=1024
type ContextValue string

// NotificationServiceSpec is a service that sends notifications.
type NotificationServiceSpec struct {
	// Type of the service, such as slack, email, webhook, github or teams-workflows.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Type string `json:"type"`

	// Name of the service, by which subscriptions and templates refer to it, unique in the
	// claim. A service of type webhook needs one. Default: its type.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-zA-Z0-9]([-_a-zA-Z0-9]*[a-zA-Z0-9])?)?$')",message="write letters, digits, dashes and underscores, such as deploy-hook"
	Name string `json:"name,omitempty"`

	// Argo CD's own configuration of the service, such as {token: $slack-token} for slack, or
	// {url: https://hooks.example.org} for webhook. Fields that the service doesn't have are
	// refused, and so are tokens and passwords: write them into the Secret of secretRef, and
	// $<key> here.
	// +optional
	// +nullable
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Config *runtime.RawExtension `json:"config,omitempty"`
}

// NotificationTemplateSpec is a template of notifications.
type NotificationTemplateSpec struct {
	// Name of the template, such as app-sync-failed.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9]([-_.a-zA-Z0-9]*[a-zA-Z0-9])?$')",message="write letters, digits, dashes, underscores and dots, such as app-sync-failed"
	Name string `json:"name"`

	// Text of the notification, in the language of Go's templates, such as
	// "{{.app.metadata.name}} failed: {{.context.argocdUrl}}/applications/{{.app.metadata.name}}".
	// +optional
	// +kubebuilder:validation:MaxLength=16384
	Message string `json:"message,omitempty"`

	// What the services get in addition to or in place of the message, by their type, as in
	// Argo CD's documentation, such as {email: {subject: ...}} or, with the name of a
	// service of type webhook, {webhook: {deploy-hook: {method: POST, body: ...}}}.
	// +optional
	// +nullable
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Config *runtime.RawExtension `json:"config,omitempty"`
}

// NotificationTriggerSpec says when notifications are sent.
type NotificationTriggerSpec struct {
	// Name of the trigger, such as on-sync-failed.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9]([-_.a-zA-Z0-9]*[a-zA-Z0-9])?$')",message="write letters, digits, dashes, underscores and dots, such as on-sync-failed"
	Name string `json:"name"`

	// Conditions, each of which sends templates once it becomes true. At most 10.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	Conditions []NotificationConditionSpec `json:"conditions"`
}

// NotificationConditionSpec is a condition of a trigger.
type NotificationConditionSpec struct {
	// Expression about the Application, in the language of
	// https://expr-lang.org/docs/language-definition, such as
	// "app.status.operationState != nil and app.status.operationState.phase in ['Error', 'Failed']".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	When string `json:"when"`

	// Names of templates to send.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=128
	Send []string `json:"send"`

	// Expression whose value the notification is sent once for, such as
	// app.status.sync.revision. Default: each time that when becomes true.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	OncePer string `json:"oncePer,omitempty"`

	// What the condition is for.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`
}

// NotificationSubscriptionSpec says who is notified about all Applications.
type NotificationSubscriptionSpec struct {
	// Recipients as <service>:<recipient>, such as slack:deployments or
	// email:team@example.org; services without recipients, such as webhooks, by their name
	// alone.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=512
	Recipients []string `json:"recipients"`

	// Names of triggers. Default: those of defaultTriggers.
	// +optional
	// +nullable
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=128
	Triggers []string `json:"triggers,omitempty"`

	// Labels of the Applications that the subscription is about, such as team=web. Default:
	// all Applications.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Selector string `json:"selector,omitempty"`
}
