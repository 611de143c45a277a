package values

import (
	"testing"
)

func TestAmounts(t *testing.T) {
	for text, want := range map[string]bool{
		"500m": true, "2Gi": true, "1.5": true, "1e3": true, "0": true, "-1": true, "128974848": true, "100k": true, "1E3": true,
		"": false, "lots": false, "1e99999999": false, "1e-99999999": false, "1Gib": false, "1 Gi": false,
	} {
		if _, ok := ParseAmount(text); ok != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
}
