{{/*
argocd.workload is a Deployment or StatefulSet of the module with the values of
its component. Takes: root, key, kind, name. It changes the manifest in place,
part by part: argocd.workload.* print nothing.
*/}}
{{- define "argocd.workload" -}}
{{- $values := include "argocd.values" . | fromYaml -}}
{{- $global := .root.Values.global -}}
{{- $object := include "argocd.module" . | fromYaml -}}
{{- $args := dict "root" .root "key" .key "name" .name "values" $values "global" $global "object" $object -}}
{{- include "argocd.workload.object" $args -}}
{{- include "argocd.workload.pod" (set $args "pod" $object.spec.template.spec) -}}
{{- include "argocd.workload.container" (set $args "container" (first $object.spec.template.spec.containers)) -}}
{{- toYaml $object -}}
{{- end -}}

{{/*
argocd.values are a component's values under one set of names, with nothing
left out: some components call them extraEnv, others env.
*/}}
{{- define "argocd.values" -}}
{{- $values := deepCopy (index .root.Values .key) -}}
{{- range $name, $other := dict "env" "extraEnv" "envFrom" "extraEnvFrom" "volumes" "extraVolumes" "volumeMounts" "extraVolumeMounts" -}}
  {{- $_ := set $values $name (index $values $name | default (index $values $other) | default list) -}}
{{- end -}}
{{- range $name, $value := dict "replicas" 1 "revisionHistoryLimit" 0 "deploymentStrategy" dict "statefulsetAnnotations" dict "securityContext" dict -}}
  {{- if not (hasKey $values $name) -}}{{- $_ := set $values $name $value -}}{{- end -}}
{{- end -}}
{{- toYaml $values -}}
{{- end -}}

{{- define "argocd.workload.object" -}}
{{- $spec := .object.spec -}}
{{- $stateful := eq .object.kind "StatefulSet" -}}
{{- $own := ternary "statefulsetAnnotations" "deploymentAnnotations" $stateful -}}
{{- with merge dict (index .values $own) (index .global $own) -}}
  {{- $_ := set $.object.metadata "annotations" (include "argocd.strings" . | fromYaml) -}}
{{- end -}}
{{- if not $stateful -}}
  {{- $_ := set .object.metadata "labels" (merge dict .values.deploymentLabels .global.deploymentLabels .object.metadata.labels) -}}
  {{- with merge dict .values.deploymentStrategy .global.deploymentStrategy -}}
    {{- $_ := set $spec "strategy" . -}}
  {{- end -}}
{{- else -}}
  {{- $_ := set $spec "serviceName" .object.metadata.name -}}
{{- end -}}
{{- $_ := set $spec "replicas" .values.replicas -}}
{{- $_ := set $spec "revisionHistoryLimit" (.values.revisionHistoryLimit | default .global.revisionHistoryLimit) -}}
{{- $selector := include "argocd.selector" . | fromYaml -}}
{{- if eq .key "redis" -}}{{- $selector = omit $selector "app.kubernetes.io/instance" -}}{{- end -}}
{{- $_ := set $spec "selector" (dict "matchLabels" $selector) -}}
{{- $labels := include "argocd.labels" (dict "root" .root "name" .name "component" .name) | fromYaml -}}
{{- $metadata := dict "labels" (merge dict .values.podLabels .global.podLabels $labels) -}}
{{- with merge dict .values.podAnnotations .global.podAnnotations (include "argocd.checksums" . | fromYaml) -}}
  {{- $_ := set $metadata "annotations" (include "argocd.strings" . | fromYaml) -}}
{{- end -}}
{{- $_ := set $spec.template "metadata" $metadata -}}
{{- end -}}

{{/* argocd.checksums roll a workload's pods when a ConfigMap it reads at start changes. */}}
{{- define "argocd.checksums" -}}
{{- if ne .key "redis" -}}
checksum/cmd-params: {{ include "argocd.params" .root | sha256sum }}
{{- if has .key (list "controller" "server" "repoServer") }}
checksum/cm: {{ include "argocd.cm" .root | sha256sum }}
{{- end }}
{{- end -}}
{{- end -}}

