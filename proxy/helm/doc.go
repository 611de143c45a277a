// Package helm reads Helm's records of releases, Secrets of type helm.sh/release.v1, as the API server of a virtual cluster returns them: it
// refuses what would use up provider-helm's memory, and shows releases in which Helm was interrupted as failed.
package helm
