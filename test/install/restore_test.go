package install

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	kubectlpatch "k8s.io/kubectl/pkg/cmd/patch"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)

// fakeHost answers as kubectl on an empty host, on which claims are restored half a second after they were created: but for that of the name
// never, which has no backup, and for made, which exists without one. It notes what is applied and created, and how many claims are being restored.
// What it doesn't ask the host for, kubectl's own code does.
const fakeHost = `#!/bin/sh
name() { sed -n 's/^ *"name": "\(.*\)",*$/\1/p' "$1" | head -n 1; }
case "$*" in
"create --dry-run=client --validate=false -f "*) echo "team-a $(name "$5") virtualargocd.io/v1alpha1" ;;
"apply --server-side -f "*)
  for file in "$4"/*; do
    case $(name "$file") in sealed) unknown=1 ;; *) echo "apply $(name "$file")" >>"$DIR/did" ;; esac
  done
  [ -z "${unknown-}" ] || { echo 'no matches for kind "SealedSecret"' >&2; exit 1; }
  ;;
"patch --local "*) AS_KUBECTL=true exec "$KUBECTL" "$@" ;;
"create -f "*)
  name=$(name "$3")
  echo "create $name $(tr -d ' "\n' <"$3" | sed -n 's/.*restoreFrom:{\([^}]*\)}.*/\1/p')" >>"$DIR/did"
  touch "$DIR/is-$name"
  ls "$DIR" | grep -c '^is-' >>"$DIR/atOnce"
  ;;
"patch virtualargocds.virtualargocd.io "*) echo "activate $3" >>"$DIR/did" && touch "$DIR/active-$3" ;;
*jsonpath*"spec.restoreFrom"*) [ "$3" = made ] || echo '{}' ;;
*jsonpath*)
  sleep 0.5
  is=Inactive
  if grep -q "create $3 activate:true" "$DIR/did" || [ -e "$DIR/active-$3" ]; then is=Available; fi
  case $3 in
  never) is=RestoreFailed ;;
  slow) [ -e "$DIR/tried" ] || is=RestoreFailed; touch "$DIR/tried" ;;
  esac
  [ $is = RestoreFailed ] && printf 'Pending\nRestoreFailed\nthere is none\n' || printf "Ready\n$is\nit is restored\n"
  rm -f "$DIR/is-$3"
  ;;
"get virtualargocds.virtualargocd.io made "* | "get virtualargocds.virtualargocd.io earlier "*) ;;
"get virtualargocds.virtualargocd.io "*) exit 1 ;;
*) echo "kubectl $* isn't expected" >&2; exit 1 ;;
esac
`

// TestMain has this program be kubectl for the fake one.
func TestMain(m *testing.M) {
	if os.Getenv("AS_KUBECTL") == "" {
		os.Exit(m.Run())
	}
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	root := &cobra.Command{Use: "kubectl"}
	root.AddCommand(kubectlpatch.NewCmdPatch(cmdutil.NewFactory(genericclioptions.NewConfigFlags(true)), streams))
	if err := root.Execute(); err != nil {
		os.Exit(1)
	}
}

