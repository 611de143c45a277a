# Virtual Argo CD. `make` alone lists what there is.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# As the function is compiled for its package, so that nothing is compiled twice.
export GOFLAGS := -mod=readonly -trimpath -buildvcs=false
export CGO_ENABLED := 0
export GOWORK := off

# The product, what builds it, and what tries it are Go modules of their own: the product's go.mod has what the product needs.
# `go test ./...` and the like don't cross modules.
MODULES := . tools test

LAB  := go build -C test -o ../_output/lab ./e2e/cmd/lab && _output/lab
XPKG := go build -C tools -o ../_output/xpkg ./cmd/xpkg && _output/xpkg

# Runs the end-to-end tests, and repeats at the end what the failed ones said: tests run beside each other for half an hour.
GOTESTSUM := go run gotest.tools/gotestsum@v1.13.0 --format standard-verbose

# The programs that the fast tests need.
UNIT_TOOLS := crossplane crossplane-cli

# End-to-end tests need a cluster: one of the caller's, or root on Linux to run one. Tests that did not run are no
# success, so this fails without, unless the caller has said E2E=skip.
define run-e2e
if [ "$${E2E:-}" = skip ]; then \
  echo "END-TO-END TESTS ARE SKIPPED: E2E=skip IS SET"; \
elif [ -z "$${KUBECONFIG:-}" ] && { [ "$$(uname -s)" != Linux ] || [ "$$(id -u)" != 0 ]; }; then \
  echo "END-TO-END TESTS CAN'T RUN HERE: THEY NEED ROOT ON LINUX, OR KUBECONFIG SET TO A CLUSTER. SET E2E=skip TO GO WITHOUT." >&2; exit 1; \
else \
  (cd test && $(GOTESTSUM) -- -tags e2e -count=1 -timeout=90m $(1) ./e2e); \
fi
endef

## Try it

.PHONY: demo
demo: ## One customer's Argo CD on a cluster of its own on this machine (root), or on the cluster of KUBECONFIG
	@echo "Compiling the lab, which takes a minute the first time ..."
	@$(LAB) demo

.PHONY: demo-down
demo-down: ## Remove the demo's cluster with everything in it; builds are kept
	@$(LAB) down

## Test

.PHONY: test
test: test-unit e2e ## All tests. Where the end-to-end tests can't run, this fails, unless E2E=skip

# Compilers and tests take less time when they collect less garbage; none needs much memory.
.PHONY: test-unit
test-unit: export GOGC := 400
test-unit: tools-unit ## Fast tests: unit, golden renders through the real engine, schema validation
	@for module in $(MODULES); do echo "go test -C $$module ./..."; go test -C "$$module" ./... || failed=1; done; [ -z "$${failed:-}" ]

# Fuzz targets, each with its package. TestFuzzTargets holds this list against the code. Their packages are compiled once, and all
# run side by side. Only this module is instrumented, which go test -fuzz can't be told: what libraries do guides the fuzzer nowhere,
# and takes most of its time.
FUZZ := FuzzRunFunction:./fn FuzzDecode:./fn/decode FuzzMerge:./fn/values FuzzPlan:./fn/resolve
MODULE := github.com/virtual-argocd/virtual-argocd

.PHONY: fuzz
fuzz: ## Feed the function what nobody would write, FUZZTIME (default 1m) for each target
	@go test -c -gcflags='$(MODULE)/...=-d=libfuzzer' -o _output/fuzz/ $(sort $(foreach target,$(FUZZ),$(lastword $(subst :, ,$(target)))))
	@printf '%s\n' $(FUZZ) | xargs -P $(words $(FUZZ)) -I '{}' bash -o pipefail -c ' \
	  target="{}" package="$${target##*:./}" out="$$PWD/_output/fuzz" cache="$$(go env GOCACHE)/fuzz/$(MODULE)"; cd "$$package"; \
	  "$$out/$${package##*/}.test" -test.run "^$$" -test.fuzz "^$${target%%:*}$$" -test.fuzzcachedir "$$cache/$$package" \
	  -test.fuzztime $(or $(FUZZTIME),1m) -test.fuzzminimizetime 1s 2>&1 | sed -u "s/^/$${target%%:*}: /"'

