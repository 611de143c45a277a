package proxy

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// recordIn is a record of Helm in a state, by its label and by its content.
func recordIn(owner, label, state string) corev1.Secret {
	s := secretWith("sh.helm.release.v1.argocd.v2", record(`{"name":"argocd","version":2,"info":{"status":"`+state+`","description":"Rollback to 1"},"manifest":"<&> \u2028"}`))
	s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}
	s.Labels = map[string]string{"owner": owner, "name": "argocd", "status": label, "version": "2"}
	s.ResourceVersion = "12345678901234567890"
	return s
}

// contentOf a record, as Helm unpacks it.
func contentOf(t *testing.T, s corev1.Secret) map[string]any {
	t.Helper()
	packed, err := base64.StdEncoding.DecodeString(string(s.Data["release"]))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	if err := json.NewDecoder(z).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestCutShort: provider-helm reads that a release has failed on which Helm was cut short amid what it can't go on with.
func TestCutShort(t *testing.T) {
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
			deployed := recordIn("helm", "deployed", "deployed")
			v := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/api/v1/namespaces/argocd/secrets" && r.Method == http.MethodGet {
					reply(w, corev1.SecretList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}, Items: []corev1.Secret{deployed, c.is}})
				} else {
					reply(w, c.is)
				}
			})
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
			secrets := v.client.CoreV1().Secrets("argocd")
			one, err := secrets.Get(context.Background(), "a", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			check("alone", *one, c.want)
			list, err := secrets.List(context.Background(), metav1.ListOptions{})
			if err != nil || len(list.Items) != 2 {
				t.Fatalf("%d records: %v", len(list.Items), err)
			}
			check("in a list", list.Items[1], c.want)
			check("beside it", list.Items[0], "deployed")
			written, err := secrets.Update(context.Background(), &c.is, metav1.UpdateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			check("as written", *written, contentOf(t, c.is)["info"].(map[string]any)["status"].(string))
		})
	}
}

// TestCutShortUnreadable: what isn't a record of Helm's stays as it is.
func TestCutShortUnreadable(t *testing.T) {
	unpacked := func(release []byte) []byte {
		s := recordIn("helm", "pending-rollback", "pending-rollback")
		s.Data["release"] = release
		out, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	whole := record(`{"info":{"status":"pending-rollback"},"manifest":"` + strings.Repeat("a b c ", 30_000) + `"}`)
	truncated := whole[:len(whole)/8*4]
	for name, answer := range map[string][]byte{
		"NoJSON":    []byte(`{"a": "pending-rollback"`),
		"NoSecret":  []byte(`["pending-rollback"]`),
		"NoItems":   []byte(`{"items": ["pending-rollback"]}`),
		"NoRecord":  unpacked(nil),
		"NotBase64": unpacked([]byte("%")),
		"NotPacked": unpacked([]byte(base64.StdEncoding.EncodeToString([]byte("{}")))),
		"NotJSON":   unpacked(record("{")),
		"NoInfo":    unpacked(record("{}")),
		"Late":      unpacked(record(`{"name":"` + strings.Repeat("a", stateWithin) + `","info":{"status":"pending-rollback"}}`)),
		"Truncated": unpacked(truncated),
	} {
		if got, err := DefaultLimits.ShowCutShort(answer); !bytes.Equal(got, answer) || err != nil {
			t.Errorf("%s: %s is shown as %s, %v", name, answer, got, err)
		}
	}
}

// TestCutShortIsWithinLimits: a record isn't larger as it is shown than an answer may be, and no more of it is unpacked than of any other.
func TestCutShortIsWithinLimits(t *testing.T) {
	t.Parallel()
	text := `{"info":{"status":"pending-rollback"},"manifest":"`
	for n := range 20_000 {
		text += strconv.Itoa(n * n % 1009)
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
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
	s.Data["release"] = []byte(base64.StdEncoding.EncodeToString(packed.Bytes()))
	answer, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	l := DefaultLimits
	l.LargeAnswer = int64(len(answer))
	if got, err := l.ShowCutShort(answer); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("%d bytes are shown as %d: %v", len(answer), len(got), err)
	}
	if got, err := l.failed(s.Data["release"], stateRollingBack); err != nil || len(got) < 1000 {
		t.Fatalf("the record has %d bytes, %v: this shows little", len(got), err)
	}
	l.LargeAnswer = 1000
	if _, err := l.failed(s.Data["release"], stateRollingBack); err == nil || !strings.Contains(err.Error(), "more than 1000 bytes") {
		t.Errorf("the record alone: %v", err)
	}
	l = DefaultLimits
	l.Records = int64(len(text)) - 1
	// Another decoder reads no record in this.
	answer = bytes.Replace(answer, []byte(`"type":`), []byte(`"data":null,"type":`), 1)
	if err := l.CheckRecords(answer); err != nil {
		t.Fatal(err)
	}
	if got, err := l.ShowCutShort(answer); err == nil || !strings.Contains(err.Error(), "unpacks to more than") {
		t.Errorf("%d bytes are shown as %d: %v", len(answer), len(got), err)
	}
}
