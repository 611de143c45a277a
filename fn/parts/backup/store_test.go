package backup_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// bucketRclone stores in the folder bucket of the directory that it is in. With a file cut there, it stores no more than the beginning, and deletes
// nothing, as one that is killed.
const bucketRclone = `#!/bin/sh
dir=$(dirname "$0") command=$1
for last; do :; done
at=$dir/bucket/${last#*:}
case $command in
listremotes) echo backup: ;;
lsf) [ -e "$at" ] || exit 3; ls "$at" ;;
rcat) [ ! -e "$dir/slow-$command" ] || exec sleep 20; mkdir -p "$(dirname "$at")" && if [ -e "$dir/cut" ]; then head -c 100 >"$at"; exit 1; else cat >"$at"; fi ;;
cat) [ ! -e "$dir/slow-$command" ] || { head -c 100 "$at"; exec sleep 20; }; cat "$at" ;;
moveto) mv "$dir/bucket/${2#*:}" "$at" ;;
deletefile) [ ! -e "$dir/cut" ] && rm "$at" ;;
size) echo '{"count":1,"bytes":'$(wc -c <"$at" | tr -d ' ')',"sizeless":0}' ;;
esac
`

// handKubectl notes what is patched, and what is handed to the control plane.
const handKubectl = `#!/bin/sh
dir=$(dirname "$0")
case "$*" in
patch*--patch-file*) for last; do :; done; cat "$last" >"$dir/patched" ;;
patch*) echo "$*" >>"$dir/did" ;;
get*) echo ;;
exec*--stdin*) for last; do :; done; sh -c "$(echo "$last" | sed "s|/data/|$dir/|g")" ;;
esac
`

