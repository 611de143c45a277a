// Package status tells users how their tenant is: status fields, conditions,
// events and connection details, all from what is observed.
package status
