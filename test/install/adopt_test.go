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
	// names of the tenants.
	names []string
	// stops are the writes to be refused, counted from 1 by tenant, and writes those that were tried. stopped are the tenants of which one was refused.
	stops, writes map[string]int
	stopped       map[string]bool
	// full is the tenant in whose namespace a quota refuses another object.
	full string
	// usages are the tenants whose claim the function protects because the other kind waits for the tenant.
	usages map[string]bool
	// protected are the tenants that are protected from deletion.
	protected map[string]bool
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

// behind is the name of the composite resource of a tenant, and of its Object.
func behind(name string) string { return name + "-7rw8j" }

// annotated reports whether an annotation of an object is true.
func annotated(o fields, annotation string) bool {
	return at(o, "metadata", "annotations", annotation) == "true"
}

func (p *platform) wrongs(format string, args ...any) {
	p.wrong = append(p.wrong, fmt.Sprintf(format, args...))
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
		p.wrongs("%s is deleted", key)
	}
	for of, other := range maps.Clone(p.objects) {
		owners, _ := at(other, "metadata", "ownerReferences").([]any)
		if len(owners) > 0 && owners[0].(fields)["uid"] == meta["uid"] {
			if strings.HasPrefix(of, objectKind) && fmt.Sprint(at(other, "spec", "managementPolicies")) == "[*]" {
				p.remove(tenantKind + at(other, "metadata", "name").(string))
			}
			if strings.HasPrefix(of, secretKind) {
				p.wrongs("%s is deleted", of)
			}
			delete(p.objects, of)
		}
	}
}

func synced(status, reason string) fields {
	return fields{"type": "Synced", "status": status, "reason": reason}
}

const (
	pausedBy  = "crossplane.io/paused"
	leavesBy  = "virtualargocd.io/leave-tenant"
	ofClaims  = "virtualargocd.io/v1alpha1"
	ofFronts  = "m.virtualargocd.io/v1alpha1"
	finalizer = "finalizer.apiextensions.crossplane.io"
)

// work lets the controllers work until nothing changes.
func (p *platform) work() {
	for before := ""; before != fmt.Sprint(p.objects); {
		before = fmt.Sprint(p.objects)
		for _, name := range p.names {
			p.claimed(name)
			p.fronted(name)
			p.used(name)
		}
	}
}

// claimed does what Crossplane does for claims.
func (p *platform) claimed(name string) {
	claim, tenant := p.objects[claimKind+"team/"+name], p.objects[tenantKind+behind(name)]
	if claim == nil || tenant == nil {
		return
	}
	meta := claim["metadata"].(fields)
	list, _ := meta["finalizers"].([]any)
	switch {
	case meta["deletionTimestamp"] != nil && len(list) == 0:
		p.remove(claimKind + "team/" + name)
	case annotated(claim, pausedBy):
		claim["status"] = fields{"conditions": []any{synced("False", "ReconcilePaused")}}
	case at(tenant, "spec", "claimRef", "apiVersion") != ofClaims:
		// "refusing to operate on composite resource that is not bound to this claim", also while it is deleted.
		claim["status"] = fields{"conditions": []any{synced("False", "ReconcileError")}}
	case meta["deletionTimestamp"] != nil:
		meta["finalizers"] = nil
		p.remove(tenantKind + behind(name))
		p.remove(claimKind + "team/" + name)
	default:
		meta["finalizers"] = []any{finalizer}
		claim["status"] = fields{"conditions": []any{synced("True", "ReconcileSuccess")}}
		p.applied(tenant, claim)
	}
}

