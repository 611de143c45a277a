#!/usr/bin/env bash
# Installs Virtual Argo CD, and creates one customer's Argo CD: on a kind cluster with a registry of its own, which this creates, or on the cluster
# of KUBECONFIG. Run it again after a change: it upgrades what is there.
#
#   examples/kind/up.sh
#   KUBECONFIG=... REGISTRY=registry.example.org/acme examples/kind/up.sh
#
# It needs Go, make, kubectl and Helm 3.17 or later; and for a kind cluster Docker and kind 0.30 or later, whose nodes enforce NetworkPolicies and
# have a default StorageClass. It compiles the function, and no program of others. The part for kind hasn't run yet: TestScript runs the rest on an
# embedded cluster. Further variables:
#
#   VALUES            a file with values of the chart charts/virtual-argocd
#   INPUT             a file with the function's input, for all claims: see "Your own defaults" in examples/install/README.md
#   CROSSPLANE_REPO, CROSSPLANE_VERSION   where Crossplane's chart is
set -euo pipefail
cd "$(dirname "$0")/../.."

name=virtual-argocd
crossplane_repo=${CROSSPLANE_REPO:-https://charts.crossplane.io/stable}
crossplane_version=${CROSSPLANE_VERSION:-2.4.0}

say() { printf '\n== %s\n' "$*"; }

need() {
  local program
  for program in "$@"; do
    command -v "$program" >/dev/null || { echo "$program is missing: install it, or add its folder to PATH" >&2; exit 1; }
  done
}

# A cluster, and a registry that both this machine and the cluster reach. Crossplane speaks plain http to private addresses, so the cluster knows the
# registry by its address in Docker's network; containerd has to be told.
create_kind() {
  need docker kind
  kind get clusters | grep -qx "$name" || { say "Create a kind cluster"; kind create cluster --name "$name" --wait 2m; }
  export KUBECONFIG=$PWD/_output/kind.kubeconfig
  kind get kubeconfig --name "$name" > "$KUBECONFIG"
  if ! docker inspect "$name-registry" >/dev/null 2>&1; then
    docker run --detach --restart always --name "$name-registry" --network kind --publish 127.0.0.1:5001:5000 registry:3 >/dev/null
  fi
  local address node
  address=$(docker inspect --format '{{(index .NetworkSettings.Networks "kind").IPAddress}}' "$name-registry"):5000
  for node in $(kind get nodes --name "$name"); do
    docker exec "$node" mkdir -p "/etc/containerd/certs.d/$address"
    docker exec --interactive "$node" tee "/etc/containerd/certs.d/$address/hosts.toml" >/dev/null <<< "[host.\"http://$address\"]"
  done
  push_to=localhost:5001/$name
  pull_from=$address/$name
}

need go make kubectl helm
mkdir -p _output
if [ -n "${KUBECONFIG:-}" ]; then
  push_to=${REGISTRY:?is not set: write a host and an organisation that the cluster of KUBECONFIG can pull from, such as registry.example.org/acme}
  pull_from=$push_to
else
  create_kind
fi

say "Install Crossplane $crossplane_version"
helm upgrade --install crossplane crossplane --repo "$crossplane_repo" --version "$crossplane_version" \
  --namespace crossplane-system --create-namespace --values examples/install/crossplane-values.yaml --wait --timeout 10m

say "Build the packages, and push them to $push_to"
make xpkg ARCH=native ${INPUT:+INPUT="$INPUT"}
make push REGISTRY="$push_to" SIGN=skip

say "Install Virtual Argo CD from $pull_from"
version=$(cat VERSION)
helm upgrade --install virtual-argocd "_output/virtual-argocd-${version#v}.tgz" --namespace crossplane-system \
  --set registry="$pull_from" ${VALUES:+--values "$VALUES"} --timeout 10m

say "Create customer1"
kubectl apply --namespace default --filename examples/claims/customer1.yaml
kubectl wait --namespace default virtualargocd/customer1 --for=condition=Ready --timeout=15m
kubectl get --namespace default virtualargocd customer1

url=$(kubectl get --namespace default virtualargocd customer1 --output jsonpath='{.status.argocd.url}')
tenant=$(kubectl get --namespace default virtualargocd customer1 --output jsonpath='{.status.namespace}')
case $url in
*.svc | *.svc/)
  forward="kubectl --namespace $tenant port-forward service/argocd-server-x-argocd-x-vcluster 8443:443"
  url=https://localhost:8443
  ;;
esac
cat <<END

Argo CD of customer1:

  export KUBECONFIG=$KUBECONFIG
  ${forward:-}
  URL       $url
  user      admin
  password  kubectl get --namespace default secret customer1-argocd --output jsonpath='{.data.password}' | base64 -d; echo
END
