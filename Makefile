# Everything here needs Go, make and git, and nothing else: tools and the test cluster are built from Go modules into bin/.

.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-builtin-rules --no-print-directory
.DELETE_ON_ERROR:
.SUFFIXES:

GO ?= go
# One setting for builds, tests and linters, so that they share Go's build cache.
export CGO_ENABLED := 0
# Paths of this machine are in no binary: a package that another checkout has compiled is not compiled again, nor one for a test that the product has.
# Nor is anything for debuggers, which saves a tenth of the compiler's time.
COMMON_FLAGS := -trimpath -gcflags=all=-dwarf=false
export GOFLAGS := $(filter-out $(COMMON_FLAGS),$(shell $(GO) env GOFLAGS)) $(COMMON_FLAGS)
# Compilers end soon: they collect their garbage late.
BUILD := GOGC=400 $(GO) build
# A cache for each checkout: the linter's results hold absolute paths, and two checkouts would report each other's files.
export GOLANGCI_LINT_CACHE := $(CURDIR)/bin/lint-cache

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null || echo none)
IMAGE   ?= ghcr.io/orkspace/orkestra
# For example --push, or --load with one platform.
IMAGE_FLAGS ?=
PLATFORMS   ?= linux/amd64,linux/arm64

BIN     := bin
REPORTS := .reports
CLUSTER := .cluster
SITE    := .site
# Where binaries that take long to build are kept for other clones.
CACHE   ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/orkestra
# Further flags for go test, such as -run or -v.
TEST_FLAGS ?=
# Processes that share the end-to-end specs, each with a cluster and a manager of its own. Specs mostly wait: with one process two
# cores idle for half of the time. Each needs about 1 GB.
E2E_PROCS ?= 4
# Further flags for Ginkgo, such as --focus or -v.
E2E_FLAGS ?=

# What make generate writes, and make verify compares.
GENERATED := api/v1alpha1/zz_generated.deepcopy.go config/crd/bases config/rbac/role.yaml \
	charts/orkestra/templates/crds.yaml charts/orkestra/templates/_rules.tpl charts/orkestra/templates/policies.yaml charts/orkestra/files/dashboards charts/orkestra/values.schema.json charts/orkestra/README.md engine/kinds/zz_generated.docs.go engine/kinds/shape/zz_generated.enums.go \
	docs/reference/webhook.schema.json docs/reference/webhook.openapi.json docs/reference/metrics.md docs/reference/operatorbox.schema.json \
	engine/web/api/openapi.json engine/web/ui/src/api.ts

K8S_VERSION := 1.36.3
K8S_LDFLAGS := -s -w -X k8s.io/component-base/version.gitVersion=v$(K8S_VERSION) \
	-X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36

gofiles = $(shell find $(1) -name '*.go' -not -name '*_test.go' 2>/dev/null)

##@ General

.PHONY: help
help: ## Show this text.
	@awk 'BEGIN { FS = ":.*## "; print "Usage: make <target>" } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[^ ]+:.*## / { sub(/^\$$\(BIN\)/, "bin"); split($$1, name, ":"); printf "  %-20s %s\n", name[1], $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: clean
clean: cluster-down ## Remove everything that was built; ends the local cluster.
	rm -rf $(BIN) $(REPORTS) $(SITE) dist coverage.*

##@ Try it

# A cluster to use, only if it is named on the command line: the one of the environment may be production.
GUEST := $(if $(filter command,$(firstword $(origin KUBECONFIG))),$(KUBECONFIG))

.PHONY: demo
demo: $(if $(GUEST),,$(BIN)/orkestra-cluster) $(BIN)/orkestra ## Start a cluster and the manager, apply a sample, show what was made; KUBECONFIG=file uses a cluster that is there.
	$(BUILD) -o $(BIN)/demo ./test/demo
	exec $(BIN)/demo -kubeconfig '$(GUEST)'

.PHONY: cluster-up
cluster-up: $(BIN)/orkestra-cluster ## Start a local Kubernetes in the background (no containers).
	$(BIN)/orkestra-cluster up --dir $(CLUSTER)

.PHONY: cluster-down
cluster-down: ## End the local Kubernetes.
	@if [ -x $(BIN)/orkestra-cluster ]; then $(BIN)/orkestra-cluster down --dir $(CLUSTER); fi

