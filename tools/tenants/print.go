package tenants

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
)

// none stands for what there isn't.
func none(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// PrintCells writes a line for each cell.
func PrintCells(w io.Writer, cells []Cell) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(t, "CELL\tTENANTS\tREADY\tDEGRADED\tROOM\tCPU REQUESTED\tMEMORY REQUESTED")
	for _, c := range cells {
		_, _ = fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%.0f%%\t%.0f%%\n", none(c.Name), c.Tenants, c.Ready, c.Degraded, c.Room, 100*c.CPU, 100*c.Memory)
	}
	return t.Flush()
}

// PrintTenants writes a line for each tenant.
func PrintTenants(w io.Writer, tenants []Tenant) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(t, "CELL\tTENANT\tPHASE\tPLAN\tCHANNEL\tARGOCD\tKUBERNETES\tAPPLICATIONS\tOUT OF SYNC\tNOT HEALTHY\tCLUSTERS LOST\tDEPLOYMENTS A DAY")
	for _, x := range tenants {
		_, _ = fmt.Fprintf(t, "%s\t%s/%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\n", none(x.Cell), x.Namespace, x.Claim, none(x.Phase), none(x.Plan), none(x.Channel),
			none(x.ArgoCD), none(x.Kubernetes), x.Applications, x.OutOfSync, x.NotHealthy, x.ClustersLost, x.Deployments)
	}
	return t.Flush()
}

// PrintCosts writes CSV with a line for each tenant, and for each plan and namespace on the host that it has had.
func PrintCosts(w io.Writer, costs []Cost) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{
		"cell", "namespace", "claim", "plan", "host namespace", "CPU core-hours requested", "CPU core-hours used", "CPU core-hours",
		"memory GiB-hours requested", "memory GiB-hours used", "memory GiB-hours", "volumes GiB-hours",
	})
	for _, c := range costs {
		line := []string{c.Cell, c.Namespace, c.Claim, c.Plan, c.HostNamespace}
		for _, v := range []float64{c.CPURequested, c.CPUUsed, c.CPU, c.MemRequested, c.MemUsed, c.Mem, c.Storage} {
			line = append(line, strconv.FormatFloat(v, 'f', 2, 64))
		}
		_ = out.Write(line)
	}
	out.Flush()
	return out.Error()
}
