package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
)

// Bounds of the answers that are in memory at the same time. A virtual API server decides how long it keeps the proxy
// reading, so one may not have all of the memory.
const (
	// smallAnswer is how many bytes of any answer are read at once. Most answers have less.
	smallAnswer = 64 << 10
	// maxHeld is how many bytes all larger answers may have together, and maxHeldEach how many larger answers a virtual
	// API server may give at the same time.
	maxHeld     = 192 << 20
	maxHeldEach = 2
)

// errCrowded says that the memory for answers is in use. It is no fault of the server that is asked.
var errCrowded = errors.New("the proxy is reading too many large answers")

// readAll returns the whole of a server's answer; it is an error that it has more than most bytes. A large one waits until
// there is memory for it. The caller calls release when it needs the answer no more, also after an error.
func (p *Proxy) readAll(ctx context.Context, s *server, answer io.Reader, most int64) (body []byte, release func(), err error) {
	release = func() {}
	if body, err = io.ReadAll(io.LimitReader(answer, min(smallAnswer, most+1))); err != nil {
		return nil, release, err
	}
	if len(body) == smallAnswer {
		if release, err = p.hold(ctx, s, most); err != nil {
			return nil, release, err
		}
		if body, err = io.ReadAll(io.LimitReader(io.MultiReader(bytes.NewReader(body), answer), most+1)); err != nil {
			return nil, release, err
		}
	}
	if int64(len(body)) > most {
		return nil, release, tooLong(most)
	}
	return body, release, nil
}

// hold waits until there is memory for an answer of a server.
func (p *Proxy) hold(ctx context.Context, s *server, size int64) (release func(), err error) {
	if s.held.Acquire(ctx, 1) != nil {
		return func() {}, errCrowded
	}
	if p.held.Acquire(ctx, size) != nil {
		s.held.Release(1)
		return func() {}, errCrowded
	}
	return func() {
		p.held.Release(size)
		s.held.Release(1)
	}, nil
}
