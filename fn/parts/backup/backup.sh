# The steps of a backup.
case $step in
snapshot)
  date -u +%Y-%m-%dT%H%M%SZ >name || fail "beginning" "$(why)"
  # The control plane, and no pod that a tenant has given its labels.
  pod=$(kubectl get pods --namespace "$NAMESPACE" --selector 'app=vcluster,release=vcluster,!vcluster.loft.sh/managed-by' \
    --field-selector status.phase=Running --output name 2>/tmp/err | head -n 1)
  [ -n "$pod" ] || fail "taking vcluster's snapshot" "the virtual cluster's control plane doesn't run $(why)"
  options=$(printf '{"type":"container","container":{"path":"/dev/stdout"}}' | base64 | tr -d '\n')
  within 180 kubectl exec --namespace "$NAMESPACE" "$pod" --container syncer -- \
    env VCLUSTER_NAME=vcluster "VCLUSTER_STORAGE_OPTIONS=$options" /vcluster snapshot >all.tar.gz 2>/tmp/err || fail "taking vcluster's snapshot" "$(why)"
  gzip -t all.tar.gz 2>/tmp/err || fail "taking vcluster's snapshot" "$(why)"
  ;;

export)
  # What Argo CD runs as is left out, with Helm's record of it: it is installed anew, so that nothing of a backup acts before the platform lets it.
  # So is from which addresses Services get theirs: it may be another host that all of this comes back on. Kubernetes makes these objects anew.
  # GNU tar, which the image of Argo CD has, keeps the names, which are keys of the virtual API's store.
  gunzip -c all.tar.gz >snapshot.tar 2>/tmp/err && rm all.tar.gz || fail "reading vcluster's snapshot" "$(why)"
  tar -t -P -f snapshot.tar 2>/tmp/err >keys || fail "reading vcluster's snapshot" "$(why)"
  if grep -E '^/registry/(pods|replicasets|deployments|statefulsets|daemonsets|jobs|controllerrevisions)/argocd/|^/registry/secrets/argocd/sh[.]helm[.]release[.]|^/registry/(servicecidrs|ipaddresses)/|^/registry/ranges/serviceips$' keys >drop; then
    tar --delete -P -f snapshot.tar -T drop 2>/tmp/err || fail "reading vcluster's snapshot" "$(why)"
  fi
  gzip snapshot.tar 2>/tmp/err || fail "reading vcluster's snapshot" "$(why)"
  within 180 argocd admin export --namespace "$NAMESPACE" --out argocd.yaml >/tmp/err 2>&1 || fail "exporting Argo CD's objects" "$(why)"
  ;;

store)
  # BusyBox's shell, which both images of Alpine have, knows this.
  set -o pipefail
  name=$(cat name)
  remote=${FOLDER%%:*}:
  if ! rclone listremotes --type crypt 2>/tmp/err | grep -q -x -F -- "$remote"; then
    fail "storing" "remote $remote of rclone.conf isn't one of type crypt, and nothing leaves the host unencrypted $(why)"
  fi
  # Of the store, rclone says it plainly only here.
  within 60 rclone lsf --max-depth 1 "$remote" >/dev/null 2>/tmp/err || fail "storing $name" "$(why)"
  file=$FOLDER/$name.tar
  mkdir -p tenant && cp -L /tenant/* tenant/ 2>/tmp/err || fail "storing $name" "$(why)"
  echo "$OWNER" >owner
  pack() { tar -c -f - owner argocd.yaml snapshot.tar.gz tenant; }
  pack | within 240 rclone rcat "$file" >/tmp/err 2>&1 || fail "storing $name" "$(why)"
  # What counts is what comes back.
  want=$(pack | sha256sum)
  if [ "$(within 240 rclone cat "$file" 2>/tmp/err | sha256sum)" != "$want" ]; then
    within 30 rclone deletefile "$file" >/dev/null 2>&1
    fail "reading $name back" "what comes back isn't what was written $(why)"
  fi
  within 30 rclone size --json "$file" 2>/tmp/err | sed 's/.*"bytes":\([0-9]*\).*/\1/' >size || fail "reading $name back" "$(why)"
  within 60 rclone cat "$file" 2>/tmp/err | tar -x -O -f - snapshot.tar.gz | tar -t -z -f - | wc -l | tr -d ' ' >objects || fail "reading $name back" "$(why)"
  within 60 rclone cat "$file" 2>/tmp/err | tar -x -O -f - argocd.yaml | awk '/^kind: Application$/ { n++ } END { print n + 0 }' >applications || fail "reading $name back" "$(why)"
  if [ "$(cat objects)" = 0 ]; then
    fail "reading $name back" "it has no objects $(why)"
  fi
  # Older ones go only after that.
  within 30 rclone lsf --files-only "$FOLDER" 2>/tmp/err | { grep '^[0-9TZ-]*\.tar$' || true; } | sort -r | tail -n "+$((KEEP + 1))" | while read -r old; do
    within 30 rclone deletefile "$FOLDER/$old" 2>>/tmp/err || exit 1
  done || fail "deleting old backups" "$(why)"
  touch stored
  ;;

report)
  # Not what the export has left in memory.
  if [ -e failed ] || [ ! -e stored ]; then
    message=$(grep . failed || echo "a step ended early")
    kubectl patch configmap "$RECORD" --namespace "$NAMESPACE" --type merge --patch "{\"data\":{\"failedAt\":\"$(date -u +%Y-%m-%dT%H:%M:%SZ)\",\"message\":\"$message\"}}"
    exit 1
  fi
  name=$(cat name)
  at=$(echo "$name" | sed 's/\(T..\)\(..\)\(..\)Z/\1:\2:\3Z/')
  kubectl patch configmap "$RECORD" --namespace "$NAMESPACE" --type merge --patch \
    "{\"data\":{\"name\":\"$name\",\"succeededAt\":\"$at\",\"size\":\"$(cat size)\",\"objects\":\"$(cat objects)\",\"applications\":\"$(cat applications)\",\"failedAt\":\"\",\"message\":\"\"}}"
  ;;
esac
