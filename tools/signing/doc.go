// Package signing signs packages in a registry, and attests what is in them and how they were built, as `cosign sign` and `cosign attest`
// do, with cosign's library.
//
// Signatures and attestations have the form that Crossplane reads: they are images of their own, tagged sha256-<digest>.sig and .att.
// cosign 3 writes another form by default, Sigstore bundles, which Crossplane 2.4 doesn't read. Each has an entry in a transparency log
// (Rekor), without which Crossplane accepts none, whether it was signed with a key or without.
package signing
