package status

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/response"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/accounts"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/hibernation"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// Write puts what is composed of a tenant, and the report on it, into the response. What
// other functions of the pipeline desire is kept.
func Write(rsp *fnv1.RunFunctionResponse, t tenant.Tenant, is Report, desired map[string]*fnv1.Resource) error {
	o := t.Observed
	composite, err := wire.Report(rsp, o.XR, &is.Status)
	if err != nil {
		return err
	}
	details, err := connection(t)
	if err != nil {
		return err
	}
	composite.ConnectionDetails = over(composite.GetConnectionDetails(), details)
	rsp.Desired.Resources = over(rsp.GetDesired().GetResources(), desired)
	composite.Ready = fnv1.Ready_READY_FALSE
	if is.Ready {
		composite.Ready = fnv1.Ready_READY_TRUE
	}
	for _, condition := range slices.Concat(is.core, is.optional) {
		condition.Write(rsp).TargetCompositeAndClaim()
		event(rsp, o, condition)
	}
	updateEvents(rsp, t)
	if ends := hibernation.Warning(t); ends != "" {
		response.Warning(rsp, errors.New(ends)).WithReason(v1alpha1.EventExpires).TargetCompositeAndClaim()
	}
	for _, held := range is.VersionsHeld {
		if !slices.Contains(o.XR.Strings("status", "versionsHeld"), held) {
			response.Normal(rsp, held).WithReason(v1alpha1.EventVersionHeld).TargetCompositeAndClaim()
		}
	}
	return nil
}

// over returns a map with the entries of two, the second of which takes precedence.
func over[V any](below, above map[string]V) map[string]V {
	if below == nil {
		return above
	}
	maps.Copy(below, above)
	return below
}

// updateEvents adds an event when a platform change becomes available, and one when the tenant
// takes it. A tenant without a channel takes most changes at once, with no event.
func updateEvents(rsp *fnv1.RunFunctionResponse, t tenant.Tenant) {
	s, was := t.Standing, t.Observed.XR.Get("status", "channel")
	taken := func(what string) {
		response.Normal(rsp, "Updating to "+what).WithReason(v1alpha1.EventUpdateTaken).TargetCompositeAndClaim()
	}
	switch {
	case s.Took && s.Name != "" && s.Changes:
		taken(fmt.Sprintf("revision %d of channel %s", s.Newest, s.Name))
	case s.Took && s.Name == "" && was.Bool("updateAvailable"):
		taken("the plan, and the versions in the function's input, as they are now")
	case s.UpdateAvailable && (!was.Bool("updateAvailable") || was.Int(0, "newest") != s.Newest):
		response.Normal(rsp, "An update is available: "+s.Message).WithReason(v1alpha1.EventUpdateAvailable).TargetCompositeAndClaim()
	}
}

// Rests reports whether a tenant, whose response is written, is and was Ready or Hibernated, has no refused
// change and no credentials on their way, and isn't throttled by Crossplane, whose circuit breaker drops changes of a tenant
// that has too many.
func Rests(rsp *fnv1.RunFunctionResponse, t tenant.Tenant) bool {
	asleep := t.Phase == v1alpha1.PhaseHibernated && tenant.PhaseOf(t.Observed) == t.Phase
	return (asleep || rsp.GetDesired().GetComposite().GetReady() == fnv1.Ready_READY_TRUE && tenant.PhaseOf(t.Observed) == v1alpha1.PhaseReady) && t.Refused == nil &&
		!t.Observed.XR.Throttled() && !accounts.Settles(t)
}

