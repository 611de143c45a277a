# Virtual Argo CD. `make` without a target lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# The same settings as for the function's package, so that nothing is compiled twice.
export GOFLAGS := -mod=readonly -trimpath -buildvcs=false
export CGO_ENABLED := 0
export GOWORK := off

# The product, its build tools, the embedded cluster and the tests are separate Go modules, so that the product's go.mod lists only what the
# product needs.
# Commands such as `go test ./...` don't cross modules.
MODULES := . tools lab test

LAB  := go build -C lab -o ../_output/lab ./cmd/lab && _output/lab
XPKG := go build -C tools -o ../_output/xpkg ./cmd/xpkg && _output/xpkg
SIGN_CMD := go build -C tools -o ../_output/sign ./cmd/sign && _output/sign

# Runs the end-to-end tests, and repeats the output of failed tests at the end: tests run in parallel for half an hour.
GOTESTSUM := go run gotest.tools/gotestsum@v1.13.0 --format standard-verbose

# The programs that `make test` runs.
TEST_TOOLS := crossplane crossplane-cli

# End-to-end tests need a cluster: the caller's, or root on Linux to run one. Without either this fails, because tests that didn't run
# are no success, unless the caller sets E2E=skip.
define run-e2e
if [ "$${E2E:-}" = skip ]; then \
  echo "END-TO-END TESTS ARE SKIPPED: E2E=skip IS SET"; \
elif [ -z "$${KUBECONFIG:-}" ] && { [ "$$(uname -s)" != Linux ] || [ "$$(id -u)" != 0 ]; }; then \
  echo "END-TO-END TESTS CAN'T RUN HERE: THEY NEED ROOT ON LINUX, OR KUBECONFIG SET TO A CLUSTER. SET E2E=skip TO GO WITHOUT." >&2; exit 1; \
else \
  (cd test && $(GOTESTSUM) -- -tags e2e -count=1 -timeout=$(or $(3),90m) $(1) $(or $(2),./e2e)); \
fi
endef

# Runs end-to-end tests on an embedded cluster of their own: its name, its index (VARGO_CLUSTER_INDEX), a pattern of the tests, and their package.
define e2e-alone
export E2E_FULL=1 VARGO_CLUSTER=$(1) VARGO_CLUSTER_INDEX=$(2); trap '$(LAB) down' EXIT; $(call run-e2e,-run '^$(3)$$',$(4))
endef

## Try it

.PHONY: demo
demo: ## Create one customer's Argo CD on an embedded cluster (root; MONITORING=1 adds monitoring) or on the cluster of KUBECONFIG
	@echo "Compiling the lab, which takes a minute the first time ..."
	@$(LAB) demo

.PHONY: demo-down
demo-down: ## Remove the embedded cluster with everything in it; what was built stays
	@$(LAB) down

.PHONY: kind
kind: ## Create one customer's Argo CD on a kind cluster (Docker, kind, kubectl, helm), with upstream's charts and images; or on the cluster of KUBECONFIG
	@examples/kind/up.sh

.PHONY: kind-down
kind-down: ## Remove the kind cluster and its registry
	-docker rm --force virtual-argocd-registry
	kind delete cluster --name virtual-argocd

## Test

# Compilers and tests take less time when they collect less garbage; none needs much memory.
.PHONY: test
test: export GOGC := 400
test: test-tools ## Run all tests that need no cluster: unit tests, golden renders with Crossplane's engine, schema validation
	@# Go's cache of test results ignores files outside a test's module: those of tools, lab and test read files of the whole project. The
	@# limit is for machines that do other things, too. `make lint` runs vet.
	@printf '%s -vet=off -timeout=30m ./...\n' . 'tools -count=1' 'lab -count=1' 'test -count=1' | xargs -P 4 -t -L 1 go test -C
	@[ -n "$${ARGOCD_CHART:-}" ] || echo "NOT TRIED: UPSTREAM'S ARGO-CD CHART: ITS VALUES AND TEMPLATES, AND THE MEMORY THAT HELM TAKES FOR THEM. SET ARGOCD_CHART TO ITS FOLDER OR ARCHIVE." >&2

