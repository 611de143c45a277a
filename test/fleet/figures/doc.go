// Package figures measures what a cluster uses.
package figures
