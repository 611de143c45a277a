package toolchain

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// Progress takes a line about what goes on. It may be called from several
// goroutines. Nil is silent.
type Progress func(line string)

// reporter tells a person that a long build is alive: what is being built and for
// how long, what is done, how much is left.
type reporter struct {
	say   Progress
	total int

	mu      sync.Mutex
	began   time.Time
	running []run
	ended   int
}

// A run is a build under way.
type run struct {
	label string
	since time.Time
}

func newReporter(p Progress, ms []module) *reporter {
	return &reporter{say: p, total: len(ms), began: time.Now()}
}

func label(m module) string {
	if len(m.tools) == 1 {
		return m.names()[0] + " " + m.version
	}
	return fmt.Sprintf("%s %s (%d programs)", m.path[strings.LastIndex(m.path, "/")+1:], m.version, len(m.tools))
}

func (r *reporter) start(m module) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = append(r.running, run{label(m), time.Now()})
}

func (r *reporter) done(m module, cpu time.Duration, err error) {
	line := r.end(m, cpu, err)
	r.say(line)
}

func (r *reporter) end(m module, cpu time.Duration, err error) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var took time.Duration
	for i, b := range r.running {
		if b.label == label(m) {
			took = time.Since(b.since)
			r.running = append(r.running[:i:i], r.running[i+1:]...)
			break
		}
	}
	r.ended++
	if err != nil {
		return fmt.Sprintf("FAILED to build %s after %s, %d of %d", label(m), clock(took), r.ended, r.total)
	}
	return fmt.Sprintf("built %s in %s (processor time %s), %d of %d", label(m), clock(took), clock(cpu), r.ended, r.total)
}

// summary is one line; empty when nothing is being built.
func (r *reporter) summary() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.running) == 0 {
		return ""
	}
	var now []string
	for _, b := range r.running {
		now = append(now, fmt.Sprintf("%s for %s", b.label, clock(time.Since(b.since))))
	}
	return fmt.Sprintf("building %s; %d of %d done after %s", strings.Join(now, ", "), r.ended, r.total, clock(time.Since(r.began)))
}

// every calls f now and then, until the returned function is called.
func every(d time.Duration, f func()) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(d)
		defer t.Stop()
		for {
			select {
			case <-end:
				return
			case <-t.C:
				f()
			}
		}
	}()
	return func() { close(end); <-ended }
}

// clock is a duration as minutes and seconds.
func clock(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