// zipped is a snapshot with keys.
func zipped(t *testing.T, keys ...string) string {
	t.Helper()
	out := &bytes.Buffer{}
	z := gzip.NewWriter(out)
	w := tar.NewWriter(z)
	for _, key := range keys {
		if err := w.WriteHeader(&tar.Header{Name: key, Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmp.Or(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

const credentials = "password = of-the-platform"

// storeIn is a directory with what the steps before have left for the one that stores, a bucket and the platform's credentials.
func storeIn(t *testing.T) string {
	t.Helper()
	dir := inDir(t, map[string]string{
		"rclone": bucketRclone, "kubectl": handKubectl, "argocd.yaml": exported, "objects": "3\n", "applications": "1\n", "rclone.conf": credentials,
		"snapshot.tar.gz": zipped(t, "/registry/argoproj.io/applications/argocd/shop", "/registry/configmaps/default/a", "/registry/secrets/argocd/git"),
	})
	for _, folder := range []string{"mounted", "bucket"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir, "mounted/accepted.json", `{"kept":true}`)
	return dir
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := cmp.Or(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(content), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(raw)
}

func runStore(t *testing.T, dir string, env ...string) {
	t.Helper()
	runStep(t, dir, "backup.sh", "store", append([]string{"FOLDER=backup:team-a/shop", "OWNER=team-a/shop", "SINCE=2026-01-02T03:04:05Z", "KEEP=2"}, env...)...)
}

func runRestore(t *testing.T, dir, mode string, steps ...string) {
	t.Helper()
	for _, step := range steps {
		runStep(t, dir, "restore.sh", step, "FOLDER=backup:team-a/shop", "OWNER=team-a/shop", "BACKUP=latest", "MODE="+mode, "PLATFORM=platform", "SECRET=kept")
	}
}

// inBucket are the names in the claim's folder.
func inBucket(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "bucket/team-a/shop"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// members are the files of an archive.
func members(t *testing.T, archive string) []string {
	t.Helper()
	var out []string
	for r := tar.NewReader(strings.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			out = append(out, h.Name)
		}
	}
}

// TestStoresAndComesBack: what is stored comes back, with the programs of the images and with those of this machine.
func TestStoresAndComesBack(t *testing.T) {
	for _, programs := range []string{"Here", "BusyBox"} {
		t.Run(programs, func(t *testing.T) {
			dir := storeIn(t)
			if programs == "BusyBox" {
				withBusyBox(t, dir)
			}
			// Larger than an argument may be, and a name that isn't a key.
			large := `{"kept":"` + strings.Repeat("x", 200<<10) + `"}`
			write(t, dir, "mounted/accepted.json", large)
			write(t, dir, `mounted/","x.json`, "{}")
			runStore(t, dir)
			stored := inBucket(t, dir)
			if len(stored) != 1 || !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d{6}Z-458107066\.tar$`).MatchString(stored[0]) {
				t.Fatalf("the folder has %q: %s", stored, read(t, dir, "failed"))
			}
			archive := read(t, dir, "bucket/team-a/shop/"+stored[0])
			has := members(t, archive)
			slices.Sort(has)
			if diff := gocmp.Diff([]string{"argocd.yaml", "owner", "since", "snapshot.tar.gz", `tenant/","x.json`, "tenant/accepted.json"}, has); diff != "" {
				t.Errorf("the archive: -want, +got:\n%s", diff)
			}
			runStep(t, dir, "backup.sh", "report")
			name := strings.TrimSuffix(stored[0], ".tar")
			if did := read(t, dir, "did"); !regexp.MustCompile(`"name":"` + name + `","succeededAt":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ","size":"\d+","objects":"3","applications":"1","digest":"","failedAt":"","message":""`).MatchString(did) {
				t.Errorf("it reports %s", did)
			}

			snapshot := read(t, dir, "snapshot.tar.gz")
			for _, file := range []string{"argocd.yaml", "snapshot.tar.gz", "tenant", "owner", "since", "did", "name", "objects", "applications", "size"} {
				if err := os.RemoveAll(filepath.Join(dir, file)); err != nil {
					t.Fatal(err)
				}
			}
			runRestore(t, dir, "Snapshot", "fetch", "check", "deliver", "report")
			var patch struct{ Data map[string][]byte }
			if err := json.Unmarshal([]byte(read(t, dir, "patched")), &patch); err != nil || len(patch.Data) != 1 || string(patch.Data["accepted.json"]) != large {
				t.Errorf("of what the platform knows of the tenant, %d keys come back: %v: %s", len(patch.Data), err, read(t, dir, "failed"))
			}
			if read(t, dir, "restore.tar.gz") != snapshot {
				t.Error("the control plane gets another snapshot")
			}
			if did := read(t, dir, "did"); !strings.Contains(did, `"name":"`+name+`"`) || !strings.Contains(did, `"since":"2026-01-02T03:04:05Z","objects":"3","applications":"1"`) {
				t.Errorf("it reports %s", did)
			}
		})
	}
}

// TestCutShort: an upload that was cut short is no backup, and is deleted once no Job can be at it any more. One of another Job is left alone.
func TestCutShort(t *testing.T) {
	dir := storeIn(t)
	now := time.Now().UTC().Add(-time.Minute).Format("2006-01-02T150405Z")
	const good = "2026-11-28T020000Z-1.tar"
	write(t, dir, "bucket/team-a/shop/"+good, "good")
	write(t, dir, "cut", "")
	runStore(t, dir)
	if failed := read(t, dir, "failed"); !strings.HasPrefix(failed, "storing 2") {
		t.Errorf("it says %q", failed)
	}
	if left := inBucket(t, dir); len(left) != 2 || left[0] != good && left[1] != good {
		t.Errorf("the folder has %q", left)
	}
	if err := os.Remove(filepath.Join(dir, "failed")); err != nil {
		t.Fatal(err)
	}
	runRestore(t, dir, "Objects", "fetch")
	if name := read(t, dir, "name"); name != strings.TrimSuffix(good, ".tar")+"\n" {
		t.Errorf("the latest is %q", name)
	}
	dir = storeIn(t)
	write(t, dir, "bucket/team-a/shop/"+good, "good")
	write(t, dir, "bucket/team-a/shop/2026-01-01T020000Z-7.tar.part", "old")
	write(t, dir, "bucket/team-a/shop/"+now+"-7.tar.part", "of another")
	write(t, dir, "bucket/team-a/shop/note.tar", "not ours")
	runStore(t, dir)
	left := inBucket(t, dir)
	for name, want := range map[string]bool{good: true, "2026-01-01T020000Z-7.tar.part": false, now + "-7.tar.part": true, "note.tar": true} {
		if slices.Contains(left, name) != want {
			t.Errorf("%s is left: want %t: %q, %s", name, want, left, read(t, dir, "failed"))
		}
	}
}

// TestSlowStore: a store that is too slow to take a backup, to give it back or to give it to a restore is told of, and nothing that it has of it
// becomes a backup.
func TestSlowStore(t *testing.T) {
	const good = "2026-11-28T020000Z-1.tar"
	for slow, says := range map[string]string{"rcat": "storing 2", "cat": "reading 2"} {
		for _, programs := range []string{"Here", "BusyBox"} {
			t.Run(slow+programs, func(t *testing.T) {
				dir := storeIn(t)
				if programs == "BusyBox" {
					withBusyBox(t, dir)
				}
				write(t, dir, "bucket/team-a/shop/"+good, "good")
				write(t, dir, "slow-"+slow, "")
				runStore(t, dir)
				if failed := read(t, dir, "failed"); !strings.HasPrefix(failed, says) || !strings.Contains(failed, "it took longer than 3 seconds") {
					t.Errorf("it says %q", failed)
				}
				if is := inBucket(t, dir); !slices.Equal(is, []string{good}) {
					t.Errorf("the folder has %q", is)
				}
			})
		}
	}
	dir := storeIn(t)
	write(t, dir, "bucket/team-a/shop/"+good, strings.Repeat("good", 100))
	write(t, dir, "slow-cat", "")
	runRestore(t, dir, "Objects", "fetch")
	if failed := read(t, dir, "failed"); !strings.Contains(failed, "it took longer than 3 seconds") {
		t.Errorf("a restore says %q", failed)
	}
}

// TestNoTwoNames: two pods that store at once have a file each, and of several backups as many are kept as the claim says.
func TestNoTwoNames(t *testing.T) {
	dir := storeIn(t)
	for _, pod := range []string{"00000001", "00000002", "ffffffff"} {
		runStore(t, dir, "KEEP=3", "POD="+pod+"-2fa1-41d2-883f-0016d3cca427")
	}
	is := inBucket(t, dir)
	if len(is) != 3 {
		t.Fatalf("three backups are %q: %s", is, read(t, dir, "failed"))
	}
	runStore(t, dir, "KEEP=1")
	if is := inBucket(t, dir); len(is) != 1 {
		t.Errorf("one of four is kept: %q, %s", is, read(t, dir, "failed"))
	}
}

// TestPlantedLinks: nothing that a step has left in place of what the next ones read has them print the platform's credentials, or store them.
func TestPlantedLinks(t *testing.T) {
	if _, err := exec.LookPath("mkfifo"); err != nil {
		t.Skip("NOT TRIED: MKFIFO ISN'T HERE")
	}
	for _, file := range []string{"name", "failed", "size", "objects", "applications", "owner", "argocd.yaml", "snapshot.tar.gz", "tenant", "err", "tmp/err"} {
		for kind, plant := range map[string]func(at string) error{
			"Link":    func(at string) error { return os.Symlink(filepath.Join(filepath.Dir(at), "rclone.conf"), at) },
			"Nowhere": func(at string) error { return os.Symlink("nowhere", at) },
			"Pipe":    func(at string) error { return exec.CommandContext(t.Context(), "mkfifo", at).Run() },
		} {
			t.Run(file+kind, func(t *testing.T) {
				dir := storeIn(t)
				at := filepath.Join(dir, file)
				if err := cmp.Or(os.RemoveAll(at), os.MkdirAll(filepath.Dir(at), 0o700), plant(at)); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				runStore(t, dir)
				runStep(t, dir, "backup.sh", "report")
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("it takes %s", took)
				}
				told := read(t, dir, "did")
				for _, name := range inBucket(t, dir) {
					told += name + read(t, dir, "bucket/team-a/shop/"+name)
				}
				if !strings.Contains(told, "patch configmap") || strings.Contains(told, "of-the-platform") {
					t.Errorf("it tells %s", told)
				}
				if is := read(t, dir, "rclone.conf") + read(t, dir, "nowhere"); is != credentials {
					t.Errorf("it writes %q through a link", is)
				}
				switch file {
				case "argocd.yaml", "snapshot.tar.gz", "failed":
					if is := inBucket(t, dir); len(is) != 0 || !strings.Contains(told, `"message":"`) || strings.Contains(told, `"message":""`) {
						t.Errorf("it stores %q, and tells %s", is, told)
					}
				}
			})
		}
	}
}

// TestPlantedCounts: what a step has left in place of the counts of an import isn't written through.
func TestPlantedCounts(t *testing.T) {
	dir := inDir(t, map[string]string{"argocd": fakeArgoCD, "kubectl": fakeKubectl, "import.yaml": "", "want": "4\n", "name": "2026-11-28T020000Z-1"})
	for _, file := range []string{"objects", "applications"} {
		if err := os.Symlink("elsewhere", filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	runRestore(t, dir, "Objects", "import", "report")
	if did, elsewhere := read(t, dir, "did"), read(t, dir, "elsewhere"); elsewhere != "" || !strings.Contains(did, `"objects":"4","applications":"2"`) {
		t.Errorf("it reports %s, and elsewhere is %q", did, elsewhere)
	}
}

// TestOnlyOwnFilesAreDelivered: a link in place of what was unpacked is handed to nobody.
func TestOnlyOwnFilesAreDelivered(t *testing.T) {
	for name, plant := range map[string]func(dir string) error{
		"OfTheTenant": func(dir string) error { return os.Symlink("../rclone.conf", filepath.Join(dir, "tenant/token.json")) },
		"Folder": func(dir string) error {
			return cmp.Or(os.RemoveAll(filepath.Join(dir, "tenant")), os.Symlink("mounted", filepath.Join(dir, "tenant")))
		},
		"Backup": func(dir string) error {
			return cmp.Or(os.RemoveAll(filepath.Join(dir, "backup.tar")), os.Symlink("rclone.conf", filepath.Join(dir, "backup.tar")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := storeIn(t)
			runStore(t, dir)
			runRestore(t, dir, "Snapshot", "fetch", "check")
			write(t, dir, "mounted/token.json", credentials)
			if err := plant(dir); err != nil {
				t.Fatal(err)
			}
			runRestore(t, dir, "Snapshot", "deliver", "report")
			if patched := read(t, dir, "patched"); strings.Contains(patched, "token.json") || strings.Contains(read(t, dir, "restore.tar.gz"), "of-the-platform") {
				t.Errorf("what is delivered is %s, %s", patched, read(t, dir, "restore.tar.gz"))
			}
		})
	}
}

// TestCannotComeBack: what is said of a backup that isn't there, of one that is damaged, and of a store that has nothing to read.
func TestCannotComeBack(t *testing.T) {
	const file = "bucket/team-a/shop/2026-11-28T020000Z-1.tar"
	whole := func(t *testing.T) string {
		t.Helper()
		dir := storeIn(t)
		runStore(t, dir)
		return read(t, dir, "bucket/team-a/shop/"+inBucket(t, dir)[0])
	}
	for name, tc := range map[string]struct {
		prepare func(t *testing.T, dir string)
		says    string
		not     string
	}{
		"NothingAtAll": {func(*testing.T, string) {}, "looking for a backup: there is none in backup:team-a/shop, nor anything else in backup:: is this the store", ""},
		"OnlyOthers":   {func(t *testing.T, dir string) { write(t, dir, "bucket/team-b/x.tar", "x") }, "looking for a backup: there is none in backup:team-a/shop", "nor anything else"},
		"OnlyAPart":    {func(t *testing.T, dir string) { write(t, dir, file+".part", "x") }, "looking for a backup: there is none in backup:team-a/shop", "nor anything else"},
		"StoreFails": {func(t *testing.T, dir string) {
			script := strings.Replace(bucketRclone, "lsf) ", `lsf) [ "${last#*:}" = "" ] || { echo "AccessDenied: no" >&2; exit 1; }; `, 1)
			if err := os.WriteFile(filepath.Join(dir, "rclone"), []byte(script), 0o700); err != nil { //nolint:gosec // It is a program.
				t.Fatal(err)
			}
		}, "looking for a backup: AccessDenied: no", "none in"},
		"OfAnother": {func(t *testing.T, dir string) {
			write(t, dir, file, strings.Replace(whole(t), "team-a/shop\n", "team-b/shop\n", 1))
		}, "reading 2026-11-28T020000Z-1: it isn't a backup of team-a/shop, but of team-b/shop", ""},
		"Empty":    {func(t *testing.T, dir string) { write(t, dir, file, "") }, "reading 2026-11-28T020000Z-1: it is damaged", ""},
		"Nonsense": {func(t *testing.T, dir string) { write(t, dir, file, "damaged") }, "reading 2026-11-28T020000Z-1: it is damaged", ""},
		"HalfOfIt": {func(t *testing.T, dir string) {
			all := whole(t)
			write(t, dir, file, all[:strings.Index(all, "argocd.yaml")+700])
		}, "reading 2026-11-28T020000Z-1: it is damaged", ""},
		"NoEnd": {func(t *testing.T, dir string) {
			all := whole(t)
			write(t, dir, file, all[:strings.Index(all, "tenant/accepted.json")+1024])
		}, "reading 2026-11-28T020000Z-1: it is damaged: its end isn't there", ""},
		"AlmostAll": {func(t *testing.T, dir string) {
			all := whole(t)
			write(t, dir, file, all[:strings.Index(all, "snapshot.tar.gz")+600])
		}, "reading 2026-11-28T020000Z-1: it is damaged", ""},
	} {
		for _, programs := range []string{"Here", "BusyBox"} {
			t.Run(name+programs, func(t *testing.T) {
				dir := storeIn(t)
				if programs == "BusyBox" {
					withBusyBox(t, dir)
				}
				tc.prepare(t, dir)
				runRestore(t, dir, "Snapshot", "fetch", "check", "deliver", "report")
				did := read(t, dir, "did")
				if !strings.Contains(did, `"message":"`+tc.says) || tc.not != "" && strings.Contains(did, tc.not) {
					t.Errorf("want %q, it reports %s", tc.says, did)
				}
				if read(t, dir, "patched")+read(t, dir, "restore.tar.gz") != "" {
					t.Error("something of it is delivered")
				}
			})
		}
	}
}

// TestProcessorsAreBounded: what tenants have written takes one processor at most, and each attempt of a restore has an end.
func TestProcessorsAreBounded(t *testing.T) {
	for spec, name := range map[string]string{`{"backup":{"enabled":true}}`: "backup", `{"restoreFrom":{}}`: "restore-snapshot", `{"restoreFrom":{"tenant":"other"}}`: "restore-objects"} {
		e := crossplanetest.New(t, spec, withStore).Install()
		of := wire.Of(e.Observed(name)).Get("spec")
		if name == "backup" {
			of = of.Get("jobTemplate", "spec")
		}
		pod := of.Get("template", "spec")
		if all, each := of.Value("activeDeadlineSeconds").GetNumberValue(), pod.Value("activeDeadlineSeconds").GetNumberValue(); all == 0 && each == 0 {
			t.Errorf("%s: it has no deadline", name)
		}
		for _, c := range append(pod.List("initContainers"), pod.List("containers")...) {
			if most := c.String("resources", "limits", "cpu"); most != "1" {
				t.Errorf("%s, %s: it may take %q processors", name, c.String("name"), most)
			}
		}
	}
}

// TestMemoryIsReserved: Jobs that don't fit on a node beside others wait, since what they may take in memory is reserved. No step finds the files
// of another one's programs in its own /tmp, and only the one that stores and the one that fetches have the store's credentials.
func TestMemoryIsReserved(t *testing.T) {
	for spec, name := range map[string]string{`{"backup":{"enabled":true}}`: "backup", `{"restoreFrom":{}}`: "restore-snapshot", `{"restoreFrom":{"tenant":"other"}}`: "restore-objects"} {
		e := crossplanetest.New(t, spec, withStore).Install()
		of := wire.Of(e.Observed(name)).Get("spec")
		if name == "backup" {
			of = of.Get("jobTemplate", "spec")
		}
		pod, folders := of.Get("template", "spec"), map[string]bool{}
		for _, c := range append(pod.List("initContainers"), pod.List("containers")...) {
			if is, most := c.String("resources", "requests", "memory"), c.String("resources", "limits", "memory"); is != most || most != "512Mi" {
				t.Errorf("%s, %s: of %s memory, %s are reserved", name, c.String("name"), most, is)
			}
			for _, m := range c.List("volumeMounts") {
				if m.String("name") == "tmp" {
					if folders[m.String("subPath")] || m.String("subPath") == "" {
						t.Errorf("%s, %s: it has %q of /tmp, as another step", name, c.String("name"), m.String("subPath"))
					}
					folders[m.String("subPath")] = true
				}
				if step := c.String("name"); m.String("name") == "store" && step != "store" && step != "fetch" {
					t.Errorf("%s, %s: it has the store's credentials", name, step)
				}
			}
		}
	}
}
