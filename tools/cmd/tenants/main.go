// Command tenants prints what a Prometheus with the rules of examples/monitoring knows of all tenants, over all cells. See docs/cells.md.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/virtual-argocd/virtual-argocd/tools/tenants"
)

type cli struct {
	Prometheus string        `help:"The address of Prometheus, of one host or above several." default:"http://localhost:9090" placeholder:"URL"`
	Token      string        `help:"A bearer token for it." env:"PROMETHEUS_TOKEN" placeholder:"TOKEN"`
	Timeout    time.Duration `help:"How long it may take." default:"1m"`

	List listCmd `cmd:"" default:"withargs" help:"Print each cell, and each tenant with its versions, Applications, clusters and deployments."`
	Cost costCmd `cmd:"" help:"Print what each tenant has occupied within a month, as CSV: core hours, and GiB hours of memory and volumes."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c cli
	k := kong.Parse(&c, kong.Name("tenants"), kong.Description("Print what Prometheus knows of all tenants of Virtual Argo CD, over all cells."))
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	k.BindTo(ctx, (*context.Context)(nil))
	k.FatalIfErrorf(k.Run(tenants.Prometheus{URL: c.Prometheus, Token: c.Token, Client: http.DefaultClient}))
}

type listCmd struct {
	Trouble bool   `help:"Only tenants that aren't Ready, have Applications that aren't Synced or Healthy, or have lost clusters."`
	Output  string `help:"How to print." enum:"table,json" default:"table" short:"o"`
}

func (c listCmd) Run(ctx context.Context, p tenants.Prometheus) error {
	now := time.Now()
	cells, err := p.Cells(ctx, now)
	if err != nil {
		return err
	}
	all, err := p.Tenants(ctx, now)
	if err != nil {
		return err
	}
	if len(cells) == 0 && len(all) == 0 {
		return fmt.Errorf("%s knows of no tenants: does it have the rules of examples/monitoring, or take what they record?", p.URL)
	}
	if c.Trouble {
		all = slices.DeleteFunc(all, func(t tenants.Tenant) bool { return !t.Trouble() })
	}
	if c.Output == "json" {
		out := json.NewEncoder(os.Stdout)
		out.SetIndent("", "  ")
		return out.Encode(map[string]any{"cells": cells, "tenants": all})
	}
	if err := tenants.PrintCells(os.Stdout, cells); err != nil {
		return err
	}
	fmt.Println()
	return tenants.PrintTenants(os.Stdout, all)
}

type costCmd struct {
	Month string `help:"The month in UTC, such as 2026-11. Default: the current one, until now." placeholder:"YYYY-MM"`
}

func (c costCmd) Run(ctx context.Context, p tenants.Prometheus) error {
	from, to, err := tenants.Month(c.Month, time.Now())
	if err != nil {
		return err
	}
	costs, err := p.Costs(ctx, from, to)
	if err != nil {
		return err
	}
	return tenants.PrintCosts(os.Stdout, costs)
}
