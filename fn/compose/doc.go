// Package compose builds a tenant's composed resources: one file for each, and
// one table (table.go) that says which are wanted, what each waits for, and what
// makes it ready.
package compose
