# The steps of a backup.
case $step in
snapshot)
  # The control plane, and no pod that a tenant has given its labels.
  pod=$(kubectl get pods --namespace "$NAMESPACE" --selector 'app=vcluster,release=vcluster,!vcluster.loft.sh/managed-by' \
    --field-selector status.phase=Running --output name 2>/tmp/err | head -n 1)
  [ -n "$pod" ] || fail "taking vcluster's snapshot" "the virtual cluster's control plane doesn't run $(why)"
  options=$(printf '{"type":"container","container":{"path":"/dev/stdout"}}' | base64 | tr -d '\n')
  within 180 kubectl exec --namespace "$NAMESPACE" "$pod" --container syncer -- \
    env VCLUSTER_NAME=vcluster "VCLUSTER_STORAGE_OPTIONS=$options" /vcluster snapshot >all.tar.gz 2>/tmp/err || fail "taking vcluster's snapshot" "$(why)"
  ;;

export)
  # What Argo CD and components beside it run as is left out, with Helm's records of them: they are installed anew, so that nothing of a backup acts
  # before the platform lets it. The pods are left out of whatever else is in its namespace, too: their controllers make them anew.
  # So is from which addresses Services get theirs: it may be another host that all of this comes back on. Kubernetes makes these objects anew.
  # GNU tar, which the image of Argo CD has, keeps the names, which are keys of the virtual API's store.
  within 120 gunzip -c all.tar.gz >snapshot.tar 2>/tmp/err && rm all.tar.gz || fail "reading vcluster's snapshot" "$(why)"
  within 120 tar -t -P -f snapshot.tar 2>/tmp/err >keys || fail "reading vcluster's snapshot" "$(why)"
  if grep -E '^/registry/pods/argocd/|^/registry/(replicasets|deployments|statefulsets|daemonsets|jobs|controllerrevisions)/argocd/('"$OWN"')(-[^/]*)?$|^/registry/secrets/argocd/sh[.]helm[.]release[.]v1[.]('"$OWN"')[.]v[0-9]+$|^/registry/(servicecidrs|ipaddresses)/|^/registry/ranges/serviceips$' keys >drop; then
    within 180 tar --delete -P -f snapshot.tar -T drop 2>/tmp/err || fail "reading vcluster's snapshot" "$(why)"
  fi
  within 120 tar -t -P -f snapshot.tar 2>/tmp/err >keys || fail "reading vcluster's snapshot" "$(why)"
  [ -s keys ] || fail "reading vcluster's snapshot" "it has no objects"
  count '' keys >objects
  within 180 gzip snapshot.tar 2>/tmp/err || fail "reading vcluster's snapshot" "$(why)"
  within 180 argocd admin export --namespace "$NAMESPACE" --out argocd.yaml >/tmp/err 2>&1 || fail "exporting Argo CD's objects" "$(why)"
  count '^kind: Application$' argocd.yaml >applications
  digest argocd.yaml >digest
  ;;

store)
  # It moves bytes, and reads nothing of what a tenant has written: it alone has the store's credentials.
  # BusyBox's shell, which both images of Alpine have, knows this.
  set -o pipefail
  # What says that it has stored something is its own.
  rm -rf name size
  # No two pods store under the same name.
  name=$(date -u +%Y-%m-%dT%H%M%SZ)-$(printf '%u' "0x${POD%%-*}") || fail "storing" "pod $POD has no number"
  remote=${FOLDER%%:*}:
  if ! rclone listremotes --type crypt 2>/tmp/err | grep -q -x -F -- "$remote"; then
    fail "storing" "remote $remote of rclone.conf isn't one of type crypt, and nothing leaves the host unencrypted $(why)"
  fi
  # Of the store, rclone says it plainly only here.
  within 60 rclone lsf --max-depth 1 "$remote" >/dev/null 2>/tmp/err || fail "storing $name" "$(why)"
  regular argocd.yaml && regular snapshot.tar.gz || fail "storing $name" "argocd.yaml or snapshot.tar.gz isn't a file"
  rm -rf owner since tenant && mkdir tenant && cp -L /tenant/* tenant/ 2>/tmp/err && echo "$OWNER" >owner && echo "$SINCE" >since || fail "storing $name" "$(why)"
  pack() { tar -c -f - owner since argocd.yaml snapshot.tar.gz tenant; }
  # An upload that is cut short is no backup: it has another name until all of it was read back.
  file=$FOLDER/$name.tar
  undone() {
    because=$(why)
    within 30 rclone deletefile "$file.part" >/dev/null 2>&1
    fail "$1" "$2$because"
  }
  pack | within 240 rclone rcat "$file.part" >/tmp/err 2>&1 || undone "storing $name" ""
  want=$(pack | sha256sum)
  if [ "$(within 240 rclone cat "$file.part" 2>/tmp/err | sha256sum)" != "$want" ]; then
    undone "reading $name back" "what comes back isn't what was written "
  fi
  within 120 rclone moveto "$file.part" "$file" >/tmp/err 2>&1 || undone "storing $name" ""
  bytes=$(within 30 rclone size --json "$file" 2>/tmp/err | sed 's/.*"bytes":\([0-9]*\).*/\1/')
  [ "$bytes" = "$(pack | wc -c | tr -d ' ')" ] || fail "reading $name back" "the store has ${bytes:-no} bytes of it $(why)"
  # Older ones go only after that, and with them what is left of uploads that have ended long ago.
  within 30 rclone lsf --files-only "$FOLDER" >/tmp/list 2>/tmp/err || fail "deleting old backups" "$(why)"
  ended=$(date -u -d "@$(($(date +%s) - 3600))" +%Y-%m-%dT%H%M%SZ)
  {
    grep '^[0-9TZ-]*\.tar$' /tmp/list | sort -r | tail -n "+$((KEEP + 1))"
    grep '^[0-9TZ-]*\.tar\.part$' /tmp/list | while read -r part; do if [ "$part" \< "$ended" ]; then echo "$part"; fi; done || true
  } | while read -r old; do
    within 30 rclone deletefile "$FOLDER/$old" 2>>/tmp/err && continue
    # Another Job may have deleted it.
    left=$(within 30 rclone lsf "$FOLDER/$old" 2>/dev/null) || [ $? = 3 ] || exit 1
    [ -z "$left" ] || exit 1
  done || fail "deleting old backups" "$(why)"
  echo "$bytes" >size && echo "$name" >name
  ;;

report)
  name=$(given name 0-9TZ-)
  if over || [ -z "$name" ]; then
    tell_failure
  fi
  at=$(echo "$name" | sed 's/\(T..\)\(..\)\(..\)Z.*/\1:\2:\3Z/')
  tell "\"name\":\"$name\",\"succeededAt\":\"$at\",\"size\":\"$(given size 0-9)\",\"objects\":\"$(given objects 0-9)\",\"applications\":\"$(given applications 0-9)\",\"digest\":\"$(given digest 0-9a-f)\",\"failedAt\":\"\",\"message\":\"\""
  ;;
esac
