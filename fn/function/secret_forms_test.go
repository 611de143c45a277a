package function

import (
	"encoding/base64"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// annotate adds to the metadata of a Secret in the claim's namespace.
func (e *engine) annotate(name string, labels, annotations map[string]string) {
	e.t.Helper()
	meta := field(e.cluster["Secret/"+testNamespace+"/"+name], "metadata")
	for key, add := range map[string]map[string]string{"labels": labels, "annotations": annotations} {
		if meta.Fields[key] == nil {
			meta.Fields[key] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{}})
		}
		for k, v := range add {
			meta.Fields[key].GetStructValue().Fields[k] = structpb.NewStringValue(v)
		}
	}
}

// clusterSecret is what Argo CD finds of a cluster: what the chart makes of the values, or a Secret among its extra objects.
type clusterSecret struct {
	name, server, project string
	labels, annotations   map[string]string
}

// clustersOf returns the clusters of the values in the Secret, by their name in Argo CD.
func clustersOf(t *testing.T, e *engine) map[string]clusterSecret {
	t.Helper()
	out := map[string]clusterSecret{}
	v := valuesOf(t, e.observed(tenant.ValuesSecret))
	texts := func(v any, ours ...string) map[string]string {
		texts := map[string]string{}
		m, _ := v.(map[string]any)
		for key, at := range m {
			texts[key], _ = at.(string)
		}
		for _, key := range ours {
			delete(texts, key)
		}
		return texts
	}
	configs, _ := v["configs"].(map[string]any)
	listed, _ := configs["clusterCredentials"].(map[string]any)
	for name, entry := range listed {
		entry := entry.(map[string]any)
		project, _ := entry["project"].(string)
		out[name] = clusterSecret{name, entry["server"].(string), project, texts(entry["labels"]), texts(entry["annotations"])}
	}
	objects, _ := v["extraObjects"].([]any)
	for _, o := range objects {
		o := o.(map[string]any)
		meta, data := o["metadata"].(map[string]any), texts(o["data"])
		labels := texts(meta["labels"], "argocd.argoproj.io/secret-type", "app.kubernetes.io/part-of")
		if meta["labels"] == nil {
			continue
		}
		if meta["labels"].(map[string]any)["argocd.argoproj.io/secret-type"] != "cluster" || meta["namespace"] != "argocd" {
			t.Errorf("Argo CD doesn't find the Secret: %v", meta)
		}
		decode := func(key string) string {
			raw, err := base64.StdEncoding.DecodeString(data[key])
			if err != nil {
				t.Fatal(err)
			}
			return string(raw)
		}
		if decode("config") == "" {
			t.Error("a cluster without a config")
		}
		out[decode("name")] = clusterSecret{decode("name"), decode("server"), decode("project"), labels, texts(meta["annotations"])}
	}
	return out
}