{{- define "argocd.workload.pod" -}}
{{- $pod := .pod -}}
{{- $_ := set $pod "serviceAccountName" (include "argocd.account" .) -}}
{{- range list "imagePullSecrets" "priorityClassName" "runtimeClassName" "nodeSelector" "tolerations" -}}
  {{- $key := . -}}
  {{- with index $.values $key | default (index $.global $key) -}}
    {{- $_ := set $pod $key . -}}
  {{- end -}}
{{- end -}}
{{- range list "dnsConfig" "dnsPolicy" "terminationGracePeriodSeconds" -}}
  {{- $key := . -}}
  {{- with index $.values $key -}}{{- $_ := set $pod $key . -}}{{- end -}}
{{- end -}}
{{- with .global.hostAliases -}}{{- $_ := set $pod "hostAliases" . -}}{{- end -}}
{{- with .values.securityContext | default .global.securityContext -}}
  {{- $_ := set $pod "securityContext" . -}}
{{- end -}}
{{- $_ := unset $pod "affinity" -}}
{{- with include "argocd.affinity" . | fromYaml -}}{{- $_ := set $pod "affinity" . -}}{{- end -}}
{{- with include "argocd.spread" . | fromYamlArray -}}{{- $_ := set $pod "topologySpreadConstraints" . -}}{{- end -}}
{{- with concat .global.extraVolumes .values.volumes ($pod.volumes | default list) -}}
  {{- $_ := set $pod "volumes" . -}}
{{- end -}}
{{- /* The pods of the module get the redis password made by an init container; here a hook has made it. */ -}}
{{- $inits := list -}}
{{- range $pod.initContainers -}}
  {{- if ne .name "secret-init" -}}
    {{- $_ := set . "image" (include "argocd.image" (dict "root" $.root "image" (ternary dict $.values.image (eq $.key "dex")))) -}}
    {{- $_ := set . "imagePullPolicy" $.global.image.imagePullPolicy -}}
    {{- $inits = append $inits . -}}
  {{- end -}}
{{- end -}}
{{- $inits = concat $inits (tpl (toYaml .values.initContainers) .root | fromYamlArray) -}}
{{- with .values.extensions -}}
  {{- if .enabled -}}
    {{- $inits = concat $inits (include "argocd.extensions" (dict "extensions" . "global" $.global) | fromYamlArray) -}}
    {{- $_ := set $pod "volumes" (append $pod.volumes (dict "name" "extensions" "emptyDir" dict)) -}}
  {{- end -}}
{{- end -}}
{{- $_ := unset $pod "initContainers" -}}
{{- with $inits -}}{{- $_ := set $pod "initContainers" . -}}{{- end -}}
{{- $_ := set $pod "containers" (concat $pod.containers (tpl (toYaml .values.extraContainers) .root | fromYamlArray)) -}}
{{- end -}}

{{- define "argocd.workload.container" -}}
{{- $c := .container -}}
{{- $_ := set $c "name" .name -}}
{{- $_ := set $c "image" (include "argocd.image" (dict "root" .root "image" .values.image)) -}}
{{- $_ := set $c "imagePullPolicy" (.values.image.imagePullPolicy | default .global.image.imagePullPolicy) -}}
{{- $args := $c.args | default list -}}
{{- if eq .key "notifications" -}}{{- $args = append $args (print "--secret-name=" .values.secret.name) -}}{{- end -}}
{{- with concat $args .values.extraArgs -}}{{- $_ := set $c "args" . -}}{{- end -}}
{{- if eq .key "controller" -}}
  {{- range $c.env -}}
    {{- if eq .name "ARGOCD_CONTROLLER_REPLICAS" -}}{{- $_ := set . "value" (toString $.values.replicas) -}}{{- end -}}
  {{- end -}}
  {{- $_ := set $c "env" (append $c.env (dict "name" "ARGOCD_APPLICATION_CONTROLLER_NAME" "value" .object.metadata.name)) -}}
{{- end -}}
{{- if eq .key "server" -}}
  {{- $_ := set $c "env" (append $c.env (dict "name" "ARGOCD_SERVER_NAME" "value" .object.metadata.name)) -}}
{{- end -}}
{{- $_ := set $c "env" (concat .global.env .values.env ($c.env | default list)) -}}
{{- with .values.envFrom -}}{{- $_ := set $c "envFrom" . -}}{{- end -}}
{{- with .values.readinessProbe -}}
  {{- $_ := set $c "readinessProbe" (merge (omit . "enabled") $c.readinessProbe) -}}
  {{- if eq (toString .enabled) "false" -}}{{- $_ := unset $c "readinessProbe" -}}{{- end -}}
{{- end -}}
{{- $_ := set $c "resources" .values.resources -}}
{{- with .values.lifecycle -}}{{- $_ := set $c "lifecycle" . -}}{{- end -}}
{{- with .values.containerSecurityContext -}}{{- $_ := set $c "securityContext" . -}}{{- end -}}
{{- $mounts := concat .global.extraVolumeMounts .values.volumeMounts ($c.volumeMounts | default list) -}}
{{- if dig "extensions" "enabled" false .values -}}
  {{- $mounts = append $mounts (dict "name" "extensions" "mountPath" "/tmp/extensions") -}}
{{- end -}}
{{- $_ := set $c "volumeMounts" $mounts -}}
{{- end -}}

{{/* argocd.extensions are the init containers of the API server that download UI extensions. Takes: extensions, global. */}}
{{- define "argocd.extensions" -}}
{{- range .extensions.extensionList }}
- name: {{ .name }}
  image: {{ $.extensions.image.repository }}:{{ $.extensions.image.tag }}
  imagePullPolicy: {{ $.extensions.image.imagePullPolicy | default $.global.image.imagePullPolicy }}
  env: {{ toJson .env }}
  resources: {{ toJson $.extensions.resources }}
  {{- with $.extensions.containerSecurityContext }}
  securityContext: {{ toJson . }}
  {{- end }}
  volumeMounts: [{name: extensions, mountPath: /tmp/extensions/}, {name: tmp, mountPath: /tmp}]
{{- end }}
{{- end -}}

{{/* argocd.image: a component's image; what it leaves empty is Argo CD's own. Takes: root, image. */}}
{{- define "argocd.image" -}}
{{- .image.repository | default .root.Values.global.image.repository }}:{{ .image.tag | default (include "argocd.tag" .root) -}}
{{- end -}}