// fronted does what Crossplane and provider-kubernetes do for namespaced VirtualArgoCDs.
func (p *platform) fronted(name string) {
	claim, front, tenant := p.objects[claimKind+"team/"+name], p.objects[frontKind+"team/"+name], p.objects[tenantKind+behind(name)]
	if front == nil || tenant == nil {
		p.usages[name] = false
		return
	}
	meta := front["metadata"].(fields)
	owner := at(tenant, "spec", "claimRef", "apiVersion")
	switch {
	case annotated(front, pausedBy):
		front["status"] = fields{"conditions": []any{synced("False", "ReconcilePaused"), bound(front)}}
	case meta["deletionTimestamp"] != nil:
		meta["finalizers"] = nil
		p.remove(frontKind + "team/" + name)
		return
	default:
		policy, status, reason := "*", "True", "Available"
		switch {
		case annotated(front, leavesBy):
			policy, status, reason = "Observe", "False", "TenantLeft"
		case claim != nil && owner == ofClaims:
			policy, status, reason = "Observe", "False", "ClaimExists"
		}
		p.usages[name] = reason == "ClaimExists"
		meta["finalizers"] = []any{"composite.apiextensions.crossplane.io"}
		front["status"] = fields{"conditions": []any{synced("True", "ReconcileSuccess"), fields{"type": "TenantBound", "status": status, "reason": reason}}}
		p.objects[objectKind+"team/"+behind(name)] = fields{
			"apiVersion": "kubernetes.m.crossplane.io/v1alpha1", "kind": "Object",
			"metadata": fields{"namespace": "team", "name": behind(name), "uid": "object", "ownerReferences": []any{fields{"uid": meta["uid"]}}},
			"spec":     fields{"managementPolicies": []any{policy}}, "status": fields{"conditions": []any{synced("True", "ReconcileSuccess")}},
		}
		if secret := p.objects[secretKind+"team/"+name+"-argocd"]; secret != nil && at(secret, "metadata", "ownerReferences") == nil {
			secret["metadata"].(fields)["ownerReferences"] = []any{fields{"uid": meta["uid"]}}
		}
	}
	if object := p.objects[objectKind+"team/"+behind(name)]; fmt.Sprint(at(object, "spec", "managementPolicies")) == "[*]" {
		if claim != nil && owner == ofClaims && !annotated(claim, pausedBy) {
			p.wrongs("two write to %s", name)
		}
		at(tenant, "spec", "claimRef").(fields)["apiVersion"] = ofFronts
		p.applied(tenant, front)
	}
}

func bound(front fields) fields {
	conditions, _ := at(front, "status", "conditions").([]any)
	for _, c := range conditions {
		if c.(fields)["type"] == "TenantBound" {
			return c.(fields)
		}
	}
	return fields{"type": "TenantBound"}
}

// applied has the tenant be as what it belongs to says.
func (p *platform) applied(tenant, by fields) {
	name := at(by, "metadata", "name").(string)
	tenant["spec"].(fields)["deletionProtection"] = at(by, "spec", "deletionProtection")
	if p.protected[name] && at(by, "spec", "deletionProtection") != true {
		p.wrongs("%s isn't protected", name)
	}
}