// TestClusterSecretsOfArgoCD: Secrets for clusters as Argo CD's documentation and others' tools write them.
func TestClusterSecretsOfArgoCD(t *testing.T) {
	const declared = `{"bearerToken":"tok-declared-1","tlsClientConfig":{"insecure":true}}`
	const ref = `"secretRef":{"name":"s"}`
	arn := "arn:aws:eks:eu-central-1:123456789012:cluster/prod"
	server := map[string]any{"server": "https://10.0.0.1:6443"}
	ofToken := kubeconfig(map[string]any{"token": "tok-kubeconfig-1"}, server)
	cases := map[string]struct {
		reason, spec        string
		data                map[string]string
		labels, annotations map[string]string
		want                clusterSecret
		note                string
	}{
		"Metadata": {
			"Cluster generators select by labels, and take values of annotations.",
			`{"name":"prod",` + ref + `}`, map[string]string{"server": "https://prod.example.org", "config": declared},
			map[string]string{"argocd.argoproj.io/secret-type": "cluster", "env": "prod", "example.org/region": "eu", "app.kubernetes.io/instance": "gitops"},
			map[string]string{"example.org/team": "a {{b}}", "kubectl.kubernetes.io/last-applied-configuration": `{"stringData":{"config":"tok-declared-1"}}`, "managed-by": "argocd.argoproj.io"},
			clusterSecret{"prod", "https://prod.example.org", "", map[string]string{"env": "prod", "example.org/region": "eu"}, map[string]string{"example.org/team": "a {{b}}"}}, "",
		},
		"ClaimsLabelWins": {
			"What the claim says counts, label by label.",
			`{"name":"prod","labels":{"env":"own"},` + ref + `}`, map[string]string{"server": "https://prod.example.org", "config": declared},
			map[string]string{"env": "prod", "tier": "1"}, nil,
			clusterSecret{"prod", "https://prod.example.org", "", map[string]string{"env": "own", "tier": "1"}, map[string]string{}}, "",
		},
		"Name": {
			"destination.name is what the Secret says.",
			`{"name":"prod",` + ref + `}`, map[string]string{"name": "mycluster.example.com", "server": "https://prod.example.org", "config": declared, "project": "web"},
			map[string]string{"env": "prod"}, map[string]string{"example.org/team": "a {{b}}"},
			clusterSecret{"mycluster.example.com", "https://prod.example.org", "web", map[string]string{"env": "prod"}, map[string]string{"example.org/team": "a {{`{{`}}b}}"}}, "",
		},
		"NameOfGKE": {
			"As gcloud names the context.", `{"name":"gke_proj_europe-west1_prod",` + ref + `}`, map[string]string{"server": "https://prod.example.org", "config": declared}, nil, nil,
			clusterSecret{"gke_proj_europe-west1_prod", "https://prod.example.org", "", map[string]string{}, map[string]string{}}, "",
		},
		"NameOfEKS": {
			"As aws eks names the context.", `{"name":"` + arn + `",` + ref + `}`, map[string]string{"name": arn, "server": "https://prod.example.org", "config": declared}, nil, nil,
			clusterSecret{arn, "https://prod.example.org", "", map[string]string{}, map[string]string{}}, "",
		},
		"NameLikeANumber": {
			"The chart writes names without quotes.", `{"name":"123",` + ref + `}`, map[string]string{"server": "https://prod.example.org", "config": declared}, nil, nil,
			clusterSecret{"123", "https://prod.example.org", "", map[string]string{}, map[string]string{}}, "",
		},
		"NameLikeATemplate": {
			"A name is no template.", `{"name":"Prod {{ .Values }} #1",` + ref + `}`, map[string]string{"server": "https://prod.example.org", "config": declared}, nil, nil,
			clusterSecret{"Prod {{ .Values }} #1", "https://prod.example.org", "", map[string]string{}, map[string]string{}}, "",
		},
		"InCluster": {
			"Labels of the cluster that Argo CD runs in.", `{"name":"in-cluster","labels":{"env":"hub"}}`, nil, nil, nil,
			clusterSecret{"in-cluster", "https://kubernetes.default.svc", "", map[string]string{"env": "hub"}, map[string]string{}}, "",
		},
		"InClusterByServer": {
			"It may have another name.", `{"name":"hub","server":"https://kubernetes.default.svc","project":"web"}`, nil, nil, nil,
			clusterSecret{"hub", "https://kubernetes.default.svc", "web", map[string]string{}, map[string]string{}}, "",
		},
		"InClusterBySecret": {
			"Argo CD needs no credentials there.", `{"name":"in-cluster",` + ref + `}`, map[string]string{"name": "in-cluster", "server": "https://kubernetes.default.svc", "config": `{"tlsClientConfig":{"insecure":false}}`},
			map[string]string{"env": "hub"}, nil,
			clusterSecret{"in-cluster", "https://kubernetes.default.svc", "", map[string]string{"env": "hub"}, map[string]string{}}, "",
		},
		"InClusterWithoutConfig": {
			"Nor a config.", `{"name":"in-cluster",` + ref + `}`, map[string]string{"server": "https://kubernetes.default.svc"}, nil, nil,
			clusterSecret{"in-cluster", "https://kubernetes.default.svc", "", map[string]string{}, map[string]string{}}, "",
		},
		"ClusterAPI": {
			"Cluster API has the kubeconfig at value.", `{"name":"prod",` + ref + `}`, map[string]string{"value": ofToken}, map[string]string{"cluster.x-k8s.io/cluster-name": "prod"}, nil,
			clusterSecret{"prod", "https://10.0.0.1:6443", "", map[string]string{}, map[string]string{}}, "",
		},
		"VCluster": {
			"vcluster has it at config, beside its parts.", `{"name":"prod",` + ref + `}`, map[string]string{"config": ofToken, "certificate-authority": "x", "client-key": "y"}, nil, nil,
			clusterSecret{"prod", "https://10.0.0.1:6443", "", map[string]string{}, map[string]string{}}, "",
		},
		"AnyKey": {
			"Files are called otherwise elsewhere.", `{"name":"prod",` + ref + `}`, map[string]string{"admin.conf": ofToken, "endpoint": "https://10.0.0.1:6443"}, nil, nil,
			clusterSecret{"prod", "https://10.0.0.1:6443", "", map[string]string{}, map[string]string{}}, "",
		},
		"InClusterWithLabelsAlone": {
			"A Secret for its labels.", `{"name":"in-cluster",` + ref + `}`, map[string]string{"name": "in-cluster"}, map[string]string{"env": "hub"}, nil,
			clusterSecret{"in-cluster", "https://kubernetes.default.svc", "", map[string]string{"env": "hub"}, map[string]string{}}, "",
		},
		"InClusterWithoutData": {
			"Nothing but its labels.", `{"name":"in-cluster","labels":{"tier":"1"},` + ref + `}`, map[string]string{}, map[string]string{"env": "hub"}, nil,
			clusterSecret{"in-cluster", "https://kubernetes.default.svc", "", map[string]string{"env": "hub", "tier": "1"}, map[string]string{}}, "",
		},
		"SettingsInMetadata": {
			"Labels and annotations by which Argo CD does something, and those about the Secret itself.", `{"name":"prod",` + ref + `}`, map[string]string{"server": "https://prod.example.org", "config": declared},
			map[string]string{"argocd.argoproj.io/auto-label-cluster-info": "true", "argocd.argoproj.io/kubernetes-version": "1.34"},
			map[string]string{"argocd.argoproj.io/skip-reconcile": "true", "argocd.argoproj.io/sync-wave": "1", "argocd.argoproj.io/tracking-id": "a:/Secret:b/c"},
			clusterSecret{"prod", "https://prod.example.org", "", map[string]string{"argocd.argoproj.io/auto-label-cluster-info": "true"}, map[string]string{"argocd.argoproj.io/skip-reconcile": "true"}}, "",
		},
		"FieldsInAnyCase": {
			"As Argo CD reads JSON.", `{"name":"prod",` + ref + `}`, map[string]string{"server": "https://prod.example.org", "config": `{"bearertoken":"tok-declared-1","tlsClientConfig":{"insecure":true},"proxyURL":"http://proxy.example.org:3128"}`}, nil, nil,
			clusterSecret{"prod", "https://prod.example.org", "", map[string]string{}, map[string]string{}}, "",
		},
		"UnknownField": {
			"Argo CD ignores it.", `{"name":"prod",` + ref + `}`, map[string]string{"server": "https://prod.example.org", "config": `{"bearerToken":"tok-declared-1","tlsClientConfig":{"insecure":false,"caFile":"/ca.crt"}}`}, nil, nil,
			clusterSecret{"prod", "https://prod.example.org", "", map[string]string{}, map[string]string{}}, "field tlsClientConfig.caFile of key config has no effect",
		},
		"SameServerTwice": {
			"The claim may say the same.", `{"name":"prod","server":"https://10.0.0.1:6443/",` + ref + `}`, map[string]string{"kubeconfig": ofToken}, nil, nil,
			clusterSecret{"prod", "https://10.0.0.1:6443", "", map[string]string{}, map[string]string{}}, "",
		},
		"AWS": {
			"Pods have no identity in AWS, unless the claim gives them one.", `{"name":"prod",` + ref + `}`, map[string]string{"server": "https://prod.example.org", "config": `{"awsAuthConfig":{"clusterName":"eks"}}`}, nil, nil,
			clusterSecret{"prod", "https://prod.example.org", "", map[string]string{}, map[string]string{}}, "awsAuthConfig takes the identity of Argo CD's pods, and pods of a virtual cluster have none in AWS: write execProviderConfig with the credentials in env",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, tenantXR(`{"clusters":[`+tc.spec+`]}`), "")
			if tc.data != nil {
				e.secret("s", "Opaque", tc.data)
				e.annotate("s", tc.labels, tc.annotations)
			}
			e.install()
			if diff := cmp.Diff(map[string]clusterSecret{tc.want.name: tc.want}, clustersOf(t, e), cmp.AllowUnexported(clusterSecret{})); diff != "" {
				t.Errorf("\n%s\nclusters: -want, +got:\n%s", tc.reason, diff)
			}
			c := e.condition(v1alpha1.ConditionClustersConnected)
			if c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE || !strings.Contains(c.GetMessage(), tc.note) {
				t.Errorf("\n%s\nClustersConnected: want True, %q, got %v", tc.reason, tc.note, c)
			}
			// And nothing of it changes later.
			used := valuesOf(t, e.observed(tenant.ValuesSecret))
			if e.cycle(2); !cmp.Equal(used, valuesOf(t, e.observed(tenant.ValuesSecret))) {
				t.Errorf("the values aren't stable: %s", cmp.Diff(used, valuesOf(t, e.observed(tenant.ValuesSecret))))
			}
			delete(e.cluster, "Secret/"+testNamespace+"/s")
			if e.cycle(2); !cmp.Equal(used, valuesOf(t, e.observed(tenant.ValuesSecret))) {
				t.Errorf("the Secret is gone: %s", cmp.Diff(used, valuesOf(t, e.observed(tenant.ValuesSecret))))
			}
		})
	}
}

