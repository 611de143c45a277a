package connections

import (
	"time"

	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

const MaxMessages = maxMessages

// Kept returns of how many Argo CDs there are observations, and how many connections and hosts of a pod's requests there are of one.
func (s *Store) Kept(c *virtualapi.Client, namespace, pod string) (stored, connections, hosts int) {
	o := s.all.Of(c, namespace)
	return s.all.Len(), len(o.connections), len(o.requests[pod])
}

// DataOf returns the data with connections that fail with a message.
func (s *Store) DataOf(keys []proxy.ConnectionKey, message string) map[string]string {
	o := &observations{connections: map[proxy.ConnectionKey]observation{}}
	for _, k := range keys {
		o.set(k, proxy.Connection{Message: message}, time.Now())
	}
	data, _ := o.data(keys)
	return data
}
