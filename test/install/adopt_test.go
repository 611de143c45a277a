package install

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

type fields = map[string]any

// platform is an API server with claims, namespaced VirtualArgoCDs and what is behind them, in which Crossplane, the function and
// provider-kubernetes do after each write what they do on a cluster, as far as adopt.sh is concerned.
type platform struct {
	mu      sync.Mutex
	objects map[string]fields
	uids    int
	// writes are those that were tried, and refused whether each is refused the first time.
	writes  map[string]bool
	refused bool
	// wrong is what must never happen.
	wrong []string
}

const (
	claimKind  = "virtualargocd.io/v1alpha1/virtualargocds/"
	frontKind  = "m.virtualargocd.io/v1alpha1/virtualargocds/"
	tenantKind = "virtualargocd.io/v1alpha1/xvirtualargocds/"
	objectKind = "kubernetes.m.crossplane.io/v1alpha1/objects/"
	secretKind = "v1/secrets/"
)

// resources by API version, and whether they are in namespaces.
var resources = map[string][]struct {
	plural, kind string
	namespaced   bool
}{
	"v1":                                   {{"secrets", "Secret", true}},
	"virtualargocd.io/v1alpha1":            {{"virtualargocds", "VirtualArgoCD", true}, {"xvirtualargocds", "XVirtualArgoCD", false}},
	"m.virtualargocd.io/v1alpha1":          {{"virtualargocds", "VirtualArgoCD", true}},
	"kubernetes.m.crossplane.io/v1alpha1":  {{"objects", "Object", true}},
	"apiextensions.crossplane.io/v1":       {{"compositeresourcedefinitions", "CompositeResourceDefinition", false}},
	"authorization.k8s.io/v1":              {{"selfsubjectaccessreviews", "SelfSubjectAccessReview", false}},
	"apiextensions.k8s.io/v1":              {{"customresourcedefinitions", "CustomResourceDefinition", false}},
	"protection.crossplane.io/v1beta1":     {{"usages", "Usage", true}},
	"rbac.authorization.k8s.io/v1":         {{"roles", "Role", true}},
	"admissionregistration.k8s.io/v1":      {{"validatingadmissionpolicies", "ValidatingAdmissionPolicy", false}},
	"apiextensions.crossplane.io/v1alpha1": {{"usages", "Usage", false}},
}

// at is a value in an object; nil for none.
func at(o fields, path ...string) any {
	var v any = o
	for _, key := range path {
		m, _ := v.(fields)
		v = m[key]
	}
	return v
}

func (p *platform) add(key string, o fields) {
	meta := o["metadata"].(fields)
	if meta["uid"] == nil {
		p.uids++
		meta["uid"] = strconv.Itoa(p.uids)
	}
	p.objects[key] = o
}

// remove deletes an object, unless it has a finalizer, and what it owns.
func (p *platform) remove(key string) {
	o := p.objects[key]
	meta := o["metadata"].(fields)
	if list, _ := meta["finalizers"].([]any); len(list) > 0 {
		meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
		return
	}
	delete(p.objects, key)
	if strings.HasPrefix(key, tenantKind) {
		p.wrong = append(p.wrong, "the tenant is deleted")
	}
	for of, other := range maps.Clone(p.objects) {
		owners, _ := at(other, "metadata", "ownerReferences").([]any)
		if len(owners) > 0 && owners[0].(fields)["uid"] == meta["uid"] {
			if strings.HasPrefix(of, objectKind) && fmt.Sprint(at(other, "spec", "managementPolicies")) == "[*]" {
				p.remove(tenantKind + at(other, "metadata", "name").(string))
			}
			if strings.HasPrefix(of, secretKind) {
				p.wrong = append(p.wrong, "the connection Secret is deleted")
			}
			delete(p.objects, of)
		}
	}
}

