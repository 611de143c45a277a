// Package images lists every image, chart and package that an installation needs, for clusters that can't reach the registries of the internet, and
// copies them to a registry.
//
// The list is made from what is rendered: the function is called with the platform's input, each plan and each claim until it has composed all of a
// tenant (tenant.go); the charts of its Releases are pulled (charts.go) and rendered with their values (render.go); and everything is searched for
// images (find.go). vcluster.go has the images that vcluster starts itself, which are in no chart. manifests.go reads what installs the platform.
package images
