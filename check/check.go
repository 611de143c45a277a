package check

import (
	"context"
	"fmt"
	"io"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/virtual-argocd/virtual-argocd/internal/pages"
)

// A Level says how much a finding matters.
type Level string

// Levels of findings. Without what is Missing, no tenant comes up or tenants aren't isolated.
const (
	OK      Level = "OK"
	Note    Level = "NOTE"
	Missing Level = "MISSING"
)

// A Finding is what was seen, and for anything but OK what to do.
type Finding struct {
	Level     Level
	What, How string
}

// A Host is the cluster that is looked at.
type Host struct {
	// Discovery says which version and which kinds the cluster has.
	Discovery discovery.DiscoveryInterface
	// Objects reads objects.
	Objects dynamic.Interface
	// Namespace is that of Crossplane.
	Namespace string
}

// checks look at one thing each.
var checks = []func(context.Context, Host) ([]Finding, error){
	kubernetes, storage, crossplane, packages, policies, resolver, ingress,
}

// Run looks at everything that can be read, and prints a line for each finding. It returns an error if something is missing, or can't be read.
func Run(ctx context.Context, h Host, out io.Writer) error {
	var found []Finding
	for _, check := range checks {
		more, err := check(ctx, h)
		if err != nil {
			more = append(more, Finding{Missing, "cannot look: " + err.Error(), "apply check.yaml of this release, which has the rights"})
		}
		found = append(found, more...)
	}
	return Print(out, found...)
}

// Print prints findings, and returns an error if something is missing.
func Print(out io.Writer, found ...Finding) error {
	missing := 0
	for _, f := range found {
		line := fmt.Sprintf("%-8s %s", f.Level, f.What)
		if f.How != "" {
			line += ": " + f.How
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
		if f.Level == Missing {
			missing++
		}
	}
	if missing > 0 {
		return fmt.Errorf("the host lacks %d things: %s says where the files are that are named here", missing, pages.Install)
	}
	return nil
}

func one(f Finding) []Finding { return []Finding{f} }