// work lets the controllers work until nothing changes.
func (p *platform) work() {
	for before := ""; before != fmt.Sprint(p.objects); {
		before = fmt.Sprint(p.objects)
		claim, front, tenant := p.objects[claimKind+"team/a"], p.objects[frontKind+"team/a"], p.objects[tenantKind+"a-7rw8j"]
		for _, o := range []fields{claim, front} {
			if o == nil {
				continue
			}
			labels, _ := at(o, "metadata", "labels").(fields)
			if labels == nil {
				labels = fields{}
				o["metadata"].(fields)["labels"] = labels
			}
			// Only the protection that the tenant has reaches whom it belongs to.
			observed := front != nil && o["apiVersion"] == "virtualargocd.io/v1alpha1" && at(front, "metadata", "annotations", "virtualargocd.io/leave-tenant") != "true"
			if at(tenant, "spec", "claimRef", "apiVersion") == o["apiVersion"] && (at(o, "spec", "deletionProtection") == true || observed) {
				labels["crossplane.io/in-use"] = "true"
			} else {
				delete(labels, "crossplane.io/in-use")
			}
		}
		if claim != nil && at(claim, "metadata", "annotations", "crossplane.io/paused") != "true" && at(tenant, "spec", "claimRef", "apiVersion") == "virtualargocd.io/v1alpha1" {
			meta := claim["metadata"].(fields)
			if meta["deletionTimestamp"] != nil {
				meta["finalizers"] = nil
				p.remove(tenantKind + "a-7rw8j")
				p.remove(claimKind + "team/a")
				continue
			}
			meta["finalizers"] = []any{"finalizer.apiextensions.crossplane.io"}
			claim["status"] = fields{"conditions": []any{fields{"type": "Synced", "status": "True"}}}
		}
		if claim != nil && at(claim, "metadata", "deletionTimestamp") != nil && len(at(claim, "metadata", "finalizers").([]any)) == 0 {
			p.remove(claimKind + "team/a")
			continue
		}
		if front == nil || tenant == nil {
			continue
		}
		if at(front, "metadata", "annotations", "crossplane.io/paused") == "true" {
			front["status"] = fields{"conditions": []any{fields{"type": "Synced", "status": "False", "reason": "ReconcilePaused"}}}
			continue
		}
		policy, reason := "*", "Available"
		switch {
		case at(front, "metadata", "annotations", "virtualargocd.io/leave-tenant") == "true":
			policy, reason = "Observe", "TenantLeft"
		case claim != nil && at(tenant, "spec", "claimRef", "apiVersion") == "virtualargocd.io/v1alpha1":
			policy, reason = "Observe", "ClaimExists"
		}
		if claim != nil && policy == "*" && at(claim, "metadata", "annotations", "crossplane.io/paused") != "true" {
			p.wrong = append(p.wrong, "two write to the tenant")
		}
		front["status"] = fields{"conditions": []any{fields{"type": "TenantBound", "reason": reason}}}
		p.objects[objectKind+"team/a-7rw8j"] = fields{
			"apiVersion": "kubernetes.m.crossplane.io/v1alpha1", "kind": "Object",
			"metadata": fields{"namespace": "team", "name": "a-7rw8j", "uid": "object", "ownerReferences": []any{fields{"uid": at(front, "metadata", "uid")}}},
			"spec":     fields{"managementPolicies": []any{policy}}, "status": fields{"conditions": []any{fields{"type": "Synced", "status": "True"}}},
		}
		if secret := p.objects[secretKind+"team/a-argocd"]; secret != nil && at(secret, "metadata", "ownerReferences") == nil {
			secret["metadata"].(fields)["ownerReferences"] = []any{fields{"uid": at(front, "metadata", "uid")}}
		}
	}
}

