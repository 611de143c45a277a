package hibernation_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fakeKubectl has the pods in the files of the directory pods, each of which holds its labels, and notes in the file did what it changes.
// With a file broken, it can't read anything.
const fakeKubectl = `#!/bin/sh
shift 2
case $1 in
get)
  [ ! -e broken ] || exit 1
  for pod in pods/*; do
    [ -e "$pod" ] || continue
    matches=yes
    for want in $(echo "$4" | tr , ' '); do
      case $want in
      !*) grep -q "^${want#!}" "$pod" && matches= ;;
      *=*) grep -q -x "$want" "$pod" || matches= ;;
      *) grep -q "^$want=" "$pod" || matches= ;;
      esac
    done
    [ -z "$matches" ] || echo "$pod"
  done
  ;;
scale)
  echo "$2 $4" >>did
  [ "$4" != 0 ] || rm -f "pods/$(basename "$2")-0"
  ;;
delete)
  echo "delete $4" >>did
  for pod in pods/*; do ! grep -q "^$4" "$pod" || rm "$pod"; done
  ;;
rollout) echo "rollout $3" >>did ;;
esac
`

// TestHibernationScript: the steps come in order, whatever labels a tenant gives its pods, and what can't be read isn't gone.
func TestHibernationScript(t *testing.T) {
	script, err := os.ReadFile("script.sh")
	if err != nil {
		t.Fatal(err)
	}
	const (
		mine    = "vcluster.loft.sh/managed-by=vcluster\n"
		control = "app=vcluster\nrelease=vcluster\n"
	)
	for name, tc := range map[string]struct {
		reason, step, etcd string
		pods               map[string]string
		broken             bool
		did                string
	}{
		"Sleeps":  {"What makes pods goes first.", "hibernate", "0", map[string]string{"vcluster-0": control, "a": mine}, false, "StatefulSet/vcluster 0\ndelete vcluster.loft.sh/managed-by\n"},
		"Etcd":    {"What keeps the state goes last.", "hibernate", "3", map[string]string{"vcluster-0": control, "vcluster-etcd-0": "app=vcluster-etcd\n", "a": mine}, false, "StatefulSet/vcluster 0\ndelete vcluster.loft.sh/managed-by\nstatefulset/vcluster-etcd 0\n"},
		"Hostile": {"A tenant's pod isn't taken for one of the control plane.", "hibernate", "3", map[string]string{"vcluster-0": control, "a": mine + control, "b": "vcluster.loft.sh/managed-by=me\napp=vcluster-etcd\n"}, false, "StatefulSet/vcluster 0\ndelete vcluster.loft.sh/managed-by\nstatefulset/vcluster-etcd 0\n"},
		"Broken":  {"It is tried again.", "hibernate", "0", map[string]string{"vcluster-0": control}, true, "StatefulSet/vcluster 0\n"},
		"Wakes":   {"What keeps the state comes first.", "wake", "3", nil, false, "statefulset/vcluster-etcd 3\nrollout statefulset/vcluster-etcd\nStatefulSet/vcluster 2\nrollout StatefulSet/vcluster\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			files := map[string]string{"kubectl": fakeKubectl}
			for name, labels := range tc.pods {
				files["pods/"+name] = labels
			}
			if tc.broken {
				files["broken"] = ""
			}
			if err := os.Mkdir(filepath.Join(dir, "pods"), 0o700); err != nil {
				t.Fatal(err)
			}
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil { //nolint:gosec // One of them is a program.
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			cmd := exec.CommandContext(ctx, "sh", "-c", string(script), tc.step, tc.step)
			cmd.Dir, cmd.WaitDelay = dir, time.Second
			cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "NAMESPACE=vargo-a", "CONTROL_PLANE=StatefulSet/vcluster", "REPLICAS=2", "ETCD=" + tc.etcd}
			out, err := cmd.CombinedOutput()
			if (err != nil) != tc.broken || ctx.Err() != nil {
				t.Errorf("\n%s\nit ends with %v: %s", tc.reason, err, out)
			}
			did, err := os.ReadFile(filepath.Join(dir, "did"))
			if err != nil {
				t.Fatal(err)
			}
			if string(did) != tc.did {
				t.Errorf("\n%s\nwant\n%s\ngot\n%s", tc.reason, tc.did, strings.TrimSpace(string(did)))
			}
		})
	}
}
