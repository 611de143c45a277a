# The steps of a restore. Nothing of a backup is written anywhere before all of it has been read.
case $step in
fetch)
  # It reads nothing of what a tenant has written: it alone has the store's credentials.
  # BusyBox's shell, which the image of Alpine has, knows this.
  set -o pipefail
  within 60 rclone lsf --max-depth 1 "${FOLDER%%:*}:" >/dev/null 2>/tmp/err || fail "reading the store" "$(why)"
  name=$BACKUP
  if [ "$name" = latest ]; then
    # It ends with 3 where there is no such folder.
    within 60 rclone lsf --files-only "$FOLDER" >/tmp/list 2>/tmp/err || [ $? = 3 ] || fail "looking for a backup" "$(why)"
    name=$(grep '^[0-9TZ-]*\.tar$' /tmp/list | sort | tail -n 1 | sed 's/\.tar$//')
    all=${FOLDER%"$OWNER"}
    if [ -z "$name" ] && [ -z "$(within 60 rclone lsf --max-depth 1 "$all" 2>/dev/null)" ]; then
      fail "looking for a backup" "there is none in $FOLDER, nor anything else in $all: is this the store, and the password, with which they were made?"
    fi
    [ -n "$name" ] || fail "looking for a backup" "there is none in $FOLDER"
  fi
  case $name in *[!0-9TZ-]*) fail "looking for a backup" "$name isn't the name of one" ;; esac
  within 300 rclone cat "$FOLDER/$name.tar" >backup.tar 2>/tmp/err || fail "reading $name" "$(why)"
  echo "$name" >name
  ;;

