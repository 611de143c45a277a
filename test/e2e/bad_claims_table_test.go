//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
)

// TestBadClaims tries claims that are wrong in one way each.
func TestBadClaims(t *testing.T) {
	allRefused(context.Background(), t, badClaims)
}

// badClaim is a claim that is wrong in one way, or whose Secret is, and the field or the words that its error must have.
type badClaim struct {
	claim *claim.Claim
	field string
}

// secretWithAnchor is the name of a Secret with a kubeconfig that has an anchor and an alias: allRefused creates it.
const secretWithAnchor = "with-anchor"

// badClaims by what is wrong with them.
var badClaims = map[string]badClaim{
	// Types and fields that the schema knows.
	"VersionIsANumber":         {newClaim("refused-01").Set(int64(135), "spec", "kubernetes", "version"), "spec.kubernetes.version"},
	"ArgoCDValuesAreAString":   {newClaim("refused-02").Set("server", "spec", "argocd", "values"), "spec.argocd.values"},
	"VClusterValuesAreAList":   {newClaim("refused-03").Set([]any{"a"}, "spec", "vcluster", "values"), "spec.vcluster.values"},
	"ArgoCDIsABoolean":         {newClaim("refused-04").Set(true, "spec", "argocd"), "spec.argocd"},
	"UnknownField":             {newClaim("refused-05").Set(int64(3), "spec", "replicas"), "spec.replicas"},
	"FieldInWrongCase":         {newClaim("refused-06").Set("9.3.7", "spec", "argocd", "chartversion"), "spec.argocd.chartversion"},
	"ConnectionSecretIsNested": {newClaim("refused-07").Set(map[string]any{"a": "b"}, "spec", "writeConnectionSecretToRef", "name"), "spec.writeConnectionSecretToRef.name"},

	// Versions.
	"KubernetesTooOld":         {newClaim("refused-08").Kubernetes("v1.12.0"), "spec.kubernetes.version"},
	"KubernetesTooNew":         {newClaim("refused-09").Kubernetes("v1.99.0"), "spec.kubernetes.version"},
	"KubernetesNotAVersion":    {newClaim("refused-10").Kubernetes("latest"), "spec.kubernetes.version"},
	"KubernetesIsAnImage":      {newClaim("refused-11").Kubernetes("v1.35.4@sha256:" + strings.Repeat("a", 64)), "spec.kubernetes.version"},
	"ArgoCDChartNotAVersion":   {newClaim("refused-12").Set("newest please", "spec", "argocd", "chartVersion"), "spec.argocd.chartVersion"},
	"ArgoCDChartTooLong":       {newClaim("refused-13").Set("1.0.0-"+strings.Repeat("a", 300), "spec", "argocd", "chartVersion"), "spec.argocd.chartVersion"},
	"VClusterChartNotAVersion": {newClaim("refused-14").Set("../../etc/passwd", "spec", "vcluster", "chartVersion"), "spec.vcluster.chartVersion"},

	// What is not a tenant's to set in the virtual cluster: each of these is a way out of it, or into another.
	"HostManifests":       {newClaim("refused-15").VClusterValue("apiVersion: v1", "experimental", "deploy", "host", "manifests"), "spec.vcluster.values.experimental"},
	"HostRBAC":            {newClaim("refused-16").VClusterValue(true, "rbac", "clusterRole", "enabled"), "spec.vcluster.values.rbac"},
	"ControlPlaneImage":   {newClaim("refused-17").VClusterValue("evil/vcluster", "controlPlane", "statefulSet", "image", "repository"), "spec.vcluster.values.controlPlane.statefulSet.image"},
	"ControlPlaneSidecar": {newClaim("refused-18").VClusterValue([]any{map[string]any{"name": "x"}}, "controlPlane", "statefulSet", "sidecars"), "spec.vcluster.values.controlPlane.statefulSet.sidecars"},
	"HostNodes":           {newClaim("refused-19").VClusterValue(true, "sync", "fromHost", "nodes", "enabled"), "spec.vcluster.values.sync.fromHost"},
	"PodSecurityOff":      {newClaim("refused-20").VClusterValue("privileged", "policies", "podSecurityStandard"), "spec.vcluster.values.policies"},
	"OtherKubeconfig":     {newClaim("refused-21").VClusterValue("https://elsewhere", "exportKubeConfig", "server"), "spec.vcluster.values.exportKubeConfig"},
	"Plugins":             {newClaim("refused-22").VClusterValue(map[string]any{"image": "evil"}, "plugins", "evil"), "spec.vcluster.values.plugins"},
	"HostServices":        {newClaim("refused-23").VClusterValue([]any{}, "networking", "replicateServices", "fromHost"), "spec.vcluster.values.networking"},
	"TokensInPods":        {newClaim("refused-24").VClusterValue(false, "sync", "toHost", "pods", "useSecretsForSATokens"), "spec.vcluster.values.sync.toHost.pods"},
	"NoSuchValue":         {newClaim("refused-25").VClusterValue(true, "noSuchThing"), "spec.vcluster.values.noSuchThing"},

	"KeyWithDots": {newClaim("refused-30").Set(map[string]any{"sync.toHost.ingresses": map[string]any{"enabled": true}}, "spec", "vcluster", "values"), "spec.vcluster.values.sync.toHost.ingresses"},

	// What Argo CD's workloads are called, which health is read by.
	"ArgoCDName":      {newClaim("refused-31").ArgoCDValue("other", "fullnameOverride"), "spec.argocd.values.fullnameOverride"},
	"ArgoCDNamespace": {newClaim("refused-32").ArgoCDValue("kube-system", "namespaceOverride"), "spec.argocd.values.namespaceOverride"},
	"ServerName":      {newClaim("refused-33").ArgoCDValue("other", "server", "name"), "spec.argocd.values.server.name"},

	// Sizes.
	"ValuesTooDeep":  {newClaim("refused-26").ArgoCDValue(true, strings.Split(strings.Repeat("a.", 120)+"a", ".")...), "spec.argocd.values"},
	"ValuesTooLarge": {newClaim("refused-27").ArgoCDValue(strings.Repeat("x", 300_000), "configs", "cm", "x"), "spec.argocd.values"},
	"SpecTooLarge":   {newClaim("refused-44").ArgoCDValue(strings.Repeat("x", 900_000), "configs", "cm", "x"), "spec has more than 384 KiB"},
	"NameTooLong":    {newClaim("refused-28-" + strings.Repeat("a", 53)), "metadata.name"},
	"NameNotALabel":  {newClaim("refused-29.Upper"), "metadata.name"},

	// What would grow where it is decoded, or take hours to compute with.
	"CostlyAmount":   {newClaim("refused-34").ArgoCDValue("1e10000000", "server", "resources", "limits", "cpu"), "spec.argocd.values.server.resources.limits.cpu"},
	"CostlySize":     {newClaim("refused-35").ArgoCDValue([]any{map[string]any{"name": "a", "emptyDir": map[string]any{"sizeLimit": "1e10000000"}}}, "server", "volumes"), "spec.argocd.values.server.volumes[0].emptyDir.sizeLimit"},
	"Anchor":         {newClaim("refused-36").ArgoCDValue("a: &a b", "configs", "cm", "x"), "spec.argocd.values.configs.cm.x: a YAML anchor"},
	"AnchorInSecret": {newClaim("refused-37").Set([]any{map[string]any{"name": "prod", "secretRef": map[string]any{"name": secretWithAnchor}}}, "spec", "clusters"), secretWithAnchor + " in namespace " + claims + ": key kubeconfig is not a kubeconfig: it has YAML anchors"},
}
