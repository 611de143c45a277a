package text

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clientcmdlatest "k8s.io/client-go/tools/clientcmd/api/latest"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
)

var (
	errSyntax     = errors.New("it can't be read as YAML")
	errKubeconfig = errors.New("it isn't YAML of kind Config")
	errExpands    = errors.New("it has YAML anchors, aliases, merge keys, tags or directives: write it without them")
	errDocuments  = errors.New("it has more than one YAML document: write one")
	errKey        = errors.New("it has a key that is no text, or one key twice")
	errValue      = errors.New("it has a number that JSON doesn't know")
	errObject     = errors.New("it isn't an object")

	// ErrNoList is the error of List for a text that is no list, or no YAML at all.
	ErrNoList = errors.New("it isn't a list")
)

// Kubeconfig decodes a kubeconfig. Its errors show nothing of it.
func Kubeconfig(raw []byte) (*clientcmdapi.Config, error) {
	v, err := decodeYAML(raw)
	if err != nil {
		return nil, err
	}
	object, _ := v.(map[string]any)
	read, config := clientcmdv1.Config{}, clientcmdapi.NewConfig()
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(object, &read)
	if err == nil {
		err = clientcmdlatest.Scheme.Convert(&read, config, nil)
	}
	if err != nil || read.Kind != "Config" && read.Kind != "" || read.APIVersion != clientcmdlatest.Version && read.APIVersion != "" {
		return nil, errKubeconfig
	}
	return config, nil
}

// Object decodes an object. Its errors show nothing of it.
func Object(raw []byte) (map[string]any, error) {
	v, err := decodeYAML(raw)
	if err != nil {
		return nil, err
	}
	object, ok := v.(map[string]any)
	if !ok && v != nil {
		return nil, errObject
	}
	return object, nil
}

// List decodes a list. Its errors show nothing of it.
func List(raw []byte) ([]any, error) {
	v, err := decodeYAML(raw)
	if errors.Is(err, errSyntax) {
		return nil, ErrNoList
	}
	list, ok := v.([]any)
	if err == nil && !ok && v != nil {
		return nil, ErrNoList
	}
	return list, err
}

// decodeYAML decodes one document of YAML to what JSON can hold. It reads it into nodes first, which expand nothing.
func decodeYAML(raw []byte) (any, error) {
	if err := check(raw, Signs(raw)); err != nil {
		return nil, err
	}
	// The parser puts the prefix of a directive in front of each tag.
	if hasDirective(raw) {
		return nil, errExpands
	}
	d, document := yaml.NewDecoder(bytes.NewReader(raw)), yaml.Node{}
	switch err := d.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, errSyntax
	}
	v, err := value(document.Content[0], 0)
	if err != nil {
		return nil, err
	}
	if !errors.Is(d.Decode(&yaml.Node{}), io.EOF) {
		return nil, errDocuments
	}
	return v, nil
}

// value returns what a node holds: a map, a list, text, a number, a bool or nil.
func value(n *yaml.Node, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errDepth
	}
	if n.Kind == yaml.AliasNode || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		return nil, errExpands
	}
	switch n.Kind {
	case yaml.MappingNode:
		out := make(map[string]any, len(n.Content)/2)
		for i := 0; i < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.ShortTag() == "!!merge" {
				return nil, errExpands
			}
			k, err := value(key, depth+1)
			if err != nil {
				return nil, err
			}
			name, isText := k.(string)
			if _, twice := out[name]; twice || !isText {
				return nil, errKey
			}
			if out[name], err = value(n.Content[i+1], depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	case yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, item := range n.Content {
			var err error
			if out[i], err = value(item, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return scalar(n)
}

// scalar returns the value of a node that is no map and no list, as kubectl reads it.
func scalar(n *yaml.Node) (any, error) {
	switch n.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool", "!!int", "!!float":
		var v any
		if n.Decode(&v) != nil {
			return nil, errValue
		}
		return v, nil
	}
	if n.Style == 0 {
		// kubectl knows YAML 1.1.
		switch strings.ToLower(n.Value) {
		case "yes", "on":
			return true, nil
		case "no", "off":
			return false, nil
		}
	}
	return n.Value, nil
}

// Signs returns how many signs a text has that can begin an item, a member or a line of YAML: at least the number of its nodes but the
// first, wherever the text becomes part of YAML.
func Signs[T string | []byte](raw T) (n int) {
	for i := range len(raw) {
		switch raw[i] {
		case '[', '{', ',', ':', '?', '\n', '\r', '#', '!', '&', '*':
			n++
		case '-':
			if i+1 == len(raw) || raw[i+1] <= ' ' {
				n++
			}
		}
	}
	return n
}

// hasDirective reports whether a line of YAML begins with a directive's sign.
func hasDirective(raw []byte) bool {
	first := true
	for _, r := range string(raw) {
		if first && r == '%' {
			return true
		}
		first = isBreak(r) || first && r == '\uFEFF'
	}
	return false
}
