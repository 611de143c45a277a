{{/*
argocd.check fails for each value that this chart would silently ignore.
Takes: values, defaults (the chart's own values), path.
*/}}
{{- define "argocd.check" -}}
{{- $free := list "cm" "params" "rbac" "nodeSelector" "securityContext" "containerSecurityContext" "deploymentStrategy" -}}
{{- $off := list "redis-ha" "commitServer" "openshift" "externalRedis" -}}
{{- range $key, $value := .values -}}
  {{- $path := trimPrefix "." (printf "%s.%s" $.path $key) -}}
  {{- if not (hasKey $.defaults $key) -}}
    {{- include "argocd.refuse" $path -}}
  {{- end -}}
  {{- $default := index $.defaults $key -}}
  {{- if and (has $path $off) (ne (toYaml $value) (toYaml $default)) -}}
    {{- include "argocd.refuse" $path -}}
  {{- end -}}
  {{- if and (kindIs "map" $default) $default (not (and (has $key $free) (ne $path "notifications.cm"))) -}}
    {{- include "argocd.check" (dict "values" $value "defaults" $default "path" $path) -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{- define "argocd.refuse" -}}
{{- fail (printf "value %s has no effect in the test chart argo-cd: leave it out, or put a real argo-cd chart in its place with ARGOCD_CHART=<folder or archive>" .) -}}
{{- end -}}
