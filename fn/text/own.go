package text

import "sigs.k8s.io/yaml"

// Own decodes YAML that this program contains or has written itself, and refuses unknown fields. It has no limits: never give it text
// of others.
func Own(raw []byte, into any) error { return yaml.UnmarshalStrict(raw, into) }
