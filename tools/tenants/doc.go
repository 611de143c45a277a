// Package tenants reads from Prometheus what examples/monitoring/rules.yaml records of all tenants, of one host or of several cells: who runs what, what
// is broken, what each has cost, and for how many more there is room.
package tenants
