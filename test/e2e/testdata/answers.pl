#!/usr/bin/perl
# Answers for an API server with objects that are as large as the proxy lets through, of the kind in /tmp/kind. The kinds are those of
# %contents. Appends what it has answered to /tmp/answered.
use strict; use warnings; $| = 1;

my ($path, $query) = (split(/\?/, $ENV{REQUEST_URI}, 2), "");
my $method = $ENV{REQUEST_METHOD};

# The most of an answer, of an event of a watch and of a watch, less a little for what is around it: see DefaultLimits in proxy.
use constant { ANSWER => 2_090_000, EVENT => 1_040_000, EVENTS => 7, VALUES => 19_850, DEPTH => 480 };

my %kinds = (Deployment => "deployments", ReplicaSet => "replicasets", StatefulSet => "statefulsets", Application => "applications", AppProject => "appprojects", Ingress => "ingresses", Job => "jobs");
my %kind_of = reverse %kinds;

sub answer {
  my ($status, $body) = @_;
  print "Status: $status\r\nContent-Type: application/json\r\n\r\n", $body;
  my $agent = $ENV{HTTP_USER_AGENT} // "";
  open my $out, ">>", "/tmp/answered" or die;
  print $out "$method $path ", length($body), " $agent\n";
  exit;
}
sub failure {
  my ($code, $reason, $message) = @_;
  answer($code, qq({"kind":"Status","apiVersion":"v1","status":"Failure","code":$code,"reason":"$reason","message":"$message"}));
}
sub file { open my $in, "<", $_[0] or die "$_[0]: $!"; local $/; my $all = <$in>; $all =~ s{\n\z}{}; $all }

# Each returns what an object has beside its name. They get how many bytes and values that may have.
sub items { my ($n, $item) = @_; "[" . join(",", ($item) x $n) . "]" }
sub members { my ($n, $bytes, $prefix, $value) = @_; my $pad = "x" x ($bytes / $n - 14 - length $value); join(",", map { sprintf(qq("%s%s%05d":%s), $prefix, $pad, $_, $value) } 1 .. $n) }
sub deep { my ($values, $in) = @_; my $n = $values < DEPTH ? $values : DEPTH; $in x $n . "{}" . "}" x $n }
my %contents = (
  Text        => sub { my ($of, $bytes) = @_; (spec => '"' . "x" x $bytes . '"') },
  # Encoders of Go write six bytes for it.
  Angles      => sub { my ($of, $bytes) = @_; (spec => '"' . "<" x $bytes . '"') },
  # Decoders of Go read three bytes for it. The proxy encodes Applications anew.
  NoUTF8      => sub { my ($of, $bytes) = @_; (spec => '"' . "\xff" x ($of->{kind} eq "Application" ? $bytes / 3 : $bytes) . '"') },
  Maps        => sub { my ($of, $bytes, $values) = @_; (spec => items($values / 2, "{}")) },
  Numbers     => sub { my ($of, $bytes, $values) = @_; (spec => items($values, "0")) },
  Texts       => sub { my ($of, $bytes, $values) = @_; (spec => items($values, '"' . "x" x ($bytes / $values - 4) . '"')) },
  Members     => sub { my ($of, $bytes, $values) = @_; (spec => "{" . members($values, $bytes, "k", "0") . "}") },
  Deep        => sub { my ($of, $bytes, $values) = @_; (spec => deep($values, '{"a":')) },
  Annotations => sub { my ($of, $bytes, $values) = @_; (annotations => members($values, $bytes, "k", '""')) },
  Containers  => sub { my ($of, $bytes, $values) = @_; (containers => join(",", map { qq({"name":"c$_"}) } 1 .. $values / 2)) },
  Managed     => sub { my ($of, $bytes, $values) = @_; (fields => "{" . members($values / 2, $bytes, "f:", "{}") . "}") },
  DeepManaged => sub { my ($of, $bytes, $values) = @_; (fields => deep($values, '{"f:a":')) },
);

