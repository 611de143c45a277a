package v1alpha1

// TrustedCertificateSpec says which certificates Argo CD trusts at a server.
type TrustedCertificateSpec struct {
	// Name or IPv4 address of the server, as in the URLs of repositories, without scheme and
	// port, such as git.example.org.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="write the name of a server without scheme and port, such as git.example.org"
	Server string `json:"server"`

	// Certificates in PEM: that of the CA that issued the server's certificate, or the server's
	// own. Argo CD trusts only these at that server.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	Certificates string `json:"certificates"`
}
