package schema

import (
	"regexp"
	"strings"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// finish changes a schema, and all below it, where no marker can. It puts each paragraph of a description on one line: the lines of a Go
// comment would stay, since `kubectl explain` wraps each one by itself, and keeps its end. And it refuses negative amounts, since the
// pattern of an amount is for those that are texts.
func finish(s *extv1.JSONSchemaProps) {
	s.Description = paragraphs(s.Description)
	if s.XIntOrString {
		s.Minimum = new(0.)
	}
	for name, p := range s.Properties {
		finish(&p)
		s.Properties[name] = p
	}
	if s.Items != nil && s.Items.Schema != nil {
		finish(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		finish(s.AdditionalProperties.Schema)
	}
}

// ownLine matches lines that begin an item of a list, or are indented, such as code.
var ownLine = regexp.MustCompile(`^(\s|[-*•] |\d+[.)] )`)

// paragraphs joins the lines of each paragraph of a text.
func paragraphs(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		if n := len(out) - 1; n >= 0 && out[n] != "" && line != "" && !ownLine.MatchString(line) {
			out[n] += " " + line
			continue
		}
		out = append(out, line)
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}
