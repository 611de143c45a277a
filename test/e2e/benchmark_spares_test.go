//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
)

const (
	// benchedSpares are in the pool when namespaced VirtualArgoCDs take them, stormOnSpares at once.
	benchedSpares = 3
	stormOnSpares = 20
)

// benchSpares measures the time to Ready from a spare that runs and from one that sleeps, one at a time and of many at once, while the pool
// makes new ones.
func benchSpares(ctx context.Context, t *testing.T, c *envconf.Config) context.Context {
	p := &pooled{}
	ctx = p.create(ctx, t, c)
	defer p.remove(ctx, t)
	var rows []string
	for i := range pairs {
		row := fmt.Sprintf("%-6d", i+1)
		for _, asleep := range []int64{0, 1} {
			p.set(ctx, t, fmt.Sprintf(`{"size":1,"asleep":%t}`, asleep > 0))
			p.offers(ctx, t, stormWithin, 1, asleep)
			l := p.take(ctx, t, fmt.Sprintf("bench-spare%d-%d", i, asleep))[0]
			row += fmt.Sprintf(" %14.1f", followed(ctx, t, l).ready.Seconds())
			deleteAndAwait(ctx, t, l, goneWithin)
		}
		rows = append(rows, row)
	}
	fmt.Printf("\nFrom a spare: seconds to Ready\n%-6s %14s %14s\n%s\n", "", "that runs", "that sleeps", strings.Join(rows, "\n"))

	p.set(ctx, t, fmt.Sprintf(`{"size":%d,"asleep":false}`, benchedSpares))
	p.offers(ctx, t, stormWithin, benchedSpares, 0)
	names := make([]string, stormOnSpares)
	for i := range names {
		names[i] = fmt.Sprintf("bench-storm%d", i)
	}
	began := time.Now()
	lives := p.take(ctx, t, names...)
	ready := make([]time.Duration, len(lives))
	together(t, "Storm", lives, func(t *testing.T, i int, l *claim.Live) { ready[i] = followed(ctx, t, l).ready })
	all := time.Since(began)
	slices.Sort(ready)
	fmt.Printf("\n%d at once on %d spares: seconds to Ready\n%14s %14s %14s\n%14.1f %14.1f %14.1f\n", stormOnSpares, benchedSpares,
		"first", fmt.Sprintf("first %d", benchedSpares), "all", ready[0].Seconds(), ready[benchedSpares-1].Seconds(), all.Seconds())
	together(t, "Deleted", lives, func(t *testing.T, _ int, l *claim.Live) { deleteAndAwait(ctx, t, l, stormWithin) })
	p.lives = nil
	return ctx
}

// together does something with all claims at once, and waits until it is done.
func together(t *testing.T, name string, lives []*claim.Live, each func(t *testing.T, i int, l *claim.Live)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		for i, l := range lives {
			t.Run(l.Name, func(t *testing.T) {
				t.Parallel()
				each(t, i, l)
			})
		}
	})
}
