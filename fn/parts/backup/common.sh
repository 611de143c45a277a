# What all steps have: a container runs one of them, whose name is its first argument. After a step that has failed, only the last one does
# anything: it reports why.
set -u
cd /work || exit 1

# Says in one line why a step has failed, and ends it well, so that the last container runs. What is of no use any more makes room for that.
fail() {
  rm -f all.tar.gz snapshot.tar snapshot.tar.gz argocd.yaml import.yaml keys drop
  printf '%s: %s' "$1" "$2" | tr '\n\t"\\' '   /' | tr -cd ' -~' | cut -c 1-500 >/work/failed
  exit 0
}

# Runs a program for some seconds at most, so that what hangs is told of before the Job ends.
within() {
  most=$1
  shift
  timeout "$most" "$@"
  code=$?
  # So GNU's and BusyBox's timeout end.
  case $code in 124 | 143) echo "it took longer than $most seconds" >&2 ;; esac
  return $code
}

# The last that a program has said, without times and numbers of requests, or that there is no room.
why() {
  if grep -q -i 'no space left' /tmp/err; then
    echo "the backup is larger than $MAX_SIZE, which is input.backup.maxSize"
  elif grep '^it took longer than ' /tmp/err; then
    return
  else
    grep -v '^ *$' /tmp/err | tail -n 1 | sed 's/^[0-9/]* [0-9:]* [A-Z]* *: //; s/RequestID: [^,]*, //; s/HostID: [^,]*, //'
  fi
}

step=$1
: >/tmp/err
if [ "$step" != report ] && [ -e failed ]; then
  exit 0
fi

