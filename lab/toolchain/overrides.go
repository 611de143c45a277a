package toolchain

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
)

// An override takes the place of a file in a module which a tool needs, or of all files
// that a pattern such as pkg/*.go names. It keeps out what the lab has no use for and
// what takes long to compile, or does otherwise what not every kernel can.
type override struct {
	module, file, content string
}

// legoProviders leaves out the clients of some 180 DNS services, by which Traefik
// could prove to a certificate authority whose a domain is. They are more than
// half of what would have to be compiled.
var legoProviders = override{"github.com/go-acme/lego/v4", "providers/dns/zz_gen_dns_providers.go", `package dns

import (
	"fmt"

	"github.com/go-acme/lego/v4/challenge"
)

// NewDNSChallengeProviderByName knows none.
func NewDNSChallengeProviderByName(name string) (challenge.Provider, error) {
	return nil, fmt.Errorf("this build has no DNS provider %q", name)
}
`}

// workflowsSignals is in place of the file for Linux, which the Go module of Argo Workflows lacks.
var workflowsSignals = override{"github.com/argoproj/argo-workflows/v4", "workflow/executor/osspecific/signal_*.go", `package osspecific

import (
	"os"
	"syscall"

	"github.com/argoproj/argo-workflows/v4/util/errors"
)

// Term asks a process to end.
var Term os.Signal = syscall.SIGTERM

// CanIgnoreSignal reports whether a signal isn't meant for the workflow's command: those of children, and those of Go's scheduler.
func CanIgnoreSignal(s os.Signal) bool { return s == syscall.SIGCHLD || s == syscall.SIGURG }

// Kill sends a signal to the group of a process.
func Kill(pid int, s syscall.Signal) error {
	if group, err := syscall.Getpgid(pid); err == nil {
		pid = -group
	}
	return syscall.Kill(pid, s)
}

// Setpgid gives a process a group of its own.
func Setpgid(a *syscall.SysProcAttr) { a.Setpgid = true }

// Wait waits until a process has ended. A shell's way is used for the exit code after a signal.
func Wait(process *os.Process) error {
	state, err := process.Wait()
	if err != nil {
		return err
	}
	code := state.ExitCode()
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = 128 + int(status.Signal())
	}
	return errors.NewExitErr(code)
}
`}

// traefikECS leaves out the services of AWS ECS as a source of routes, whose clients
// are a fifth of what would have to be compiled.
var traefikECS = override{"github.com/traefik/traefik/v3", "pkg/provider/ecs/*.go", `package ecs

import (
	"errors"

	"github.com/traefik/traefik/v3/pkg/config/dynamic"
	"github.com/traefik/traefik/v3/pkg/safe"
)

// Provider finds nothing.
type Provider struct {
	ExposedByDefault bool
}

// SetDefaults has nothing to do.
func (p *Provider) SetDefaults() {}

// Init refuses.
func (p *Provider) Init() error { return errors.New("this build has no provider for AWS ECS") }

// Provide is not called without Init.
func (p *Provider) Provide(chan<- dynamic.Message, *safe.Pool) error { return p.Init() }
`}

// kineDrivers leaves out all databases but the one that virtual clusters have in the
// lab, SQLite.
var kineDrivers = override{"github.com/k3s-io/kine", "pkg/endpoint/init.go", `package endpoint

import _ "github.com/k3s-io/kine/pkg/drivers/sqlite"
`}

// providerNebius leaves out Nebius' cloud, of whose Go SDK the module proxy doesn't have the version.
var providerNebius = override{"github.com/crossplane-contrib/provider-kubernetes", "pkg/kube/client/nebius/*.go", `package nebius

import (
	"context"
	"errors"

	"k8s.io/client-go/rest"
)

// SDKStore is empty.
type SDKStore struct{}

// NewSDKStore makes an empty one.
func NewSDKStore() *SDKStore { return &SDKStore{} }

// WrapRESTConfig refuses.
func WrapRESTConfig(context.Context, *rest.Config, []byte, *SDKStore) error {
	return errors.New("this build has no identities of Nebius")
}
`}

// corednsPlugins leaves out what neither the lab's Corefile nor vcluster's names:
// clouds' DNS services above all.
var corednsPlugins = override{"github.com/coredns/coredns", "core/plugin/zplugin.go", `package plugin

import (
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/hosts"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loadbalance"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/loop"
	_ "github.com/coredns/coredns/plugin/metrics"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/reload"
	_ "github.com/coredns/coredns/plugin/rewrite"
	_ "github.com/coredns/coredns/plugin/template"
)
`}

// prometheusDiscovery leaves out the clouds in which Prometheus could look for targets, whose
// clients are half of what would have to be compiled.
var prometheusDiscovery = override{"github.com/prometheus/prometheus", "plugins/*.go", `package plugins

import (
	_ "github.com/prometheus/prometheus/discovery/file"
	_ "github.com/prometheus/prometheus/discovery/kubernetes"
)
`}

