package node

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

// Config says which cluster is meant, and how it is to run.
type Config struct {
	// Cache holds the binaries and images, and below cluster/ the state.
	Cache toolchain.Cache
	// Name of the cluster: a DNS label of 30 characters or less.
	Name string
	// Index sets the cluster's addresses: 0 to 255, different for each cluster
	// that runs on the machine.
	Index int
	// ArgoCDChart is the folder or archive of a real argo-cd chart to serve in
	// place of the test chart.
	ArgoCDChart string
	// Upstream lets the cluster reach the network of the machine, and takes
	// images from the public registries.
	Upstream bool
	// Web gives the cluster an Argo CD with a web interface.
	Web bool
	// Progress is told what happens. May be nil.
	Progress toolchain.Progress
}

// FromEnvironment is the cluster that VARGO_CLUSTER names (default: "default"),
// on the addresses of VARGO_CLUSTER_INDEX (default: 0).
func FromEnvironment(c toolchain.Cache) (Config, error) {
	cfg := Config{Cache: c, Name: "default"}
	if name := os.Getenv("VARGO_CLUSTER"); name != "" {
		cfg.Name = name
	}
	if index := os.Getenv("VARGO_CLUSTER_INDEX"); index != "" {
		var err error
		if cfg.Index, err = strconv.Atoi(index); err != nil {
			return Config{}, fmt.Errorf("cannot use VARGO_CLUSTER_INDEX=%s: it must be a number from 0 to 255", index)
		}
	}
	return cfg, cfg.validate()
}

var validName = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,28}[a-z0-9])?$`)

func (c Config) validate() error {
	if !validName.MatchString(c.Name) {
		return fmt.Errorf("cannot use cluster name %q: write lower-case letters, digits and hyphens, starting with a letter, 30 characters or less", c.Name)
	}
	if c.Index < 0 || c.Index > 255 {
		return fmt.Errorf("cannot use cluster index %d: it must be from 0 to 255", c.Index)
	}
	return nil
}

// Addresses of the cluster.
func (c Config) Addresses() Addresses { return AddressesOf(c.Index) }

// Dir is the state folder of the cluster: Down removes it.
func (c Config) Dir() string { return filepath.Join(c.Cache.Dir(), "cluster", c.Name) }

// Kubeconfig is the file that opens the running cluster to its administrator.
func (c Config) Kubeconfig() string { return filepath.Join(c.Dir(), "kubeconfig") }

// Logs is the folder with one log of each daemon.
func (c Config) Logs() string { return filepath.Join(c.Dir(), "logs") }

func (c Config) dir() layout { return layout(c.Dir()) }

// id is what the cluster is called where names are global to the machine: its
// cgroups, host name, node and nftables table.
func (c Config) id() string { return "vargo-" + c.Name }

func (c Config) say(format string, args ...any) {
	if c.Progress != nil {
		c.Progress(fmt.Sprintf(format, args...))
	}
}

// A layout names the files of a state folder.
type layout string

func (l layout) in(elem ...string) string {
	return filepath.Join(append([]string{string(l)}, elem...)...)
}

func (l layout) record() string              { return l.in("cluster.json") }
func (l layout) log(daemon string) string    { return l.in("logs", daemon+".log") }
func (l layout) pki(file string) string      { return l.in("pki", file) }
func (l layout) etc(elem ...string) string   { return l.in(append([]string{"etc"}, elem...)...) }
func (l layout) kubeconfig(of string) string { return l.etc(of + ".kubeconfig") }