func TestBrokenClusterSecretsOfArgoCD(t *testing.T) {
	const declared = `{"bearerToken":"tok-declared-1","tlsClientConfig":{"insecure":true}}`
	one := kubeconfig(map[string]any{"token": "tok-kubeconfig-1"}, map[string]any{"server": "https://10.0.0.1:6443"})
	two := kubeconfig(map[string]any{"token": "tok-kubeconfig-2"}, map[string]any{"server": "https://10.0.0.2:6443"})
	cases := map[string]struct {
		spec string
		data map[string]string
		want string
	}{
		"SeveralKubeconfigs": {`{"name":"prod","secretRef":{"name":"s"}}`, map[string]string{"a": one, "b": two}, "several kubeconfigs, at the keys a, b: write the one to use at the key kubeconfig"},
		"ServerContradicts":  {`{"name":"prod","server":"https://prod.example.org","secretRef":{"name":"s"}}`, map[string]string{"value": one}, "its API server is another than spec.clusters[0].server, https://prod.example.org"},
		"NotInCluster":       {`{"name":"in-cluster","secretRef":{"name":"s"}}`, map[string]string{"server": "https://a.b", "config": declared}, "in-cluster is Argo CD's name of the virtual cluster itself"},
		"NameOfInCluster":    {`{"name":"prod","secretRef":{"name":"s"}}`, map[string]string{"name": "in-cluster", "server": "https://a.b", "config": declared}, "key name is in-cluster, Argo CD's name of the virtual cluster itself"},
		"EnvironmentAsList":  {`{"name":"prod","secretRef":{"name":"s"}}`, map[string]string{"server": "https://a.b", "config": `{"execProviderConfig":{"command":"argocd-k8s-auth","env":[{"name":"A","value":"b"}]}}`}, "field execProviderConfig.env has the wrong type"},
		"ArgumentsAsText":    {`{"name":"prod","secretRef":{"name":"s"}}`, map[string]string{"server": "https://a.b", "config": `{"execProviderConfig":{"command":"argocd-k8s-auth","args":"gcp"}}`}, "field execProviderConfig.args has the wrong type"},
		"Loopback":           {`{"name":"prod","secretRef":{"name":"s"}}`, map[string]string{"value": kubeconfig(map[string]any{"token": "t"}, map[string]any{"server": "https://127.0.0.1:6443"})}, "the address of the machine that it was written on"},
		"Localhost":          {`{"name":"prod","secretRef":{"name":"s"}}`, map[string]string{"server": "https://localhost:6443", "config": declared}, "the address of the machine that it was written on"},
		"AnyAddress":         {`{"name":"prod","secretRef":{"name":"s"}}`, map[string]string{"server": "https://[::]:6443", "config": declared}, "the address of the machine that it was written on"},
		"TokenWithALine":     {`{"name":"prod","secretRef":{"name":"s"}}`, map[string]string{"server": "https://a.b", "config": `{"bearerToken":"secret-1\n","tlsClientConfig":{"insecure":true}}`}, "its token has space in it"},
		"TokenWithItsScheme": {`{"name":"prod","secretRef":{"name":"s"}}`, map[string]string{"value": kubeconfig(map[string]any{"token": "Bearer secret-1"}, map[string]any{"server": "https://a.b"})}, "without Bearer"},
		"TokenAndPassword":   {`{"name":"prod","secretRef":{"name":"s"}}`, map[string]string{"server": "https://a.b", "config": `{"bearerToken":"secret-1","username":"u","password":"secret-2"}`}, "it has a token, and a user name or password"},
		"ResourcesYes":       {`{"name":"prod","secretRef":{"name":"s"}}`, map[string]string{"server": "https://a.b", "config": declared, "namespaces": "a", "clusterResources": "True"}, "key clusterResources is neither true nor false"},
		"ShardBelowZero":     {`{"name":"prod","secretRef":{"name":"s"}}`, map[string]string{"server": "https://a.b", "config": declared, "shard": "-1"}, "key shard is not the number of a controller"},
		"NameOfTwoLines":     {`{"name":"prod","secretRef":{"name":"s"}}`, map[string]string{"name": "a\nb", "server": "https://a.b", "config": declared}, "key name can't be the name of a cluster"},
		"NameTwice":          {`{"name":"a","secretRef":{"name":"t"}},{"name":"prod","secretRef":{"name":"s"}}`, map[string]string{"name": "other", "server": "https://a.b", "config": declared}, "key name is the name that cluster a has in Argo CD, too"},
		"InClusterTwice":     {`{"name":"in-cluster"},{"name":"prod","secretRef":{"name":"s"}}`, map[string]string{"server": "https://kubernetes.default.svc/"}, "is that of cluster in-cluster, too"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, tenantXR(`{"clusters":[`+tc.spec+`]}`), "")
			e.secret("s", "Opaque", tc.data)
			e.secret("t", "Opaque", map[string]string{"name": "other", "server": "https://t.b", "config": declared})
			e.install()
			if c := e.condition(v1alpha1.ConditionClustersConnected); c.GetReason() != v1alpha1.ReasonSecretInvalid || !strings.Contains(c.GetMessage(), tc.want) {
				t.Errorf("ClustersConnected: want SecretInvalid, %q, got %v", tc.want, c)
			}
		})
	}
}

