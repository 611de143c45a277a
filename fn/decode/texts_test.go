package decode

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/crossplane/function-sdk-go/resource"

	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// TestTexts: what a claim may not have in its texts, because it could become more than text, or more than it is.
func TestTexts(t *testing.T) {
	many := func(n int, of string) string { return "[" + strings.TrimSuffix(strings.Repeat(of+",", n), ",") + "]" }
	const anchor, lineBreak = "YAML anchor", "line break"
	for name, tc := range map[string]struct{ spec, want string }{
		"Anchor":            {`{"argocd":{"values":{"global":{"domain":"&a b"}}}}`, "spec.argocd.values.global.domain: a " + anchor},
		"AnchorInSetting":   {`{"argocd":{"values":{"configs":{"cm":{"dex.config":"a: &a b"}}}}}`, "spec.argocd.values.configs.cm.dex.config: a " + anchor},
		"AnchorInList":      {`{"argocd":{"values":{"server":{"extraArgs":["a","--b=[&a c]"]}}}}`, "spec.argocd.values.server.extraArgs[1]: a " + anchor},
		"AnchorInKey":       {`{"argocd":{"values":{"global":{"podLabels":{"a\nb: &a c":"d"}}}}}`, `spec.argocd.values.global.podLabels: key "a\nb: &a c": a ` + anchor},
		"AnchorInObject":    {`{"argocd":{"values":{"extraObjects":[{"data":{"a":"b: &a c"}}]}}}`, "spec.argocd.values.extraObjects[0].data.a: a " + anchor},
		"AnchorElsewhere":   {`{"sso":{"oidc":{"issuer":"https://a.b","clientID":"&a"}}}`, "spec.sso.oidc.clientID: a " + anchor},
		"Directive":         {`{"argocd":{"values":{"global":{"domain":"a\n%TAG ! b\n"}}}}`, "spec.argocd.values.global.domain: a " + anchor},
		"LineSeparator":     {`{"argocd":{"values":{"server":{"extraArgs":["a\n\u2028b: c"]}}}}`, "spec.argocd.values.server.extraArgs[0]: a " + lineBreak},
		"CarriageReturn":    {`{"argocd":{"values":{"configs":{"styles":"a\rb: c"}}}}`, "spec.argocd.values.configs.styles: a " + lineBreak},
		"NextLine":          {`{"sso":{"oidc":{"issuer":"https://a.b","clientID":"a","adminGroups":["a\u0085b"]}}}`, "spec.sso.oidc.adminGroups[0]: a " + lineBreak},
		"TextAsObject":      {`{"argocd":{"values":{"extraObjects":[{"kind":"ConfigMap"},"kind: ConfigMap"]}}}`, "spec.argocd.values.extraObjects[1]: is no object"},
		"TextAsObjects":     {`{"argocd":{"values":{"extraObjects":"kind: ConfigMap"}}}`, "spec.argocd.values.extraObjects: is no list"},
		"MapOfObjects":      {`{"argocd":{"values":{"extraObjects":{"a":{}}}}}`, "spec.argocd.values.extraObjects: is no list"},
		"ManyObjects":       {`{"argocd":{"values":{"extraObjects":` + many(101, "{}") + `}}}`, "spec.argocd.values.extraObjects: has 101 entries: write 100 at most"},
		"ManyValues":        {`{"argocd":{"values":{"a":` + many(6000, "1") + `}}}`, "spec: has more than 5000 values"},
		"ManyValuesInOther": {`{"vcluster":{"values":{"a":` + many(6000, "{}") + `}}}`, "spec: has more than 5000 values"},
		"ManyItemsInText":   {`{"argocd":{"values":{"global":{"image":{"imagePullPolicy":"` + many(20_001, "a") + `"}}}}}`, "spec: its texts have more than 20000 lines and signs of YAML"},
		"ManyItemsInKeys":   {`{"argocd":{"values":{"` + many(10_001, "a") + `":1,"` + many(10_000, "b") + `":1}}}`, "spec: its texts have more than 20000 lines and signs of YAML"},

		"LargePolicy":  {`{"argocd":{"values":{"configs":{"rbac":{"policy.csv":"` + strings.Repeat(`p, role:a, applications, *, a/*, allow\n`, 2200) + `"}}}}}`, "<nil>"},
		"Objects":      {`{"argocd":{"values":{"extraObjects":` + many(100, `{"kind":"ConfigMap"}`) + `}}}`, "<nil>"},
		"Null":         {`{"argocd":{"values":{"extraObjects":null}}}`, "<nil>"},
		"Notification": {`{"argocd":{"values":{"notifications":{"templates":{"a":"webhook:\r\n  body: |\r\n    {{if and .a .b}}<p>&nbsp;a &amp; b</p>{{end}} https://a.b?c=1&d=2\r\n"}}}}}`, "<nil>"},
		"Shell":        {`{"argocd":{"values":{"server":{"extraContainers":[{"args":["-c","a && b 2>&1 & wait"]}]}}}}`, "<nil>"},
		"Policy":       {`{"argocd":{"values":{"configs":{"rbac":{"policy.csv":"g, R&D, role:admin\np, role:a, applications, *, */*, allow\n"}}}}}`, "<nil>"},
		"Aliases":      {`{"argocd":{"values":{"configs":{"cm":{"a":"b: *c"}}}}}`, "<nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			_, wrong, err := spec(wire.Of(resource.MustStructJSON(`{"spec":` + tc.spec + `}`)))
			if got := fmt.Sprint(cmp.Or(err, wrong)); !strings.HasPrefix(got, tc.want) {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
}
