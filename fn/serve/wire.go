package serve

import (
	"errors"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
)

const (
	// perByte is how much memory each byte of a request takes while it is answered: as a text of it, decoded from base64, and in JSON.
	perByte = 4
	// perMessage is how much each message in a request takes besides, in bytes: an object, a list, any value, and a field of an object
	// with its name. perMap is what a map takes that isn't empty.
	perMessage, perValue, perMap = 64, 96, 256
	// asValues is how often the composite resource is in memory: as a message, and as Go's maps and lists. Of other objects only parts are.
	asValues = 2
	// perLevel is how much of a goroutine's stack each level of messages takes, in bytes. A stack grows by being copied to one twice as large.
	perLevel = 2 << 10
	// maxLevels is how deep messages may be in each other: Kubernetes takes objects whose JSON has 10,000 levels, of which each has three messages,
	// a map's value, the entry of its field and the map. Whatever Crossplane calls the function with is decoded, so that what is too deep for
	// a tenant is refused as any other mistake is, and keeps nobody from a tenant. The limit of the protobuf library is a third of this.
	maxLevels = 3*10_000 + 64
)

// unmarshal decodes a request, however deep it is.
func unmarshal(request []byte, into *fnv1.RunFunctionRequest) error {
	return proto.UnmarshalOptions{RecursionLimit: maxLevels}.Unmarshal(request, into)
}

// inMemory returns how much memory a request takes once it is decoded, and while it is answered, in bytes. It allocates nothing.
func inMemory(request []byte) (int64, error) {
	out, levels, err := decoded(request, shapeOfRequest, maxLevels)
	if err != nil {
		return 0, err
	}
	xr, _, err := decoded(in(request, observed, composite), shapeOfResource, maxLevels)
	return perByte*int64(len(request)) + out + (asValues-1)*xr + perLevel*int64(levels), err
}

// A shape says what a message takes in memory without what is in it, in bytes, and has the shapes of the messages in it by the numbers of
// their fields, which are nil for other fields.
type shape struct {
	takes  int64
	fields []*shape
	// entry is set for a field of a map.
	entry bool
}

var (
	shapes          = map[protoreflect.FullName]*shape{}
	shapeOfRequest  = shapeOf((&fnv1.RunFunctionRequest{}).ProtoReflect().Descriptor())
	shapeOfResource = shapeOf((&fnv1.Resource{}).ProtoReflect().Descriptor())
)

func shapeOf(of protoreflect.MessageDescriptor) *shape {
	if s, ok := shapes[of.FullName()]; ok {
		return s
	}
	s := &shape{takes: perMessage, entry: of.IsMapEntry()}
	if of.FullName() == (&structpb.Value{}).ProtoReflect().Descriptor().FullName() {
		s.takes = perValue
	}
	shapes[of.FullName()] = s
	for i := range of.Fields().Len() {
		field := of.Fields().Get(i)
		if field.Message() == nil {
			continue
		}
		for int(field.Number()) >= len(s.fields) {
			s.fields = append(s.fields, nil)
		}
		s.fields[field.Number()] = shapeOf(field.Message())
	}
	return s
}

// decoded returns what a message takes in memory with the messages in it, in bytes, without its texts, and how many levels of messages it has.
func decoded(b []byte, s *shape, most int) (takes int64, levels int, err error) {
	if most == 0 {
		return 0, 0, errors.New("it is too deep")
	}
	maps := int64(0)
	takes = s.takes
	for len(b) > 0 {
		number, value, rest, err := field(b)
		if err != nil {
			return 0, 0, err
		}
		b = rest
		if value == nil || int(number) >= len(s.fields) || s.fields[number] == nil {
			continue
		}
		if s.fields[number].entry {
			maps = perMap
		}
		is, below, err := decoded(value, s.fields[number], most-1)
		if err != nil {
			return 0, 0, err
		}
		takes, levels = takes+is, max(levels, below)
	}
	return takes + maps, levels + 1, nil
}

// field returns the number of a message's first field, its bytes, which are nil for a number, and what follows.
func field(b []byte) (number protowire.Number, value, rest []byte, err error) {
	number, kind, n := protowire.ConsumeTag(b)
	if n < 0 {
		return 0, nil, nil, protowire.ParseError(n)
	}
	b = b[n:]
	if kind == protowire.BytesType {
		value, n = protowire.ConsumeBytes(b)
	} else {
		n = protowire.ConsumeFieldValue(number, kind, b)
	}
	if n < 0 {
		return 0, nil, nil, protowire.ParseError(n)
	}
	return number, value, b[n:], nil
}

// A caller is for whom Crossplane calls the function.
type caller struct{ tag, xr, claim string }

// Numbers of fields of a request.
const (
	meta, tag                     = 1, 1
	observed, composite, resource = 2, 1, 1
	fields, key, value            = 1, 1, 2
	text, object                  = 3, 5
)

// callerOf returns for whom a request is, without decoding the rest of it. What is malformed is left out.
func callerOf(request []byte) caller {
	xr := in(request, observed, composite, resource)
	claim := member(xr, "spec", "claimRef")
	c := caller{tag: string(in(request, meta, tag)), xr: textOf(xr, "metadata", "name")}
	if name := textOf(claim, "name"); name != "" {
		c.claim = textOf(claim, "namespace") + "/" + name
	}
	return c
}

// in returns the field of a field of a message, and so on.
func in(b []byte, path ...protowire.Number) []byte {
	for _, want := range path {
		var found []byte
		for len(b) > 0 {
			number, is, rest, err := field(b)
			if err != nil {
				break
			}
			if b = rest; number == want {
				found = is
			}
		}
		b = found
	}
	return b
}

// member returns the object at a path of an object.
func member(b []byte, path ...string) []byte {
	for _, name := range path {
		b = in(at(b, name), object)
	}
	return b
}

// textOf returns the text at a path of an object.
func textOf(b []byte, path ...string) string {
	last := len(path) - 1
	return string(in(at(member(b, path[:last]...), path[last]), text))
}

// at returns the value of a field of an object.
func at(b []byte, name string) []byte {
	for len(b) > 0 {
		number, entry, rest, err := field(b)
		if err != nil {
			return nil
		}
		if b = rest; number == fields && string(in(entry, key)) == name {
			return in(entry, value)
		}
	}
	return nil
}
