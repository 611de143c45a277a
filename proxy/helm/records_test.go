package helm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/internal/memtest"
	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
)

// low are limits that a test exceeds.
var low = limits.Limits{LargeResponse: 80_000, LargeValues: 2_000, Records: 3, RecordBytes: 250_000, TextItems: 3_000, Read: time.Second}

func packed(content string) []byte { return memtest.Pack([]byte(content)) }

func secretWith(name string, release []byte) corev1.Secret {
	return corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: name}, Data: map[string][]byte{"release": release}, Type: "helm.sh/release.v1"}
}

// listOf returns a response with a list of Secrets with these records.
func listOf(t *testing.T, records ...[]byte) []byte {
	t.Helper()
	l := corev1.SecretList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}}
	for n, r := range records {
		l.Items = append(l.Items, secretWith(fmt.Sprint("r", n), r))
	}
	return encoded(t, l)
}

func encoded(t *testing.T, o any) []byte {
	t.Helper()
	out, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestCheckRecords: records are refused that unpack to too much, one by one or together.
func TestCheckRecords(t *testing.T) {
	t.Parallel()
	// A record within the limits of one, of which three aren't.
	values, fits := packed("["+strings.Repeat("{},", 350)+"{}]"), packed(`"`+strings.Repeat("a", 90_000)+`"`)
	for name, tc := range map[string]struct {
		response []byte
		want     string
	}{
		"WithinLimits":   {listOf(t, fits, fits), ""},
		"Bomb":           {listOf(t, packed(strings.Repeat(" ", 10<<20))), "Secret argocd/r0 are more than 3, or unpack to more than 250000 bytes"},
		"BombOfValues":   {listOf(t, packed("["+strings.Repeat("{},", 2000)+"{}]")), "2000 values"},
		"BombsOfValues":  {listOf(t, values, values, values), "Secret argocd/r2 are"},
		"BombOfText":     {listOf(t, packed(`"a: [`+strings.Repeat("[],", 3001)+`]"`)), "3000 items in texts"},
		"BombOfLines":    {listOf(t, packed(`"`+strings.Repeat(`\n`, 3001)+`"`)), "3000 items in texts"},
		"TooManyRecords": {listOf(t, packed("{}"), packed("{}"), packed("{}"), packed("{}")), "Secret argocd/r3 are"},
		"ManyRecords":    {listOf(t, fits, fits, fits), "Secret argocd/r2 are"},
		"BrokenBomb":     {listOf(t, packed(strings.Repeat(" ", 10<<20))[:8000]), "Secret argocd/r0 are"},
		"UnreadableList": {[]byte(`{"items":"none"}`), "Secrets that can't be read"},
		"OneSecret":      {encoded(t, secretWith("r0", packed(strings.Repeat(" ", 10<<20)))), "Secret argocd/r0 are"},
		"NotBase64":      {listOf(t, []byte("%")), ""},
		"NoRecord":       {bytes.Replace(listOf(t, nil), []byte("release"), []byte("other"), 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			switch err := CheckRecords(low, tc.response); {
			case tc.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.want != "" && (!limits.IsExceeded(err) || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("want an error with %q, got %v", tc.want, err)
			}
		})
	}
}

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
			switch err := CheckRecords(low, encoded(t, secretWith("r0", packed(c.json)))); {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "Secret argocd/r0")):
				t.Errorf("want an error of Secret argocd/r0 with %q, got %v", c.want, err)
			}
		})
	}
}
