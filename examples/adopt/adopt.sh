#!/bin/sh
# Makes claims VirtualArgoCDs of group m.virtualargocd.io, the namespaced kind of Crossplane 2, or with --back the other way round. The tenants
# stay what they are: the composite resource, and everything that is composed of it, is the same object before and after, and nothing restarts.
#
#   adopt.sh [--back] [--parallel 4] [--timeout 5] --all | <namespace> | <namespace>/<name>...
#
# --timeout is in minutes, for each tenant. It can be stopped at any time, and run again in either direction. It reports on each tenant: moved,
# done if there was nothing to do, or failed; and ends with 1 if one failed. It needs the rights of the platform: to update xvirtualargocds, and
# to write both kinds and the connection Secrets. Before you run it, have whatever writes the manifests from Git, such as Argo CD, write and prune
# neither kind.
set -eu

GROUP=${GROUP:-virtualargocd.io}
CLAIMS=virtualargocds.$GROUP FRONTS=virtualargocds.m.$GROUP TENANTS=xvirtualargocds.$GROUP OBJECTS=objects.kubernetes.m.crossplane.io
FINALIZER=finalizer.apiextensions.crossplane.io
# What it sets for a while has this annotation beside it. What somebody else has paused stays so.
OURS=virtualargocd.io/adopting

fail() {
  tell failed "$1"
  exit 1
}
tell() { printf '%-9s %4ss  %s/%s  %s\n' "$1" "$(($(date +%s) - began))" "$namespace" "$name" "$2"; }
of() { kubectl get "$1" "$name" --namespace "$namespace" -o "jsonpath=$2"; }
annotate() {
  on=$1
  shift
  kubectl annotate "$on" "$name" --namespace "$namespace" --overwrite "$@" >/dev/null
}

# Each step is one write, and determined by what the cluster has now, never by what was done before. So it doesn't matter where an earlier run
# was stopped, nor in which direction that went. A step leaves the tenant with one writer, and what goes is deleted only when the tenant
# belongs to what stays.

# bound has the tenant's composite resource. It is the same throughout.
bound() {
  tenants=$(kubectl get "$TENANTS" -l "crossplane.io/claim-namespace=$namespace,crossplane.io/claim-name=$name" \
    -o 'jsonpath={range .items[*]}{.metadata.name}{"\n"}{end}')
  case $tenants in
  '') fail "there is no $TENANTS of this name: write one that exists, and wait until it is bound" ;;
  *' '* | *'
'*) fail "there are several tenants of this name, and one of them may not be: $(printf '%s' "$tenants" | tr '\n' ' ')" ;;
  esac
  tenant=$tenants
}

# SEEN prints one line for each field that a step depends on: the kind, the field and its value, without line breaks, because customers write some.
SEEN='{{range .items}}{{$of := printf "%s:%s" .kind .apiVersion}}{{$of}} uid {{.metadata.uid}}
{{with .metadata.deletionTimestamp}}{{$of}} deleted {{.}}
{{end}}{{range .metadata.finalizers}}{{$of}} finalizer {{.}}
{{end}}{{with .metadata.annotations}}{{with index . "crossplane.io/paused"}}{{$of}} paused {{printf "%q" .}}
{{end}}{{with index . "virtualargocd.io/leave-tenant"}}{{$of}} leaves {{printf "%q" .}}
{{end}}{{with index . "virtualargocd.io/adopting"}}{{$of}} ours {{printf "%q" .}}
{{end}}{{end}}{{with .status}}{{range .conditions}}{{if or (eq .type "Synced") (eq .type "TenantBound")}}{{$of}} {{.type}} {{printf "%q" (printf "%s %s" .status .reason)}}
{{end}}{{end}}{{end}}{{with .spec}}{{with .claimRef}}{{$of}} owner {{printf "%q" .apiVersion}}
{{end}}{{with .managementPolicies}}{{$of}} policies {{printf "%q" (printf "%s" .)}}
{{end}}{{end}}{{end}}'

