package bootstrap_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

func TestBootstrap(t *testing.T) {
	cases := map[string]struct {
		reason string
		spec   string
		want   map[string]any
	}{
		"Smallest": {
			"The whole repository, synced automatically.",
			`{"repoURL":"https://git.example.org/apps"}`,
			map[string]any{
				"project": "default", "source": map[string]any{"repoURL": "https://git.example.org/apps", "path": ".", "targetRevision": "HEAD"},
				"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "argocd"},
				"syncPolicy":  map[string]any{"automated": map[string]any{"prune": true, "selfHeal": true}},
			},
		},
		"Everything": {
			"A folder of a tag.",
			`{"repoURL":"git@git.example.org:apps","path":"customers/acme","targetRevision":"v1","project":"acme","syncPolicy":{"automated":{"prune":false,"selfHeal":true,"enabled":true},"syncOptions":["CreateNamespace=true"]}}`,
			map[string]any{
				"project": "acme", "source": map[string]any{"repoURL": "git@git.example.org:apps", "path": "customers/acme", "targetRevision": "v1"},
				"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "argocd"},
				"syncPolicy":  map[string]any{"automated": map[string]any{"prune": false, "selfHeal": true}, "syncOptions": []any{"CreateNamespace=true"}},
			},
		},
		"ByHand": {
			"People sync it.",
			`{"repoURL":"https://git.example.org/apps","syncPolicy":{"automated":{"enabled":false}}}`,
			map[string]any{
				"project": "default", "source": map[string]any{"repoURL": "https://git.example.org/apps", "path": ".", "targetRevision": "HEAD"},
				"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "argocd"},
			},
		},
		"Nulls": {
			"Nothing is automatic, as in Argo CD.",
			`{"repoURL":"https://git.example.org/apps","syncPolicy":{"automated":null,"syncOptions":null}}`,
			map[string]any{
				"project": "default", "source": map[string]any{"repoURL": "https://git.example.org/apps", "path": ".", "targetRevision": "HEAD"},
				"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "argocd"},
			},
		},
		"EmptyPolicy": {
			"As in Argo CD, people sync it.",
			`{"repoURL":"https://git.example.org/apps","syncPolicy":{}}`,
			map[string]any{
				"project": "default", "source": map[string]any{"repoURL": "https://git.example.org/apps", "path": ".", "targetRevision": "HEAD"},
				"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "argocd"},
			},
		},
		"EmptyAutomated": {
			"As in Argo CD, nothing is deleted, and nothing reverted.",
			`{"repoURL":"https://git.example.org/apps","syncPolicy":{"automated":{}}}`,
			map[string]any{
				"project": "default", "source": map[string]any{"repoURL": "https://git.example.org/apps", "path": ".", "targetRevision": "HEAD"},
				"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "argocd"},
				"syncPolicy":  map[string]any{"automated": map[string]any{}},
			},
		},
		"WholePolicy": {
			"All of Argo CD's.",
			`{"repoURL":"https://git.example.org/apps","syncPolicy":{"automated":{"prune":true,"allowEmpty":true},"syncOptions":["CreateNamespace=true"],"managedNamespaceMetadata":{"labels":{"a":"b"}},"retry":{"limit":5,"backoff":{"duration":"5s","factor":2,"maxDuration":"3m"}}}}`,
			map[string]any{
				"project": "default", "source": map[string]any{"repoURL": "https://git.example.org/apps", "path": ".", "targetRevision": "HEAD"},
				"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "argocd"},
				"syncPolicy": map[string]any{"automated": map[string]any{"prune": true, "allowEmpty": true}, "syncOptions": []any{"CreateNamespace=true"},
					"managedNamespaceMetadata": map[string]any{"labels": map[string]any{"a": "b"}},
					"retry":                    map[string]any{"limit": 5.0, "backoff": map[string]any{"duration": "5s", "factor": 2.0, "maxDuration": "3m"}}},
			},
		},
		"Directory": {
			"Manifests in subfolders.",
			`{"repoURL":"https://git.example.org/apps","path":"clusters","directory":{"recurse":true,"exclude":"{config.json,env-*}","jsonnet":{"extVars":[{"name":"a","value":"b","code":true}]}},"syncPolicy":{}}`,
			map[string]any{
				"project": "default", "source": map[string]any{"repoURL": "https://git.example.org/apps", "path": "clusters", "targetRevision": "HEAD",
					"directory": map[string]any{"recurse": true, "exclude": "{config.json,env-*}", "jsonnet": map[string]any{"extVars": []any{map[string]any{"name": "a", "value": "b", "code": true}}}}},
				"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "argocd"},
			},
		},
		"Source": {
			"A chart, as an Application has it: nothing is added.",
			`{"source":{"repoURL":"registry-1.docker.io/bitnamicharts","chart":"nginx","targetRevision":"15.x","helm":{"releaseName":"web","valuesObject":{"a":{"b":[1,null,{}]},"c":null},"parameters":[{"name":"d","value":"1","forceString":true}]}},"syncPolicy":{}}`,
			map[string]any{
				"project": "default", "source": map[string]any{"repoURL": "registry-1.docker.io/bitnamicharts", "chart": "nginx", "targetRevision": "15.x",
					"helm": map[string]any{"releaseName": "web", "valuesObject": map[string]any{"a": map[string]any{"b": []any{1.0, nil, map[string]any{}}}, "c": nil}, "parameters": []any{map[string]any{"name": "d", "value": "1", "forceString": true}}}},
				"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "argocd"},
			},
		},
		"Sources": {
			"A chart with values from a repository, and a kustomization.",
			`{"sources":[{"repoURL":"https://charts.example.org","chart":"web","targetRevision":"1.2.3","helm":{"valueFiles":["$values/web.yaml"],"ignoreMissingValueFiles":true}},{"repoURL":"https://git.example.org/apps","ref":"values","targetRevision":"main"},
				{"repoURL":"oci://registry.example.org/apps","path":".","kustomize":{"namePrefix":"a-","images":["nginx=b:1"],"replicas":[{"name":"w","count":"2"}],"patches":[{"patch":"x","target":{"kind":"Deployment"},"options":{}}]}},
				{"repoURL":"https://git.example.org/plugin","path":"p","plugin":{"name":"tanka","env":[{"name":"A","value":""}],"parameters":[{"name":"l","array":[]},{"name":"m","map":{"a":"b"}},{"name":"s","string":""}]}}],"syncPolicy":{}}`,
			map[string]any{
				"project": "default", "sources": []any{
					map[string]any{"repoURL": "https://charts.example.org", "chart": "web", "targetRevision": "1.2.3", "helm": map[string]any{"valueFiles": []any{"$values/web.yaml"}, "ignoreMissingValueFiles": true}},
					map[string]any{"repoURL": "https://git.example.org/apps", "ref": "values", "targetRevision": "main"},
					map[string]any{"repoURL": "oci://registry.example.org/apps", "path": ".", "kustomize": map[string]any{"namePrefix": "a-", "images": []any{"nginx=b:1"}, "replicas": []any{map[string]any{"name": "w", "count": "2"}},
						"patches": []any{map[string]any{"patch": "x", "target": map[string]any{"kind": "Deployment"}, "options": map[string]any{}}}}},
					map[string]any{"repoURL": "https://git.example.org/plugin", "path": "p", "plugin": map[string]any{"name": "tanka", "env": []any{map[string]any{"name": "A", "value": ""}},
						"parameters": []any{map[string]any{"name": "l", "array": []any{}}, map[string]any{"name": "m", "map": map[string]any{"a": "b"}}, map[string]any{"name": "s", "string": ""}}}},
				},
				"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "argocd"},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"bootstrap":`+tc.spec+`}`, "").Install()
			o := e.Observed(tenant.Bootstrap)
			m := crossplanetest.Field(o, "spec", "forProvider", "manifest").AsMap()
			if m["kind"] != "Application" || !cmp.Equal(m["metadata"], map[string]any{"name": "bootstrap", "namespace": "argocd"}) {
				t.Errorf("\n%s\nmanifest: %v", tc.reason, m)
			}
			if diff := cmp.Diff(tc.want, m["spec"]); diff != "" {
				t.Errorf("\n%s\nspec of the Application: -want, +got:\n%s", tc.reason, diff)
			}
			policies := crossplanetest.Field(o, "spec").GetFields()["managementPolicies"].GetListValue().AsSlice()
			if slices.Contains(policies, "Delete") || slices.Contains(policies, "*") || len(policies) == 0 {
				t.Errorf("\n%s\nthe Application lives in the virtual cluster and must not be deleted there: %v", tc.reason, policies)
			}
			status := map[string]any{"health": "Healthy", "sync": "Synced", "revision": "0123abc"}
			policy, _ := tc.want["syncPolicy"].(map[string]any)
			if automated, on := policy["automated"].(map[string]any); on {
				status["automated"] = map[string]any{"prune": automated["prune"] == true, "selfHeal": automated["selfHeal"] == true}
			}
			if got := crossplanetest.Field(e.XR(), "status", "bootstrap").AsMap(); !cmp.Equal(got, status) {
				t.Errorf("\n%s\nstatus.bootstrap: %v", tc.reason, got)
			}
		})
	}
}