my $contents = $contents{-e "/tmp/kind" ? file("/tmp/kind") : "Maps"} or failure(500, "InternalError", "no such kind of answer");

# Helm waits for no workload that is paused or updated by hand. Where an Application may have what it likes, provider-kubernetes reads more.
sub spec_of {
  my ($kind, $content, $containers) = @_;
  return qq({"source":{"helm":{"valuesObject":{"a":$content}}}}) if $kind eq "Application";
  my %waits_not = (Deployment => '"paused":true,', StatefulSet => '"updateStrategy":{"type":"OnDelete"},');
  "{" . ($waits_not{$kind} // "") . qq("template":{"spec":{"containers":[$containers]}},"a":$content});
}

sub object {
  my ($of, $bytes, $values, $status) = @_;
  my %has = $contents->($of, $bytes, $values);
  my $meta = qq("name":"$of->{name}","namespace":"$of->{namespace}","uid":"6d616c6c-6f72-4779-8000-000000000000","resourceVersion":"1");
  $meta .= qq(,"annotations":{$has{annotations}}) if $has{annotations};
  $meta .= qq(,"managedFields":[{"manager":"$of->{manager}","operation":"Apply","apiVersion":"$of->{version}","fieldsType":"FieldsV1","fieldsV1":$has{fields}}]) if $has{fields};
  my $spec = spec_of($of->{kind}, $has{spec} // "{}", $has{containers} // "");
  qq({"apiVersion":"$of->{version}","kind":"$of->{kind}","metadata":{$meta},"spec":$spec,"status":$status});
}

if ($path =~ m{^/apis/([^/]+)/([^/]+)/?$} && -e "/files/$2.$1") { answer(200, file("/files/$2.$1")) }
failure(500, "InternalError", "not today") unless $path =~ m{^/apis/([^/]+/[^/]+)/namespaces/([^/]+)/([a-z]+)(?:/([a-z0-9.-]+))?$} && ($4 // "") ne "not-today" && $kind_of{$3};
my %of = (version => $1, namespace => $2, plural => $3, name => $4 // "", kind => $kind_of{$3});
$of{manager} = -e "/files/manager.$of{plural}" ? file("/files/manager.$of{plural}") : "a";
my $is_job = $of{kind} eq "Job";

# Helm creates the Job of the hook, and waits for its end.
if ($method eq "POST" && $of{name} eq "") { $of{name} = do { local $/; <STDIN> =~ /"name":"(argocd-redis-secret-init)"/ ? $1 : "a" }; answer(201, object(\%of, ANSWER, VALUES, "{}")) }
if ($is_job && $of{name} ne "" && ($method eq "DELETE" || $method eq "GET")) { failure(404, "NotFound", "there is none") }
if ($of{name} eq "" && $query =~ /watch=(true|1)/) {
  $of{name} = $1 if $query =~ /metadata\.name%3D([a-z0-9.-]+)/;
  # A client may have asked for the list as the first events of the watch, which end with a bookmark.
  my $listed = qq({"type":"BOOKMARK","object":{"apiVersion":"$of{version}","kind":"$of{kind}","metadata":{"resourceVersion":"2","annotations":{"k8s.io/initial-events-end":"true"}}}}\n);
  my $done = '{"succeeded":1,"conditions":[{"type":"Complete","status":"True"}]}';
  my @events = map { '{"type":"MODIFIED","object":' . object(\%of, EVENT, int(VALUES / EVENTS) - 50, $_ < EVENTS ? "{}" : $done) . "}\n" } 1 .. EVENTS;
  answer(200, join "", @events[0 .. EVENTS - 2], $listed, $events[-1]);
}
if ($of{name} eq "") {
  $of{name} = $query =~ /metadata\.name%3D([a-z0-9.-]+)/ ? $1 : "a";
  answer(200, qq({"kind":"$of{kind}List","apiVersion":"$of{version}","metadata":{"resourceVersion":"1"},"items":[) . object(\%of, ANSWER, VALUES, "{}") . "]}");
}
answer(200, object(\%of, ANSWER, VALUES, "{}"));
