package wire

import "slices"

// Composed is an observed composed resource.
type Composed struct {
	Struct
	// Connection are its connection details: never to leave but as such.
	Connection map[string][]byte
}

// Deployed reports whether Helm's last change of a Release has succeeded.
func (c Composed) Deployed() bool { return c.String("status", "atProvider", "state") == "deployed" }

// Installed returns the version of a Release's chart that Helm has installed: the one in
// its spec, once Helm's record says the same, and otherwise the one from before. The
// record alone proves nothing: it is within the tenant's reach.
func (c Composed) Installed(before string) string {
	if v := c.String("spec", "forProvider", "chart", "version"); c.Deployed() && c.String("status", "atProvider", "version") == v && v != "" {
		return v
	}
	return before
}

// Current reports whether the provider has seen the newest spec: while it rolls
// out a change, the conditions are about what was before. Providers that don't
// say which generation they saw are believed.
func (c Composed) Current() bool {
	seen := c.Condition("Synced").ObservedGeneration
	return seen == 0 || seen >= c.Int(0, "metadata", "generation")
}

// TakenBack reports whether a Release stays as it was before a change that failed: its
// provider may make it, and may not change it.
func (c Composed) TakenBack() bool {
	policies := c.Strings("spec", "managementPolicies")
	return slices.Contains(policies, "Create") && !slices.Contains(policies, "Update")
}

// Healthy reports whether a provider reports a resource synced and ready, as it
// is wanted now.
func (c Composed) Healthy() bool {
	return (c.Condition("Ready").True() || c.upgraded()) && !c.Condition("Synced").False() && c.Current()
}

// upgraded reports whether a Release's last change has succeeded. After an upgrade
// provider-helm leaves Ready as it was found before, False, until it looks again:
// ten minutes later.
func (c Composed) upgraded() bool {
	return c.Condition("Synced").True() && c.Deployed()
}