// TestClusterKeepsItsName: ApplicationSets make the names of Applications of it.
func TestClusterKeepsItsName(t *testing.T) {
	data := map[string]string{"server": "https://prod.example.org", "config": `{"username":"u"}`}
	e := newEngine(t, tenantXR(`{"clusters":[{"name":"prod","secretRef":{"name":"s"}}]}`), "")
	e.secret("s", "Opaque", data)
	e.install()
	data["name"] = "another"
	e.secret("s", "Opaque", data)
	e.cycle(3)
	if _, ok := clustersOf(t, e)["prod"]; !ok {
		t.Errorf("the cluster has another name: %v", clustersOf(t, e))
	}
	if c := e.condition(v1alpha1.ConditionClustersConnected); !strings.Contains(c.GetMessage(), "key name is not used, because Argo CD has this cluster under the name of the entry, prod") {
		t.Errorf("ClustersConnected: %v", c)
	}
}

// TestRepositorySecretsOfArgoCD: Secrets for repositories and credential templates as Argo CD's documentation writes them.
func TestRepositorySecretsOfArgoCD(t *testing.T) {
	_, key := keyPair()
	keys, _ := sshKey()
	const https, oci = `"url":"https://git.example.org/team/apps.git"`, `"url":"oci://registry.example.org/charts"`
	account := `{"type":"service_account","private_key":"secret-key-1"}`
	cases := map[string]struct {
		reason, spec string
		data         map[string]string
		want         map[string]any
	}{
		"TypeOfTheSecret": {"The entry leaves the type open.", `"url":"https://charts.example.org"`, map[string]string{"type": "helm", "username": "u", "password": "secret-1"},
			map[string]any{"name": "apps", "url": "https://charts.example.org", "type": "helm", "username": "u", "password": "secret-1"}},
		"ProjectOfTheSecret": {"Only that project may use the credentials.", https, map[string]string{"project": "team-a", "username": "u", "password": "secret-1"},
			map[string]any{"name": "apps", "url": "https://git.example.org/team/apps.git", "type": "git", "project": "team-a", "username": "u", "password": "secret-1"}},
		"Whole": {"As Argo CD's documentation has it.", https, map[string]string{"url": "https://git.example.org/team/apps", "name": "Apps of the team", "password": "secret-1", "username": "u",
			"bearerToken": "tok-1", "project": "team-a", "insecure": "true", "forceHttpBasicAuth": "TRUE", "enableLfs": "1"},
			map[string]any{"name": "Apps of the team", "url": "https://git.example.org/team/apps.git", "type": "git", "project": "team-a", "username": "u", "password": "secret-1", "bearerToken": "tok-1",
				"insecure": "true", "forceHttpBasicAuth": "true", "enableLfs": "true"}},
		"EnableOCI": {"Charts in an OCI registry.", oci, map[string]string{"url": "registry.example.org/charts", "enableOCI": "true", "username": "u", "password": "secret-1"},
			map[string]any{"name": "apps", "url": "registry.example.org/charts", "type": "helm", "enableOCI": "true", "username": "u", "password": "secret-1"}},
		"OCI": {"Manifests in an OCI registry.", oci, map[string]string{"url": "oci://registry.example.org/charts/", "type": "oci", "username": "u", "password": "secret-1"},
			map[string]any{"name": "apps", "url": "oci://registry.example.org/charts", "type": "oci", "username": "u", "password": "secret-1"}},
		"Public": {"A Secret without credentials.", `"url":"https://charts.example.org"`, map[string]string{"type": "helm", "name": "istio.io", "url": "https://charts.example.org"},
			map[string]any{"name": "istio.io", "url": "https://charts.example.org", "type": "helm"}},
		"SSHByTemplate": {"The key is in a credential template.", `"url":"git@git.example.org:team/apps.git"`, map[string]string{"url": "ssh://git@git.example.org/team/apps", "type": "git", "insecureIgnoreHostKey": "true"},
			map[string]any{"name": "apps", "url": "git@git.example.org:team/apps.git", "type": "git", "insecureIgnoreHostKey": "true"}},
		"Options": {"Newer options.", https, map[string]string{"username": "u", "password": "secret-1", "depth": "1", "webhookManifestCacheWarmDisabled": "true", "useAzureWorkloadIdentity": "false"},
			map[string]any{"name": "apps", "url": "https://git.example.org/team/apps.git", "type": "git", "username": "u", "password": "secret-1", "depth": "1", "webhookManifestCacheWarmDisabled": "true"}},
		"Google": {"A service account of Google Cloud.", https, map[string]string{"gcpServiceAccountKey": account},
			map[string]any{"name": "apps", "url": "https://git.example.org/team/apps.git", "type": "git", "gcpServiceAccountKey": account}},
		"Azure": {"A service principal of Azure.", https, map[string]string{"azureServicePrincipalClientID": "i", "azureServicePrincipalTenantId": "t", "azureServicePrincipalClientSecret": "secret-1", "azureActiveDirectoryEndpoint": "https://login.microsoftonline.de"},
			map[string]any{"name": "apps", "url": "https://git.example.org/team/apps.git", "type": "git", "azureServicePrincipalClientId": "i", "azureServicePrincipalTenantId": "t",
				"azureServicePrincipalClientSecret": "secret-1", "azureActiveDirectoryEndpoint": "https://login.microsoftonline.de"}},
		"GitHubAppWithoutInstallation": {"Newer versions find it.", https, map[string]string{"githubAppID": "1", "githubAppPrivateKey": key},
			map[string]any{"name": "apps", "url": "https://git.example.org/team/apps.git", "type": "git", "githubAppID": "1", "githubAppPrivateKey": key}},
		"SSH": {"Without a check of the server's key.", `"url":"git@git.example.org:team/apps.git"`, map[string]string{"sshPrivateKey": keys[0], "insecure": "true", "url": "git@git.example.org:team/apps"},
			map[string]any{"name": "apps", "url": "git@git.example.org:team/apps.git", "type": "git", "sshPrivateKey": keys[0], "insecure": "true"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, tenantXR(`{"repositories":[{"name":"apps",`+tc.spec+`,"secretRef":{"name":"s"}}]}`), "")
			e.secret("s", "Opaque", tc.data)
			e.install()
			if diff := cmp.Diff(map[string]any{"configs": map[string]any{"repositories": map[string]any{"apps": tc.want}}}, e.secretValues()); diff != "" {
				t.Errorf("\n%s\nvalues in the Secret: -want, +got:\n%s", tc.reason, diff)
			}
			if c := e.condition(v1alpha1.ConditionRepositoriesConnected); c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
				t.Errorf("\n%s\nRepositoriesConnected: %v", tc.reason, c)
			}
		})
	}
}

