package proxy

import (
	"encoding/json"
	"strings"
	"testing"
)

// aliases is a manifest whose aliases repeat a text of that size as often as the second number says.
func aliases(size, times int) string {
	return "x: &a " + strings.Repeat("x", size) + "\ny: [" + strings.Repeat("*a,", times) + "]\n"
}

// TestRecordsThatExpand: a record is refused if its texts could become larger, or have more items, once they are read as YAML. How JSON
// writes them makes no difference.
func TestRecordsThatExpand(t *testing.T) {
	t.Parallel()
	escaped := func(text string, signs ...string) string {
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return strings.NewReplacer(signs...).Replace(string(raw))
	}
	bomb := aliases(1000, 100)
	const tooMany = "3000 items in texts"
	const anchor = "a text with a YAML anchor"
	for name, c := range map[string]struct{ json, want string }{
		"AsHelmWritesThem":      {escaped(bomb), anchor},
		"AsOthersWriteThem":     {escaped(bomb, `\u0026`, "&"), anchor},
		"AllOfItEscaped":        {escaped(bomb, " ", `\u0020`), anchor},
		"AfterAnEscapedBreak":   {escaped("a:\n&a b\nc: *a", `\n`, `\u000a`), anchor},
		"AfterALineSeparator":   {"\"a:\u2028&a b\"", anchor},
		"AfterANextLine":        {"\"a:\u0085&a b\"", anchor},
		"AfterAnEscapedNEL":     {`"a:\u0085&a b"`, anchor},
		"AtTheBeginning":        {`"&a b"`, anchor},
		"AtTheBeginningOfTwo":   {`{"a":"b","manifest":"\u0026a b"}`, anchor},
		"AtTheEnd":              {`"a: &a"`, anchor},
		"AfterAnEscapedQuote":   {`"{\"a\":\u0026a b}"`, anchor},
		"ItemsEscaped":          {`"` + strings.Repeat(`\u005b`, 3001) + `"`, tooMany},
		"ItemsEscapedUpperCase": {`"` + strings.Repeat(`\u005B`, 3001) + `"`, tooMany},
		"CarriageReturns":       {`"` + strings.Repeat(`-\r`, 1501) + `"`, tooMany},
		"NextLines":             {`"` + strings.Repeat("\u0085", 3001) + `"`, tooMany},
		"Questions":             {`"` + strings.Repeat("? ", 3001) + `"`, tooMany},

		"Shell":               {escaped("a && b || c & d 2>&1"), ""},
		"URL":                 {escaped("https://a.b/?c=1&d=2"), ""},
		"HTML":                {escaped("<b>&nbsp;</b> &amp; &lt;"), ""},
		"OutsideOfTexts":      {`{"a":1 &b}`, ""},
		"EscapedBackslash":    {`"a:\\n&a b"`, ""},
		"Surrogates":          {`"\ud83d\ude00&a"`, ""},
		"BrokenEscapes":       {`"\u00`, ""},
		"FewItems":            {`"` + strings.Repeat(`\u005b`, 2000) + `"`, ""},
		"TextsAreOnTheirOwn":  {`["a &","b"]`, ""},
		"AliasesWithoutThose": {escaped("a: *b"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := secretWith("r0", record(c.json))
			answer, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			switch err := quick.CheckRecords(answer); {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "Secret argocd/r0")):
				t.Errorf("want an error of Secret argocd/r0 with %q, got %v", c.want, err)
			}
		})
	}
}
