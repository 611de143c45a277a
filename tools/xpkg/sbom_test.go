package xpkg

import (
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"
)

func init() {
	ownModules = func() []*debug.Module {
		return []*debug.Module{{Path: "example.org/other", Version: "v1.0.0"}, {Path: certificatesModule, Version: "v0.1.0"}}
	}
}

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
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Version}}{{end}}", functionMain)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"stdlib " + strings.TrimPrefix(runtime.Version(), "go"), certificatesModule + " v0.1.0"}
	for line := range strings.Lines(string(out)) {
		module := strings.TrimSpace(line)
		if !strings.Contains(module, " ") && module != "" {
			module += " v0.3.1" // The project's own.
		}
		if module != "" {
			want = append(want, module)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(slices.Compact(want), got); diff != "" {
		t.Errorf("components: -want, +got:\n%s", diff)
	}
	if image := bom.Metadata.Component; image.Name != PublishedRegistry+"/"+FunctionName || image.Version != "v0.3.1" {
		t.Errorf("want the bill of materials of the Function v0.3.1, got %s %s", image.Name, image.Version)
	}
}