// TestBootstrapComesLast: an Application needs Argo CD's own kinds.
func TestBootstrapComesLast(t *testing.T) {
	e := crossplanetest.New(t, `{"bootstrap":{"repoURL":"https://git.example.org/apps"}}`, "")
	e.Reconcile()
	e.AwaitVCluster()
	for range 3 {
		rsp := e.Reconcile()
		if rsp.GetDesired().GetResources()[tenant.Bootstrap] != nil {
			t.Error("the Application is created before Argo CD is there")
		}
		if c := e.Condition(v1alpha1.ConditionBootstrapSynced); c.GetReason() != v1alpha1.ReasonWaitingForArgoCD {
			t.Errorf("BootstrapSynced: %v", c)
		}
		e.RunProviders()
	}
	if rsp := e.Reconcile(); rsp.GetDesired().GetResources()[tenant.Bootstrap] == nil {
		t.Error("the Application isn't created once Argo CD is there")
	}
}

func TestRefusedBootstrap(t *testing.T) {
	for name, tc := range map[string]struct {
		spec string
		want []string
	}{
		"NoURL":           {`{"path":"a"}`, []string{"spec.bootstrap.repoURL"}},
		"URLOfNothing":    {`{"repoURL":"a.b/c"}`, []string{"spec.bootstrap.repoURL", "a.b/c", "https://"}},
		"PathAndSource":   {`{"path":"a","source":{"repoURL":"https://a.b/c","path":"b"}}`, []string{"spec.bootstrap", "repoURL and source", "write one of"}},
		"SourceAndOnes":   {`{"sources":[{"repoURL":"https://a.b/c","path":"b"}],"source":{"repoURL":"https://a.b/c","path":"b"}}`, []string{"source and sources", "write one of"}},
		"SourceNoPath":    {`{"source":{"repoURL":"https://a.b/c"}}`, []string{"spec.bootstrap.source.path", "is missing"}},
		"SourcesNoURL":    {`{"sources":[{"path":"a"}]}`, []string{"spec.bootstrap.sources[0].repoURL"}},
		"ChartNoVersion":  {`{"repoURL":"https://a.b/c","chart":"web"}`, []string{"spec.bootstrap.targetRevision", "web"}},
		"ChartOfSSH":      {`{"repoURL":"ssh://git@a.b/c","chart":"web","targetRevision":"1.0.0"}`, []string{"spec.bootstrap.repoURL", "helm"}},
		"TwoTools":        {`{"repoURL":"https://a.b/c","helm":{},"kustomize":{}}`, []string{"spec.bootstrap", "helm, kustomize", "takes one"}},
		"ValuesTwice":     {`{"repoURL":"https://a.b/c","helm":{"values":"a: b","valuesObject":{"a":"b"}}}`, []string{"spec.bootstrap.helm.values", "valuesObject"}},
		"NoSuchRef":       {`{"sources":[{"repoURL":"https://a.b/c","path":"a","helm":{"valueFiles":["$other/v.yaml"]}},{"repoURL":"https://a.b/d","ref":"values"}]}`, []string{"spec.bootstrap.sources[0].helm.valueFiles[0]", `"other"`}},
		"RefTwice":        {`{"sources":[{"repoURL":"https://a.b/c","ref":"a"},{"repoURL":"https://a.b/d","ref":"a"}]}`, []string{"spec.bootstrap.sources[1].ref", `"a"`}},
		"RefAlone":        {`{"repoURL":"https://a.b/c","ref":"a"}`, []string{"spec.bootstrap.ref", "spec.bootstrap.sources"}},
		"BackoffNotATime": {`{"repoURL":"https://a.b/c","syncPolicy":{"retry":{"backoff":{"duration":"soon"}}}}`, []string{"spec.bootstrap.syncPolicy.retry.backoff.duration", `"soon"`, "5s"}},
		"MetadataAlone":   {`{"repoURL":"https://a.b/c","syncPolicy":{"managedNamespaceMetadata":{"labels":{"a":"b"}}}}`, []string{"spec.bootstrap.syncPolicy.managedNamespaceMetadata", "CreateNamespace=true"}},
		"PasswordInURL":   {`{"sources":[{"repoURL":"https://u:p@a.b/c","path":"a"}]}`, []string{"spec.bootstrap.sources[0].repoURL", "there is a password"}},
		"MisspeltField":   {`{"sources":[{"repoURL":"https://a.b/c","path":"a","directory":{"recursive":true}}]}`, []string{"directory.recursive", "no such field"}},
		"PathAbsolute":    {`{"repoURL":"https://a.b/c","path":"/etc"}`, []string{"spec.bootstrap.path", "/etc"}},
		"PathOutside":     {`{"repoURL":"https://a.b/c","path":"a/../../b"}`, []string{"spec.bootstrap.path", "a/../../b"}},
		"ProjectNotAName": {`{"repoURL":"https://a.b/c","project":"A"}`, []string{"spec.bootstrap.project", `"A"`}},
		"OptionNotOne":    {`{"repoURL":"https://a.b/c","syncPolicy":{"syncOptions":["CreateNamespace"]}}`, []string{"spec.bootstrap.syncPolicy.syncOptions", "CreateNamespace=true"}},
		"PruneNotABool":   {`{"repoURL":"https://a.b/c","syncPolicy":{"automated":{"prune":"yes"}}}`, []string{"spec.bootstrap.syncPolicy.automated.prune", "true or false"}},
		"NotAnObject":     {`"https://a.b/c"`, []string{"spec.bootstrap", "an object"}},
	} {
		t.Run(name, func(t *testing.T) { crossplanetest.New(t, `{"bootstrap":`+tc.spec+`}`, "").CheckRefused(tc.want...) })
	}
}

