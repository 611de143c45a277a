package decode_test

import (
	"fmt"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// repositoriesOf is a spec that names so many Secrets: s0, s1, ...
func repositoriesOf(secrets int) string {
	var repositories, templates []string
	for i := range secrets {
		entry := fmt.Sprintf(`{"name":"r%d","url":"https://git.example.org/r%d","secretRef":{"name":"s%d"}}`, i, i, i)
		if i < 50 {
			repositories = append(repositories, entry)
		} else {
			templates = append(templates, entry)
		}
	}
	return `{"repositories":[` + strings.Join(repositories, ",") + `],"credentialTemplates":[` + strings.Join(templates, ",") + `]}`
}

// TestLargeSecretsAreNotRead: whatever Secrets a claim names, what Crossplane reads for it fits into a message.
func TestLargeSecretsAreNotRead(t *testing.T) {
	largest := strings.Repeat("x", 1<<20)
	for _, n := range []int{1, tenant.MaxNamed, tenant.MaxNamed + 1, tenant.MaxSecrets, 100} {
		e := crossplanetest.New(t, `{}`, "").Install()
		for i := range n {
			e.AddSecret(fmt.Sprintf("s%d", i), "Opaque", map[string]string{"a": largest})
			e.LabelSecret(fmt.Sprintf("s%d", i), "true")
		}
		e.SetSpec(repositoriesOf(n))
		e.Reconcile()
		if got := proto.Size(e.Request); got > 12<<20 {
			t.Errorf("%d Secrets: Crossplane sends %d MiB", n, got>>20)
		}
		if accepted := e.Condition(v1alpha1.ConditionSpecAccepted); (accepted.GetStatus() == fnv1.Status_STATUS_CONDITION_TRUE) != (n <= tenant.MaxSecrets) {
			t.Errorf("%d Secrets: %v", n, accepted)
		}
	}
}

// TestManySecrets: a claim that names more than a few Secrets gets those that are labelled with their name.
func TestManySecrets(t *testing.T) {
	e := crossplanetest.New(t, `{}`, "").Install()
	const many = 40
	for i := range many {
		e.AddSecret(fmt.Sprintf("s%d", i), "Opaque", map[string]string{"username": "u", "password": fmt.Sprintf("password-%d.", i)})
	}
	// As for claims that name a few.
	e.LabelSecret("s7", "true")
	e.AddSecret("s8", "Opaque", map[string]string{"password": "unlabelled."})
	delete(crossplanetest.Field(e.Cluster["Secret/"+crossplanetest.Namespace+"/s8"], "metadata", "labels").Fields, tenant.LabelCredentials)
	e.SetSpec(repositoriesOf(many))
	e.Reconcile()
	values := fmt.Sprint(e.SecretValues())
	for i := range many {
		if got := strings.Contains(values, fmt.Sprintf("password-%d.", i)); got != (i != 7 && i != 8) {
			t.Errorf("s%d is used: %t", i, got)
		}
	}
	c := e.Condition(v1alpha1.ConditionRepositoriesConnected)
	const want = "Secret s7 in namespace team-a does not exist, or doesn't have the labels by which it is found, because the claim names more than 5 Secrets: " +
		"create it, and kubectl -n team-a label secret s7 virtualargocd.io/credentials=true virtualargocd.io/secret-name=s7"
	if c.GetReason() != v1alpha1.ReasonSecretMissing || !strings.Contains(c.GetMessage(), want) {
		t.Errorf("want %q, got %v", want, c)
	}
	// What was read before stays, and is updated once it has the label.
	e.AddSecret("s9", "Opaque", map[string]string{"username": "u", "password": "rotated."})
	e.LabelSecret("s9", "true")
	e.Reconcile()
	if values := fmt.Sprint(e.SecretValues()); strings.Contains(values, "rotated.") || !strings.Contains(values, "password-9.") {
		t.Errorf("s9: %s", values)
	}
	e.AddSecret("s9", "Opaque", map[string]string{"username": "u", "password": "rotated."})
	e.Reconcile()
	if values := fmt.Sprint(e.SecretValues()); !strings.Contains(values, "rotated.") {
		t.Errorf("s9: %s", values)
	}
	// A long name can't be a label's value, and would fail the whole call.
	long := strings.Repeat("s", 70)
	e.AddSecret(long, "Opaque", map[string]string{"password": "long."})
	e.SetSpec(strings.Replace(repositoriesOf(many), `"name":"s0"`, `"name":"`+long+`"`, 1))
	e.Reconcile()
	if c := e.Condition(v1alpha1.ConditionRepositoriesConnected); !strings.Contains(c.GetMessage(), "names of at most 63 characters") {
		t.Error(c)
	}
}
