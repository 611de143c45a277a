package function_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
	"github.com/virtual-argocd/virtual-argocd/internal/memtest"
)

// bomb is a text that YAML's aliases make a thousand times larger.
func bomb(size int) string {
	return "apiVersion: v1\nkind: Config\na: &a " + strings.Repeat("x", size/2) + "\nb: [" + strings.Repeat("*a,", size/6) + "]\n"
}

const kubeconfigSpec = `{"clusters":[{"name":"prod","secretRef":{"name":"bomb"}}]}`

// hostileText is a tenant with a text at each place where strangers can put one.
func hostileText(t testing.TB, text string) map[string]*crossplanetest.Engine {
	t.Helper()
	of := map[string]*crossplanetest.Engine{}
	for place, data := range map[string]map[string]string{
		"Kubeconfig": {"kubeconfig": text}, "Config": {"server": "https://a.b", "config": text}, "Unlabelled": {"kubeconfig": text},
	} {
		e := crossplanetest.New(t, kubeconfigSpec, "")
		e.AddSecret("bomb", "Opaque", data)
		if place == "Unlabelled" {
			e.LabelSecret("bomb", nil)
		}
		of[place] = e
	}
	of["VirtualKubeconfig"] = crossplanetest.New(t, `{}`, "")
	of["VirtualKubeconfig"].PublishKubeconfig(text)
	e := crossplanetest.New(t, `{}`, "").Install()
	e.Request.GetObserved().GetResources()[tenant.ArgoCDRelease].ConnectionDetails = map[string][]byte{tenant.PasswordKey: []byte(text), tenant.KubeconfigKey: []byte(text)}
	e.SetReplicas("argocd-server", 0)
	crossplanetest.SetCondition(e.Observed(tenant.ArgoCDRelease), "Synced", "False", "ReconcileError", text)
	of["Password"] = e
	return of
}

// allocated returns how many bytes a call of an engine's function allocates for a request.
func allocated(t testing.TB, e *crossplanetest.Engine, req *fnv1.RunFunctionRequest) uint64 {
	return memtest.Allocated(func() {
		if _, err := e.Function.RunFunction(t.Context(), req); err != nil {
			t.Error(err)
		}
	})
}

// What a call may allocate, in bytes: for each byte of a text that stands in five places, and for the rest.
const (
	perByteOfText   = 300
	allocatedByCall = 8 << 20
)

// TestHostileText: no text of others takes the memory or the time of the function, which is everybody's. Its limit is 512 MiB.
func TestHostileText(t *testing.T) {
	large := 250 << 10
	for name, text := range map[string]string{
		"Aliases": bomb(large), "AliasesOfKubeconfig": bomb(40 << 10), "Deep": strings.Repeat("[", large), "Wide": "[" + strings.Repeat("{},", large/3) + "{}]", "Lines": strings.Repeat("a: b\n", large/5), "Items": strings.Repeat("-\n", large/2),
		"TagPrefix": "%TAG ! " + strings.Repeat("b", large/2) + "\n---\n" + strings.Repeat("- !a b\n", large/14),
	} {
		for place, e := range hostileText(t, text) {
			t.Run(name+"/"+place, func(t *testing.T) {
				e.Reconcile()
				if got, most := allocated(t, e, e.Request), uint64(16<<20); got > most {
					t.Errorf("a text of %d bytes has a call allocate %d MiB, want at most %d", len(text), got>>20, most>>20)
				}
			})
		}
	}
}

// TestManyLines: Secrets of many short lines, and messages that are hidden from, cost little.
func TestManyLines(t *testing.T) {
	for name, secrets := range map[string]int{"Labelled": 44, "Unlabelled": tenant.MaxNamed} {
		t.Run(name, func(t *testing.T) {
			var clusters []string
			for i := range secrets {
				clusters = append(clusters, fmt.Sprintf(`{"name":"c%d","secretRef":{"name":"s%d"}}`, i, i))
			}
			e := crossplanetest.New(t, `{"clusters":[`+strings.Join(clusters, ",")+`]}`, "")
			for i := range secrets {
				b := &strings.Builder{}
				for j := 0; b.Len() < 250<<10; j++ {
					fmt.Fprintf(b, "%06x\n", i*100000+j)
				}
				e.AddSecret(fmt.Sprintf("s%d", i), "Opaque", map[string]string{"kubeconfig": b.String()})
				if name == "Unlabelled" {
					e.LabelSecret(fmt.Sprintf("s%d", i), nil)
				}
			}
			e.Reconcile()
			began := time.Now()
			if got, most := allocated(t, e, e.Request), uint64(100<<20); got > most {
				t.Errorf("a call allocates %d MiB, want at most %d", got>>20, most>>20)
			}
			// Usually it takes a twentieth of a second.
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("a call takes %s", took)
			}
		})
	}
}

