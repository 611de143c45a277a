# What all steps have: a container runs one of them, whose name is its first argument. After a step that has failed, only the last one does
# anything: it reports why. Each has a /tmp of its own, and all may write to /work: what an earlier one has left there may be what a tenant wants.
set -u
export LC_ALL=C
cd /work || exit 1

# Says in one line why a step has failed, and ends it well, so that the last container runs. What is of no use any more makes room for that.
fail() {
  rm -rf all.tar.gz snapshot.tar snapshot.tar.gz argocd.yaml backup.tar import.yaml back.yaml keys drop tenant
  printf '%s: %s' "$1" "$2" | tr '\n\t"\\' '   /' | tr -cd ' -~' | cut -c 1-500 >/work/failed
  exit 0
}

# Reports whether a step has failed.
over() { [ -e failed ] || [ -L failed ]; }

# Reports whether something is a file, and no link to another one.
regular() { [ -f "$1" ] && [ ! -L "$1" ]; }

# Prints those of some characters that a step has written to a short file.
given() { ! regular "$1" || head -c 500 "$1" | tr -cd "$2"; }

# Counts lines. grep ends with 1 where there are none, which is no failure.
count() { grep -c "$@" || [ $? = 1 ]; }

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

# Prints a digest of what a copy has of an export: of names and specs, without what changes by itself, and without credentials. It is read twice, and
# nothing of it is collected, since whoever has written it chooses how long it is.
digest() {
  within 120 awk '
    function flush() {
      told = kind ~ /^(Application|ApplicationSet|AppProject)$/ || kind == "Secret" && repository
      print (told ? kind " " namespace " " name " " : "")
      kind = namespace = name = section = ""; repository = 0
    }
    /^---$/ { flush(); next }
    /^[^ ]/ { section = $1 }
    section == "kind:" { kind = $2 }
    section == "metadata:" && /^  name: / { name = $2 }
    section == "metadata:" && /^  namespace: / { namespace = $2 }
    section == "metadata:" && /^    argocd.argoproj.io\/secret-type: repo/ { repository = 1 }
    END { flush() }' "$1" | within 120 awk -v file="$1" '
    function first(line) { sub(/^[ \t]+/, "", line); sub(/[ \t].*/, "", line); return line }
    {
      printf "%s", $0
      while ((getline line <file) > 0 && line != "---") {
        if (line ~ /^[^ ]/) section = first(line)
        if ($0 != "" && (section == "spec:" || section == "data:")) printf "|%s", (section == "spec:" || line ~ /^  (name|project|type|url): / ? line : first(line))
      }
      section = ""
      if ($0 != "") print ""
    }' | sort | sha256sum | cut -c 1-64
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

# Reports to the platform, with the fields of a ConfigMap as JSON.
tell() { kubectl patch configmap "$RECORD" --namespace "$NAMESPACE" --type merge --patch "{\"data\":{$1}}"; }

# Reports why a step has failed.
tell_failure() {
  message=$(given failed ' !#-[]-~')
  tell "\"failedAt\":\"$(date -u +%Y-%m-%dT%H:%M:%SZ)\",\"message\":\"${message:-a step ended early}\""
  exit 1
}

step=$1
: >/tmp/err
if [ "$step" != report ] && over; then
  exit 0
fi

