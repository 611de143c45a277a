#!/bin/sh
# Makes claims VirtualArgoCDs of group m.virtualargocd.io, the namespaced kind of Crossplane 2, or with --back the other way round. The tenants
# stay what they are: the composite resource, and everything that is composed of it, is the same object before and after, and nothing restarts.
#
#   adopt.sh [--back] [--parallel 4] [--timeout 5] --all | <namespace> | <namespace>/<name>...
#
# --timeout is in minutes, for each tenant. It can be stopped at any time and run again: what is done is left alone. It reports on each tenant,
# and ends with 1 if one isn't moved. It needs the rights of the platform: to update xvirtualargocds, and to write both kinds and the connection
# Secrets. Before you run it, have whatever writes the manifests from Git, such as Argo CD, write and prune neither kind.
set -eu

GROUP=${GROUP:-virtualargocd.io}
CLAIMS=virtualargocds.$GROUP FRONTS=virtualargocds.m.$GROUP TENANTS=xvirtualargocds.$GROUP OBJECTS=objects.kubernetes.m.crossplane.io

fail() {
  tell failed "$1"
  exit 1
}
tell() { printf '%-9s %4ss  %s/%s  %s\n' "$1" "$(($(date +%s) - began))" "$namespace" "$name" "$2"; }
has() { kubectl get "$1" "$name" --namespace "$namespace" >/dev/null 2>&1; }
of() { kubectl get "$1" "$name" --namespace "$namespace" -o "jsonpath=$2"; }

# await waits until a command succeeds, or says what it was waiting for.
await() {
  what=$1
  shift
  while ! "$@"; do
    [ $(($(date +%s) - began)) -lt $((TIMEOUT * 60)) ] || fail "waited in vain until $what"
    sleep 1
  done
}

# bound has the composite resource that belongs to the tenant.
bound() {
  tenant=$(kubectl get "$TENANTS" -l "crossplane.io/claim-namespace=$namespace,crossplane.io/claim-name=$name" \
    -o 'jsonpath={range .items[*]}{.metadata.name}{"\n"}{end}')
  [ -n "$tenant" ] || fail "there is no $TENANTS of this name: wait until it is bound"
  [ "$(printf '%s\n' "$tenant" | wc -l)" = 1 ] || fail "there are several tenants of this name, and one of them may not be: $(printf '%s' "$tenant" | tr '\n' ' ')"
}

# copy prints what is to be made of an object of a kind: the same of another group, without what Crossplane has written into it.
copy() {
  kubectl get "$1" "$name" --namespace "$namespace" -o json >"$work/from.json"
  kubectl patch --local -f "$work/from.json" --type merge -o json -p "{\"apiVersion\":\"$2/v1alpha1\",\"status\":null,
    \"metadata\":{\"uid\":null,\"resourceVersion\":null,\"generation\":null,\"creationTimestamp\":null,\"finalizers\":null,\"ownerReferences\":null,\"managedFields\":null,
      \"labels\":{\"crossplane.io/in-use\":null,\"crossplane.io/composite\":null},
      \"annotations\":{\"crossplane.io/paused\":null,\"crossplane.io/external-name\":null,\"virtualargocd.io/leave-tenant\":null,\"virtualargocd.io/was-protected\":null,
        \"kubectl.kubernetes.io/last-applied-configuration\":null,\"argocd.argoproj.io/tracking-id\":null}},
    \"spec\":{\"crossplane\":null,\"resourceRef\":null,\"compositeDeletePolicy\":null$3}}"
}

# unprotect ends the deletion protection of what is to go, and remembers it there for the other.
unprotect() {
  [ "$(of "$1" '{.spec.deletionProtection}')" = true ] || return 0
  kubectl annotate "$1" "$name" --namespace "$namespace" --overwrite virtualargocd.io/was-protected=true >/dev/null
  kubectl patch "$1" "$name" --namespace "$namespace" --type merge -p '{"spec":{"deletionProtection":false}}' >/dev/null
}
unprotected() { kubectl delete "$1" "$name" --namespace "$namespace" --dry-run=server >/dev/null 2>&1; }
protection() {
  if [ "$(of "$1" '{.metadata.annotations.virtualargocd\.io/was-protected}')" = true ]; then printf ',"deletionProtection":true'; fi
}

