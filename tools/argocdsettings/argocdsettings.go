// Package argocdsettings reads which settings Argo CD has in its ConfigMaps and in argocd-secret, and how it reads those that reach its programs as
// environment variables, from Argo CD's source. It only parses that.
package argocdsettings

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/settings"
)

// documented are the files of Argo CD's documentation with all settings of each place.
var documented = map[settings.Place]string{
	settings.CM: "argocd-cm.yaml", settings.Params: "argocd-cmd-params-cm.yaml", settings.RBAC: "argocd-rbac-cm.yaml", settings.Secret: "argocd-secret.yaml",
}

// configMaps are the places by the names of their ConfigMaps.
var configMaps = map[string]settings.Place{"argocd-cm": settings.CM, "argocd-cmd-params-cm": settings.Params, "argocd-rbac-cm": settings.RBAC}

// Read returns the record of versions of Argo CD's source in folders, as package settings reads it. What versions read differently is text.
func Read(folders ...string) (string, error) {
	all := map[string]settings.Kind{}
	for _, folder := range folders {
		of, err := read(folder)
		if err != nil {
			return "", err
		}
		for name, kind := range of {
			if before, ok := all[name]; ok && before != kind {
				kind = settings.Text
			}
			all[name] = kind
		}
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "%s %s\n", name, all[name])
	}
	return b.String(), nil
}

// read returns the kinds of the settings of one version, by place and key.
func read(folder string) (map[string]settings.Kind, error) {
	out := map[string]settings.Kind{}
	for place, file := range documented {
		var is struct{ Data, StringData map[string]any }
		if err := decode(filepath.Join(folder, "docs/operator-manual", file), &is); err != nil {
			return nil, err
		}
		for _, data := range []map[string]any{is.Data, is.StringData} {
			for key := range data {
				out[string(place)+" "+key] = settings.Text
			}
		}
	}
	kinds, err := variables(folder)
	if err != nil {
		return nil, err
	}
	references, err := references(folder)
	if err != nil {
		return nil, err
	}
	for name, variables := range references {
		kind := kinds[variables[0]]
		if kind == "" || slices.ContainsFunc(variables, func(v string) bool { return kinds[v] != kind }) {
			kind = settings.Text
		}
		out[name] = kind
	}
	return out, nil
}

func decode(path string, into any) error {
	raw, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(raw, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// references returns the environment variables of Argo CD's workloads that have the value of a setting, by place and key.
func references(folder string) (map[string][]string, error) {
	out := map[string][]string{}
	err := filepath.WalkDir(filepath.Join(folder, "manifests/base"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, document := range strings.Split(string(raw), "\n---") {
			var is struct {
				Spec struct {
					Template struct {
						Spec struct {
							Containers []struct {
								Env []struct {
									Name      string
									ValueFrom struct{ ConfigMapKeyRef struct{ Name, Key string } }
								}
							}
						}
					}
				}
			}
			// Documents of other kinds have lists where these have maps.
			if yaml.Unmarshal([]byte(document), &is) != nil {
				continue
			}
			for _, c := range is.Spec.Template.Spec.Containers {
				for _, e := range c.Env {
					if place, ok := configMaps[e.ValueFrom.ConfigMapKeyRef.Name]; ok {
						name := string(place) + " " + e.ValueFrom.ConfigMapKeyRef.Key
						out[name] = append(out[name], e.Name)
					}
				}
			}
		}
		return nil
	})
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("%s has no manifests: %w", folder, fs.ErrNotExist)
	}
	return out, err
}

// sources are the folders with the source of Argo CD's programs.
var sources = []string{"applicationset", "cmd", "cmpserver", "commitserver", "common", "controller", "notification_controller", "pkg", "reposerver", "server", "util"}

// readers are the functions of Argo CD's util/env.
var readers = map[string]settings.Kind{
	"ParseBoolFromEnv": settings.Bool, "ParseNumFromEnv": settings.Number, "ParseInt64FromEnv": settings.Number, "ParseFloatFromEnv": settings.Float, "ParseFloat64FromEnv": settings.Float,
	"ParseDurationFromEnv": settings.Duration, "StringFromEnv": settings.Text, "StringsFromEnv": settings.Text, "ParseStringToStringFromEnv": settings.Text, "Getenv": settings.Text, "LookupEnv": settings.Text,
}

var word = regexp.MustCompile(`^[A-Z][A-Z0-9_]+$`)

// variables returns how Argo CD reads environment variables, by name. Those that it reads in several ways are text.
func variables(folder string) (map[string]settings.Kind, error) {
	var files []*ast.File
	for _, of := range sources {
		root := filepath.Join(folder, of)
		if _, err := os.Stat(root); err != nil {
			continue
		}
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			files = append(files, file)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	constants := constantsOf(files)
	out := map[string]settings.Kind{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			of, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || readers[of.Sel.Name] == "" {
				return true
			}
			is := readers[of.Sel.Name]
			if len(call.Args) == 4 {
				is = is.AtLeast(wholeNumber(call.Args[2]))
			}
			for _, name := range namesOf(call.Args[0], constants) {
				kind := is
				if before, ok := out[name]; ok && before != kind {
					kind = settings.Text
				}
				out[name] = kind
			}
			return true
		})
	}
	return out, nil
}

// constantsOf returns the values of all constants that may be names of environment variables, by name: several packages may have one of a name.
func constantsOf(files []*ast.File) map[string][]string {
	out := map[string][]string{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, name := range spec.Names {
				if i < len(spec.Values) {
					if text := literal(spec.Values[i]); word.MatchString(text) {
						out[name.Name] = append(out[name.Name], text)
					}
				}
			}
			return true
		})
	}
	return out
}

// namesOf returns the names that an expression may have.
func namesOf(of ast.Expr, constants map[string][]string) []string {
	switch of := of.(type) {
	case *ast.BasicLit:
		return []string{literal(of)}
	case *ast.Ident:
		return constants[of.Name]
	case *ast.SelectorExpr:
		return constants[of.Sel.Name]
	}
	return nil
}

// wholeNumber returns the number that an expression is; "" for another expression.
func wholeNumber(of ast.Expr) string {
	if lit, ok := of.(*ast.BasicLit); ok && lit.Kind == token.INT {
		return lit.Value
	}
	return ""
}

func literal(of ast.Expr) string {
	if lit, ok := of.(*ast.BasicLit); ok && lit.Kind == token.STRING {
		text, _ := strconv.Unquote(lit.Value)
		return text
	}
	return ""
}
