package toolchain

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// BuildLive is Build for a person at a terminal of the given width: what is done
// stands in lines, and below them a block that is drawn anew twice a second says
// what is being built.
func (c Cache) BuildLive(ctx context.Context, out io.Writer, width int, names ...string) error {
	l := &live{out: out, width: width}
	defer l.draw(nil)
	return c.build(ctx, names, l.say, 500*time.Millisecond, func(r *reporter) { l.draw(r.block()) })
}

// live is a terminal with a block at its end that is drawn again and again.
type live struct {
	out   io.Writer
	width int

	mu sync.Mutex
	// block is what stands there now.
	block []string
}

// say writes a line above the block.
func (l *live) say(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(line, l.block)
}

// draw replaces the block.
func (l *live) draw(block []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write("", block)
}

func (l *live) write(line string, block []string) {
	var b strings.Builder
	if len(l.block) > 0 {
		// Up to the block's first line, and clear from there.
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", len(l.block))
	}
	if line != "" {
		b.WriteString(line + "\n")
	}
	for _, s := range block {
		b.WriteString(cut(s, l.width) + "\n")
	}
	l.block = block
	io.WriteString(l.out, b.String()) //nolint:errcheck // Nobody to tell.
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
