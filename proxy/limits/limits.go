// Package limits bounds what the proxy accepts from virtual API servers: the time, the size and the form of a response, the memory for all
// responses together, and how often a virtual API server may exceed a bound before it gets no requests for a while.
//
// The providers set no such bounds. provider-helm 1.3.0 and provider-kubernetes 1.2.1 build their rest.Config without a Timeout
// (pkg/clients/helm and pkg/kube/client), client-go reads a response as a whole whatever its size (rest.Request.transformResponse), and
// sleeps for as long as a Retry-After header says (rest.withRetry). Upstream, a Timeout and a limit on the size of responses in a
// ProviderConfig would replace most of this package.
package limits

import (
	"errors"
	"fmt"
	"time"
)

// Limits of the requests to a virtual API server, and of its responses.
type Limits struct {
	// Read and Write are how long the whole of a request may take.
	Read, Write time.Duration
	// Watch is how long a watch may last, such as Helm's for its hooks.
	Watch time.Duration
	// Blocked is how long a virtual API server gets no requests after it has exceeded a limit MaxFailures times within a minute.
	Blocked time.Duration
	// Response is the size of a response in bytes, and LargeResponse that of what Helm requests beside ordinary objects: its records,
	// CustomResourceDefinitions, the OpenAPI document and the whole of a watch.
	Response, LargeResponse int64
	// ErrorResponse is the size of a response with an error in bytes. A longer one could be more than a status can hold.
	ErrorResponse int64
	// Values is how many objects, lists and members a response may have, and LargeValues how many a large one may have, with all records
	// of Helm in it.
	Values, LargeValues int
	// Depth is how deep objects and lists may be nested. Crossplane can send the function objects of up to some 3,300 levels (a level is
	// three of the 10,000 that protobuf reads), and what a Kubernetes API stores has a few dozen.
	Depth int
	// Records is how many records of Helm a response may have, and RecordBytes the size in bytes to which all of them may unpack.
	Records     int
	RecordBytes int64
	// TextItems is how many items, members and lines the strings in all records may have, such as the manifest, which Helm reads as YAML.
	TextItems int
}

// Default limits let Argo CD's chart through several times over (TestChartsAreWithinLimits). An API server stores objects of up to 1.5 MiB.
var Default = Limits{
	Read: 15 * time.Second, Write: 40 * time.Second, Watch: 5 * time.Minute, Blocked: time.Minute,
	Response: 2 << 20, LargeResponse: 8 << 20, ErrorResponse: 32 << 10, Values: 20_000, LargeValues: 100_000, Depth: 500,
	Records: 8, RecordBytes: 40 << 20, TextItems: 800_000,
}

// exceeded is the error of a response that exceeds a limit.
type exceeded struct{ what string }

func (e *exceeded) Error() string { return e.what }

// Exceeded returns the error of a response that exceeds a limit. The Breaker counts such errors.
func Exceeded(format string, args ...any) error { return &exceeded{fmt.Sprintf(format, args...)} }

// IsExceeded reports whether an error is that of a response that exceeds a limit.
func IsExceeded(err error) bool {
	e := (*exceeded)(nil)
	return errors.As(err, &e)
}

// TooLarge returns the error of a response with more than most bytes.
func TooLarge(most int64) error { return Exceeded("it answers with more than %d bytes", most) }

// CheckDepth returns an error if what was counted is nested too deep.
func (l Limits) CheckDepth(c *Counter) error {
	if c.Depth > l.Depth {
		return Exceeded("it answers with objects nested deeper than %d levels", l.Depth)
	}
	return nil
}
