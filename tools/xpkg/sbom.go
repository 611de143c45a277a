package xpkg

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/package-url/packageurl-go"
	"golang.org/x/mod/modfile"
)

// certificatesModule has the certificate authorities in the image. No package
// of it is compiled into the function.
const certificatesModule = "golang.org/x/crypto/x509roots/fallback"

// SBOMFile is the software bill of materials of the Function's package for one
// platform.
func (p Project) SBOMFile(arch string) string {
	return filepath.Join(p.Out, fmt.Sprintf("%s-%s.cdx.json", FunctionName, arch))
}

// writeSBOM writes what is in the Function's image, in the CycloneDX format:
// Go's standard library and the modules that the linker recorded in the
// binary, and the module of the certificate authorities.
//
// It has no time and no serial number: the same source makes the same file.
func (p Project) writeSBOM(binary, arch, version string) error {
	modules, err := p.modulesOf(binary)
	if err != nil {
		return err
	}
	bom := cdx.NewBOM()
	image := cdx.Component{
		BOMRef: "image", Type: cdx.ComponentTypeContainer, Name: PublishedRegistry + "/" + FunctionName, Version: version,
		Properties: &[]cdx.Property{{Name: "cdx:gomod:build:env:GOOS", Value: "linux"}, {Name: "cdx:gomod:build:env:GOARCH", Value: arch}},
	}
	bom.Metadata = &cdx.Metadata{Component: &image}
	var components []cdx.Component
	var refs []string
	for _, m := range modules {
		if m.Version == "" || m.Version == "(devel)" {
			// The project's own module, built from a checkout.
			m.Version = version
		}
		c := component(m)
		components, refs = append(components, c), append(refs, c.BOMRef)
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: image.BOMRef, Dependencies: &refs}}

	out, err := os.Create(p.SBOMFile(arch))
	if err != nil {
		return fmt.Errorf("cannot write the bill of materials: %w", err)
	}
	// Most scanners read version 1.6; nothing here needs a later one.
	if err := cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		_ = out.Close()
		return fmt.Errorf("cannot write the bill of materials %s: %w", out.Name(), err)
	}
	return out.Close()
}

// modulesOf returns the modules in an image with this binary, sorted by path.
func (p Project) modulesOf(binary string) ([]debug.Module, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("cannot read the modules of %s: %w", binary, err)
	}
	certificates, err := p.certificatesVersion()
	if err != nil {
		return nil, err
	}
	out := []debug.Module{
		info.Main,
		// The name by which vulnerability databases know the standard library.
		{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")},
		{Path: certificatesModule, Version: certificates},
	}
	for _, m := range info.Deps {
		out = append(out, inUse(m))
	}
	slices.SortFunc(out, func(a, b debug.Module) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// certificatesVersion returns the version of the certificate authorities that this
// program, a part of the module tools, writes into images.
func (p Project) certificatesVersion() (string, error) {
	file := filepath.Join(p.Root, "tools", "go.mod")
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	mod, err := modfile.ParseLax(file, data, nil)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(mod.Require, func(r *modfile.Require) bool { return r.Mod.Path == certificatesModule })
	if i < 0 {
		return "", fmt.Errorf("%s doesn't require %s", file, certificatesModule)
	}
	return mod.Require[i].Mod.Version, nil
}

// inUse returns the module that was compiled in the place of m, or m.
func inUse(m *debug.Module) debug.Module {
	if m.Replace != nil {
		return *m.Replace
	}
	return *m
}

func component(m debug.Module) cdx.Component {
	namespace, name := path.Split(m.Path)
	url := packageurl.NewPackageURL(packageurl.TypeGolang, strings.TrimSuffix(namespace, "/"), name, m.Version, nil, "").ToString()
	return cdx.Component{BOMRef: url, PackageURL: url, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version}
}
