package toolchain

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGoMod(t *testing.T) {
	cases := map[string]struct {
		reason   string
		module   module
		upstream string
		want     string
	}{
		"OnlyTheToolIsRequired": {
			reason:   "What the tool requires follows from its own go.mod.",
			module:   module{path: "example.org/tool", version: "v1.2.3"},
			upstream: "module example.org/tool\ngo 1.24.0\nrequire example.org/a v1.0.0\n",
			want:     "module build\n\ngo 1.24.0\n\nrequire example.org/tool v1.2.3\n",
		},
		"ReplaceLinesAreCarriedOver": {
			reason:   "They count only in the main module, and without them the tool is built with other dependencies than upstream's.",
			module:   module{path: "example.org/tool", version: "v1.2.3"},
			upstream: "module example.org/tool\ngo 1.24.0\nreplace example.org/a => example.org/fork v1.0.1\nreplace example.org/b v1.0.0 => example.org/b v1.1.0\n",
			want: "module build\n\ngo 1.24.0\n\nrequire example.org/tool v1.2.3\n\n" +
				"replace example.org/a => example.org/fork v1.0.1\n\nreplace example.org/b v1.0.0 => example.org/b v1.1.0\n",
		},
		"LocalReplaceIsDropped": {
			reason:   "A folder of upstream's repository is not here; the required version of that module is.",
			module:   module{path: "example.org/tool", version: "v1.2.3"},
			upstream: "module example.org/tool\ngo 1.24.0\nreplace example.org/tool/apis => ./apis\n",
			want:     "module build\n\ngo 1.24.0\n\nrequire example.org/tool v1.2.3\n",
		},
		"LocalReplaceBecomesAVersion": {
			reason:   "Kubernetes requires its parts as v0.0.0 and replaces them by folders.",
			module:   module{path: "k8s.io/kubernetes", version: "v1.35.4", localReplace: "v0.35.4"},
			upstream: "module k8s.io/kubernetes\ngo 1.25.0\nreplace k8s.io/api => ./staging/src/k8s.io/api\n",
			want:     "module build\n\ngo 1.25.0\n\nrequire k8s.io/kubernetes v1.35.4\n\nreplace k8s.io/api => k8s.io/api v0.35.4\n",
		},
		"FurtherModulesAreRequired": {
			reason:   "A nested module in place of the folder that upstream builds with.",
			module:   module{path: "example.org/tool/v2", version: "v2.4.0", require: []string{"example.org/tool/apis/v2@v2.4.0"}},
			upstream: "module example.org/tool/v2\ngo 1.24.0\n",
			want:     "module build\n\ngo 1.24.0\n\nrequire (\n\texample.org/tool/v2 v2.4.0\n\texample.org/tool/apis/v2 v2.4.0\n)\n",
		},
		"ForkStandsInForTheNameItKeeps": {
			reason:   "The fork's go.mod says another path than that it is downloaded by.",
			module:   module{path: "example.org/fork", version: "v1.2.3", as: "example.org/tool"},
			upstream: "module example.org/tool\ngo 1.24.0\n",
			want: "module build\n\ngo 1.24.0\n\nrequire example.org/tool v0.0.0-00010101000000-000000000000\n\n" +
				"replace example.org/tool => example.org/fork v1.2.3\n",
		},
		"SourceWithAddedFiles": {
			reason:   "Files can't be added in Go's module cache.",
			module:   module{path: "example.org/tool", version: "v1.2.3", embeds: map[string]string{"ui/dist": "tool-ui"}},
			upstream: "module example.org/tool\ngo 1.24.0\n",
			want:     "module build\n\ngo 1.24.0\n\nrequire example.org/tool v1.2.3\n\nreplace example.org/tool => ./source\n",
		},
		"OverridesTakeThePlaceOfPartsOfModules": {
			reason:   "The module with the override in it is a copy.",
			module:   module{path: "example.org/tool", version: "v1.2.3", overrides: []override{{module: "example.org/clouds"}}},
			upstream: "module example.org/tool\ngo 1.24.0\nrequire example.org/clouds v1.0.0\n",
			want:     "module build\n\ngo 1.24.0\n\nrequire example.org/tool v1.2.3\n\nreplace example.org/clouds => ./overridden-0\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := tc.module.goMod([]byte(tc.upstream))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("\n%s\ngoMod(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestGoModNamesWhatItCannotParse(t *testing.T) {
	_, err := module{path: "example.org/tool"}.goMod([]byte("modul x"))
	if err == nil || !strings.Contains(err.Error(), "example.org/tool") {
		t.Errorf("want an error that names the module, got %v", err)
	}
}