// used does what Crossplane does for Usages: the tenant protects whom it belongs to.
func (p *platform) used(name string) {
	tenant := p.objects[tenantKind+behind(name)]
	for _, key := range []string{claimKind, frontKind} {
		o := p.objects[key+"team/"+name]
		if o == nil {
			continue
		}
		labels, _ := at(o, "metadata", "labels").(fields)
		if labels == nil {
			labels = fields{}
			o["metadata"].(fields)["labels"] = labels
		}
		owns := at(tenant, "spec", "claimRef", "apiVersion") == o["apiVersion"]
		if owns && at(tenant, "spec", "deletionProtection") == true || key == claimKind && p.usages[name] {
			labels["crossplane.io/in-use"] = "true"
		} else {
			delete(labels, "crossplane.io/in-use")
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
			selector := r.URL.Query().Get("labelSelector")
			if strings.HasPrefix(key, kind+namespace) && (selector == "" || selector == fmt.Sprintf("crossplane.io/claim-namespace=%v,crossplane.io/claim-name=%v", labels["crossplane.io/claim-namespace"], labels["crossplane.io/claim-name"])) {
				items = append(items, o)
			}
		}
		answer(200, fields{"kind": "List", "apiVersion": version, "metadata": fields{"resourceVersion": "1"}, "items": items})
		return
	}
	body, _ := io.ReadAll(r.Body)
	dryRun := r.URL.Query().Get("dryRun") != "" || strings.Contains(string(body), "dryRun")
	o := fields{}
	name := ""
	if r.Method == http.MethodPost {
		_ = json.Unmarshal(body, &o)
		name = at(o, "metadata", "name").(string)
	} else {
		name = parts[1]
	}
	of := strings.TrimSuffix(strings.TrimSuffix(name, "-argocd"), "-7rw8j")
	if r.Method == http.MethodPost && of == p.full {
		fail(403, "Forbidden", "exceeded quota")
		return
	}
	if r.Method != http.MethodGet && !dryRun && of != p.full {
		if p.writes[of]++; p.writes[of] == p.stops[of] {
			p.stopped[of] = true
			fail(403, "Forbidden", "stopped here")
			return
		}
	}
	if r.Method == http.MethodPost {
		key := kind + namespace + name
		switch {
		case p.objects[key] != nil:
			fail(409, "AlreadyExists", "already exists")
			return
		case !dryRun:
			p.add(key, o)
			p.work()
		}
		answer(201, o)
		return
	}
	key := kind + namespace + name
	if o = p.objects[key]; o == nil {
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
		if dryRun {
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
		case step.Op == "add" && i < 0:
			v.(fields)[last] = step.Value
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

// tenant adds a tenant that belongs to a claim or to a namespaced VirtualArgoCD.
func (p *platform) tenant(name, of, manager string, more fields) {
	p.names = append(p.names, name)
	p.protected[name] = more["deletionProtection"] == true
	spec := fields{"plan": "small", "writeConnectionSecretToRef": fields{"name": name + "-argocd"}}
	if of == ofClaims {
		spec["resourceRef"] = fields{"apiVersion": ofClaims, "kind": "XVirtualArgoCD", "name": behind(name)}
		spec["compositionUpdatePolicy"] = "Automatic"
	}
	maps.Copy(spec, more)
	uid := "first-of-" + name
	p.add(of+"/virtualargocds/team/"+name, fields{"apiVersion": of, "kind": "VirtualArgoCD", "metadata": fields{
		"namespace": "team", "name": name, "uid": uid, "labels": fields{"team": "a"}, "annotations": fields{"virtualargocd.io/backup": "1"},
	}, "spec": spec})
	p.add(tenantKind+behind(name), fields{"apiVersion": ofClaims, "kind": "XVirtualArgoCD", "metadata": fields{
		"name": behind(name), "labels": fields{"crossplane.io/claim-name": name, "crossplane.io/claim-namespace": "team"},
		"managedFields": []any{fields{"manager": "crossplane", "operation": "Update"}, fields{"manager": manager, "operation": "Apply"}, fields{"manager": manager, "operation": "Update", "subresource": "status"}},
	}, "spec": fields{"claimRef": fields{"apiVersion": of, "kind": "VirtualArgoCD", "namespace": "team", "name": name}}})
	p.add(secretKind+"team/"+name+"-argocd", fields{"apiVersion": "v1", "kind": "Secret", "metadata": fields{"namespace": "team", "name": name + "-argocd", "ownerReferences": []any{fields{"uid": uid}}}})
}

func (p *platform) claim(name string, more fields) {
	p.tenant(name, ofClaims, "apiextensions.crossplane.io/claim", more)
}

func (p *platform) front(name string, more fields) {
	p.tenant(name, ofFronts, "provider-kubernetes/"+behind(name), more)
}

// check compares a tenant with what is to be there once it belongs to one kind, as with the spec of the claim that it had.
func (p *platform) check(t *testing.T, name, of string, want fields) {
	t.Helper()
	other, manager := ofFronts, "apiextensions.crossplane.io/claim"
	if of == ofFronts {
		other, manager = ofClaims, "provider-kubernetes/"+behind(name)
	}
	is, tenant := p.objects[of+"/virtualargocds/team/"+name], p.objects[tenantKind+behind(name)]
	if is == nil || p.objects[other+"/virtualargocds/team/"+name] != nil || at(tenant, "spec", "claimRef", "apiVersion") != of ||
		at(tenant, "metadata", "managedFields").([]any)[1].(fields)["manager"] != manager {
		t.Errorf("%s isn't handed over to %s: %s", name, of, p.dump(name))
		return
	}
	annotations, _ := at(is, "metadata", "annotations").(fields)
	if len(annotations) != 1 || annotations["virtualargocd.io/backup"] != "1" || at(is, "metadata", "labels", "team") != "a" || at(is, "spec", "plan") != "small" ||
		at(is, "spec", "deletionProtection") != want["deletionProtection"] || fmt.Sprint(at(is, "spec", "compositionRef")) != fmt.Sprint(want["compositionRef"]) {
		t.Errorf("%s isn't what it was, or something temporary is left: %s", name, p.dump(name))
	}
	if reference := at(is, "spec", "resourceRef", "name"); of == ofClaims && reference != behind(name) || of == ofFronts && reference != nil {
		t.Errorf("%s of %s refers to %v", name, of, reference)
	}
	if (at(is, "metadata", "labels", "crossplane.io/in-use") == "true") != p.protected[name] {
		t.Errorf("%s is protected: want %v: %s", name, p.protected[name], p.dump(name))
	}
	// Crossplane doesn't make an unchanged Secret the claim's, and it would stay when that is deleted.
	secret := p.objects[secretKind+"team/"+name+"-argocd"]
	if owners, _ := at(secret, "metadata", "ownerReferences").([]any); len(owners) != 1 || owners[0].(fields)["uid"] != at(is, "metadata", "uid") {
		t.Errorf("the connection Secret isn't that of %s: %v", name, secret)
	}
}

func (p *platform) dump(name string) string {
	all := map[string]fields{}
	for key, o := range p.objects {
		if strings.HasSuffix(key, "/"+name) || strings.HasSuffix(key, "/"+behind(name)) || strings.HasSuffix(key, "/"+name+"-argocd") {
			all[key] = o
		}
	}
	text, _ := json.MarshalIndent(all, "", " ")
	return string(text)
}

// adopter serves a platform, and returns how adopt.sh is run there.
func adopter(t *testing.T, p *platform) func(args ...string) (string, error) {
	t.Helper()
	tools, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tools.Binary("kubectl"); err != nil {
		t.Skip("NOT TRIED HERE: THIS RUNS kubectl, WHICH make e2e BUILDS WITH THE REST OF KUBERNETES: ", err)
	}
	p.add("apiextensions.crossplane.io/v1/compositeresourcedefinitions/xvirtualargocds.virtualargocd.io", fields{"apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition", "metadata": fields{"name": "xvirtualargocds.virtualargocd.io"}, "spec": fields{"defaultCompositionRef": fields{"name": "virtual-argocd"}}})
	p.work()
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte("{apiVersion: v1, kind: Config, current-context: a, clusters: [{name: a, cluster: {server: '"+server.URL+"'}}], contexts: [{name: a, context: {cluster: a}}]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(args ...string) (string, error) {
		out, err := kube.Script(t.Context(), t, kubeconfig, "../../examples/adopt/adopt.sh", append([]string{"--timeout", "5"}, args...)...)
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.wrong) > 0 {
			t.Fatalf("%v: %v\n%s", args, p.wrong, out)
		}
		return out, err
	}
}

func newPlatform() *platform {
	return &platform{objects: map[string]fields{}, stops: map[string]int{}, writes: map[string]int{}, stopped: map[string]bool{}, usages: map[string]bool{}, protected: map[string]bool{}}
}

// TestAdopt runs examples/adopt/adopt.sh with kubectl: claims become namespaced VirtualArgoCDs and claims again, the tenants and their connection
// Secrets are the same objects, never do two write to a tenant, and it is protected all the time.
func TestAdopt(t *testing.T) {
	t.Parallel()
	p := newPlatform()
	want := map[string]fields{
		"plain":       {},
		"composition": {"compositionRef": fields{"name": "europe"}},
		"protected":   {"deletionProtection": true},
	}
	for name, spec := range want {
		p.claim(name, spec)
	}
	// The Composition that everybody has is no choice.
	p.claim("common", fields{"compositionRef": fields{"name": "virtual-argocd"}})
	want["common"] = nil
	// Somebody else has paused it: nothing is done about it.
	p.claim("paused", nil)
	p.objects[claimKind+"team/paused"]["metadata"].(fields)["annotations"].(fields)[pausedBy] = "true"
	// Somebody is deleting it, with its tenant.
	p.claim("going", nil)
	meta := p.objects[claimKind+"team/going"]["metadata"].(fields)
	meta["annotations"].(fields)[pausedBy], meta["annotations"].(fields)["virtualargocd.io/adopting"] = "true", "true"
	meta["finalizers"], meta["deletionTimestamp"] = []any{finalizer}, "2026-01-01T00:00:00Z"
	// A customer's annotation with a line that looks like one of the script's own.
	p.claim("hostile", nil)
	p.objects[claimKind+"team/hostile"]["metadata"].(fields)["annotations"].(fields)["virtualargocd.io/adopting"] = "a\nVirtualArgoCD:virtualargocd.io/v1alpha1 deleted now"
	want["hostile"] = nil
	run := adopter(t, p)
	paused, going := p.dump("paused"), p.dump("going")
	for _, step := range []struct{ args, of, want string }{
		{"--all", ofFronts, "moved"},
		{"--all", ofFronts, "done"},
		{"--back --parallel 1 team", ofClaims, "moved"},
		{"--back team", ofClaims, "done"},
	} {
		out, err := run(strings.Fields(step.args)...)
		if err == nil || strings.Count(out, "\n"+step.want+" ")+strings.Count(out[:len(step.want)+1], step.want+" ") != len(want) || !strings.Contains(out, "5 of 7 are moved") {
			t.Errorf("%s: want five %s, and two failed: %v\n%s", step.args, step.want, err, out)
		}
		for name, tc := range want {
			p.check(t, name, step.of, tc)
		}
		if !strings.Contains(out, "somebody else has paused the claim") || p.dump("paused") != paused {
			t.Errorf("%s: something was done to what somebody else has paused:\n%s\n%s", step.args, out, p.dump("paused"))
		}
	}
	if p.dump("going") != going {
		t.Errorf("something was done to what is being deleted:\n%s", p.dump("going"))
	}
	if out, err := run("team/none"); err == nil || !strings.Contains(out, "there is no xvirtualargocds") {
		t.Errorf("one that doesn't exist: %v\n%s", err, out)
	}
}

// TestAdoptStopped: it is stopped before each of its writes, in either direction, and then run again, in either direction. The state of the
// cluster is the only one that it has, so it arrives. One that is refused stays as it was.
func TestAdoptStopped(t *testing.T) {
	protected := fields{"deletionProtection": true}
	for name, tc := range map[string]struct {
		reason string
		// from is the kind that the tenants belong to, and runs the directions.
		from string
		runs []string
	}{
		"Forward":            {"The same again.", ofClaims, []string{"", ""}},
		"ForwardThenBack":    {"It is taken back halfway.", ofClaims, []string{"", "--back"}},
		"Back":               {"The same again.", ofFronts, []string{"--back", "--back"}},
		"BackThenForward":    {"It is taken back halfway.", ofFronts, []string{"--back", ""}},
		"ForwardBackForward": {"Halfway back, it is stopped again.", ofClaims, []string{"", "--back", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// As many as there are writes, and one that isn't stopped.
			tenants := map[string]int{ofClaims: 6, ofFronts: 8}[tc.from] + 1
			p := newPlatform()
			add := p.claim
			if tc.from == ofFronts {
				add = p.front
			}
			var names []string
			for i := range tenants {
				names = append(names, fmt.Sprintf("a%02d", i))
				add(names[i], protected)
			}
			p.full = "full"
			add(p.full, protected)
			run := adopter(t, p)
			full := p.dump(p.full)
			for n, direction := range tc.runs {
				last := n == len(tc.runs)-1
				clear(p.writes)
				clear(p.stops)
				clear(p.stopped)
				for i, name := range names {
					if !last {
						p.stops[name] = (i*(1+2*n))%tenants + 1
					}
				}
				args := append(strings.Fields(direction), "--parallel", "4", "--all")
				out, err := run(args...)
				of := map[string]string{"": ofFronts, "--back": ofClaims}[direction]
				fails := last && of != tc.from || !last
				if (err != nil) != fails || last && fails && !strings.Contains(out, fmt.Sprintf("%d of %d are moved", tenants, tenants+1)) {
					t.Fatalf("\n%s\n%v: want a failure %v, got %v\n%s", tc.reason, args, fails, err, out)
				}
				if fails && of != tc.from && !strings.Contains(out, "exceeded quota") {
					t.Errorf("\n%s\n%v: want the reason of what is refused:\n%s", tc.reason, args, out)
				}
				if n == 0 && len(p.stopped) != tenants-1 {
					t.Errorf("\n%s\n%v: it has %d writes, and the test expects %d", tc.reason, args, len(p.stopped), tenants-1)
				}
				if got := p.dump(p.full); got != full {
					t.Errorf("\n%s\n%v: the one that is refused has changed: it was\n%s\nand is\n%s", tc.reason, args, full, got)
				}
				for _, name := range names {
					if !p.stopped[name] {
						p.check(t, name, of, protected)
					}
				}
			}
		})
	}
}
