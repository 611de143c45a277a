package server

import (
	"regexp"
	"strings"
)

// definitions begins the paths of CustomResourceDefinitions.
const definitions = "/apis/apiextensions.k8s.io/"

var secrets = regexp.MustCompile(`^/api/v1/(namespaces/[^/]+/)?secrets(/[^/]+)?/?$`)

// isSecrets reports whether a path is that of Secrets, or of one.
func isSecrets(path string) bool { return secrets.MatchString(path) }

func segmentsOf(path string) []string { return strings.Split(strings.TrimPrefix(path, "/"), "/") }

// isDocument reports whether a path is that of discovery, of the version or of OpenAPI.
func isDocument(segments []string) bool {
	switch n := len(segments); segments[0] {
	case "version":
		return n == 1
	case "api":
		return n <= 2
	case "apis":
		return n == 1 || n == 3
	case "openapi":
		return n > 1 && segments[1] == "v3"
	}
	return false
}

// isDiscovery reports whether a path is that of a discovery document, and isAllDiscovery whether it is that of all groups.
func isDiscovery(path string) bool {
	segments := segmentsOf(path)
	return isDocument(segments) && strings.HasPrefix(segments[0], "api")
}

func isAllDiscovery(path string) bool { return path == "/api" || path == "/apis" }

// objectsAt returns the namespace and the name in the path of an object, without the name in that of a list; "" for no namespace. It reports
// false for other paths, such as those of subresources.
func objectsAt(segments []string) (namespace, name string, ok bool) {
	switch n := len(segments); {
	case segments[0] == "api" && n > 2:
		segments = segments[2:]
	case segments[0] == "apis" && n > 3:
		segments = segments[3:]
	default:
		return "", "", false
	}
	if len(segments) > 2 && segments[0] == "namespaces" {
		namespace, segments = segments[1], segments[2:]
	}
	if len(segments) == 2 {
		name = segments[1]
	}
	return namespace, name, len(segments) <= 2
}