# see reads what exists, at once: of the claim and of the namespaced VirtualArgoCD, their UIDs and what the next step depends on; whose the
# tenant is, "claim" or "front"; and how the Object by which provider-kubernetes writes the tenant is.
see() {
  claim='' claim_deleted='' claim_finalizers='' claim_paused='' claim_ours='' claim_synced=''
  front='' front_deleted='' front_paused='' front_ours='' front_leaves='' front_synced='' front_bound=''
  owner='' policies='' observed=''
  seen=$(kubectl get "$CLAIMS/$name" "$FRONTS/$name" "$TENANTS/$tenant" "$OBJECTS/$tenant" --namespace "$namespace" --ignore-not-found -o "go-template=$SEEN")
  while read -r kind field value; do
    value=${value#\"}
    value=${value%\"}
    case $kind in
    "VirtualArgoCD:$GROUP/"*) kind=claim ;;
    "VirtualArgoCD:m.$GROUP/"*) kind=front ;;
    esac
    case "$kind $field" in
    'claim uid') claim=$value ;;
    'claim deleted') claim_deleted=$value ;;
    'claim finalizer') claim_finalizers="$claim_finalizers $value" ;;
    'claim paused') claim_paused=$value ;;
    'claim ours') claim_ours=$value ;;
    'claim Synced') claim_synced=$value ;;
    'front uid') front=$value ;;
    'front deleted') front_deleted=$value ;;
    'front paused') front_paused=$value ;;
    'front leaves') front_leaves=$value ;;
    'front ours') front_ours=$value ;;
    'front Synced') front_synced=$value ;;
    'front TenantBound') front_bound=$value ;;
    'XVirtualArgoCD:'*' owner') owner=$value ;;
    'Object:'*' policies') policies=$value ;;
    'Object:'*' Synced') observed=$value ;;
    esac
  done <<END
