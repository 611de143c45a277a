package toolchain

import (
	"context"
	"errors"
	"path/filepath"
)

// gatewayAPI is the version of the Gateway API that Traefik's go.mod names.
const gatewayAPI = "v1.4.0"

// GatewayAPI returns the files with the Gateway API's CustomResourceDefinitions, as its standard channel has them.
func GatewayAPI(ctx context.Context) ([]string, error) {
	dir, err := Download(ctx, "sigs.k8s.io/gateway-api", gatewayAPI)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "config", "crd", "standard", "gateway.networking.k8s.io_*.yaml"))
	if err == nil && len(files) == 0 {
		err = errors.New("the module of the Gateway API has no CustomResourceDefinitions")
	}
	return files, err
}