// TestSecretsOfAnotherKind: a Secret says of itself what it is for, and the entry that names it is for something else.
func TestSecretsOfAnotherKind(t *testing.T) {
	for name, tc := range map[string]struct{ list, label, want string }{
		"TemplateAsRepository": {"repositories", "repo-creds", "name it in spec.credentialTemplates"},
		"RepositoryAsTemplate": {"credentialTemplates", "repository", "name it in spec.repositories"},
		"ClusterAsRepository":  {"repositories", "cluster", "name it in spec.clusters"},
		"ToPush":               {"repositories", "repository-write", "nothing in a claim is for"},
		"Repository":           {"repositories", "repository", ""},
		"Template":             {"credentialTemplates", "repo-creds", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, tenantXR(`{"`+tc.list+`":[{"name":"a","url":"https://git.example.org/team","secretRef":{"name":"s"}}]}`), "")
			e.secret("s", "Opaque", map[string]string{"username": "u", "password": "secret-1"})
			e.annotate("s", map[string]string{"argocd.argoproj.io/secret-type": tc.label}, nil)
			e.install()
			message, _ := e.statusList("repositories")[0].(map[string]any)["message"].(string)
			if !strings.Contains(message, tc.want) || (message == "") != (tc.want == "") {
				t.Errorf("want %q, got %q", tc.want, message)
			}
		})
	}
}

