{{/* argocd.affinity is a workload's own, or spreads its pods over nodes. */}}
{{- define "argocd.affinity" -}}
{{- $labels := dict "app.kubernetes.io/name" (printf "%s-%s" (include "argocd.name" .root) .name) -}}
{{- $selector := dict "matchLabels" $labels -}}
{{- $kind := .global.affinity.podAntiAffinity -}}
{{- if .values.affinity -}}
{{- toYaml .values.affinity -}}
{{- else if has $kind (list "soft" "hard") -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
  - weight: 100
    podAffinityTerm:
      labelSelector: {{ toJson $selector }}
      topologyKey: {{ ternary "kubernetes.io/hostname" "topology.kubernetes.io/zone" (eq $kind "soft") }}
  {{- if eq $kind "hard" }}
  requiredDuringSchedulingIgnoredDuringExecution:
  - labelSelector: {{ toJson $selector }}
    topologyKey: kubernetes.io/hostname
  {{- end }}
{{- end -}}
{{- end -}}

{{/* argocd.spread: constraints without a selector mean the workload's own pods. */}}
{{- define "argocd.spread" -}}
{{- $constraints := list -}}
{{- range .values.topologySpreadConstraints | default .global.topologySpreadConstraints -}}
  {{- $own := dict "labelSelector" (dict "matchLabels" (include "argocd.selector" $ | fromYaml)) -}}
  {{- $constraints = append $constraints (merge (deepCopy .) $own) -}}
{{- end -}}
{{- toYaml $constraints -}}
{{- end -}}
