package text

import (
	"bytes"
	"encoding/json"
	"errors"
)

// JSON decodes JSON into a pointer. It refuses what is larger, has more items or is nested deeper than this package's limits. Its
// errors show nothing of the JSON but the names of fields that the pointer's type has.
func JSON(raw []byte, into any) error { return decode(raw, into, json.Unmarshal) }

// JSONNumbers decodes JSON as JSON does, with numbers as they are written: json.Number.
func JSONNumbers(raw []byte, into any) error {
	return decode(raw, into, func(raw []byte, into any) error {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		return d.Decode(into)
	})
}

func decode(raw []byte, into any, with func([]byte, any) error) error {
	items, depth := measure(raw)
	if err := check(raw, items); err != nil {
		return err
	}
	if depth > maxDepth {
		return errDepth
	}
	err := with(raw, into)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong) && wrong.Field != "":
		return errors.New("field " + wrong.Field + " has the wrong type")
	case !json.Valid(raw), wrong != nil:
		return errors.New("it is no JSON object")
	}
	return errors.New("it has a value that can't be decoded, such as one that is no base64")
}

// measure returns about how many objects, lists and members JSON has, and how deep it is nested.
func measure(raw []byte) (items, deepest int) {
	depth, quoted, escaped := 0, false, false
	for _, b := range raw {
		switch {
		case escaped:
			escaped = false
		case quoted && b == '\\':
			escaped = true
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '{' || b == '[':
			items++
			depth++
			deepest = max(deepest, depth)
		case b == '}' || b == ']':
			depth--
		case b == ',':
			items++
		}
	}
	return items, deepest
}