// TestContradictingRepositorySecrets: what Secret and entry say differently is refused, and both are named.
func TestContradictingRepositorySecrets(t *testing.T) {
	const https = "https://git.example.org/apps"
	cases := map[string]struct {
		spec string
		data map[string]string
		want string
	}{
		"Type":             {`"url":"` + https + `","type":"git"`, map[string]string{"type": "helm", "username": "u", "password": "secret-1"}, "key type is helm, and spec.repositories[0].type is git: write the same in both"},
		"URL":              {`"url":"` + https + `"`, map[string]string{"url": "https://git.example.org/other", "username": "u", "password": "secret-1"}, `key url is another than spec.repositories[0].url, "` + https + `"`},
		"Project":          {`"url":"` + https + `","project":"a"`, map[string]string{"project": "b", "username": "u", "password": "secret-1"}, `key project is another than spec.repositories[0].project, "a"`},
		"OCIButHTTPS":      {`"url":"` + https + `","type":"helm"`, map[string]string{"enableOCI": "true"}, "key enableOCI is true, and spec.repositories[0].url"},
		"NotOCIButOCI":     {`"url":"oci://a.b/c","type":"helm"`, map[string]string{"enableOCI": "false"}, "key enableOCI is false, and spec.repositories[0].url"},
		"NoTypeForOCI":     {`"url":"oci://a.b/c"`, map[string]string{"username": "u", "password": "secret-1"}, "spec.repositories[0].type: is missing, and the url begins with oci://: write helm for charts, or oci for manifests"},
		"SSHForCharts":     {`"url":"ssh://git@a.b/c"`, map[string]string{"type": "helm"}, "is not the URL of a repository of type helm"},
		"WorkloadIdentity": {`"url":"` + https + `"`, map[string]string{"useAzureWorkloadIdentity": "true"}, "key useAzureWorkloadIdentity is not possible here: a pod of a virtual cluster has no identity in Azure: write azureServicePrincipalClientId"},
		"Federation":       {`"url":"` + https + `"`, map[string]string{"gcpServiceAccountKey": `{"type":"external_account"}`}, "gcpServiceAccountKey needs an identity of the pod"},
		"NotAKey":          {`"url":"` + https + `"`, map[string]string{"gcpServiceAccountKey": "secret-1"}, "gcpServiceAccountKey is not the key of a service account"},
		"Depth":            {`"url":"` + https + `"`, map[string]string{"depth": "one"}, "depth is not a number"},
		"HalfAPrincipal":   {`"url":"` + https + `"`, map[string]string{"azureServicePrincipalClientSecret": "secret-1"}, "azureServicePrincipalClientId, azureServicePrincipalTenantId and azureServicePrincipalClientSecret go together"},
		"SameProject":      {`"url":"` + https + `","secretRef":{"name":"s"}},{"name":"other","url":"` + https + `"`, map[string]string{"project": "b"}, "its url and project are those of spec.repositories[0], too"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, tenantXR(`{"repositories":[{"name":"apps",`+tc.spec+`,"secretRef":{"name":"s"}}]}`), "")
			e.secret("s", "Opaque", tc.data)
			e.install()
			if c := e.condition(v1alpha1.ConditionRepositoriesConnected); c.GetReason() != v1alpha1.ReasonSecretInvalid || !strings.Contains(c.GetMessage(), tc.want) {
				t.Errorf("RepositoriesConnected: want SecretInvalid, %q, got %v", tc.want, c)
			}
		})
	}
	// Each of two projects has its own credentials.
	e := newEngine(t, tenantXR(`{"repositories":[{"name":"a","url":"`+https+`","secretRef":{"name":"s"}},{"name":"b","url":"`+https+`","secretRef":{"name":"t"}}]}`), "")
	e.secret("s", "Opaque", map[string]string{"project": "a", "username": "u", "password": "secret-1"})
	e.secret("t", "Opaque", map[string]string{"project": "b", "username": "u", "password": "secret-2"})
	e.install()
	if c := e.condition(v1alpha1.ConditionRepositoriesConnected); c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
		t.Errorf("RepositoriesConnected: %v", c)
	}
}

