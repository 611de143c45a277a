package chartvalues

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"text/template/parse"

	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
)

// usage finds out how a chart's templates use its values: which values they read that values.yaml doesn't have, and which maps they
// use as a whole.
type usage struct {
	values *known.Value
	// named templates, by name.
	named map[string]*parse.Tree
}

// A meaning is what a template's expression stands for: chart values, by their paths, or a dict of a template's own, or what is made
// from chart values, such as an item of a list or the result of a function.
type meaning struct {
	paths [][]string
	dict  map[string]meaning
	from  [][]string
}

// sources returns the paths of all values that something is made from. The values as a whole, which templates hand on to each other,
// don't count.
func (m meaning) sources() [][]string {
	out := slices.Clone(m.from)
	for _, path := range m.paths {
		if len(path) > 0 {
			out = append(out, path)
		}
	}
	for _, below := range m.dict {
		out = append(out, below.sources()...)
	}
	return out
}

// context is what the names in a template stand for.
type context struct {
	dot  meaning
	vars map[string]meaning
	// depth counts templates that include another.
	depth int
}

// maxDepth bounds templates that include each other.
const maxDepth = 8

// read reads the templates of a folder. NOTES.txt isn't one of them: it reads values that are gone, to say so.
func (u *usage) read(folder string) error {
	u.named = map[string]*parse.Tree{}
	var files []*parse.Tree
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		ext := filepath.Ext(path)
		if err != nil || d.IsDir() || ext != ".yaml" && ext != ".tpl" {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		t := parse.New(path)
		// The functions are Helm's and Sprig's: which ones there are makes no difference here.
		t.Mode = parse.SkipFuncCheck
		named := map[string]*parse.Tree{}
		if _, err := t.Parse(string(raw), "", "", named); err != nil {
			return fmt.Errorf("cannot parse template: %w", err)
		}
		// Helm, too, takes the last of several with the same name.
		maps.Copy(u.named, named)
		files = append(files, t)
		return nil
	})
	if err != nil {
		return err
	}
	chart := meaning{dict: map[string]meaning{"Values": {paths: [][]string{{}}}}}
	for _, t := range files {
		u.list(t.Root, context{dot: chart, vars: map[string]meaning{"$": chart}})
	}
	return nil
}

func (u *usage) list(l *parse.ListNode, c context) {
	if l == nil {
		return
	}
	for _, node := range l.Nodes {
		switch node := node.(type) {
		case *parse.ActionNode:
			if is := u.pipe(node.Pipe, c); len(node.Pipe.Decl) == 0 {
				u.whole(is)
			}
		case *parse.IfNode:
			u.pipe(node.Pipe, c)
			u.list(node.List, c)
			u.list(node.ElseList, c)
		case *parse.WithNode:
			in := c
			in.dot = u.pipe(node.Pipe, c)
			u.list(node.List, in)
			u.list(node.ElseList, c)
		case *parse.RangeNode:
			of := u.pipe(node.Pipe, c)
			u.whole(of)
			in := c
			in.dot = meaning{from: of.sources()}
			for _, v := range node.Pipe.Decl {
				c.vars[v.Ident[0]] = in.dot
			}
			u.list(node.List, in)
			u.list(node.ElseList, c)
		case *parse.TemplateNode:
			if node.Pipe != nil {
				u.include(node.Name, u.pipe(node.Pipe, c), c.depth)
			}
		}
	}
}

// pipe returns what a pipeline stands for.
func (u *usage) pipe(p *parse.PipeNode, c context) meaning {
	var is meaning
	for i, cmd := range p.Cmds {
		var piped *meaning
		if i > 0 {
			before := is
			piped = &before
		}
		is = u.command(cmd, piped, c)
	}
	for _, v := range p.Decl {
		c.vars[v.Ident[0]] = is
	}
	return is
}

