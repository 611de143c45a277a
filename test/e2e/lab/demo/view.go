package demo

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/lab/platform"
)

// view shows the steps of a demo with the time each has taken: on a terminal as
// a block that is drawn again and again, elsewhere as lines.
type view struct {
	out   io.Writer
	live  bool
	width int

	mu    sync.Mutex
	began time.Time
	steps []*step
	drawn int
	stop  chan struct{}
	done  sync.WaitGroup
}

type step struct {
	name  string
	note  string
	began time.Time
	took  time.Duration
	ended bool
	err   error
}

func newView(out io.Writer, live bool, width int) *view {
	v := &view{out: out, live: live, width: width, began: time.Now(), stop: make(chan struct{})}
	if live {
		v.done.Go(v.redraw)
	}
	return v
}

// progress takes the platform's events.
func (v *view) progress(e platform.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.find(e.Step)
	if s == nil {
		s = &step{name: e.Step, began: time.Now()}
		v.steps = append(v.steps, s)
	}
	if e.Note != "" {
		s.note = e.Note
	}
	if e.Ended {
		s.ended, s.err, s.took = true, e.Err, time.Since(s.began)
	}
	if !v.live {
		v.printLine(s, e)
	}
}

func (v *view) find(name string) *step {
	for _, s := range v.steps {
		if s.name == name {
			return s
		}
	}
	return nil
}

func (v *view) printLine(s *step, e platform.Event) {
	line := s.name
	switch {
	case e.Err != nil:
		line += ": FAILED after " + clock(s.took)
	case e.Ended:
		line += ": done in " + clock(s.took)
	case e.Note != "":
		line += ": " + e.Note
	}
	fmt.Fprintf(v.out, "[%s] %s\n", clock(time.Since(v.began)), line) //nolint:errcheck // Nothing to tell it to.
}

// redraw draws the block twice a second until close.
func (v *view) redraw() {
	t := time.NewTicker(500 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-v.stop:
			return
		case <-t.C:
			v.mu.Lock()
			v.draw()
			v.mu.Unlock()
		}
	}
}

func (v *view) draw() {
	var b strings.Builder
	if v.drawn > 0 {
		// Up to the block's first line, and clear from there.
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", v.drawn)
	}
	v.drawn = 0
	for _, s := range v.steps {
		mark, took, note := "..", time.Since(s.began), s.note
		switch {
		case s.err != nil:
			mark, took = "!!", s.took
		case s.ended:
			mark, took, note = "ok", s.took, ""
		}
		fmt.Fprintln(&b, cut(fmt.Sprintf("  %s  %6s  %s", mark, clock(took), s.name), v.width))
		v.drawn++
		if note != "" {
			fmt.Fprintln(&b, cut("                "+note, v.width))
			v.drawn++
		}
	}
	fmt.Fprintf(&b, "      %6s  in all\n", clock(time.Since(v.began)))
	v.drawn++
	io.WriteString(v.out, b.String()) //nolint:errcheck // Nothing to tell it to.
}

// close draws for the last time.
func (v *view) close() {
	close(v.stop)
	v.done.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.live {
		v.draw()
	}
}

// clock is a duration as minutes and seconds.
func clock(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// cut shortens a line to the terminal's width: a wrapped line would spoil the
// count of lines to go up.
func cut(s string, width int) string {
	r := []rune(s)
	if width < 10 || len(r) < width {
		return s
	}
	return string(r[:width-2]) + "…"
}