// TestTemplateSecretsOfArgoCD: what Argo CD doesn't read in a credential template is named, and does no harm.
func TestTemplateSecretsOfArgoCD(t *testing.T) {
	e := newEngine(t, tenantXR(`{"credentialTemplates":[{"name":"t","url":"oci://my.registry.com/namespace","secretRef":{"name":"s"}}]}`), "")
	e.secret("s", "Opaque", map[string]string{"username": "my-username", "password": "my-password", "project": "myproject", "type": "oci", "url": "oci://my.registry.com/namespace", "azureServicePrincipalTenantId": ""})
	e.install()
	want := map[string]any{"configs": map[string]any{"credentialTemplates": map[string]any{
		"t": map[string]any{"url": "oci://my.registry.com/namespace", "type": "oci", "username": "my-username", "password": "my-password"}}}}
	if diff := cmp.Diff(want, e.secretValues()); diff != "" {
		t.Errorf("values in the Secret: -want, +got:\n%s", diff)
	}
	c := e.condition(v1alpha1.ConditionRepositoriesConnected)
	// Nothing connects to a template.
	if c.GetStatus() != fnv1.Status_STATUS_CONDITION_UNKNOWN || !strings.Contains(c.GetMessage(), "key project has no effect: every project may use a credential template") {
		t.Errorf("RepositoriesConnected: %v", c)
	}
}
