package known

import (
	"maps"
	"slices"
	"strings"
)

// maxNearest is how many values a message suggests.
const maxNearest = 2

// A place is a value of the chart, as it is compared with what a claim has.
type place struct {
	path []string
	in   set
	// key is the last key, and whole the path, without what people write differently.
	key, whole string
}

// places returns all values of the chart, sorted by path.
func (r *Record) places() []place {
	var out []place
	var walk func(n *node, at []string)
	walk = func(n *node, at []string) {
		for _, key := range slices.Sorted(maps.Keys(n.below)) {
			is := append(slices.Clone(at), key)
			out = append(out, place{path: is, in: n.below[key].in, key: plain(key), whole: plain(strings.Join(is, "."))})
			walk(n.below[key], is)
		}
	}
	walk(r.root, nil)
	return out
}

// nearest returns the values of the version that are most likely meant by a path, as messages have them; none if nothing is like it.
func (v Version) nearest(path []string) []string {
	wrong := place{path: path, key: plain(path[len(path)-1]), whole: plain(strings.Join(path, "."))}
	var out []string
	least := 0
	for _, is := range v.places() {
		if is.in&v.bit == 0 {
			continue
		}
		cost, like := likeness(wrong, is)
		if !like || len(out) > 0 && cost > least {
			continue
		}
		if cost < least {
			out = nil
		}
		if least = cost; len(out) < maxNearest {
			out = append(out, joined(is.path))
		}
	}
	return out
}

// likeness reports whether a value may be meant by a wrong one, and how much differs: first what is beside it counts, then what has the
// same name elsewhere, then what ends like it, such as "server.insecure" of configs.params.
func likeness(wrong, is place) (cost int, like bool) {
	last := len(wrong.path) - 1
	beside := len(is.path) == last+1 && slices.Equal(wrong.path[:last], is.path[:last])
	switch {
	case len(wrong.key) > maxKey:
		return 0, false
	case beside && near(wrong.key, is.key):
		return distance(wrong.key, is.key), true
	case beside && similar(wrong.key, is.key):
		return 10 + len(is.key), true
	case len(is.whole) > len(wrong.whole) && is.whole[len(is.whole)-len(wrong.whole)-1] == '.' && strings.HasSuffix(is.whole, wrong.whole):
		return 20 + len(is.path), true
	case len(is.path) == last+1 && near(wrong.key, is.key) && near(wrong.whole, is.whole):
		return 30 + distance(wrong.whole, is.whole), true
	case last > 0 && wrong.key == is.key && wrong.path[0] == is.path[0]:
		return 50 + len(is.path), true
	}
	return 0, false
}

// separators are what people write or leave out between words.
var separators = strings.NewReplacer("-", "", "_", "")

// plain returns a key without what people write differently in it.
func plain(key string) string {
	return separators.Replace(strings.ToLower(key))
}

// Like reports whether one name may be another, misspelt.
func Like(a, b string) bool { return near(plain(a), plain(b)) }

// near reports whether one word may be another, misspelt.
func near(a, b string) bool {
	may := mayDiffer(a)
	return len(a)-len(b) <= may && len(b)-len(a) <= may && distance(a, b) <= may
}

// mayDiffer is how many letters of a word may be wrong.
func mayDiffer(word string) int { return min(3, max(1, (len(word)+1)/4)) }

// similar reports whether one of two words contains the other, or they begin alike.
func similar(a, b string) bool {
	short, long := strings.TrimSuffix(a, "s"), strings.TrimSuffix(b, "s")
	if len(short) > len(long) {
		short, long = long, short
	}
	if len(short) >= 3 && (strings.HasPrefix(long, short) || strings.HasSuffix(long, short)) {
		return true
	}
	same := 0
	for same < len(short) && short[same] == long[same] {
		same++
	}
	return same >= 5 && same*2 >= len(long)
}

// maxKey is the length of a key beyond which it is no misspelt one.
const maxKey = 64

// distance returns how many letters of a word have to be added, left out, changed, or exchanged with the next one, to make it another.
func distance(a, b string) int {
	before, last := []int(nil), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			changed := last[j-1]
			if a[i-1] != b[j-1] {
				changed++
			}
			row[j] = min(last[j]+1, row[j-1]+1, changed)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// Nearest returns the name that is most likely meant by one that isn't among them; "" for none.
func Nearest(wrong string, names []string) string {
	of := func(name string) place { return place{path: []string{name}, key: plain(name), whole: plain(name)} }
	nearest, least := "", 0
	for _, name := range names {
		if cost, like := likeness(of(wrong), of(name)); like && (nearest == "" || cost < least) {
			nearest, least = name, cost
		}
	}
	return nearest
}

// Instead returns the end of an error about a name that isn't among those there are: the nearest of them, or otherwise.
func Instead(wrong string, names []string, otherwise string) string {
	if near := Nearest(wrong, names); near != "" {
		return "did you mean " + near + "?"
	}
	return otherwise
}
