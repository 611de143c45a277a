package schema

import (
	"regexp"
	"strings"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// joinLines puts each paragraph of the descriptions below a schema on one line. The lines of a Go comment would stay: `kubectl explain`
// wraps each one by itself, and keeps its end.
func joinLines(s *extv1.JSONSchemaProps) {
	s.Description = paragraphs(s.Description)
	for name, p := range s.Properties {
		joinLines(&p)
		s.Properties[name] = p
	}
	if s.Items != nil && s.Items.Schema != nil {
		joinLines(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		joinLines(s.AdditionalProperties.Schema)
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
