package artifacts

import (
	_ "embed"
	"io/fs"
	"runtime"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
	"github.com/virtual-argocd/virtual-argocd/tools/ociimage"
)

//go:embed scripts/entrypoint.sh
var entrypoint string

//go:embed scripts/gpg-wrapper.sh
var gpgWrapper string

//go:embed scripts/git-verify-wrapper.sh
var gitVerifyWrapper string

//go:embed scripts/redis-entrypoint.sh
var redisEntrypoint string

// argocdUser runs Argo CD and its redis, by the charts' security contexts.
const argocdUser = 999

// debianPackages of the one root file system that Argo CD and redis share.
// Argo CD's repo-server makes a keyring at start, for which gpg needs its
// agent; its init container needs "cp --update=none", coreutils 9.3 or later.
var debianPackages = []string{
	"ca-certificates", "git", "git-lfs", "gpg", "gpg-agent", "openssh-client", "redis-server", "tini", "tzdata",
}

// ArgoCDImage is the image of a tool that is Argo CD.
func ArgoCDImage(tool string) string { return "quay.io/argoproj/argocd:" + toolchain.Version(tool) }

// argocd makes the images of Argo CD and of its redis, the latter under the
// names of the argo-cd charts 10.1.1 and 9.3.7. The tool is Argo CD with or without
// its web interface.
func (k *kit) argocd(tool string) []recipe {
	redis := recipe{
		Debian: debianPackages,
		Files: append(users(), script("docker-entrypoint.sh", redisEntrypoint), folder("/data", argocdUser, 0o755),
			// One program, which looks at the name it is called by.
			ociimage.File{Path: "/usr/bin/redis-sentinel", Link: "redis-server"},
			// Scripts of the redis-ha chart want a shell that knows [[.
			ociimage.File{Path: "/usr/bin/sh", Link: "bash"}),
		Config: ociimage.Config{
			Architecture: runtime.GOARCH,
			Entrypoint:   []string{"/usr/local/bin/docker-entrypoint.sh"},
			Cmd:          []string{"redis-server"},
			Env:          []string{debianPath},
			User:         "999",
			WorkingDir:   "/data",
			Ports:        []string{"6379/tcp"},
		},
	}
	return append(redis.as(redisImage, "ecr-public.aws.com/docker/library/redis:8.2.2-alpine"), k.argocdImage(tool))
}

// argocdImage makes the image of Argo CD.
func (k *kit) argocdImage(tool string) recipe {
	cd := recipe{
		Name:   ArgoCDImage(tool),
		Debian: debianPackages,
		Files: append(users(),
			k.program("/usr/local/bin/argocd", tool),
			k.program("/usr/local/bin/helm", "helm"),
			k.program("/usr/local/bin/kustomize", "kustomize"),
			script("entrypoint.sh", entrypoint),
			script("gpg-wrapper.sh", gpgWrapper),
			script("git-verify-wrapper.sh", gitVerifyWrapper),
			folder("/app/config/tls", 0, 0o755),
			folder("/app/config/gpg/source", 0, 0o755),
			folder("/app/config/gpg/keys", argocdUser, 0o700),
			ociimage.File{Path: "/app/config/ssh/ssh_known_hosts"},
			ociimage.File{Path: "/etc/ssh/ssh_known_hosts", Link: "/app/config/ssh/ssh_known_hosts"},
			folder("/home/argocd", argocdUser, 0o775)),
		Config: ociimage.Config{
			Architecture: runtime.GOARCH,
			Entrypoint:   []string{"/usr/bin/tini", "--"},
			Env:          []string{debianPath, "USER=argocd"},
			User:         "999",
			WorkingDir:   "/home/argocd",
		},
	}
	// One binary, which looks at the name it is called by.
	for _, name := range []string{
		"application-controller", "applicationset-controller", "cmp-server", "commit-server", "dex",
		"k8s-auth", "notifications", "repo-server", "server",
	} {
		cd.Files = append(cd.Files, ociimage.File{Path: "/usr/local/bin/argocd-" + name, Link: "argocd"})
	}

	return cd
}

// redisImage is what chart 10.1.1 runs.
const redisImage = "ecr-public.aws.com/docker/library/redis:8.2.3-alpine"

const debianPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func script(name, content string) ociimage.File {
	return ociimage.File{Path: "/usr/local/bin/" + name, Content: content, Mode: 0o755}
}

// users replaces Debian's user table by the few users these images have.
func users() []ociimage.File {
	return []ociimage.File{
		{Path: "/etc/passwd", Content: "root:x:0:0:root:/root:/bin/bash\n" +
			"argocd:x:999:999::/home/argocd:/bin/sh\n" +
			"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
		{Path: "/etc/group", Content: "root:x:0:\nargocd:x:999:\nnogroup:x:65534:\n"},
		{Path: "/tmp", Dir: true, Mode: 0o777 | fs.ModeSticky},
	}
}
