package proxy

import (
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// TestInstallation: what a summary says of an installation is read as it was written, and nothing else is.
func TestInstallation(t *testing.T) {
	data := map[string]string{}
	missing, applications := &Missing{Revision: 3, Objects: []string{"ClusterRole system:argocd", "ConfigMap argocd-rbac-cm"}}, &Applications{Total: 5, NotHealthy: 2, NotSynced: 5}
	AddTo(data, &Missing{Revision: 3}, nil)
	if len(data) > 0 {
		t.Errorf("nothing is known, and the data is %v", data)
	}
	AddTo(data, missing, applications)
	if got := ReadMissing(data[SummaryMissing]); !reflect.DeepEqual(got, missing) {
		t.Errorf("got %+v", got)
	}
	if got := ReadApplications(data[SummaryApplications]); !reflect.DeepEqual(got, applications) {
		t.Errorf("got %+v", got)
	}
	for _, bad := range []string{
		"", "{", `[]`, `{"revision":1,"objects":[]}`, `{"revision":1,"objects":["ConfigMap"]}`, `{"revision":1,"objects":["ConfigMap a\nb"]}`, `{"revision":1,"objects":["ConfigMap ../b"]}`,
		`{"revision":1,"objects":["` + strings.Repeat("a", 41) + ` b"]}`, `{"revision":"1","objects":["ConfigMap b"]}`,
		`{"revision":1,"objects":["A b"` + strings.Repeat(`,"A b"`, MaxMissing) + `]}`,
	} {
		if got := ReadMissing(bad); got != nil {
			t.Errorf("%s: got %+v", bad, got)
		}
	}
	for _, bad := range []string{
		"", "[]", `{"total":-1}`, `{"total":1,"notHealthy":2}`, `{"total":1,"notSynced":-1}`, `{"total":1.5}`, `{"total":` + strconv.Itoa(MaxApplications+1) + `}`,
	} {
		if got := ReadApplications(bad); got != nil {
			t.Errorf("%s: got %+v", bad, got)
		}
	}
}
