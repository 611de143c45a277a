package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
)

// eventShare is which part of a large answer one event of a watch may have: 1 MiB, as much as an object in etcd has at most.
const eventShare = 8

// stream passes the watch of one object on as it comes, and reports whether an event came. What
// goes over a limit ends it, as API servers end a watch now and then. An event of another object
// is an error: a provider would keep each of them.
func (p *Proxy) stream(ctx context.Context, s *server, w http.ResponseWriter, answer *http.Response, one target) (came bool, err error) {
	w.Header().Set("Content-Type", mediaJSON)
	w.WriteHeader(answer.StatusCode)
	flush := http.NewResponseController(w)
	_ = flush.Flush()
	in := &eventReader{
		from: io.LimitReader(answer.Body, p.limits.LargeAnswer), most: p.limits.LargeAnswer / eventShare,
		// The decoder doubles its buffer as it reads.
		hold: func() (func(), error) { return p.hold(ctx, s, p.limits.LargeAnswer/eventShare*2) },
	}
	defer in.release()
	in.decoder = json.NewDecoder(in)
	for {
		event, err := in.next()
		if over := (*overLimit)(nil); errors.As(err, &over) || errors.Is(err, errCrowded) {
			return came, err
		}
		if err != nil || in.counted.values > p.limits.Values {
			return came, nil
		}
		err = p.decode(ctx, func() (err error) { event, err = p.limits.eventOf(one, event); return err })
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
	counted counter
	// size is how many bytes were read of the next event, and perhaps of those after it, and most how many it may have.
	size, most int64
	// hold waits for the memory of a large event, and held gives it back.
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
	if e.size > smallAnswer && e.held == nil {
		release, err := e.hold()
		if err != nil {
			return 0, err
		}
		e.held = release
	}
	if e.size > e.most {
		return 0, tooLong(e.most)
	}
	// Not past the size at which there must be memory for the event, nor past its largest.
	most := e.most
	if e.held == nil {
		most = min(most, smallAnswer)
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

// eventOf returns an event of the watch of one object, encoded anew, so that a provider can't read
// another event in it.
func (l Limits) eventOf(one target, event []byte) ([]byte, error) {
	if count(event).deepest > l.Depth {
		return nil, l.tooDeep()
	}
	e := struct {
		Type   watch.EventType `json:"type"`
		Object map[string]any  `json:"object"`
	}{}
	if err := utiljson.Unmarshal(event, &e); err != nil {
		return nil, err
	}
	meta, _ := e.Object["metadata"].(map[string]any)
	switch {
	case e.Type == watch.Error && int64(len(event)) > l.Failure:
		return nil, tooLong(l.Failure)
	case e.Type != watch.Bookmark && e.Type != watch.Error && (meta["name"] != one.name || meta["namespace"] != one.namespace):
		return nil, &overLimit{"its watch of " + one.name + " tells of another object"}
	}
	return encode(e)
}
