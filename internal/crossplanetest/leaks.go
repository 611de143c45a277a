package crossplanetest

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// FormIn is the form in which a text contains a secret, whatever backslashes stand between: encoded in JSON, base64 or hexadecimal, or as it
// is; "" if it doesn't.
func FormIn(text, secret string) string {
	text = unescaped(text)
	for _, form := range formsOf(secret) {
		if strings.Contains(text, form) {
			return form
		}
	}
	return ""
}

// formsOf are the ways in which a secret may turn up, but for backslashes: as it is and as in JSON, either in hexadecimal
// and base64, or in base64 twice, as a key in the kubeconfig in the data of a Secret.
func formsOf(secret string) []string {
	var out []string
	for _, text := range []string{secret, InJSON(secret)} {
		inHex := hex.EncodeToString([]byte(text))
		out = append(out, unescaped(text), inHex, strings.ToUpper(inHex))
		out = append(out, inBase64(base64.URLEncoding, text)...)
		for _, once := range inBase64(base64.StdEncoding, text) {
			out = append(append(out, once), inBase64(base64.StdEncoding, once)...)
		}
	}
	return out
}

// inBase64 is a text in base64, at each of the three places where it can begin.
func inBase64(of *base64.Encoding, text string) []string {
	var out []string
	for pad := range 3 {
		encoded := of.EncodeToString([]byte(strings.Repeat("_", pad) + text))
		// The characters at both ends depend on what is around.
		out = append(out, encoded[4*((pad+2)/3):len(encoded)-4])
	}
	return out
}

// InJSON is a text as it stands between the quotes of JSON.
func InJSON(text string) string {
	quoted, _ := json.Marshal(text)
	return string(quoted[1 : len(quoted)-1])
}

// Closed is the text of a response without the places where secrets may be, which are connection details and Secrets.
func Closed(t testing.TB, rsp *fnv1.RunFunctionResponse) string {
	t.Helper()
	open := proto.Clone(rsp).(*fnv1.RunFunctionResponse)
	if c := open.GetDesired().GetComposite(); c != nil {
		c.ConnectionDetails = nil
	}
	for _, r := range open.GetDesired().GetResources() {
		if o := r.GetResource().GetFields(); o["kind"].GetStringValue() == "Secret" && o["apiVersion"].GetStringValue() == "v1" {
			delete(o, "data")
		}
	}
	text, err := protojson.Marshal(open)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// unescaped is a text without backslashes: JSON in JSON has several in the place of one.
func unescaped(text string) string { return strings.ReplaceAll(text, `\`, "") }
