//! The tests on Wasmtime.

use crate::Cranelift;
use wasmtime::error::Context;
use wasmtime::{Collector, Config, Engine, OptLevel, Result, Store, format_err};
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

/// Runs all files with the settings of these names, or with all settings.
///
/// # Errors
/// As [`run_all`](crate::run_all), or if there are no settings of a name.
pub fn run_all(names: &[&str], cranelift: &Cranelift) -> Result<()> {
    let all: Vec<&str> = VARIANTS.iter().map(|&(name, _)| name).collect();
    names.iter().try_for_each(|name| variant(name).map(drop))?;
    Ok(crate::run_all(if names.is_empty() { &all } else { names }, cranelift)?)
}

/// Runs one file in this process.
///
/// # Errors
/// If there is no such file or variant, or the file fails.
pub fn run_file(name: &str, parent: &str, file: &str) -> Result<()> {
    let text = crate::file(parent, file)?;
    let mut config = config();
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
    context.run_wast(file, text.as_bytes()).map_err(|error| format_err!("{parent}/{file}: {error:?}"))
}

/// Returns Wasmtime's default settings, with compilation on one thread: files run in parallel, and the selection of a compiler and
/// measurements are per thread.
#[must_use]
pub fn config() -> Config {
    let mut config = Config::new();
    config.parallel_compilation(false);
    config
}

/// Enables all proposals that this release of Wasmtime has.
pub fn with_proposals(config: &mut Config) {
    config.wasm_function_references(true).wasm_gc(true).wasm_exceptions(true).wasm_tail_call(true);
    config.wasm_memory64(true).wasm_multi_memory(true).wasm_custom_page_sizes(true).wasm_wide_arithmetic(true);
    config.wasm_threads(true).wasm_relaxed_simd(true).wasm_extended_const(true).shared_memory(true);
}

fn variant(name: &str) -> Result<Variant> {
    let found = VARIANTS.iter().find(|(found, _)| *found == name);
    found.copied().with_context(|| format!("there are no settings `{name}`"))
}
