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
)

// fakeHost answers as kubectl on an empty host, on which claims are restored half a second after they were created: but for that of the name
// never, which has no backup, and for made, which exists without one. It notes what is applied and created, and how many claims are being restored.
const fakeHost = `#!/bin/sh
name() { sed -n 's/^ *"name": "\(.*\)",*$/\1/p' "$1" | head -n 1; }
case "$*" in
"create --dry-run=client --recursive -f "*) cat "$5"/*.json ;;
"create --dry-run=client -f "*) echo "team-a $(name "$4") virtualargocd.io/v1alpha1" ;;
"apply --server-side -f "*)
  for file in "$4"/*; do
    case $(name "$file") in sealed) unknown=1 ;; *) echo "apply $(name "$file")" >>"$DIR/did" ;; esac
  done
  [ -z "${unknown-}" ] || { echo 'no matches for kind "SealedSecret"' >&2; exit 1; }
  ;;
"patch --local -f "*) sed "s/\"spec\": {/\"spec\": {\"patched\": \"$(echo "$8" | tr -d '"{}')\", /" "$4" ;;
"create -f "*)
  name=$(name "$3")
  echo "create $name $(sed -n 's/.*"patched": "\([^"]*\)".*/\1/p' "$3")" >>"$DIR/did"
  touch "$DIR/is-$name"
  ls "$DIR" | grep -c '^is-' >>"$DIR/atOnce"
  ;;
"patch virtualargocds.virtualargocd.io "*) echo "activate $3" >>"$DIR/did" && touch "$DIR/active-$3" ;;
*jsonpath*"spec.restoreFrom"*) [ "$3" = made ] || echo '{}' ;;
*jsonpath*)
  sleep 0.5
  is=Inactive
  if grep -q "create $3 .*activate:true" "$DIR/did" || [ -e "$DIR/active-$3" ]; then is=Available; fi
  case $3 in
  never) is=RestoreFailed ;;
  slow) [ -e "$DIR/tried" ] || is=RestoreFailed; touch "$DIR/tried" ;;
  esac
  [ $is = RestoreFailed ] && printf 'Pending\nRestoreFailed\nthere is none\n' || printf "Ready\n$is\nit is restored\n"
  rm -f "$DIR/is-$3"
  ;;
"get virtualargocds.virtualargocd.io made "* | "get virtualargocds.virtualargocd.io earlier "*) ;;
"get virtualargocds.virtualargocd.io "*) exit 1 ;;
esac
`

// TestRestoreScript: the claims of a lost host are created in the order of their priority, so many at a time, each with its latest backup, and
// after all else; and it fails if one isn't restored.
func TestRestoreScript(t *testing.T) {
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
		"NoKind":   {nil, map[string]string{"a": ""}, []string{"a"}, "1", []string{"1 of 1 claims are restored", "SealedSecret", "not everything else could be applied"}, true},
		"Never":    {nil, map[string]string{"a": "", "never": ""}, nil, "2", []string{"1 of 2 claims are restored", "team-a/never  Pending: there is none"}, true},
		"Made":     {nil, map[string]string{"made": ""}, nil, "0", []string{"0 of 1 claims are restored", "team-a/made  it was made without a backup"}, true},
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
			write(filepath.Join(in, "plan.json"), "{\n    \"kind\": \"XArgoCDPlan\",\n    \"metadata\": {\n        \"name\": \"small\"\n    }\n}\n")
			write(filepath.Join(in, "team.json"), "{\n    \"kind\": \"Namespace\",\n    \"metadata\": {\n        \"name\": \"team-a\"\n    }\n}\n")
			if name == "NoKind" {
				write(filepath.Join(in, "secret.json"), "{\n    \"kind\": \"SealedSecret\",\n    \"metadata\": {\n        \"name\": \"sealed\"\n    }\n}\n")
			}
			if name == "Many" {
				for i := range 150 {
					write(filepath.Join(in, fmt.Sprintf("secret-%d.json", i)), "{\n    \"kind\": \"Secret\",\n    \"metadata\": {\n        \"name\": \"small\"\n    }\n}\n")
				}
			}
			for name, priority := range tc.claims {
				annotation := ""
				if priority != "" {
					annotation = fmt.Sprintf("        \"annotations\": {\n            \"virtualargocd.io/restore-priority\": %q\n        },\n", priority)
				}
				write(filepath.Join(in, name+".json"), fmt.Sprintf("{\n    \"kind\": \"VirtualArgoCD\",\n    \"metadata\": {\n%s        \"name\": %q\n    },\n    \"spec\": {}\n}\n", annotation, name))
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			cmd := exec.CommandContext(ctx, "sh", append(append([]string{"-c", `ulimit -n 100 && exec sh "$0" "$@"`, "../../examples/backup/restore.sh"}, tc.args...), in)...)
			cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "DIR=" + dir, "FAILURES=2"}
			out, err := cmd.CombinedOutput()
			if (err != nil) != tc.fails {
				t.Errorf("want that it fails %t, got %v: %s", tc.fails, err, out)
			}
			for _, text := range tc.says {
				if !strings.Contains(string(out), text) {
					t.Errorf("want %q, got %s", text, out)
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
				if want := fmt.Sprintf("spec:restoreFrom:backup:latest,activate:%t", name == "Activate"); m[2] != want {
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
