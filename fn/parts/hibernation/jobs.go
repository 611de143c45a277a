package hibernation

import (
	_ "embed"
	"math"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/virtual-argocd/virtual-argocd/fn/core/vcluster"
	"github.com/virtual-argocd/virtual-argocd/fn/job"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	composed "github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

//go:embed script.sh
var script string

// rows are the rows of the Job, and of the account that it uses.
func rows(t tenant.Tenant) []composed.Row {
	s := StateOf(t)
	// It stays, as the last Job does.
	has := s.Job != "" || t.Hibernation.Asleep || !t.Hibernation.Next.IsZero() || t.Composed(tenant.HibernationAccount).Exists() || t.Composed(tenant.HibernationBinding).Exists()
	waits := !t.Composed(tenant.HibernationAccount).Exists() || !t.Composed(tenant.HibernationBinding).Exists()
	out := job.AccountRows(t, tenant.HibernationAccount, t.Names.HibernationAccount, tenant.HibernationBinding, "hibernation", has)
	for _, name := range []string{tenant.HibernateJob, tenant.WakeJob} {
		out = append(out, job.Row(name, s.Job == name, waits, spec(name)))
	}
	return out
}

// attempts is so high that Kubernetes never gives a Job up: it tries at growing intervals of up to six minutes.
const attempts = math.MaxInt32

func spec(name string) func(tenant.Tenant) batchv1.JobSpec {
	return func(t tenant.Tenant) batchv1.JobSpec {
		etcd := int64(0)
		if t.Store.Kind == plan.StoreEtcd {
			etcd = t.Store.Members
		}
		out := job.Spec(t, job.Of{
			Account: t.Names.HibernationAccount, Package: "hibernation", Script: script, Volumes: []job.Volume{job.Token}, Memory: resource.MustParse("256Mi"), Reserved: resource.MustParse("64Mi"),
			Steps: []job.Step{{Name: name, Image: t.Hibernation.Kubectl, Mounts: []string{job.Token.Name}, Env: []string{
				"NAMESPACE", t.Names.Namespace, "CONTROL_PLANE", vcluster.ControlPlaneKind(t) + "/" + tenant.HelmVCluster,
				"REPLICAS", strconv.FormatInt(max(1, t.ControlPlanes), 10), "ETCD", strconv.FormatInt(etcd, 10),
			}}},
		})
		out.BackoffLimit = new(int32(attempts))
		return out
	}
}