// rcloneBackends and rcloneCommands leave out all stores but those that the lab has, and all commands but those that
// backups use: both are hundreds of packages.
var (
	rcloneBackends = override{"github.com/rclone/rclone", "backend/all/*.go", `package all

import (
	_ "github.com/rclone/rclone/backend/crypt"
	_ "github.com/rclone/rclone/backend/local"
	_ "github.com/rclone/rclone/backend/s3"
)
`}
	rcloneCommands = override{"github.com/rclone/rclone", "cmd/all/*.go", `package all

import (
	_ "github.com/rclone/rclone/cmd"
	_ "github.com/rclone/rclone/cmd/cat"
	_ "github.com/rclone/rclone/cmd/copyto"
	_ "github.com/rclone/rclone/cmd/deletefile"
	_ "github.com/rclone/rclone/cmd/listremotes"
	_ "github.com/rclone/rclone/cmd/lsf"
	_ "github.com/rclone/rclone/cmd/mkdir"
	_ "github.com/rclone/rclone/cmd/moveto"
	_ "github.com/rclone/rclone/cmd/obscure"
	_ "github.com/rclone/rclone/cmd/rcat"
	_ "github.com/rclone/rclone/cmd/size"
	_ "github.com/rclone/rclone/cmd/version"
)
`}
)

// linterV2 leaves out dashboards of Grafana's second schema, whose Go types are in no module that
// the proxy serves.
var linterV2 = override{"github.com/grafana/dashboard-linter", "lint/v2.go", `package lint

import (
	"encoding/json"
	"errors"
	"strings"
)

func isV2APIVersion(version string) bool { return strings.Contains(version, "v2") }

func newDashboardFromV2(json.RawMessage, string) (Dashboard, error) {
	return Dashboard{}, errors.New("this build knows no dashboards of the second schema")
}
`}

// queueByTarget hands packets to a program by the NFQUEUE target of xtables, which
// nftables accepts, too. Its own expression for that is an option of the kernel
// that not all have.
var queueByTarget = override{"github.com/google/nftables", "expr/queue.go", `package expr

import (
	"encoding/binary"
	"errors"

	"github.com/google/nftables/xt"
)

// QueueFlag is a flag of the target.
type QueueFlag uint16

// QueueFlagBypass lets packets pass while no program reads the queue.
const QueueFlagBypass QueueFlag = 1

// Queue hands packets to the program that reads the queue of that number.
type Queue struct {
	Num   uint16
	Total uint16
	Flag  QueueFlag
}

// target has the layout of struct xt_NFQ_info_v3 of the kernel, padded to 8 bytes.
func (e *Queue) target() *Target {
	info := make(xt.Unknown, 8)
	binary.NativeEndian.PutUint16(info[0:], e.Num)
	binary.NativeEndian.PutUint16(info[2:], max(e.Total, 1))
	binary.NativeEndian.PutUint16(info[4:], uint16(e.Flag))
	return &Target{Name: "NFQUEUE", Rev: 3, Info: &info}
}

func (e *Queue) marshal(fam byte) ([]byte, error) { return e.target().marshal(fam) }

func (e *Queue) marshalData(fam byte) ([]byte, error) { return e.target().marshalData(fam) }

func (e *Queue) unmarshal(byte, []byte) error { return errors.New("not read here") }
`}

// overriddenFolder is where the module of an override is.
func overriddenFolder(i int) string { return fmt.Sprintf("overridden-%d", i) }

// writeOverrides copies the modules of the overrides, in the versions that upstream's
// go.mod asks for, with the overrides in them.
func (m module) writeOverrides(ctx context.Context, dir string, upstream []byte) error {
	if len(m.overrides) == 0 {
		return nil
	}
	up, err := modfile.Parse("go.mod", upstream, nil)
	if err != nil {
		return fmt.Errorf("cannot parse the go.mod of %s: %w", m.path, err)
	}
	versions := map[string]string{m.path: m.version}
	for _, r := range up.Require {
		versions[r.Mod.Path] = r.Mod.Version
	}
	for i, o := range m.overrides {
		if versions[o.module] == "" {
			return fmt.Errorf("%s does not need %s any more: take the override of it away", m.path, o.module)
		}
		var sums [2]string
		if o.module == m.path {
			sums = m.sums
		}
		source, err := download(ctx, o.module, versions[o.module], sums)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, overriddenFolder(i))
		if err := os.CopyFS(to, os.DirFS(source)); err != nil {
			return fmt.Errorf("cannot copy %s: %w", o.module, err)
		}
		pattern := filepath.Join(to, filepath.FromSlash(o.file))
		files, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		if len(files) == 0 {
			return fmt.Errorf("%s has no file %s any more that an override could replace", o.module, o.file)
		}
		for _, file := range files {
			if err := os.Remove(file); err != nil {
				return err
			}
		}
		if err := os.WriteFile(strings.ReplaceAll(pattern, "*", "overridden"), []byte(o.content), 0o600); err != nil {
			return err
		}
	}
	return nil
}