// command returns what a command stands for: a value, or a function with arguments, the last of which may be piped.
func (u *usage) command(cmd *parse.CommandNode, piped *meaning, c context) meaning {
	name, isFunction := cmd.Args[0].(*parse.IdentifierNode)
	if !isFunction {
		return u.arg(cmd.Args[0], c)
	}
	var args []meaning
	for _, arg := range cmd.Args[1:] {
		args = append(args, u.arg(arg, c))
	}
	if piped != nil {
		args = append(args, *piped)
	}
	switch name.Ident {
	case "and", "or", "default", "coalesce", "ternary", "required", "deepCopy":
		return union(args)
	case "index", "get":
		if len(args) == 0 {
			return meaning{}
		}
		keys := texts(cmd.Args[min(2, len(cmd.Args)):])
		if len(keys) < len(args)-1 {
			u.whole(args[0])
			return meaning{from: union(args).sources()}
		}
		return u.field(args[0], keys)
	case "dict":
		d := map[string]meaning{}
		for i := 0; i+1 < len(args); i += 2 {
			if key := texts(cmd.Args[1+i : 2+i]); len(key) == 1 {
				d[key[0]] = args[i+1]
			}
		}
		return meaning{dict: d}
	case "include":
		if of := texts(cmd.Args[1:2]); len(of) == 1 && len(args) > 1 {
			u.include(of[0], args[1], c.depth)
			return meaning{from: args[1].sources()}
		}
	case "tpl":
		if len(args) > 0 {
			u.templated(args[0])
		}
	case "not", "eq", "ne", "gt", "lt", "ge", "le", "empty", "kindIs", "typeIs", "kindOf", "typeOf", "hasKey", "len":
		return meaning{}
	}
	for _, arg := range args {
		u.whole(arg)
	}
	return meaning{from: union(args).sources()}
}

// texts returns the literal texts at the beginning of arguments.
func texts(args []parse.Node) []string {
	var out []string
	for _, arg := range args {
		text, ok := arg.(*parse.StringNode)
		if !ok {
			break
		}
		out = append(out, text.Text)
	}
	return out
}

func (u *usage) arg(node parse.Node, c context) meaning {
	switch node := node.(type) {
	case *parse.DotNode:
		return c.dot
	case *parse.FieldNode:
		return u.field(c.dot, node.Ident)
	case *parse.VariableNode:
		return u.field(c.vars[node.Ident[0]], node.Ident[1:])
	case *parse.ChainNode:
		return u.field(u.arg(node.Node, c), node.Field)
	case *parse.PipeNode:
		return u.pipe(node, c)
	}
	return meaning{}
}

// include follows a named template.
func (u *usage) include(name string, dot meaning, depth int) {
	if t := u.named[name]; t != nil && depth < maxDepth {
		u.list(t.Root, context{dot: dot, vars: map[string]meaning{"$": dot}, depth: depth + 1})
	} else {
		u.whole(dot)
	}
}

// field returns what is below a meaning, and records that the chart has it.
func (u *usage) field(of meaning, keys []string) meaning {
	for i, key := range keys {
		if below, ok := of.dict[key]; ok {
			of = below
			continue
		}
		out := meaning{from: of.from}
		for _, path := range of.paths {
			out.paths = append(out.paths, append(slices.Clone(path), keys[i:]...))
			u.has(out.paths[len(out.paths)-1])
		}
		return out
	}
	return of
}

// has records a value that templates read. What it is by default isn't known, so anything may be below.
func (u *usage) has(path []string) {
	v := u.values
	for _, key := range path {
		if v.Below[key] == nil {
			// Below a value without a default, each further key that is read is one of many.
			if len(v.Below) == 0 && v != u.values {
				return
			}
			v.Below[key] = &known.Value{Free: true}
		}
		v = v.Below[key]
	}
}

// whole records that templates use values as a whole.
func (u *usage) whole(of meaning) {
	for _, path := range of.paths {
		// The values as a whole are what templates hand on to others.
		if len(path) == 0 {
			continue
		}
		if v := u.at(path); v != nil {
			v.Free = true
		}
	}
}

// templated records that templates render what is made from values as a template.
func (u *usage) templated(of meaning) {
	for _, path := range of.sources() {
		v := u.values
		for _, key := range path {
			// Below a value without a default, each further key is one of many.
			if v.Below[key] == nil {
				break
			}
			v = v.Below[key]
		}
		v.Templated = true
	}
}

func (u *usage) at(path []string) *known.Value {
	v := u.values
	for _, key := range path {
		if v = v.Below[key]; v == nil {
			return nil
		}
	}
	return v
}

func union(all []meaning) meaning {
	out := meaning{}
	for _, m := range all {
		out.paths, out.from = append(out.paths, m.paths...), append(out.from, m.from...)
		for key, below := range m.dict {
			if out.dict == nil {
				out.dict = map[string]meaning{}
			}
			out.dict[key] = below
		}
	}
	return out
}