func (p *platform) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	answer := func(code int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(v)
	}
	fail := func(code int, reason, message string) {
		answer(code, fields{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message})
	}
	path := strings.TrimPrefix(strings.TrimPrefix(strings.Trim(r.URL.Path, "/"), "apis/"), "api/")
	switch {
	case r.URL.Path == "/api":
		answer(200, fields{"kind": "APIVersions", "versions": []string{"v1"}})
		return
	case r.URL.Path == "/apis":
		var groups []any
		for version := range resources {
			if group, v, ok := strings.Cut(version, "/"); ok {
				is := fields{"groupVersion": version, "version": v}
				groups = append(groups, fields{"name": group, "versions": []any{is}, "preferredVersion": is})
			}
		}
		answer(200, fields{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
		return
	case r.URL.Path == "/openapi/v3":
		paths := fields{}
		for version := range resources {
			paths["apis/"+version] = fields{"serverRelativeURL": "/openapi/v3/apis/" + version}
		}
		answer(200, fields{"paths": paths})
		return
	case strings.HasPrefix(path, "openapi/v3/"):
		version := strings.TrimPrefix(path, "openapi/v3/apis/")
		group, v, _ := strings.Cut(version, "/")
		paths := fields{}
		for _, of := range resources[version] {
			paths["/"+of.plural] = fields{"patch": fields{"parameters": []any{fields{"name": "fieldValidation", "in": "query"}}, "x-kubernetes-group-version-kind": fields{"group": group, "version": v, "kind": of.kind}}}
		}
		answer(200, fields{"openapi": "3.0.0", "info": fields{"title": "a", "version": "a"}, "paths": paths})
		return
	case resources[path] != nil:
		var list []any
		for _, of := range resources[path] {
			list = append(list, fields{"name": of.plural, "kind": of.kind, "namespaced": of.namespaced, "verbs": []string{"get", "list", "create", "patch", "delete", "watch"}})
		}
		answer(200, fields{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": path, "resources": list})
		return
	}
	// [group/]version/[namespaces/ns/]resource[/name]
	parts := strings.Split(path, "/")
	version := parts[0]
	parts = parts[1:]
	if strings.Contains(version, ".") {
		version, parts = version+"/"+parts[0], parts[1:]
	}
	namespace := ""
	if parts[0] == "namespaces" && len(parts) > 2 {
		namespace, parts = parts[1]+"/", parts[2:]
	}
	kind := version + "/" + parts[0] + "/"
	if len(parts) == 1 && r.Method == http.MethodGet {
		items := []any{}
		for _, key := range slices.Sorted(maps.Keys(p.objects)) {
			o := p.objects[key]
			labels, _ := at(o, "metadata", "labels").(fields)
			if selector := r.URL.Query().Get("labelSelector"); strings.HasPrefix(key, kind+namespace) && (selector == "" || labels["crossplane.io/claim-name"] == "a" && selector == "crossplane.io/claim-namespace=team,crossplane.io/claim-name=a") {
				items = append(items, o)
			}
		}
		answer(200, fields{"kind": "List", "apiVersion": version, "metadata": fields{"resourceVersion": "1"}, "items": items})
		return
	}
	body, _ := io.ReadAll(r.Body)
	if what := r.Method + " " + r.URL.Path + " " + string(body); r.Method != http.MethodGet && p.refused && !p.writes[what] && !strings.Contains(what, "dryRun") {
		p.writes[what] = true
		fail(403, "Forbidden", "stopped here")
		return
	}
	if r.Method == http.MethodPost {
		o := fields{}
		_ = json.Unmarshal(body, &o)
		key := kind + namespace + at(o, "metadata", "name").(string)
		if p.objects[key] != nil {
			fail(409, "AlreadyExists", "already exists")
			return
		}
		p.add(key, o)
		p.work()
		answer(201, o)
		return
	}
	key := kind + namespace + parts[1]
	o := p.objects[key]
	if o == nil {
		fail(404, "NotFound", parts[0]+" "+strconv.Quote(parts[1])+" not found")
		return
	}
	switch r.Method {
	case http.MethodPatch:
		if err := patch(o, body); err != nil {
			fail(422, "Invalid", err.Error())
			return
		}
		p.work()
	case http.MethodDelete:
		if at(o, "metadata", "labels", "crossplane.io/in-use") == "true" {
			fail(409, "Conflict", "it is protected")
			return
		}
		if r.URL.Query().Get("dryRun") != "" || strings.Contains(string(body), "dryRun") {
			answer(200, o)
			return
		}
		p.remove(key)
		p.work()
		answer(200, fields{"kind": "Status", "apiVersion": "v1", "status": "Success"})
		return
	}
	answer(200, o)
}

// patch applies a merge patch or a JSON patch.
func patch(o fields, body []byte) error {
	var list []struct {
		Op, Path string
		Value    any
	}
	if json.Unmarshal(body, &list) != nil {
		m := fields{}
		if err := json.Unmarshal(body, &m); err != nil {
			return err
		}
		merge(o, m)
		return nil
	}
	for _, step := range list {
		keys := strings.Split(strings.TrimPrefix(step.Path, "/"), "/")
		last := keys[len(keys)-1]
		var v any = o
		var set func(any)
		for _, key := range keys[:len(keys)-1] {
			switch of := v.(type) {
			case fields:
				set = func(is any) { of[key] = is }
				v = of[key]
			case []any:
				i, err := strconv.Atoi(key)
				if err != nil || i >= len(of) {
					return fmt.Errorf("no %s", step.Path)
				}
				v = of[i]
			default:
				return fmt.Errorf("no %s", step.Path)
			}
		}
		is, i := any(nil), -1
		switch of := v.(type) {
		case fields:
			is = of[last]
		case []any:
			if n, err := strconv.Atoi(last); err == nil && n < len(of) {
				i, is = n, of[n]
			}
		}
		switch {
		case is == nil:
			return fmt.Errorf("no %s", step.Path)
		case step.Op == "test":
			if is != step.Value {
				return fmt.Errorf("%s is %v", step.Path, is)
			}
		case step.Op == "replace":
			v.(fields)[last] = step.Value
		case i >= 0:
			set(slices.Delete(v.([]any), i, i+1))
		default:
			delete(v.(fields), last)
		}
	}
	return nil
}

func merge(into, from fields) {
	for key, value := range from {
		below, is := value.(fields)
		was, had := into[key].(fields)
		switch {
		case value == nil:
			delete(into, key)
		case is && had:
			merge(was, below)
		default:
			into[key] = value
		}
	}
}

// TestAdopt runs examples/adopt/adopt.sh with kubectl: a claim becomes a namespaced VirtualArgoCD and a claim again, the tenant and its connection
// Secret are the same objects, and never do two write to the tenant, wherever it is stopped and run again.
func TestAdopt(t *testing.T) {
	tools, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tools.Binary("kubectl"); err != nil {
		t.Skip("NOT TRIED HERE: THIS RUNS kubectl, WHICH make e2e BUILDS WITH THE REST OF KUBERNETES: ", err)
	}
	for name, tc := range map[string]struct {
		reason string
		// spec is the claim's.
		spec fields
		// stopped: each write fails the first time.
		stopped bool
		// composition of the namespaced VirtualArgoCD.
		composition any
	}{
		"Once":        {"Nothing interrupts it.", fields{"compositionRef": fields{"name": "virtual-argocd"}}, false, nil},
		"Protected":   {"Deletion protection is on before and after.", fields{"deletionProtection": true}, false, nil},
		"Composition": {"The claim has a Composition of its own.", fields{"compositionRef": fields{"name": "europe"}}, false, fields{"name": "europe"}},
		"Stopped":     {"It is stopped at each write, and run again.", fields{"deletionProtection": true}, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &platform{objects: map[string]fields{}, writes: map[string]bool{}, refused: tc.stopped}
			spec := fields{"plan": "small", "resourceRef": fields{"apiVersion": "virtualargocd.io/v1alpha1", "kind": "XVirtualArgoCD", "name": "a-7rw8j"}, "compositionUpdatePolicy": "Automatic", "writeConnectionSecretToRef": fields{"name": "a-argocd"}}
			maps.Copy(spec, tc.spec)
			p.add(claimKind+"team/a", fields{"apiVersion": "virtualargocd.io/v1alpha1", "kind": "VirtualArgoCD", "metadata": fields{"namespace": "team", "name": "a", "uid": "claim", "labels": fields{"team": "a"}, "annotations": fields{"virtualargocd.io/backup": "1"}}, "spec": spec})
			ref := fields{"apiVersion": "virtualargocd.io/v1alpha1", "kind": "VirtualArgoCD", "namespace": "team", "name": "a"}
			managers := []any{fields{"manager": "crossplane", "operation": "Update"}, fields{"manager": "apiextensions.crossplane.io/claim", "operation": "Apply"}, fields{"manager": "apiextensions.crossplane.io/claim", "operation": "Update", "subresource": "status"}}
			p.add(tenantKind+"a-7rw8j", fields{"apiVersion": "virtualargocd.io/v1alpha1", "kind": "XVirtualArgoCD", "metadata": fields{"name": "a-7rw8j", "labels": fields{"crossplane.io/claim-name": "a", "crossplane.io/claim-namespace": "team"}, "managedFields": managers}, "spec": fields{"claimRef": ref}})
			p.add(secretKind+"team/a-argocd", fields{"apiVersion": "v1", "kind": "Secret", "metadata": fields{"namespace": "team", "name": "a-argocd", "ownerReferences": []any{fields{"uid": "claim"}}}})
			p.add("apiextensions.crossplane.io/v1/compositeresourcedefinitions/xvirtualargocds.virtualargocd.io", fields{"apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition", "metadata": fields{"name": "xvirtualargocds.virtualargocd.io"}, "spec": fields{"defaultCompositionRef": fields{"name": "virtual-argocd"}}})
			p.work()
			server := httptest.NewServer(p)
			t.Cleanup(server.Close)
			home := t.TempDir()
			kubeconfig := filepath.Join(home, "kubeconfig")
			if err := os.WriteFile(kubeconfig, []byte("{apiVersion: v1, kind: Config, current-context: a, clusters: [{name: a, cluster: {server: '"+server.URL+"'}}], contexts: [{name: a, context: {cluster: a}}]}"), 0o600); err != nil {
				t.Fatal(err)
			}
			run := func(want string, args ...string) {
				t.Helper()
				runs := 0
				for {
					out, err := kube.Script(t.Context(), t, kubeconfig, "../../examples/adopt/adopt.sh", append([]string{"--timeout", "1"}, args...)...)
					if runs++; err == nil {
						if !strings.Contains(out, want) || !strings.Contains(out, "1 of 1 are moved") {
							t.Errorf("\n%s\n%v: want %q, got %s", tc.reason, args, want, out)
						}
						break
					}
					if !tc.stopped || runs > 20 {
						t.Fatalf("\n%s\n%v, run %d: %v\n%s\n%s", tc.reason, args, runs, err, out, dump(p))
					}
				}
				if tc.stopped && want == "moved" && runs < 5 {
					t.Errorf("\n%s\n%v: it was stopped only %d times", tc.reason, args, runs-1)
				}
				if len(p.wrong) > 0 {
					t.Fatalf("\n%s\n%v: %v", tc.reason, args, p.wrong)
				}
			}
			manager := func() any {
				return at(p.objects[tenantKind+"a-7rw8j"], "metadata", "managedFields").([]any)[1].(fields)["manager"]
			}
			run("moved", "team/a")
			front := p.objects[frontKind+"team/a"]
			if p.objects[claimKind+"team/a"] != nil || at(p.objects[tenantKind+"a-7rw8j"], "spec", "claimRef", "apiVersion") != "m.virtualargocd.io/v1alpha1" || manager() != "provider-kubernetes/a-7rw8j" {
				t.Errorf("\n%s\nit isn't handed over: %s", tc.reason, dump(p))
			}
			if at(front, "spec", "plan") != "small" || at(front, "metadata", "labels", "team") != "a" || at(front, "metadata", "annotations", "virtualargocd.io/backup") != "1" || at(front, "spec", "resourceRef") != nil ||
				at(front, "spec", "deletionProtection") != tc.spec["deletionProtection"] || fmt.Sprint(at(front, "spec", "compositionRef")) != fmt.Sprint(tc.composition) {
				t.Errorf("\n%s\nit isn't what the claim was: %v", tc.reason, front)
			}
			run("done", "team/a")
			run("moved", "--back", "team")
			claim := p.objects[claimKind+"team/a"]
			if p.objects[frontKind+"team/a"] != nil || at(p.objects[tenantKind+"a-7rw8j"], "spec", "claimRef", "apiVersion") != "virtualargocd.io/v1alpha1" || manager() != "apiextensions.crossplane.io/claim" {
				t.Errorf("\n%s\nit isn't handed back: %s", tc.reason, dump(p))
			}
			if at(claim, "spec", "resourceRef", "name") != "a-7rw8j" || at(claim, "spec", "plan") != "small" || at(claim, "spec", "deletionProtection") != tc.spec["deletionProtection"] || at(claim, "metadata", "annotations", "crossplane.io/paused") != nil {
				t.Errorf("\n%s\nthe claim isn't what it was: %v", tc.reason, claim)
			}
			// Crossplane doesn't make an unchanged Secret the claim's, and it would stay when that is deleted.
			if secret := p.objects[secretKind+"team/a-argocd"]; secret != nil && at(secret["metadata"].(fields)["ownerReferences"].([]any)[0].(fields), "uid") != at(claim, "metadata", "uid") {
				t.Errorf("\n%s\nthe connection Secret isn't the claim's: %v", tc.reason, secret)
			}
		})
	}
}

func dump(p *platform) string {
	text, _ := json.MarshalIndent(p.objects, "", " ")
	return string(text)
}