$seen
END
  case $owner in
  "$GROUP"/*) owner=claim ;;
  "m.$GROUP"/*) owner=front ;;
  *) fail "$TENANTS $tenant belongs to neither kind: its spec.claimRef.apiVersion is \"$owner\"" ;;
  esac
  [ -n "$claim$front" ] || fail "there is neither a claim nor a VirtualArgoCD of group m.$GROUP"
  [ -z "$claim_paused" ] || [ -n "$claim_ours" ] || fail "somebody else has paused the claim, by the annotation crossplane.io/paused: have that end first"
  [ -z "$front_paused$front_leaves" ] || [ -n "$front_ours" ] ||
    fail "the VirtualArgoCD of group m.$GROUP has crossplane.io/paused or virtualargocd.io/leave-tenant from somebody else: have that end first"
}

# forward determines the next step from a claim to a namespaced VirtualArgoCD: a step, or what it waits for, or neither.
forward() {
  if [ -z "$front" ]; then
    step=create_front
  elif [ -n "$front_ours" ]; then
    # While the tenant is the claim's, it only observes.
    step='annotate $FRONTS virtualargocd.io/leave-tenant- crossplane.io/paused- $OURS-'
  elif [ -n "$claim" ] && [ "$claim_paused" != true ]; then
    step='annotate $CLAIMS crossplane.io/paused=true $OURS=true'
  elif [ -n "$claim" ] && [ "$claim_synced" != 'False ReconcilePaused' ]; then
    # It may have been writing when it was paused.
    waits='Crossplane leaves the claim alone'
  elif [ $owner = claim ] && [ "${observed%% *}" != True ]; then
    waits='provider-kubernetes observes the tenant'
  elif [ $owner = claim ]; then
    step="give $GROUP/v1alpha1 apiextensions.crossplane.io/claim m.$GROUP/v1alpha1 provider-kubernetes/$tenant"
  elif [ -n "$claim" ] && owned_secret "$CLAIMS" && [ "$secret_owner" = "$claim" ]; then
    # The namespaced kind takes one that nobody owns.
    step=release_secret
  elif [ -n "$claim" ] && protected "$CLAIMS"; then
    waits="the claim may be deleted, which is refused: $problem"
  elif [ -n "$claim" ] && has_finalizer; then
    step=remove_finalizer
  elif [ -n "$claim" ]; then
    step='delete $CLAIMS'
  elif [ "$policies" != '[*]' ]; then
    waits='provider-kubernetes writes to the tenant'
  elif [ "$front_bound" != 'True Available' ]; then
    waits="the VirtualArgoCD has its tenant: its condition TenantBound is \"$front_bound\""
  fi
}

# backward determines the next step from a namespaced VirtualArgoCD to a claim.
backward() {
  if [ -z "$claim" ]; then
    step=create_claim
  elif [ -n "$front" ] && [ "$claim_paused" != true ]; then
    step='annotate $CLAIMS crossplane.io/paused=true $OURS=true'
  elif [ -n "$front" ] && [ "$claim_synced" != 'False ReconcilePaused' ]; then
    waits='Crossplane leaves the claim alone'
  elif [ -n "$front" ] && { [ "$front_leaves" != true ] || { [ -n "$front_paused" ] && [ "$policies" != '[Observe]' ]; }; }; then
    step='annotate $FRONTS virtualargocd.io/leave-tenant=true crossplane.io/paused- $OURS=true'
  elif [ -n "$front" ] && [ "$policies" != '[Observe]' ]; then
    waits='provider-kubernetes only observes the tenant'
  elif [ -n "$front" ] && [ "${observed%% *}" != True ]; then
    waits='provider-kubernetes has seen that it only observes the tenant'
  elif [ $owner = front ]; then
    step="give m.$GROUP/v1alpha1 provider-kubernetes/$tenant $GROUP/v1alpha1 apiextensions.crossplane.io/claim"
  elif [ -n "$front" ] && [ "$front_paused" != true ]; then
    # Otherwise Crossplane would make the connection Secret its own again.
    step='annotate $FRONTS crossplane.io/paused=true'
  elif [ -n "$front" ] && [ "$front_synced" != 'False ReconcilePaused' ]; then
    waits='Crossplane leaves the VirtualArgoCD alone'
  elif [ -n "$front" ] && owned_secret "$FRONTS" && { [ -z "$secret_owner" ] || [ "$secret_owner" = "$front" ]; }; then
    # Crossplane makes a Secret a claim's only together with a change of what it holds.
    step=give_secret
  elif [ -n "$front" ] && protected "$FRONTS"; then
    waits="the VirtualArgoCD may be deleted, which is refused: $problem"
  elif [ -n "$front" ]; then
    step='delete $FRONTS'
  elif [ -n "$claim_ours" ]; then
    step='annotate $CLAIMS crossplane.io/paused- $OURS-'
  elif [ "${claim_synced%% *}" != True ]; then
    waits="Crossplane has bound the claim: its condition Synced is \"$claim_synced\""
  fi
}

# goes determines the next step where one of the two is being deleted, which nothing takes back: it goes first.
goes() {
  if [ -n "$claim_deleted" ] && [ $owner = claim ]; then
    fail "the claim is being deleted, and its tenant with it"
  elif [ -n "$front_deleted" ] && [ $owner = front ]; then
    fail "the VirtualArgoCD of group m.$GROUP is being deleted while the tenant is its own"
  elif [ -n "$claim_deleted" ] && has_finalizer; then
    step=remove_finalizer
  elif [ -n "$front_deleted" ] && [ -n "$front_paused" ]; then
    # It is gone once Crossplane has looked at it.
    step='annotate $FRONTS crossplane.io/paused-'
  else
    waits='what is being deleted is gone'
  fi
}

# move takes one step after the other.
move() {
  result='done'
  bound
  while :; do
    see
    step='' waits=''
    if [ -n "$claim_deleted$front_deleted" ]; then goes; elif [ -n "$BACK" ]; then backward; else forward; fi
    [ -n "$step$waits" ] || break
    [ $(($(date +%s) - began)) -lt $((TIMEOUT * 60)) ] || fail "waited in vain until ${waits:-this is done: $step}"
    if [ -n "$step" ]; then
      result=moved
      eval "$step"
    else
      sleep 1
    fi
  done
  tell $result "$tenant"
}

# copy prints what is to be made of an object of a kind: the same of another group, without what Crossplane and this script have written into it,
# paused or not, and with other fields of the spec.
copy() {
  kubectl get "$1" "$name" --namespace "$namespace" -o json >"$work/from.json"
  kubectl patch --local -f "$work/from.json" --type merge -o json -p "{\"apiVersion\":\"$2/v1alpha1\",\"status\":null,
    \"metadata\":{\"uid\":null,\"resourceVersion\":null,\"generation\":null,\"creationTimestamp\":null,\"finalizers\":null,\"ownerReferences\":null,\"managedFields\":null,
      \"labels\":{\"crossplane.io/in-use\":null,\"crossplane.io/composite\":null},
      \"annotations\":{\"crossplane.io/paused\":$3,\"$OURS\":$3,\"virtualargocd.io/leave-tenant\":null,\"crossplane.io/external-name\":null,
        \"usage.crossplane.io/deletion-attempt-with-policy\":null,\"kubectl.kubernetes.io/last-applied-configuration\":null,\"argocd.argoproj.io/tracking-id\":null}},
    \"spec\":{\"crossplane\":null,\"compositeDeletePolicy\":null,$4}}" >"$work/to.json"
}

# create creates it. It is the first write, so that nothing has changed where it is refused.
create() { problem=$(kubectl create -f "$work/to.json" 2>&1 >/dev/null) || fail "$problem"; }

create_front() {
  more='"resourceRef":null'
  # The Composition that everybody has is nobody's choice, and nor is the newest revision.
  chosen=$(of "$CLAIMS" '{.spec.compositionUpdatePolicy} {.spec.compositionRef.name}')
  [ "${chosen%% *}" = Manual ] || more="$more,\"compositionUpdatePolicy\":null,\"compositionRevisionRef\":null"
  [ "${chosen#* }" != "$(kubectl get compositeresourcedefinition "$TENANTS" -o 'jsonpath={.spec.defaultCompositionRef.name}')" ] || more="$more,\"compositionRef\":null"
  copy "$CLAIMS" "m.$GROUP" null "$more"
  create
}

# create_claim creates a claim that Crossplane leaves alone until the tenant is its own.
create_claim() {
  copy "$FRONTS" "$GROUP" '"true"' "\"resourceRef\":{\"apiVersion\":\"$GROUP/v1alpha1\",\"kind\":\"XVirtualArgoCD\",\"name\":\"$tenant\"}"
  create
}

# give has the composite resource belong to another kind, in one write. The field manager of the former one has what it owns become that of the
# new one, so that fields which are removed from the spec later are removed from the tenant. Deletion protection goes along with the tenant.
give() {
  at=$(kubectl get "$TENANTS" "$tenant" --show-managed-fields \
    -o 'jsonpath={range .metadata.managedFields[*]}{.manager}{" "}{.operation}{" "}{.subresource}{"\n"}{end}' |
    awk -v manager="$2" '$1 == manager && $2 == "Apply" && $3 == "" { print NR - 1; exit }')
  patch="[{\"op\":\"test\",\"path\":\"/spec/claimRef/apiVersion\",\"value\":\"$1\"},
    {\"op\":\"replace\",\"path\":\"/spec/claimRef\",\"value\":{\"apiVersion\":\"$3\",\"kind\":\"VirtualArgoCD\",\"namespace\":\"$namespace\",\"name\":\"$name\"}}"
  if [ -n "$at" ]; then
    patch="$patch,{\"op\":\"test\",\"path\":\"/metadata/managedFields/$at/manager\",\"value\":\"$2\"},{\"op\":\"replace\",\"path\":\"/metadata/managedFields/$at/manager\",\"value\":\"$4\"}"
  fi
  kubectl patch "$TENANTS" "$tenant" --type json -p "$patch]" >/dev/null
}

# owned_secret reads who owns the connection Secret, if there is one. Customers choose its name, also one that looks like an option.
owned_secret() {
  secret=secrets/$(of "$1" '{.spec.writeConnectionSecretToRef.name}')
  [ "$secret" != secrets/ ] || return 1
  secret_owner=$(kubectl get "$secret" --namespace "$namespace" --ignore-not-found -o 'jsonpath={.metadata.uid} {.metadata.ownerReferences[0].uid}')
  [ -n "$secret_owner" ] || return 1
  secret_owner=${secret_owner#* }
}

patch_secret() {
  is=''
  [ -z "$secret_owner" ] || is="{\"op\":\"test\",\"path\":\"/metadata/ownerReferences/0/uid\",\"value\":\"$secret_owner\"},"
  kubectl patch "$secret" --namespace "$namespace" --type json -p "[$is{$1,\"path\":\"/metadata/ownerReferences\"}]" >/dev/null
}
release_secret() { patch_secret '"op":"remove"'; }
give_secret() {
  patch_secret "\"op\":\"add\",\"value\":[{\"apiVersion\":\"$GROUP/v1alpha1\",\"kind\":\"VirtualArgoCD\",\"name\":\"$name\",\"uid\":\"$claim\",\"controller\":true,\"blockOwnerDeletion\":true}]"
}

protected() { ! problem=$(kubectl delete "$1" "$name" --namespace "$namespace" --ignore-not-found --dry-run=server 2>&1 >/dev/null); }
delete() { kubectl delete "$1" "$name" --namespace "$namespace" --ignore-not-found --wait=false >/dev/null; }
has_finalizer() { case "$claim_finalizers " in *" $FINALIZER "*) ;; *) return 1 ;; esac; }
# remove_finalizer lets a claim go without the tenant.
remove_finalizer() {
  at=0
  for finalizer in $claim_finalizers; do
    [ "$finalizer" != "$FINALIZER" ] || break
    at=$((at + 1))
  done
  kubectl patch "$CLAIMS" "$name" --namespace "$namespace" --type json \
    -p "[{\"op\":\"test\",\"path\":\"/metadata/finalizers/$at\",\"value\":\"$FINALIZER\"},{\"op\":\"remove\",\"path\":\"/metadata/finalizers/$at\"}]" >/dev/null
}

PARALLEL=${PARALLEL:-4} TIMEOUT=${TIMEOUT:-5} BACK=${BACK:-}
if [ "${1-}" = --one ]; then
  namespace=${2%%/*} name=${2#*/} began=$(date +%s)
  work=$(mktemp -d)
  # What fails in between is told by kubectl itself.
  trap 'ended=$?; rm -rf "$work"; [ $ended = 0 ] || touch "$RESULTS/$namespace.$name"; exit 0' EXIT
  move
  exit 0
