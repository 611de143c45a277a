package crossplanetest

// Catalogue is an input whose catalogue has three components: workflows, of which claims may set some values, rollouts, which comes with values of
// the argo-cd chart, and sealed, which has no workloads.
const Catalogue = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","components":[` +
	`{"name":"workflows","chart":{"repository":"https://argoproj.github.io/argo-helm","name":"argo-workflows","version":"1.0.18","values":{"crds":{"full":false},"controller":{"replicas":1}}},` +
	`"namespace":"argo","workloads":[{"kind":"Deployment","name":"argo-workflows-server"},{"kind":"Deployment","name":"argo-workflows-workflow-controller"}],"claimValues":["controller.resources","server"]},` +
	`{"name":"rollouts","chart":{"repository":"https://argoproj.github.io/argo-helm","name":"argo-rollouts","version":"2.41.0"},"workloads":[{"kind":"Deployment","name":"argo-rollouts"}],"claimValues":["*"],` +
	`"argocdValues":{"server":{"extensions":{"enabled":true}}}},` +
	`{"name":"sealed","chart":{"repository":"https://charts.example.org","name":"sealed-secrets","version":"2.18.0"}}]}`
