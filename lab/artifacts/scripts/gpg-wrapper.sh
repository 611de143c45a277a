#!/bin/sh
# argocd calls this in place of gpg: exit code 1, "something about a key is not
# in order", is a result to read in the output and not a failure.
output=$(gpg "$@" 2>&1)
code=$?
if [ "$code" -gt 1 ]; then
  printf '%s\n' "$output" >&2
  exit "$code"
fi
printf '%s\n' "$output"
