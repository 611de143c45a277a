package helm

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
)

// recordIn is a record of Helm in a state, by its label and by its content.
func recordIn(owner, label, state string) corev1.Secret {
	s := secretWith("sh.helm.release.v1.argocd.v2", packed(`{"name":"argocd","version":2,"info":{"status":"`+state+`","description":"Rollback to 1"},"manifest":"<&> \u2028"}`))
	s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}
	s.Labels = map[string]string{"owner": owner, "name": "argocd", "status": label, "version": "2"}
	s.ResourceVersion = "12345678901234567890"
	return s
}

// contentOf a record, as Helm unpacks it.
func contentOf(t *testing.T, s corev1.Secret) map[string]any {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(string(s.Data["release"]))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	if err := json.NewDecoder(z).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestShowInterruptedAsFailed: provider-helm reads that a release has failed in which Helm was interrupted in a state from which it doesn't go
// on, whether it reads the record alone or in a list.
func TestShowInterruptedAsFailed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		is   corev1.Secret
		want string
	}{
		"RollingBack":        {recordIn("helm", "pending-rollback", "pending-rollback"), "failed"},
		"Removing":           {recordIn("helm", "uninstalling", "uninstalling"), "failed"},
		"Upgrading":          {recordIn("helm", "pending-upgrade", "pending-upgrade"), "pending-upgrade"},
		"Deployed":           {recordIn("helm", "deployed", "deployed"), "deployed"},
		"OfAnotherTool":      {recordIn("flux", "pending-rollback", "pending-rollback"), "pending-rollback"},
		"DeployedByItsLabel": {recordIn("helm", "deployed", "pending-rollback"), "pending-rollback"},
		"OtherByItsLabel":    {recordIn("helm", "uninstalling", "pending-rollback"), "pending-rollback"},
	} {
		t.Run(name, func(t *testing.T) {
			check := func(how string, s corev1.Secret, want string) {
				t.Helper()
				content := contentOf(t, s)
				info, _ := content["info"].(map[string]any)
				if info["status"] != want {
					t.Errorf("%s: the record says %v, want %s", how, info["status"], want)
				}
				if content["version"] != 2.0 || content["manifest"] != "<&> \u2028" || info["description"] != "Rollback to 1" || s.ResourceVersion != c.is.ResourceVersion {
					t.Errorf("%s: the rest of the record is another one: %v", how, content)
				}
			}
			one := corev1.Secret{}
			shown(t, c.is, &one)
			check("alone", one, c.want)
			list := corev1.SecretList{}
			shown(t, corev1.SecretList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}, Items: []corev1.Secret{recordIn("helm", "deployed", "deployed"), c.is}}, &list)
			if len(list.Items) != 2 {
				t.Fatalf("%d records", len(list.Items))
			}
			check("in a list", list.Items[1], c.want)
			check("beside it", list.Items[0], "deployed")
		})
	}
}

// shown decodes a response as provider-helm gets it.
func shown(t *testing.T, response, into any) {
	t.Helper()
	out, err := ShowInterruptedAsFailed(limits.Default, encoded(t, response))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, into); err != nil {
		t.Fatal(err)
	}
}

// TestInterruptedUnreadable: what isn't a record of Helm's stays as it is.
func TestInterruptedUnreadable(t *testing.T) {
	unpacked := func(release []byte) []byte {
		s := recordIn("helm", "pending-rollback", "pending-rollback")
		s.Data["release"] = release
		out, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	whole := packed(`{"info":{"status":"pending-rollback"},"manifest":"` + strings.Repeat("a b c ", 30_000) + `"}`)
	truncated := whole[:len(whole)/8*4]
	for name, answer := range map[string][]byte{
		"NoJSON":    []byte(`{"a": "pending-rollback"`),
		"NoSecret":  []byte(`["pending-rollback"]`),
		"NoItems":   []byte(`{"items": ["pending-rollback"]}`),
		"NoRecord":  unpacked(nil),
		"NotBase64": unpacked([]byte("%")),
		"NotPacked": unpacked([]byte(base64.StdEncoding.EncodeToString([]byte("{}")))),
		"NotJSON":   unpacked(packed("{")),
		"NoInfo":    unpacked(packed("{}")),
		"Late":      unpacked(packed(`{"name":"` + strings.Repeat("a", stateWithin) + `","info":{"status":"pending-rollback"}}`)),
		"Truncated": unpacked(truncated),
	} {
		if got, err := ShowInterruptedAsFailed(limits.Default, answer); !bytes.Equal(got, answer) || err != nil {
			t.Errorf("%s: %s is shown as %s, %v", name, answer, got, err)
		}
	}
}

// TestInterruptedIsWithinLimits: a record isn't larger as it is shown than an answer may be, and no more of it is unpacked than of any other.
func TestInterruptedIsWithinLimits(t *testing.T) {
	t.Parallel()
	text := `{"info":{"status":"pending-rollback"},"manifest":"`
	for n := range 20_000 {
		text += strconv.Itoa(n * n % 1009)
	}
	var buffer bytes.Buffer
	z, err := gzip.NewWriterLevel(&buffer, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	s := recordIn("helm", "pending-rollback", "pending-rollback")
	s.Data["release"] = []byte(base64.StdEncoding.EncodeToString(buffer.Bytes()))
	answer, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	l := limits.Default
	l.LargeResponse = int64(len(answer))
	if got, err := ShowInterruptedAsFailed(l, answer); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("%d bytes are shown as %d: %v", len(answer), len(got), err)
	}
	if got, err := asFailed(l, s.Data["release"], pendingRollback); err != nil || len(got) < 1000 {
		t.Fatalf("the record has %d bytes, %v: this shows little", len(got), err)
	}
	l.LargeResponse = 1000
	if _, err := asFailed(l, s.Data["release"], pendingRollback); err == nil || !strings.Contains(err.Error(), "more than 1000 bytes") {
		t.Errorf("the record alone: %v", err)
	}
	l = limits.Default
	l.RecordBytes = int64(len(text)) - 1
	// Another decoder reads no record in this.
	answer = bytes.Replace(answer, []byte(`"type":`), []byte(`"data":null,"type":`), 1)
	if err := CheckRecords(l, answer); err != nil {
		t.Fatal(err)
	}
	if got, err := ShowInterruptedAsFailed(l, answer); err == nil || !strings.Contains(err.Error(), "unpacks to more than") {
		t.Errorf("%d bytes are shown as %d: %v", len(answer), len(got), err)
	}
}
