package golden

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	k8syaml "sigs.k8s.io/yaml"
)

// structures are the tags of text that has a structure, with how it is written: from compact JSON.
var structures = []struct {
	tag   string
	write func(json string) (string, error)
}{
	{"json", func(text string) (string, error) { return text, nil }},
	{"jsonline", func(text string) (string, error) { return text + "\n", nil }},
	{"htmljson", func(text string) (string, error) {
		var out bytes.Buffer
		json.HTMLEscape(&out, []byte(text))
		return out.String(), nil
	}},
	{"yaml", func(text string) (string, error) {
		out, err := k8syaml.JSONToYAML([]byte(text))
		return string(out), err
	}},
}

// encodings are the tags of text that is encoded. Before a structure's tag, with a hyphen between, they say that its text is encoded.
var encodings = []struct {
	tag string
	*base64.Encoding
}{
	{"base64", base64.StdEncoding},
	{"base64url", base64.RawURLEncoding},
}

// shortest is the length from which a text that can be read as base64 of a text is taken for that.
const shortest = 16

// decodeData decodes the values of a Secret, if all of them are text.
func decodeData(data *yaml.Node) {
	var texts []string
	for i := 1; i < len(data.Content); i += 2 {
		s, ok := decodeBase64(base64.StdEncoding, data.Content[i].Value)
		if !ok {
			return
		}
		texts = append(texts, s)
	}
	for i, s := range texts {
		data.Content[2*i+1].SetString(s)
	}
	data.Tag = "!base64"
}

// decode decodes the texts in a node, but keys, and has it written in block style.
func decode(node *yaml.Node) {
	node.Style = 0
	for i, below := range node.Content {
		if isKey := node.Kind == yaml.MappingNode && i%2 == 0; isKey {
			below.Style = 0
			continue
		}
		decode(below)
	}
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!str" || decodeStructure(node, "!") || len(node.Value) < shortest {
		return
	}
	for _, e := range encodings {
		text, ok := decodeBase64(e.Encoding, node.Value)
		if !ok {
			continue
		}
		node.SetString(text)
		if !decodeStructure(node, "!"+e.tag+"-") {
			node.Tag = "!" + e.tag
		}
		return
	}
}

// decodeStructure replaces a text by its structure, with a tag that begins with prefix, and reports whether it has one.
func decodeStructure(node *yaml.Node, prefix string) bool {
	asJSON := []byte(node.Value)
	if !json.Valid(asJSON) {
		// A line alone is no less readable.
		if !strings.Contains(node.Value, ":") || !strings.Contains(node.Value, "\n") {
			return false
		}
		var err error
		if asJSON, err = k8syaml.YAMLToJSON(asJSON); err != nil {
			return false
		}
	}
	of, err := read(asJSON)
	if err != nil || len(of.Content) == 0 {
		return false
	}
	var compact bytes.Buffer
	if write(&compact, of) != nil {
		return false
	}
	for _, s := range structures {
		if text, err := s.write(compact.String()); err == nil && text == node.Value {
			decode(of)
			of.Tag = prefix + s.tag
			*node = *of
			return true
		}
	}
	return false
}

// decodeBase64 returns the text that a text is an encoding of.
func decodeBase64(e *base64.Encoding, s string) (string, bool) {
	raw, err := e.DecodeString(s)
	text := string(raw)
	printable := utf8.Valid(raw) && !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsPrint(r) && !strings.ContainsRune("\n\t", r)
	})
	return text, err == nil && printable && e.EncodeToString(raw) == s
}

// write writes a node as compact JSON, with texts as they are encoded in the object.
func write(b *bytes.Buffer, node *yaml.Node) error {
	own, isOwn := strings.CutPrefix(node.Tag, "!")
	if !isOwn || strings.HasPrefix(own, "!") {
		return writePlain(b, node)
	}
	if node.Kind == yaml.MappingNode && own == "base64" {
		return writeData(b, node)
	}
	text := node.Value
	for _, s := range structures {
		if own != s.tag && !strings.HasSuffix(own, "-"+s.tag) {
			continue
		}
		var compact bytes.Buffer
		err := writePlain(&compact, node)
		if err == nil {
			text, err = s.write(compact.String())
		}
		if err != nil {
			return err
		}
		own = strings.TrimSuffix(strings.TrimSuffix(own, s.tag), "-")
		break
	}
	for _, e := range encodings {
		if own == e.tag {
			text, own = e.EncodeToString([]byte(text)), ""
			break
		}
	}
	if own != "" {
		return fmt.Errorf("line %d: tag %s is unknown", node.Line, node.Tag)
	}
	return writeText(b, text)
}

// writeData writes the data of a Secret.
func writeData(b *bytes.Buffer, data *yaml.Node) error {
	encoded := *data
	encoded.Content = nil
	for i, node := range data.Content {
		if isKey := i%2 == 0; !isKey {
			var value bytes.Buffer
			if err := write(&value, node); err != nil {
				return err
			}
			var text string
			if err := json.Unmarshal(value.Bytes(), &text); err != nil {
				return fmt.Errorf("line %d: no text: %w", node.Line, err)
			}
			node = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: base64.StdEncoding.EncodeToString([]byte(text))}
		}
		encoded.Content = append(encoded.Content, node)
	}
	return writePlain(b, &encoded)
}

// writePlain writes a node as compact JSON, without regard to its own tag.
func writePlain(b *bytes.Buffer, node *yaml.Node) error {
	switch node.Kind {
	case yaml.MappingNode:
		b.WriteByte('{')
		for i := 0; i < len(node.Content); i += 2 {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := writeText(b, node.Content[i].Value); err != nil {
				return err
			}
			b.WriteByte(':')
			if err := write(b, node.Content[i+1]); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, item := range node.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := write(b, item); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case yaml.ScalarNode:
		switch node.ShortTag() {
		case "!!null", "!!bool", "!!int", "!!float":
			b.WriteString(node.Value)
		case "!!str":
			return writeText(b, node.Value)
		default:
			return fmt.Errorf("line %d: %.40q has tag %s", node.Line, node.Value, node.ShortTag())
		}
	default:
		return fmt.Errorf("line %d: aliases aren't used here", node.Line)
	}
	return nil
}

func writeText(b *bytes.Buffer, s string) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return err
	}
	b.Truncate(b.Len() - len("\n"))
	return nil
}
