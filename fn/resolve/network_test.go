package resolve

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1alpha1 "github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/networktest"
)

// Labels that vcluster puts on the pods that it creates for a tenant.
const (
	labelManagedBy = "vcluster.loft.sh/managed-by"
	labelNamespace = "vcluster.loft.sh/namespace"
)

// allPodsOf returns all pods of a namespace.
func allPodsOf(namespace string) networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}}
}

func tenantPod(l ...string) networktest.Party {
	return networktest.Pod("vargo-a", append([]string{labelManagedBy, "vcluster", labelNamespace, "argocd"}, l...)...)
}

// TestNetworkPolicies asks of connections whether the policies of a tenant let
// them through, as a network plugin would decide.
func TestNetworkPolicies(t *testing.T) {
	var (
		control = networktest.Pod("vargo-a", "app", "vcluster", "release", "vcluster")
		etcd    = networktest.Pod("vargo-a", "app", "vcluster-etcd", "release", "vcluster")
		any1    = tenantPod()
		// What a tenant may write itself makes none of its pods another.
		imposter = tenantPod("app", "vcluster", "vcluster.loft.sh/label-release", "vcluster")
		dns      = networktest.Pod("vargo-a", labelManagedBy, "vcluster", labelNamespace, "kube-system", "k8s-app", "vcluster-kube-dns")
		server   = tenantPod("app.kubernetes.io/name", "argocd-server")
		other    = networktest.Pod("vargo-b", labelManagedBy, "vcluster", labelNamespace, "argocd", "app.kubernetes.io/name", "argocd-server")
		otherAPI = networktest.Pod("vargo-b", "app", "vcluster", "release", "vcluster")
		provider = networktest.Pod("crossplane-system")
		ingress  = networktest.Pod("traefik")
		kubeDNS  = networktest.Pod("kube-system", "k8s-app", "kube-dns")
		resolver = networktest.Pod("virtual-argocd-dns", "app.kubernetes.io/name", "virtual-argocd-dns")
		// It has the resolver's labels, and none of its namespace.
		imitation = networktest.Pod("vargo-b", labelManagedBy, "vcluster", "app.kubernetes.io/name", "virtual-argocd-dns")
		corporate = networktest.Pod("dns", "app", "unbound")
		monitor   = networktest.Pod("monitoring", "app", "prometheus")
		git       = networktest.Pod("git")
		scraper   = networktest.Pod("metrics", "app.kubernetes.io/name", "prometheus")
		stranger  = networktest.Pod("metrics", "app.kubernetes.io/name", "grafana")
		events    = networktest.Pod("vargo-a", labelManagedBy, "vcluster", labelNamespace, "events", "app.kubernetes.io/name", "argocd-server")
		workload  = networktest.Pod("vargo-a", labelManagedBy, "vcluster", labelNamespace, "shop", "app.kubernetes.io/name", "argocd-server")
		// It has the scraper's labels, and none of its namespace.
		lookalike = networktest.Pod("vargo-b", labelManagedBy, "vcluster", "app.kubernetes.io/name", "prometheus")
		solver    = networktest.Pod("vargo-a", "acme.cert-manager.io/http01-solver", "true")
		// A pod that a developer has started, with labels of its choice.
		developer = networktest.Pod("vargo-a", labelManagedBy, "vcluster", labelNamespace, "team-dev", "app.kubernetes.io/name", "argocd-application-controller",
			"app.kubernetes.io/part-of", "argocd", "vcluster.loft.sh/label-suffix-x-101dcd4e86", "argocd", "vcluster.loft.sh/ns-label-suffix-x-101dcd4e86", "argocd")
		repoServer = tenantPod("app.kubernetes.io/name", "argocd-repo-server")
		redis      = tenantPod("app.kubernetes.io/name", "argocd-redis")
		tunnels    = tenantPod("app.kubernetes.io/name", "argocd-tunnel")
		redisHA    = tenantPod("app", "redis-ha")
		controller = tenantPod("app.kubernetes.io/name", "argocd-application-controller")
		sets       = tenantPod("app.kubernetes.io/name", "argocd-applicationset-controller")
		dex        = tenantPod("app.kubernetes.io/name", "argocd-dex-server")
	)
	metrics := allPodsOf("metrics")
	metrics.PodSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": "prometheus"}}
	host := v1alpha1.Host{APIServer: v1alpha1.APIServer{CIDRs: []string{"10.244.0.1/32", "198.51.100.7/32"}}}
	network := v1alpha1.Network{
		InternalCIDRs: []string{"203.0.113.0/24", "2001:db8::/32"},
		AllowFrom:     []networkingv1.NetworkPolicyPeer{allPodsOf("monitoring"), {IPBlock: &networkingv1.IPBlock{CIDR: "10.243.0.0/24"}}},
		MetricsFrom:   []networkingv1.NetworkPolicyPeer{metrics},
		AllowTo:       []networkingv1.NetworkPolicyPeer{allPodsOf("git")},
	}
	cases := map[string]struct {
		from, to networktest.Party
		port     int
		want     bool
		// plain: the platform has set nothing; none: it has no ingress controllers.
		plain, none bool
		// balanced: the plan allows Services of type LoadBalancer.
		balanced bool
		// webhooks: the tenant has a component with webhooks.
		webhooks bool
		// tunnels: the tenant has a tunnel to a cluster.
		tunnels bool
		// running says what the tenant has had before; own: the platform has a resolver of its own.
		running tenant.Running
		own     bool
	}{
		"IngressToWebhook":          {from: ingress, to: events, port: 12000, webhooks: true, want: true},
		"IngressToOtherNamespaces":  {from: ingress, to: workload, port: 12000, webhooks: true},
		"IngressToWorkload":         {from: ingress, to: workload, port: 12000},
		"IngressToArgoCDsPods":      {from: ingress, to: repoServer, port: 8081, webhooks: true},
		"IngressToAPIWithWebhooks":  {from: ingress, to: control, port: 8443, webhooks: true},
		"OtherTenantToWebhook":      {from: other, to: events, port: 12000, webhooks: true},
		"NobodyToWebhook":           {from: ingress, to: events, port: 12000, webhooks: true, none: true},
		"IngressToTunnels":          {from: ingress, to: tunnels, port: 8080, tunnels: true, want: true},
		"IngressToTunnelsProxy":     {from: ingress, to: tunnels, port: 8081, tunnels: true},
		"IngressWithoutTunnels":     {from: ingress, to: tunnels, port: 8080},
		"IngressToRedisWithTunnels": {from: ingress, to: redis, port: 6379, tunnels: true},
		"ArgoCDToTunnelsProxy":      {from: controller, to: tunnels, port: 8081, tunnels: true, want: true},
		"DeveloperToTunnelsProxy":   {from: developer, to: tunnels, port: 8081, tunnels: true},
		"OtherTenantToTunnels":      {from: other, to: tunnels, port: 8080, tunnels: true},
		"NobodyToTunnels":           {from: ingress, to: tunnels, port: 8080, tunnels: true, none: true},
		"TunnelsToHostAPI":          {from: tunnels, to: networktest.Address("10.244.0.1"), port: 6443, tunnels: true},
		"TunnelsToMetadata":         {from: tunnels, to: networktest.Address("169.254.169.254"), port: 80, tunnels: true},
		"TenantToOwnPod":            {from: any1, to: server, port: 8080, want: true},
		"TenantToOwnDNS":            {from: any1, to: dns, port: 1053, want: true},
		"TenantToOwnAPI":            {from: any1, to: control, port: 8443, want: true},
		"TenantToOwnStore":          {from: any1, to: etcd, port: 2379},
		"ImposterToStore":           {from: imposter, to: etcd, port: 2379},
		"TenantToOtherTenant":       {from: any1, to: other, port: 8080},
		"TenantToOtherAPI":          {from: any1, to: otherAPI, port: 8443},
		"OtherTenantToTenant":       {from: other, to: server, port: 8080},
		"OtherTenantToAPI":          {from: other, to: control, port: 8443},
		"ControlToOtherAPI":         {from: control, to: otherAPI, port: 8443},
		"TenantToKubeDNS":           {from: any1, to: kubeDNS, port: 53},
		"TenantToResolver":          {from: any1, to: resolver, port: 1053},
		"DNSToKubeDNS":              {from: dns, to: kubeDNS, port: 53},
		"DNSToKubeDNSPlain":         {from: dns, to: kubeDNS, port: 53, plain: true},
		"DNSToKubeDNSBeforeUpgrade": {from: dns, to: kubeDNS, port: 53, running: tenant.Running{Installed: true}, want: true},
		"DNSToKubeDNSAfterUpgrade":  {from: dns, to: kubeDNS, port: 53, running: tenant.Running{Installed: true, Corefile: "x"}},
		"DNSToKubeDNSMetrics":       {from: dns, to: kubeDNS, port: 9153, running: tenant.Running{Installed: true}},
		"DNSToResolver":             {from: dns, to: resolver, port: 1053, want: true},
		"DNSToResolverPlain":        {from: dns, to: resolver, port: 1053, plain: true, want: true},
		"DNSToResolversMetrics":     {from: dns, to: resolver, port: 9153},
		"DNSToImitation":            {from: dns, to: imitation, port: 1053},
		"DNSToOwnResolver":          {from: dns, to: corporate, port: 53, own: true, want: true},
		"DNSToOthersResolver":       {from: dns, to: resolver, port: 1053, own: true},
		"DNSToKubeDNSOwnResolver":   {from: dns, to: kubeDNS, port: 53, own: true},
		"TenantToInternet":          {from: any1, to: networktest.Address("140.82.121.4"), port: 443, want: true},
		"TenantToInternet6":         {from: any1, to: networktest.Address("2606:50c0:8000::153"), port: 22, want: true},
		"TenantToMetadata":          {from: any1, to: networktest.Address("169.254.169.254"), port: 80},
		"TenantToMetadata6":         {from: any1, to: networktest.Address("fd00:ec2::254"), port: 80},
		"TenantToAzure":             {from: any1, to: networktest.Address("168.63.129.16"), port: 80},
		"TenantToAlibaba":           {from: any1, to: networktest.Address("100.100.100.200"), port: 80},
		"TenantToOracle":            {from: any1, to: networktest.Address("192.0.0.192"), port: 80},
		"TenantToNode":              {from: any1, to: networktest.Address("10.244.0.1"), port: 10250},
		"TenantToHostAPI":           {from: any1, to: networktest.Address("10.244.0.1"), port: 6443},
		"TenantToService":           {from: any1, to: networktest.Address("10.96.0.1"), port: 443},
		"TenantToPrivate":           {from: any1, to: networktest.Address("192.168.1.1"), port: 443},
		"TenantToPrivate172":        {from: any1, to: networktest.Address("172.31.0.1"), port: 443},
		"TenantToNAT64":             {from: any1, to: networktest.Address("64:ff9b::a9fe:a9fe"), port: 80},
		"TenantToLoopback6":         {from: any1, to: networktest.Address("::1"), port: 80},
		"TenantToInternal":          {from: any1, to: networktest.Address("203.0.113.9"), port: 443},
		"TenantToInternal6":         {from: any1, to: networktest.Address("2001:db8::9"), port: 443},
		"TenantToInternalPlain":     {from: any1, to: networktest.Address("203.0.113.9"), port: 443, want: true, plain: true},
		"TenantToAllowed":           {from: any1, to: git, port: 22, want: true},
		"TenantToUnknownPod":        {from: any1, to: monitor, port: 9090},
		"ControlToTenant":           {from: control, to: workload, port: 9443, want: true},
		"ControlToStore":            {from: control, to: etcd, port: 2379, want: true},
		"StoreToStore":              {from: etcd, to: etcd, port: 2380, want: true},
		"ControlToKubeDNS":          {from: control, to: kubeDNS, port: 53, want: true},
		"ControlToHostAPI":          {from: control, to: networktest.Address("10.244.0.1"), port: 6443, want: true},
		"ControlToKubelet":          {from: control, to: networktest.Address("10.244.0.1"), port: 10250},
		"ControlToElsewhere":        {from: control, to: networktest.Address("10.0.0.1"), port: 6443},
		"ControlToElsewherePlain":   {from: control, to: networktest.Address("10.0.0.1"), port: 6443, want: true, plain: true},
		"ControlToMetadataPlain":    {from: control, to: networktest.Address("169.254.169.254"), port: 443, plain: true},
		"ControlToAzurePlain":       {from: control, to: networktest.Address("168.63.129.16"), port: 443, plain: true},
		"ControlToMetadata6Plain":   {from: control, to: networktest.Address("fd00:ec2::254"), port: 443, plain: true},
		"ControlToNAT64Plain":       {from: control, to: networktest.Address("64:ff9b::a9fe:a9fe"), port: 443, plain: true},
		"TenantToGoogle":            {from: any1, to: networktest.Address("fd20:ce::254"), port: 80},
		"ControlToInternetPlain":    {from: control, to: networktest.Address("140.82.121.4"), port: 80, plain: true},
		"ProviderToAPI":             {from: provider, to: control, port: 8443, want: true},
		"ProviderToStore":           {from: provider, to: etcd, port: 2379},
		"ProviderToTenant":          {from: provider, to: server, port: 8080},
		"IngressToServer":           {from: ingress, to: server, port: 8080, want: true},
		"IngressToServersOtherPort": {from: ingress, to: server, port: 8083},
		"IngressToOtherPods":        {from: ingress, to: any1, port: 8080},
		"IngressToAPI":              {from: ingress, to: control, port: 8443},
		"IngressToSolver":           {from: ingress, to: solver, port: 8089, want: true},
		"TenantToSolver":            {from: any1, to: solver, port: 8089},
		"OtherToSolver":             {from: other, to: solver, port: 8089},
		"NoIngressControllers":      {from: ingress, to: server, port: 8080, none: true},
		"MonitoringToTenant":        {from: monitor, to: server, port: 8083, want: true},
		"MonitoringToAPI":           {from: monitor, to: control, port: 8443, want: true},
		"MonitoringToStore":         {from: monitor, to: etcd, port: 2381},
		"MonitoringToTenantPlain":   {from: monitor, to: server, port: 8083, plain: true},
		"ScraperToController":       {from: scraper, to: server, port: 8082, want: true},
		"ScraperToServersMetrics":   {from: scraper, to: server, port: 8083},
		"ScraperToRepoServer":       {from: scraper, to: server, port: 8084, want: true},
		"ScraperToServersAPI":       {from: scraper, to: server, port: 8080},
		"ScraperToWorkload":         {from: scraper, to: workload, port: 8082},
		"ScraperToAPI":              {from: scraper, to: control, port: 8443},
		"ScraperToStore":            {from: scraper, to: etcd, port: 8082},
		"ScraperToServerPlain":      {from: scraper, to: server, port: 8082, plain: true},
		"NeighbourOfScraper":        {from: stranger, to: server, port: 8082},
		"LookalikeOfScraper":        {from: lookalike, to: server, port: 8082},
		"TenantToScraper":           {from: server, to: scraper, port: 9090},
		"AllowedAddressToAPI":       {from: networktest.Address("10.243.0.1"), to: control, port: 8443, want: true},
		"OtherAddressToAPI":         {from: networktest.Address("10.242.0.1"), to: control, port: 8443},
		"InternetToServer":          {from: networktest.Address("140.82.121.4"), to: server, port: 8080},
		"InternetToBalanced":        {from: networktest.Address("140.82.121.4"), to: workload, port: 8443, balanced: true, want: true},
		"InternetToServerBalanced":  {from: networktest.Address("140.82.121.4"), to: server, port: 8080, balanced: true, want: true},
		"InternetToServersMetrics":  {from: networktest.Address("140.82.121.4"), to: server, port: 8083, balanced: true},
		"InternetToRepoServer":      {from: networktest.Address("140.82.121.4"), to: repoServer, port: 8081, balanced: true},
		"InternetToRedis":           {from: networktest.Address("140.82.121.4"), to: redis, port: 6379, balanced: true},
		"InternalToServerBalanced":  {from: networktest.Address("203.0.113.9"), to: server, port: 8080, balanced: true},
		"InternetToBalancedsAPI":    {from: networktest.Address("140.82.121.4"), to: control, port: 8443, balanced: true},
		"InternalToBalanced":        {from: networktest.Address("203.0.113.9"), to: workload, port: 8080, balanced: true},
		"OtherTenantToBalanced":     {from: other, to: workload, port: 8080, balanced: true},
		"TenantToPublicHostAPI":     {from: any1, to: networktest.Address("198.51.100.7"), port: 443},
		"ControlToPublicHostAPI":    {from: control, to: networktest.Address("198.51.100.7"), port: 6443, want: true},

		// Inside of a tenant: only Argo CD's API server is for others.
		"DeveloperToServer":            {from: developer, to: server, port: 8080, want: true},
		"DeveloperToServerPlain":       {from: developer, to: server, port: 8080, want: true, plain: true},
		"DeveloperToServerAlone":       {from: developer, to: server, port: 8080, want: true, none: true},
		"DeveloperToServersMetrics":    {from: developer, to: server, port: 8083},
		"DeveloperToRepoServer":        {from: developer, to: repoServer, port: 8081},
		"DeveloperToRepoServerPlain":   {from: developer, to: repoServer, port: 8081, plain: true},
		"DeveloperToReposBalanced":     {from: developer, to: repoServer, port: 8081, balanced: true},
		"DeveloperToReposMetrics":      {from: developer, to: repoServer, port: 8084},
		"DeveloperToRedis":             {from: developer, to: redis, port: 6379},
		"DeveloperToRedisHA":           {from: developer, to: redisHA, port: 6379},
		"DeveloperToSentinel":          {from: developer, to: redisHA, port: 26379},
		"DeveloperToController":        {from: developer, to: controller, port: 8082},
		"DeveloperToApplicationSets":   {from: developer, to: sets, port: 8080},
		"DeveloperToWebhook":           {from: developer, to: sets, port: 7000},
		"DeveloperToDex":               {from: developer, to: dex, port: 5556},
		"DeveloperToDexByGRPC":         {from: developer, to: dex, port: 5557},
		"DeveloperToWorkload":          {from: developer, to: workload, port: 9898, want: true},
		"DeveloperToDNS":               {from: developer, to: dns, port: 1053, want: true},
		"DeveloperToOwnAPI":            {from: developer, to: control, port: 8443, want: true},
		"DeveloperToStore":             {from: developer, to: etcd, port: 2379},
		"DeveloperToInternet":          {from: developer, to: networktest.Address("140.82.121.4"), port: 443, want: true},
		"ServerToRepoServer":           {from: server, to: repoServer, port: 8081, want: true},
		"ServerToDex":                  {from: server, to: dex, port: 5556, want: true},
		"ControllerToRedis":            {from: controller, to: redis, port: 6379, want: true},
		"RedisHAToRedisHA":             {from: redisHA, to: redisHA, port: 26379, want: true},
		"ControllerToWorkload":         {from: controller, to: workload, port: 9898, want: true},
		"RepoServerToWorkload":         {from: repoServer, to: workload, port: 9418, want: true},
		"ControlToWebhook":             {from: control, to: repoServer, port: 9443, want: true},
		"ControlToMetadataOfAlibaba":   {from: control, to: networktest.Address("100.100.100.200"), port: 443, plain: true},
		"ControlToMetadataOfOracle":    {from: control, to: networktest.Address("192.0.0.192"), port: 443, plain: true},
		"ControlToMetadataOfGoogle":    {from: control, to: networktest.Address("fd20:ce::254"), port: 443, plain: true},
		"ControlToMetadataOfOracle6":   {from: control, to: networktest.Address("fd00:c1::a9fe:a9fe"), port: 443, plain: true},
		"ControlToMetadataByNAT64":     {from: control, to: networktest.Address("64:ff9b::a9fe:a9fe"), port: 443, plain: true},
		"OtherTenantsDeveloperToRepos": {from: networktest.Pod("vargo-b", labelManagedBy, "vcluster", labelNamespace, "argocd"), to: repoServer, port: 8081},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := tenant.Given{XRName: "a", Input: v1alpha1.Input{Host: host, Network: network}}
			if tc.plain {
				r.Input = v1alpha1.Input{}
			}
			if tc.none {
				r.Input.Network.IngressControllers = []string{}
			}
			r.Running = tc.running
			if tc.own {
				r.Input.Network.DNS = &v1alpha1.DNS{Address: "10.96.0.99", Peers: []networkingv1.NetworkPolicyPeer{allPodsOf("dns")}}
			}
			if tc.balanced {
				r.Plan = plan.Plan{Name: "p", Spec: apiv1alpha1.PlanSpec{LoadBalancers: 1}}
			}
			if tc.webhooks {
				r.Input.Components = []v1alpha1.Component{{Name: "events", Webhooks: true, Chart: v1alpha1.Chart{Repository: "https://charts.example.org", Name: "a", Version: "1.0.0"}}}
				r.Spec.Components = []tenant.AskedComponent{{Name: "events"}}
			}
			if tc.tunnels {
				r.Input.Tunnels = &v1alpha1.Tunnels{Image: v1alpha1.Image{Tag: "v0.3.0"}}
				r.Claim = tenant.Claim{Namespace: "team-a", Name: "a"}
				r.Spec.Ingress = &apiv1alpha1.IngressSpec{Host: "a.example.org"}
				r.Spec.Clusters = []apiv1alpha1.ClusterSpec{{Name: "store", Tunnel: &apiv1alpha1.TunnelSpec{}}}
			}
			if got := networktest.Allows(policiesOf(t, r), tc.from, tc.to, tc.port); got != tc.want {
				t.Errorf("from %v to %v, port %d: want %v, got %v", tc.from, tc.to, tc.port, tc.want, got)
			}
		})
	}
	if p := policiesOf(t, tenant.Given{XRName: "a", Input: v1alpha1.Input{Network: v1alpha1.Network{Disabled: true}}}); len(p) > 0 {
		t.Errorf("switched off, and yet there are %d policies", len(p))
	}
}