// event emits an event for a condition that has changed since the XR's last status: events at
// each reconcile would hide the others.
func event(rsp *fnv1.RunFunctionResponse, o tenant.Observed, c condition.Condition) {
	was := o.XR.Condition(c.Type)
	// A host and a claim that were right from the start are no news. Nor is what is well after a failed call, if the tenant was Ready before:
	// then Crossplane makes all conditions Unknown, for a reason of its own.
	rightFromTheStart := was.Status == "" && (c.Type == v1alpha1.ConditionHostProtected || c.Type == v1alpha1.ConditionSpecAccepted)
	stillWell := was.Unknown() && was.Reason != v1alpha1.ReasonConfigured && o.XR.String("status", "phase") == string(v1alpha1.PhaseReady)
	if c.True && (rightFromTheStart && c.Reason != v1alpha1.ReasonUnusedValues || stillWell) {
		return
	}
	// Another message is another event where it names other Secrets, or another mistake. The
	// messages of providers change without there being news.
	news := c.Reason == v1alpha1.ReasonSecretMissing || c.Reason == v1alpha1.ReasonSecretInvalid || c.Type == v1alpha1.ConditionSpecAccepted
	// What isn't known yet is no news.
	if c.Unknown || was.Reason == c.Reason && was.True() == c.True && (was.Message == c.Message || !news) {
		return
	}
	if c.Reason == v1alpha1.ReasonHibernated && c.Type != v1alpha1.ConditionVirtualClusterReady {
		// The event of the other condition says the same.
		return
	}
	switch c.Reason {
	case v1alpha1.ReasonWaitingForArgoCD, v1alpha1.ReasonWaitingForVirtualCluster:
		// The events of what it waits for tell how far that is. Of the events of one claim, Kubernetes'
		// recorder lets Crossplane have 25 in a row, and then one in five minutes.
	case v1alpha1.ReasonInstallFailed, v1alpha1.ReasonPodsCannotStart, v1alpha1.ReasonUpgradeFailed, v1alpha1.ReasonWorkloadsUnavailable, v1alpha1.ReasonDrifted, v1alpha1.ReasonRepairGaveUp, v1alpha1.ReasonSecretMissing, v1alpha1.ReasonSecretInvalid,
		v1alpha1.ReasonConnectionFailed, v1alpha1.ReasonPasswordNotRotated, v1alpha1.ReasonNoBackup, v1alpha1.ReasonApplicationFailed, v1alpha1.ReasonUnhealthy, v1alpha1.ReasonHostTaken, v1alpha1.ReasonTooManyHosts, v1alpha1.ReasonIngressRefused, v1alpha1.ReasonRouteRefused, v1alpha1.ReasonCertificateInvalid, v1alpha1.ReasonPoliciesMissing, v1alpha1.ReasonResolverMissing, v1alpha1.ReasonKubeconfigInvalid,
		v1alpha1.ReasonInvalidSpec, v1alpha1.ReasonInvalidPlan, v1alpha1.ReasonInvalidChannel, v1alpha1.ReasonInvalidInput, v1alpha1.ReasonUnusedValues:
		response.Warning(rsp, errors.New(c.Message)).WithReason(c.Reason).TargetCompositeAndClaim()
	default:
		response.Normal(rsp, c.Message).WithReason(c.Reason).TargetCompositeAndClaim()
	}
}

// Refuse reports a claim, a plan or an input that can't be used, of a tenant for which
// nothing was accepted before. Crossplane changes nothing then, so the conditions keep
// their status; reason and message say what to correct. The message is returned, for
// the log.
func Refuse(rsp *fnv1.RunFunctionResponse, o tenant.Observed, err error) string {
	message, reason := mistakes.Text(err, o.Redact), reasonOf(err)
	news := false
	core := []string{v1alpha1.ConditionVirtualClusterReady, v1alpha1.ConditionArgoCDReady}
	if was := o.XR.Condition(v1alpha1.ConditionHostProtected); was.Status != "" && !was.Unknown() {
		// This condition isn't about the spec.
		condition.Condition{Type: v1alpha1.ConditionHostProtected, True: was.True(), Reason: was.Reason, Message: was.Message}.Write(rsp).TargetCompositeAndClaim()
	}
	for _, typ := range slices.Concat(core, v1alpha1.OptionalConditions()) {
		was := o.XR.Condition(typ)
		// A condition that exists and isn't returned would become Unknown.
		if was.Status == "" && !slices.Contains(core, typ) {
			continue
		}
		news = news || was.Reason != reason || was.Message != message
		unknown := was.Unknown() && !slices.Contains(core, typ)
		condition.Condition{Type: typ, True: was.True(), Unknown: unknown, Reason: reason, Message: message}.Write(rsp).TargetCompositeAndClaim()
	}
	condition.Condition{Type: v1alpha1.ConditionSpecAccepted, Reason: reason, Message: message}.Write(rsp).TargetCompositeAndClaim()
	// Crossplane makes an event of a fatal result on the XR alone.
	if news {
		response.Warning(rsp, errors.New(message)).WithReason(reason).TargetCompositeAndClaim()
	}
	response.Fatal(rsp, errors.New(message))
	return message
}
