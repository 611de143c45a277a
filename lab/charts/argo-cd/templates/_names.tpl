{{/* argocd.name is the first part of the label app.kubernetes.io/name. */}}
{{- define "argocd.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/*
argocd.fullname is what the release's objects are called after: the release,
with the name appended unless it has it in it already.
*/}}
{{- define "argocd.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- .Values.fullnameOverride | default $full | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "argocd.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end -}}

{{- define "argocd.tag" -}}
{{- .Values.global.image.tag | default .Chart.AppVersion -}}
{{- end -}}

{{/*
argocd.components lists the workloads: key in the values, kind, and name (what
follows "argocd-" in the module's manifests and the release in ours).
*/}}
{{- define "argocd.components" -}}
controller: {kind: StatefulSet, name: application-controller}
server: {kind: Deployment, name: server}
repoServer: {kind: Deployment, name: repo-server}
applicationSet: {kind: Deployment, name: applicationset-controller}
notifications: {kind: Deployment, name: notifications-controller}
dex: {kind: Deployment, name: dex-server}
redis: {kind: Deployment, name: redis}
{{- end -}}

{{/* argocd.selector: the labels that never change. Takes: root, name. */}}
{{- define "argocd.selector" -}}
{{- with .name }}
app.kubernetes.io/name: {{ include "argocd.name" $.root }}-{{ . }}
{{- end }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end -}}

{{/* argocd.labels: all labels. Takes: root, name, component (both optional). */}}
{{- define "argocd.labels" -}}
{{ include "argocd.selector" . }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
app.kubernetes.io/part-of: argocd
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/version: {{ regexReplaceAll "[^-A-Za-z0-9_.]" (include "argocd.tag" .root) "-" | trunc 63 | trimAll "-_." | quote }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.global.additionalLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* argocd.account is a workload's ServiceAccount. Takes: root, key, name. */}}
{{- define "argocd.account" -}}
{{- $account := (index .root.Values .key).serviceAccount -}}
{{- $own := printf "%s-%s" (include "argocd.fullname" .root) .name -}}
{{- $account.name | default (ternary $own "default" $account.create) -}}
{{- end -}}

{{/*
argocd.module is a manifest of Argo CD's module with the metadata of this
release. Takes: root, kind, name and component as in argocd.components.
*/}}
{{- define "argocd.module" -}}
{{- $file := printf "manifests/%s.argocd-%s.yaml" .kind .name -}}
{{- $object := .root.Files.Get $file | fromYaml -}}
{{- if not $object.kind -}}
{{- fail (printf "%s is not in the package: build the chart with package lab/charts" $file) -}}
{{- end -}}
{{- $labels := include "argocd.labels" (dict "root" .root "name" .name "component" .name) | fromYaml -}}
{{- $metadata := dict "name" (printf "%s-%s" (include "argocd.fullname" .root) .name) "labels" $labels -}}
{{- if not (hasPrefix "Cluster" .kind) -}}
{{- $_ := set $metadata "namespace" (include "argocd.namespace" .root) -}}
{{- end -}}
{{- toYaml (set $object "metadata" $metadata) -}}
{{- end -}}

{{/* argocd.strings makes annotations of a map: their values must be strings. */}}
{{- define "argocd.strings" -}}
{{- range $key, $value := . }}
{{ $key }}: {{ toString $value | toJson }}
{{- end }}
{{- end -}}
