package server

import (
	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

// Names for tests of this package, which are outside of it because internal/proxytest imports it.
const MinWatch = minWatch

var (
	CheckEvent      = checkEvent
	ShowApplication = showApplication
)

// ClientOf returns the client for a token.
func (s *Server) ClientOf(token string) (*virtualapi.Client, error) {
	return s.clients.of("Bearer " + token)
}

// Memory returns the memory for responses.
func (s *Server) Memory() *limits.Memory { return s.clients.memory }