// TestRestoreScript: the claims of a lost host are created in the order of their priority, so many at a time, each with its latest backup, and
// after all else; and it fails if one isn't restored.
func TestRestoreScript(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args   []string
		claims map[string]string
		order  []string
		most   string
		says   []string
		fails  bool
	}{
		"Order":    {[]string{"--parallel", "1"}, map[string]string{"a": "1", "b": "10", "c": "-1", "d": ""}, []string{"b", "a", "d", "c"}, "1", []string{"4 of 4 claims are restored"}, false},
		"AtOnce":   {[]string{"--parallel", "2"}, map[string]string{"a": "9", "b": "8", "c": "7", "d": "6"}, nil, "2", []string{"4 of 4 claims are restored"}, false},
		"Activate": {[]string{"--activate"}, map[string]string{"a": ""}, []string{"a"}, "1", []string{"1 of 1 claims are restored"}, false},
		"Earlier":  {[]string{"--activate"}, map[string]string{"earlier": ""}, nil, "0", []string{"1 of 1 claims are restored"}, false},
		"Slow":     {nil, map[string]string{"slow": ""}, []string{"slow"}, "1", []string{"1 of 1 claims are restored"}, false},
		// More than files may be open at a time.
		"Many":     {nil, map[string]string{"a": ""}, []string{"a"}, "1", []string{"1 of 1 claims are restored"}, false},
		"NoClaims": {nil, nil, nil, "0", []string{"0 of 0 claims are restored"}, false},
		"NoKind":   {nil, map[string]string{"a": ""}, []string{"a"}, "1", []string{"1 of 1 claims are restored", "SealedSecret", "not everything else could be read and applied"}, true},
		// A chart's values, and a file for kustomize.
		"NoManifest": {nil, map[string]string{"a": ""}, []string{"a"}, "1", []string{"1 of 1 claims are restored", "Object 'Kind' is missing", "values.yaml", "not everything else could be read and applied"}, true},
		"Never":      {nil, map[string]string{"a": "", "never": ""}, nil, "2", []string{"1 of 2 claims are restored", "team-a/never  Pending: there is none"}, true},
		"Made":       {nil, map[string]string{"made": ""}, nil, "0", []string{"0 of 1 claims are restored", "team-a/made  it was made without a backup"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, in := t.TempDir(), t.TempDir()
			write := func(file, text string) {
				if err := os.WriteFile(file, []byte(text), 0o700); err != nil { //nolint:gosec // One of them is a program.
					t.Fatal(err)
				}
			}
			write(filepath.Join(dir, "kubectl"), fakeHost)
			write(filepath.Join(in, "plan.json"), "{\n    \"apiVersion\": \"virtualargocd.io/v1alpha1\", \"kind\": \"XArgoCDPlan\",\n    \"metadata\": {\n        \"name\": \"small\"\n    }\n}\n")
			write(filepath.Join(in, "team.json"), "{\n    \"apiVersion\": \"v1\", \"kind\": \"Namespace\",\n    \"metadata\": {\n        \"name\": \"team-a\"\n    }\n}\n")
			switch name {
			case "NoKind":
				// What comes after it in a file counts, too.
				write(filepath.Join(in, "sealed.yaml"), "apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {name: sealed}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: after}\n")
			case "NoManifest":
				write(filepath.Join(in, "values.yaml"), "image: {tag: v1}\n")
				write(filepath.Join(in, "kustomization.yaml"), "resources: [a.json]\n")
			}
			if name == "Many" {
				for i := range 150 {
					write(filepath.Join(in, fmt.Sprintf("secret-%d.json", i)), "{\n    \"apiVersion\": \"v1\", \"kind\": \"Secret\",\n    \"metadata\": {\n        \"name\": \"small\"\n    }\n}\n")
				}
			}
			for name, priority := range tc.claims {
				annotation := ""
				if priority != "" {
					annotation = fmt.Sprintf("        \"annotations\": {\n            \"virtualargocd.io/restore-priority\": %q\n        },\n", priority)
				}
				write(filepath.Join(in, name+".json"), fmt.Sprintf("{\n    \"apiVersion\": \"virtualargocd.io/v1alpha1\", \"kind\": \"VirtualArgoCD\",\n    \"metadata\": {\n%s        \"name\": %q\n    },\n    \"spec\": {}\n}\n", annotation, name))
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			cmd := exec.CommandContext(ctx, "sh", append(append([]string{"-c", `ulimit -n 100 && exec sh "$0" "$@"`, "../../examples/backup/restore.sh"}, tc.args...), in)...)
			cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "DIR=" + dir, "FAILURES=2", "KUBECTL=" + self, "HOME=" + dir}
			out, err := cmd.CombinedOutput()
			if (err != nil) != tc.fails {
				t.Errorf("want that it fails %t, got %v: %s", tc.fails, err, out)
			}
			for _, text := range tc.says {
				if !strings.Contains(string(out), text) {
					t.Errorf("want %q, got %s", text, out)
				}
			}
			if name == "NoKind" {
				if did, _ := os.ReadFile(filepath.Join(dir, "did")); !strings.Contains(string(did), "apply after\n") {
					t.Errorf("what comes after an unknown kind in its file is applied: %s", did)
				}
			}
			did, err := os.ReadFile(filepath.Join(dir, "did"))
			if err != nil || !strings.HasPrefix(string(did), "apply team-a\napply small\n") {
				t.Errorf("namespaces and plans come first: %s, %v", did, err)
			}
			if activated := strings.Contains(string(did), "activate earlier\n"); activated != (name == "Earlier") {
				t.Errorf("a tenant of an earlier run is activated: %t", activated)
			}
			var order []string
			for _, m := range regexp.MustCompile(`(?m)^create (\S+) (.*)$`).FindAllStringSubmatch(string(did), -1) {
				order = append(order, m[1])
				if want := fmt.Sprintf("activate:%t,backup:latest", name == "Activate"); m[2] != want {
					t.Errorf("claim %s is created with %s, want %s", m[1], m[2], want)
				}
			}
			if tc.order != nil && !slices.Equal(order, tc.order) {
				t.Errorf("want the order %v, got %v", tc.order, order)
			}
			atOnce, _ := os.ReadFile(filepath.Join(dir, "atOnce"))
			if is := strings.Fields(string(atOnce)); len(is) > 0 && slices.Max(is) > tc.most {
				t.Errorf("at a time: want %s at most, got %v", tc.most, is)
			}
		})
	}
}
