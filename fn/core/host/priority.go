package host

import (
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// priorityRows are the rows of the tenant's place in the API Priority and Fairness of the host: a
// level of priority with few seats, and the FlowSchema that puts all requests of the tenant's
// ServiceAccounts there. By default, they would share the level workload-low with Crossplane and
// every other controller. Both objects are cluster-scoped, and have the name of the tenant's
// namespace. confinement.yaml refuses others.
//
// A host whose policies are older has an older rbac.yaml, too, which doesn't let Crossplane create
// them. A tenant that runs goes on there without them.
func priorityRows(t tenant.Tenant) []resource.Row {
	row := func(name string, build func(tenant.Tenant) (resource.Object, error)) resource.Row {
		exists := t.Composed(name).Exists()
		return resource.Row{Name: name, Has: exists || t.HostProblem == "", Waits: !NamespaceReady(t), Ready: exists || t.HostProblem != "", Build: build}
	}
	return []resource.Row{row(tenant.PriorityLevel, priorityLevel), row(tenant.FlowSchema, flowSchema)}
}

// flowPrecedence comes before that of the built-in FlowSchema service-accounts, 9000, and after
// those of Kubernetes' own components.
const flowPrecedence = 8500

// A level has its share of the API server's seats, rounded up. Kubernetes' own levels have 245 shares
// and the platform's in priorities.yaml 355, so that one share is one of the default of 600 seats: one
// request at a time. While it isn't used, other levels may have it. With no shares, the level would
// be the "jail" of Kubernetes' documentation. The queue holds what a virtual cluster sends at once
// when it starts.
const (
	levelShares = 1
	queueLength = 200
)

func priorityLevel(t tenant.Tenant) (resource.Object, error) {
	return resource.Object{Typed: &flowcontrolv1.PriorityLevelConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: flowcontrolv1.SchemeGroupVersion.String(), Kind: "PriorityLevelConfiguration"},
		ObjectMeta: clusterScoped(t),
		Spec: flowcontrolv1.PriorityLevelConfigurationSpec{
			Type: flowcontrolv1.PriorityLevelEnablementLimited,
			Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{
				NominalConcurrencyShares: new(int32(levelShares)),
				LendablePercent:          new(int32(100)),
				BorrowingLimitPercent:    new(int32(0)),
				LimitResponse: flowcontrolv1.LimitResponse{
					Type:    flowcontrolv1.LimitResponseTypeQueue,
					Queuing: &flowcontrolv1.QueuingConfiguration{Queues: 1, HandSize: 1, QueueLengthLimit: queueLength},
				},
			},
		},
	}}, nil
}

func flowSchema(t tenant.Tenant) (resource.Object, error) {
	return resource.Object{Typed: &flowcontrolv1.FlowSchema{
		TypeMeta:   metav1.TypeMeta{APIVersion: flowcontrolv1.SchemeGroupVersion.String(), Kind: "FlowSchema"},
		ObjectMeta: clusterScoped(t),
		Spec: flowcontrolv1.FlowSchemaSpec{
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: t.Names.Namespace},
			MatchingPrecedence:         flowPrecedence,
			Rules: []flowcontrolv1.PolicyRulesWithSubjects{{
				Subjects: []flowcontrolv1.Subject{{
					Kind:  flowcontrolv1.SubjectKindGroup,
					Group: &flowcontrolv1.GroupSubject{Name: "system:serviceaccounts:" + t.Names.Namespace},
				}},
				ResourceRules: []flowcontrolv1.ResourcePolicyRule{{
					Verbs: []string{flowcontrolv1.VerbAll}, APIGroups: []string{flowcontrolv1.APIGroupAll}, Resources: []string{flowcontrolv1.ResourceAll},
					ClusterScope: true, Namespaces: []string{flowcontrolv1.NamespaceEvery},
				}},
				NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{{
					Verbs: []string{flowcontrolv1.VerbAll}, NonResourceURLs: []string{flowcontrolv1.NonResourceAll},
				}},
			}},
		},
	}}, nil
}

// clusterScoped returns the metadata of a cluster-scoped object with the name of the tenant's
// namespace, which it outlives.
func clusterScoped(t tenant.Tenant) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: t.Names.Namespace, Labels: resource.OfTenant(t), OwnerReferences: UntilNamespaceGoes(t)}
}
