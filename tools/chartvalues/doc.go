// Package chartvalues reads which values a Helm chart has from the chart itself, as upstream publishes it: from its schema, or from
// its values.yaml and its templates.
package chartvalues
