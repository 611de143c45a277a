// Command dexfields records which fields Dex's connectors have, for messages about fields that they don't have. See the Makefile.
package main

import (
	"fmt"
	"os"

	"github.com/alecthomas/kong"

	"github.com/virtual-argocd/virtual-argocd/tools/dexfields"
)

type flags struct {
	Into    string `required:"" help:"File with the record."`
	Version string `required:"" help:"Version of Dex."`
	Source  string `arg:"" type:"existingdir" help:"Folder with Dex's source."`
}

const comment = `# Which fields the connectors of Dex have, and its configuration: recorded from Dex's source by "make dex-fields", not written by hand.
`

func main() {
	var f flags
	kong.Parse(&f)
	record, err := dexfields.Read(f.Source)
	if err == nil {
		err = os.WriteFile(f.Into, []byte(comment+f.Version+"\n"+record), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("recorded Dex", f.Version)
}
