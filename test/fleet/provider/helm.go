package provider

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	helmtime "helm.sh/helm/v3/pkg/time"
	"k8s.io/apimachinery/pkg/util/uuid"
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
	// fault of the change that is installed; "" for none. byValues: its values cause it.
	fault    Fault
	byValues bool
}

// Labels on Helm's records, so that records needn't be decoded to know these: the version of the chart, the fault of a change, whether its
// values cause the fault, and which installation it was.
const (
	versionLabel  = "virtualargocd.io/simulated-version"
	faultLabel    = "virtualargocd.io/simulated-fault"
	byValuesLabel = "virtualargocd.io/simulated-fault-by-values"
	installLabel  = "virtualargocd.io/simulated-install"
)

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
	labels := map[string]string{versionLabel: labelOf(chart.Metadata.Version)}
	if last == nil {
		labels[installLabel] = string(uuid.NewUUID())
		return h.release(ctx, release.Release{Version: 1, Chart: chart, Config: values, Labels: labels}, release.StatusPendingInstall, "Install complete")
	}
	if last.Info.Status.IsPending() {
		return nil, errPending
	}
	// Without a release that is deployed Helm upgrades only one that has failed or was replaced.
	if _, err := h.records.Deployed(h.name); err != nil && last.Info.Status != release.StatusFailed && last.Info.Status != release.StatusSuperseded {
		return nil, fmt.Errorf("cannot find the deployed release: %w", err)
	}
	labels[installLabel] = last.Labels[installLabel]
	if h.fault != "" {
		labels[faultLabel], labels[byValuesLabel] = string(h.fault), strconv.FormatBool(h.byValues)
	}
	next := release.Release{Version: last.Version + 1, Chart: chart, Config: values, Labels: labels}
	return h.release(ctx, next, release.StatusPendingUpgrade, "Upgrade complete")
}

// rollback does what `helm rollback` does: it deploys the revision before last again.
func (h helm) rollback(ctx context.Context, last *release.Release) error {
	before, err := h.records.Get(h.name, last.Version-1)
	if err != nil {
		return fmt.Errorf("cannot read the release before: %w", err)
	}
	next := release.Release{Version: last.Version + 1, Chart: before.Chart, Config: before.Config, Labels: before.Labels}
	_, err = h.release(ctx, next, release.StatusPendingRollback, fmt.Sprintf("Rollback to %d", before.Version))
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

// release creates a new revision, which is pending until it is ready.
func (h helm) release(ctx context.Context, r release.Release, pending release.Status, complete string) (*release.Release, error) {
	now, next := helmtime.Now(), &r
	next.Name, next.Namespace, next.Manifest = h.name, h.namespace, incompressible(h.size)
	next.Info = &release.Info{FirstDeployed: now, LastDeployed: now, Status: pending, Description: string(pending)}
	if err := h.records.Create(next); err != nil {
		return nil, fmt.Errorf("cannot write the record of the release: %w", err)
	}
	if err := h.ready(ctx); err != nil {
		what := "Release"
		if pending == release.StatusPendingUpgrade {
			what = "Upgrade"
		}
		next.SetStatus(release.StatusFailed, fmt.Sprintf("%s %q failed: %s", what, h.name, err))
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

// looksEvery is how often Helm checks whether what it waits for is ready.
const looksEvery = 2 * time.Second

// wait waits for as long as takes returns, which may change meanwhile. If that is longer than most, it returns Helm's error after most.
func wait(ctx context.Context, most time.Duration, takes func() time.Duration) error {
	for began := time.Now(); ; {
		took := time.Since(began)
		left := takes() - took
		switch {
		case left <= 0:
			return nil
		case took >= most:
			return context.DeadlineExceeded
		}
		t := time.NewTimer(min(left, most-took, looksEvery))
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-t.C:
		}
	}
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