# Further flags of the manager, such as --log-level=debug or --allow-granting-kinds.
MANAGER_FLAGS ?=
# Which manager runs: orkestra, or orkestra-providers.
MANAGER ?= orkestra
# A manager that has run for as many seconds, and fails then, is started again; one that fails at once would do so again.
RUN_AGAIN_AFTER ?= 15

.PHONY: run
run: $(BIN)/$(MANAGER) cluster-up ## Run the manager in the foreground against the local Kubernetes, and serve the Control Center beside it.
	kubeconfig=$$($(BIN)/orkestra-cluster kubeconfig --dir $(CLUSTER)); \
	$(BIN)/orkestra-cluster kubectl --kubeconfig "$$kubeconfig" apply --server-side -k config/crd; \
	$(BIN)/orkestra-cluster kubectl --kubeconfig "$$kubeconfig" apply --server-side -f config/default/namespace.yaml; \
	for try in 1 2 3; do $(BIN)/orkestra-cluster kubectl --kubeconfig "$$kubeconfig" wait --for=condition=Established crd --all --timeout=1m >/dev/null && break; sleep 1; done; \
	$(BIN)/$(MANAGER) ui --kubeconfig "$$kubeconfig" & trap "kill $$! 2>/dev/null || true" EXIT; \
	while :; do SECONDS=0; \
		$(BIN)/$(MANAGER) manager --kubeconfig "$$kubeconfig" --metrics-bind-address 0 --log-format text $(MANAGER_FLAGS) && break || status=$$?; \
		if [ $$status -ne 1 ] || [ $$SECONDS -lt $(RUN_AGAIN_AFTER) ]; then exit $$status; fi; \
		echo "The manager has ended, as one does that loses its lease on a busy machine. It is started again, as a Pod would be." >&2; \
	done

##@ Develop

.PHONY: generate
generate: $(BIN)/chartgen $(BIN)/crdtext $(BIN)/docgen $(BIN)/enumgen $(BIN)/helm-docs $(BIN)/protogen $(BIN)/webgen ## Write deep copies, CRDs, RBAC, the chart's share of them, of the policies and of the dashboards, the schema of its values and its README, the texts of `orkestra explain`, the values of Kubernetes' types, the schemas of webhooks and of boxes, the reference of metrics, and the OpenAPI document and TypeScript types of the Control Center.
	$(GO) tool controller-gen object paths=./api/...
	$(GO) tool controller-gen crd:maxDescLen=600 paths=./api/... output:crd:artifacts:config=config/crd/bases
	$(BIN)/crdtext -crds config/crd/bases
	$(GO) tool controller-gen rbac:roleName=orkestra-manager paths=./controllers/... paths=./engine/... paths=./cmd/... \
		output:rbac:artifacts:config=config/rbac
	$(BIN)/chartgen -config config -chart charts/orkestra
	$(BIN)/helm-docs --chart-search-root charts/orkestra --sort-values-order file --badge-style flat --log-level warning
	$(BIN)/docgen -api api/v1alpha1 -out engine/kinds/zz_generated.docs.go
	$(BIN)/protogen -types engine/hook/protocol -out docs/reference
	$(BIN)/webgen -types engine/web/api -openapi engine/web/api/openapi.json -typescript engine/web/ui/src/api.ts
	$(GO) run ./test/metricsdoc -out docs/reference/metrics.md
	$(BIN)/enumgen -api "$$($(GO) list -m -f '{{.Dir}}' k8s.io/api)" -out engine/kinds/shape/zz_generated.enums.go
	$(GO) run ./test/schemadoc -out docs/reference/operatorbox.schema.json

