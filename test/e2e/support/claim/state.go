package claim

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Names of conditions a claim has.
const (
	Ready               = "Ready"
	Synced              = "Synced"
	VirtualClusterReady = "VirtualClusterReady"
	ArgoCDReady         = "ArgoCDReady"
	SpecAccepted        = "SpecAccepted"

	ClustersConnected     = "ClustersConnected"
	RepositoriesConnected = "RepositoriesConnected"
	BootstrapSynced       = "BootstrapSynced"
	IngressReady          = "IngressReady"
	SSOReady              = "SSOReady"
	SecretKeysReady       = "SecretKeysReady"
	AccountsReady         = "AccountsReady"
	NotificationsReady    = "NotificationsReady"
	WebhooksReady         = "WebhooksReady"
	ImagePullSecretsReady = "ImagePullSecretsReady"
	BackedUp              = "BackedUp"
	Restored              = "Restored"
	ComponentsReady       = "ComponentsReady"
)

// State is what a claim tells its owner.
type State struct {
	Object *unstructured.Unstructured `json:"-"`

	Phase      string             `json:"phase"`
	Progress   int                `json:"progress"`
	Message    string             `json:"message"`
	Namespace  string             `json:"namespace"`
	VCluster   VClusterState      `json:"vcluster"`
	ArgoCD     ArgoCDState        `json:"argocd"`
	Clusters   []Connection       `json:"clusters"`
	Bootstrap  BootstrapState     `json:"bootstrap"`
	Backup     BackupState        `json:"backup"`
	Conditions []metav1.Condition `json:"conditions"`

	Hibernation HibernationState `json:"hibernation"`
	Restore     RestoreState     `json:"restore"`

	Webhooks struct {
		URL string `json:"url"`
	} `json:"webhooks"`

	Repositories []Connection `json:"repositories"`

	Components []ComponentState `json:"components"`
}

// ComponentState is an entry of status.components.
type ComponentState struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	State   string `json:"state"`
	Message string `json:"message"`
}

// Component returns the state of a component; its zero value when the claim has none of that name.
func (s *State) Component(name string) ComponentState {
	for _, c := range s.Components {
		if c.Name == name {
			return c
		}
	}
	return ComponentState{}
}

// Connection is an entry of status.clusters or status.repositories; only the latter have a kind.
type Connection struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	State   string `json:"state"`
	Message string `json:"message"`
	// Agent is that of a cluster with a tunnel.
	Agent struct {
		State string `json:"state"`
		Since string `json:"since"`
	} `json:"agent"`
}

// BootstrapState is status.bootstrap.
type BootstrapState struct {
	Health   string `json:"health"`
	Sync     string `json:"sync"`
	Revision string `json:"revision"`
	Message  string `json:"message"`
}

// BackupState is status.backup.
type BackupState struct {
	Name         string `json:"name"`
	LastSuccess  string `json:"lastSuccess"`
	Size         int64  `json:"size"`
	Objects      int64  `json:"objects"`
	Applications int64  `json:"applications"`
	Next         string `json:"next"`
	Message      string `json:"message"`
}

// RestoreState is status.restore.
type RestoreState struct {
	Name         string `json:"name"`
	RestoredAt   string `json:"restoredAt"`
	Applications int64  `json:"applications"`
}

// HibernationState is status.hibernation.
type HibernationState struct {
	Since  string `json:"since"`
	Until  string `json:"until"`
	Reason string `json:"reason"`
}

// VClusterState is status.vcluster.
type VClusterState struct {
	KubeconfigSecretName   string `json:"kubeconfigSecretName"`
	KubeconfigSecretKey    string `json:"kubeconfigSecretKey"`
	HelmProviderName       string `json:"helmProviderName"`
	KubernetesProviderName string `json:"kubernetesProviderName"`
	Version                string `json:"version"`
	KubernetesVersion      string `json:"kubernetesVersion"`

	DesiredVersion           string `json:"desiredVersion"`
	DesiredKubernetesVersion string `json:"desiredKubernetesVersion"`
}

// ArgoCDState is status.argocd.
type ArgoCDState struct {
	Version      string `json:"version"`
	ChartVersion string `json:"chartVersion"`
	URL          string `json:"url"`

	DesiredChartVersion string `json:"desiredChartVersion"`
}

func stateOf(o *unstructured.Unstructured) (*State, error) {
	s := &State{}
	status, _, _ := unstructured.NestedMap(o.Object, "status")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(status, s); err != nil {
		return nil, fmt.Errorf("status of claim %s is of an unexpected shape: %w", o.GetName(), err)
	}
	s.Object = o
	return s, nil
}

// Condition of a type; its zero value when the claim has none such.
func (s *State) Condition(kind string) metav1.Condition {
	if c := meta.FindStatusCondition(s.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// True reports whether a condition is True.
func (s *State) True(kind string) bool {
	return s.Condition(kind).Status == metav1.ConditionTrue
}

// IsReady reports whether both the condition Ready and the phase say that the tenant is ready: Crossplane writes the former, the function the
// latter.
func (s *State) IsReady() bool { return s.True(Ready) && s.Phase == "Ready" }

// String is the whole state on a few lines, for failure messages.
func (s *State) String() string {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s %s phase=%s progress=%d message=%q", s.Object.GetKind(), s.Object.GetName(), s.Phase, s.Progress, s.Message)
	for _, c := range s.Conditions {
		fmt.Fprintf(b, "\n  %s=%s %s %s", c.Type, c.Status, c.Reason, c.Message)
	}
	return b.String()
}
