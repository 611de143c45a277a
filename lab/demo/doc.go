// Package demo brings up everything, applies one customer's claim, and shows
// what happens meanwhile to the person who waits.
package demo
