// Package dnsquery asks DNS servers from a pod that has Perl, and nothing that is made for DNS.
package dnsquery

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// Results of questions.
const (
	// Answered begins the result of a question that was answered. The number of records follows.
	Answered = "answered"
	// NoSuchName is the result of NXDOMAIN.
	NoSuchName = "no such name"
	// NoAnswer is the result where packets are dropped, as a NetworkPolicy does.
	NoAnswer = "no answer"
)

// Question of a name and a type of records: A, PTR or SRV.
type Question struct{ Name, Type string }

func (q Question) String() string { return q.Type + "/" + q.Name }

// Reverse asks for the name of an IPv4 address.
func Reverse(address netip.Addr) Question {
	labels := strings.Split(address.String(), ".")
	slices.Reverse(labels)
	return Question{Name: strings.Join(labels, ".") + ".in-addr.arpa", Type: "PTR"}
}

// script sends each question to the server, and prints one line for each.
const script = `use IO::Socket::INET; use IO::Select;
my ($server, @questions) = @ARGV;
my %types = (A => 1, PTR => 12, SRV => 33);
my %codes = (0 => "no records", 2 => "server failure", 3 => "no such name", 5 => "refused");
my %waits;
for my $i (0 .. $#questions) {
  my ($type, $name) = split m{/}, $questions[$i], 2;
  my $socket = IO::Socket::INET->new(PeerAddr => $server, Proto => "udp") or die "cannot make a socket: $!";
  my $query = pack("n6", $i + 1, 0x0100, 1, 0, 0, 0) . join("", map { pack("C/a", $_) } split /\./, $name) . pack("Cnn", 0, $types{$type}, 1);
  send($socket, $query, 0);
  $waits{$i} = [$socket, $query];
}
for my $try (1 .. 4) {
  for my $i (sort keys %waits) {
    my ($socket, $query) = @{$waits{$i}};
    if (!IO::Select->new($socket)->can_read($i == (sort keys %waits)[0] ? 1.5 : 0.1)) { send($socket, $query, 0); next }
    defined recv($socket, my $answer, 4096, 0) or next;
    my ($id, $flags, $asked, $answers) = unpack("n4", $answer);
    my $said = $flags & 15 ? $codes{$flags & 15} || "code " . ($flags & 15) : $answers ? "answered ($answers)" : $codes{0};
    print "result of $questions[$i]: $said.\n";
    delete $waits{$i};
  }
}
print "result of $questions[$_]: no answer.\n" for keys %waits;
`

var result = regexp.MustCompile(`(?m)^result of (\S+): (.+)\.$`)

// Command asks a server, a host and a port, all questions.
func Command(server string, questions ...Question) []string {
	command := []string{"perl", "-e", script, server}
	for _, q := range questions {
		command = append(command, q.String())
	}
	return command
}

// Results reads what Command has printed. An error means that the output is incomplete and no evidence: try again.
func Results(output string, questions ...Question) (map[Question]string, error) {
	said := map[string]string{}
	for _, line := range result.FindAllStringSubmatch(output, -1) {
		said[line[1]] = line[2]
	}
	got := map[Question]string{}
	for _, q := range questions {
		is, ok := said[q.String()]
		if !ok {
			return nil, fmt.Errorf("no result for %s in %q", q, output)
		}
		got[q] = is
	}
	return got, nil
}
