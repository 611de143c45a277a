package policy_test

import (
	"testing"

	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestInputOfTheHost: what the function's input says of the host is checked before a tenant is composed with it.
func TestInputOfTheHost(t *testing.T) {
	for name, tc := range map[string]struct {
		input string
		want  []string
	}{
		"RangeNotOne":         {`"network":{"internalCIDRs":["203.0.113.7/24"]}`, []string{"input.network.internalCIDRs[0]", "203.0.113.7/24"}},
		"RangeOfAll":          {`"network":{"internalCIDRs":["::/0"]}`, []string{"input.network.internalCIDRs[0]", "every address"}},
		"APIServerNotARange":  {`"host":{"apiServer":{"cidrs":["10.0.0.1"]}}`, []string{"input.host.apiServer.cidrs[0]", "10.0.0.1"}},
		"PeerIsNobody":        {`"network":{"allowFrom":[{}]}`, []string{"input.network.allowFrom[0]", "ipBlock"}},
		"PeerIsBoth":          {`"network":{"allowTo":[{"ipBlock":{"cidr":"10.0.0.0/8"},"podSelector":{}}]}`, []string{"input.network.allowTo[0]", "one of them"}},
		"PeerSelector":        {`"network":{"allowTo":[{"podSelector":{"matchExpressions":[{"key":"a","operator":"Is"}]}}]}`, []string{"input.network.allowTo[0].podSelector", "Is", "write one such as matchLabels: {app: git}"}},
		"MetricsFromNobody":   {`"network":{"metricsFrom":[{}]}`, []string{"input.network.metricsFrom[0]", "ipBlock"}},
		"NamespaceSelector":   {`"network":{"allowFrom":[{"namespaceSelector":{"matchLabels":{"a b":"c"}}}]}`, []string{"input.network.allowFrom[0].namespaceSelector", "a b", "write one such as matchLabels: {kubernetes.io/metadata.name: git}"}},
		"ExceptElsewhere":     {`"network":{"allowTo":[{"ipBlock":{"cidr":"10.0.0.0/8","except":["10.1.0.0/16","11.0.0.0/16"]}}]}`, []string{"input.network.allowTo[0].ipBlock.except[1]: 11.0.0.0/16 is no part of cidr 10.0.0.0/8: write a narrower range within it"}},
		"ExceptAll":           {`"network":{"allowTo":[{"ipBlock":{"cidr":"10.0.0.0/8","except":["10.0.0.0/8"]}}]}`, []string{"input.network.allowTo[0].ipBlock.except[0]", "narrower"}},
		"ExceptWider":         {`"network":{"allowTo":[{"ipBlock":{"cidr":"10.0.0.0/16","except":["10.0.0.0/8"]}}]}`, []string{"input.network.allowTo[0].ipBlock.except[0]", "narrower"}},
		"ExceptOfOtherFamily": {`"network":{"allowTo":[{"ipBlock":{"cidr":"0.0.0.0/0","except":["2001:db8::/32"]}}]}`, []string{"input.network.allowTo[0].ipBlock.except[0]", "narrower"}},
		"APIServerPort":       {`"host":{"apiServer":{"port":70000}}`, []string{"input.host.apiServer.port: 70000 is not a port: write a number from 1 to 65535"}},
		"APIServerPortBelow":  {`"host":{"apiServer":{"port":-1}}`, []string{"input.host.apiServer.port: -1 is not a port"}},
		"StorageOfNothing":    {`"storage":{"size":"0"}`, []string{`input.storage.size: "0" is not an amount: write one such as 2Gi`}},
		"StorageBelow":        {`"storage":{"size":"-1Gi"}`, []string{`input.storage.size: "-1Gi"`}},
		"ControllerNotAName":  {`"network":{"ingressControllers":["a/b"]}`, []string{"input.network.ingressControllers[0]", "a/b"}},
		"CredentialsLabel":    {`"credentials":{"label":"No"}`, []string{"input.credentials.label", "No", "Required", "Ignored"}},
	} {
		t.Run(name, func(t *testing.T) {
			crossplanetest.New(t, `{}`, `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input",`+tc.input+`}`).CheckRefused(tc.want...)
		})
	}
}