.PHONY: verify
verify: ## Fail if generated files, formatting or go.mod files are not as they should be.
	@rm -rf $(REPORTS)/generated; mkdir -p $(REPORTS)/generated
	@for path in $(GENERATED); do \
		[ ! -e $$path ] || { mkdir -p $(REPORTS)/generated/$$(dirname $$path); cp -R $$path $(REPORTS)/generated/$$path; }; done
	@$(MAKE) generate
	@for path in $(GENERATED); do \
		diff -ruN $(REPORTS)/generated/$$path $$path || { echo "make generate changed $$path: commit it."; exit 1; }; done
	@unformatted=$$(gofmt -l api cmd config controllers engine test); \
		[ -z "$$unformatted" ] || { echo "Not formatted:"; echo "$$unformatted"; exit 1; }
	@for dir in . test/argocd/controllers test/browser test/chart test/cluster test/gitops test/providers test/release test/release/krew test/rules test/site test/tools config/samples/*/manager; do \
		(cd $$dir && $(GO) mod tidy -diff) || { echo "Run go mod tidy in $$dir."; exit 1; }; done
	$(GO) vet ./...
	@if ! command -v npm >/dev/null; then echo "The page is not built again: there is no npm."; \
	elif ! $(MAKE) $(UI)/node_modules/.package-lock.json; then echo "The page is not built again: npm can't get its packages."; \
	else rm -rf $(REPORTS)/page; mkdir -p $(REPORTS); cp -R $(UI)/dist $(REPORTS)/page; $(MAKE) ui && \
		{ diff -rq $(REPORTS)/page $(UI)/dist || { echo "make ui changed $(UI)/dist: commit it."; exit 1; }; }; fi

UI := engine/web/ui
# What the script of the page may weigh, compressed.
UI_LIMIT := 153600
ESBUILD := $(GO) tool esbuild --bundle --log-level=warning --jsx=automatic --jsx-import-source=preact

$(UI)/node_modules/.package-lock.json: $(UI)/package.json $(UI)/package-lock.json
	cd $(UI) && npm ci

.PHONY: ui
ui: ui-test ## Build the page of the Control Center into engine/web/ui/dist; needs node and npm.
	rm -rf $(UI)/dist; mkdir -p $(UI)/dist; cp $(UI)/src/index.html $(UI)/dist/
	$(ESBUILD) $(UI)/src/main.tsx --minify --target=es2022 --format=esm --legal-comments=none --outfile=$(UI)/dist/app.js
	$(ESBUILD) $(UI)/src/app.css --minify --outfile=$(UI)/dist/app.css
	@size=$$(gzip -9 -n -c $(UI)/dist/app.js | wc -c); echo "The script has $$size bytes compressed, of $(UI_LIMIT)."; [ $$size -le $(UI_LIMIT) ]

.PHONY: ui-test
ui-test: $(UI)/node_modules/.package-lock.json ## Check the types of the page, and run its tests.
	cd $(UI) && node_modules/.bin/tsc
	rm -rf $(UI)/.test
	$(ESBUILD) $(UI)/test/*.test.ts $(UI)/test/*.test.tsx --platform=node --format=esm --packages=external --outdir=$(UI)/.test --out-extension:.js=.mjs
	cd $(UI) && node --test --test-force-exit --test-reporter=dot .test/*.mjs

.PHONY: ui-look
ui-look: $(UI)/node_modules/.package-lock.json ## Try the page in a browser with canned answers: axe, the keyboard, a server that goes away; pictures into .reports/page-pictures. Needs node, npm and chromium.
	$(GO) build -o $(BIN)/webfixture ./test/webfixture
	@mkdir -p $(REPORTS); $(BIN)/webfixture -listen 127.0.0.1:8099 & fixture=$$!; trap 'kill $$fixture' EXIT; \
	node $(UI)/browser/shots.mjs http://127.0.0.1:8099 $(REPORTS)/page-pictures
	node $(UI)/browser/live.mjs $(BIN)/webfixture $(REPORTS)/page-pictures

# What looks into all that a module imports. Those of the tests import Prometheus, clients of clouds and Helm, of which ten minutes are spent on a few lines of ours.
LINT_LIGHT ?= --disable staticcheck,gosec,unparam,contextcheck,bodyclose,nilerr,nilnesserr,noctx,fatcontext

.PHONY: lint
lint: export GOGC := 200
lint: $(BIN)/golangci-lint ## Run the linters; LINT_LIGHT= runs all of them on the modules of the tests, too.
	$(BIN)/golangci-lint run ./...
	@for dir in $(LINTED); do \
		echo "golangci-lint run in $$dir"; (cd $$dir && $(CURDIR)/$(BIN)/golangci-lint run $(LINT_LIGHT) ./...) || exit 1; done
	cd test/tools && $(GO) run ./house -root ../..

LINTED := test/argocd/controllers test/bench/peers/crossplane test/browser test/chart test/gitops test/providers test/release test/rules test/site test/tools

.PHONY: house
house: ## Print the sizes of packages, types and files that `make lint` holds.
	@cd test/tools && $(GO) run ./house -root ../.. -report

.PHONY: lint-layers
lint-layers: $(BIN)/golangci-lint ## Plant a forbidden import for every layer rule and see each reported.
	cd test/tools && $(GO) test -count=1 -v ./layers

# The tests of the cluster read this.
test: export ORKESTRA_CLUSTER_BINARY := $(CURDIR)/$(BIN)/orkestra-cluster
# Gomega waits for one second by default, which a goroutine may wait for a core on a busy machine.
test race: export GOMEGA_DEFAULT_EVENTUALLY_TIMEOUT := 20s

# Without interception of output, so that a process that crashes says why.
E2E = $(GO) tool ginkgo --procs=$(E2E_PROCS) --timeout=60m --no-color --output-interceptor-mode=none \
	--output-dir=$(REPORTS)/ginkgo --json-report=e2e.json $(E2E_FLAGS)
# Packages whose tests start a cluster, but for the end-to-end specs.
CLUSTERED = /test/(chaos|demo|e2e/watch|install|localcluster|upgrade)$$

# The race detector needs cgo, and so a C compiler.
C_COMPILER := $(shell command -v "$$($(GO) env CC)" 2>/dev/null)
RACE = CGO_ENABLED=1 GOFLAGS="$$($(GO) env GOFLAGS) -race"
# Packages in which goroutines share something: where there is a C compiler, their tests run once, under the detector. The others hold pure functions, and
# their tests compute for minutes under it.
CONCURRENT = $$($(GO) list ./controllers/... ./engine/... | grep -Ev "/engine/(expr|kinds|when|value|suggest)(/|$$)")
# Tests that compute for minutes under the detector, in one goroutine each.
SEQUENTIAL = ^(TestPoliciesAndTheReconcileAgree|TestDefaultsOfPoliciesAreThoseOfTheReconcile|TestNothingCanBeTakenOutOfAPolicy|TestTextsThatMeanHarm|TestAPatchUndoneLeavesTheObjectAsItWouldBeWithoutIt|TestQuotedAlongAChain)$$
SEQUENTIAL_IN = ./controllers/center ./controllers/policies ./engine/apply ./engine/pipeline ./engine/pipeline/declare

DETECTED = -test 'unit tests under the race detector: $(RACE) $(GO) test -json -count=1 -vet=off -p 2 -timeout 30m -skip "$(SEQUENTIAL)" $(TEST_FLAGS) $(CONCURRENT)' \
		-test 'what is too long for the detector: $(GO) test -json -count=1 -vet=off -p 2 -run "$(SEQUENTIAL)" $(TEST_FLAGS) $(SEQUENTIAL_IN)'

# Without go vet, which make verify runs on the same packages: with the race detector on, it would look through all that they import once more.
.PHONY: test
test: $(BIN)/testsum ## Run everything that CI runs; ends with the number of tests.
	+@$(BIN)/testsum -reports $(REPORTS)/ginkgo \
		-need 'the test cluster: $(MAKE) $(BIN)/orkestra-cluster' \
		-need 'the product and tools: $(MAKE) $(BIN)/orkestra $(BIN)/helm $(BIN)/golangci-lint' \
		-check 'suites of the chart: $(MAKE) test-chart' \
		-check 'verify: $(MAKE) verify' \
		-check 'lint: $(MAKE) lint' \
		-test 'unit tests: $(GO) test -json -count=1 -vet=off -p 2 -timeout 30m $(TEST_FLAGS) $$($(GO) list ./... | grep -Ev "/test/(argocd|e2e|flux)$$|$(CLUSTERED)" $(if $(C_COMPILER),| grep -vxF "$(CONCURRENT)"))' \
		$(if $(C_COMPILER),$(DETECTED)) \
		-suite 'end-to-end tests: $(E2E) ./test/e2e' \
		-test 'other tests with a cluster: $(GO) test -json -count=1 -vet=off -p 2 -timeout 30m $(TEST_FLAGS) $$($(GO) list ./... | grep -E "$(CLUSTERED)")' \
		-test 'tests of the cluster: cd test/cluster && $(GO) test -json -count=1 -p 2 -timeout 30m $(TEST_FLAGS) ./...' \
		-test 'tests of the tools: cd test/tools && $(GO) test -json -count=1 -p 2 -timeout 30m $(TEST_FLAGS) ./...' \
		-test 'the site: cd test/site && $(GO) test -json -count=1 $(TEST_FLAGS) ./...' \
		-test 'releases: cd test/release && $(GO) test -json -count=1 -p 2 $(TEST_FLAGS) ./...' \
		-test 'other tools on recorded objects: cd test/gitops && $(GO) test -json -count=1 $(TEST_FLAGS) ./...' \
		-test 'providers with servers: cd test/providers && $(GO) test -json -count=1 -p 2 -timeout 30m $(TEST_FLAGS) ./...'

# Suites of helm-unittest: charts/orkestra/tests. A suite that names no template, or a value that none sets, fails test/manifests.
.PHONY: test-chart
test-chart: $(BIN)/helm-unittest ## Run the suites of the chart.
	$(BIN)/helm-unittest --strict --color=false charts/orkestra

.PHONY: test-third-party
test-third-party: $(BIN)/orkestra-cluster $(BIN)/helm $(BIN)/kubeconform ## Run what needs large programs of others: the chart by the schemas of four Kubernetes versions, the alerts in Prometheus, the dashboards by Grafana's schema, boxes in Git by Flux and by Argo CD.
	cd test/chart && $(GO) test -count=1 -timeout 30m $(TEST_FLAGS) ./...
	cd test/rules && $(GO) test -count=1 -timeout 30m $(TEST_FLAGS) ./...
	cd test/flux/controllers && $(GO) mod tidy -diff
	$(GO) test -count=1 -p 1 -timeout 60m $(TEST_FLAGS) ./test/argocd ./test/flux

# The browser of the tests: the machine's, else Debian's, which is fetched and unpacked without root.
CHROMIUM ?= $(or $(shell command -v chromium 2>/dev/null),$(CURDIR)/$(BIN)/chromium/chromium)

$(CURDIR)/$(BIN)/chromium/chromium: test/browser/chromium.sh
	test/browser/chromium.sh $(@D)

BROWSER_NEEDS = $(BIN)/orkestra-cluster $(BIN)/orkestra $(UI)/node_modules/.package-lock.json $(CHROMIUM)

.PHONY: test-browser
test-browser: $(BROWSER_NEEDS) ## Try the Control Center in Chromium, on a real cluster in which everything fails that can. Needs npm, and Debian where there is no chromium.
	cd test/browser && CHROMIUM='$(CHROMIUM)' $(GO) test -count=1 -timeout 30m $(TEST_FLAGS) ./...

.PHONY: page-pictures
page-pictures: $(BROWSER_NEEDS) ## Take the pictures of the Control Center for docs/how-to, of such a cluster.
	cd test/browser && CHROMIUM='$(CHROMIUM)' PICTURES='$(CURDIR)/docs/how-to/pictures' $(GO) test -count=1 -timeout 30m -run 'TestControlCenter/looks' $(TEST_FLAGS) ./...

.PHONY: pictures
pictures: $(BIN)/orkestra-cluster ## Draw the dashboards for docs/operations, from a real Prometheus and a box that breaks.
	cd test/rules && PICTURES='$(CURDIR)/docs/operations/pictures' $(GO) test -count=1 -timeout 30m $(TEST_FLAGS) ./live

.PHONY: e2e
e2e: $(BIN)/orkestra-cluster $(BIN)/helm ## Run the end-to-end tests only.
	@mkdir -p $(REPORTS)/ginkgo
	$(E2E) ./test/e2e
	$(GO) test -count=1 -timeout 10m $(TEST_FLAGS) ./test/e2e/watch

# make chaos SEEDS=17 runs one seed again. `make test` runs three seeds with fewer resources.
SEEDS     ?= 1-200
RESOURCES ?= 100

.PHONY: chaos
chaos: $(BIN)/orkestra-cluster ## Run the manager under faults, all seeds; the table goes to .reports/chaos.md.
	@mkdir -p $(REPORTS)
	CHAOS_SEEDS='$(SEEDS)' CHAOS_RESOURCES='$(RESOURCES)' CHAOS_REPORT='$(CURDIR)/$(REPORTS)/chaos.md' \
		$(GO) test -count=1 -v -timeout 6h $(TEST_FLAGS) ./test/chaos

# Reports go to files: those of managers that a spec runs and kills would be lost otherwise.
RACE_LOG = GORACE="log_path=$(CURDIR)/$(REPORTS)/race/report"
RACE_SEEDS ?= 1-10
# Under the detector, sync.Pool drops some of its objects at random, so Go's regular expressions allocate more than otherwise.
COUNTS_MEMORY = ^TestCompose$$

.PHONY: race
race: $(BIN)/orkestra-cluster $(BIN)/orkestra $(BIN)/helm ## Look for data races in all tests and ten chaos seeds; needs a C compiler.
	@rm -rf $(REPORTS)/race; mkdir -p $(REPORTS)/race $(REPORTS)/ginkgo
	$(RACE) $(GO) test -count=1 -p 2 -timeout 60m -skip '$(COUNTS_MEMORY)|$(SEQUENTIAL)' $(TEST_FLAGS) $$($(GO) list ./... | grep -Ev '/test/(argocd|e2e|flux)$$|$(CLUSTERED)')
	$(RACE) $(RACE_LOG) $(E2E) --label-filter='!computes' ./test/e2e || touch $(REPORTS)/race/failed
	$(RACE) $(RACE_LOG) CHAOS_SEEDS='$(RACE_SEEDS)' $(GO) test -count=1 -timeout 60m $(TEST_FLAGS) ./test/chaos ./test/e2e/watch || touch $(REPORTS)/race/failed
	@if [ -n "$$(ls $(REPORTS)/race)" ]; then cat $(REPORTS)/race/*; echo 'There are data races, or tests failed.'; exit 1; fi

# Which benchmarks make bench runs, such as BENCH=sides. BENCH_BINARY is another binary of ours that takes turns with bin/orkestra.
# BENCH_TURNS, BENCH_BURST and others say how much is measured: docs/performance.md.
BENCH ?= .

.PHONY: bench
bench: export BENCH_REPORT := $(CURDIR)/$(REPORTS)/bench.md
bench: $(BIN)/orkestra-cluster $(BIN)/orkestra $(BIN)/baseline ## Run the benchmarks and print one table of all budgets, which goes to .reports/bench.md, too.
	$(GO) test -run '^$$' -bench 'Table/$(BENCH)' -benchtime 1x -timeout 180m $(TEST_FLAGS) ./test/bench

# The operators that are written by hand, beside which Orkestra is measured.
# Other tools, as their Go modules are released.
PEERS := test/bench/peers

.PHONY: bench-peers
bench-peers: export BENCH_REPORT := $(CURDIR)/$(REPORTS)/bench-peers.md
bench-peers: $(BIN)/orkestra-cluster $(BIN)/orkestra $(BIN)/kro $(BIN)/crossplane $(BIN)/crossplane-function ## Run kro and Crossplane in turns with Orkestra on one control plane, and print one table, which goes to .reports/bench-peers.md, too.
	cd $(PEERS)/kro && $(GO) mod tidy -diff
	cd $(PEERS)/crossplane && $(GO) mod tidy -diff
	$(GO) test -run '^$$' -bench 'Peers' -benchtime 1x -timeout 180m $(TEST_FLAGS) ./test/bench

$(BIN)/kro: $(PEERS)/kro/go.mod $(PEERS)/kro/go.sum
	cd $(PEERS)/kro && $(BUILD) -ldflags '-s -w' -o $(CURDIR)/$@ github.com/kubernetes-sigs/kro/cmd/controller

$(BIN)/crossplane: $(PEERS)/crossplane/go.mod $(PEERS)/crossplane/go.sum
	cd $(PEERS)/crossplane && $(BUILD) -ldflags '-s -w' -o $(CURDIR)/$@ github.com/crossplane/crossplane/v2/cmd/crossplane

$(BIN)/crossplane-function: $(PEERS)/crossplane/go.mod $(PEERS)/crossplane/go.sum $(wildcard $(PEERS)/crossplane/function/*.go)
	cd $(PEERS)/crossplane && $(BUILD) -ldflags '-s -w' -o $(CURDIR)/$@ ./function

$(BIN)/baseline: go.mod go.sum $(call gofiles,test/bench/baseline)
	$(BUILD) -ldflags '-s -w' -o $@ ./test/bench/baseline/manager

# Package and target of each fuzz test. What one finds is kept in the package's testdata/fuzz, and runs with the tests from then on.
FUZZ_TARGETS := cmd/orkestra:FuzzValidate cmd/orkestra/importer:FuzzImport cmd/orkestra/initialize:FuzzInit engine/drift:FuzzDifferences engine/expr:FuzzTemplate engine/external:FuzzGuardAddress \
	engine/external:FuzzGuardURL engine/kinds:FuzzBuild engine/pipeline:FuzzCompile engine/pipeline:FuzzForEach engine/status:FuzzDesired \
	engine/value:FuzzParsePath engine/web:FuzzQuestions engine/when:FuzzCEL engine/when:FuzzCondition controllers/center:FuzzPlans
FUZZTIME ?= 10m

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME, 10 minutes unless told.
	@for target in $(FUZZ_TARGETS); do \
		echo "==> $$target"; $(GO) test ./$${target%%:*} -run '^$$' -fuzz "^$${target##*:}\$$" -fuzztime $(FUZZTIME) || exit 1; done

##@ Build

PRODUCT_LDFLAGS := -s -w -X github.com/orkspace/orkestra/cmd/orkestra/version.number=$(VERSION) -X github.com/orkspace/orkestra/cmd/orkestra/version.commit=$(COMMIT)

$(BIN)/orkestra: go.mod go.sum $(call gofiles,api cmd config controllers engine) $(wildcard config/crd/bases/*.yaml $(UI)/dist/*) ## The product: the manager and the command line.
	$(BUILD) -ldflags '$(PRODUCT_LDFLAGS)' -o $@ ./cmd/orkestra

$(BIN)/orkestra-providers: go.mod go.sum $(call gofiles,api cmd config controllers engine) $(wildcard config/crd/bases/*.yaml $(UI)/dist/*) ## The product with the providers aws and mongodb.
	$(BUILD) -ldflags '$(PRODUCT_LDFLAGS)' -o $@ ./cmd/orkestra-providers

# $(call cached,files,folder,package,flags) builds a binary that takes long, and keeps it in CACHE under a hash of the files, the flags and
# the version of Go, so that another clone on this machine need not build it again. A binary that was not used for a month is deleted.
define cached
@kept="$(CACHE)/$(@F)-$$({ $(GO) version; echo '$(4)'; cat $(sort $(1)); } | git hash-object --stdin)"; \
if [ ! -x "$$kept" ]; then \
	echo 'Building $(@F) from source, once.'; \
	mkdir -p "$(CACHE)"; (cd $(2) && $(CURDIR)/test/tools/progress.sh $(GO) $(4) -o "$$kept.$$$$" $(3)); mv "$$kept.$$$$" "$$kept"; \
fi; \
touch "$$kept"; mkdir -p $(BIN); cp "$$kept" $@.$$$$; mv $@.$$$$ $@; \
find "$(CACHE)" -name '$(@F)-*' -mtime +30 -delete
endef

$(BIN)/orkestra-cluster: test/cluster/go.mod test/cluster/go.sum $(call gofiles,test/cluster) ## Kubernetes in one binary, for tests.
	$(call cached,$^,test/cluster,.,-ldflags "$(K8S_LDFLAGS)")

$(BIN)/golangci-lint: test/tools/go.mod test/tools/go.sum
	$(call cached,$^,test/tools,github.com/golangci/golangci-lint/v2/cmd/golangci-lint,-ldflags "-s -w")

$(BIN)/helm: test/tools/go.mod test/tools/go.sum
	$(call cached,$^,test/tools,helm.sh/helm/v4/cmd/helm,-ldflags "-s -w")

$(BIN)/helm-docs: test/chart/go.mod test/chart/go.sum
	$(call cached,$^,test/chart,github.com/norwoodj/helm-docs/cmd/helm-docs,-ldflags "-s -w")

$(BIN)/helm-unittest: test/chart/go.mod test/chart/go.sum
	$(call cached,$^,test/chart,github.com/helm-unittest/helm-unittest/cmd/helm-unittest,-ldflags "-s -w")

$(BIN)/kubeconform: test/chart/go.mod test/chart/go.sum
	$(call cached,$^,test/chart,github.com/yannh/kubeconform/cmd/kubeconform,-ldflags "-s -w")

$(BIN)/chartgen: test/tools/go.mod test/tools/go.sum $(call gofiles,test/tools/chartgen)
	cd test/tools && $(GO) build -o ../../$@ ./chartgen

$(BIN)/crdtext: test/tools/go.mod test/tools/go.sum $(call gofiles,test/tools/crdtext)
	cd test/tools && $(GO) build -o ../../$@ ./crdtext

$(BIN)/docgen: test/tools/go.mod $(call gofiles,test/tools/docgen)
	cd test/tools && $(GO) build -o ../../$@ ./docgen

$(BIN)/enumgen: test/tools/go.mod $(call gofiles,test/tools/enumgen)
	cd test/tools && $(GO) build -o ../../$@ ./enumgen

$(BIN)/protogen: test/tools/go.mod $(call gofiles,test/tools/protogen test/tools/gotypes)
	cd test/tools && $(GO) build -o ../../$@ ./protogen

$(BIN)/webgen: test/tools/go.mod $(call gofiles,test/tools/webgen test/tools/gotypes)
	cd test/tools && $(GO) build -o ../../$@ ./webgen

$(BIN)/release: test/release/go.mod test/release/go.sum $(call gofiles,test/release)
	cd test/release && $(GO) build -o ../../$@ .

$(BIN)/site: test/site/go.mod test/site/go.sum $(call gofiles,test/site) $(wildcard test/site/assets/*)
	cd test/site && $(GO) build -o ../../$@ .

$(BIN)/testsum: test/tools/go.mod $(call gofiles,test/tools/testsum)
	cd test/tools && $(GO) build -o ../../$@ ./testsum

.PHONY: site
site: $(BIN)/site ## Make a website of docs in .site; fails where a link leads nowhere, or docs/README.md leaves out a page.
	$(BIN)/site -out $(SITE)

SITE_PORT ?= 8095

.PHONY: site-serve
site-serve: $(BIN)/site ## Show that website on this machine, at SITE_PORT, until Ctrl-C.
	exec $(BIN)/site -serve $(SITE_PORT)

# The platforms of the kubectl plugin, and the address below which its archives will be.
.PHONY: image
image: ## Build the images, without and with providers, for all platforms; needs docker with buildx.
	docker buildx build --platform $(PLATFORMS) --build-arg VERSION=$(VERSION) --build-arg COMMIT=$(COMMIT) \
		--tag $(IMAGE):$(VERSION) $(IMAGE_FLAGS) .
	docker buildx build --platform $(PLATFORMS) --build-arg VERSION=$(VERSION) --build-arg COMMIT=$(COMMIT) --build-arg COMMAND=orkestra-providers \
		--tag $(IMAGE)-providers:$(VERSION) $(IMAGE_FLAGS) .

##@ Release

# What images are built on: an image by digest, or a folder with an OCI layout. There is no default: who releases says which digest was looked at.
BASE  ?=
# The release before, with which this one is compared: the last tag before this commit, unless told.
SINCE ?= $(shell git describe --tags --abbrev=0 HEAD^ 2>/dev/null)
# Where the files of releases are, each in a folder with the name of its version: krew is told.
DOWNLOADS ?= https://github.com/orkspace/orkestra/releases/download
# Platforms of the archives, with commas between.
ARCHIVES ?= darwin/amd64,darwin/arm64,linux/amd64,linux/arm64,windows/amd64,windows/arm64

.PHONY: dist
dist: $(BIN)/release $(BIN)/helm $(BIN)/orkestra-cluster ## Write everything that a release has into dist/, from a clean checkout; needs VERSION=v1.2.3 and BASE=IMAGE@sha256:….
	$(BIN)/release build -version '$(VERSION)' -base '$(BASE)' -repository '$(patsubst %/,%,$(dir $(IMAGE)))' -since '$(SINCE)' -downloads '$(DOWNLOADS)' -images '$(PLATFORMS)' -archives '$(ARCHIVES)'

.PHONY: dist-push
dist-push: $(BIN)/release ## Push images, SBOMs and chart of dist/ to the registry of IMAGE.
	$(BIN)/release push -repository '$(patsubst %/,%,$(dir $(IMAGE)))'

.PHONY: dist-base
dist-base: $(BIN)/release ## Write a base image with the machine's certificates and Go's time zones into .reports/base, where distroless can't be fetched.
	@mkdir -p $(REPORTS); rm -rf $(REPORTS)/base
	$(BIN)/release base -out $(REPORTS)/base -images '$(PLATFORMS)'

.PHONY: changes
changes: $(BIN)/release ## Print what changed of the API, flags, metrics and reasons since SINCE.
	$(BIN)/release changes -from '$(SINCE)'
