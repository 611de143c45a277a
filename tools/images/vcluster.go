package images

import (
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// dnsImages are the images of the DNS in virtual clusters, by the minor version of their Kubernetes, and dnsImage is that of all others. They are in
// vcluster's program: pkg/constants/coredns.go and pkg/coredns/coredns.go of 0.34 to 0.36. TestImagesOfVCluster compares both.
var dnsImages = map[string]string{
	"1.36": "coredns/coredns:1.14.2",
	"1.35": "coredns/coredns:1.14.1",
	"1.34": "coredns/coredns:1.12.1",
	"1.33": "coredns/coredns:1.12.0",
	"1.32": "coredns/coredns:1.11.3",
	"1.31": "coredns/coredns:1.11.3",
	"1.30": "coredns/coredns:1.11.3",
}

const (
	dnsImage = "coredns/coredns:1.14.2"
	// dnsRegistry is the registry of these images, unless controlPlane.advanced.defaultImageRegistry is another.
	dnsRegistry = "docker.io"
)

// DNSImage returns the image of the DNS in virtual clusters of a version of Kubernetes.
func DNSImage(kubernetes string) string {
	if v, err := semver.NewVersion(kubernetes); err == nil {
		if image, ok := dnsImages[fmt.Sprintf("%d.%d", v.Major(), v.Minor())]; ok {
			return image
		}
	}
	return dnsImage
}

// ofVCluster returns the images that vcluster starts itself, by the values of its chart.
func ofVCluster(values map[string]any) ([]found, error) {
	registry := strings.TrimSuffix(textAt(values, "controlPlane", "advanced", "defaultImageRegistry"), "/")
	at := func(own, path string) string {
		if registry != "" {
			own = registry
		}
		if own == "" {
			own = dnsRegistry
		}
		return own + "/" + path
	}
	var out []found
	dns, _ := mapAt(values, "controlPlane", "coredns")["enabled"].(bool)
	if dns {
		version := textAt(values, "controlPlane", "distro", "k8s", "image", "tag")
		out = append(out, found{at("", DNSImage(version)), "the DNS of virtual clusters"})
	}
	rewrites := mapAt(values, "sync", "toHost", "pods", "rewriteHosts")
	if on, _ := rewrites["enabled"].(bool); on {
		image := mapAt(rewrites, "initContainer", "image")
		reference := at(textAt(image, "registry"), textAt(image, "repository")) + ":" + textAt(image, "tag")
		out = append(out, found{reference, "an init container of the pods of StatefulSets"})
	}
	for _, path := range [][]string{
		{"experimental", "deploy", "vcluster", "manifests"}, {"experimental", "deploy", "vcluster", "manifestsTemplate"},
		{"experimental", "deploy", "host", "manifests"}, {"experimental", "deploy", "host", "manifestsTemplate"},
		{"controlPlane", "coredns", "overwriteManifests"},
	} {
		objects, err := documents([]byte(textAt(values, path...)))
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			for _, reference := range inPods(o) {
				out = append(out, found{reference, strings.Join(path, ".")})
			}
		}
	}
	return out, nil
}

func mapAt(v any, path ...string) map[string]any {
	for _, key := range path {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	m, _ := v.(map[string]any)
	return m
}