# Fuzz targets, each with its package. TestFuzzTargets compares this list with the code. Each package is compiled once, and all targets
# run in parallel. Only this module is instrumented, for which `go test -fuzz` has no option: instrumenting libraries takes most of the
# fuzzer's time and doesn't guide it. An interrupt ends each: with Go's -fuzztime a busy machine makes a target that found nothing fail
# with "context deadline exceeded" (https://go.dev/issue/75804).
FUZZ := FuzzRunFunction:./fn/function FuzzHostileText:./fn/function FuzzChannel:./fn/function FuzzDecode:./fn/decode FuzzText:./fn/text FuzzMerge:./fn/values FuzzCostlyNumbers:./fn/values FuzzPlan:./fn/resolve FuzzRecord:./proxy/limits FuzzObjects:./proxy/helm
MODULE := github.com/virtual-argocd/virtual-argocd

.PHONY: fuzz
fuzz: ## Run the fuzz tests of the function, FUZZTIME (default 1m) for each target
	@go test -c -gcflags='$(MODULE)/...=-d=libfuzzer' -o _output/fuzz/ $(sort $(foreach target,$(FUZZ),$(lastword $(subst :, ,$(target)))))
	@printf '%s\n' $(FUZZ) | xargs -P $(words $(FUZZ)) -I '{}' bash -o pipefail -c ' \
	  target="{}" package="$${target##*:./}" out="$$PWD/_output/fuzz" cache="$$(go env GOCACHE)/fuzz/$(MODULE)"; cd "$$package"; \
	  timeout --foreground --preserve-status --signal=INT --kill-after=1m $(or $(FUZZTIME),1m) \
	  "$$out/$${package##*/}.test" -test.run "^$$" -test.fuzz "^$${target%%:*}$$" -test.fuzzcachedir "$$cache/$$package" \
	  -test.fuzzminimizetime 1s 2>&1 | sed -u "s/^/$${target%%:*}: /"'

.PHONY: e2e
e2e: ## Run the essential end-to-end tests, on the embedded cluster (root) or on that of KUBECONFIG; fails where it can't, unless E2E=skip
	@$(call run-e2e,,./e2e ./network)

# These programs take minutes to build. They need no cluster.
MONITORING_TOOLS := promtool prometheus dashboard-linter

.PHONY: test-monitoring
test-monitoring: ## Check examples/monitoring with promtool, Prometheus and Grafana's dashboard linter; `make e2e-full` includes this
	@$(LAB) build $(MONITORING_TOOLS)
	go test -C test -tags e2e -count=1 ./monitoring
	@[ -n "$${KUBE_PROMETHEUS_STACK_CHART:-}" ] || echo "NOT TRIED: KUBE-PROMETHEUS-STACK WITH THE EXAMPLE'S VALUES. SET KUBE_PROMETHEUS_STACK_CHART TO THE CHART." >&2

.PHONY: e2e-full
e2e-full: test-monitoring ## Run all end-to-end tests, including outages, other versions and the web interface, and more random cases
	SEEDS=10 go test -count=1 -timeout=2h ./fn/...
	@export E2E_FULL=1; $(call run-e2e,,./e2e ./network,2h)
ifdef KUBECONFIG
	@echo "NOT TRIED: PROVIDERS THAT RAN BEFORE, AN INSTALLATION FROM GIT, CELLS, A TUNNEL, EACH PART OF A NAMESPACED VIRTUALARGOCD, THE SCRIPT FOR KIND AND THE HELM CHART, THE OLDEST CROSSPLANE, THE UPGRADE FROM THE LAST RELEASE, A TENANT AT REST, WHAT A CLUSTER PULLS, A CONTROL PLANE THAT IS AWAY, A FLEET IN A CHANNEL, CHAOS. THEY NEED CLUSTERS OF THEIR OWN." >&2
else
	@$(MAKE) --no-print-directory -j3 --output-sync=line e2e-away e2e-beside e2e-gitops e2e-cells e2e-tunnel e2e-namespaced e2e-script e2e-oldest e2e-rest e2e-release e2e-closed e2e-fleet e2e-chaos

# Each has a cluster of its own. The tests with a control plane that is away and with tenants at rest wait most of their time.
.PHONY: e2e-away e2e-beside e2e-gitops e2e-cells e2e-tunnel e2e-namespaced e2e-script e2e-oldest e2e-rest e2e-release e2e-closed e2e-fleet e2e-chaos
e2e-away:
	@$(call e2e-alone,away,3,TestControlPlaneAway)
e2e-beside:
	@export EXISTING_PROVIDERS=1; $(call e2e-alone,beside,9,TestBesideProviders)
