package helm

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"strconv"
	"strings"

	utiljson "sigs.k8s.io/json"

	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
)

// States of a release in Helm's records.
const (
	pendingRollback = "pending-rollback"
	uninstalling    = "uninstalling"
	failed          = "failed"
)

// Interrupted reports whether a state of a release, as provider-helm reads it, means that Helm was interrupted, because its process was
// killed or the API server was away, and that neither Helm nor provider-helm goes on from there. provider-helm runs one operation on a
// release at a time, so a release that it reads as pending-rollback or uninstalling is in no operation any more.
//
// From pending-install and pending-upgrade, provider-helm 1.3.0 rolls back (shouldRollBack in pkg/controller/cluster/release/release.go).
// For pending-rollback it upgrades instead, which Helm refuses for ever with "another operation (install/upgrade/rollback) is in progress";
// with uninstalling, a release whose chart and values are as specified counts as up to date, and stays half uninstalled without an error. A
// failed release it rolls back or upgrades. Upstream, shouldRollBack would have these two states, too.
func Interrupted(state string) bool { return state == pendingRollback || state == uninstalling }

// A record is a Secret of Helm's.
type record struct {
	Metadata struct {
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
	Data struct {
		Release []byte `json:"release"`
	} `json:"data"`
}

// ShowInterruptedAsFailed returns a response with a Secret or a list of Secrets as provider-helm gets it: if Helm was interrupted, the last
// record of the release in it has the state failed. Everything else stays as it is, including a response that can't be decoded. The caller
// has called CheckRecords before. It is an error if the response exceeds the limits afterwards.
func ShowInterruptedAsFailed(l limits.Limits, response []byte) ([]byte, error) {
	if !bytes.Contains(response, []byte(`"`+pendingRollback+`"`)) && !bytes.Contains(response, []byte(`"`+uninstalling+`"`)) {
		return response, nil
	}
	secrets := struct {
		record `json:",inline"`

		Items []record `json:"items"`
	}{}
	if utiljson.UnmarshalCaseSensitivePreserveInts(response, &secrets) != nil {
		return response, nil
	}
	last, newest := -1, record{}
	for _, s := range append(secrets.Items, secrets.record) {
		labels := s.Metadata.Labels
		if version, err := strconv.Atoi(labels["version"]); err == nil && labels["owner"] == "helm" && Interrupted(labels["status"]) && version > last {
			last, newest = version, s
		}
	}
	changed, err := asFailed(l, newest.Data.Release, newest.Metadata.Labels["status"])
	if limits.IsExceeded(err) {
		return nil, err
	} else if err != nil {
		return response, nil
	}
	// JSON escapes nothing in base64.
	text := base64.StdEncoding.EncodeToString
	response = bytes.Replace(response, []byte(text(newest.Data.Release)), []byte(text(changed)), 1)
	if int64(len(response)) > l.LargeResponse {
		return nil, limits.TooLarge(l.LargeResponse)
	}
	return response, nil
}

// stateWithin is how many bytes of an unpacked record are searched for the state of the release. The manifest and the values come later.
const stateWithin = 64 << 10

// asFailed returns a record of Helm (base64 of gzip) with the state failed in place of the given one. It never holds the whole record
// unpacked in memory, and unpacks no more than the limit.
func asFailed(l limits.Limits, record []byte, state string) ([]byte, error) {
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(record)))
	if err != nil {
		return nil, err
	}
	plain := &io.LimitedReader{R: z, N: l.RecordBytes + 1}
	head, err := io.ReadAll(io.LimitReader(plain, stateWithin))
	if err != nil {
		return nil, err
	}
	before, after, found := bytes.Cut(head, []byte(`"status":"`+state+`"`))
	if !found {
		return nil, errors.New("the record doesn't say that state")
	}
	out := &bounded{most: l.LargeResponse}
	encoder := base64.NewEncoder(base64.StdEncoding, out)
	w, err := gzip.NewWriterLevel(encoder, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(w, io.MultiReader(bytes.NewReader(before), strings.NewReader(`"status":"`+failed+`"`), bytes.NewReader(after), plain)); err != nil {
		return nil, err
	}
	if err := errors.Join(w.Close(), encoder.Close()); err != nil {
		return nil, err
	}
	if plain.N == 0 {
		return nil, limits.Exceeded("the last record of Helm unpacks to more than %d bytes", l.RecordBytes)
	}
	return out.Bytes(), nil
}

// A bounded buffer takes no more than most bytes.
type bounded struct {
	bytes.Buffer

	most int64
}

func (b *bounded) Write(p []byte) (int, error) {
	if int64(b.Len()+len(p)) > b.most {
		return 0, limits.TooLarge(b.most)
	}
	return b.Buffer.Write(p)
}
