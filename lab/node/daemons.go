package node

import (
	"os/exec"
	"syscall"
)

// A program is one daemon's command line.
type program struct {
	name  string
	args  []string
	after []probe
}

const (
	etcdAddress      = "127.0.0.1:2379"
	containerdSocket = "/run/containerd/containerd.sock"
)

// daemonsOf lists the daemons of the node, ready to be started.
func daemonsOf(cfg Config) ([]daemon, error) {
	var out []daemon
	for _, p := range []program{
		etcd(),
		apiServer(cfg),
		controllerManager(cfg),
		scheduler(cfg),
		containerd(cfg),
		kubelet(cfg),
		kubeProxy(cfg),
	} {
		path := "/usr/bin/containerd" // Debian's; everything else is built.
		if p.name != "containerd" {
			var err error
			if path, err = cfg.Cache.Binary(p.name); err != nil {
				return nil, err
			}
		}
		out = append(out, daemon{Name: p.name, After: p.after, Command: func() *exec.Cmd {
			cmd := exec.Command(path, p.args...)
			cmd.Dir, cmd.Env = "/", environment()
			// Else a supervisor started anew would find them in its way.
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			return cmd
		}})
	}
	return out, nil
}

// binaries are the tools that a node is made of.
var binaries = []string{
	"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "coredns", "kube-network-policies",
}

// etcd holds a test cluster's state: after a crash of the machine it would be
// thrown away, so nothing waits for the disk.
func etcd() program {
	return program{name: "etcd", args: []string{
		"--name=vargo",
		"--data-dir=/var/lib/etcd",
		"--unsafe-no-fsync",
		"--listen-client-urls=http://" + etcdAddress,
		"--advertise-client-urls=http://" + etcdAddress,
		"--listen-peer-urls=http://127.0.0.1:2380",
		"--initial-advertise-peer-urls=http://127.0.0.1:2380",
		"--initial-cluster=vargo=http://127.0.0.1:2380",
		// A cluster of one needs no second to find that it is alone.
		"--heartbeat-interval=50", "--election-timeout=250",
		"--quota-backend-bytes=4294967296",
		"--log-level=warn",
	}}
}

func apiServer(cfg Config) program {
	l, a := cfg.dir(), cfg.Addresses()
	return program{name: "kube-apiserver", after: []probe{accepts("tcp", etcdAddress)}, args: []string{
		"--etcd-servers=http://" + etcdAddress,
		"--bind-address=0.0.0.0", "--secure-port=6443", "--advertise-address=" + a.Node,
		"--service-cluster-ip-range=" + a.Services,
		"--tls-cert-file=" + l.pki("apiserver.crt"), "--tls-private-key-file=" + l.pki("apiserver.key"),
		"--client-ca-file=" + l.pki("ca.crt"),
		"--kubelet-certificate-authority=" + l.pki("ca.crt"),
		"--kubelet-client-certificate=" + l.pki("apiserver-kubelet-client.crt"),
		"--kubelet-client-key=" + l.pki("apiserver-kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + l.pki("sa.key"),
		"--service-account-signing-key-file=" + l.pki("sa.key"),
		// API aggregation.
		"--requestheader-client-ca-file=" + l.pki("front-proxy-ca.crt"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + l.pki("front-proxy-client.crt"),
		"--proxy-client-key-file=" + l.pki("front-proxy-client.key"),
		"--authorization-mode=Node,RBAC",
		// Beside the defaults, PodSecurity among them.
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",
		"--profiling=false",
	}}
}

// apiReady succeeds when everybody has the rights that Kubernetes gives them at its
// first start: /readyz may not be read by anybody before.
func apiReady(cfg Config) probe { return answers(cfg.Addresses().Server + "/readyz") }

func controllerManager(cfg Config) program {
	l, config := cfg.dir(), cfg.dir().kubeconfig("controller-manager")
	return program{name: "kube-controller-manager", after: []probe{apiReady(cfg)}, args: []string{
		"--kubeconfig=" + config, "--authentication-kubeconfig=" + config, "--authorization-kubeconfig=" + config,
		"--bind-address=127.0.0.1",
		"--root-ca-file=" + l.pki("ca.crt"),
		"--service-account-private-key-file=" + l.pki("sa.key"),
		"--cluster-signing-cert-file=" + l.pki("ca.crt"), "--cluster-signing-key-file=" + l.pki("ca.key"),
		"--use-service-account-credentials=true",
		// Makes hostPath volumes for claims: a StorageClass with no other component.
		"--enable-hostpath-provisioner=true",
		"--leader-elect=false",
		"--kube-api-qps=200", "--kube-api-burst=400",
		"--profiling=false",
	}}
}

func scheduler(cfg Config) program {
	config := cfg.dir().kubeconfig("scheduler")
	return program{name: "kube-scheduler", after: []probe{apiReady(cfg)}, args: []string{
		"--kubeconfig=" + config, "--authentication-kubeconfig=" + config, "--authorization-kubeconfig=" + config,
		"--bind-address=127.0.0.1",
		"--leader-elect=false",
		"--kube-api-qps=200", "--kube-api-burst=400",
		"--profiling=false",
	}}
}

func containerd(cfg Config) program {
	return program{name: "containerd", args: []string{"--config=" + cfg.dir().etc("containerd.toml")}}
}

func kubelet(cfg Config) program {
	return program{
		name:  "kubelet",
		after: []probe{accepts("unix", containerdSocket), accepts("tcp", cfg.Addresses().Node+":6443")},
		args: []string{
			"--config=" + cfg.dir().etc("kubelet.yaml"),
			"--kubeconfig=" + cfg.dir().kubeconfig("kubelet"),
			"--hostname-override=" + cfg.id(),
			"--node-ip=" + cfg.Addresses().Node,
		},
	}
}

func kubeProxy(cfg Config) program {
	return program{name: "kube-proxy", after: []probe{apiReady(cfg)}, args: []string{
		"--config=" + cfg.dir().etc("kube-proxy.yaml"),
	}}
}
