package gitserver

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

// A Change is what a commit does.
type Change struct {
	// Files are written, by their paths.
	Files map[string]string
	// Remove are paths of files and folders to remove.
	Remove []string
}

// Commit adds a commit to the repository of RunPublic in a namespace, and returns its hash.
func Commit(ctx context.Context, t testing.TB, host *kube.Cluster, namespace string, change Change) string {
	t.Helper()
	return server{host, namespace, name, "server"}.commit(ctx, t, change)
}

// server is a container in which commands are run: a Git server's.
type server struct {
	host                 *kube.Cluster
	namespace, app, name string
}

func (s server) commit(ctx context.Context, t testing.TB, change Change) string {
	t.Helper()
	script := &strings.Builder{}
	script.WriteString("set -eu\ncd /srv/work\n")
	for _, path := range change.Remove {
		fmt.Fprintf(script, "git rm -q -r '%s'\n", path)
	}
	for _, path := range slices.Sorted(maps.Keys(change.Files)) {
		fmt.Fprintf(script, "mkdir -p \"$(dirname '%[1]s')\"\ncat >'%[1]s' <<'END OF FILE'\n%[2]s\nEND OF FILE\n", path, strings.TrimSuffix(change.Files[path], "\n"))
	}
	script.WriteString("git add .\n" + asTest + " commit -q -m 'Change manifests'\ngit push -q /srv/repo.git main\n")
	s.run(ctx, t, "sh", script.String())
	hash, err := s.host.Output(ctx, s.namespace, s.pod(ctx, t), s.name, "git", "-C", "/srv/work", "rev-parse", "HEAD")
	if err != nil || len(hash) != 40 {
		t.Fatalf("the Git server says %q to a commit, which is no hash: %v", hash, err)
	}
	return hash
}

// run runs a shell command, and gives it an input: credentials are in no command line. What it prints can be lost.
func (s server) run(ctx context.Context, t testing.TB, command, input string) {
	t.Helper()
	var out, problem bytes.Buffer
	err := s.host.Exec(ctx, s.namespace, s.pod(ctx, t), s.name, []string{"sh", "-c", command}, strings.NewReader(input), &out, &problem)
	if err != nil {
		t.Fatalf("cannot run %q in the Git server: %v: %s", command, err, problem.String())
	}
}

// pod is the name of the server's pod.
func (s server) pod(ctx context.Context, t testing.TB) string {
	t.Helper()
	pods, err := s.host.Typed.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + s.app})
	if err != nil || len(pods.Items) == 0 {
		t.Fatalf("the Git server has no pod: %v", err)
	}
	return pods.Items[0].Name
}
