package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseCgroups(t *testing.T) {
	line := func(folder, options string) string {
		return "30 24 0:26 / /sys/fs/cgroup/" + folder + " rw,nosuid shared:9 - cgroup cgroup rw," + options + "\n"
	}
	cases := map[string]struct {
		reason    string
		mountinfo string
		want      map[string]string
		wantErr   string
	}{
		"OneHierarchyEach": {
			reason:    "As the kernel mounts them; other file systems are none of ours.",
			mountinfo: line("cpu", "cpu") + line("cpuacct", "cpuacct") + line("cpuset", "cpuset") + line("memory", "memory") + "31 24 0:27 / /proc rw - proc proc rw\n",
			want:      map[string]string{"cpu": "cpu", "cpuacct": "cpuacct", "cpuset": "cpuset", "memory": "memory"},
		},
		"TwoControllersInOne": {
			reason:    "systemd mounts cpu and cpuacct as one, and one of its own without a controller.",
			mountinfo: line("cpu,cpuacct", "cpu,cpuacct") + line("cpuset", "cpuset") + line("memory", "memory") + line("systemd", "xattr,name=systemd"),
			want: map[string]string{
				"cpu,cpuacct": "cpu,cpuacct", "cpuset": "cpuset", "memory": "memory", "systemd": "none,name=systemd",
			},
		},
		"NoMemory": {
			reason:    "kubelet would not start: say so before.",
			mountinfo: line("cpu", "cpu") + line("cpuacct", "cpuacct") + line("cpuset", "cpuset"),
			wantErr:   "cgroup controller memory is not mounted",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := parseCgroups(tc.mountinfo)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("\n%s\nparseCgroups(...): want error with %q, got %v", tc.reason, tc.wantErr, err)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got.Hierarchies); diff != "" || err != nil {
				t.Errorf("\n%s\nparseCgroups(...): -want, +got, error %v:\n%s", tc.reason, err, diff)
			}
		})
	}
}

func TestCheckControllers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cgroup.controllers")
	for content, want := range map[string]string{
		"cpuset cpu io memory pids\n": "",
		"cpuset io memory pids\n":     "controller cpu ",
		"\n":                          "controller cpu ",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		err := checkControllers(file)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("checkControllers(%q): want error with %q, got %v", content, want, err)
		}
	}
}

func TestRemoveGroup(t *testing.T) {
	group := filepath.Join(t.TempDir(), "vargo-default")
	if err := os.MkdirAll(filepath.Join(group, "kubepods", "besteffort", "pod1"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := removeGroup(group); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(group); !os.IsNotExist(err) {
		t.Errorf("removeGroup(...): the group is still there (%v)", err)
	}
	if err := removeGroup(group); err != nil {
		t.Errorf("removeGroup(...) of no group: want no error, got %v", err)
	}
}
