package values

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
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

// TestCostlyNumbers: no leaf of anybody's values becomes an amount that takes seconds to compute with.
func TestCostlyNumbers(t *testing.T) {
	const huge = "1e10000000"
	list := func(v ...any) []any { return v }
	cases := map[string]struct {
		path string
		to   any
		want string
	}{
		"Limit":              {"server.resources.limits.cpu", huge, "f.server.resources.limits.cpu"},
		"NoDigits":           {"server.resources.limits.cpu", "e10000000", "f.server.resources.limits.cpu"},
		"Zero":               {"server.resources.limits.cpu", "0e10000000", "f.server.resources.limits.cpu"},
		"Negative":           {"server.resources.limits.cpu", "-1e-10000000", "f.server.resources.limits.cpu"},
		"Signed":             {"server.resources.limits.cpu", "+.5E+10000000", "f.server.resources.limits.cpu"},
		"LeadingZeros":       {"server.resources.limits.cpu", "1e00010000000", "f.server.resources.limits.cpu"},
		"ManyDigits":         {"server.resources.limits.cpu", strings.Repeat("9", 100000), "f.server.resources.limits.cpu"},
		"ManyDigitsBinary":   {"server.resources.limits.memory", "1" + strings.Repeat("0", 1000) + "Gi", "f.server.resources.limits.memory"},
		"Number":             {"server.resources.limits.cpu", 1e300, "f.server.resources.limits.cpu"},
		"SmallNumber":        {"server.resources.limits.cpu", 1e-300, "f.server.resources.limits.cpu"},
		"SizeLimit":          {"server.volumes", list(Values{"name": "a", "emptyDir": Values{"sizeLimit": huge}}), "f.server.volumes[0].emptyDir.sizeLimit"},
		"Divisor":            {"server.env", list(Values{"valueFrom": Values{"resourceFieldRef": Values{"divisor": huge}}}), "f.server.env[0].valueFrom.resourceFieldRef.divisor"},
		"Persistence":        {"redis-ha.persistentVolume.size", huge, "f.redis-ha.persistentVolume.size"},
		"Metric":             {"server.autoscaling.metrics", list(Values{"resource": Values{"target": Values{"averageValue": huge}}}), "f.server.autoscaling.metrics[0].resource.target.averageValue"},
		"Object":             {"extraObjects", list(Values{"spec": Values{"hard": Values{"pods": huge}}}), "f.extraObjects[0].spec.hard.pods"},
		"ObjectAsText":       {"extraObjects", list("kind: LimitRange\nspec: {limits: [{max: {cpu: 1e10000000}}]}"), "f.extraObjects[0]"},
		"ObjectAsJSON":       {"extraObjects", list(`{"kind":"LimitRange","spec":{"limits":[{"max":{"cpu":1e10000000}}]}}`), "f.extraObjects[0]"},
		"WithComment":        {"server.resources.limits.cpu", "1e10000000 # one", "f.server.resources.limits.cpu"},
		"TagOfAnObject":      {"extraObjects", list(Values{"image": Values{"tag": huge}}), "f.extraObjects[0].image.tag"},
		"LookalikeOfSetting": {"configsx.cm.a", huge, "f.configsx.cm.a"},

		"Usual":             {"server.resources.limits.memory", "129e6", ""},
		"UsualNumber":       {"server.resources.limits.cpu", 0.1, ""},
		"Setting":           {"configs.cm.help", huge, ""},
		"Template":          {"notifications.templates.a", huge, ""},
		"TagOfImage":        {"global.image.tag", "1e12345", ""},
		"Image":             {"server.extraContainers", list(Values{"image": "registry:5000/a:1e12345"}), ""},
		"Digest":            {"server.image.repository", "a@sha256:" + strings.Repeat("1e12345", 9), ""},
		"UUID":              {"server.env", list(Values{"value": "0e123456-1111-2222-3333-444444444444"}), ""},
		"NameWithADigit":    {"server.hostname", "e2100", ""},
		"PathWithExponents": {"server.extraArgs", list("--rootpath=/1e12345/"), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := Values{}
			Insert(v, tc.to, strings.Split(tc.path, ".")...)
			for _, owner := range []Owner{Input, Channel, Plan, Claim} {
				_, err := NewStack(ArgoCD, nil, []Layer{{Field: mistakes.Field{Owner: owner, Path: "f"}, Values: v}}, nil)
				if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.want+": ") || len(err.Error()) > 300) {
					t.Errorf("owner %d: want an error for %q, got %v", owner, tc.want, err)
				}
			}
		})
	}
}

// FuzzCostlyNumbers: whatever passes the check is cheap as an amount.
func FuzzCostlyNumbers(f *testing.F) {
	for _, text := range []string{"1e99999", "e12345", "+1.E-999", "0e1234", "12345678901234567890123456789012345671e9108", "1Gi", "12345678901234567890123456789012345678901e1", " 1e99999"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, number := costlyNumber(text); number != "" {
			return
		}
		// The shortest of a few runs, because fuzz targets share the processors.
		shortest := time.Hour
		for range 5 {
			begin := time.Now()
			q, err := resource.ParseQuantity(text)
			if err != nil {
				return
			}
			_ = q.Cmp(resource.MustParse("1"))
			_ = q.String()
			shortest = min(shortest, time.Since(begin))
		}
		if shortest > 10*time.Millisecond {
			t.Errorf("%.60q takes %s as an amount", text, shortest)
		}
	})
}
