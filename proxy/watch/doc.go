// Package watch answers the watches of provider-kubernetes in virtual clusters.
//
// For an Object with spec.watch, provider-kubernetes 1.2.1 runs an informer of all objects of its kind in all namespaces
// (internal/controller/cluster/object/informers.go), and keeps them whole, though it only needs to know when the one object changes.
// Version 1.4.1 keeps their metadata alone (crossplane-contrib/provider-kubernetes#425). In a virtual cluster a tenant decides how many
// ConfigMaps and Applications there are, and how often they change. Without a watch, the provider would have to poll each Object often, and
// it writes each to the host at every poll. Upstream, an informer with the field selector metadata.name, and a limit on how often one Object
// is reconciled, would replace this package for objects that exist in the virtual cluster.
//
// Here, an informer exists for one object of each Resource in each virtual cluster that a provider watches. It watches what may change the
// object, but only to learn that there was an event: a tenant can forge the content. After an event, and from time to time, it polls the
// object, and if its Digest isn't the one that the provider has read last, it notifies the provider, which then reads the object itself. To
// the provider, Informers answer a list or a watch of all objects of the kind with the name and a resourceVersion of that object alone.
package watch
