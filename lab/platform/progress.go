package platform

import (
	"fmt"
	"time"
)

// An Event tells what happens in a step.
type Event struct {
	// Step is what goes on, for people: "Install Crossplane v2.4.0".
	Step string
	// Note is a line about it. Empty when the step begins or ends.
	Note string
	// Ended says that the step is over; Err why, when it failed.
	Ended bool
	Err   error
}

// Progress takes events. It may be called from several goroutines. Nil is
// silent.
type Progress func(Event)

// Lines is progress as plain lines, for logs.
func Lines(say func(line string)) Progress {
	began := time.Now()
	return func(e Event) {
		at := fmt.Sprintf("%5s  ", time.Since(began).Round(time.Second))
		switch {
		case e.Err != nil:
			say(at + e.Step + ": FAILED: " + e.Err.Error())
		case e.Ended:
			say(at + e.Step + ": done")
		case e.Note != "":
			say(at + e.Step + ": " + e.Note)
		default:
			say(at + e.Step)
		}
	}
}

// Step runs f as a step. f gets a function for notes.
func (p Progress) Step(name string, f func(note func(string)) error) error {
	if p == nil {
		return f(func(string) {})
	}
	p(Event{Step: name})
	last := ""
	err := f(func(note string) {
		// Polls report the same thing again and again.
		if note != last {
			last = note
			p(Event{Step: name, Note: note})
		}
	})
	p(Event{Step: name, Ended: true, Err: err})
	return err
}