fi
all=
while [ $# -gt 0 ]; do
  case $1 in
  --back) BACK=1 && shift ;;
  --all) all=1 && shift ;;
  --parallel) PARALLEL=$2 && shift 2 ;;
  --timeout) TIMEOUT=$2 && shift 2 ;;
  -*) sed -n '2,11s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
  *) break ;;
  esac
done
if [ $# = 0 ] && [ -z "$all" ]; then
  sed -n '2,11s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
RESULTS=$(mktemp -d)
trap 'rm -rf "$RESULTS"' EXIT
export GROUP PARALLEL TIMEOUT BACK RESULTS
# Both kinds, whatever the direction: an earlier run may have been stopped in between, and gone the other way.
list() { kubectl get "$CLAIMS,$FRONTS" "$@" -o 'jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name}{"\n"}{end}'; }
{
  [ -z "$all" ] || list --all-namespaces
  for of; do
    case $of in
    */*) echo "$of" ;;
    *) list --namespace "$of" ;;
    esac
  done
} >"$RESULTS.list"
sort -u -o "$RESULTS.list" "$RESULTS.list"
trap 'rm -rf "$RESULTS" "$RESULTS.list"' EXIT
began=$(date +%s) count=$(wc -l <"$RESULTS.list")
xargs -r -n 1 -P "$PARALLEL" sh "$0" --one <"$RESULTS.list"
failed=$(find "$RESULTS" -type f | wc -l)
echo "$((count - failed)) of $((count)) are moved, in $(($(date +%s) - began))s"
[ "$failed" = 0 ]
