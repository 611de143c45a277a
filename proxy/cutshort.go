package proxy

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	utiljson "sigs.k8s.io/json"
)

// States of a release in Helm's records.
const (
	stateRollingBack = "pending-rollback"
	stateRemoving    = "uninstalling"
	stateFailed      = "failed"
)

// CutShort reports whether a state of a release, as provider-helm reads it, means that Helm
// was interrupted, because its process was killed or the API server was away. provider-helm
// runs one operation on a release at a time, so a release that it reads as being rolled back
// or uninstalled isn't any more. Helm refuses to change such a release, and provider-helm
// would never touch it again. A failed release it rolls back or upgrades.
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

// ShowCutShort returns an API server's answer with a Secret or a list of Secrets. If Helm was
// interrupted, the last record of the release in it says that the release has failed.
// Everything else stays as it is, including answers that can't be decoded. It is an error if the
// answer goes over the limits then. The caller has checked it before.
func (l Limits) ShowCutShort(answer []byte) ([]byte, error) {
	if !bytes.Contains(answer, []byte(`"`+stateRollingBack+`"`)) && !bytes.Contains(answer, []byte(`"`+stateRemoving+`"`)) {
		return answer, nil
	}
	secrets := struct {
		helmRecord `json:",inline"`

		Items []helmRecord `json:"items"`
	}{}
	if utiljson.UnmarshalCaseSensitivePreserveInts(answer, &secrets) != nil {
		return answer, nil
	}
	last, newest := -1, helmRecord{}
	for _, s := range append(secrets.Items, secrets.helmRecord) {
		labels := s.Metadata.Labels
		if version, err := strconv.Atoi(labels["version"]); err == nil && labels["owner"] == "helm" && CutShort(labels["status"]) && version > last {
			last, newest = version, s
		}
	}
	record, err := l.failed(newest.Data.Release, newest.Metadata.Labels["status"])
	if over := (*overLimit)(nil); errors.As(err, &over) {
		return nil, err
	} else if err != nil {
		return answer, nil
	}
	// JSON escapes nothing in base64.
	text := base64.StdEncoding.EncodeToString
	answer = bytes.Replace(answer, []byte(text(newest.Data.Release)), []byte(text(record)), 1)
	if int64(len(answer)) > l.LargeAnswer {
		return nil, tooLong(l.LargeAnswer)
	}
	return answer, nil
}

// stateWithin is how many bytes of an unpacked record are searched for the state of the
// release. The manifest and the values come later.
const stateWithin = 64 << 10

// failed returns a record of Helm (base64 of gzip) with the state failed in place of the
// given one. It never holds the whole record unpacked in memory, and unpacks no more than the
// limit.
func (l Limits) failed(record []byte, state string) ([]byte, error) {
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(record)))
	if err != nil {
		return nil, err
	}
	plain := &io.LimitedReader{R: z, N: l.Records + 1}
	head, err := io.ReadAll(io.LimitReader(plain, stateWithin))
	if err != nil {
		return nil, err
	}
	before, after, found := bytes.Cut(head, []byte(`"status":"`+state+`"`))
	if !found {
		return nil, errors.New("the record doesn't say that state")
	}
	out := &short{most: l.LargeAnswer}
	encoder := base64.NewEncoder(base64.StdEncoding, out)
	w, err := gzip.NewWriterLevel(encoder, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(w, io.MultiReader(bytes.NewReader(before), strings.NewReader(`"status":"`+stateFailed+`"`), bytes.NewReader(after), plain)); err != nil {
		return nil, err
	}
	if err := errors.Join(w.Close(), encoder.Close()); err != nil {
		return nil, err
	}
	if plain.N == 0 {
		return nil, &overLimit{fmt.Sprintf("the last record of Helm unpacks to more than %d bytes", l.Records)}
	}
	return out.Bytes(), nil
}

// short is a buffer that takes no more than most bytes.
type short struct {
	bytes.Buffer

	most int64
}

func (s *short) Write(p []byte) (int, error) {
	if int64(s.Len()+len(p)) > s.most {
		return 0, tooLong(s.most)
	}
	return s.Buffer.Write(p)
}
