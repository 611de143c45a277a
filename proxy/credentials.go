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

// Credentials of a virtual API server. A provider sends them along with each request, as
// its bearer token, so that the proxy holds none.
type Credentials struct {
	// Server is the URL of the Service in front of the virtual API server, such as
	// https://vcluster.vargo-team-a.svc.
	Server string `json:"server"`
	// CA of the server's certificate, Certificate of the client and its Key, in PEM.
	CA          []byte `json:"ca"`
	Certificate []byte `json:"certificate"`
	Key         []byte `json:"key"`
}

// Token returns the credentials as a bearer token.
func (c Credentials) Token() (string, error) {
	raw, err := json.Marshal(c)
	return base64.RawURLEncoding.EncodeToString(raw), err
}

// readToken returns the credentials in an Authorization header. Errors show nothing of it.
func readToken(header string) (*Credentials, error) {
	token, found := strings.CutPrefix(header, "Bearer ")
	raw, err := base64.RawURLEncoding.DecodeString(token)
	c := &Credentials{}
	if !found || err != nil || json.Unmarshal(raw, c) != nil {
		return nil, errors.New("the request has no credentials that the function has written")
	}
	server, err := url.Parse(c.Server)
	if err != nil || server.Scheme != "https" || !strings.HasSuffix(server.Hostname(), ".svc") || server.Path != "" || server.RawQuery != "" || server.User != nil {
		return nil, errors.New("the server in the request's credentials is not the URL of a Service, such as https://vcluster.vargo-team-a.svc")
	}
	return c, nil
}
