#!/bin/sh
# argocd calls this with a commit or an annotated tag whose signature is to be
# verified, and reads git's verdict in the output. Exit code 1 is the verdict
# "no good signature"; a tag without any signature has no verdict to print.
revision=${1:?usage: git-verify-wrapper.sh REVISION}

if git describe --exact-match "$revision" >/dev/null 2>&1; then
  kind=tag
else
  kind=commit
fi
output=$(git "verify-$kind" "$revision" 2>&1)
code=$?

if [ "$code" -gt 1 ]; then
  printf '%s\n' "$output" >&2
  exit "$code"
fi
case "$code:$kind:$output" in
1:tag:error:*) output= ;;
esac
printf '%s\n' "$output"
