package memtest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sort"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Revision is that of the records. Helm takes them for the last ones of a release that has fewer.
const Revision = 1000

// Records are answers of a hostile virtual API server, in JSON: Secrets with a release record of Helm. Each is the largest of its kind
// that is accepted. The function is called concurrently.
func Records(accepted func(answer []byte) error) (map[string][]byte, error) {
	out := map[string][]byte{}
	var add sync.Mutex
	kinds := errgroup.Group{}
	kinds.SetLimit(runtime.GOMAXPROCS(0))
	for name, kind := range records {
		kinds.Go(func() error {
			var failed error
			answer := func(size int) []byte {
				text, err := list(kind(size))
				failed = errors.Join(failed, err)
				return text
			}
			largest := sort.Search(sizes, func(size int) bool { return accepted(answer(size)) != nil }) - 1
			most := answer(max(largest, 0))
			if failed != nil || largest < 0 {
				return fmt.Errorf("no size of %s is accepted: %w", name, failed)
			}
			add.Lock()
			defer add.Unlock()
			out[name] = most
			return nil
		})
	}
	return out, kinds.Wait()
}

// sizes is how many sizes each kind has. The largest is beyond the limits of the proxy, but for Nothing.
const sizes = 1000

// records are parts of a record of a size.
var records = map[string]func(size int) map[string]any{
	"Nothing": func(int) map[string]any { return map[string]any{} },
	"Maps":    func(n int) map[string]any { return config(strings.Repeat("{},", 60*n) + "{}") },
	"Lists":   func(n int) map[string]any { return config(strings.Repeat("[],", 60*n) + "[]") },
	"Numbers": func(n int) map[string]any { return config(strings.Repeat("0,", 110*n) + "0") },
	"Text":    func(n int) map[string]any { return config(`"` + text(42_000*n) + `"`) },
	"Templates": func(n int) map[string]any {
		return map[string]any{"chart": json.RawMessage(`{"templates":[` + strings.Repeat(`{},`, 60*n) + `{}]}`)}
	},
	"Hooks": func(n int) map[string]any {
		return map[string]any{"hooks": json.RawMessage("[" + strings.Repeat(`{},`, 60*n) + "{}]")}
	},
	"Sequences":    manifest("- - - - - - - - - - - - - - - - - -\n"),
	"FlowLists":    manifest("- [[],[],[],[],[],[],[],[],[],[],[]]\n"),
	"FlowMaps":     manifest("- {a: {}, b: {}, c: {}, d: {}, e: {}}\n"),
	"Lines":        manifest("- a\n"),
	"LongManifest": manifest("- " + text(10_000) + "\n"),
	"Members":      func(n int) map[string]any { return map[string]any{"manifest": members(800 * n)} },
}

func config(items string) map[string]any {
	return map[string]any{"config": json.RawMessage(`{"a":[` + items + `]}`)}
}

func manifest(line string) func(int) map[string]any {
	return func(n int) map[string]any {
		return map[string]any{"manifest": "kind: ConfigMap\na:\n" + strings.Repeat(line, min(800, 42_000/len(line)+1)*n)}
	}
}

func members(n int) string {
	b := &strings.Builder{}
	b.WriteString("kind: ConfigMap\n")
	for i := range n {
		fmt.Fprintf(b, "k%d: a\n", i)
	}
	return b.String()
}

// Pack returns a release record of Helm as it stands in a Secret: base64 of gzip.
func Pack(record []byte) []byte {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	// A buffer takes everything.
	_, _ = z.Write(record)
	_ = z.Close()
	return []byte(base64.StdEncoding.EncodeToString(packed.Bytes()))
}

// list is an answer with a record.
func list(parts map[string]any) ([]byte, error) {
	record := map[string]any{
		"name": "argocd", "namespace": "argocd", "version": Revision, "info": map[string]any{"status": "deployed"},
		// Of another version, so that provider-helm upgrades it.
		"chart": map[string]any{"metadata": map[string]any{"name": "argo-cd", "version": "0.0.1"}},
	}
	for key, part := range parts {
		record[key] = part
	}
	plain, err := json.Marshal(record)
	if err != nil {
		return nil, err
	}
	return json.Marshal(corev1.SecretList{Items: []corev1.Secret{{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("sh.helm.release.v1.argocd.v%d", Revision), Namespace: "argocd", Labels: map[string]string{
			"owner": "helm", "name": "argocd", "status": "deployed", "version": fmt.Sprint(Revision),
		}},
		Type: "helm.sh/release.v1",
		Data: map[string][]byte{"release": Pack(plain)},
	}}})
}
