// Package dexfields reads which fields the connectors of Dex have from Dex's source: the types that its server decodes their configurations to. It
// only parses them: Dex's releases are no versions of a Go module that could be imported (dexidp/dex has no suffix /v2).
package dexfields

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/parts/sso/connectors"
)

// Read returns the record of Dex's source in a folder, as package connectors reads it.
func Read(folder string) (string, error) {
	server, err := parse(filepath.Join(folder, "server"))
	if err != nil {
		return "", err
	}
	types, err := server.connectors()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(types)) {
		of := types[name]
		p, err := parse(filepath.Join(folder, "connector", of.pkg))
		if err != nil {
			return "", err
		}
		b.WriteString(name + "\n")
		if err := p.write(&b, p.types[of.name], 1); err != nil {
			return "", fmt.Errorf("connector %s: %w", name, err)
		}
	}
	dex, err := parse(filepath.Join(folder, "cmd", "dex"))
	if err != nil {
		return "", err
	}
	config, ok := dex.types["Config"].(*ast.StructType)
	if !ok {
		return "", fmt.Errorf("%s has no struct Config", folder)
	}
	b.WriteString(connectors.Whole + "\n")
	for _, f := range config.Fields.List {
		for _, name := range namesOf(f) {
			fmt.Fprintf(&b, " %s %s\n", name, connectors.Anything)
		}
	}
	return b.String(), nil
}

// A source is a package.
type source struct {
	files []*ast.File
	types map[string]ast.Expr
}

func parse(folder string) (source, error) {
	out := source{types: map[string]ast.Expr{}}
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(paths) == 0 {
		return out, fmt.Errorf("%s: %w", folder, fs.ErrNotExist)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return out, err
		}
		out.files = append(out.files, file)
		ast.Inspect(file, func(n ast.Node) bool {
			if t, ok := n.(*ast.TypeSpec); ok {
				out.types[t.Name.Name] = t.Type
			}
			return true
		})
	}
	return out, nil
}

type typeName struct{ pkg, name string }

// connectors returns the types of the connectors' configurations by those of the connectors, from the server's ConnectorsConfig.
func (s source) connectors() (map[string]typeName, error) {
	out := map[string]typeName{}
	for _, file := range s.files {
		ast.Inspect(file, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || v.Names[0].Name != "ConnectorsConfig" {
				return true
			}
			ast.Inspect(v, func(n ast.Node) bool {
				entry, ok := n.(*ast.KeyValueExpr)
				if !ok {
					return true
				}
				key, isText := entry.Key.(*ast.BasicLit)
				ast.Inspect(entry.Value, func(n ast.Node) bool {
					// new(github.Config)
					if call, ok := n.(*ast.CallExpr); ok && isText && len(call.Args) == 1 {
						if of, ok := call.Args[0].(*ast.SelectorExpr); ok {
							name, _ := strconv.Unquote(key.Value)
							out[name] = typeName{of.X.(*ast.Ident).Name, of.Sel.Name}
						}
					}
					return true
				})
				return false
			})
			return false
		})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("the server has no ConnectorsConfig: %w", fs.ErrNotExist)
	}
	return out, nil
}

// write writes the fields of a struct, and of those below it.
func (s source) write(b *strings.Builder, of ast.Expr, depth int) error {
	object, ok := of.(*ast.StructType)
	if !ok {
		return fmt.Errorf("%T is no struct", of)
	}
	for _, f := range object.Fields.List {
		kind, below, err := s.kind(f.Type)
		if err != nil {
			return err
		}
		for _, name := range namesOf(f) {
			fmt.Fprintf(b, "%s%s %s\n", strings.Repeat(" ", depth), name, kind)
			if below != nil {
				if err := s.write(b, below, depth+1); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// namesOf returns the names of a field in JSON.
func namesOf(f *ast.Field) []string {
	tag := ""
	if f.Tag != nil {
		text, _ := strconv.Unquote(f.Tag.Value)
		tag, _, _ = strings.Cut(reflect.StructTag(text).Get("json"), ",")
	}
	var out []string
	for _, name := range f.Names {
		switch {
		case tag == "-" || !name.IsExported():
		case tag != "":
			out = append(out, tag)
		default:
			// As Dex's documentation has it: Go's decoder takes upper and lower case for the same.
			out = append(out, strings.ToLower(name.Name[:1])+name.Name[1:])
		}
	}
	return out
}

// kind returns what a field holds, and its struct, if it is an object or a list of some.
func (s source) kind(of ast.Expr) (kind string, below ast.Expr, err error) {
	switch of := of.(type) {
	case *ast.StarExpr:
		return s.kind(of.X)
	case *ast.StructType:
		return connectors.Object, of, nil
	case *ast.MapType:
		return connectors.Map, nil, nil
	case *ast.ArrayType:
		if item, ok := of.Elt.(*ast.Ident); ok && item.Name == "byte" {
			return connectors.Bytes, nil, nil
		}
		switch kind, below, err := s.kind(of.Elt); {
		case err != nil:
			return "", nil, err
		case kind == connectors.Text:
			return connectors.Texts, nil, nil
		case kind == connectors.Object:
			return connectors.Objects, below, nil
		}
	case *ast.Ident:
		switch of.Name {
		case "string":
			return connectors.Text, nil, nil
		case "bool":
			return connectors.Bool, nil, nil
		case "int":
			return connectors.Number, nil, nil
		}
		if named, ok := s.types[of.Name]; ok {
			return s.kind(named)
		}
	}
	return "", nil, fmt.Errorf("unknown kind of field: %#v", of)
}