e2e-gitops:
	@export FROM_GIT=1; $(call e2e-alone,gitops,8,TestGitOps)
# The test starts a second cluster.
e2e-cells:
	@trap 'VARGO_CLUSTER=cells-2 VARGO_CLUSTER_INDEX=13 _output/lab down' EXIT; ($(call e2e-alone,cells,12,TestCells))
# So does this one: a cluster behind a firewall.
e2e-tunnel:
	@trap 'VARGO_CLUSTER=tunnel-closed VARGO_CLUSTER_INDEX=15 _output/lab down' EXIT; ($(call e2e-alone,tunnel,14,TestTunnel))
# Each part of a claim as a VirtualArgoCD of the namespaced kind.
e2e-namespaced:
	@export NAMESPACED=1; $(call e2e-alone,namespaced,16,Test(Clusters|Components|Hosts|LocalAccounts|Notifications|Repositories|SignOn))
e2e-script:
	@$(call e2e-alone,script,10,TestScript,./e2e/script)
e2e-oldest:
	@export CROSSPLANE=oldest; $(call e2e-alone,oldest,7,Test(Customer|Channel|Front|Pool))
e2e-rest:
	@$(call e2e-alone,rest,4,TestAtRest)
e2e-release:
	@$(call e2e-alone,release,6,TestRelease)
e2e-closed:
	@$(call e2e-alone,closed,11,TestClosedNetwork)
e2e-fleet:
	@$(MAKE) --no-print-directory fleet RUN='Test(Channel|Gates|LostHost)'
e2e-chaos:
	@$(MAKE) --no-print-directory chaos RUNS=0
endif

# A fleet has a cluster of its own, on which the providers' packages run no pods. Its tests that run in parallel wait most of their time.
.PHONY: fleet
fleet: ## Measure TENANTS (default 30) simulated tenants, left alone for QUIET (default 1m), and as many in a channel, on a separate embedded cluster (root)
	@export VARGO_CLUSTER=fleet VARGO_CLUSTER_INDEX=5; unset KUBECONFIG; trap '$(LAB) down' EXIT; $(call run-e2e,-parallel=6 $(if $(RUN),-run '^$(RUN)$$'),./fleet,8h)

# It kills parts of its cluster.
.PHONY: chaos
chaos: ## Kill, pause and slow parts of the platform while simulated tenants are created, changed and deleted, RUNS (default 5) times (root; REAL=1 uses real tenants, SEED=n repeats a run)
	@export VARGO_CLUSTER=chaos VARGO_CLUSTER_INDEX=2; unset KUBECONFIG; trap '$(LAB) down' EXIT; $(call run-e2e,,./chaos,24h)

.PHONY: cluster
cluster: ## Install everything, ready for claims, on the embedded cluster (root) or on the cluster of KUBECONFIG
	@$(LAB) install

.PHONY: bench
bench: ## Run benchmarks of the function, and of the time until a tenant is Ready (TENANTS=n: of the providers' memory with n tenants instead)
ifdef TENANTS
	@export BENCH=1; $(call run-e2e,-run '^TestBenchmarkProviders$$',,4h)
else
	go test -run '^$$' -bench . -benchmem ./fn/...
	@export BENCH=1; $(call run-e2e,-parallel=20 -run '^TestBenchmark$$')
endif

## Build

.PHONY: xpkg
xpkg: ## Build the Function and Configuration packages into _output/ (INPUT=file sets your defaults, ARCH=native saves time)
	@$(XPKG) build $(if $(INPUT),--input=$(INPUT)) $(if $(ARCH),--arch=$(ARCH))

# Who pushes without a key says so: SIGN=skip.
.PHONY: push
push: ## Push what `make xpkg` built to REGISTRY=host/org, signed with KEY=file, or with the token in SIGSTORE_ID_TOKEN
	@$(if $(REGISTRY),,echo "REGISTRY is not set: write a host and an organisation, such as make push REGISTRY=ghcr.io/acme" >&2; exit 2)
ifeq ($(SIGN),skip)
	@echo "THE PACKAGES ARE NOT SIGNED: SIGN=skip IS SET" >&2
	@$(XPKG) push --registry=$(REGISTRY)
else
	@$(SIGN_CMD) --registry=$(REGISTRY) $(if $(KEY),--key=$(KEY))
endif

