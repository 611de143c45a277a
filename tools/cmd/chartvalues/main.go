// Command chartvalues records which values Helm charts have, for messages about values that they don't have. See the Makefile.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/alecthomas/kong"

	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
	"github.com/virtual-argocd/virtual-argocd/tools/chartvalues"
)

type flags struct {
	Into    string   `required:"" help:"Folder with the records, one for each chart."`
	Version string   `help:"Version of the chart, if its folder has none, as in vcluster's repository."`
	Charts  []string `arg:"" type:"existingdir" help:"Folders of charts."`
}

func main() {
	var f flags
	kong.Parse(&f)
	for _, folder := range f.Charts {
		if err := record(folder, f.Into, f.Version); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

const comment = `# Which values the %s chart has, by minor version: recorded from the chart by "make chart-values", not written by hand.
# Behind a key are the versions that have it, if not all do; * if any key may be below it; ! if the chart renders it as a template; and
# after tabs what it is by default, if that isn't empty, or a digest of it.
`

// record records the values of a chart in the record of charts with its name.
func record(folder, into, version string) error {
	c, err := chartvalues.Read(folder)
	if err != nil {
		return err
	}
	c.Version = cmp.Or(version, c.Version)
	path := filepath.Join(into, c.Name+".txt")
	r := &known.Record{}
	switch raw, err := os.ReadFile(path); {
	case err == nil:
		if r, err = known.Parse(string(raw)); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := r.Set(c.Version, c.Values); err != nil {
		return fmt.Errorf("%s: %w", folder, err)
	}
	fmt.Println("recorded", c.Name, c.Version)
	return os.WriteFile(path, []byte(fmt.Sprintf(comment, c.Name)+r.String()), 0o644)
}
