package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/crossplane-contrib/provider-kubernetes/apis/cluster/object/v1alpha2"
	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// virtualObjects simulates the Objects of one virtual cluster, and the pod of its control plane. The status of an Object tells
// whether it has been created.
type virtualObjects struct {
	*simulation
	local     client.Client
	namespace string
}

func (v virtualObjects) get(ctx context.Context, o *v1alpha2.Object, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	is := manifest.DeepCopy()
	switch manifest.GetKind() {
	case "ConfigMap":
		data, err := v.summary(ctx, manifest.GetName())
		if err != nil {
			return nil, err
		}
		return is, unstructured.SetNestedStringMap(is.Object, data, "data")
	case "Ingress":
		return is, unstructured.SetNestedSlice(is.Object, []any{map[string]any{"ip": "192.0.2.1"}}, "status", "loadBalancer", "ingress")
	case "Pod":
		return is, v.pod(ctx, is)
	}
	raw := o.Status.AtProvider.Manifest.Raw
	if raw == nil {
		return nil, kerrors.NewNotFound(schema.GroupResource{Resource: manifest.GetKind()}, manifest.GetName())
	}
	return is, json.Unmarshal(raw, &is.Object)
}

func (v virtualObjects) desired(_ context.Context, _ *v1alpha2.Object, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return manifest, nil
}

func (v virtualObjects) apply(_ context.Context, _ *v1alpha2.Object, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	is := manifest.DeepCopy()
	if manifest.GetKind() != "Application" {
		return is, nil
	}
	return is, unstructured.SetNestedMap(is.Object, map[string]any{
		"sync":   map[string]any{"status": "Synced", "revision": "0000000000000000000000000000000000000000"},
		"health": map[string]any{"status": "Healthy"},
	}, "status")
}

// remove does nothing: objects in a virtual cluster are deleted with it.
func (v virtualObjects) remove(context.Context, *v1alpha2.Object, *unstructured.Unstructured) error {
	return nil
}

// pod sets the status of the control plane's pod.
func (v virtualObjects) pod(ctx context.Context, pod *unstructured.Unstructured) error {
	status := map[string]any{"phase": "Running", "containerStatuses": []any{map[string]any{"name": "syncer", "ready": true}}}
	if v.answers(ctx, v.local, v.namespace) != nil {
		status = map[string]any{"phase": "Pending"}
		if v.Faults.Has(NeverStarts, tenantOf(v.namespace)) {
			status["conditions"] = []any{map[string]any{
				"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes are available: 1 Insufficient cpu.",
			}}
		}
	}
	return unstructured.SetNestedMap(pod.Object, status, "status")
}

// summary returns the data of the proxy's summary of Argo CD's workloads.
func (v virtualObjects) summary(ctx context.Context, name string) (map[string]string, error) {
	// Of the simulated tenants, none is connected to anything.
	if _, err := proxy.ReadConnectionsName(name); err == nil {
		return proxy.ConnectionsData([]proxy.Connection{}), nil
	}
	workloads, err := proxy.ReadSummaryName(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read the name of the summary: %w", err)
	}
	is, err := v.installed(ctx)
	if err != nil {
		return nil, err
	}
	id := tenantOf(v.namespace)
	broken := v.Faults.brokenOf(id)
	for i := range workloads {
		w := &workloads[i]
		if given, ok := broken[w.Name]; ok {
			kind := w.Kind
			*w = given
			w.Kind, w.UID = kind, is.uid(w.Name)
			continue
		}
		if w.Missing = is.status == ""; w.Missing {
			continue
		}
		w.UID = is.uid(w.Name)
		// As many as any values say.
		w.Replicas, w.Available, w.Images = 3, true, map[string]string{"server": simulatedImage}
		if w.Name == tenant.ArgoCDServer {
			// One of the workloads that a change replaces isn't ready.
			w.Available, w.Why = v.server(id, is)
		}
	}
	return proxy.Summary(workloads)
}

// simulatedImage is Argo CD's, with a tag that is a version.
const simulatedImage = "quay.io/argoproj/argocd:v3.4.13-simulated"

// server returns whether Argo CD's API server is available with the last Helm release, and why not.
func (v virtualObjects) server(id string, is installed) (available bool, why string) {
	const broken = "container server: ImagePullBackOff: Back-off pulling image " + simulatedImage
	has := is.byValues || is.fault != "" && v.Faults.HasAt(is.fault, id, is.version)
	switch {
	case is.fault == UpgradeRefused:
		return true, ""
	case is.status == release.StatusDeployed && has && is.fault == UpgradeDegrades:
		return false, broken
	case is.status == release.StatusDeployed:
		return true, ""
	case is.status == release.StatusFailed, has && is.fault == UpgradeFails:
		return false, broken
	}
	// Helm waits for the change.
	return false, ""
}

// installed is the last Helm release of Argo CD.
type installed struct {
	status   release.Status
	revision int
	// version of the chart, the fault of the change to it, and whether its values cause the fault.
	version  string
	fault    Fault
	byValues bool
	// install is another after Argo CD was uninstalled and installed again.
	install string
}

func (is installed) uid(workload string) string { return is.install + "-" + workload }

// installed returns Argo CD's last Helm release; the zero value if there is none. It reads from the provider's cache, because the records are
// really in the virtual cluster, and reading them would be no load for the host.
func (v virtualObjects) installed(ctx context.Context) (is installed, err error) {
	records := &corev1.SecretList{}
	err = v.local.List(ctx, records, client.InNamespace(v.namespace), client.MatchingLabels{"owner": "helm", "name": tenant.HelmArgoCD})
	for _, r := range records.Items {
		if n, err := strconv.Atoi(r.Labels["version"]); err == nil && n > is.revision {
			is = installed{
				status: release.Status(r.Labels["status"]), revision: n,
				version: r.Labels[versionLabel], fault: Fault(r.Labels[faultLabel]), byValues: r.Labels[byValuesLabel] == "true",
				install: r.Labels[installLabel],
			}
		}
	}
	return is, err
}
