package argocd

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

// Settings are a ConfigMap argocd-cm, asked as Argo CD asks it: the Lua in it runs in Argo CD's own engine, which the
// argocd program has built in. No cluster is asked.
type Settings struct {
	program, file string
}

// NewSettings reads the settings of a file.
func NewSettings(t testing.TB, file string) *Settings {
	t.Helper()
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	program, err := cache.Binary(toolchain.ArgoCDHeadless)
	if err != nil {
		t.Fatal(err)
	}
	return &Settings{program: program, file: file}
}

// health is what the program prints. A message can have several lines.
var health = regexp.MustCompile(`(?s)^STATUS: (\w+)\nMESSAGE: (.*)\n$`)

// Health is what Argo CD shows of an object: its status, such as Degraded, and the message beside it.
func (s *Settings) Health(ctx context.Context, t testing.TB, o *unstructured.Unstructured) (status, message string) {
	t.Helper()
	out := s.run(ctx, t, o, "health")
	m := health.FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("Argo CD has no health check for kind %s: %s", o.GetKind(), out)
	}
	return m[1], m[2]
}

// Actions are the names of those that Argo CD offers for an object, sorted.
func (s *Settings) Actions(ctx context.Context, t testing.TB, o *unstructured.Unstructured) []string {
	t.Helper()
	// A line for each below the heading: its name, and whether it is disabled.
	var names []string
	for i, line := range strings.Split(strings.TrimSpace(s.run(ctx, t, o, "list-actions")), "\n") {
		name, disabled, _ := strings.Cut(line, " ")
		if i > 0 && strings.TrimSpace(disabled) == "false" {
			names = append(names, name)
		}
	}
	return names
}

// Act is an object as an action leaves it.
func (s *Settings) Act(ctx context.Context, t testing.TB, o *unstructured.Unstructured, action string) *unstructured.Unstructured {
	t.Helper()
	heading, text, ok := strings.Cut(s.run(ctx, t, o, "run-action", action), "\n\n")
	after := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &after.Object); err != nil || !ok {
		t.Fatalf("action %s changes nothing: %s: %v", action, heading, err)
	}
	return after
}

func (s *Settings) run(ctx context.Context, t testing.TB, o *unstructured.Unstructured, command string, args ...string) string {
	t.Helper()
	data, err := yaml.Marshal(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "object.yaml")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	all := append([]string{"admin", "settings", "resource-overrides", command, file}, args...)
	cmd := exec.CommandContext(ctx, s.program, append(all, "--argocd-cm-path", s.file)...)
	// The program shows what an action does by a program that compares: this one prints what has become of the object.
	cmd.Env = append(os.Environ(), `KUBECTL_EXTERNAL_DIFF=sh -c 'cat "$1"'`)
	var out, problem strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		t.Fatalf("argocd admin settings resource-overrides %s: %v\n%s", command, err, problem.String())
	}
	return out.String()
}
