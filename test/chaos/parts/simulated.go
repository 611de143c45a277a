package parts

import (
	"context"
	"fmt"
	"time"

	"github.com/virtual-argocd/virtual-argocd/test/fleet/provider"
)

// A Provider is a simulated one.
type Provider struct {
	name    string
	process *provider.Process
}

// NewProvider returns a simulated provider as a part of the platform.
func NewProvider(name string, p *provider.Process) Provider { return Provider{name, p} }

// startsIn is how long Kubernetes takes to restart a provider.
const startsIn = 2 * time.Second

// Keep runs the provider until ctx is done, and starts it again whenever it ends.
func (p Provider) Keep(ctx context.Context) {
	for ; ctx.Err() == nil; sleep(ctx, startsIn) {
		if err := p.process.Run(ctx); err != nil && ctx.Err() == nil {
			fmt.Printf("The simulated %s starts again: %v\n", p.name, err)
		}
	}
}

// Kill implements Part.
func (p Provider) Kill(context.Context) error {
	p.process.Kill()
	return nil
}

// Stop implements Part.
func (p Provider) Stop(context.Context) (func(), error) {
	p.process.Stop()
	return p.process.Continue, nil
}

// A ControlPlane is the simulated control plane of a tenant, and also its volume: without either, the virtual cluster doesn't answer.
type ControlPlane struct {
	Simulation *provider.Simulation
	Faults     *provider.Faults
	// Tenant returns the id of the tenant; "" if it doesn't exist.
	Tenant func() string
}

// Kill implements Part.
func (c ControlPlane) Kill(context.Context) error {
	id := c.Tenant()
	if id == "" {
		return ErrNotThere
	}
	c.Simulation.RestartControlPlane(id)
	return nil
}

// Stop implements Part.
func (c ControlPlane) Stop(context.Context) (func(), error) { return c.give(provider.Silent) }

// Slow implements Slower.
func (c ControlPlane) Slow(context.Context) (func(), error) { return c.give(provider.Slow) }

func (c ControlPlane) give(fault provider.Fault) (func(), error) {
	id := c.Tenant()
	if id == "" {
		return nil, ErrNotThere
	}
	c.Faults.Give(fault, id)
	return func() { c.Faults.Take(fault, id) }, nil
}
