// Package netcheck tries from a pod which addresses it can connect to. Output of a command in a pod can be lost, so that what
// is said of an address counts only when it is there as a whole, and nothing said of one is no result.
package netcheck

import (
	"fmt"
	"regexp"
)

const (
	// Connected is the result of an address that is reached.
	Connected = "connected"
	// NoAnswer is the result where packets are dropped, as a NetworkPolicy does. A server that isn't there would refuse, and
	// a network that isn't be unreachable.
	NoAnswer = "no answer"
)

// script connects to each of its arguments, all at once, and prints one line for each. 124 is what timeout says.
const script = `for target; do
  (
    said=$(timeout 4 bash -c 'exec 3<>"/dev/tcp/${0%:*}/${0##*:}"' "$target" 2>&1)
    code=$?
    case $code in 0) said="connected";; 124) said="no answer";; esac
    echo "result of $target: ${said//$'\n'/; } (exit status $code)"
  ) &
done
wait`

var result = regexp.MustCompile(`(?m)^result of (\S+): (.+) \(exit status [0-9]+\)$`)

// Command tries targets, each a host and a port.
func Command(targets ...string) []string {
	return append([]string{"bash", "-c", script, "bash"}, targets...)
}

// Results reads what Command has printed: for each target Connected, NoAnswer, or what bash says. An error means that the
// output is incomplete and no evidence: try again.
func Results(output string, targets ...string) (map[string]string, error) {
	got := map[string]string{}
	for _, line := range result.FindAllStringSubmatch(output, -1) {
		got[line[1]] = line[2]
	}
	for _, target := range targets {
		if _, ok := got[target]; !ok {
			return nil, fmt.Errorf("no result for %s in %q", target, output)
		}
	}
	return got, nil
}
