package channel_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestChannelWindows: a tenant takes the offer in its window, and after its freeze.
func TestChannelWindows(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.ReadyFleet(t, 3, `{}`)
	fleet.Now = crossplanetest.Start.Add(24 * time.Hour)
	fleet.Tenants["c0"].SetSpec(`{"channel":"stable","maintenance":{"timeWindow":{"begin":"220000+0100","end":"030000+0100"}}}`)
	fleet.Tenants["c1"].SetSpec(`{"channel":"stable","maintenance":{"freeze":{"until":"2026-01-06","reason":"audit"}}}`)
	fleet.Step(time.Minute)
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", `{}`))
	fleet.Settle(10, time.Minute)
	fleet.CheckVersions(map[string]int{"10.1.1": 2, "10.2.0": 1})
	fleet.CheckCondition("stable", v1alpha1.ConditionProgressing, true, "wait for their maintenance windows: team-a/c0; frozen: team-a/c1")
	for name, want := range map[string]string{"c0": "waits for its maintenance window, Saturday 2026-01-03 22:00 +0100; would change: chart argo-cd 10.1.1 to 10.2.0", "c1": "is frozen until 2026-01-06: audit; would"} {
		if got := fleet.Tenants[name].Status("channel", "message"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: want message %q, got %q", name, want, got)
		}
	}
	fleet.Now = time.Date(2026, 1, 3, 21, 0, 0, 0, time.UTC)
	fleet.Settle(5, time.Minute)
	if got := fleet.Version("c0"); got != "10.2.0" {
		t.Errorf("in its window c0 has %s", got)
	}
	fleet.Now = time.Date(2026, 1, 6, 0, 0, 0, 0, time.UTC)
	fleet.Settle(5, time.Minute)
	fleet.CheckVersions(map[string]int{"10.2.0": 3})
}

// TestWindowWithoutChannel: a tenant without a channel takes the platform's changes in its
// window, and its claim's at once.
func TestWindowWithoutChannel(t *testing.T) {
	t.Parallel()
	fleet := crossplanetest.NewFleet(t)
	fleet.AddClaim("c0", `{"maintenance":{"timeWindow":{"begin":"220000+0100","end":"030000+0100"}}}`, `{}`)
	fleet.AddClaim("c1", `{}`, `{}`)
	fleet.Settle(14, time.Minute)
	fleet.SetInput(`{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"version":"10.2.0"}}}`)
	fleet.Settle(4, time.Minute)
	fleet.CheckVersions(map[string]int{"10.1.1": 1, "10.2.0": 1})
	if e := fleet.Tenants["c0"]; !strings.HasPrefix(e.Status("channel", "message"), "waits for its maintenance window") || e.Status("phase") != "Ready" {
		t.Errorf("c0 is %s and says %q", e.Status("phase"), e.Status("channel", "message"))
	}
	if crossplanetest.Field(fleet.Tenants["c1"].XR(), "status", "channel") != nil {
		t.Error("a tenant without a channel that waits for nothing says something of channels")
	}
	fleet.Tenants["c0"].SetSpec(`{"maintenance":{"freeze":{"until":"2027-01-01","reason":"ask with token=abc123def"}}}`)
	fleet.Step(time.Minute)
	if got := fleet.Tenants["c0"].Status("channel", "message"); !strings.HasPrefix(got, "is frozen until 2027-01-01: ask with token=[redacted]") {
		t.Errorf("c0 says what may be a secret: %q", got)
	}
	fleet.Tenants["c0"].SetSpec(`{"argocd":{"values":{"server":{"replicas":2}}},"maintenance":{"timeWindow":{"begin":"220000+0100","end":"030000+0100"}}}`)
	fleet.Step(time.Minute)
	if got := replicas(fleet.Tenants["c0"]); got != 2 || fleet.Version("c0") != "10.1.1" {
		t.Errorf("the claim's own change waits, or brings the platform's: it has %v replicas of %s", got, fleet.Version("c0"))
	}
	fleet.Now = time.Date(2026, 1, 3, 20, 59, 50, 0, time.UTC)
	fleet.Step(10 * time.Second)
	if ttl := fleet.Tenants["c0"].Response.GetMeta().GetTtl().AsDuration(); ttl != 10*time.Second {
		t.Errorf("its window opens in 10 s, and it looks again in %s", ttl)
	}
	fleet.Settle(3, time.Minute)
	fleet.CheckVersions(map[string]int{"10.2.0": 2})
	for name, want := range map[string][]string{"c0": {v1alpha1.EventUpdateAvailable, v1alpha1.EventUpdateTaken}, "c1": nil} {
		if got := updates(fleet.Tenants[name]); !slices.Equal(got, want) {
			t.Errorf("%s has the events %q, want %q", name, got, want)
		}
	}
}

