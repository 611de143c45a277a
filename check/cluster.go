package check

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// Oldest versions that are supported.
var (
	oldestKubernetes = version.MustParseGeneric("1.33.0")
	oldestCrossplane = version.MustParseGeneric("2.2.0")
	// AmountsFrom is the version from which amounts.yaml has an effect by default.
	amountsFrom = version.MustParseGeneric("1.36.0")
)

var (
	storageClasses = schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"}
	ingressClasses = schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingressclasses"}
	deployments    = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	admission      = schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1"}
	policyKind     = admission.WithResource("validatingadmissionpolicies")
	bindingKind    = admission.WithResource("validatingadmissionpolicybindings")
)

func kubernetes(ctx context.Context, h Host) ([]Finding, error) {
	is, err := h.Discovery.ServerVersion()
	if err != nil {
		return nil, err
	}
	v, err := version.ParseGeneric(is.GitVersion)
	if err != nil {
		return nil, err
	}
	if v.LessThan(oldestKubernetes) {
		return one(Finding{Missing, "Kubernetes " + is.GitVersion, "upgrade the cluster to 1.33 or later"}), nil
	}
	found := one(Finding{OK, "Kubernetes " + is.GitVersion, ""})
	early, err := earlyAmounts(ctx, h)
	if err != nil {
		return nil, err
	}
	const costly = "amounts such as 1e10000000 in what tenants write cost the API server minutes before any other policy sees them"
	switch {
	case early:
		found = append(found, Finding{OK, "amounts that the API server would compute with for minutes are refused before", ""})
	case v.LessThan(amountsFrom):
		found = append(found, Finding{Note, costly, "upgrade to 1.36 and apply amounts.yaml, or see its comment"})
	default:
		found = append(found, Finding{Missing, "the policy of amounts.yaml: " + costly, "apply amounts.yaml"})
	}
	return found, nil
}

// earlyAmounts reports whether amounts.yaml is in force.
func earlyAmounts(ctx context.Context, h Host) (bool, error) {
	const name = "virtual-argocd-amounts"
	for _, served := range []string{"v1", "v1beta1"} {
		kinds := schema.GroupVersion{Group: admission.Group, Version: served}
		_, err := h.Objects.Resource(kinds.WithResource("mutatingadmissionpolicies")).Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			_, err = h.Objects.Resource(kinds.WithResource("mutatingadmissionpolicybindings")).Get(ctx, name, metav1.GetOptions{})
		}
		if !apierrors.IsNotFound(err) {
			return err == nil, err
		}
	}
	return false, nil
}

func storage(ctx context.Context, h Host) ([]Finding, error) {
	list, err := h.Objects.Resource(storageClasses).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, o := range list.Items {
		if o.GetAnnotations()["storageclass.kubernetes.io/is-default-class"] == "true" {
			return one(Finding{OK, "default StorageClass " + o.GetName(), ""}), nil
		}
	}
	return one(Finding{Missing, fmt.Sprintf("a default StorageClass, of %d", len(list.Items)),
		"kubectl annotate storageclass NAME storageclass.kubernetes.io/is-default-class=true, or set storageClass in the function's input or in plans"}), nil
}

// recommended are Crossplane's flags of crossplane-values.yaml.
var recommended = []string{"--circuit-breaker-burst=500", "--circuit-breaker-cooldown=1m", "--poll-interval=10m"}

func crossplane(ctx context.Context, h Host) ([]Finding, error) {
	const how = "install Crossplane 2.2 or later in namespace crossplane-system, with crossplane-values.yaml"
	o, err := h.Objects.Resource(deployments).Namespace(h.Namespace).Get(ctx, "crossplane", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return one(Finding{Missing, "Crossplane in namespace " + h.Namespace, how}), nil
	}
	if err != nil {
		return nil, err
	}
	var image string
	var args []string
	containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	for _, c := range containers {
		c, _ := c.(map[string]any)
		image, _, _ = unstructured.NestedString(c, "image")
		args, _, _ = unstructured.NestedStringSlice(c, "args")
	}
	var found []Finding
	_, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	tag, _, _ = strings.Cut(tag, "@")
	switch v, err := version.ParseGeneric(tag); {
	case err != nil:
		found = one(Finding{Note, "Crossplane's image " + image + " names no version", "it has to be 2.2 or later"})
	case v.LessThan(oldestCrossplane):
		found = one(Finding{Missing, "Crossplane " + tag, how})
	default:
		found = one(Finding{OK, "Crossplane " + tag, ""})
	}
	var lacks []string
	for _, flag := range recommended {
		name, _, _ := strings.Cut(flag, "=")
		if !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, name+"=") }) {
			lacks = append(lacks, flag)
		}
	}
	if lacks != nil {
		found = append(found, Finding{Note, "Crossplane runs without " + strings.Join(lacks, " "),
			"it may throttle a tenant that is installed: upgrade its Helm release with crossplane-values.yaml"})
	}
	return found, nil
}

// policies asks what the function asks before it creates a tenant.
func policies(ctx context.Context, h Host) ([]Finding, error) {
	in := tenant.HostPolicies{Read: true, Versions: map[string]int{}}
	list, err := h.Objects.Resource(policyKind).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	bindings, err := h.Objects.Resource(bindingKind).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	bound := map[string]bool{}
	for _, o := range bindings.Items {
		actions, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "validationActions")
		bound[o.GetName()] = slices.Contains(actions, "Deny")
	}
	for _, o := range list.Items {
		if v, err := strconv.Atoi(o.GetAnnotations()["virtualargocd.io/policies-version"]); err == nil && bound[o.GetName()] {
			in.Versions[o.GetName()] = v
		}
	}
	if problem := host.Problem(in); problem != "" {
		return one(Finding{Missing, problem, ""}), nil
	}
	return one(Finding{OK, fmt.Sprintf("the %d admission policies for tenants deny", len(host.RequiredPolicies)), ""}), nil
}

func resolver(ctx context.Context, h Host) ([]Finding, error) {
	o, err := h.Objects.Resource(deployments).Namespace("virtual-argocd-dns").Get(ctx, "resolver", metav1.GetOptions{})
	switch ready, _, _ := unstructured.NestedInt64(object(o), "status", "readyReplicas"); {
	case apierrors.IsNotFound(err):
		return one(Finding{Note, "the DNS resolver for tenants isn't there", "apply dns.yaml, or set network.dns in the function's input"}), nil
	case err != nil:
		return nil, err
	case ready == 0:
		return one(Finding{Missing, "no pod of the DNS resolver for tenants is ready", "kubectl -n virtual-argocd-dns describe pods"}), nil
	}
	return one(Finding{OK, "the DNS resolver for tenants runs", ""}), nil
}

func ingress(ctx context.Context, h Host) ([]Finding, error) {
	list, err := h.Objects.Resource(ingressClasses).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	if len(list.Items) == 0 {
		return one(Finding{Note, "there is no IngressClass, so no claim gets a URL outside of the cluster", "install an ingress controller, or name a Gateway in ingress.gateway of the function's input"}), nil
	}
	var names []string
	for _, o := range list.Items {
		names = append(names, o.GetName())
	}
	return one(Finding{OK, "IngressClasses: " + strings.Join(names, ", "), ""}), nil
}

func object(o *unstructured.Unstructured) map[string]any {
	if o == nil {
		return nil
	}
	return o.Object
}