.PHONY: images
images: ## Build _output/images, which lists what an installation pulls and copies it to a registry: see docs/closed-networks.md
	@go build -C tools -o ../_output/images ./cmd/images

.PHONY: pin
pin: ## Write the digests of what `make xpkg` built into examples/install, and those of the providers in PINS_FROM (default: xpkg.crossplane.io) into _output/pins.yaml
	@$(XPKG) pin
	@_output/xpkg pins $(if $(PINS_FROM),--registry=$(PINS_FROM)) > _output/pins.new && mv _output/pins.new _output/pins.yaml

.PHONY: release-renders
release-renders: test-tools ## Record what the function renders for the release in VERSION: see RELEASING.md
	go test -C test ./render -run '^TestLastRelease$$' -count=1 -write-release

# Of argo-cd, whose subchart has a repository of its own: `helm dependency build`, or its folder below charts/. In vcluster's repository,
# the chart's folder has no version: VERSION=0.36.1.
.PHONY: chart-values
chart-values: ## Record which values the charts in CHARTS="folder ..." have, for messages about values that they don't have
	@$(if $(CHARTS),,echo "CHARTS is not set: write folders of charts, such as make chart-values CHARTS=../argo-helm/charts/argo-cd" >&2; exit 2)
	@go build -C tools -o ../_output/chartvalues ./cmd/chartvalues
	@_output/chartvalues --into=fn/values/known/charts $(if $(VERSION),--version=$(VERSION)) $(CHARTS)

# Of a checkout of Dex's repository, at the newest version that a chart of argo-cd brings (dex.image.tag).
.PHONY: dex-fields
dex-fields: ## Record which fields the connectors of Dex in the folder DEX have (VERSION=2.45.1), for messages about fields that they don't have
	@$(if $(DEX),,echo "DEX is not set: write the folder of Dex's source, such as make dex-fields DEX=../dex VERSION=2.45.1" >&2; exit 2)
	@go build -C tools -o ../_output/dexfields ./cmd/dexfields
	@_output/dexfields --into=fn/parts/sso/connectors/fields.txt --version=$(VERSION) $(DEX)

.PHONY: argocd-settings
argocd-settings: ## Record which settings the versions of Argo CD in ARGOCD="folder ..." have, for messages about those that Argo CD ignores
	@$(if $(ARGOCD),,echo "ARGOCD is not set: write the folders of Argo CD's source, such as make argocd-settings ARGOCD='../argo-cd-3.2 ../argo-cd-3.6'" >&2; exit 2)
	@go build -C tools -o ../_output/argocdsettings ./cmd/argocdsettings
	@_output/argocdsettings --into=fn/settings/recorded.txt $(ARGOCD)

.PHONY: generate
generate: ## Generate the schemas of the API and of the function's input, and docs/api.md, from Go types
	@for module in $(MODULES); do go generate -C "$$module" ./...; done

# golangci-lint takes the schema of its configuration from its website, which gets it from the folder jsonschema of the same
# version's Go module.
.PHONY: lint
lint: ## Run golangci-lint, including gofmt, and verify its configuration; check GitHub's workflows with actionlint
	@cd / && GOFLAGS= go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12 $(CURDIR)/.github/workflows/*.yaml
	@$(LAB) build golangci-lint
	@read -r _ version lint <<< "$$($(LAB) build --list | grep '^golangci-lint ')"; \
	  source="$$(cd / && GOFLAGS= go mod download -json "github.com/golangci/golangci-lint/v2@$$version" | awk -F '"' '$$2 == "Dir" { print $$4 }')"; \
	  "$$lint" config verify --schema "$$source/jsonschema/golangci.jsonschema.json"; \
	  for module in $(MODULES); do (cd "$$module" && "$$lint" run ./...) || failed=1; done; [ -z "$${failed:-}" ]

.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities in the function's modules; it queries vuln.go.dev, so CI doesn't run it
	go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./fn/... ./proxy/...

.PHONY: tools
tools: ## Build all programs that the embedded cluster needs
	@$(LAB) build

.PHONY: test-tools
test-tools: ## Build the programs that `make test` runs
	@$(LAB) build $(TEST_TOOLS)

.PHONY: help
help:
	@awk 'BEGIN { FS = ":.*## " } \
	  /^## / { printf "\n%s\n", substr($$0, 4) } \
	  /^[a-z0-9-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
