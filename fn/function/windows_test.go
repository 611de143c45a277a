package function

import (
	"strings"
	"testing"
	"time"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// TestWindowInTimeZone: a window in a time zone opens by the clock there, of a claim and of a plan, with a channel and without. In
// Berlin clocks are put forward on 2026-03-29.
func TestWindowInTimeZone(t *testing.T) {
	t.Parallel()
	const maintenance = `"maintenance":{"timeWindow":{"begin":"220000","end":"030000","timeZone":"Europe/Berlin"},"days":["Sun"]}`
	w := newWorld(t)
	w.offer("stable", offer("10.1.1", `{}`))
	w.claim("alone", `{`+maintenance+`}`, `{}`)
	w.claim("member", `{"channel":"stable",`+maintenance+`}`, `{}`)
	w.claim("planned", `{"plan":"small"}`, `{}`).plan("small", `{`+maintenance+`}`)
	w.settle(14, time.Minute)
	record := func() string {
		return field(w.tenants["member"].observed(tenant.ChannelRecord), "data").String()
	}

	// It closes on Monday, 2026-03-23, at 3:00: what comes then waits for the next Sunday, when it is summer.
	w.now = time.Date(2026, 3, 23, 1, 46, 0, 0, time.UTC)
	w.offer("stable", offer("10.2.0", `{}`))
	w.input(`{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"version":"10.2.0"}}}`)
	w.settle(3, time.Minute)
	w.want(map[string]int{"10.1.1": 3})
	const waits = "waits for its maintenance window, Sunday 2026-03-29 22:00 +0200"
	for name, e := range w.tenants {
		if got := e.status("channel", "message"); !strings.HasPrefix(got, waits) {
			t.Errorf("%s: want %q, got %q", name, waits, got)
		}
	}
	// Clocks that change are no change of the window, which would wake the channel.
	before := record()
	w.now = time.Date(2026, 3, 29, 19, 59, 50, 0, time.UTC)
	w.step(10 * time.Second)
	w.want(map[string]int{"10.1.1": 3})
	if got := record(); got != before {
		t.Errorf("the tenant's record was\n%s\nand is\n%s", before, got)
	}
	for name, e := range w.tenants {
		if ttl := e.rsp.GetMeta().GetTtl().AsDuration(); ttl != 10*time.Second {
			t.Errorf("the window of %s opens in 10 s, and it looks again in %s", name, ttl)
		}
	}
	w.settle(4, time.Minute)
	w.want(map[string]int{"10.2.0": 3})
}

// TestTimeZoneMistakes: a mistake in a window's time zone is said, and the tenant keeps the window that it has.
func TestTimeZoneMistakes(t *testing.T) {
	for name, tc := range map[string]struct{ reason, begin, zone, want string }{
		"Unknown": {"There is no such time zone.", "220000", "Europe/Berlim", `timeWindow.timeZone: "Europe/Berlim" is not a time zone: write a name of the IANA time zone database, such as Europe/Berlin`},
		"Both":    {"A window has an offset or a time zone.", "220000+0100", "Europe/Berlin", `timeWindow.begin: "220000+0100" has an offset from UTC, and timeZone is Europe/Berlin: write hours, minutes and seconds alone, such as 220000, or leave timeZone out`},
		"Neither": {"It has one of them.", "220000", "", `timeWindow.begin: "220000" is not a time of day: write hours, minutes, seconds and the offset from UTC, such as 220000+0100, or set timeZone and write 220000`},
	} {
		t.Run(name, func(t *testing.T) {
			maintenance := `{"timeWindow":{"begin":"` + tc.begin + `","end":"030000","timeZone":"` + tc.zone + `"}}`
			w := newWorld(t)
			good := strings.NewReplacer(tc.begin, "220000", `"`+tc.zone+`"`, `"Europe/Berlin"`).Replace(maintenance)
			e := w.claim("c0", `{"maintenance":`+good+`}`, `{}`)
			w.settle(14, time.Minute)
			w.spec("c0", `{"maintenance":`+maintenance+`}`)
			w.input(`{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"version":"10.2.0"}}}`)
			w.settle(2, time.Minute)
			if got, want := refusal(e.rsp), "spec.maintenance."+tc.want; got != want {
				t.Errorf("%s\nof the claim: want %q\ngot %q", tc.reason, want, got)
			}
			if got := e.status("channel", "message"); w.version("c0") != "10.1.1" || !strings.HasPrefix(got, "waits for its maintenance window") {
				t.Errorf("%s\nthe tenant has %s and says %q", tc.reason, w.version("c0"), got)
			}
			w.spec("c0", `{}`)
			e.plan("standard", `{"maintenance":`+maintenance+`}`)
			w.settle(2, time.Minute)
			if got, want := refusal(e.rsp), "plan standard: spec.maintenance."+tc.want; got != want {
				t.Errorf("%s\nof the plan: want %q\ngot %q", tc.reason, want, got)
			}
		})
	}
}
