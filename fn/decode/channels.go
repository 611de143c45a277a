package decode

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/fn/channel/rollout"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// channelName returns the channel that a plan names, or else a claim; "" for none.
func channelName(ofPlan plan.Plan, ask tenant.Ask) string {
	return cmp.Or(ofPlan.Spec.Channel, ask.Channel)
}

// findChannel returns what is known of the channel of a tenant with a plan. It returns ErrUnread if
// Crossplane hasn't read all of it yet, and an error that names the field if there is no such channel,
// or it can't be used, or the tenant may not name it.
func findChannel(req *fnv1.RunFunctionRequest, g tenant.Given, recordsIn string) (tenant.Channel, error) {
	c := tenant.Channel{Name: channelName(g.Plan, g.Spec)}
	if c.Name == "" {
		return c, nil
	}
	field := mistakes.Field{Owner: mistakes.Claim, Path: "spec.channel"}
	if g.Plan.Spec.Channel != "" {
		field = g.Plan.At("channel")
	}
	if len(validation.IsValidLabelValue(c.Name)) > 0 {
		return c, field.Errorf("%.80q is not the name of a channel: write one such as stable", c.Name)
	}
	found, read := wire.Required(req, requiredChannel+c.Name, tenant.EnvironmentAPIVersion, tenant.EnvironmentKind)
	found = slices.DeleteFunc(found, func(s wire.Struct) bool { return s.String("metadata", "labels", tenant.LabelChannel) != c.Name })
	switch {
	case !read:
		return c, ErrUnread
	case len(found) > 1:
		return c, ofChannel(c.Name).Errorf("EnvironmentConfigs %s all have the label %s: %s: delete all but the one that the channel has composed", names(found), tenant.LabelChannel, c.Name)
	case len(found) == 0:
		c.Missing = true
		all, read := wire.Required(req, requiredChannels, tenant.EnvironmentAPIVersion, tenant.EnvironmentKind)
		if !read {
			return c, ErrUnread
		}
		c.Problem = "channel " + c.Name + " doesn't exist"
		return c, field.Errorf("%q is unknown: %s", c.Name, possibleChannels(all, g.Claim.Namespace))
	}
	data, err := found[0].Get("data").JSON()
	if err == nil {
		err = json.Unmarshal(data, &c.Published)
	}
	if err != nil || c.Revision == 0 {
		return c, ofChannel(c.Name).Errorf("EnvironmentConfig %s doesn't hold what the channel writes: see the conditions of the channel", names(found))
	}
	if g.Plan.Spec.Channel == "" {
		if err := mayName(c, g.Claim.Namespace); err != nil {
			return c, err
		}
	}
	if err := readRevisions(req, &c, g.XRName, recordsIn); err != nil {
		return c, err
	}
	if g.Was == nil && c.Begin > 0 && c.Begins == nil {
		return c, ofChannel(c.Name).Errorf("revision %d, with which new tenants begin, isn't in ConfigMap %s: see the conditions of the channel", c.Begin, tenant.RevisionName(c.Name, c.Begin))
	}
	return c, nil
}

// readRevisions reads a channel's revisions, and the tenant's assignment. What can't
// be read is taken as absent. It returns ErrUnread if Crossplane hasn't looked for them yet.
func readRevisions(req *fnv1.RunFunctionRequest, c *tenant.Channel, xrName, in string) error {
	var err error
	if c.Newest, err = readRevision(req, c.Name, c.Revision, in); err != nil {
		return err
	}
	if c.Begins, err = readRevision(req, c.Name, c.Begin, in); err != nil {
		return err
	}
	o, _ := wire.RequiredObject(req, requiredAssignment+c.Name, "ConfigMap", in, tenant.AssignmentName(c.Name, xrName))
	a := &rollout.Assignment{}
	if json.Unmarshal([]byte(o.String("data", tenant.AssignmentKey)), a) == nil && a.Tenant == xrName {
		c.Assignment = a
	}
	return nil
}

// readRevision reads a revision of a channel; nil for none.
func readRevision(req *fnv1.RunFunctionRequest, channel string, number int64, in string) (*tenant.Revision, error) {
	if number == 0 {
		return nil, nil
	}
	name := tenant.RevisionName(channel, number)
	o, read := wire.RequiredObject(req, requiredRevision+name, "ConfigMap", in, name)
	if !read {
		return nil, ErrUnread
	}
	revision := &tenant.Revision{}
	if json.Unmarshal([]byte(o.String("data", tenant.RevisionKey)), revision) != nil || revision.Number != number {
		return nil, nil
	}
	return revision, nil
}

// mayName returns an error if claims of a namespace may not name a channel.
func mayName(c tenant.Channel, namespace string) error {
	field := ofChannel(c.Name)
	ok, err := plan.Lists(field.Path+": spec.namespaces", c.Namespaces, namespace)
	if err == nil && !ok {
		return fmt.Errorf("spec.channel: channel %s is not for claims of namespace %s: leave it out, or ask whoever runs the platform for a channel", c.Name, namespace)
	}
	return mistakes.By(field.Owner, err)
}

// ofChannel is what errors of a channel begin with.
func ofChannel(name string) mistakes.Field {
	return mistakes.Field{Owner: mistakes.Channel, Path: "channel " + name}
}

// possibleChannels returns the end of an error about a channel that doesn't exist: it lists the
// channels that claims of a namespace may name.
func possibleChannels(all []wire.Struct, namespace string) string {
	var there []string
	for _, s := range all {
		name := s.String("metadata", "labels", tenant.LabelChannel)
		if ok, err := plan.Lists("", s.Strings("data", "namespaces"), namespace); name != "" && ok && err == nil {
			there = append(there, name)
		}
	}
	if slices.Sort(there); len(there) == 0 {
		return "there is no channel to choose from: leave it out"
	}
	return "write one of " + strings.Join(slices.Compact(there), ", ")
}
