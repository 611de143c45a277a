// Package mistakes collects what is wrong with a claim, so that one message has all of it.
package mistakes

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Bounds of a message: Kubernetes cuts that of an event at 1 KiB, and that of a condition may have 32 KiB.
const (
	maxMistakes = 20
	maxLength   = 4 << 10
)

// all are several mistakes.
type all []error

// Join returns an error with all mistakes of the errors, in their order, each once; nil for none.
func Join(errs ...error) error {
	var out all
	seen := map[string]bool{}
	for _, err := range errs {
		for _, mistake := range Each(err) {
			if !seen[mistake.Error()] {
				seen[mistake.Error()] = true
				out = append(out, mistake)
			}
		}
	}
	switch len(out) {
	case 0:
		return nil
	case 1:
		return out[0]
	}
	return out
}

// Each returns the mistakes of an error; none for nil.
func Each(err error) []error {
	if err == nil {
		return nil
	}
	// A wrapped list is one mistake, with what was written around it.
	if several, ok := err.(all); ok { //nolint:errorlint // See above.
		return several
	}
	return []error{err}
}

// Error returns the first mistakes, from the second one on with their numbers, and how many more there are. It begins with the field
// of the first one, as each mistake does.
func (a all) Error() string { return Text(a, func(mistake string) string { return mistake }) }

// Text returns the message of an error, with each mistake as show returns it.
func Text(err error, show func(mistake string) string) string {
	var b strings.Builder
	each := Each(err)
	for i, mistake := range each {
		text := show(mistake.Error())
		if i == maxMistakes || i > 0 && b.Len()+len(text) > maxLength {
			fmt.Fprintf(&b, "; and %d more", len(each)-i)
			break
		}
		if i > 0 {
			fmt.Fprintf(&b, "; (%d) ", i+1)
		}
		b.WriteString(text)
	}
	return b.String()
}

// Unwrap returns the mistakes, for package errors.
func (a all) Unwrap() []error { return a }

// Sorted returns the mistakes of an error in the order of the fields that they begin with. fields are those of the claim's spec, in
// the order of the API. Those of the platform come alone: nobody can mend anything else before them.
func Sorted(err error, fields []string) error {
	each := Each(err)
	var platforms []error
	for _, mistake := range each {
		if OwnerOf(mistake) != Claim {
			platforms = append(platforms, mistake)
		}
	}
	if len(platforms) > 0 {
		return Join(platforms...)
	}
	each = slices.Clone(each)
	slices.SortStableFunc(each, func(a, b error) int { return comparePlaces(fieldOf(a), fieldOf(b), fields) })
	return Join(each...)
}

// fieldOf returns the path of the field that a mistake begins with.
func fieldOf(mistake error) string {
	at, _, _ := strings.Cut(mistake.Error(), ":")
	at, _, _ = strings.Cut(at, " ")
	return at
}

// segments are the names and indexes of a path.
var segments = regexp.MustCompile(`[^.\[\]]+`)

// comparePlaces compares the places of two fields: those of one item of a list come before those of the next one. What the API
// doesn't know, such as chart values, is in alphabetical order.
func comparePlaces(a, b string, fields []string) int {
	return cmp.Or(slices.Compare(places(a, fields), places(b, fields)), cmp.Compare(a, b))
}

func places(at string, fields []string) []int {
	var out []int
	path := ""
	for _, segment := range segments.FindAllString(at, -1) {
		if index, err := strconv.Atoi(segment); err == nil {
			out = append(out, index)
			continue
		}
		path = strings.TrimPrefix(path+"."+segment, ".")
		place := slices.Index(fields, path)
		if place < 0 && path != "spec" {
			break
		}
		out = append(out, place)
	}
	return out
}
