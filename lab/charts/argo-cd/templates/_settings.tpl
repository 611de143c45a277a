{{/* argocd.cm is the data of argocd-cm: the values, over what follows from others. */}}
{{- define "argocd.cm" -}}
{{- $url := printf "https://%s" .Values.global.domain -}}
{{- $data := dict "url" $url -}}
{{- if eq (toString (index .Values.configs.cm "statusbadge.enabled")) "true" -}}
  {{- $_ := set $data "statusbadge.url" (print $url "/") -}}
{{- end -}}
{{- range $key, $value := mergeOverwrite $data (omit .Values.configs.cm "create" "annotations") -}}
{{- with toString $value }}
{{ $key }}: {{ toJson . }}
{{- end }}
{{- end }}
{{- end -}}

{{/* argocd.params is the data of argocd-cmd-params-cm, in the same way. */}}
{{- define "argocd.params" -}}
{{- $full := include "argocd.fullname" . -}}
{{- $data := dict
  "repo.server" (printf "%s-repo-server:%v" $full .Values.repoServer.service.port)
  "redis.server" (ternary (printf "%s-redis:%v" $full .Values.redis.servicePort) "" .Values.redis.enabled)
  "server.repo.server.strict.tls" "false"
  "applicationsetcontroller.enable.leader.election" (gt (int .Values.applicationSet.replicas) 1)
-}}
{{- if .Values.dex.enabled -}}
  {{- $plain := eq (toString (index .Values.configs.params "dexserver.disable.tls")) "true" -}}
  {{- $_ := set $data "server.dex.server" (printf "%s://%s-dex-server:5556" (ternary "http" "https" $plain) $full) -}}
  {{- $_ := set $data "server.dex.server.strict.tls" "false" -}}
{{- end -}}
{{- range list "applicationsetcontroller" "commitserver" "controller" "dexserver" "notificationscontroller" "reposerver" "server" -}}
  {{- $_ := set $data (print . ".log.format") $.Values.global.logging.format -}}
  {{- $_ := set $data (print . ".log.level") $.Values.global.logging.level -}}
{{- end -}}
{{- range $key, $value := mergeOverwrite $data (omit .Values.configs.params "create" "annotations") }}
{{ $key }}: {{ toString $value | toJson }}
{{- end }}
{{- end -}}

{{/*
argocd.setting is a ConfigMap or Secret under its own name, which does not
depend on the release. Takes: root, kind, name, and data; part (of the label
app.kubernetes.io/name), component, labels, annotations and the Secret's type
may be empty.
*/}}
{{- define "argocd.setting" -}}
---
apiVersion: v1
kind: {{ .kind }}
metadata:
  name: {{ .name }}
  namespace: {{ include "argocd.namespace" .root }}
  labels:
    {{- include "argocd.labels" (dict "root" .root "name" .part "component" .component) | nindent 4 }}
    {{- with .labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .annotations }}
  annotations: {{- include "argocd.strings" . | nindent 4 }}
  {{- end }}
{{- if eq .kind "Secret" }}
type: {{ .type | default "Opaque" }}
{{- end }}
{{- with .data }}
data:
  {{- range $key, $value := . }}
  {{ $key }}: {{ ternary (b64enc $value) $value (eq $.kind "Secret") | toJson }}
  {{- end }}
{{- end }}
{{ end -}}
