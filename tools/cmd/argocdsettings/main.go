// Command argocdsettings records which settings Argo CD has, for messages about those that it ignores. See the Makefile.
package main

import (
	"fmt"
	"os"

	"github.com/alecthomas/kong"

	"github.com/virtual-argocd/virtual-argocd/tools/argocdsettings"
)

type flags struct {
	Into    string   `required:"" help:"File with the record."`
	Sources []string `arg:"" type:"existingdir" help:"Folders with the source of versions of Argo CD."`
}

const comment = `# Which settings Argo CD has, by where they are, and how it reads them: recorded from the source of several versions by "make argocd-settings", not written by hand.
`

func main() {
	var f flags
	kong.Parse(&f)
	record, err := argocdsettings.Read(f.Sources...)
	if err == nil {
		err = os.WriteFile(f.Into, []byte(comment+record), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("recorded the settings of", len(f.Sources), "versions of Argo CD")
}
