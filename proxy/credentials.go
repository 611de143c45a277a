package proxy

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
)

// URL is where the proxy listens: on the loopback address of the provider's pod.
const URL = "http://" + Address

// Address of the proxy, in the form host:port.
const Address = "127.0.0.1:8089"

// Credentials of a virtual API server. A provider sends them with each request, as its bearer token: the proxy has no store of credentials,
// and forgets those that no provider uses any more.
type Credentials struct {
	// Server is the URL of the Service in front of the virtual API server, such as
	// https://vcluster.vargo-team-a.svc.
	Server string `json:"server"`
	// CA of the server's certificate, Certificate of the client and its Key, in PEM.
	CA          []byte `json:"ca"`
	Certificate []byte `json:"certificate"`
	Key         []byte `json:"key"`
}

// Token returns the credentials as a bearer token: JSON in base64. It is an error that ReadToken would refuse it.
func (c Credentials) Token() (string, error) {
	if err := c.check(); err != nil {
		return "", err
	}
	raw, err := json.Marshal(c)
	return base64.RawURLEncoding.EncodeToString(raw), err
}

// ReadToken returns the credentials in a bearer token. Errors contain nothing of it.
func ReadToken(token string) (*Credentials, error) {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	c := &Credentials{}
	if err != nil || json.Unmarshal(raw, c) != nil {
		return nil, errors.New("the request has no credentials that the function has written")
	}
	return c, c.check()
}

// check refuses a server that isn't a Service of the cluster. The name of a Service ends with .svc here, whatever the DNS domain of the
// cluster is: other names could be those of servers outside.
func (c *Credentials) check() error {
	server, err := url.Parse(c.Server)
	if err != nil || server.Scheme != "https" || !strings.HasSuffix(server.Hostname(), ".svc") || server.Path != "" || server.RawQuery != "" || server.User != nil {
		return errors.New("the server in the request's credentials is not the URL of a Service, such as https://vcluster.vargo-team-a.svc")
	}
	return nil
}
