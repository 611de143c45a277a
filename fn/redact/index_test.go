package redact

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestIndex(t *testing.T) {
	for name, tc := range map[string]struct {
		texts    []string
		in, want string
	}{
		"None":       {nil, "a message", "a message"},
		"Once":       {[]string{"secret1"}, "a secret1 b", "a [redacted] b"},
		"Ends":       {[]string{"secret1"}, "secret1 secret1", "[redacted] [redacted]"},
		"Longest":    {[]string{"secret", "secret-and", "secret-and-more"}, "secret-and-more secret-and-no secret", "[redacted] [redacted]-no [redacted]"},
		"Overlap":    {[]string{"abcdef", "defghi"}, "xabcdefghix", "x[redacted]x"},
		"Inside":     {[]string{"abcdefghi", "cdefgh"}, "xabcdefghix cdefgh", "x[redacted]x [redacted]"},
		"InsideOnly": {[]string{"abcdefghi", "cdefgh"}, "abcdefgh", "ab[redacted]"},
		"Chain":      {[]string{"aaaaaa", "aaaaaaaa", "aaaaaaab"}, "aaaaaaa aaaaaaab", "[redacted] [redacted]"},
		"NotWhole":   {[]string{"secret1"}, "secret secret2", "secret secret2"},
		"Short":      {[]string{"abc"}, "abc", "abc"},
		"Base64":     {[]string{"secret1"}, "c2VjcmV0MQ==", "[redacted]"},
		"Quoted":     {[]string{"sec\"ret\n1"}, `sec\"ret\n1`, "[redacted]"},
		"InJSON":     {[]string{"sec&ret1"}, `sec\u0026ret1`, "[redacted]"},
	} {
		t.Run(name, func(t *testing.T) {
			x := &index{}
			for _, text := range tc.texts {
				x.add(text)
			}
			x.sort()
			if got := x.hide(tc.in, 1<<20); got != tc.want {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
	t.Run("Lines", func(t *testing.T) {
		x := &index{}
		x.addLines("\n first line\r\nsecond line\nab\n")
		x.sort()
		if got, want := x.hide("1 first line 2 second line ab", 1<<20), "1 [redacted] 2 [redacted] ab"; got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	})
	// Texts that begin alike, in a message of the same, are the worst case.
	t.Run("Alike", func(t *testing.T) {
		x := &index{}
		for i := 1; i < 3000; i++ {
			x.put(strings.Repeat("a", i))
			x.put(strings.Repeat("a", 30) + fmt.Sprint(i))
		}
		x.sort()
		begin := time.Now()
		if got := x.hide(strings.Repeat("a", 1<<20), 4096); got != redacted {
			t.Errorf("want %q, got %.80q", redacted, got)
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("took %s", took)
		}
	})
	t.Run("Full", func(t *testing.T) {
		x := &index{}
		for i := range maxTexts {
			x.add(fmt.Sprintf("%08d", i))
		}
		if !x.full {
			t.Error("want it full")
		}
	})
}