// TestNoAnswerToGuesses: what a claim's author guesses of a Secret that the claim may not use is shown as any other text.
func TestNoAnswerToGuesses(t *testing.T) {
	for name, data := range map[string]map[string]string{
		"Value": {"db": "hunter2-db-pass"}, "Line": {"db": "first\nhunter2-db-pass\n"}, "YAML": {"db": "password: hunter2-db-pass"}, "JSON": {"db": `{"a":["hunter2-db-pass"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"clusters":[{"name":"prod","secretRef":{"name":"company"}}]}`, "").Install()
			e.AddSecret("company", "Opaque", data)
			e.LabelSecret("company", nil)
			e.Reconcile()
			e.SetSpec(`{"plan":"hunter2-db-pass","clusters":[{"name":"prod","secretRef":{"name":"company"}}]}`)
			e.Reconcile()
			if msg := e.Condition("SpecAccepted").GetMessage(); !strings.Contains(msg, `"hunter2-db-pass"`) {
				t.Errorf("the guess is answered: %q", msg)
			}
		})
	}
}

// TestNoAnswerToGuessesOfUnusedKeys: nor is what stands beside the keys that a claim uses, in a Secret that it may use.
func TestNoAnswerToGuessesOfUnusedKeys(t *testing.T) {
	const used, guess = "pw-of-the-client", "hunter2-db-pass"
	for name, sso := range map[string]string{
		"OIDC": `"oidc":{"issuer":"https://id.example.org","clientID":"a","clientSecretRef":{"name":"company","key":"client"}}`,
		"Dex":  `"dex":{"connectors":[{"type":"ldap","id":"a","name":"A","config":{"host":"ldap.example.org","bindPW":"$company:client","userSearch":{"baseDN":"ou=people","username":"uid"}}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"sso":{`+sso+`}}`, "")
			e.AddSecret("company", "Opaque", map[string]string{"client": used, "unused-db": guess})
			e.Install()
			for text, hidden := range map[string]bool{guess: false, used: true} {
				e.SetSpec(`{"plan":"` + text + `","sso":{` + sso + `}}`)
				e.Reconcile()
				if msg := e.Condition("SpecAccepted").GetMessage(); strings.Contains(msg, text) == hidden {
					t.Errorf("%s: %q", text, msg)
				}
			}
		})
	}
}

// FuzzHostileText: whatever stands in a Secret, a kubeconfig or a connection detail, a call allocates little more than in proportion
// to it.
func FuzzHostileText(f *testing.F) {
	for _, text := range []string{bomb(600), strings.Repeat("[", 600), strings.Repeat("- ", 300), strings.Repeat("a: b\n", 100), `{"bearerToken":"a"}`, crossplanetest.Kubeconfig} {
		f.Add(text)
	}
	e := crossplanetest.New(f, `{"clusters":[{"name":"a","secretRef":{"name":"a"}},{"name":"b","secretRef":{"name":"b"}}]}`, "")
	e.AddSecret("a", "Opaque", map[string]string{"kubeconfig": "x"})
	e.AddSecret("b", "Opaque", map[string]string{"server": "https://a.b", "config": "x"})
	e.Install()
	crossplanetest.SetCondition(e.Observed(tenant.ArgoCDRelease), "Synced", "False", "ReconcileError", "cannot apply")
	f.Fuzz(func(t *testing.T, text string) {
		req := proto.Clone(e.Request).(*fnv1.RunFunctionRequest)
		for requirement, key := range map[string]string{"secret/a": "kubeconfig", "secret/b": "config", "virtual-cluster-kubeconfig": "config"} {
			data := crossplanetest.Field(req.GetRequiredResources()[requirement].GetItems()[0].GetResource(), "data")
			data.Fields[key] = structpb.NewStringValue(crossplanetest.Base64(text))
		}
		req.GetObserved().GetResources()[tenant.ArgoCDRelease].ConnectionDetails = map[string][]byte{tenant.PasswordKey: []byte(text), tenant.KubeconfigKey: []byte(text)}
		if got := allocated(t, e, req); got > uint64(allocatedByCall+perByteOfText*len(text)) {
			t.Errorf("a text of %d bytes has a call allocate %d bytes: %.60q", len(text), got, text)
		}
	})
}
