package maintenance

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestDatabaseIsGos: the database is that of the Go release. `make generate` brings it up to date.
func TestDatabaseIsGos(t *testing.T) {
	out, err := exec.Command("go", "env", "GOROOT", "GOVERSION").Output()
	if err != nil {
		t.Skip("NOT TRIED: THE TIME ZONES OF THE GO RELEASE. THERE IS NO GO COMMAND: ", err)
	}
	root, version, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if version != runtime.Version() {
		t.Skipf("NOT TRIED: THE TIME ZONES OF THE GO RELEASE. THE GO COMMAND IS %s, AND THE TEST IS BUILT WITH %s", version, runtime.Version())
	}
	want, err := os.ReadFile(filepath.Join(root, "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Skip("NOT TRIED: THE TIME ZONES OF THE GO RELEASE. THIS INSTALLATION HAS NO DATABASE: ", err)
	}
	if !bytes.Equal(want, database) {
		t.Error("zoneinfo.zip isn't the database of this Go release: run make generate")
	}
}

// TestZonesOfTheMachine: a database of the machine's changes nothing.
func TestZonesOfTheMachine(t *testing.T) {
	const variable, passed = "TEST_FORGED_ZONES", "the zone is the function's own"
	if os.Getenv(variable) != "" {
		zone, err := zoneNamed("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		if _, offset := time.Date(2027, 1, 10, 12, 0, 0, 0, zone).Zone(); offset != 3600 {
			t.Fatalf("Berlin's offset is %d", offset)
		}
		if _, err := zoneNamed("Europe/Forged"); err == nil {
			t.Fatal("a zone is known that isn't in the database")
		}
		t.Log(passed)
		return
	}
	in, err := files()
	if err != nil {
		t.Fatal(err)
	}
	tokyo, err := in.Open("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	data := new(bytes.Buffer)
	if _, err := data.ReadFrom(tokyo); err != nil {
		t.Fatal(err)
	}
	forged := t.TempDir()
	if err := os.Mkdir(filepath.Join(forged, "Europe"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Berlin", "Forged"} {
		if err := os.WriteFile(filepath.Join(forged, "Europe", name), data.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestZonesOfTheMachine$", "-test.v")
	again.Env = append(os.Environ(), variable+"=1", "ZONEINFO="+forged)
	if out, err := again.CombinedOutput(); err != nil || !strings.Contains(string(out), passed) {
		t.Errorf("%v: %s", err, out)
	}
}

// TestZoneNames: what is no zone of the database is no name.
func TestZoneNames(t *testing.T) {
	for name, known := range map[string]bool{
		"Europe/Berlin": true, "UTC": true, "America/Argentina/Buenos_Aires": true,
		"": false, "Local": false, "local": false, "Europe": false, "Europe/": false, "../Europe/Berlin": false, "/Europe/Berlin": false, "europe/berlin": false, "Europe/Atlantis": false,
	} {
		if zone, err := zoneNamed(name); (err == nil) != known {
			t.Errorf("%q: got %v, %v", name, zone, err)
		}
	}
}