check)
  # It reads what tenants have written, and has no credentials.
  set -o pipefail
  name=$(given name 0-9TZ-)
  part() { within 120 tar -x -O -f backup.tar "$1"; }
  # Through a pipe, in which tar can't skip what isn't there.
  cat backup.tar | within 120 tar -t -f - >/dev/null 2>/tmp/err || fail "reading $name" "it is damaged: $(why)"
  # An archive ends with two empty blocks, without which tar reads it, too.
  [ "$(tail -c 1024 backup.tar | tr '\0' 0 | tr -d -c 0 | wc -c)" -eq 1024 ] || fail "reading $name" "it is damaged: its end isn't there"
  # Whoever may write to the store could put a backup where it doesn't belong.
  whose=$(part owner 2>/tmp/err | head -c 500)
  [ "$whose" = "$OWNER" ] || fail "reading $name" "it isn't a backup of $OWNER, but of ${whose:-nobody}"
  [ "$(part argocd.yaml 2>/tmp/err | head -c 1 | wc -c)" -gt 0 ] || fail "reading $name" "it is damaged: $(why)"
  part snapshot.tar.gz 2>/tmp/err | within 300 gunzip -c 2>>/tmp/err | within 300 tar -t -f - 2>>/tmp/err >keys || fail "reading $name" "it is damaged: $(why)"
  # An earlier version's has none.
  part since 2>/dev/null | head -c 40 >since
  case $MODE in
  Snapshot)
    count '' keys >objects
    count '^/*registry/argoproj[.]io/applications/' keys >applications
    within 120 tar -x -f backup.tar tenant 2>/tmp/err || fail "reading $name" "$(why)"
    ;;
  Objects | Clusters)
    # A copy has settings, accounts and hostnames of its own, and no credentials of clusters before it is activated. What else it has got until
    # then stays as it is. Beside that, it writes how many objects there are, and which namespaces Applications and ApplicationSets are in.
    rm -rf want namespaces && : >namespaces
    # It is read twice, for what is kept of it, and for that: lines that are collected take a time that grows with the square of their number, and
    # whoever has written them chooses it.
    part argocd.yaml 2>/tmp/err | within 300 awk -v active="$ACTIVE" -v mode="$MODE" '
      function flush() {
        kept = lines && !(own && settings) && (secret && cluster ? active == "true" : mode == "Objects")
        print kept + 0
        if (kept) {
          want++
          if (namespace != "" && application) print namespace >"namespaces"
        }
        lines = own = settings = secret = cluster = application = 0; section = namespace = ""
      }
      /^---$/ { flush(); next }
      { lines = 1 }
      /^[^ ]/ { section = $1 }
      section == "metadata:" && /^  namespace: / { namespace = $2; gsub(/["\047]/, "", namespace) }
      /^  name: argocd-(cm|rbac-cm|secret|notifications-cm|notifications-secret|cmd-params-cm)$/ { own = 1 }
      /^kind: (ConfigMap|Secret)$/ { settings = 1 }
      /^kind: Secret$/ { secret = 1 }
      /^kind: Application(Set)?$/ { application = 1 }
      /argocd.argoproj.io\/secret-type: cluster$/ { cluster = 1 }
      END { flush(); print want + 0 >"want" }' 2>>/tmp/err | within 300 awk '
      { while (("tar -x -O -f backup.tar argocd.yaml" | getline line) > 0 && line != "---") if ($0) print line }
      $0 { print "---" }' >import.yaml 2>>/tmp/err || fail "reading $name" "$(why)"
    rm backup.tar
    ;;
  esac
  rm keys
  ;;

deliver)
  set -o pipefail
  # The init container of the control plane waits for it. One that has ended has got it, from a Job that could not report it any more.
  restored() {
    [ 0 = "$(kubectl get pod vcluster-0 --namespace "$NAMESPACE" --output 'jsonpath={.status.initContainerStatuses[?(@.name=="restore")].state.terminated.exitCode}' 2>/tmp/err)" ]
  }
  regular backup.tar && [ -d tenant ] && [ ! -L tenant ] || fail "keeping what the platform knows of the tenant" "backup.tar or tenant/ isn't there"
  {
    printf '{"data":{'
    for file in tenant/*; do
      key=${file#tenant/}
      case $key in
      *[!-._A-Za-z0-9]*) ;;
      *.json | *.yaml) regular "$file" && printf '%s"%s":"' "${sep-}" "$key" && base64 "$file" | tr -d '\n' && printf '"' && sep=, ;;
      esac
    done
    printf '}}'
  } >/tmp/patch 2>/tmp/err || fail "keeping what the platform knows of the tenant" "$(why)"
  # A file, since no argument may have more than 128 KiB.
  kubectl patch secret "$SECRET" --namespace "$PLATFORM" --type merge --patch-file /tmp/patch >/dev/null 2>/tmp/err || fail "keeping what the platform knows of the tenant" "$(why)"
  for _ in $(seq 300); do
    if restored || within 10 kubectl exec --namespace "$NAMESPACE" vcluster-0 --container restore -- true 2>/tmp/err; then
      break
    fi
    sleep 2
  done
  restored && exit 0
  # Both ends have to have all of it.
  snapshot() { within 120 tar -x -O -f backup.tar snapshot.tar.gz; }
  size=$(snapshot | wc -c | tr -d ' ') || fail "reading the snapshot" "$(why)"
  snapshot | within 300 kubectl exec --stdin --namespace "$NAMESPACE" vcluster-0 --container restore -- \
    sh -c "cat >/data/restore.part && [ \"\$(wc -c </data/restore.part)\" -eq $size ] && mv /data/restore.part /data/restore.tar.gz" 2>/tmp/err || fail "handing the snapshot to the virtual cluster" "$(why)"
  ;;

namespaces)
  # Argo CD leaves out what is in a namespace that isn't there. What can't be the name of one was never one's.
  regular namespaces || fail "making the namespaces of Applications" "which ones isn't known"
  sort -u namespaces 2>/tmp/err | grep -x -E '[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?' >/tmp/names
  [ "$(wc -l </tmp/names)" -le 1000 ] || fail "making the namespaces of Applications" "they are in more than 1000"
  sed 's/.*/{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"&"}}/' /tmp/names >/tmp/namespaces.json
  [ -s /tmp/names ] || exit 0
  within 300 kubectl apply --server-side --validate=false -f /tmp/namespaces.json >/dev/null 2>/tmp/err || fail "making the namespaces of Applications" "$(why)"
  ;;

import)
  rm -rf objects applications
  # Those of other namespaces come back, too, whichever of them the settings of the new Argo CD name: the backup has only what the old one's did.
  within 300 argocd admin import import.yaml --verbose --namespace "$NAMESPACE" --application-namespaces '*' --applicationset-namespaces '*' >/tmp/err 2>&1 || fail "importing Argo CD's objects" "$(why)"
  # What an attempt before has imported is unchanged, which it says because of --verbose.
  count -E ' (created|updated|unchanged)' /tmp/err >objects
  count -E '^argoproj[.]io/Application .* (created|updated|unchanged)' /tmp/err >applications
  # Of what the API server refuses, argocd only warns.
  want=$(given want 0-9) got=$(given objects 0-9)
  [ "$got" = "$want" ] || fail "importing Argo CD's objects" "$got of ${want:-unknown many} came back $(grep -i 'level"*[:=]"*warn' /tmp/err | head -n 1)"
  # It has room for one of the two.
  rm -rf import.yaml digest back.yaml
  within 180 argocd admin export --namespace "$NAMESPACE" --application-namespaces '*' --applicationset-namespaces '*' --out back.yaml >/tmp/err 2>&1 || fail "reading Argo CD's objects back" "$(why)"
  digest back.yaml >digest
  ;;

report)
  name=$(given name 0-9TZ-) objects=$(given objects 0-9)
  if over || [ -z "$objects" ]; then
    tell_failure
  fi
  counts=
  # The others were counted when they were imported.
  [ "$MODE" = Clusters ] || counts="\"objects\":\"$objects\",\"applications\":\"$(given applications 0-9)\",\"digest\":\"$(given digest 0-9a-f)\","
  tell "\"name\":\"$name\",\"restoredAt\":\"$(date -u +%Y-%m-%dT%H:%M:%SZ)\",\"since\":\"$(given since 0-9TZ:-)\",$counts\"active\":\"$ACTIVE\",\"failedAt\":\"\",\"message\":\"\""
  ;;
esac
