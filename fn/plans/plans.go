// Package plans answers requests for plans: it says on the plan itself what is wrong with it, and
// what it comes to. Tenants and channels read plans by themselves, so that nothing waits for an
// answer.
package plans

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/response"
	"google.golang.org/protobuf/types/known/durationpb"
	corev1 "k8s.io/api/core/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/decode"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/resolve"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/providers"
)

const (
	// RequiredDefaults are the plans of claims that name none.
	RequiredDefaults = "default-plans"
	// requiredChannel is the channel that the plan names.
	requiredChannel = "channel"
	// requiredProviders are the providers that Crossplane has installed.
	requiredProviders = "providers"
	providersVersion  = "pkg.crossplane.io/v1"
	providersKind     = "Provider"
)

// Answer writes the status of a plan, its condition SpecAccepted and an event when that changes
// into the response. A plan composes nothing. rest is how long Crossplane may leave it alone.
func Answer(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse, rest time.Duration) error {
	xr := wire.Of(req.GetObserved().GetComposite().GetResource())
	p, mistake := decode.Plan(xr)
	require(rsp, p)
	defaults, read := wire.Required(req, RequiredDefaults, v1alpha1.APIVersion, v1alpha1.PlanKind)
	if !read {
		return nil
	}
	status := v1alpha1.PlanStatus{}
	if mistake == nil {
		status.Quota, mistake = check(req, p)
	}
	mistake = mistakes.Join(mistake, onlyDefault(p, defaults), channelExists(req, p))
	composite, err := wire.Report(rsp, xr, &status)
	if err != nil {
		response.Fatal(rsp, fmt.Errorf("cannot write the plan's status: %w", err))
		return err
	}
	composite.Ready = fnv1.Ready_READY_TRUE
	rsp.GetMeta().Ttl = durationpb.New(rest)
	report(rsp, xr, mistake)
	reportProviders(rsp, req)
	return mistake
}

// check decides about a tenant with the plan whose claim asks for nothing else. It returns the
// quota of that tenant, nil for none, and the mistakes of the plan.
func check(req *fnv1.RunFunctionRequest, p plan.Plan) (*v1alpha1.PlanQuota, error) {
	in, err := decode.Input(req.GetInput())
	if err != nil {
		return nil, err
	}
	d, err := resolve.Tenant(tenant.Given{XRName: "a", Claim: tenant.Claim{Namespace: "a", Name: "a"}, Input: in, Plan: p})
	_, wrong := p.IsFor("a")
	if err = mistakes.Join(wrong, err); err != nil {
		return nil, err
	}
	limit := func(name corev1.ResourceName) string {
		q, ok := d.Bounds.Quota[name]
		if !ok {
			return ""
		}
		return q.String()
	}
	return &v1alpha1.PlanQuota{CPU: limit(corev1.ResourceLimitsCPU), Memory: limit(corev1.ResourceLimitsMemory), Pods: limit("count/pods")}, nil
}

// onlyDefault returns an error if the plan isn't the only one of claims that name none.
func onlyDefault(p plan.Plan, defaults []wire.Struct) error {
	var names []string
	for _, s := range defaults {
		names = append(names, s.String("metadata", "name"))
	}
	if slices.Sort(names); len(names) < 2 || !slices.Contains(names, p.Name) {
		return nil
	}
	return fmt.Errorf("metadata.labels: %s all have the label %s, so claims that name no plan are refused: leave it on one of them", strings.Join(names, " and "), v1alpha1.LabelDefaultPlan)
}

// channelExists returns an error if the plan names a channel that doesn't exist.
func channelExists(req *fnv1.RunFunctionRequest, p plan.Plan) error {
	found, read := wire.Required(req, requiredChannel, v1alpha1.APIVersion, v1alpha1.ChannelKind)
	if p.Spec.Channel == "" || !read || len(found) > 0 {
		return nil
	}
	return p.At("channel").Errorf("there is no XArgoCDChannel %.80q: create it, or write another one or none", p.Spec.Channel)
}

