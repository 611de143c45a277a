package xpkg

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"
)

// TestSBOM compares the bill of materials of the function's image with the
// modules that the Go command says the function is compiled from.
func TestSBOM(t *testing.T) {
	root, err := FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	p := Project{Root: root, Out: t.TempDir()}
	binary := p.Out + "/function"
	if err := GoBuild(t.Context(), root, functionMain, runtime.GOARCH, "v0.3.1", binary); err != nil {
		t.Fatal(err)
	}
	if err := p.writeSBOM(binary, runtime.GOARCH, "v0.3.1"); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(p.SBOMFile(runtime.GOARCH))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // Only read.
	bom := cdx.BOM{}
	if err := cdx.NewBOMDecoder(file, cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}

	var got []string
	for _, c := range *bom.Components {
		if c.PackageURL == "" || c.Version == "" {
			t.Errorf("component %s needs a package URL and a version, got %q and %q", c.Name, c.PackageURL, c.Version)
		}
		got = append(got, c.Name+" "+c.Version)
	}
	want := []string{"stdlib " + strings.TrimPrefix(runtime.Version(), "go")}
	want = append(want, modules(t, root, "-deps", functionMain)...)
	want = append(want, modules(t, root+"/tools", certificatesModule+"/bundle")...)
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(slices.Compact(want), got); diff != "" {
		t.Errorf("components: -want, +got:\n%s", diff)
	}
	if image := bom.Metadata.Component; image.Name != PublishedRegistry+"/"+FunctionName || image.Version != "v0.3.1" {
		t.Errorf("want the bill of materials of the Function v0.3.1, got %s %s", image.Name, image.Version)
	}
}

// modules returns the modules of packages as the Go command lists them in a folder.
func modules(t *testing.T, dir string, args ...string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-f", "{{with .Module}}{{.Path}} {{.Version}}{{end}}"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOWORK=off")
	list, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(list)) {
		module := strings.TrimSpace(line)
		if !strings.Contains(module, " ") && module != "" {
			module += " v0.3.1" // The project's own.
		}
		if module != "" {
			out = append(out, module)
		}
	}
	return out
}
