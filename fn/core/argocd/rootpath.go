package argocd

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// Settings of Argo CD's API server for a URL with a path, in configs.params.
const (
	rootPath = "server.rootpath"
	baseHref = "server.basehref"
)

// urlPath is what the path of the URL looks like. The host refuses other signs in an Ingress.
var urlPath = regexp.MustCompile(`^/?[A-Za-z0-9][A-Za-z0-9._~-]*(/[A-Za-z0-9][A-Za-z0-9._~-]*)*/?$`)

// SetRootPath decides on the path of Argo CD's URL, which follows from server.rootpath: Argo CD then serves everything below that path,
// so the Ingress, the URL and the address that people come back to after signing on have it, too.
func SetRootPath(d *tenant.Decision, g tenant.Given, of *values.Stack) error {
	params := values.At[values.Values](d.ArgoCD.Values, "configs", "params")
	root, base := pathIn(params, rootPath), pathIn(params, baseHref)
	at := func(key string) mistakes.Field { return of.Field("configs", "params", key) }
	err := checkArguments(g)
	switch {
	case root != "" && !urlPath.MatchString(root):
		err = mistakes.Join(err, at(rootPath).Errorf("%q is not a path: write one such as /argocd", params[rootPath]))
	case base != root && base != "" && !g.KeepsValues("configs", "params"):
		err = mistakes.Join(err, at(baseHref).Errorf("is %q, and %s is %q: nothing removes a path from requests, so write the same there, such as /argocd, or only %[2]s", params[baseHref], rootPath, root))
	}
	if err != nil || root == "" {
		return err
	}
	d.RootPath = "/" + strings.Trim(root, "/")
	if _, ok := values.Lookup(d.ArgoCD.Values, "configs", "cm", "url"); !ok {
		domain := values.At[string](d.ArgoCD.Values, "global", "domain")
		d.ArgoCD.Values = values.Merge(d.ArgoCD.Values, URLs(d, of.Merged(), domain, nil))
	}
	return nil
}

// AdditionalURLs are the URLs in Argo CD's setting additionalUrls, to which it lets people come back after signing on.
func AdditionalURLs(d *tenant.Decision, hostnames []string) string {
	var b strings.Builder
	for _, hostname := range hostnames {
		b.WriteString("- https://" + hostname + d.RootPath + "\n")
	}
	return b.String()
}

// URLs returns the values for Argo CD's own idea of its URLs, that of links in notifications, and that of status badges: by default, none
// has a path, and there is no further URL. written are the values that others have written, which may have other links. It returns nil if
// nothing is to be said.
func URLs(d *tenant.Decision, written values.Values, domain string, additional []string) values.Values {
	var out values.Values
	set := func(value string, path ...string) {
		if out == nil {
			out = values.Values{}
		}
		values.Insert(out, value, path...)
	}
	if len(additional) > 0 {
		set(AdditionalURLs(d, additional), "configs", "cm", "additionalUrls")
	}
	if d.RootPath == "" {
		return out
	}
	url := "https://" + domain + d.RootPath
	set(url, "configs", "cm", "url")
	if values.At[string](written, "notifications", "argocdUrl") == "" {
		set(url, "notifications", "argocdUrl")
	}
	cm := values.At[values.Values](written, "configs", "cm")
	if fmt.Sprint(cm["statusbadge.enabled"]) == "true" && cm["statusbadge.url"] == nil {
		set(url+"/", "configs", "cm", "statusbadge.url")
	}
	return out
}

// pathIn returns a path in settings without a slash at its end; "" for the root.
func pathIn(params values.Values, key string) string {
	is, ok := params[key]
	if !ok || is == nil {
		return ""
	}
	if path := strings.TrimSuffix(fmt.Sprint(is), "/"); path != "" {
		return "/" + strings.TrimPrefix(path, "/")
	}
	return ""
}

// checkArguments refuses a path of the URL where only Argo CD would see it.
func checkArguments(g tenant.Given) error {
	var found []error
	refuse := func(field, is string) {
		found = append(found, fmt.Errorf("spec.argocd.values.%s: %.80q is not possible here: write the path to configs.params, as %q, so that the URL follows", field, is, rootPath))
	}
	if !g.KeepsValues("server", "extraArgs") {
		for i, arg := range values.At[[]any](g.Spec.ArgoCDValues, "server", "extraArgs") {
			flag, _, _ := strings.Cut(fmt.Sprint(arg), "=")
			if flag == "--rootpath" || flag == "--basehref" {
				refuse(fmt.Sprintf("server.extraArgs[%d]", i), flag)
			}
		}
	}
	// The chart gives the server its own variables and those of all components.
	for _, of := range []string{"server", "global"} {
		if g.KeepsValues(of, "env") {
			continue
		}
		for i, env := range values.At[[]any](g.Spec.ArgoCDValues, of, "env") {
			variable, _ := env.(values.Values)
			if name := values.At[string](variable, "name"); name == "ARGOCD_SERVER_ROOTPATH" || name == "ARGOCD_SERVER_BASEHREF" {
				refuse(fmt.Sprintf("%s.env[%d]", of, i), name)
			}
		}
	}
	return mistakes.Join(found...)
}