.PHONY: e2e
e2e: ## End-to-end tests of each feature's essential path, on the embedded cluster (root) or on the cluster of KUBECONFIG
	@$(call run-e2e)

.PHONY: e2e-full
e2e-full: ## All end-to-end tests: outages, other versions, the web interface and the like, too
	@export E2E_FULL=1; $(call run-e2e)
ifdef KUBECONFIG
	@echo "THE OLDEST CROSSPLANE AND THE UPGRADE FROM THE LAST RELEASE ARE NOT TRIED: THEY NEED CLUSTERS OF THEIR OWN" >&2
else
	@export E2E_FULL=1 CROSSPLANE=oldest VARGO_CLUSTER=oldest VARGO_CLUSTER_INDEX=7; trap '$(LAB) down' EXIT; $(call run-e2e,-run '^TestCustomer$$')
	@export E2E_FULL=1 VARGO_CLUSTER=release VARGO_CLUSTER_INDEX=6; trap '$(LAB) down' EXIT; $(call run-e2e,-run '^TestRelease$$')
endif

.PHONY: cluster
cluster: ## The embedded cluster with everything installed, ready for claims, or the same on the cluster of KUBECONFIG
	@$(LAB) install

.PHONY: bench
bench: ## Benchmarks of the function, and of a tenant's way to Ready
	go test -run '^$$' -bench . -benchmem ./fn/...
	@export BENCH=1; $(call run-e2e,-run '^TestBenchmark')

## Build

.PHONY: xpkg
xpkg: ## Build the Function and Configuration packages into _output/ (INPUT=file puts your defaults in, ARCH=native saves time)
	@$(XPKG) build $(if $(INPUT),--input=$(INPUT)) $(if $(ARCH),--arch=$(ARCH))

.PHONY: push
push: ## Push what `make xpkg` built to REGISTRY=host/org
	@$(if $(REGISTRY),,echo "Where to? Set REGISTRY to a host and an organisation: make push REGISTRY=ghcr.io/acme" >&2; exit 2)
	@$(XPKG) push --registry=$(REGISTRY)

.PHONY: release-renders
release-renders: tools-unit ## Keep what the function renders today as that of the release in VERSION, see RELEASING.md
	go test -C test ./render -run '^TestLastRelease$$' -count=1 -write-release

.PHONY: generate
generate: ## Generate the API's and the Input's schemas from their Go types
	@for module in $(MODULES); do go generate -C "$$module" ./...; done

# golangci-lint takes the schema of its configuration from its website, which gets it from the folder jsonschema of the same
# version's Go module.
.PHONY: lint
lint: ## gofmt, golangci-lint and its configuration
	@$(LAB) build golangci-lint
	@read -r _ version lint <<< "$$($(LAB) build --list | grep '^golangci-lint ')"; \
	  source="$$(cd / && GOFLAGS= go mod download -json "github.com/golangci/golangci-lint/v2@$$version" | awk -F '"' '$$2 == "Dir" { print $$4 }')"; \
	  "$$lint" config verify --schema "$$source/jsonschema/golangci.jsonschema.json"; \
	  for module in $(MODULES); do (cd "$$module" && "$$lint" run ./...) || failed=1; done; [ -z "$${failed:-}" ]

.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities in what the function is compiled from: asks vuln.go.dev, so it isn't in CI
	go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./fn/... ./proxy/...

.PHONY: tools
tools: ## Build every program that the embedded cluster runs
	@$(LAB) build

.PHONY: tools-unit
tools-unit: ## Build the programs that the fast tests need
	@$(LAB) build $(UNIT_TOOLS)

.PHONY: help
help:
	@awk 'BEGIN { FS = ":.*## " } \
	  /^## / { printf "\n%s\n", substr($$0, 4) } \
	  /^[a-z0-9-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