// TestEarlierSyncPolicy: what version 0.2 made of a syncPolicy stays until somebody changes the claim's bootstrap.
func TestEarlierSyncPolicy(t *testing.T) {
	const was = `{"repoURL":"https://git.example.org/apps","syncPolicy":{"syncOptions":["CreateNamespace=true"]}}`
	e := crossplanetest.New(t, `{"bootstrap":`+was+`}`, "").Install()
	automated := func() any {
		policy, _ := crossplanetest.Field(e.Observed(tenant.Bootstrap), "spec", "forProvider", "manifest", "spec").AsMap()["syncPolicy"].(map[string]any)
		return policy["automated"]
	}
	if automated() != nil {
		t.Errorf("a new tenant: %v", automated())
	}
	// As version 0.2 composed it.
	o := e.Observed(tenant.Bootstrap)
	delete(crossplanetest.Field(o, "metadata", "annotations").Fields, tenant.AnnotationSyncPolicy)
	both, err := structpb.NewStruct(map[string]any{"prune": true, "selfHeal": true})
	if err != nil {
		t.Fatal(err)
	}
	crossplanetest.Field(o, "spec", "forProvider", "manifest", "spec", "syncPolicy").Fields["automated"] = structpb.NewStructValue(both)
	want := map[string]any{"prune": true, "selfHeal": true}
	for range 3 {
		if e.Reconcile(); !cmp.Equal(automated(), any(want)) {
			t.Fatalf("an upgrade of the function switched it off: %v", automated())
		}
	}
	if got := crossplanetest.Field(e.XR(), "status", "bootstrap", "automated").AsMap(); !cmp.Equal(got, want) {
		t.Errorf("status.bootstrap.automated: %v", got)
	}
	for _, spec := range []string{`{"repoURL":"https://git.example.org/apps","path":"other","syncPolicy":{"syncOptions":["CreateNamespace=true"]}}`, was} {
		e.SetSpec(`{"bootstrap":` + spec + `}`)
		if e.Cycle(2); automated() != nil {
			t.Errorf("the claim's bootstrap was changed, and the Application is as before: %v", automated())
		}
	}
}