// TestNetworkPoliciesStay: whether a claim has a URL changes none of them.
func TestNetworkPoliciesStay(t *testing.T) {
	with := tenant.Given{XRName: "a", Input: v1alpha1.Input{Ingress: apiv1alpha1.PlatformIngress{Domain: "example.org"}}, Hostnames: tenant.Hostnames{Held: []string{"a.example.org"}}}
	if diff := cmp.Diff(policiesOf(t, tenant.Given{XRName: "a"}), policiesOf(t, with)); diff != "" {
		t.Errorf("-without a URL, +with one:\n%s", diff)
	}
}

// policiesOf are the NetworkPolicies of a tenant.
func policiesOf(t *testing.T, r tenant.Given) []networkingv1.NetworkPolicy {
	t.Helper()
	p, err := Tenant(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, policy := range p.Bounds.NetworkPolicies {
		if policy.Namespace != "vargo-a" || policy.Kind == "" {
			t.Errorf("policy %s is for namespace %q", policy.Name, policy.Namespace)
		}
	}
	return p.Bounds.NetworkPolicies
}

// TestOneMistakeAtATime: of several mistakes the same one is told each time.
func TestOneMistakeAtATime(t *testing.T) {
	wrong := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Is"}}}
	for name, r := range map[string]tenant.Given{
		"Plan":  {Plan: plan.Plan{Name: "p", Spec: apiv1alpha1.PlanSpec{Ingress: apiv1alpha1.PlatformIngress{Annotations: map[string]string{"a b": "", "c d": "", "e f": "", "g h": ""}}}}},
		"Quota": {Plan: plan.Plan{Name: "p", Spec: apiv1alpha1.PlanSpec{Quota: map[string]apiv1alpha1.Quantity{"pods": "a", "secrets": "b", "cpu": "c", "memory": "d"}}}},
		"Peer":  {Input: v1alpha1.Input{Network: v1alpha1.Network{AllowTo: []networkingv1.NetworkPolicyPeer{{PodSelector: wrong, NamespaceSelector: wrong}}}}},
	} {
		r.XRName = "a"
		_, first := Tenant(r)
		if first == nil {
			t.Fatalf("%s: no error", name)
		}
		for range 50 {
			if _, err := Tenant(r); err == nil || err.Error() != first.Error() {
				t.Fatalf("%s: once %v, once %v", name, first, err)
			}
		}
	}
}
