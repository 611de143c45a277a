package few

import "testing"

func TestNames(t *testing.T) {
	for name, tc := range map[string]struct {
		most  int
		names []string
		want  string
	}{
		"None":   {0, nil, ""},
		"Few":    {0, []string{"c", "a", "b"}, "a, b, c"},
		"More":   {0, []string{"d", "c", "e", "a", "b"}, "a, b, c and 2 more"},
		"Number": {1, []string{"b", "a"}, "a and 1 more"},
		"Same":   {2, []string{"a", "a", "a"}, "a, a and 1 more"},
	} {
		t.Run(name, func(t *testing.T) {
			l := Names{Most: tc.most}
			for _, name := range tc.names {
				l.Add(name)
			}
			if got := l.String(); got != tc.want || l.N != len(tc.names) {
				t.Errorf("want %q of %d names, got %q of %d", tc.want, len(tc.names), got, l.N)
			}
		})
	}
}
