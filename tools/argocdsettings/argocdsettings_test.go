package argocdsettings

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRead: settings of the documentation and of the manifests, with how the programs read their environment variables.
func TestRead(t *testing.T) {
	older, newer := t.TempDir(), t.TempDir()
	for folder, reader := range map[string]string{older: "ParseNumFromEnv", newer: "ParseDurationFromEnv"} {
		for path, text := range map[string]string{
			"docs/operator-manual/argocd-cm.yaml":            "data:\n  url: a\n  timeout: 1s\n",
			"docs/operator-manual/argocd-cmd-params-cm.yaml": "data:\n  server.insecure: \"false\"\n",
			"docs/operator-manual/argocd-rbac-cm.yaml":       "data:\n  policy.csv: a\n",
			"docs/operator-manual/argocd-secret.yaml":        "stringData:\n  tls.crt: a\n",
			"manifests/base/server/server.yaml": `apiVersion: v1
kind: List
spec: []
---
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      containers:
      - env:
        - {name: INSECURE, valueFrom: {configMapKeyRef: {name: argocd-cmd-params-cm, key: server.insecure}}}
        - {name: WORKERS, valueFrom: {configMapKeyRef: {name: argocd-cmd-params-cm, key: server.workers}}}
        - {name: TIMEOUT, valueFrom: {configMapKeyRef: {name: argocd-cm, key: timeout}}}
        - {name: CHANGED, valueFrom: {configMapKeyRef: {name: argocd-cmd-params-cm, key: server.changed}}}
        - {name: TWICE, valueFrom: {configMapKeyRef: {name: argocd-cmd-params-cm, key: server.twice}}}
        - {name: PLAIN, value: a}
`,
			"common/common.go": "package common\nconst EnvTimeout = \"TIMEOUT\"",
			"server/server.go": "package server\nvar a = env.ParseBoolFromEnv(\"INSECURE\", false)\nvar b = env.ParseNumFromEnv(\"WORKERS\", 5, 1, math.MaxInt32)\nvar c = env.ParseDurationFromEnv(common.EnvTimeout, time.Minute, time.Second, math.MaxInt64)\n" +
				"var d = env." + reader + "(\"CHANGED\", 0, 0, 1)\nvar e = env.ParseBoolFromEnv(\"TWICE\", false)\nvar f = os.Getenv(\"TWICE\")",
			"server/server_test.go": "package server\nvar a = env.StringFromEnv(\"INSECURE\", \"\")",
		} {
			at := filepath.Join(folder, path)
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := Read(older, newer)
	if err != nil {
		t.Fatal(err)
	}
	want := `cm timeout duration
cm url text
params server.changed text
params server.insecure bool
params server.twice text
params server.workers number 1
rbac policy.csv text
secret tls.crt text
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if _, err := Read(t.TempDir()); err == nil {
		t.Error("a folder without Argo CD is read")
	}
}
