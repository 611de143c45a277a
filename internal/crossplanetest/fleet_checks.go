package crossplanetest

import (
	"maps"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// Version is the version of the argo-cd chart that a tenant is to run.
func (f *Fleet) Version(name string) string {
	o := f.Tenants[name].Request.GetObserved().GetResources()[tenant.ArgoCDRelease].GetResource()
	return Field(o, "spec", "forProvider", "chart").GetFields()["version"].GetStringValue()
}

// Kubernetes is the version of Kubernetes that a tenant is to run.
func (f *Fleet) Kubernetes(name string) string {
	o := f.Tenants[name].Request.GetObserved().GetResources()[tenant.VClusterRelease].GetResource()
	return Field(o, "spec", "forProvider", "values", "controlPlane", "distro", "k8s").GetFields()["version"].GetStringValue()
}

// Versions is how many tenants are to run each version of the argo-cd chart.
func (f *Fleet) Versions() map[string]int {
	n := map[string]int{}
	for name := range f.Tenants {
		n[f.Version(name)]++
	}
	return n
}

// ChannelCondition returns a condition of a channel.
func (f *Fleet) ChannelCondition(channel, typ string) (status bool, reason, message string) {
	for _, c := range Field(f.Channels[channel].XR(), "status").GetFields()["conditions"].GetListValue().GetValues() {
		if of := c.GetStructValue().GetFields(); of["type"].GetStringValue() == typ {
			return of["status"].GetStringValue() == "True", of["reason"].GetStringValue(), of["message"].GetStringValue()
		}
	}
	return false, "", ""
}

// CheckVersions checks how many tenants are to run each version of the argo-cd chart.
func (f *Fleet) CheckVersions(versions map[string]int) {
	f.T.Helper()
	if got := f.Versions(); !maps.Equal(got, versions) {
		f.T.Errorf("want tenants with these versions of the chart: %v, got %v", versions, got)
	}
}

// CheckCondition checks the status of a channel's condition, and that its message contains a text.
func (f *Fleet) CheckCondition(channel, typ string, status bool, message string) {
	f.T.Helper()
	if is, reason, text := f.ChannelCondition(channel, typ); is != status || !strings.Contains(text, message) {
		f.T.Errorf("channel %s: want %s=%t with %q, got %t, %s: %s", channel, typ, status, message, is, reason, text)
	}
}
