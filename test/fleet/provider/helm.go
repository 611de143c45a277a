package provider

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	helmtime "helm.sh/helm/v3/pkg/time"
	"k8s.io/client-go/kubernetes"
)

// A helm does what Helm does to the records of one release.
type helm struct {
	records         *storage.Storage
	name, namespace string
	// ready returns when the workloads of the release are ready, or with an error.
	ready func(ctx context.Context) error
	// size is the least size of a record in bytes.
	size int
}

// versionLabel is a label on Helm's records with the version of the chart, so that records needn't be decoded to know it.
const versionLabel = "virtualargocd.io/simulated-version"

// labelOf returns a version as the value of a label, in Helm's own way.
func labelOf(version string) string { return strings.ReplaceAll(version, "+", "_") }

func newRecords(typed kubernetes.Interface, namespace string, most int) *storage.Storage {
	records := storage.Init(driver.NewSecrets(typed.CoreV1().Secrets(namespace)))
	records.MaxHistory = most
	return records
}

// errPending is Helm's own error for a release in which Helm was interrupted.
var errPending = errors.New("another operation (install/upgrade/rollback) is in progress")

// install does what `helm install` does if last is nil, and otherwise what `helm upgrade` does.
func (h helm) install(ctx context.Context, last *release.Release, chart *chart.Chart, values map[string]any) (*release.Release, error) {
	if last == nil {
		return h.release(ctx, 1, chart, values, release.StatusPendingInstall, "Install complete")
	}
	if last.Info.Status.IsPending() {
		return nil, errPending
	}
	// Without a release that is deployed Helm upgrades only one that has failed or was replaced.
	if _, err := h.records.Deployed(h.name); err != nil && last.Info.Status != release.StatusFailed && last.Info.Status != release.StatusSuperseded {
		return nil, fmt.Errorf("cannot find the deployed release: %w", err)
	}
	return h.release(ctx, last.Version+1, chart, values, release.StatusPendingUpgrade, "Upgrade complete")
}

// rollback does what `helm rollback` does: it deploys the revision before last again.
func (h helm) rollback(ctx context.Context, last *release.Release) error {
	before, err := h.records.Get(h.name, last.Version-1)
	if err != nil {
		return fmt.Errorf("cannot read the release before: %w", err)
	}
	_, err = h.release(ctx, last.Version+1, before.Chart, before.Config, release.StatusPendingRollback, fmt.Sprintf("Rollback to %d", before.Version))
	return err
}

// uninstall removes all records.
func (h helm) uninstall() error {
	history, err := h.records.History(h.name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil
	}
	if n := len(history); n > 0 {
		// Helm removes the objects of the release next.
		releaseutil.SortByRevision(history)
		history[n-1].SetStatus(release.StatusUninstalling, "Deletion in progress (or silently failed)")
		if err := h.records.Update(history[n-1]); err != nil {
			return fmt.Errorf("cannot write the record of the release: %w", err)
		}
	}
	for _, r := range history {
		if _, err := h.records.Delete(h.name, r.Version); err != nil {
			return fmt.Errorf("cannot remove the record of revision %d: %w", r.Version, err)
		}
	}
	return err
}

// release makes a new revision.
func (h helm) release(ctx context.Context, version int, chart *chart.Chart, values map[string]any, pending release.Status, complete string) (*release.Release, error) {
	now := helmtime.Now()
	next := &release.Release{
		Name: h.name, Namespace: h.namespace, Version: version, Chart: chart, Config: values, Manifest: incompressible(h.size),
		Labels: map[string]string{versionLabel: labelOf(chart.Metadata.Version)},
		Info:   &release.Info{FirstDeployed: now, LastDeployed: now, Status: pending, Description: string(pending)},
	}
	if err := h.records.Create(next); err != nil {
		return nil, fmt.Errorf("cannot write the record of the release: %w", err)
	}
	if err := h.ready(ctx); err != nil {
		next.SetStatus(release.StatusFailed, fmt.Sprintf("Release %q failed: %s", h.name, err))
		return nil, errors.Join(err, h.records.Update(next))
	}
	deployed, err := h.records.DeployedAll(h.name)
	if err != nil && !errors.Is(err, driver.ErrNoDeployedReleases) {
		return nil, fmt.Errorf("cannot read the deployed releases: %w", err)
	}
	for _, r := range deployed {
		r.SetStatus(release.StatusSuperseded, r.Info.Description)
		if err := h.records.Update(r); err != nil {
			return nil, fmt.Errorf("cannot mark revision %d as superseded: %w", r.Version, err)
		}
	}
	next.SetStatus(release.StatusDeployed, complete)
	return next, h.records.Update(next)
}

// wait waits for takes. If that is longer than most, it returns Helm's error after most.
func wait(ctx context.Context, takes, most time.Duration) error {
	t := time.NewTimer(min(takes, most))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
	}
	if takes > most {
		return context.DeadlineExceeded
	}
	return nil
}

// incompressible returns text that takes size bytes in a record: compression saves a quarter, and base64 adds a third.
func incompressible(size int) string {
	b := strings.Builder{}
	b.Grow(size)
	for range size {
		b.WriteByte(byte('0' + rand.IntN(64))) //nolint:gosec // It stands for any text.
	}
	return b.String()
}
