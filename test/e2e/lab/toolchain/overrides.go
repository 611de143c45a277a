package toolchain

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
)

// An override is a file that takes the place of one in a module which a tool needs. It
// keeps out what the lab has no use for and what takes long to compile.
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
	versions := map[string]string{}
	for _, r := range up.Require {
		versions[r.Mod.Path] = r.Mod.Version
	}
	for i, o := range m.overrides {
		if versions[o.module] == "" {
			return fmt.Errorf("%s does not need %s any more: take the override of it away", m.path, o.module)
		}
		source, err := download(ctx, o.module, versions[o.module])
		if err != nil {
			return err
		}
		to := filepath.Join(dir, overriddenFolder(i))
		if err := os.CopyFS(to, os.DirFS(source)); err != nil {
			return fmt.Errorf("cannot copy %s: %w", o.module, err)
		}
		file := filepath.Join(to, filepath.FromSlash(o.file))
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("%s has no file %s any more that an override could replace: %w", o.module, o.file, err)
		}
		if err := os.WriteFile(file, []byte(o.content), 0o600); err != nil {
			return err
		}
	}
	return nil
}
