package backup_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// fakeKubectl answers as a control plane whose snapshot has no end, and notes what is patched in the file did.
const fakeKubectl = `#!/bin/sh
case $1 in
get) echo pod/vcluster-0 ;;
exec) [ ! -e hangs ] || exec sleep 20; head -c 1000000 /dev/zero && echo 'sh: write error: No space left on device' >&2 && exit 1 ;;
patch) echo "$*" >>did ;;
esac
`

// runStep runs a step of a script in a directory that stands for the pod's volumes.
func runStep(t *testing.T, dir, script, step string, env ...string) {
	t.Helper()
	text := ""
	for _, file := range []string{"common.sh", script} {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text += string(raw)
	}
	limit := "20"
	for _, hanging := range []string{"hangs", "slow-cat", "slow-rcat"} {
		if _, err := os.Stat(filepath.Join(dir, hanging)); err == nil {
			limit = "3"
		}
	}
	text = regexp.MustCompile(`within \d+ `).ReplaceAllString(text, "within "+limit+" ")
	text = strings.NewReplacer("cd /work", "cd "+dir, "/work/", dir+"/", "/tmp/", dir+"/tmp/", "/tenant/*", dir+"/mounted/*").Replace(text)
	// Each step has one of its own.
	if err := cmp.Or(os.RemoveAll(filepath.Join(dir, "tmp")), os.Mkdir(filepath.Join(dir, "tmp"), 0o700)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	shell, path := []string{"sh"}, dir+":"+os.Getenv("PATH")
	switch step {
	case "fetch", "store", "check", "deliver":
		// As BusyBox's shell, it knows pipefail, which not every sh does.
		shell = []string{"bash"}
	}
	if _, err := os.Stat(filepath.Join(dir, "busybox")); err == nil && step != "export" && step != "import" {
		shell, path = []string{"busybox", "sh"}, dir+":"+filepath.Join(dir, "busybox")
	}
	cmd := exec.CommandContext(ctx, shell[0], append(shell[1:], "-c", text, step, step)...) //nolint:gosec // The shell is one of ours.
	cmd.Env = append([]string{"PATH=" + path, "NAMESPACE=vargo-a", "RECORD=a-backup", "MAX_SIZE=1Mi", "ACTIVE=false", "POD=1b4e28ba-2fa1-41d2-883f-0016d3cca427"}, env...)
	// A step that ends badly keeps the next ones from beginning, also the one that reports.
	if out, err := cmd.CombinedOutput(); err != nil && step != "report" {
		t.Errorf("%s of %s: %v: %s", step, script, err, out)
	}
}

// withBusyBox has steps in a directory run with BusyBox's programs, as in the images of Alpine.
func withBusyBox(t *testing.T, dir string) {
	t.Helper()
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Skip("NOT TRIED: BUSYBOX ISN'T HERE")
	}
	at := filepath.Join(dir, "busybox")
	if err := os.Mkdir(at, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), busybox, "--install", "-s", at).CombinedOutput(); err != nil { //nolint:gosec // It is the machine's.
		t.Fatalf("%v: %s", err, out)
	}
}

func inDir(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o700); err != nil { //nolint:gosec // One of them is a program.
			t.Fatal(err)
		}
	}
	return dir
}

// TestWithoutEnd: of a backup that is too large, the reason is reported, and nothing of it is left in memory, or there would be no room for that.
func TestWithoutEnd(t *testing.T) {
	dir := inDir(t, map[string]string{"kubectl": fakeKubectl})
	runStep(t, dir, "backup.sh", "snapshot")
	left, err := filepath.Glob(filepath.Join(dir, "*.gz"))
	if err != nil || len(left) > 0 {
		t.Errorf("in memory there is still %v, %v", left, err)
	}
	for _, step := range []string{"export", "store", "report"} {
		runStep(t, dir, "backup.sh", step, "OWN=argocd")
	}
	did, err := os.ReadFile(filepath.Join(dir, "did"))
	if err != nil || !strings.Contains(string(did), "taking vcluster's snapshot: the backup is larger than 1Mi, which is input.backup.maxSize") {
		t.Errorf("it reports %s, %v", did, err)
	}
}

