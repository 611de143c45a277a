// Package chart tests the Helm chart charts/virtual-argocd: that it installs what the files of examples/install install, and what its values do.
package chart
