# The steps of a restore. Nothing of a backup is written anywhere before all of it has been read.
case $step in
fetch)
  # BusyBox's shell, which the image of Alpine has, knows this.
  set -o pipefail
  within 60 rclone lsf --max-depth 1 "${FOLDER%%:*}:" >/dev/null 2>/tmp/err || fail "reading the store" "$(why)"
  name=$BACKUP
  if [ "$name" = latest ]; then
    name=$(within 60 rclone lsf --files-only "$FOLDER" 2>/tmp/err | { grep '^[0-9TZ-]*\.tar$' || true; } | sort | tail -n 1 | sed 's/\.tar$//')
    [ -n "$name" ] || fail "looking for a backup" "there is none in $FOLDER $(why)"
  fi
  echo "$name" >name
  within 300 rclone cat "$FOLDER/$name.tar" 2>/tmp/err | tar -x -f - 2>>/tmp/err || fail "reading $name" "$(why)"
  # Whoever may write to the store could put a backup where it doesn't belong.
  [ "$(cat owner 2>/dev/null)" = "$OWNER" ] || fail "reading $name" "it isn't a backup of $OWNER, but of $(cat owner 2>/tmp/err || echo nobody)"
  [ -s argocd.yaml ] && gzip -t snapshot.tar.gz 2>/tmp/err || fail "reading $name" "it is damaged: $(why)"
  case $MODE in
  Snapshot)
    tar -t -z -f snapshot.tar.gz 2>/tmp/err >keys || fail "reading $name" "it is damaged: $(why)"
    wc -l <keys >objects
    grep -c '^/*registry/argoproj[.]io/applications/' keys >applications || true
    ;;
  Objects | Clusters)
    # A copy has settings, accounts and hostnames of its own, and no credentials of clusters before it is activated. What else it has got until
    # then stays as it is.
    awk -v active="$ACTIVE" -v mode="$MODE" '
      function flush() {
        own = doc ~ /\n  name: argocd-(cm|rbac-cm|secret|notifications-cm|notifications-secret|cmd-params-cm)\n/ && doc ~ /\nkind: (ConfigMap|Secret)\n/
        cluster = doc ~ /\nkind: Secret\n/ && doc ~ /argocd.argoproj.io\/secret-type: cluster\n/
        if (doc != "\n" && !own && (cluster ? active == "true" : mode == "Objects")) printf "%s---\n", substr(doc, 2)
        doc = "\n"
      }
      BEGIN { doc = "\n" }
      /^---$/ { flush(); next }
      { doc = doc $0 "\n" }
      END { flush() }' argocd.yaml >import.yaml || fail "reading $name" "$(why)"
    ;;
  esac
  ;;

deliver)
  # The init container of the control plane waits for it. One that has ended has got it, from a Job that could not report it any more.
  restored() {
    [ 0 = "$(kubectl get pod vcluster-0 --namespace "$NAMESPACE" --output 'jsonpath={.status.initContainerStatuses[?(@.name=="restore")].state.terminated.exitCode}' 2>/tmp/err)" ]
  }
  kubectl patch secret "$SECRET" --namespace "$PLATFORM" --type merge --patch "$(
    for file in tenant/*; do
      case $file in *.json | *.yaml) printf '%s"%s":"%s"' "${sep-}" "${file#tenant/}" "$(base64 "$file" | tr -d '\n')" && sep=, ;; esac
    done | { printf '{"data":{' && cat && printf '}}'; }
  )" >/dev/null 2>/tmp/err || fail "keeping what the platform knows of the tenant" "$(why)"
  for _ in $(seq 300); do
    if restored || kubectl exec --namespace "$NAMESPACE" vcluster-0 --container restore -- true 2>/tmp/err; then
      break
    fi
    sleep 2
  done
  restored && exit 0
  within 300 kubectl exec --stdin --namespace "$NAMESPACE" vcluster-0 --container restore -- sh -c 'cat >/data/restore.part && mv /data/restore.part /data/restore.tar.gz' \
    <snapshot.tar.gz 2>/tmp/err || fail "handing the snapshot to the virtual cluster" "$(why)"
  ;;

import)
  within 300 argocd admin import import.yaml --verbose --namespace "$NAMESPACE" >/tmp/err 2>&1 || fail "importing Argo CD's objects" "$(why)"
  # What an attempt before has imported is unchanged, which it says because of --verbose.
  grep -c -E ' (created|updated|unchanged)' /tmp/err >objects || true
  grep -c -E '^argoproj[.]io/Application .* (created|updated|unchanged)' /tmp/err >applications || true
  ;;

report)
  if [ -e failed ] || [ ! -s objects ]; then
    message=$(grep . failed || echo "a step ended early")
    kubectl patch configmap "$RECORD" --namespace "$NAMESPACE" --type merge --patch "{\"data\":{\"failedAt\":\"$(date -u +%Y-%m-%dT%H:%M:%SZ)\",\"message\":\"$message\"}}"
    exit 1
  fi
  counts=
  # The others were counted when they were imported.
  [ "$MODE" = Clusters ] || counts="\"objects\":\"$(tr -d ' ' <objects)\",\"applications\":\"$(cat applications)\","
  kubectl patch configmap "$RECORD" --namespace "$NAMESPACE" --type merge --patch \
    "{\"data\":{\"name\":\"$(cat name)\",\"restoredAt\":\"$(date -u +%Y-%m-%dT%H:%M:%SZ)\",$counts\"active\":\"$ACTIVE\",\"failedAt\":\"\",\"message\":\"\"}}"
  ;;
esac
