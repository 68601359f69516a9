# Each target is one command; what it does is in the crate it names.

CARGO ?= cargo
KINGPOST = target/release/kingpost
CORPUS = ../shared/corpus
# How many cases `make fuzz` runs per target, and which target.
N ?= 100000
TARGET ?= all
SEED ?= 0

.PHONY: all build dist test gate gate-bless check unit filetests corpus compat demo deps tools bless matrix rules fuzz growth bench doc

all: build

build:
	$(CARGO) build --release --bin kingpost

# Release binaries in `target/dist`, optimised by a profile of the compiler at work on our own programs.
dist:
	@sh .ci/dist $(CARGO) $(or $(CARGO_TARGET_DIR),target)

# Everything CI runs.
test: tools check unit
	@$(MAKE) --no-print-directory filetests gate corpus compat
	@$(MAKE) --no-print-directory fuzz N=10000
	@$(MAKE) --no-print-directory demo
	@echo "make test: all passed: formatting, lints, unit tests, filetests, gate, corpus, compat, fuzz, demo; what was skipped is named above"

# Formatting, lints, and whether every crate could be published.
check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) clippy -p kingpost --no-default-features --features x64,linear -- -D warnings
	$(CARGO) package --workspace --no-verify --allow-dirty --quiet --offline

unit:
	$(CARGO) test --quiet --workspace

# Our own tests, with every allocator; those that run also under pressure for registers.
filetests: build
	$(KINGPOST) test --regalloc all filetests
	$(KINGPOST) test --regalloc all --set regalloc_registers=few filetests/run

# Tests that others wrote, where they are at hand.
corpus: build
	@if [ -d $(CORPUS) ]; then sh .ci/corpus $(KINGPOST) $(CORPUS) && sh .ci/rules $(KINGPOST) $(CORPUS); else echo "SKIPPED: corpus: no $(CORPUS)"; fi

# What compiling costs, counted in instructions and bytes, against the committed table. `gate-bless` writes the table.
GATE = target/release/kingpost-gate check crates/gate/table.txt
gate:
	@$(CARGO) build --release --bin kingpost-gate
	@$(GATE)

gate-bless:
	@$(CARGO) build --release --bin kingpost-gate
	@KINGPOST_BLESS=1 $(GATE)

# Clients of Cranelift on our compiler, where Cranelift can be fetched; CI always can.
compat:
	@sh .ci/compat $(CARGO)

# Real programs: compile for every target with every allocator, link, run, compare with system tools.
# Without the tools of the other machine, its rows are skipped by name: `cc` is enough.
demo:
	@$(CARGO) build --release --bin kingpost --bin kingpost-demo
	@target/release/kingpost-demo $(KINGPOST) demo-out

# System tools that tests need, those for the other machine among them. `tools` installs them where one is missing.
deps:
	apt-get update && apt-get install -y binutils gcc g++ libc6-dev coreutils \
		binutils-aarch64-linux-gnu gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user z3 cvc5 chromium gdb valgrind

tools:
	@sh .ci/tools || $(MAKE) deps

# Rewrites the expectations of our own tests. Read the diff as you would read code.
bless: build matrix
	KINGPOST_BLESS=1 $(KINGPOST) test --regalloc all filetests

# Proves the rules that are new or changed, and writes the optimiser's matcher from them.
RULES = rules/integers.rules rules/floats.rules rules/effects.rules
rules:
	KINGPOST_STALE_RULES=1 $(CARGO) build --bin kingpost
	target/debug/kingpost rules prove $(RULES)
	target/debug/kingpost rules generate $(RULES) -o crates/opt/src/rewrite/generated.rs

# Rewrites the lists of what is refused: filetests/matrix.
matrix:
	KINGPOST_BLESS=1 $(CARGO) test --package kingpost-filetest --test matrix --test settings

# Seeded random tests: make fuzz N=1000000 TARGET=linear SEED=7
fuzz:
	@$(CARGO) build --release --bin kingpost-fuzz
	@target/release/kingpost-fuzz $(TARGET) $(N) $(SEED)

# How the optimiser's work grows on functions that are hard on it, by instructions retired; needs valgrind.
growth: build
	$(CARGO) build --release --package kingpost-testgen --example worst_case
	@sh .ci/growth $(KINGPOST) target/release/examples/worst_case

# Compile time, code size, run time, memory and growth against published peers, as one page with plots: target/report/report.md.
# QUICK=1 takes few modules. FILES='compile a.clif' prints the compile time of files of yours, FILES='regalloc a.clif' the allocators
# on them; FILES=--help lists the rest.
bench:
	$(CARGO) build --release --manifest-path crates/bench/Cargo.toml
	$(CARGO) run --release --manifest-path crates/bench/Cargo.toml -- $(or $(FILES),report $(if $(QUICK),--quick))

doc:
	$(CARGO) doc --workspace --no-deps