// TestWindowInTimeZone: a window in a time zone opens by the clock there, of a claim and of a plan, with a channel and without. In
// Berlin clocks are put forward on 2026-03-29.
func TestWindowInTimeZone(t *testing.T) {
	t.Parallel()
	const maintenance = `"maintenance":{"timeWindow":{"begin":"220000","end":"030000","timeZone":"Europe/Berlin"},"days":["Sun"]}`
	fleet := crossplanetest.NewFleet(t)
	fleet.SetChannel("stable", crossplanetest.Offer("10.1.1", `{}`))
	fleet.AddClaim("alone", `{`+maintenance+`}`, `{}`)
	fleet.AddClaim("member", `{"channel":"stable",`+maintenance+`}`, `{}`)
	fleet.AddClaim("planned", `{"plan":"small"}`, `{}`).AddPlan("small", `{`+maintenance+`}`)
	fleet.Settle(14, time.Minute)
	record := func() string {
		return crossplanetest.Field(fleet.Tenants["member"].Observed(tenant.ChannelRecord), "data").String()
	}

	// It closes on Monday, 2026-03-23, at 3:00: what comes then waits for the next Sunday, when it is summer.
	fleet.Now = time.Date(2026, 3, 23, 1, 46, 0, 0, time.UTC)
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", `{}`))
	fleet.SetInput(`{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"version":"10.2.0"}}}`)
	fleet.Settle(3, time.Minute)
	fleet.CheckVersions(map[string]int{"10.1.1": 3})
	const waits = "waits for its maintenance window, Sunday 2026-03-29 22:00 +0200"
	for name, e := range fleet.Tenants {
		if got := e.Status("channel", "message"); !strings.HasPrefix(got, waits) {
			t.Errorf("%s: want %q, got %q", name, waits, got)
		}
	}
	// Clocks that change are no change of the window, which would wake the channel.
	before := record()
	fleet.Now = time.Date(2026, 3, 29, 19, 59, 50, 0, time.UTC)
	fleet.Step(10 * time.Second)
	fleet.CheckVersions(map[string]int{"10.1.1": 3})
	if got := record(); got != before {
		t.Errorf("the tenant's record was\n%s\nand is\n%s", before, got)
	}
	for name, e := range fleet.Tenants {
		if ttl := e.Response.GetMeta().GetTtl().AsDuration(); ttl != 10*time.Second {
			t.Errorf("the window of %s opens in 10 s, and it looks again in %s", name, ttl)
		}
	}
	fleet.Settle(4, time.Minute)
	fleet.CheckVersions(map[string]int{"10.2.0": 3})
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
			fleet := crossplanetest.NewFleet(t)
			good := strings.NewReplacer(tc.begin, "220000", `"`+tc.zone+`"`, `"Europe/Berlin"`).Replace(maintenance)
			e := fleet.AddClaim("c0", `{"maintenance":`+good+`}`, `{}`)
			fleet.Settle(14, time.Minute)
			fleet.Tenants["c0"].SetSpec(`{"maintenance":` + maintenance + `}`)
			fleet.SetInput(`{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"version":"10.2.0"}}}`)
			fleet.Settle(2, time.Minute)
			// What is wrong with the window's end, too, comes after it.
			if got, want := crossplanetest.Refusal(e.Response), "spec.maintenance."+tc.want; !strings.HasPrefix(got, want) {
				t.Errorf("%s\nof the claim: want %q\ngot %q", tc.reason, want, got)
			}
			if got := e.Status("channel", "message"); fleet.Version("c0") != "10.1.1" || !strings.HasPrefix(got, "waits for its maintenance window") {
				t.Errorf("%s\nthe tenant has %s and says %q", tc.reason, fleet.Version("c0"), got)
			}
			fleet.Tenants["c0"].SetSpec(`{}`)
			e.AddPlan("standard", `{"maintenance":`+maintenance+`}`)
			fleet.Settle(2, time.Minute)
			if got, want := crossplanetest.Refusal(e.Response), "plan standard: spec.maintenance."+tc.want; !strings.HasPrefix(got, want) {
				t.Errorf("%s\nof the plan: want %q\ngot %q", tc.reason, want, got)
			}
		})
	}
}