// TestTakesTooLong: what hangs is ended, and told of, by each kind of program that ends others.
func TestTakesTooLong(t *testing.T) {
	for name, timeout := range map[string]string{"GNU": "#!/bin/sh\nexec /usr/bin/timeout \"$@\"\n", "BusyBox": "#!/bin/sh\nexec busybox timeout \"$@\"\n"} {
		if _, err := exec.LookPath("busybox"); err != nil && name == "BusyBox" {
			t.Log("NOT TRIED: BUSYBOX ISN'T HERE")
			continue
		}
		dir := inDir(t, map[string]string{"kubectl": fakeKubectl, "timeout": timeout, "hangs": ""})
		began := time.Now()
		runStep(t, dir, "backup.sh", "snapshot")
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("%s: it takes %s", name, took)
		}
		if why, err := os.ReadFile(filepath.Join(dir, "failed")); err != nil || !strings.Contains(string(why), "taking vcluster's snapshot: it took longer than 3 seconds") {
			t.Errorf("%s: it says %s, %v", name, why, err)
		}
	}
}

// TestReportsSomething: a step that could not even say why it has failed isn't taken for one without a report.
func TestReportsSomething(t *testing.T) {
	for _, script := range []string{"backup.sh", "restore.sh"} {
		for name, files := range map[string]map[string]string{"NoRoom": {"failed": ""}, "Killed": {}} {
			files["kubectl"] = fakeKubectl
			dir := inDir(t, files)
			runStep(t, dir, script, "report")
			if did, err := os.ReadFile(filepath.Join(dir, "did")); err != nil || !strings.Contains(string(did), `"message":"a step ended early"`) {
				t.Errorf("%s, %s: it reports %s, %v", script, name, did, err)
			}
		}
	}
}

