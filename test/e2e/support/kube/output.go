package kube

import (
	"bytes"
	"context"
	"fmt"
	"strings"
)

// endOfOutput is the last line that marked prints.
const endOfOutput = "end of output"

// attempts is how often Output runs a command whose output is lost.
const attempts = 5

// Output runs a command in a container and returns what it prints, without space around it. On a busy machine output is
// lost now and then, all or its end, with no error. So a last line marks it as complete, and without that the command is
// run again: it must be one that may be.
func (c *Cluster) Output(ctx context.Context, namespace, pod, container string, command ...string) (string, error) {
	lost := ""
	for range attempts {
		var out, problem bytes.Buffer
		if err := c.Exec(ctx, namespace, pod, container, marked(command), nil, &out, &problem); err != nil {
			return "", fmt.Errorf("pod %s/%s: %w: %s", namespace, pod, err, problem.String())
		}
		if said, complete := unmarked(out.String()); complete {
			return said, nil
		}
		lost = out.String()
	}
	return "", fmt.Errorf("pod %s/%s: the output of %q is incomplete, %d times: %q", namespace, pod, command, attempts, lost)
}

// marked is a command that prints endOfOutput after all else, when it succeeds.
func marked(command []string) []string {
	return append([]string{"sh", "-c", `"$@" && printf '\n%s\n' '` + endOfOutput + `'`, "sh"}, command...)
}

// unmarked returns what a marked command has printed, and whether that is all.
func unmarked(output string) (said string, complete bool) {
	said, complete = strings.CutSuffix(output, "\n"+endOfOutput+"\n")
	return strings.TrimSpace(said), complete
}