# give has the composite resource belong to another kind, in one write. The field manager of the former one has what it owns become that of the
# new one, so that fields which are removed from the spec later are removed from the tenant.
give() {
  to=$1 from_manager=$2 to_manager=$3
  [ "$(kubectl get "$TENANTS" "$tenant" -o 'jsonpath={.spec.claimRef.apiVersion}')" != "$to" ] || return 0
  at=$(kubectl get "$TENANTS" "$tenant" --show-managed-fields \
    -o 'jsonpath={range .metadata.managedFields[*]}{.manager}{" "}{.operation}{" "}{.subresource}{"\n"}{end}' |
    awk -v manager="$from_manager" '$1 == manager && $2 == "Apply" && $3 == "" { print NR - 1; exit }')
  patch="[{\"op\":\"replace\",\"path\":\"/spec/claimRef\",\"value\":{\"apiVersion\":\"$to\",\"kind\":\"VirtualArgoCD\",\"namespace\":\"$namespace\",\"name\":\"$name\"}}"
  if [ -n "$at" ]; then
    patch="$patch,{\"op\":\"test\",\"path\":\"/metadata/managedFields/$at/manager\",\"value\":\"$from_manager\"},{\"op\":\"replace\",\"path\":\"/metadata/managedFields/$at/manager\",\"value\":\"$to_manager\"}"
  fi
  kubectl patch "$TENANTS" "$tenant" --type json -p "$patch]" >/dev/null
}

# release takes the connection Secret from its owner, and gives it to another kind where that doesn't take it by itself.
release() {
  secret=$(of "$1" '{.spec.writeConnectionSecretToRef.name}')
  [ -n "$secret" ] || return 0
  owner=$(kubectl get secret "$secret" --namespace "$namespace" --ignore-not-found -o 'jsonpath={.metadata.ownerReferences[0].uid}')
  if [ -n "$owner" ] && [ "$owner" = "$(of "$1" '{.metadata.uid}')" ]; then
    change='"op":"remove"'
    if [ -n "${2-}" ]; then
      change="\"op\":\"replace\",\"value\":[{\"apiVersion\":\"$GROUP/v1alpha1\",\"kind\":\"VirtualArgoCD\",\"name\":\"$name\",\"uid\":\"$(of "$2" '{.metadata.uid}')\",\"controller\":true,\"blockOwnerDeletion\":true}]"
    fi
    kubectl patch secret "$secret" --namespace "$namespace" --type json \
      -p "[{\"op\":\"test\",\"path\":\"/metadata/ownerReferences/0/uid\",\"value\":\"$owner\"},{$change,\"path\":\"/metadata/ownerReferences\"}]" >/dev/null
  fi
}

# writes reports whether the Object of the tenant has a management policy.
writes() { [ "$(kubectl get "$OBJECTS" "$tenant" --namespace "$namespace" --ignore-not-found -o 'jsonpath={.spec.managementPolicies[*]}')" = "$1" ]; }
reason() { [ "$(of "$FRONTS" '{.status.conditions[?(@.type=="TenantBound")].reason}')" = "$1" ]; }
paused() { [ "$(of "$FRONTS" '{.status.conditions[?(@.type=="Synced")].reason}')" = ReconcilePaused ]; }
# observed reports whether provider-kubernetes has looked at the composite resource.
observed() { [ "$(kubectl get "$OBJECTS" "$tenant" --namespace "$namespace" --ignore-not-found -o 'jsonpath={.status.conditions[?(@.type=="Synced")].status}')" = True ]; }

# forward makes a claim a namespaced VirtualArgoCD.
forward() {
  has "$CLAIMS" || { has "$FRONTS" && tell done "there is no claim any more" && return 0; } || fail "there is no claim"
  bound
  unprotect "$CLAIMS"
  if ! has "$FRONTS"; then
    await "the claim isn't protected any more" unprotected "$CLAIMS"
    more=$(protection "$CLAIMS")
    # The Composition that everybody has is nobody's choice, and nor is the newest revision.
    if [ "$(of "$CLAIMS" '{.spec.compositionUpdatePolicy}')" != Manual ]; then
      more="$more,\"compositionUpdatePolicy\":null,\"compositionRevisionRef\":null"
    fi
    if [ "$(of "$CLAIMS" '{.spec.compositionRef.name}')" = "$(kubectl get compositeresourcedefinition "$TENANTS" -o 'jsonpath={.spec.defaultCompositionRef.name}')" ]; then
      more="$more,\"compositionRef\":null"
    fi
    copy "$CLAIMS" "m.$GROUP" "$more" >"$work/to.json"
    problem=$(kubectl create -f "$work/to.json" 2>&1 >/dev/null) || fail "$problem"
  fi
  kubectl annotate "$CLAIMS" "$name" --namespace "$namespace" --overwrite crossplane.io/paused=true >/dev/null
  # Crossplane may have been at it when it was paused.
  await "the tenant is observed" observed
  give "m.$GROUP/v1alpha1" apiextensions.crossplane.io/claim "provider-kubernetes/$tenant"
  release "$CLAIMS"
  # From here on Crossplane doesn't take the tenant for that of the claim, and the claim can go without it. Until then, the other kind protects it.
  await "the claim may be deleted" unprotected "$CLAIMS"
  at=$(of "$CLAIMS" '{range .metadata.finalizers[*]}{@}{"\n"}{end}' | awk '$1 == "finalizer.apiextensions.crossplane.io" { print NR - 1; exit }')
  if [ -n "$at" ]; then
    kubectl patch "$CLAIMS" "$name" --namespace "$namespace" --type json \
      -p "[{\"op\":\"test\",\"path\":\"/metadata/finalizers/$at\",\"value\":\"finalizer.apiextensions.crossplane.io\"},{\"op\":\"remove\",\"path\":\"/metadata/finalizers/$at\"}]" >/dev/null
  fi
  kubectl delete "$CLAIMS" "$name" --namespace "$namespace" --ignore-not-found --timeout="${TIMEOUT}m" >/dev/null
  await "provider-kubernetes writes to the tenant" writes '*'
  await "the VirtualArgoCD has its tenant" reason Available
  tell moved "$tenant"
}