// TestWhatASnapshotLeavesOut: Argo CD itself and components beside it, which are installed anew, and what Services get addresses from, which another
// host has others of. What else a customer runs in the same namespace is in it, but for pods.
func TestWhatASnapshotLeavesOut(t *testing.T) {
	kept := []string{
		"/registry/argoproj.io/applications/argocd/shop", "/registry/configmaps/argocd/argocd-cm", "/registry/deployments/default/web", "/registry/secrets/argocd/git",
		"/registry/secrets/team/sh.helm.release.v1.web.v1", "/registry/services/specs/argocd/argocd-server",
		"/registry/deployments/argocd/web", "/registry/replicasets/argocd/web-5d8", "/registry/jobs/argocd/myargocd-x", "/registry/statefulsets/argocd/argocdx",
		"/registry/secrets/argocd/sh.helm.release.v1.web.v12", "/registry/pods/team/argocd-server-1", "/registry/deployments/team/argocd-server",
	}
	keys := append(slices.Clone(kept), "/registry/deployments/argocd/argocd-server", "/registry/secrets/argocd/sh.helm.release.v1.argocd.v1",
		"/registry/replicasets/argocd/argocd-server-5d8", "/registry/statefulsets/argocd/argocd-application-controller", "/registry/jobs/argocd/argocd-redis-secret-init",
		"/registry/controllerrevisions/argocd/argocd-application-controller-7", "/registry/pods/argocd/argocd-server-5d8-x", "/registry/pods/argocd/web-5d8-x",
		"/registry/deployments/argocd/image-updater-argocd-image-updater", "/registry/secrets/argocd/sh.helm.release.v1.image-updater.v10",
		"/registry/servicecidrs/kubernetes", "/registry/ipaddresses/10.96.0.10", "/registry/ranges/serviceips")
	all := &bytes.Buffer{}
	zipped := gzip.NewWriter(all)
	w := tar.NewWriter(zipped)
	for _, key := range keys {
		if err := w.WriteHeader(&tar.Header{Name: key, Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmp.Or(w.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	dir := inDir(t, map[string]string{"all.tar.gz": all.String(), "argocd": "#!/bin/sh\n", "argocd.yaml": "kind: Secret\n"})
	runStep(t, dir, "backup.sh", "export", "OWN=argocd|image-updater")
	if n, err := os.ReadFile(filepath.Join(dir, "objects")); err != nil || strings.TrimSpace(string(n)) != strconv.Itoa(len(kept)) {
		t.Errorf("want %d objects counted, got %s, %v", len(kept), n, err)
	}
	out, err := exec.CommandContext(t.Context(), "tar", "-t", "-P", "-f", filepath.Join(dir, "snapshot.tar.gz")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if diff := gocmp.Diff(kept, strings.Fields(string(out))); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// exported is what argocd admin export writes.
const exported = `apiVersion: v1
data:
  url: https://original.example.org
kind: ConfigMap
metadata:
  name: argocd-cm
---
apiVersion: v1
data:
  admin.password: eA==
kind: Secret
metadata:
  labels:
    app.kubernetes.io/part-of: argocd
  name: argocd-secret
---
apiVersion: v1
data:
  server: aHR0cHM6Ly8yMDMuMC4xMTMuNw==
kind: Secret
metadata:
  labels:
    argocd.argoproj.io/secret-type: cluster
  name: production
---
apiVersion: v1
data:
  url: aHR0cHM6Ly9naXQuZXhhbXBsZS5vcmc=
kind: Secret
metadata:
  labels:
    argocd.argoproj.io/secret-type: repository
  name: git
---
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata:
  name: team
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  annotations:
    note: |
      namespace: nowhere
  name: cart
  namespace: team-b
spec:
  project: default
---
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata:
  name: all
  namespace: "123"
spec: {}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: shop
spec:
  source:
    helm:
      values: |
        ---
        kind: Secret
        metadata:
          labels:
            argocd.argoproj.io/secret-type: cluster
  destination:
    name: production
---
`

// fakeRclone has one backup, in the directory it runs in.
const fakeRclone = `#!/bin/sh
case $1 in
lsf) echo 2026-11-28T020000Z.tar ;;
cat) tar -c -f - -C stored owner argocd.yaml snapshot.tar.gz ;;
esac
`

// TestWhatACopyGets: a copy has settings of its own, no cluster before it is activated, and nothing but clusters then: what it has may have been
// changed meanwhile.
func TestWhatACopyGets(t *testing.T) {
	for name, tc := range map[string]struct {
		mode, active string
		want         []string
		// namespaces are those that are made.
		namespaces string
	}{
		"Inactive":       {"Objects", "false", []string{"git", "team", "cart", "all", "shop"}, "123 team-b"},
		"ActiveAtOnce":   {"Objects", "true", []string{"production", "git", "team", "cart", "all", "shop"}, "123 team-b"},
		"ActivatedLater": {"Clusters", "true", []string{"production"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := inDir(t, map[string]string{"rclone": fakeRclone, "kubectl": applyKubectl})
			if err := os.Mkdir(filepath.Join(dir, "stored"), 0o700); err != nil {
				t.Fatal(err)
			}
			for file, content := range map[string]string{"owner": "team-a/other\n", "argocd.yaml": exported} {
				if err := os.WriteFile(filepath.Join(dir, "stored", file), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if out, err := exec.CommandContext(t.Context(), "tar", "-c", "-z", "-f", filepath.Join(dir, "stored", "snapshot.tar.gz"), "-C", dir, "rclone").CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for _, step := range []string{"fetch", "check"} {
				runStep(t, dir, "restore.sh", step, "FOLDER=backup:team-a/other", "OWNER=team-a/other", "BACKUP=latest", "MODE="+tc.mode, "ACTIVE="+tc.active)
			}
			imported, err := os.ReadFile(filepath.Join(dir, "import.yaml"))
			if err != nil {
				failed, _ := os.ReadFile(filepath.Join(dir, "failed"))
				t.Fatalf("%v: %s", err, failed)
			}
			var got []string
			for _, m := range regexp.MustCompile(`(?m)^  name: (.*)$`).FindAllStringSubmatch(string(imported), -1) {
				got = append(got, m[1])
			}
			if diff := gocmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
			if n := read(t, dir, "want"); n != strconv.Itoa(len(tc.want))+"\n" {
				t.Errorf("%d objects are to come back, it says %q", len(tc.want), n)
			}
			runStep(t, dir, "restore.sh", "namespaces")
			if made := strings.Fields(read(t, dir, "made")); strings.Join(made, " ") != tc.namespaces {
				t.Errorf("want the namespaces %s, it makes %v: %s", tc.namespaces, made, read(t, dir, "failed"))
			}
		})
	}
}

// TestLongTexts: an object with very many lines is read within about the time of their number, of a backup and of a restore.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("      x\n", 40_000)
	long = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  annotations:\n    note: |\n" + long + "  name: cart\nspec:\n  note: |\n" + long + "---\n"
	for _, programs := range []string{"Here", "BusyBox"} {
		t.Run(programs, func(t *testing.T) {
			dir := inDir(t, map[string]string{"rclone": fakeRclone, "argocd": "#!/bin/sh\ncase $* in *export*) cp stored/argocd.yaml back.yaml ;; *) printf '/Secret git unchanged\\nargoproj.io/Application cart unchanged\\n' ;; esac\n"})
			if programs == "BusyBox" {
				withBusyBox(t, dir)
			}
			repository := exported[strings.Index(exported, "apiVersion: v1\ndata:\n  url: aHR0"):strings.Index(exported, "apiVersion: argoproj.io/v1alpha1\nkind: AppProject")]
			for name, content := range map[string]string{"owner": "team-a/shop\n", "argocd.yaml": repository + long, "snapshot.tar.gz": zipped(t, "/registry/a")} {
				write(t, dir, "stored/"+name, content)
			}
			runRestore(t, dir, "Objects", "fetch", "check")
			if is := read(t, dir, "import.yaml"); is != repository+long {
				t.Fatalf("of %d bytes, %d come back: %s", len(repository+long), len(is), read(t, dir, "failed"))
			}
			runRestore(t, dir, "Objects", "import")
			if digest := read(t, dir, "digest"); len(digest) != 65 || read(t, dir, "failed") != "" {
				t.Errorf("the digest is %q: %s", digest, read(t, dir, "failed"))
			}
		})
	}
}

// TestNothingIsReadForever: what tenants have written is read by no program without an end.
func TestNothingIsReadForever(t *testing.T) {
	endless := regexp.MustCompile(`(?m)(^|[|({;&] *|\$\()\s*(awk|gunzip|gzip|tar (-[xt]|--delete)|argocd|kubectl exec)\b.*`)
	for _, script := range []string{"common.sh", "backup.sh", "restore.sh"} {
		raw, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range endless.FindAllString(string(raw), -1) {
			t.Errorf("%s: without within: %s", script, found)
		}
	}
}

// applyKubectl notes which namespaces it makes.
const applyKubectl = `#!/bin/sh
case "$*" in
"apply --server-side "*) for last; do :; done; sed -n 's/^{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"\([^"]*\)"}}$/\1/p' "$last" >made ;;
esac
`

// TestNamespacesOfApplications: what can't be the name of a namespace isn't made one, nor are very many, and nothing is read through a link.
func TestNamespacesOfApplications(t *testing.T) {
	many := ""
	for i := range 1001 {
		many += "team-" + strconv.Itoa(i) + "\n"
	}
	for name, tc := range map[string]struct{ namespaces, made, fails string }{
		"Twice":    {"team-b\nteam-a\nteam-b\n", "team-a\nteam-b\n", ""},
		"None":     {"", "", ""},
		"Nonsense": {"-a\nA\na\"},{\"kind\":\"Secret\nteam-a\n" + strings.Repeat("x", 64) + "\n", "team-a\n", ""},
		"TooMany":  {many, "", "they are in more than 1000"},
	} {
		dir := inDir(t, map[string]string{"kubectl": applyKubectl, "namespaces": tc.namespaces})
		runStep(t, dir, "restore.sh", "namespaces")
		if made, failed := read(t, dir, "made"), read(t, dir, "failed"); made != tc.made || !strings.Contains(failed, tc.fails) || (failed == "") != (tc.fails == "") {
			t.Errorf("%s: it makes %q: %s", name, made, failed)
		}
	}
	dir := inDir(t, map[string]string{"kubectl": applyKubectl, "elsewhere": "team-a\n"})
	if err := os.Symlink("elsewhere", filepath.Join(dir, "namespaces")); err != nil {
		t.Fatal(err)
	}
	runStep(t, dir, "restore.sh", "namespaces")
	if made, failed := read(t, dir, "made"), read(t, dir, "failed"); made != "" || failed == "" {
		t.Errorf("through a link, it makes %q: %s", made, failed)
	}
}

// TestNotAllComesBack: of an import that has left something out, of which argocd only warns, the reason is reported.
func TestNotAllComesBack(t *testing.T) {
	dir := inDir(t, map[string]string{
		"kubectl": fakeKubectl, "import.yaml": "", "want": "5\n", "name": "2026-11-28T020000Z",
		"argocd": fakeArgoCD + `echo '{"level":"warning","msg":"argoproj.io/Application cart: namespaces \"team-b\" not found","time":"2026-11-28T02:00:00Z"}'` + "\n",
	})
	runStep(t, dir, "restore.sh", "import")
	runStep(t, dir, "restore.sh", "report", "MODE=Objects")
	if did := read(t, dir, "did"); !strings.Contains(did, "importing Argo CD's objects: 4 of 5 came back") || !strings.Contains(did, "namespaces / team-b/  not found") {
		t.Errorf("it reports %s", did)
	}
}

// TestDigest: what a copy has is compared by names and specs, whatever changes by itself, and nothing follows from credentials.
func TestDigest(t *testing.T) {
	of := func(export string) string {
		t.Helper()
		dir := inDir(t, map[string]string{"all.tar.gz": zipped(t, "/registry/configmaps/default/a"), "argocd": "#!/bin/sh\ncp exported argocd.yaml\n", "exported": export})
		runStep(t, dir, "backup.sh", "export", "OWN=argocd")
		digest := read(t, dir, "digest")
		if !regexp.MustCompile(`^[0-9a-f]{64}\n$`).MatchString(digest) {
			t.Fatalf("the digest is %q: %s", digest, read(t, dir, "failed"))
		}
		return digest
	}
	// One document is moved to the end.
	docs := strings.SplitAfter(exported, "---\n")
	moved := strings.Join(append(slices.Clone(docs[4:]), docs[:4]...), "")
	is := of(exported)
	for name, tc := range map[string]struct {
		export string
		same   bool
	}{
		"Order":       {moved, true},
		"Status":      {strings.Replace(exported, "kind: AppProject\n", "kind: AppProject\nstatus:\n  name: x\n", 1), true},
		"Settings":    {strings.Replace(exported, "https://original.example.org", "https://copy.example.org", 1), true},
		"Credentials": {strings.Replace(exported, "data:\n  url: aHR0cHM6Ly9naXQ", "data:\n  password: YQ==\n  url: aHR0cHM6Ly9naXQ", 1), false},
		"Repository":  {strings.Replace(exported, "aHR0cHM6Ly9naXQuZXhhbXBsZS5vcmc=", "aHR0cHM6Ly9naXQ=", 1), false},
		"Cluster":     {strings.Replace(exported, "name: production\n---", "name: staging\n---", 1), true},
		"Project":     {strings.Replace(exported, "name: team\n", "name: other\n", 1), false},
		"Namespace":   {strings.Replace(exported, "namespace: team-b\n", "namespace: team-c\n", 1), false},
		"Spec":        {strings.Replace(exported, "    name: production\n---", "    name: staging\n---", 1), false},
	} {
		if name != "Order" && tc.export == exported {
			t.Fatalf("%s changes nothing", name)
		}
		if same := of(tc.export) == is; same != tc.same {
			t.Errorf("%s: want the same digest %t, got %t", name, tc.same, same)
		}
	}
	password := func(is string) string {
		return strings.Replace(exported, "data:\n  url: aHR0cHM6Ly9naXQ", "data:\n  password: "+is+"\n  url: aHR0cHM6Ly9naXQ", 1)
	}
	if of(password("YQ==")) != of(password("Yg==")) {
		t.Error("the digest follows from a password")
	}
}

// fakeArgoCD imports what an attempt before has imported in part. It tells of the rest only if it is asked to.
const fakeArgoCD = `#!/bin/sh
# Without them, it says nothing of what is in other namespaces.
case $* in *"--application-namespaces * --applicationset-namespaces *"*) ;; *) exit 0 ;; esac
case $* in *export*) printf 'kind: AppProject\nmetadata:\n  name: default\n' >back.yaml; exit 0 ;; esac
echo "import process started argocd"
case $* in *--verbose*) echo "argoproj.io/Application shop unchanged" && echo "/Secret git unchanged" ;; esac
echo "argoproj.io/Application cart in namespace argocd created"
echo "argoproj.io/AppProject default in namespace argocd updated"
echo "argoproj.io/Application other needs pruning"
echo "Import process completed successfully in namespace argocd at 2026-11-28T02:00:00Z, duration: 1s"
`

// TestCounts: what is reported of an import is what came back, also by several attempts, and stays when clusters come later.
func TestCounts(t *testing.T) {
	for mode, want := range map[string]string{"Objects": `"objects":"4","applications":"2","digest":"[0-9a-f]{64}",`, "Clusters": ""} {
		dir := inDir(t, map[string]string{"argocd": fakeArgoCD, "kubectl": fakeKubectl, "import.yaml": "", "want": "4\n", "name": "2026-11-28T020000Z"})
		runStep(t, dir, "restore.sh", "import", "MODE="+mode, "ACTIVE=true")
		runStep(t, dir, "restore.sh", "report", "MODE="+mode, "ACTIVE=true")
		did, err := os.ReadFile(filepath.Join(dir, "did"))
		if err != nil || !regexp.MustCompile(`"restoredAt":"[^"]*","since":"",`+want+`"active":"true"`).Match(did) {
			t.Errorf("%s: it reports %s, %v", mode, did, err)
		}
	}
}

// TestCountsNone: an Argo CD without Applications is backed up, and comes back, as others are.
func TestCountsNone(t *testing.T) {
	dir := inDir(t, map[string]string{"argocd": "#!/bin/sh\n[ $2 = import ] || : >back.yaml\n", "kubectl": fakeKubectl, "import.yaml": "", "want": "0\n", "name": "2026-11-28T020000Z"})
	runStep(t, dir, "restore.sh", "import", "MODE=Clusters", "ACTIVE=true")
	runStep(t, dir, "restore.sh", "report", "MODE=Objects", "ACTIVE=true")
	if did, err := os.ReadFile(filepath.Join(dir, "did")); err != nil || !strings.Contains(string(did), `"objects":"0","applications":"0"`) {
		t.Errorf("it reports %s, %v", did, err)
	}
}

// TestNoConfiguration: where the platform's Secret isn't there, the first attempt says so, of a backup and of a restore.
func TestNoConfiguration(t *testing.T) {
	const without = "#!/bin/sh\n" + `echo '2026/11/28 02:00:00 NOTICE: Config file "/store/rclone.conf" not found - using defaults' >&2; [ "$1" = listremotes ]` + "\n"
	for script, step := range map[string]string{"backup.sh": "store", "restore.sh": "fetch"} {
		dir := inDir(t, map[string]string{"rclone": without, "kubectl": fakeKubectl, "name": "2026-11-28T020000Z"})
		runStep(t, dir, script, step, "FOLDER=backup:team-a/shop", "OWNER=team-a/shop", "BACKUP=latest", "MODE=Objects", "KEEP=14")
		runStep(t, dir, script, "report", "MODE=Objects")
		if did, err := os.ReadFile(filepath.Join(dir, "did")); err != nil || !strings.Contains(string(did), "Config file  /store/rclone.conf  not found") {
			t.Errorf("%s: it reports %s, %v", script, did, err)
		}
	}
	for _, spec := range []string{`{"backup":{"enabled":true}}`, `{"restoreFrom":{}}`} {
		e := crossplanetest.New(t, spec, withStore).Install()
		optional := 0
		for _, r := range e.Request.GetObserved().GetResources() {
			text, err := protojson.Marshal(r.GetResource())
			if err != nil {
				t.Fatal(err)
			}
			optional += len(regexp.MustCompile(`"optional": *true`).FindAll(text, -1))
		}
		if optional == 0 {
			t.Errorf("%s: a pod waits for the Secret", spec)
		}
	}
}
