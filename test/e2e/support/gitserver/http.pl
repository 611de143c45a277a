# Serves the repositories in /srv over HTTP: a process for each request, which is that of git http-backend.
use strict;
use IO::Socket::INET;

$SIG{CHLD} = 'IGNORE';
my $server = IO::Socket::INET->new(LocalPort => 8080, Listen => 64, ReuseAddr => 1) or die "cannot listen: $!";
while (1) {
    my $client = $server->accept or next;
    my $pid = fork;
    if (!defined $pid || $pid) { close $client; next }
    $SIG{CHLD} = 'DEFAULT';
    answer($client);
    exit 0;
}

sub answer {
    my ($client) = @_;
    my ($method, $uri) = split ' ', (<$client> // '');
    exit 0 unless defined $uri;
    my %header;
    while (defined(my $line = <$client>)) {
        $line =~ s/\r?\n$//;
        last if $line eq '';
        my ($key, $value) = split /:\s*/, $line, 2;
        $header{lc $key} = $value;
    }
    my $length = $header{'content-length'} || 0;
    print $client "HTTP/1.1 100 Continue\r\n\r\n" if ($header{expect} || '') =~ /100-continue/i;
    my $body = '';
    while (length $body < $length) {
        read($client, $body, $length - length $body, length $body) or last;
    }
    open(my $spool, '+>', undef) or die "cannot keep the request: $!";
    print $spool $body;
    $spool->flush;
    sysseek($spool, 0, 0);
    open(STDIN, '<&', $spool) or die "cannot hand on the request: $!";

    my ($path, $query) = split /\?/, $uri, 2;
    @ENV{qw(GIT_PROJECT_ROOT GIT_HTTP_EXPORT_ALL REQUEST_METHOD PATH_INFO QUERY_STRING CONTENT_TYPE CONTENT_LENGTH HTTP_CONTENT_ENCODING GIT_PROTOCOL)}
        = ('/srv', 1, $method, $path, $query // '', $header{'content-type'} // '', $length, $header{'content-encoding'} // '', $header{'git-protocol'} // '');
    open(my $out, '-|', 'git', 'http-backend') or die "cannot run git: $!";
    local $/;
    my ($head, $content) = split /\r?\n\r?\n/, (<$out> // ''), 2;
    my $status = $head =~ s/^Status: *([^\r\n]*)\r?\n?//m ? $1 : '200 OK';
    $head =~ s/\r?\n/\r\n/g;
    $head =~ s/(\r\n)+$//;
    print $client "HTTP/1.1 $status\r\nConnection: close\r\n$head\r\n\r\n", $content // '';
    $client->flush;
}
