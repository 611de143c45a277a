//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// etcdMember is one of a virtual cluster's store, as its API server talks to it.
type etcdMember struct {
	namespace, pod string
	certs          *corev1.Secret
}

func (l *large) member(ctx context.Context, i int) (etcdMember, error) {
	certs, err := host.Typed.CoreV1().Secrets(l.namespace).Get(ctx, "vcluster-certs", metav1.GetOptions{})
	return etcdMember{l.namespace, fmt.Sprint("vcluster-etcd-", i), certs}, err
}

// leadingMember is the pod of the member that the others follow.
func (l *large) leadingMember(ctx context.Context, t *testing.T) string {
	t.Helper()
	var leader string
	eventually.True(ctx, t, time.Minute, "a member of etcd leads", func(ctx context.Context) (bool, string) {
		var problem error
		for i := range members {
			m, err := l.member(ctx, i)
			if err != nil {
				return false, err.Error()
			}
			leads, err := m.leads(ctx)
			if leads {
				leader = m.pod
				return true, ""
			}
			problem = err
		}
		return false, fmt.Sprint(problem)
	})
	return leader
}

// peers are the names of all members, by what this one knows.
func (m etcdMember) peers(ctx context.Context) ([]string, error) {
	var out struct{ Members []struct{ Name string } }
	err := m.ask(ctx, "/v3/cluster/member/list", map[string]any{}, &out)
	var names []string
	for _, m := range out.Members {
		names = append(names, m.Name)
	}
	return names, err
}

func (m etcdMember) leads(ctx context.Context) (bool, error) {
	var out struct {
		Header struct {
			Member string `json:"member_id"`
		}
		Leader string
	}
	err := m.ask(ctx, "/v3/maintenance/status", map[string]any{}, &out)
	return err == nil && out.Leader != "" && out.Leader == out.Header.Member, err
}

// has reports whether the member has a key itself, without asking the others.
func (m etcdMember) has(ctx context.Context, key string) (bool, error) {
	var out struct{ Count string }
	err := m.ask(ctx, "/v3/kv/range", map[string]any{"key": base64.StdEncoding.EncodeToString([]byte(key)), "count_only": true, "serializable": true}, &out)
	return out.Count == "1", err
}

// ask calls the member's API, inside its pod: nobody else reaches it.
func (m etcdMember) ask(ctx context.Context, path string, in, out any) error {
	config, err := rest.TLSConfigFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{
		CAData: m.certs.Data["etcd-ca.crt"], CertData: m.certs.Data["apiserver-etcd-client.crt"], KeyData: m.certs.Data["apiserver-etcd-client.key"], ServerName: "localhost",
	}})
	if err != nil {
		return fmt.Errorf("cannot use the certificates of etcd: %w", err)
	}
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: config,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return host.Forward(m.namespace, m.pod, 2379) },
	}}
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://etcd"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("cannot ask %s: %w", m.pod, err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", m.pod, resp.Status, data)
	}
	return json.Unmarshal(data, out)
}
