package toolchain

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Progress takes a line about what goes on. It may be called from several
// goroutines. Nil is silent.
type Progress func(line string)

// reporter tells a person that a long build is alive: what is being built and for
// how long, what is done, what is left.
type reporter struct {
	say   Progress
	total int

	mu      sync.Mutex
	began   time.Time
	running map[string]time.Time
	ended   int
}

func newReporter(p Progress, total int) *reporter {
	if p == nil {
		p = func(string) {}
	}
	return &reporter{say: p, total: total, began: time.Now(), running: map[string]time.Time{}}
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
	r.running[label(m)] = time.Now()
}

func (r *reporter) done(m module, cpu time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	took := time.Since(r.running[label(m)]).Round(time.Second)
	delete(r.running, label(m))
	r.ended++
	verb := "built"
	if err != nil {
		verb = "FAILED to build"
	}
	r.say(fmt.Sprintf("%s %s in %s (processor time %s), %d of %d", verb, label(m), took, cpu.Round(time.Second), r.ended, r.total))
}

// every says now and then what is being built, until the returned function is called.
func (r *reporter) every(d time.Duration) func() {
	stop := make(chan struct{})
	go func() {
		t := time.NewTicker(d)
		defer t.Stop()
		for {
			select {
			case <-stop:
				return
			case <-t.C:
				if s := r.summary(); s != "" {
					r.say(s)
				}
			}
		}
	}()
	return sync.OnceFunc(func() { close(stop) })
}

func (r *reporter) summary() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.running) == 0 {
		return ""
	}
	var now []string
	for l, since := range r.running {
		now = append(now, fmt.Sprintf("%s for %s", l, time.Since(since).Round(time.Second)))
	}
	slices.Sort(now)
	return fmt.Sprintf("building %s; %d of %d done after %s", strings.Join(now, ", "), r.ended, r.total, time.Since(r.began).Round(time.Second))
}