// require asks Crossplane for what the answer depends on, beside the plan.
func require(rsp *fnv1.RunFunctionResponse, p plan.Plan) {
	s := wire.Selectors{}
	s.Labelled(RequiredDefaults, v1alpha1.APIVersion, v1alpha1.PlanKind, "", map[string]string{v1alpha1.LabelDefaultPlan: "true"})
	if p.Spec.Channel != "" {
		s.Named(requiredChannel, v1alpha1.APIVersion, v1alpha1.ChannelKind, "", p.Spec.Channel)
	}
	s.Labelled(requiredProviders, providersVersion, providersKind, "", nil)
	rsp.Requirements = &fnv1.Requirements{Resources: s}
}

// report writes the condition SpecAccepted, and an event if it has changed.
func report(rsp *fnv1.RunFunctionResponse, xr wire.Struct, mistake error) {
	was := xr.Condition(v1alpha1.ConditionSpecAccepted)
	if mistake == nil {
		response.ConditionTrue(rsp, v1alpha1.ConditionSpecAccepted, v1alpha1.ReasonAccepted).WithMessage("Claims can use the plan").TargetComposite()
		if was.Reason == v1alpha1.ReasonInvalidSpec {
			response.Normal(rsp, "Claims can use the plan").WithReason(v1alpha1.ReasonAccepted).TargetComposite()
		}
		return
	}
	// On the plan itself, its name before each field says nothing.
	message := strings.ReplaceAll(mistake.Error(), "plan "+cmp.Or(xr.String("metadata", "name"), plan.Default)+": ", "")
	response.ConditionFalse(rsp, v1alpha1.ConditionSpecAccepted, v1alpha1.ReasonInvalidSpec).WithMessage(message).TargetComposite()
	if was.Reason != v1alpha1.ReasonInvalidSpec || was.Message != message {
		response.Warning(rsp, errors.New(message)).WithReason(v1alpha1.ReasonInvalidSpec).TargetComposite()
	}
}

// reportProviders writes the condition ProvidersTested. Whoever installs another version finds out there, and nothing stops.
func reportProviders(rsp *fnv1.RunFunctionResponse, req *fnv1.RunFunctionRequest) {
	installed, read := wire.Required(req, requiredProviders, providersVersion, providersKind)
	if !read {
		return
	}
	var tested, others, unknown []string
	for _, name := range slices.Sorted(maps.Keys(providers.Tested)) {
		want, versions := providers.Tested[name], []string{}
		for _, p := range installed {
			if is, tag, _ := providers.NameOf(p.String("spec", "package")); is == name {
				versions = append(versions, tag)
			}
		}
		switch other := slices.IndexFunc(versions, func(v string) bool { return v != "" && v != want }); {
		case other >= 0:
			others = append(others, fmt.Sprintf("%s %.80s isn't tested, but %s", name, versions[other], want))
		case len(versions) == 0:
			unknown = append(unknown, fmt.Sprintf("there is no Provider with the package %s, of which %s is tested", name, want))
		case slices.Contains(versions, ""):
			unknown = append(unknown, fmt.Sprintf("the version of %s isn't known, because its digest names it: %s is tested", name, want))
		default:
			tested = append(tested, name+" "+want)
		}
	}
	is := condition.Condition{Type: v1alpha1.ConditionProvidersTested, True: len(others)+len(unknown) == 0, Unknown: len(others) == 0}
	switch messages := slices.Concat(others, unknown); {
	case is.True:
		is.Reason, is.Message = v1alpha1.ReasonTested, strings.Join(tested, " and ")+" are what is tested"
	case is.Unknown:
		is.Reason, is.Message = v1alpha1.ReasonVersionUnknown, strings.Join(messages, "; ")
	default:
		is.Reason, is.Message = v1alpha1.ReasonUntested, strings.Join(messages, "; ")
	}
	is.Write(rsp).TargetComposite()
}
