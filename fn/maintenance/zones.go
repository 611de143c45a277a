package maintenance

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"fmt"
	"io/fs"
	"sync"
	"time"
)

// database is the IANA time zone database of the Go release that the function is built with, 0.4 MB
// of the program's 41. time.LoadLocation would prefer what $ZONEINFO and the image have, even if
// the program imports time/tzdata: the same request could get another answer elsewhere.
//
//go:generate sh -c "cp \"$(go env GOROOT)/lib/time/zoneinfo.zip\" zoneinfo.zip"
//go:embed zoneinfo.zip
var database []byte

// files of the database, by the names of zones.
var files = sync.OnceValues(func() (*zip.Reader, error) {
	return zip.NewReader(bytes.NewReader(database), int64(len(database)))
})

// zones are those that were loaded, by name. They depend on the database alone. A channel needs
// those of all of its tenants in each call, and loading one takes some µs.
var zones sync.Map

// zoneNamed returns a time zone by its name in the database.
func zoneNamed(name string) (*time.Location, error) {
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location), nil //nolint:forcetypeassert // Nothing else is stored.
	}
	in, err := files()
	if err != nil {
		return nil, err
	}
	data, err := fs.ReadFile(in, name)
	if err != nil {
		return nil, fmt.Errorf("%q is not a name: %w", name, err)
	}
	zone, err := time.LoadLocationFromTZData(name, data)
	if err != nil {
		return nil, err
	}
	zones.Store(name, zone)
	return zone, nil
}