# backward makes a namespaced VirtualArgoCD a claim.
backward() {
  has "$FRONTS" || { has "$CLAIMS" && tell done "there is only a claim" && return 0; } || fail "there is no VirtualArgoCD of group m.$GROUP"
  bound
  unprotect "$FRONTS"
  await "the VirtualArgoCD isn't protected any more" unprotected "$FRONTS"
  more=$(protection "$FRONTS")
  kubectl annotate "$FRONTS" "$name" --namespace "$namespace" --overwrite virtualargocd.io/leave-tenant=true >/dev/null
  await "provider-kubernetes only observes the tenant" writes Observe
  await "provider-kubernetes has seen that" observed
  give "$GROUP/v1alpha1" "provider-kubernetes/$tenant" apiextensions.crossplane.io/claim
  # Otherwise Crossplane would make the connection Secret its own again.
  kubectl annotate "$FRONTS" "$name" --namespace "$namespace" --overwrite crossplane.io/paused=true >/dev/null
  await "Crossplane leaves the VirtualArgoCD alone" paused
  if ! has "$CLAIMS"; then
    copy "$FRONTS" "$GROUP" "$more" >"$work/copy.json"
    kubectl patch --local -f "$work/copy.json" --type merge -o json \
      -p "{\"spec\":{\"resourceRef\":{\"apiVersion\":\"$GROUP/v1alpha1\",\"kind\":\"XVirtualArgoCD\",\"name\":\"$tenant\"}}}" >"$work/to.json"
    problem=$(kubectl create -f "$work/to.json" 2>&1 >/dev/null) || fail "$problem"
  fi
  # Crossplane makes a Secret a claim's only together with a change of what it holds.
  release "$FRONTS" "$CLAIMS"
  kubectl delete "$FRONTS" "$name" --namespace "$namespace" --ignore-not-found --wait=false >/dev/null
  # It is gone once Crossplane has looked at it.
  ! has "$FRONTS" || kubectl annotate "$FRONTS" "$name" --namespace "$namespace" crossplane.io/paused- >/dev/null || ! has "$FRONTS"
  kubectl wait "$FRONTS/$name" --namespace "$namespace" --for=delete --timeout="${TIMEOUT}m" >/dev/null
  synced() { [ "$(of "$CLAIMS" '{.status.conditions[?(@.type=="Synced")].status}')" = True ]; }
  await "Crossplane has bound the claim" synced
  tell moved "$tenant"
}

PARALLEL=${PARALLEL:-4} TIMEOUT=${TIMEOUT:-5} BACK=${BACK:-}
if [ "${1-}" = --one ]; then
  namespace=${2%%/*} name=${2#*/} began=$(date +%s)
  work=$(mktemp -d)
  # What fails in between is told by kubectl itself.
  trap 'ended=$?; rm -rf "$work"; [ $ended = 0 ] || touch "$RESULTS/$namespace.$name"; exit 0' EXIT
  if [ -n "$BACK" ]; then backward; else forward; fi
  exit 0
fi
all=
while [ $# -gt 0 ]; do
  case $1 in
  --back) BACK=1 && shift ;;
  --all) all=1 && shift ;;
  --parallel) PARALLEL=$2 && shift 2 ;;
  --timeout) TIMEOUT=$2 && shift 2 ;;
  -*) sed -n '2,10s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
  *) break ;;
  esac
done
if [ $# = 0 ] && [ -z "$all" ]; then
  sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
RESULTS=$(mktemp -d)
trap 'rm -rf "$RESULTS"' EXIT
export GROUP PARALLEL TIMEOUT BACK RESULTS
kind=$CLAIMS
[ -z "$BACK" ] || kind=$FRONTS
list() { kubectl get "$kind" "$@" -o 'jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name}{"\n"}{end}'; }
{
  [ -z "$all" ] || list --all-namespaces
  for of; do
    case $of in
    */*) echo "$of" ;;
    *) list --namespace "$of" ;;
    esac
  done
} >"$RESULTS.list"
trap 'rm -rf "$RESULTS" "$RESULTS.list"' EXIT
began=$(date +%s) count=$(wc -l <"$RESULTS.list")
xargs -r -n 1 -P "$PARALLEL" sh "$0" --one <"$RESULTS.list"
failed=$(find "$RESULTS" -type f | wc -l)
echo "$((count - failed)) of $((count)) are moved, in $(($(date +%s) - began))s"
[ "$failed" = 0 ]
