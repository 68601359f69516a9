//! The stages, in the order in which they run.

mod build;
mod compat;
mod corpus;
mod demo;
mod emulated;
mod filetests;
mod fuzz;
mod gate;
mod lifters;
mod lints;
mod rules;
mod sanitizers;
mod systems;
pub(crate) mod unit;
mod wasi;
mod wasmtime;

use crate::faults;
use crate::session::Session;
use crate::tier::Tier;
use anyhow::Result;

/// A named part of the tests.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) name: &'static str,
    /// Object of the tests, for messages.
    pub(crate) about: &'static str,
    /// The smallest tier that has it.
    pub(crate) first: Tier,
    /// Whether it ends before any other begins.
    pub(crate) is_alone: bool,
    pub(crate) run: fn(&mut Session) -> Result<()>,
}

const fn stage(name: &'static str, first: Tier, run: fn(&mut Session) -> Result<()>, about: &'static str) -> Stage {
    Stage { name, about, first, is_alone: false, run }
}

/// Returns the stage as one that ends before any other begins.
const fn alone(stage: Stage) -> Stage {
    Stage { is_alone: true, ..stage }
}

/// All stages, in the order in which they begin: first what fails soonest, then the longest.
pub(crate) const STAGES: &[Stage] = &[
    alone(stage("format", Tier::Quick, lints::format, "formatting")),
    alone(stage("build", Tier::Quick, build::run, "libraries, programs and tests, which the stages after it run")),
    stage("filetests", Tier::Quick, filetests::run, "our own tests with every register allocator"),
    stage("compat", Tier::Test, compat::run, "clients of Cranelift on our compiler"),
    stage("unit", Tier::Quick, unit::run, "tests of the crates"),
    stage("gate", Tier::Test, gate::run, "code and the cost of compiling it, against the committed table"),
    stage("lints", Tier::Test, lints::lints, "lints of all libraries, programs and tests"),
    stage("corpus", Tier::Test, corpus::run, "tests that others wrote"),
    stage("fuzz", Tier::Test, fuzz::run, "generated programs, problems and texts"),
    stage("demo", Tier::Test, demo::run, "programs compiled, linked, run and compared with system tools"),
    stage("docs", Tier::Test, unit::docs, "documentation and the examples in it"),
    stage("rules", Tier::Test, rules::run, "rewrite rules that others wrote, judged by solvers"),
    stage(
        "faults",
        Tier::Test,
        faults::check,
        "whether the planted faults still fit the sources; `make faults` plants them",
    ),
    stage("emulated", Tier::Deep, emulated::run, "code in memory on AArch64, by an emulator"),
    stage(
        "lifters",
        Tier::Deep,
        lifters::run,
        "the meanings of machine instructions, against those of Ghidra and Valgrind",
    ),
    stage(
        "systems",
        Tier::Deep,
        systems::run,
        "all crates, files and programs for other operating systems, and code in memory on Windows",
    ),
    stage("wasmtime", Tier::Deep, wasmtime::run, "programs of WebAssembly on Wasmtime with our compiler"),
    stage("wasmtime-aarch64", Tier::Deep, wasmtime::on_aarch64, "programs of WebAssembly on AArch64, by an emulator"),
    stage("wasmtime-newer", Tier::Deep, wasmtime::newer, "programs of WebAssembly on newer versions of Wasmtime"),
    stage("wasi", Tier::Deep, wasi::run, "programs for WASI with our compiler and with Rust's"),
    stage("wasmer", Tier::Deep, wasi::wasmer, "the official tests of WebAssembly on Wasmer with our compiler"),
    stage("sanitizers", Tier::Deep, sanitizers::run, "code in memory under Miri and sanitizers"),
    stage(
        "features",
        Tier::Deep,
        lints::features,
        "the library without targets, without allocators, and with one of each",
    ),
    stage(
        "packages",
        Tier::Deep,
        lints::packages,
        "whether every crate could be published, and builds from its package",
    ),
    stage("semver", Tier::Deep, lints::semver, "compatibility of the library with the last tag"),
];
