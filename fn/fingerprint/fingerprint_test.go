package fingerprint

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

func TestOfOffer(t *testing.T) {
	offer := func(version, values string) v1alpha1.ChannelOffer {
		o := v1alpha1.ChannelOffer{ArgoCD: v1alpha1.ChannelChart{ChartVersion: version}}
		if values != "" {
			o.ArgoCD.Values = &runtime.RawExtension{Raw: []byte(values)}
		}
		return o
	}
	base := offer("10.1.1", `{"server":{"replicas":2,"env":[]}}`)
	for name, tc := range map[string]struct {
		reason string
		offer  v1alpha1.ChannelOffer
		with   []any
		same   bool
	}{
		"Same":         {"The same offer has the same digest.", base, nil, true},
		"OtherOrder":   {"The order of keys and white space don't count.", offer("10.1.1", `{ "server": {"env": [], "replicas": 2.0} }`), nil, true},
		"OtherVersion": {"A version does.", offer("10.1.2", `{"server":{"replicas":2,"env":[]}}`), nil, false},
		"OtherValue":   {"A value does.", offer("10.1.1", `{"server":{"replicas":3,"env":[]}}`), nil, false},
		"Emptied":      {"An empty value may say something to a chart.", offer("10.1.1", `{"server":{"replicas":2,"env":[]},"redis":{}}`), nil, false},
		"With":         {"So does what goes with it.", base, []any{map[string]int{"a": 1}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := OfOffer(base)
			if err != nil {
				t.Fatal(err)
			}
			got, err := OfOffer(tc.offer, tc.with...)
			if err != nil {
				t.Fatal(err)
			}
			if (got == want) != tc.same || len(got) != length {
				t.Errorf("%s\ngot %s, and %s of the first", tc.reason, got, want)
			}
		})
	}
	none, err := OfOffer(v1alpha1.ChannelOffer{})
	if err != nil {
		t.Fatal(err)
	}
	if empty, err := OfOffer(offer("", "{}")); err != nil || empty != none {
		t.Errorf("empty values have the digest %s, and none %s (%v)", empty, none, err)
	}
	if _, err := OfOffer(offer("", "{")); err == nil {
		t.Error("values that aren't JSON have a digest")
	}
}
