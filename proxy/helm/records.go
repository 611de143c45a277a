package helm

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"

	corev1 "k8s.io/api/core/v1"
	utiljson "sigs.k8s.io/json"

	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
)

// CheckRecords refuses a response with a Secret or a list of Secrets whose records of Helm exceed the limits. It reads them with the decoder
// of client-go, which Helm reads them with.
//
// Helm 3.21 reads a record as a whole, whatever it unpacks to (decodeRelease in pkg/storage/driver/util.go), and decodes its strings as YAML,
// in which aliases multiply. A tenant can write such Secrets. Upstream, a limit on what decodeRelease reads would replace this.
func CheckRecords(l limits.Limits, response []byte) error {
	// A Secret, or a list of them.
	secrets := struct {
		corev1.Secret `json:",inline"`
		Items         []corev1.Secret `json:"items"`
	}{}
	if err := utiljson.UnmarshalCaseSensitivePreserveInts(response, &secrets); err != nil {
		return limits.Exceeded("it answers with Secrets that can't be read")
	}
	records, size, c := 0, int64(0), &limits.Counter{}
	for _, s := range append(secrets.Items, secrets.Secret) {
		release, ok := s.Data["release"]
		if !ok {
			continue
		}
		records++
		size += unpack(release, c, l.RecordBytes-size)
		if c.Expands() {
			return limits.Exceeded("the record of Helm in Secret %s/%s has a text with a YAML anchor, such as &a, or a TAG directive, and such a text can expand to gigabytes: delete the Secret if Helm hasn't written it; if it has, take the anchor out of the values first",
				s.Namespace, s.Name)
		}
		if records > l.Records || size > l.RecordBytes || c.Values > l.LargeValues || c.TextItems > l.TextItems {
			return limits.Exceeded("the records of Helm up to Secret %s/%s are more than %d, or unpack to more than %d bytes, %d values or %d items in texts: delete the Secrets of type helm.sh/release.v1 that Helm hasn't written",
				s.Namespace, s.Name, l.Records, l.RecordBytes, l.LargeValues, l.TextItems)
		}
	}
	return nil
}

// unpack counts what a record of Helm contains: base64 of gzip, or of JSON in old versions. It returns the size of the JSON, and stops at one
// byte more than most. It keeps nothing of it.
func unpack(record []byte, c *limits.Counter, most int64) int64 {
	packed, err := base64.StdEncoding.DecodeString(string(record))
	if err != nil {
		return 0 // Helm doesn't unpack it, either.
	}
	var plain io.Reader = bytes.NewReader(packed)
	if z, err := gzip.NewReader(bytes.NewReader(packed)); err == nil {
		plain = z
	}
	// Each record is JSON of its own.
	c.Reset()
	// What is broken further on is unpacked until there.
	n, _ := io.Copy(c, io.LimitReader(plain, most+1))
	return n
}
