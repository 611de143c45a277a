package credentials

import (
	"encoding/pem"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
)

// TestReadVirtualKubeconfig: what a virtual cluster writes is taken for the tenant's.
func TestReadVirtualKubeconfig(t *testing.T) {
	certificate, key, err := cert.GenerateSelfSignedCertKey("vcluster", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		change func(*clientcmdapi.Config, *clientcmdapi.Cluster, *clientcmdapi.AuthInfo)
		// want is part of the error, "" for none.
		want string
	}{
		"AsWritten": {"vcluster's own.", func(*clientcmdapi.Config, *clientcmdapi.Cluster, *clientcmdapi.AuthInfo) {}, ""},
		"AnotherServer": {"The server is not taken from it.", func(_ *clientcmdapi.Config, c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.Server = "http://203.0.113.7"
		}, ""},
		"Program": {"The provider would run it.", func(_ *clientcmdapi.Config, _ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.Exec = &clientcmdapi.ExecConfig{Command: "true", APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode}
		}, "user.exec"},
		"AuthProvider": {"The provider would load it.", func(_ *clientcmdapi.Config, _ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.AuthProvider = &clientcmdapi.AuthProviderConfig{Name: "oidc"}
		}, "user.auth-provider"},
		"FileWithToken": {"The provider would send its own token.", func(_ *clientcmdapi.Config, _ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.TokenFile = "/var/run/secrets/token"
		}, "user.tokenFile"},
		"FileWithKey": {"The provider would read it.", func(_ *clientcmdapi.Config, _ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.ClientKey = "/tls.key"
		}, "user.client-key"},
		"FileWithCA": {"The provider would read it.", func(_ *clientcmdapi.Config, c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.CertificateAuthority = "/ca.crt"
		}, "cluster.certificate-authority"},
		"Impersonation": {"vcluster writes none.", func(_ *clientcmdapi.Config, _ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.Impersonate = "admin"
		}, "user.as"},
		"Proxy": {"The provider would connect to it.", func(_ *clientcmdapi.Config, c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.ProxyURL = "http://203.0.113.7"
		}, "cluster.proxy-url"},
		"OtherServersName": {"The server is the tenant's own.", func(_ *clientcmdapi.Config, c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.TLSServerName = "kubernetes"
		}, "cluster.tls-server-name"},
		"NoVerification": {"Anybody could be the server.", func(_ *clientcmdapi.Config, c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.CertificateAuthorityData, c.InsecureSkipTLSVerify = nil, true
		}, "cluster.insecure-skip-tls-verify"},
		"Token": {"vcluster writes a certificate.", func(_ *clientcmdapi.Config, _ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.Token = "t" }, "user.token"},
		"UserName": {"vcluster writes a certificate.", func(_ *clientcmdapi.Config, _ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.Username = "a"
		}, "user.username"},
		"NoCA": {"The server can't be verified.", func(_ *clientcmdapi.Config, c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.CertificateAuthorityData = nil
		}, "certificate-authority-data"},
		"NoKey": {"Nothing can be opened.", func(_ *clientcmdapi.Config, _ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.ClientKeyData = nil }, "client-key-data"},
		"LongKey": {"Whoever connects with it would take long.", func(_ *clientcmdapi.Config, _ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.ClientKeyData = pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: make([]byte, maxKeySize)})
		}, "user.client-key-data has"},
		"KeyAsCertificate": {"Nothing can be opened.", func(_ *clientcmdapi.Config, _ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.ClientCertificateData = u.ClientKeyData
		}, "user.client-certificate-data is no certificate"},
		"FileWithCertificate": {"The provider would read it.", func(_ *clientcmdapi.Config, _ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.ClientCertificate = "/tls.crt"
		}, "user.client-certificate,"},
		"ImpersonationOfAUID": {"vcluster writes none.", func(_ *clientcmdapi.Config, _ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.ImpersonateUID = "0"
		}, "user.as"},
		"ImpersonationOfGroups": {"vcluster writes none.", func(_ *clientcmdapi.Config, _ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.ImpersonateGroups = []string{"system:masters"}
		}, "user.as"},
		"ImpersonationWithMore": {"vcluster writes none.", func(_ *clientcmdapi.Config, _ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.ImpersonateUserExtra = map[string][]string{"scopes": {"all"}}
		}, "user.as"},
		"Password": {"vcluster writes a certificate.", func(_ *clientcmdapi.Config, _ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.Password = "b"
		}, "user.username"},
		"LongCertificate": {"Whoever connects with it would take long.", func(_ *clientcmdapi.Config, _ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.ClientCertificateData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: make([]byte, maxCertificateSize)})
		}, "user.client-certificate-data has"},
		"LongCA": {"Whoever connects with it would take long.", func(_ *clientcmdapi.Config, c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.CertificateAuthorityData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: make([]byte, maxCertificateSize)})
		}, "cluster.certificate-authority-data has"},
		"NoContext": {"Nothing is chosen.", func(f *clientcmdapi.Config, _ *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			f.CurrentContext = "x"
		}, "current-context"},
		"TooLarge": {"Its readers are the tenants' of all.", func(_ *clientcmdapi.Config, c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.CertificateAuthorityData = make([]byte, maxKubeconfigSize)
		}, "more than"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cluster := &clientcmdapi.Cluster{Server: "https://vcluster.vargo-a.svc:443", CertificateAuthorityData: certificate}
			user := &clientcmdapi.AuthInfo{ClientCertificateData: certificate, ClientKeyData: key}
			file := &clientcmdapi.Config{
				CurrentContext: "v", Clusters: map[string]*clientcmdapi.Cluster{"v": cluster}, AuthInfos: map[string]*clientcmdapi.AuthInfo{"v": user},
				Contexts: map[string]*clientcmdapi.Context{"v": {Cluster: "v", AuthInfo: "v"}},
			}
			tc.change(file, cluster, user)
			raw, err := clientcmd.Write(*file)
			if err != nil {
				t.Fatal(err)
			}
			c, err := ReadVirtualKubeconfig(raw)
			if tc.want == "" {
				if err != nil || string(c.CA) != string(certificate) || string(c.Certificate) != string(certificate) || string(c.Key) != string(key) {
					t.Errorf("\n%s\n%v, %v", tc.reason, c, err)
				}
				return
			}
			if c != nil || err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("\n%s\nwant an error with %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}
