package provider

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Flags of a provider.
type Flags struct {
	// Account is the name of the provider's ServiceAccount.
	Account string
	// Poll is how often a managed resource is observed.
	Poll time.Duration
	// MaxReconcileRate is the number of reconciles per second, and of workers.
	MaxReconcileRate int
	// EnableWatches has provider-kubernetes observe Objects with spec.watch as soon as what they describe changes.
	EnableWatches bool
}

// readFlags returns the flags that examples/install/runtime.yaml in the folder root sets for both providers.
func readFlags(root string) (helm, kubernetes Flags, err error) {
	file := filepath.Join(root, "examples", "install", "runtime.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		return helm, kubernetes, fmt.Errorf("cannot read the providers' flags: %w", err)
	}
	if helm, err = flagsOf("provider-helm", text); err == nil {
		kubernetes, err = flagsOf("provider-kubernetes", text)
	}
	if err != nil {
		return helm, kubernetes, fmt.Errorf("cannot use %s: %w", file, err)
	}
	return helm, kubernetes, nil
}

// flagsOf returns the flags that the DeploymentRuntimeConfig of a provider sets.
func flagsOf(provider string, manifests []byte) (Flags, error) {
	name := "virtual-argocd-" + provider
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096); ; {
		o := struct {
			metav1.TypeMeta   `json:",inline"`
			metav1.ObjectMeta `json:"metadata"`

			Spec struct {
				ServiceAccountTemplate struct {
					metav1.ObjectMeta `json:"metadata"`
				} `json:"serviceAccountTemplate"`
				DeploymentTemplate struct {
					Spec appsv1.DeploymentSpec `json:"spec"`
				} `json:"deploymentTemplate"`
			} `json:"spec"`
		}{}
		if err := decoder.Decode(&o); errors.Is(err, io.EOF) {
			return Flags{}, fmt.Errorf("there is no DeploymentRuntimeConfig %s", name)
		} else if err != nil {
			return Flags{}, err
		}
		if o.Kind != "DeploymentRuntimeConfig" || o.Name != name {
			continue
		}
		var args []string
		for _, c := range o.Spec.DeploymentTemplate.Spec.Template.Spec.Containers {
			if c.Name == "package-runtime" {
				args = c.Args
			}
		}
		flags, err := parse(args)
		if err != nil {
			return Flags{}, fmt.Errorf("DeploymentRuntimeConfig %s: cannot simulate args %q: %w", name, args, err)
		}
		flags.Account = o.Spec.ServiceAccountTemplate.Name
		return flags, nil
	}
}

// parse parses the arguments of a provider. Flags that are missing have the defaults of provider-helm 1.3.0 and provider-kubernetes 1.2.1.
// Unknown flags are an error, because measurements may depend on them.
func parse(args []string) (f Flags, err error) {
	set := flag.NewFlagSet("", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.DurationVar(&f.Poll, "poll", 10*time.Minute, "")
	set.IntVar(&f.MaxReconcileRate, "max-reconcile-rate", 100, "")
	set.BoolVar(&f.EnableWatches, "enable-watches", false, "")
	// Objects don't describe Secrets, so this changes nothing.
	set.Bool("sanitize-secrets", false, "")
	// There is one simulation at a time.
	set.Bool("leader-election", false, "")
	if err := set.Parse(args); err != nil {
		return Flags{}, err
	}
	if set.NArg() > 0 {
		return Flags{}, fmt.Errorf("%s isn't a flag", set.Arg(0))
	}
	return f, nil
}
