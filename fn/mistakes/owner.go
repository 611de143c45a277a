package mistakes

import (
	"errors"
	"fmt"
)

// Owner is who has written something, and has to correct a mistake in it.
type Owner int

// Owners, in the order in which they take precedence: the latest comes last.
const (
	BuiltIn Owner = iota
	Input
	Channel
	Plan
	Claim
)

// A Field is a field that somebody has written, or may write.
type Field struct {
	Owner Owner
	// Path of the field, with what it is in unless that is the claim, such as "plan small: spec.channel".
	Path string
}

// String returns the path.
func (f Field) String() string { return f.Path }

// Below returns a field below the field.
func (f Field) Below(path string) Field { return Field{f.Owner, f.Path + "." + path} }

// Errorf returns a mistake in the field. Its text begins with the path, which may have any text of a claim's author.
func (f Field) Errorf(format string, args ...any) error {
	return By(f.Owner, fmt.Errorf("%s: %w", f.Path, fmt.Errorf(format, args...)))
}

// owned is a mistake with its owner.
type owned struct {
	error
	owner Owner
}

// Unwrap returns the mistake.
func (o owned) Unwrap() error { return o.error }

// By returns an error whose mistakes have an owner, except for those that have one already; nil for nil.
func By(owner Owner, err error) error {
	var out []error
	for _, mistake := range Each(err) {
		if !errors.As(mistake, &owned{}) {
			mistake = owned{mistake, owner}
		}
		out = append(out, mistake)
	}
	return Join(out...)
}

// OwnerOf returns whose mistake an error is, that of the first one if it has several: the claim's where nothing else is known.
func OwnerOf(err error) Owner {
	var is owned
	if each := Each(err); len(each) > 0 && errors.As(each[0], &is) {
		return is.owner
	}
	return Claim
}
