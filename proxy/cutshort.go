package proxy

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"strconv"

	utiljson "sigs.k8s.io/json"
)

// States of a release, as Helm's records say.
const (
	stateRollingBack = "pending-rollback"
	stateRemoving    = "uninstalling"
	stateFailed      = "failed"
)

// CutShort reports whether a release in this state is one on which Helm was cut short,
// because its process was killed or the API server away. provider-helm works on a release
// in one operation after the other, so whatever it reads as being rolled back or removed
// isn't any more. It would leave such a release alone for ever, and Helm refuses to change
// it; what has failed it takes back or upgrades.
func CutShort(state string) bool { return state == stateRollingBack || state == stateRemoving }

// A helmRecord is a Secret of Helm's.
type helmRecord struct {
	Metadata struct {
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
	Data struct {
		Release []byte `json:"release"`
	} `json:"data"`
}

// ShowCutShort returns Secrets, one or a list of them as an API server answers, in which
// the last record of a release on which Helm was cut short says that the release has
// failed. Whatever else there is, and what can't be read, is as it was. Its size has been
// checked.
func ShowCutShort(answer []byte) []byte {
	if !bytes.Contains(answer, []byte(`"`+stateRollingBack+`"`)) && !bytes.Contains(answer, []byte(`"`+stateRemoving+`"`)) {
		return answer
	}
	secrets := struct {
		helmRecord `json:",inline"`

		Items []helmRecord `json:"items"`
	}{}
	if utiljson.UnmarshalCaseSensitivePreserveInts(answer, &secrets) != nil {
		return answer
	}
	last, newest := -1, helmRecord{}
	for _, s := range append(secrets.Items, secrets.helmRecord) {
		labels := s.Metadata.Labels
		if version, err := strconv.Atoi(labels["version"]); err == nil && labels["owner"] == "helm" && CutShort(labels["status"]) && version > last {
			last, newest = version, s
		}
	}
	record, err := failed(newest.Data.Release, newest.Metadata.Labels["status"])
	if err != nil {
		return answer
	}
	// Text in base64 is the same in JSON.
	text := base64.StdEncoding.EncodeToString
	return bytes.Replace(answer, []byte(text(newest.Data.Release)), []byte(text(record)), 1)
}

// stateWithin is how far from its beginning a record says the state of the release. The
// manifest and the values come later.
const stateWithin = 64 << 10

// failed returns a record of Helm, base64 of gzip, that says that the release has failed
// in place of the state that it says. It never has the whole record unpacked at a time.
func failed(record []byte, state string) ([]byte, error) {
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(record)))
	if err != nil {
		return nil, err
	}
	head, err := io.ReadAll(io.LimitReader(z, stateWithin))
	if err != nil {
		return nil, err
	}
	before, after, found := bytes.Cut(head, []byte(`"status":"`+state+`"`))
	if !found {
		return nil, errors.New("the record doesn't say that state")
	}
	var out bytes.Buffer
	encoder := base64.NewEncoder(base64.StdEncoding, &out)
	w := gzip.NewWriter(encoder)
	if _, err := io.Copy(w, io.MultiReader(bytes.NewReader(before), bytes.NewReader([]byte(`"status":"`+stateFailed+`"`)), bytes.NewReader(after), z)); err != nil {
		return nil, err
	}
	if err := errors.Join(w.Close(), encoder.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
