package install

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

const drill = "../../examples/backup/drill.sh"

// into decodes the object of a kind.
func into(t *testing.T, objects []*unstructured.Unstructured, kind string, o any) {
	t.Helper()
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind })
	if i < 0 {
		t.Fatalf("there is no %s", kind)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(objects[i].Object, o); err != nil {
		t.Fatal(err)
	}
}

// TestDrillMayDoItsWork: the CronJob's account may do with claims what the script does, and no more, and its pods may reach the API server.
func TestDrillMayDoItsWork(t *testing.T) {
	objects := examples(t, "backup/drill.yaml")
	var role rbacv1.ClusterRole
	into(t, objects, "ClusterRole", &role)
	script, err := os.ReadFile(drill)
	if err != nil {
		t.Fatal(err)
	}
	// kubectl create -f reads nothing, and delete with --wait=false doesn't either.
	does := []string{"list", "watch"}
	for _, m := range regexp.MustCompile(`kubectl (\w+)`).FindAllStringSubmatch(string(script), -1) {
		does = append(does, m[1])
	}
	slices.Sort(does)
	want := []rbacv1.PolicyRule{{APIGroups: []string{"virtualargocd.io", "m.virtualargocd.io"}, Resources: []string{"virtualargocds"}, Verbs: slices.Compact(does)}}
	for i := range role.Rules {
		slices.Sort(role.Rules[i].Verbs)
	}
	if len(role.Rules) != 1 || !slices.Equal(role.Rules[0].Verbs, want[0].Verbs) || !slices.Equal(role.Rules[0].Resources, want[0].Resources) || !slices.Equal(role.Rules[0].APIGroups, want[0].APIGroups) {
		t.Errorf("the script needs %v, and its account may do %v", want, role.Rules)
	}
	var cron batchv1.CronJob
	into(t, objects, "CronJob", &cron)
	label := cron.Spec.JobTemplate.Spec.Template.Labels["virtualargocd.io/package"]
	network, err := os.ReadFile("../../examples/install/network.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if selects := regexp.MustCompile(`operator: In, values: \[(.*)\]`).FindSubmatch(network); selects == nil || !slices.Contains(strings.Split(string(selects[1]), ", "), label) {
		t.Errorf("network.yaml selects no pods with the label %q: %s", label, selects)
	}
	pod := cron.Spec.JobTemplate.Spec.Template.Spec
	if pod.ServiceAccountName != role.Name || cron.Spec.JobTemplate.Spec.BackoffLimit == nil || *cron.Spec.JobTemplate.Spec.BackoffLimit != 0 {
		t.Errorf("it runs as %s, and a drill that fails must end the Job: %v", pod.ServiceAccountName, cron.Spec.JobTemplate.Spec.BackoffLimit)
	}
}

// fakeKubectl answers, on a platform without the namespaced kind, for one tenant with a backup of three Applications, and its copy, and notes what is created and deleted.
const fakeKubectl = `#!/bin/sh
echo "$*" >>"$DIR/did"
case "$*" in
*virtualargocds.m.virtualargocd.io*) exit 1 ;;
*--all-namespaces*) echo "team-a/shop "; echo 'team-a/unpaid {"reason":"unpaid"}'; echo "team-a/drill-1 " ;;
create*) cat >>"$DIR/created" ;;
*"virtualargocds.virtualargocd.io shop"*.status.backup.name*) echo 2026-11-28T020000Z ;;
*"virtualargocds.virtualargocd.io shop"*.status.backup.applications*) echo 3 ;;
*"virtualargocds.virtualargocd.io shop"*.status.plan*) echo small ;;
*"virtualargocds.virtualargocd.io shop"*.status.backup.digest*) echo "$DIGEST" ;;
*"virtualargocds.virtualargocd.io drill-"*'"SpecAccepted")].status'*) echo "$ACCEPTED" ;;
*"virtualargocds.virtualargocd.io drill-"*'"SpecAccepted")].message'*) echo "the platform has suspended claim shop" ;;
*"virtualargocds.virtualargocd.io drill-"*.status.restore.digest*) echo abc ;;
*"virtualargocds.virtualargocd.io drill-"*'"Restored")].reason'*) echo "$REASON" ;;
*"virtualargocds.virtualargocd.io drill-"*.status.restore.applications*) echo "$CAME_BACK" ;;
*"virtualargocds.virtualargocd.io drill-"*) echo "why" ;;
esac
`

// TestDrill: a drill says whether the backup comes back, fails if it doesn't, and leaves nothing.
func TestDrill(t *testing.T) {
	for name, tc := range map[string]struct {
		args             []string
		reason, cameBack string
		// digest is that of the backup, and accepted the status of the copy's SpecAccepted.
		digest, accepted string
		says             string
		fails            bool
	}{
		"Good":    {[]string{"team-a/shop"}, "Inactive", "3", "abc", "True", "Backup 2026-11-28T020000Z of team-a/shop comes back: 3 Applications", false},
		"Earlier": {[]string{"team-a/shop"}, "Inactive", "3", "", "", "Backup 2026-11-28T020000Z of team-a/shop comes back: 3 Applications", false},
		// Neither one that is suspended, nor what a drill has left.
		"Any":     {nil, "Inactive", "3", "abc", "True", "of team-a/shop comes back", false},
		"Fewer":   {[]string{"team-a/shop"}, "Inactive", "2", "abc", "True", "FAILED: backup 2026-11-28T020000Z of team-a/shop had 3 Applications, and 2 came back", true},
		"None":    {[]string{"team-a/shop"}, "Inactive", "", "abc", "True", "had 3 Applications, and 0 came back", true},
		"Others":  {[]string{"team-a/shop"}, "Inactive", "3", "def", "True", "FAILED: backup 2026-11-28T020000Z of team-a/shop comes back with other Applications", true},
		"Broken":  {[]string{"team-a/shop"}, "RestoreFailed", "", "abc", "True", "FAILED: backup 2026-11-28T020000Z of team-a/shop can't be restored", true},
		"Refused": {[]string{"team-a/shop"}, "", "", "abc", "False", "NOT TRIED: a copy of team-a/shop is refused: the platform has suspended claim shop", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte(fakeKubectl), 0o700); err != nil { //nolint:gosec // It is a program.
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			cmd := exec.CommandContext(ctx, "sh", append([]string{drill}, tc.args...)...)
			cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "DIR=" + dir, "REASON=" + tc.reason, "CAME_BACK=" + tc.cameBack, "DIGEST=" + tc.digest, "ACCEPTED=" + tc.accepted}
			out, err := cmd.CombinedOutput()
			if (err != nil) != tc.fails || !strings.Contains(string(out), tc.says) {
				t.Errorf("want %q, and that it fails %t, got %v: %s", tc.says, tc.fails, err, out)
			}
			created, err := os.ReadFile(filepath.Join(dir, "created"))
			if err != nil || !strings.Contains(string(created), "restoreFrom: {tenant: shop, backup: 2026-11-28T020000Z}") || strings.Contains(string(created), "activate") {
				t.Errorf("it creates %s, %v", created, err)
			}
			did, err := os.ReadFile(filepath.Join(dir, "did"))
			if err != nil || !regexp.MustCompile(`delete virtualargocds\.virtualargocd\.io drill-\d+ --namespace team-a [^\n]*\n$`).Match(did) {
				t.Errorf("it doesn't delete the copy in the end: %s, %v", did, err)
			}
		})
	}
}
