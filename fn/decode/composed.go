package decode

// Composed is an observed composed resource.
type Composed struct {
	Struct
	// Connection are its connection details: never to leave but as such.
	Connection map[string][]byte
}

// Exists tells whether the resource is observed.
func (c Composed) Exists() bool { return c.s != nil }

// Deployed tells whether Helm's last change of a Release has succeeded.
func (c Composed) Deployed() bool { return c.String("status", "atProvider", "state") == "deployed" }

// Current tells whether the provider has seen the newest spec: while it rolls
// out a change, the conditions are about what was before. Providers that don't
// say which generation they saw are believed.
func (c Composed) Current() bool {
	seen := c.Condition("Synced").ObservedGeneration
	return seen == 0 || seen >= c.Int(0, "metadata", "generation")
}
