package admission

import (
	"fmt"
	"strings"
	"testing"
)

// TestSecretsOfClaims: a Secret that claims find by its label is found by its own name alone, and small.
func TestSecretsOfClaims(t *testing.T) { ask(t, secretsOfClaims()) }

func secretsOfClaims() map[string]verdict {
	const label = "labels: {virtualargocd.io/credentials: 'true', virtualargocd.io/secret-name: git}"
	const credentials = "labels: {virtualargocd.io/credentials: 'true'}"
	do := func(old, object string) request {
		return request{by: "user", resource: "secrets", namespace: "team", name: "git", old: old, object: object}
	}
	many := func(n int, entry string) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf(entry, i))
		}
		return strings.Join(out, ", ")
	}
	with := func(metadata, data string) string {
		return "{metadata: {" + label + metadata + "}, data: {" + data + "}}"
	}
	large := func(n int) string { return strings.Repeat("YWFh", n/3) }
	const size, keys, counts = "at most 64 KiB", "at most 32 keys", "at most 4 owners, 4 finalizers and 8 field managers"
	return map[string]verdict{
		"Credentials":         {do("", with("", "username: YQ==, password: Yg==")), ""},
		"Kubeconfig":          {do("", with("", "kubeconfig: "+large(48<<10))), ""},
		"Applied":             {do("", with(", annotations: {kubectl.kubernetes.io/last-applied-configuration: "+large(20<<10)+"}", "a: "+large(20<<10))), ""},
		"Empty":               {do("", "{metadata: {"+label+"}}"), ""},
		"Large":               {do("", with("", "a: "+large(66<<10))), size},
		"LargeTogether":       {do("", with("", many(10, "k%d: "+large(7<<10)))), size},
		"LargeLater":          {do(with("", "a: YQ=="), with("", "a: "+large(66<<10))), size},
		"LargeAnnotation":     {do("", with(", annotations: {a: "+strings.Repeat("a", 90_000)+"}", "a: YQ==")), size},
		"WideAnnotation":      {do("", with(", annotations: {a: "+strings.Repeat("\U0001F600", 25_000)+"}", "a: YQ==")), size},
		"LongOwnersUID":       {do("", with(", ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: a, uid: "+strings.Repeat("a", 300)+"}]", "a: YQ==")), counts},
		"WideOwner":           {do("", with(", ownerReferences: [{apiVersion: v1, kind: ConfigMap, uid: b, name: "+strings.Repeat("\U0001F600", 200)+"}]", "a: YQ==")), counts},
		"LabelledLater":       {do("{data: {a: "+large(66<<10)+"}}", with("", "a: "+large(66<<10))), size},
		"ManyKeys":            {do("", with("", many(70, "k%d: YQ=="))), keys},
		"LongKeys":            {do("", with("", many(20, strings.Repeat("k", 200)+"%d: YQ=="))), keys},
		"ManyAnnotations":     {do("", with(", annotations: {"+many(70, "k%d: a")+"}", "a: YQ==")), keys},
		"ManyManagers":        {do("", with(", managedFields: ["+many(20, "{manager: m%d}")+"]", "a: YQ==")), counts},
		"ManyOwners":          {do("", with(", ownerReferences: ["+many(5, "{apiVersion: v1, kind: ConfigMap, name: a%d, uid: b}")+"]", "a: YQ==")), counts},
		"LongOwner":           {do("", with(", ownerReferences: [{apiVersion: v1, kind: ConfigMap, uid: b, name: "+strings.Repeat("a", 300)+"}]", "a: YQ==")), counts},
		"ManyFinalizers":      {do("", with(", finalizers: ["+many(5, "example.org/f%d")+"]", "a: YQ==")), counts},
		"OthersName":          {do("", "{metadata: {labels: {virtualargocd.io/secret-name: other}}}"), "the Secret's own name"},
		"NotLabelled":         {do("", "{data: {a: "+large(900<<10)+"}}"), ""},
		"LabelledAsBefore":    {do("", "{metadata: {labels: {virtualargocd.io/credentials: 'true'}}, data: {a: "+large(200<<10)+"}}"), ""},
		"ManyKeysLabelled":    {do("", "{metadata: {"+credentials+"}, data: {"+many(70, "k%d: YQ==")+"}}"), keys},
		"ManyKeysLater":       {do("{data: {a: YQ==}}", "{metadata: {"+credentials+"}, data: {"+many(70, "k%d: YQ==")+"}}"), keys},
		"ManyManagersOfThose": {do("", "{metadata: {"+credentials+", managedFields: ["+many(20, "{manager: m%d}")+"]}, data: {a: YQ==}}"), counts},
		"LabelledFalse":       {do("", "{metadata: {labels: {virtualargocd.io/credentials: 'false'}}, data: {"+many(70, "k%d: YQ==")+"}}"), keys},
		"ManyKeysOfOthers":    {do("", "{data: {"+many(700, "k%d: YQ==")+"}}"), ""},
		"LabelTakenAway":      {do(with("", "a: YQ=="), "{data: {a: "+large(900<<10)+"}}"), ""},
	}
}
