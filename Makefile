# Each target is one command; what it does is in the crate it names.

CARGO ?= cargo
# Where Cargo builds; the paths of programs below need it.
TARGET_DIR = $(or $(CARGO_TARGET_DIR),target)
KINGPOST = "$(TARGET_DIR)/release/kingpost"
# How many cases `make fuzz` runs per target, and which target.
N ?= 100000
TARGET ?= all
SEED ?= 0

.PHONY: all build dist quick test test-deep check unit filetests corpus compat wasmtime prepare demo faults gate gate-bless deps tools bless matrix ledger \
	rules fuzz growth bench doc install

all: build

build:
	$(CARGO) build --release --bin kingpost

# Release binaries in `target/dist`, optimised by a profile of the compiler at work on our own programs.
dist:
	@sh .ci/dist $(CARGO) "$(TARGET_DIR)"

# Tests by tier: `quick` before a commit, `test` in CI, `test-deep` everything. STAGES='unit gate' runs these stages alone.
CI_RUNNER = $(CARGO) run --quiet --package kingpost-ci --
quick:
	@$(CI_RUNNER) quick $(STAGES)

test:
	@$(CI_RUNNER) test $(STAGES)

test-deep:
	@$(CI_RUNNER) deep $(STAGES)

# The stages that one runs most, alone.
check:
	@$(CI_RUNNER) test format lints

unit:
	@$(CI_RUNNER) test unit

filetests:
	@$(CI_RUNNER) test filetests

corpus:
	@$(CI_RUNNER) test corpus rules

compat:
	@$(CI_RUNNER) test compat

wasmtime:
	@$(CI_RUNNER) deep wasmtime wasmtime-aarch64 wasmtime-newer wasi wasmer

# Makes the copy of Cranelift's code generator that `cranelift-compat` and `crates/bench` build on.
prepare:
	@$(CARGO) run --quiet --manifest-path cranelift-compat/prepare/Cargo.toml -- prepare

demo:
	@$(CI_RUNNER) test demo

# Plants faults into a copy of the project, and says which tier finds each: FAULTS='NAME...', `--list` for the names.
faults:
	@$(CI_RUNNER) faults $(FAULTS)

# What compiling costs, counted in instructions and bytes, against the committed table. `gate-bless` writes the table.
GATE = "$(TARGET_DIR)/release/kingpost-gate" check crates/gate/table.txt
gate:
	@$(CARGO) build --release --bin kingpost-gate
	@$(GATE)

gate-bless:
	@$(CARGO) build --release --bin kingpost-gate
	@KINGPOST_BLESS=1 $(GATE)

# System tools that tests need, those for the other machine among them; as root. `tools` says which are missing.
deps:
	apt-get update && apt-get install -y binutils gcc g++ libc6-dev coreutils \
		binutils-aarch64-linux-gnu gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user z3 cvc5 chromium gdb lldb valgrind pkg-config \
		gcc-mingw-w64-x86-64 g++-mingw-w64-x86-64 wine wine64 lld llvm clang wasi-libc python3 python3-pip redis-server
	python3 -m pip install --break-system-packages -r crates/machine-semantics/lifters/requirements.txt

tools:
	@$(CI_RUNNER) tools

# Rewrites the expectations of our own tests, the C header, and what the book shows. Read the diff as you would read code.
bless: build matrix
	KINGPOST_BLESS=1 $(KINGPOST) test --regalloc all filetests
	KINGPOST_EVERY=1 KINGPOST_BLESS=1 $(CARGO) test --package kingpost-cli --test all book::
	KINGPOST_BLESS=1 $(CARGO) test --package kingpost-capi --test all header::

# Proves the rules that are new or changed, and writes the optimiser's matcher from them.
RULES = rules/integers.rules rules/floats.rules rules/effects.rules
rules:
	KINGPOST_STALE_RULES=1 $(CARGO) build --bin kingpost
	"$(TARGET_DIR)/debug/kingpost" rules prove $(RULES)
	"$(TARGET_DIR)/debug/kingpost" rules generate $(RULES:%=crates/opt/%) -o crates/opt/src/rewrite/generated.rs

# Rewrites the lists of what is refused: filetests/matrix.
matrix:
	KINGPOST_BLESS=1 $(CARGO) test --package kingpost-filetest --test all -- matrix:: settings::

# Proves the code of small functions around each opcode, and writes crates/validate/ledger.tsv; see docs/proofs.md.
ledger:
	KINGPOST_EVERY=1 KINGPOST_BLESS=1 $(CARGO) test --package kingpost-validate --test all matrix::

# Seeded random tests: make fuzz N=1000000 TARGET=linear SEED=7
fuzz:
	@$(CARGO) build --release --bin kingpost-fuzz
	@"$(TARGET_DIR)/release/kingpost-fuzz" $(TARGET) $(N) $(SEED)

# How the optimiser's work grows on functions that are hard on it, by instructions retired; needs valgrind.
growth: build
	$(CARGO) build --release --package kingpost-testgen --example worst_case
	@sh .ci/growth $(KINGPOST) "$(TARGET_DIR)/release/examples/worst_case"

# Compile time, code size, run time, memory and growth against published peers, as one page with plots: target/report/report.md.
# QUICK=1 takes few modules. FILES='compile a.clif' prints the compile time of files of yours, FILES='regalloc a.clif' the allocators
# on them; FILES=--help lists the rest.
bench: prepare
	$(CARGO) build --release --manifest-path crates/bench/Cargo.toml
	$(CARGO) run --release --manifest-path crates/bench/Cargo.toml -- $(or $(FILES),report $(if $(QUICK),--quick))

doc:
	$(CARGO) doc --workspace --no-deps
	@echo "the first page is $(TARGET_DIR)/doc/kingpost/index.html"

# The C interface, below PREFIX: header, static and shared library, and the file for pkg-config.
PREFIX = /usr/local
install:
	$(CARGO) build --release --package kingpost-capi
	@sh crates/capi/install.sh "$(TARGET_DIR)/release/libkingpost_capi.a" "$(PREFIX)"
