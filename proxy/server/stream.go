package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
	"github.com/virtual-argocd/virtual-argocd/proxy/watch"
)

// eventShare is which part of a large response one event of a watch may have: 1 MiB, as much as an object in etcd has at most.
const eventShare = 8

// forwardWatch passes on the watch of one object. It reports whether it has begun to.
func (s *Server) forwardWatch(ctx context.Context, c *virtualapi.Client, w http.ResponseWriter, r *http.Request, wanted request) (begun bool, err error) {
	response, err := c.Do(ctx, r)
	if err != nil {
		return false, err
	}
	defer func() { _ = response.Body.Close() }()
	if err := virtualapi.CheckForm(response, false); err != nil {
		return false, err
	}
	if response.StatusCode != http.StatusOK {
		body, release, err := c.Read(ctx, response, c.Ordinary())
		defer release()
		if err != nil {
			return false, err
		}
		send(w, response.Header.Get("Content-Type"), response.StatusCode, body)
		return true, nil
	}
	begins := time.Now()
	came, err := s.stream(ctx, c, w, response, *wanted.one)
	if err == nil && !came {
		err = virtualapi.TimedOut(ctx, nil, s.limits.Watch)
	}
	select {
	case <-ctx.Done():
	case <-time.After(minWatch - time.Since(begins)):
	}
	return true, err
}

// stream passes the events of a watch of one object on as they come, and reports whether one came. What exceeds a limit ends the watch, as API
// servers end a watch now and then. An event of another object is an error: a provider would keep each of them.
func (s *Server) stream(ctx context.Context, c *virtualapi.Client, w http.ResponseWriter, response *http.Response, one watch.Object) (came bool, err error) {
	w.Header().Set("Content-Type", virtualapi.MediaJSON)
	w.WriteHeader(response.StatusCode)
	flush := http.NewResponseController(w)
	_ = flush.Flush()
	in := &eventReader{
		from: io.LimitReader(response.Body, s.limits.LargeResponse), most: s.limits.LargeResponse / eventShare,
		// The decoder doubles its buffer as it reads.
		hold: func() (func(), error) { return c.Memory.Hold(ctx, s.limits.LargeResponse/eventShare*2) },
	}
	defer in.release()
	in.decoder = json.NewDecoder(in)
	for {
		event, err := in.next()
		if limits.IsExceeded(err) || errors.Is(err, limits.ErrBusy) {
			return came, err
		}
		if err != nil || in.counted.Values > s.limits.Values {
			return came, nil
		}
		err = c.Memory.Decode(ctx, func() (err error) { event, err = checkEvent(s.limits, one, event); return err })
		if err != nil {
			return came, err
		}
		came = true
		if _, err := w.Write(event); err != nil || flush.Flush() != nil {
			return came, nil
		}
	}
}

// An eventReader reads the events of a watch. A large one waits until there is memory for it.
type eventReader struct {
	from    io.Reader
	decoder *json.Decoder
	counted limits.Counter
	// size is how many bytes were read of the next event, and perhaps of those after it, and most how many it may have.
	size, most int64
	// hold waits for the memory of a large event, and held releases it.
	hold func() (release func(), err error)
	held func()
}

// next returns the next event.
func (e *eventReader) next() (json.RawMessage, error) {
	if e.held != nil {
		// The decoder would keep its large buffer.
		rest, _ := io.ReadAll(e.decoder.Buffered())
		e.release()
		e.decoder = json.NewDecoder(io.MultiReader(bytes.NewReader(rest), e))
		e.size = int64(len(rest))
	} else if rest, ok := e.decoder.Buffered().(interface{ Len() int }); ok {
		e.size = int64(rest.Len())
	}
	event := json.RawMessage{}
	err := e.decoder.Decode(&event)
	return event, err
}

func (e *eventReader) Read(into []byte) (int, error) {
	if e.size > limits.SmallResponse && e.held == nil {
		release, err := e.hold()
		if err != nil {
			return 0, err
		}
		e.held = release
	}
	if e.size > e.most {
		return 0, limits.TooLarge(e.most)
	}
	// Not past the size at which there must be memory for the event, nor past its largest.
	most := e.most
	if e.held == nil {
		most = min(most, limits.SmallResponse)
	}
	n, err := e.from.Read(into[:min(int64(len(into)), most+1-e.size)])
	e.size += int64(n)
	_, _ = e.counted.Write(into[:n])
	return n, err
}

func (e *eventReader) release() {
	if e.held != nil {
		e.held()
	}
	e.held = nil
}

// checkEvent returns an event of the watch of one object, encoded anew, so that a provider can't read another event in it.
func checkEvent(l limits.Limits, one watch.Object, event []byte) ([]byte, error) {
	if err := l.CheckDepth(limits.Count(event)); err != nil {
		return nil, err
	}
	e := struct {
		Type   apiwatch.EventType `json:"type"`
		Object map[string]any     `json:"object"`
	}{}
	if err := utiljson.Unmarshal(event, &e); err != nil {
		return nil, err
	}
	meta, _ := e.Object["metadata"].(map[string]any)
	switch {
	case e.Type == apiwatch.Error && int64(len(event)) > l.ErrorResponse:
		return nil, limits.TooLarge(l.ErrorResponse)
	case e.Type != apiwatch.Bookmark && e.Type != apiwatch.Error && (meta["name"] != one.Name || meta["namespace"] != one.Namespace):
		return nil, limits.Exceeded("its watch of %s has an event of another object", one.Name)
	}
	return encode(e)
}
