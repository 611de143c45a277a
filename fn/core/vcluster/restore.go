package vcluster

import (
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// initContainer is the name of the container of the control plane that waits for a snapshot, and its command is one that the host's admission
// policies know.
const initContainer = "restore"

// waitForSnapshot restores what the Job hands over, before the control plane starts for the first time.
const waitForSnapshot = `[ -e /data/restored ] && exit 0; until [ -e /data/restore.tar.gz ]; do sleep 1; done; ` +
	`VCLUSTER_STORAGE_OPTIONS=$(printf '{"type":"container","container":{"path":"/data/restore.tar.gz"}}' | base64 | tr -d '\n') /vcluster restore --new-vcluster && touch /data/restored && rm /data/restore.tar.gz`

// restoreContainers are the init containers of the control plane of a tenant that is restored.
func restoreContainers(image string) []any {
	return []any{values.Values{
		"name": initContainer, "image": image, "command": []any{"sh", "-c", waitForSnapshot},
		"env": []any{values.Values{"name": "VCLUSTER_NAME", "value": tenant.HelmVCluster}, values.Values{"name": "POD_NAME", "valueFrom": values.Values{"fieldRef": values.Values{"fieldPath": "metadata.name"}}}},
		"volumeMounts": []any{
			values.Values{"name": "data", "mountPath": "/data"}, values.Values{"name": "binaries", "mountPath": "/binaries"}, values.Values{"name": "certs", "mountPath": "/pki"},
			values.Values{"name": "vcluster-config", "mountPath": "/var/lib/vcluster"}, values.Values{"name": "tmp", "mountPath": "/tmp"},
		},
	}}
}
