package proxy

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	utiljson "sigs.k8s.io/json"
)

var secrets = regexp.MustCompile(`^/api/v1/(namespaces/[^/]+/)?secrets(/[^/]+)?/?$`)

// isSecrets reports whether answers to this path hold Secrets.
func isSecrets(path string) bool { return secrets.MatchString(path) }

// CheckRecords refuses Secrets, one or a list of them as an API server answers, with
// records of Helm that go over the limits. It reads them with the decoder of client-go,
// which Helm reads them with.
func (l Limits) CheckRecords(answer []byte) error {
	// A Secret, or a list of them.
	secrets := struct {
		corev1.Secret `json:",inline"`
		Items         []corev1.Secret `json:"items"`
	}{}
	if err := utiljson.UnmarshalCaseSensitivePreserveInts(answer, &secrets); err != nil {
		return &overLimit{"it answers with Secrets that can't be read"}
	}
	records, size, c := 0, int64(0), &counter{}
	for _, s := range append(secrets.Items, secrets.Secret) {
		release, ok := s.Data["release"]
		if !ok {
			continue
		}
		records++
		size += unpack(release, c, l.Records-size)
		if c.yaml.Expands() {
			return &overLimit{fmt.Sprintf("the record of Helm in Secret %s/%s has a text with a YAML anchor, such as &a, or a TAG directive, and such a text can expand to gigabytes: delete the Secret if Helm hasn't written it; if it has, take the anchor out of the values first",
				s.Namespace, s.Name)}
		}
		if records > l.RecordCount || size > l.Records || c.values > l.LargeValues || c.text > l.Text {
			return &overLimit{fmt.Sprintf("the records of Helm up to Secret %s/%s are more than %d, or unpack to more than %d bytes, %d values or %d items in texts: delete the Secrets of type helm.sh/release.v1 that Helm hasn't written",
				s.Namespace, s.Name, l.RecordCount, l.Records, l.LargeValues, l.Text)}
		}
	}
	return nil
}

// unpack writes a record of Helm to a counter: base64 of gzip, or of JSON in old versions.
// It returns its size, and stops at one byte more than most.
func unpack(record []byte, c *counter, most int64) int64 {
	packed, err := base64.StdEncoding.DecodeString(string(record))
	if err != nil {
		return 0 // Helm doesn't unpack it, either.
	}
	var plain io.Reader = bytes.NewReader(packed)
	if z, err := gzip.NewReader(bytes.NewReader(packed)); err == nil {
		plain = z
	}
	// Each record is JSON of its own.
	c.reset()
	// What is broken further on is unpacked until there.
	n, _ := io.Copy(c, io.LimitReader(plain, most+1))
	return n
}
