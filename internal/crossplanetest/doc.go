// Package crossplanetest plays Crossplane, its providers and the host cluster for tests that drive the whole function, without a cluster.
//
// An Engine has one composite resource. Reconcile calls the function as Crossplane does and applies what it desires; RunProviders does the
// work of the providers, of Helm, of vcluster and of Kubernetes on what was applied. Install repeats both until the tenant is Ready:
//
//	e := crossplanetest.New(t, `{"ingress":{"host":"a.example.org"}}`, "").Install()
//	e.SetReplicas("argocd-server", 0)
//	e.Reconcile()
//	e.Condition(v1alpha1.ConditionArgoCDReady)
//
// The methods named Set and Add say what is observed next, those named Check report what is wrong. A Fleet has several tenants and channels
// on one control plane. Each file has what one side does, or what tests read: claim.go what a claim's author changes, providers.go what the
// providers do, response.go what the function answers.
//
// What Crossplane itself makes of a composition is tested elsewhere: test/render renders tenants with Crossplane's own engine.
package crossplanetest
