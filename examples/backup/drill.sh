#!/bin/sh
# Restores the last backup of a tenant as a copy, which touches nothing, and compares: a backup that can't be restored is none.
#
#   drill.sh [<namespace>/<claim>]
#
# Without a name, it takes one of the tenants with a backup at random, but none that the platform has suspended: nobody gets its backups. The copy
# has the plan of the tenant, and is deleted in the end.
set -eu

if [ $# = 0 ]; then
  # shellcheck disable=SC2046 # Two words.
  set -- $(for group in virtualargocd.io m.virtualargocd.io; do
    kubectl get "virtualargocds.$group" --all-namespaces \
      -o 'jsonpath={range .items[?(@.status.backup.name)]}{.metadata.namespace}/{.metadata.name}{" "}{.spec.suspension}{"\n"}{end}' 2>/dev/null || true
  done | awk 'NF == 1 && !/\/drill-/' | shuf -n 1)
  [ $# = 1 ] || { echo "no tenant that isn't suspended has a backup" && exit 1; }
fi
namespace=${1%%/*} name=${1#*/} group=virtualargocd.io
# The namespaced kind of Crossplane 2, where the platform has it.
if kubectl get "virtualargocds.m.$group" "$name" --namespace "$namespace" >/dev/null 2>&1; then
  group=m.$group
fi
kind=virtualargocds.$group
of() { kubectl get "$kind" "$name" --namespace "$namespace" -o "jsonpath={$1}"; }
backup=$(of .status.backup.name) want=$(of .status.backup.applications) wanted=$(of .status.backup.digest) plan=$(of .status.plan)
[ -n "$backup" ] || { echo "$1 has no backup: $(of '.status.conditions[?(@.type=="BackedUp")].message')" && exit 1; }
copy=drill-$(printf '%s' "$1" | cksum | cut -d ' ' -f 1)
began=$(date +%s)

trap 'kubectl delete "$kind" "$copy" --namespace "$namespace" --ignore-not-found --wait=false >/dev/null' EXIT
kubectl create -f - <<EOF
apiVersion: $group/v1alpha1
kind: VirtualArgoCD
metadata: {name: $copy, namespace: $namespace}
spec:
  plan: "$plan"
  backup: {enabled: false}
  hibernation: {enabled: false}
  restoreFrom: {tenant: $name, backup: $backup}
EOF
is() { kubectl get "$kind" "$copy" --namespace "$namespace" -o "jsonpath=$1"; }
reason=
while [ $(($(date +%s) - began)) -lt 900 ]; do
  if [ "$(is '{.status.conditions[?(@.type=="SpecAccepted")].status}')" = False ]; then
    echo "NOT TRIED: a copy of $1 is refused: $(is '{.status.conditions[?(@.type=="SpecAccepted")].message}')"
    exit 1
  fi
  reason=$(is '{.status.conditions[?(@.type=="Restored")].reason}')
  case $reason in Inactive | RestoreFailed) break ;; esac
  sleep 2
done
if [ "$reason" != Inactive ]; then
  is '{.status.message}; {.status.conditions[?(@.type=="Restored")].message}{"\n"}'
  echo "FAILED: backup $backup of $1 can't be restored"
  exit 1
fi
got=$(is '{.status.restore.applications}') digest=$(is '{.status.restore.digest}')
if [ "${got:-0}" != "${want:-0}" ]; then
  echo "FAILED: backup $backup of $1 had ${want:-0} Applications, and ${got:-0} came back"
  exit 1
fi
# Of a backup that an earlier version has made, there is none.
if [ -n "$wanted" ] && [ "$digest" != "$wanted" ]; then
  echo "FAILED: backup $backup of $1 comes back with other Applications, ApplicationSets, projects or repositories than it was made of"
  exit 1
fi
echo "Backup $backup of $1 comes back: ${got:-0} Applications, in $(($(date +%s) - began))s"
