# Stops a tenant, or starts its control plane. It may be ended anywhere, and begun again.
set -eu
kube() { kubectl --namespace "$NAMESPACE" "$@"; }

# Waits until no pod with a label is left. What can't be read isn't gone.
gone() {
  while :; do
    left=$(kube get pods --selector "$1" --output name)
    [ -n "$left" ] || return 0
    sleep 1
  done
}

# A tenant may give its pods the labels of the control plane's, but each of them has this one, with any value: admission policies see to that.
tenants=vcluster.loft.sh/managed-by own='!vcluster.loft.sh/managed-by'

hibernate() {
  # The control plane would make the pods again, and etcd keeps what it writes until then.
  kube scale "$CONTROL_PLANE" --replicas 0
  gone "app=vcluster,release=vcluster,$own"
  kube delete pods --selector "$tenants" --grace-period 10 --wait=false
  gone "$tenants"
  if [ "$ETCD" -gt 0 ]; then
    kube scale statefulset/vcluster-etcd --replicas 0
    gone "app=vcluster-etcd,$own"
  fi
}

wake() {
  if [ "$ETCD" -gt 0 ]; then
    kube scale statefulset/vcluster-etcd --replicas "$ETCD"
    kube rollout status statefulset/vcluster-etcd --timeout 5m
  fi
  kube scale "$CONTROL_PLANE" --replicas "$REPLICAS"
  kube rollout status "$CONTROL_PLANE" --timeout 5m
}

"$1"
