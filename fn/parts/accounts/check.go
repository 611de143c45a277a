package accounts

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/few"
	"github.com/virtual-argocd/virtual-argocd/fn/localaccount"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

const (
	// maxName is the longest name with which Argo CD lets anybody log in (3.6, util/session/sessionmanager.go). A name has no dots,
	// which separate the parts of the key that it is in.
	maxName = 32
	// maxTokens bounds the tokens of an account, and maxAllTokens those of a claim.
	maxTokens, maxAllTokens = 5, 20
	// maxKeys bounds the keys of a connection Secret that tokens are or were in: Crossplane removes none.
	maxKeys = 100

	minExpiry, defaultExpiry, maxExpiry = time.Hour, 90 * 24 * time.Hour, 366 * 24 * time.Hour
)

var (
	accountName = regexp.MustCompile(`^[A-Za-z0-9]([-_A-Za-z0-9]*[A-Za-z0-9])?$`)
	roleName    = regexp.MustCompile(`^[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?$`)
)

// builtIn are Argo CD's own roles.
var builtIn = []string{"admin", "readonly"}

// check checks all accounts, as the schema does and beyond.
func check(c part.Candidate) error {
	var found []error
	seen, tokens := map[string]bool{}, 0
	for i, account := range c.Spec.ArgoCDAccounts {
		at := fmt.Sprintf("%s[%d]", field, i)
		switch name := account.Name; {
		case name == "admin":
			found = append(found, fmt.Errorf("%s.name: admin is Argo CD's own user: write another name, or the role admin", at))
		case len(name) > maxName || !accountName.MatchString(name):
			found = append(found, fmt.Errorf("%s.name: %.80q is not the name of an account: write at most %d letters, digits, dashes and underscores, such as ci", at, name, maxName))
		case seen[name]:
			found = append(found, fmt.Errorf("%s.name: %q is the name of another account, too: leave one of the two out", at, name))
		}
		seen[account.Name] = true
		found = append(found, checkCapabilities(at, account), checkRole(c, at, account.Role))
		if tokens += len(account.Tokens); len(account.Tokens) > maxTokens {
			found = append(found, fmt.Errorf("%s.tokens: has %d entries: write %d at most", at, len(account.Tokens), maxTokens))
		}
		found = append(found, checkTokens(at, account))
	}
	if tokens > maxAllTokens {
		found = append(found, fmt.Errorf("%s: has %d tokens: write %d at most", field, tokens, maxAllTokens))
	}
	return mistakes.Join(append(found, checkKeys(c))...)
}

// checkKeys refuses new names of tokens where the connection Secret has had too many.
func checkKeys(c part.Candidate) error {
	var unused few.Names
	wanted := map[string]bool{}
	for _, account := range c.Spec.ArgoCDAccounts {
		for _, token := range account.Tokens {
			wanted[localaccount.TokenKey(account.Name, token.Name)] = true
		}
	}
	for key := range c.Details {
		if strings.HasPrefix(key, localaccount.TokenPrefix) && !wanted[key] {
			unused.Add(key)
		}
	}
	if len(wanted) == 0 || len(wanted)+unused.N <= maxKeys {
		return nil
	}
	return fmt.Errorf("%s: with these tokens, the connection Secret would have %d keys of tokens, and Crossplane removes none: write names of before, %d at most in all, such as those in %s",
		field, len(wanted)+unused.N, maxKeys, unused.String())
}

func checkCapabilities(at string, account v1alpha1.AccountSpec) error {
	known := []v1alpha1.AccountCapability{v1alpha1.AccountAPIKey, v1alpha1.AccountLogin}
	var found []error
	for i, is := range account.Capabilities {
		if !slices.Contains(known, is) {
			found = append(found, fmt.Errorf("%s.capabilities[%d]: %.80q is unknown: write apiKey or login", at, i, is))
		}
	}
	if len(account.Tokens) > 0 && !slices.Contains(capabilitiesOf(account), v1alpha1.AccountAPIKey) {
		found = append(found, fmt.Errorf("%s.capabilities: an account with tokens needs apiKey: write it, too", at))
	}
	return mistakes.Join(found...)
}

// checkRole refuses a role that nothing gives any rights to.
func checkRole(c part.Candidate, at, role string) error {
	switch {
	case role == "" || slices.Contains(builtIn, role) || c.Unassigned && roleName.MatchString(role):
		return nil
	case !roleName.MatchString(role):
		return fmt.Errorf("%s.role: %.80q is not the name of a role: write admin, readonly, or one without the prefix role:, such as deployer", at, role)
	}
	for _, policy := range values.At[values.Values](c.ArgoCD.Merged(), "configs", "rbac") {
		if text, ok := policy.(string); ok && strings.Contains(text, "role:"+role) {
			return nil
		}
	}
	return fmt.Errorf("%s.role: no policy of spec.argocd.values.configs.rbac has role:%s: write one there, or admin or readonly here", at, role)
}

// checkTokens checks the tokens of an account.
func checkTokens(at string, account v1alpha1.AccountSpec) error {
	var found []error
	seen := map[string]bool{}
	for i, token := range account.Tokens {
		at := fmt.Sprintf("%s.tokens[%d]", at, i)
		if len(validation.IsDNS1123Label(token.Name)) > 0 {
			found = append(found, fmt.Errorf("%s.name: %.80q is not the name of a token: write a DNS label, such as deploy", at, token.Name))
		} else if seen[token.Name] {
			found = append(found, fmt.Errorf("%s.name: %q is the name of another token of the account, too: write another", at, token.Name))
		}
		seen[token.Name] = true
		if d := expiresIn(token); d < minExpiry || d > maxExpiry {
			found = append(found, fmt.Errorf("%s.expiresIn: %.80q is not possible: %s", at, token.ExpiresIn, inHours(string(token.ExpiresIn))))
		}
	}
	return mistakes.Join(found...)
}

// inHours says what to write in place of a time: Go's durations have no days.
func inHours(text string) string {
	const most = int64(maxExpiry / (24 * time.Hour))
	if number, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseInt(number, 10, 64); err == nil && n > 0 && n <= most {
			return fmt.Sprintf("days aren't taken: write %dh", n*24)
		}
	}
	return "write from 1h to 8784h, such as 2160h"
}

// expiresIn returns how long a token is valid; 0 for what is no duration.
func expiresIn(token v1alpha1.AccountTokenSpec) time.Duration {
	if token.ExpiresIn == "" {
		return defaultExpiry
	}
	d, err := time.ParseDuration(string(token.ExpiresIn))
	if err != nil {
		return 0
	}
	// Tokens have whole seconds.
	return d.Truncate(time.Second)
}
