package clusters_test

import (
	"encoding/base64"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
	"github.com/virtual-argocd/virtual-argocd/tunnel"
)

// clusterSecret is what Argo CD finds of a cluster: what the chart makes of the values, or a Secret among its extra objects.
type clusterSecret struct {
	name, server, project string
	labels, annotations   map[string]string
}

// clustersOf returns the clusters of the values in the Secret, by their name in Argo CD.
func clustersOf(t *testing.T, e *crossplanetest.Engine) map[string]clusterSecret {
	t.Helper()
	out := map[string]clusterSecret{}
	v := crossplanetest.ValuesOf(t, e.Observed(tenant.ValuesSecret))
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
		if meta["labels"] == nil || meta["name"] == tunnel.Service {
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
	ofToken := crossplanetest.ClusterKubeconfig(map[string]any{"token": "tok-kubeconfig-1"}, server)
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
			e := crossplanetest.New(t, `{"clusters":[`+tc.spec+`]}`, "")
			if tc.data != nil {
				e.AddSecret("s", "Opaque", tc.data)
				e.AnnotateSecret("s", tc.labels, tc.annotations)
			}
			e.Install()
			if diff := cmp.Diff(map[string]clusterSecret{tc.want.name: tc.want}, clustersOf(t, e), cmp.AllowUnexported(clusterSecret{})); diff != "" {
				t.Errorf("\n%s\nclusters: -want, +got:\n%s", tc.reason, diff)
			}
			c := e.Condition(v1alpha1.ConditionClustersConnected)
			if c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE || !strings.Contains(c.GetMessage(), tc.note) {
				t.Errorf("\n%s\nClustersConnected: want True, %q, got %v", tc.reason, tc.note, c)
			}
			// And nothing of it changes later.
			used := crossplanetest.ValuesOf(t, e.Observed(tenant.ValuesSecret))
			if e.Cycle(2); !cmp.Equal(used, crossplanetest.ValuesOf(t, e.Observed(tenant.ValuesSecret))) {
				t.Errorf("the values aren't stable: %s", cmp.Diff(used, crossplanetest.ValuesOf(t, e.Observed(tenant.ValuesSecret))))
			}
			delete(e.Cluster, "Secret/"+crossplanetest.Namespace+"/s")
			if e.Cycle(2); !cmp.Equal(used, crossplanetest.ValuesOf(t, e.Observed(tenant.ValuesSecret))) {
				t.Errorf("the Secret is gone: %s", cmp.Diff(used, crossplanetest.ValuesOf(t, e.Observed(tenant.ValuesSecret))))
			}
		})
	}
}

func TestBrokenClusterSecretsOfArgoCD(t *testing.T) {
	const declared = `{"bearerToken":"tok-declared-1","tlsClientConfig":{"insecure":true}}`
	one := crossplanetest.ClusterKubeconfig(map[string]any{"token": "tok-kubeconfig-1"}, map[string]any{"server": "https://10.0.0.1:6443"})
	two := crossplanetest.ClusterKubeconfig(map[string]any{"token": "tok-kubeconfig-2"}, map[string]any{"server": "https://10.0.0.2:6443"})
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
		"Loopback":           {`{"name":"prod","secretRef":{"name":"s"}}`, map[string]string{"value": crossplanetest.ClusterKubeconfig(map[string]any{"token": "t"}, map[string]any{"server": "https://127.0.0.1:6443"})}, "the address of the machine that it was written on"},
		"Localhost":          {`{"name":"prod","secretRef":{"name":"s"}}`, map[string]string{"server": "https://localhost:6443", "config": declared}, "the address of the machine that it was written on"},
		"AnyAddress":         {`{"name":"prod","secretRef":{"name":"s"}}`, map[string]string{"server": "https://[::]:6443", "config": declared}, "the address of the machine that it was written on"},
		"TokenWithALine":     {`{"name":"prod","secretRef":{"name":"s"}}`, map[string]string{"server": "https://a.b", "config": `{"bearerToken":"secret-1\n","tlsClientConfig":{"insecure":true}}`}, "its token has space in it"},
		"TokenWithItsScheme": {`{"name":"prod","secretRef":{"name":"s"}}`, map[string]string{"value": crossplanetest.ClusterKubeconfig(map[string]any{"token": "Bearer secret-1"}, map[string]any{"server": "https://a.b"})}, "without Bearer"},
		"TokenAndPassword":   {`{"name":"prod","secretRef":{"name":"s"}}`, map[string]string{"server": "https://a.b", "config": `{"bearerToken":"secret-1","username":"u","password":"secret-2"}`}, "it has a token, and a user name or password"},
		"ResourcesYes":       {`{"name":"prod","secretRef":{"name":"s"}}`, map[string]string{"server": "https://a.b", "config": declared, "namespaces": "a", "clusterResources": "True"}, "key clusterResources is neither true nor false"},
		"ShardBelowZero":     {`{"name":"prod","secretRef":{"name":"s"}}`, map[string]string{"server": "https://a.b", "config": declared, "shard": "-1"}, "key shard is not the number of a controller"},
		"NameOfTwoLines":     {`{"name":"prod","secretRef":{"name":"s"}}`, map[string]string{"name": "a\nb", "server": "https://a.b", "config": declared}, "key name can't be the name of a cluster"},
		"NameTwice":          {`{"name":"a","secretRef":{"name":"t"}},{"name":"prod","secretRef":{"name":"s"}}`, map[string]string{"name": "other", "server": "https://a.b", "config": declared}, "key name is the name that cluster a has in Argo CD, too"},
		"InClusterTwice":     {`{"name":"in-cluster"},{"name":"prod","secretRef":{"name":"s"}}`, map[string]string{"server": "https://kubernetes.default.svc/"}, "is that of cluster in-cluster, too"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"clusters":[`+tc.spec+`]}`, "")
			e.AddSecret("s", "Opaque", tc.data)
			e.AddSecret("t", "Opaque", map[string]string{"name": "other", "server": "https://t.b", "config": declared})
			e.Install()
			if c := e.Condition(v1alpha1.ConditionClustersConnected); c.GetReason() != v1alpha1.ReasonSecretInvalid || !strings.Contains(c.GetMessage(), tc.want) {
				t.Errorf("ClustersConnected: want SecretInvalid, %q, got %v", tc.want, c)
			}
		})
	}
}

// TestClusterKeepsItsName: ApplicationSets make the names of Applications of it.
func TestClusterKeepsItsName(t *testing.T) {
	data := map[string]string{"server": "https://prod.example.org", "config": `{"username":"u"}`}
	e := crossplanetest.New(t, `{"clusters":[{"name":"prod","secretRef":{"name":"s"}}]}`, "")
	e.AddSecret("s", "Opaque", data)
	e.Install()
	data["name"] = "another"
	e.AddSecret("s", "Opaque", data)
	e.Cycle(3)
	if _, ok := clustersOf(t, e)["prod"]; !ok {
		t.Errorf("the cluster has another name: %v", clustersOf(t, e))
	}
	if c := e.Condition(v1alpha1.ConditionClustersConnected); !strings.Contains(c.GetMessage(), "key name is not used, because Argo CD has this cluster under the name of the entry, prod") {
		t.Errorf("ClustersConnected: %v", c)
	}
}
