package limits

import (
	"bytes"
	"context"
	"errors"
	"io"

	"golang.org/x/sync/semaphore"
)

// Bounds of the responses that are in memory at the same time. A virtual API server decides how long the proxy reads its response, so one
// of them can't have all of the memory.
const (
	// SmallResponse is how many bytes of any response are read at once. Most responses have less.
	SmallResponse = 64 << 10
	// MaxLarge is how many bytes all larger responses may have together, and maxLargeEach how many larger responses of one virtual API
	// server may be in memory at the same time.
	MaxLarge     = 192 << 20
	maxLargeEach = 2
	// maxDecoding is how many responses may be decoded at the same time: that takes many times their memory, and no network.
	maxDecoding = 4
)

// ErrBusy is the error of a request that has found no memory for its response in time. It is no fault of the server.
var ErrBusy = errors.New("the proxy is reading too many large answers")

// Memory bounds the responses of all virtual API servers that are in memory at the same time.
type Memory struct {
	large    *semaphore.Weighted
	decoding chan struct{}
}

// NewMemory returns a Memory without responses.
func NewMemory() *Memory {
	return &Memory{large: semaphore.NewWeighted(MaxLarge), decoding: make(chan struct{}, maxDecoding)}
}

// Share returns the share of the memory that one virtual API server may use.
func (m *Memory) Share() *Share { return &Share{all: m, large: semaphore.NewWeighted(maxLargeEach)} }

// A Share of the memory is for the responses of one virtual API server.
type Share struct {
	all   *Memory
	large *semaphore.Weighted
}

// ReadAll returns the whole of a response; it is an error that it has more than most bytes. A large one waits until there is memory for it.
// The caller calls release when it needs the response no more, also after an error.
func (s *Share) ReadAll(ctx context.Context, response io.Reader, most int64) (body []byte, release func(), err error) {
	release = func() {}
	if body, err = io.ReadAll(io.LimitReader(response, min(SmallResponse, most+1))); err != nil {
		return nil, release, err
	}
	if len(body) == SmallResponse {
		if release, err = s.Hold(ctx, most); err != nil {
			return nil, release, err
		}
		if body, err = io.ReadAll(io.LimitReader(io.MultiReader(bytes.NewReader(body), response), most+1)); err != nil {
			return nil, release, err
		}
	}
	if int64(len(body)) > most {
		return nil, release, TooLarge(most)
	}
	return body, release, nil
}

// Hold waits until there is memory for a large response of that size. The caller calls release when it needs it no more, also after an
// error.
func (s *Share) Hold(ctx context.Context, size int64) (release func(), err error) {
	if s.large.Acquire(ctx, 1) != nil {
		return func() {}, ErrBusy
	}
	if s.all.large.Acquire(ctx, size) != nil {
		s.large.Release(1)
		return func() {}, ErrBusy
	}
	return func() {
		s.all.large.Release(size)
		s.large.Release(1)
	}, nil
}

// Decode calls decode, and returns its error, once few enough other responses are being decoded.
func (s *Share) Decode(ctx context.Context, decode func() error) error {
	select {
	case s.all.decoding <- struct{}{}:
		defer func() { <-s.all.decoding }()
		return decode()
	case <-ctx.Done():
		return ErrBusy
	}
}
