package render

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

const (
	root = "../.."
	// operator is the Prometheus operator's module, kustomizations and sources are Flux's.
	operator       = "github.com/prometheus-operator/prometheus-operator"
	kustomizations = "github.com/fluxcd/kustomize-controller"
	sources        = "github.com/fluxcd/source-controller"
)

var update = flag.Bool("update", false, "write the golden files anew")

// env is what all tests share: the programs they run, and the function.
var env struct {
	// cli is Crossplane's command line, crossplane its core with the engine.
	cli, crossplane string
	// home is the home folder of the programs: a person's settings have no say.
	home string
	// modules are the source folders of the modules whose schemas are used.
	modules map[string]string
	// gatewayAPI are the files of the Gateway API's schemas.
	gatewayAPI []string
	// function is the address of the function that is under test, stop ends it.
	function string
	stop     func() error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if env.stop != nil {
		if err := env.stop(); err != nil {
			fmt.Fprintf(os.Stderr, "FAIL: %v\n", err)
			code = 1
		}
	}
	_ = os.RemoveAll(env.home)
	os.Exit(code)
}

// setUp makes env ready. Not in TestMain: `go test` asks whether a result that it
// remembers still holds by what tests read, and looks on only while they run.
func setUp(t *testing.T) {
	t.Helper()
	check(t, setUpOnce())
}

var setUpOnce = sync.OnceValue(func() (err error) {
	if env.home, err = os.MkdirTemp("", "render-"); err != nil {
		return err
	}
	if err := findTools(); err != nil {
		return err
	}
	return startFunction()
})

func findTools() error {
	cache, err := toolchain.Default()
	if err != nil {
		return err
	}
	for tool, path := range map[string]*string{"crossplane-cli": &env.cli, "crossplane": &env.crossplane} {
		if *path, err = cache.Binary(tool); err != nil {
			return fmt.Errorf("a program that these tests run is missing, `make test-tools` builds it: %w", err)
		}
	}
	env.modules = map[string]string{}
	for _, tool := range []string{"provider-helm", "provider-kubernetes", "crossplane", "argocd"} {
		if env.modules[tool], err = cache.ModuleDir(context.Background(), tool); err != nil {
			return err
		}
	}
	for module, version := range schemas {
		if env.modules[module], err = toolchain.Download(context.Background(), module, version); err != nil {
			return err
		}
	}
	env.gatewayAPI, err = toolchain.GatewayAPI(context.Background())
	return err
}

// schemas are the versions of modules of which only the schemas are used.
var schemas = map[string]string{
	// The version whose Go types test/monitoring reads.
	operator:       "v0.88.0",
	kustomizations: "v1.9.6",
	sources:        "v1.9.6",
}

// crossplane runs Crossplane's command line.
func crossplane(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, env.cli, args...)
	cmd.Env = append(os.Environ(), "HOME="+env.home)
	var out, msg bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &msg
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("crossplane %s %s: %w\n%s", args[0], args[1], err, msg.String())
	}
	return out.Bytes(), nil
}
