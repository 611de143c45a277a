#!/bin/sh
# Brings the tenants of a lost host back on an empty one, from their backups: all claims of files and folders, and VirtualArgoCDs of group
# m.virtualargocd.io, those with the highest annotation virtualargocd.io/restore-priority first, and a bounded number at a time. What else the
# files have, such as namespaces, plans and Secrets, is applied before, namespaces first. The platform has to be installed, with the same
# input.backup.
#
#   restore.sh [--parallel 10] [--timeout 30] [--activate] <file or folder>...
#
# --timeout is in minutes, for each claim. With --activate, the tenants act at once, and those that an earlier run has restored are activated:
# only if nothing else acts on their clusters. Other claims that exist are left alone; it can be run again. It reports on each claim, and ends
# with 1 if one isn't restored, or if anything can't be read or applied.
set -eu

# one restores the claim in a file.
one() {
  file=$1 began=$(date +%s)
  # What is wrong with its fields, the API server says when it is created.
  set -- $(kubectl create --dry-run=client --validate=false -f "$file" -o 'jsonpath={.metadata.namespace} {.metadata.name} {.apiVersion}')
  [ $# = 3 ] || return 1
  namespace=$1 name=$2 kind=virtualargocds.${3%/*}
  tell() { printf '%-9s %4ss  %s/%s  %s\n' "$1" "$(($(date +%s) - began))" "$namespace" "$name" "$2"; }
  if kubectl get "$kind" "$name" --namespace "$namespace" >/dev/null 2>&1; then
    if [ -z "$(kubectl get "$kind" "$name" --namespace "$namespace" -o 'jsonpath={.spec.restoreFrom}{.status.restore}')" ]; then
      tell exists "it was made without a backup, and is left alone: see what it has before you delete it"
      touch "$file.failed"
      return
    fi
    if [ "$ACTIVATE" = true ] && [ -n "$(kubectl get "$kind" "$name" --namespace "$namespace" -o 'jsonpath={.spec.restoreFrom}')" ]; then
      kubectl patch "$kind" "$name" --namespace "$namespace" --type merge -p '{"spec":{"restoreFrom":{"activate":true}}}' >/dev/null
    fi
  else
    # What a manifest says of an earlier restore doesn't count, except whose backup it is.
    kubectl patch --local -f "$file" --type merge -p "{\"spec\":{\"restoreFrom\":{\"backup\":\"latest\",\"activate\":$ACTIVATE}}}" -o json >"$file.patched"
    mv "$file.patched" "$file"
    if ! problem=$(kubectl create -f "$file" 2>&1 >/dev/null); then
      tell failed "$problem"
      touch "$file.failed"
      return
    fi
  fi
  # A store may be slow or away for a moment, and what fails is tried again for an hour.
  phase='' message='' reason='' state='' failures=0
  while [ $(($(date +%s) - began)) -lt $((TIMEOUT * 60)) ]; do
    state=$(kubectl get "$kind" "$name" --namespace "$namespace" \
      -o 'jsonpath={.status.phase}{"\n"}{.status.conditions[?(@.type=="Restored")].reason}{"\n"}{.status.conditions[?(@.type=="Restored")].message}{"\n"}{.status.message}' 2>&1) || true
    phase=$(printf '%s\n' "$state" | sed -n 1p) reason=$(printf '%s\n' "$state" | sed -n 2p) message=$(printf '%s\n' "$state" | sed -n 3p)
    case $phase/$reason in
    Ready/Available | Hibernat*/Available)
      tell restored "$message"
      return
      ;;
    Ready/Inactive | Hibernat*/Inactive)
      if [ "$ACTIVATE" = false ]; then
        tell restored "$message"
        return
      fi
      ;;
    */RestoreFailed)
      failures=$((failures + 1))
      [ "$failures" -lt "$FAILURES" ] || break
      ;;
    esac
    sleep 2
  done
  tell failed "$phase: $(printf '%s\n' "$state" | sed -n 3,4p | tr '\n' ' ')"
  touch "$file.failed"
}

# After FAILURES looks, two seconds apart, at which a restore has failed, the next claim has its turn.
PARALLEL=${PARALLEL:-10} TIMEOUT=${TIMEOUT:-30} ACTIVATE=${ACTIVATE:-false} FAILURES=${FAILURES:-60}
if [ "${1-}" = --one ]; then
  one "$2" || touch "$2.failed"
  exit 0
fi
while [ $# -gt 0 ]; do
  case $1 in
  --parallel) PARALLEL=$2 && shift 2 ;;
  --timeout) TIMEOUT=$2 && shift 2 ;;
  --activate) ACTIVATE=true && shift ;;
  -*) sed -n '2,12s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
  *) break ;;
  esac
done
if [ $# = 0 ]; then
  sed -n '2,12s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
export PARALLEL TIMEOUT ACTIVATE FAILURES

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# One file for each object. kubectl prints each as JSON of its own, also those that the host has no kind for: with --local, it doesn't ask. Of files
# that aren't manifests, such as a chart's values, it says so, and goes on.
incomplete=0
for path; do
  kubectl patch --local --recursive -f "$path" --type merge -p '{}' -o json >>"$dir/all" || incomplete=1
done
awk -v dir="$dir" '/^\{/ { if (file) close(file); file = sprintf("%s/%06d.json", dir, ++n) } { print >file }' "$dir/all"
mkdir "$dir/claims" "$dir/namespaces" "$dir/others"
for file in "$dir"/*.json; do
  [ -e "$file" ] || continue
  if grep -q '^    "kind": "VirtualArgoCD"' "$file"; then
    mv "$file" "$dir/claims"
  elif grep -q '^    "kind": "Namespace"' "$file"; then
    mv "$file" "$dir/namespaces"
  else
    mv "$file" "$dir/others"
  fi
done
for others in "$dir/namespaces" "$dir/others"; do
  [ -n "$(ls "$others")" ] || continue
  # Claims come back without what the host has no kind for, or not yet.
  kubectl apply --server-side -f "$others" >/dev/null || incomplete=1
done
began=$(date +%s)
for file in "$dir"/claims/*.json; do
  [ -e "$file" ] || continue
  priority=$(sed -n 's/.*"virtualargocd.io\/restore-priority": "\(-\{0,1\}[0-9]*\)".*/\1/p' "$file" | head -n 1)
  echo "${priority:-0} $file"
done | sort -k 1,1nr -k 2 | cut -d ' ' -f 2 | xargs -r -n 1 -P "$PARALLEL" sh "$0" --one
all=$(ls "$dir/claims" | grep -c '\.json$' || true) failed=$(ls "$dir/claims" | grep -c '\.failed$' || true)
echo "$((all - failed)) of $all claims are restored, in $(($(date +%s) - began))s"
[ "$incomplete" = 0 ] || echo "not everything else could be read and applied: see above" >&2
[ "$failed$incomplete" = 00 ]
