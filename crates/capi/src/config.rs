//! Configurations: target, settings and allocator by name.

use crate::entry::entries;
use crate::error::{Error, Failure, Status};
use crate::foreign::{Out, Text};
use crate::handles::{Handle, Object, Table};
use kingpost::Triple;
use kingpost::codegen::{
    AllocatorFactory, Compiler, CpuFlags, Limits, Options, SettingError, Settings, TARGETS, TargetError,
};
use kingpost::ir::near::near_suffix;
use std::str::FromStr;

/// Target, settings and allocator of modules.
pub struct Config {
    triple: Triple,
    settings: Settings,
    /// Flags of the instruction set.
    flags: Vec<String>,
    limits: Limits,
    /// Allocator of the caller.
    pub(crate) allocator: Option<AllocatorFactory>,
}

static CONFIGS: Table<Config> = Table::new();

impl Object for Config {
    const KIND: u8 = 1;
    const NAME: &'static str = "configuration";

    fn table() -> &'static Table<Config> {
        &CONFIGS
    }
}

impl Config {
    fn set_target(&mut self, name: &str) -> Result<(), Failure> {
        let (triple, flags) = match name {
            "host" => (Triple::host(), Vec::new()),
            "native" => (Triple::host(), CpuFlags::host().map(|flags| flags.words()).unwrap_or_default()),
            _ => (triple(name)?, Vec::new()),
        };
        // A target without an instruction set is an error of this call.
        Compiler::new(&triple, Settings::default(), &flags).map_err(|error| target_failure(&error))?;
        (self.triple, self.flags) = (triple, flags);
        Ok(())
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), Failure> {
        let mut settings = self.settings.clone();
        match settings.set(key, value) {
            Ok(()) => {}
            Err(SettingError::Unknown(_)) => return self.set_flag(key, value),
            Err(error) => return Err(target_failure(&error.into())),
        }
        Compiler::new(&self.triple, settings.clone(), &self.flags).map_err(|error| target_failure(&error))?;
        self.settings = settings;
        Ok(())
    }

    fn set_flag(&mut self, key: &str, value: &str) -> Result<(), Failure> {
        let mut flags = self.flags.clone();
        flags.push(format!("{key}={value}"));
        Compiler::new(&self.triple, self.settings.clone(), &flags).map_err(|error| {
            let known = Settings::KEYS.iter().map(|(key, _)| *key);
            let flags = CpuFlags::of(self.triple.architecture, &[]).map(|flags| flags.known()).unwrap_or_default();
            let near = near_suffix(key, known.chain(flags.iter().map(|(flag, _)| *flag)));
            Failure::new(Status::Name, format!("{error}{near}"))
        })?;
        self.flags = flags;
        Ok(())
    }

    fn set_limit(&mut self, name: &str, value: u64) -> Result<(), Failure> {
        if self.limits.set(name, value) {
            return Ok(());
        }
        let near = near_suffix(name, Limits::NAMES.iter().copied());
        Err(Failure::new(Status::Name, format!("there is no limit `{name}`{near}")))
    }

    /// Turns the checker of allocations on.
    pub(crate) fn check_allocations(&mut self) {
        self.settings.regalloc_checker = true;
    }

    /// Returns a compiler with this configuration.
    pub(crate) fn compiler(&self) -> Result<Compiler, Failure> {
        let compiler = Compiler::new(&self.triple, self.settings.clone(), &self.flags);
        let compiler = compiler.map_err(|error| target_failure(&error))?;
        let compiler = compiler.with_options(Options::default().with(|options| options.limits = self.limits));
        Ok(match &self.allocator {
            Some(factory) => compiler.with_allocator(factory.clone()),
            None => compiler,
        })
    }
}

/// Returns the triple with this name. An architecture alone means Linux.
fn triple(name: &str) -> Result<Triple, Failure> {
    let full = if name.contains('-') { name.to_string() } else { format!("{name}-unknown-linux-gnu") };
    Triple::from_str(&full).map_err(|error| {
        let architecture = name.split('-').next().unwrap_or(name);
        let near = near_suffix(architecture, TARGETS.iter().map(|(name, _)| *name));
        Failure::new(Status::Name, format!("target `{name}`: {error}{near}"))
    })
}

fn target_failure(error: &TargetError) -> Failure {
    Failure::new(Status::Name, error.to_string())
}

entries! {
    /// Creates a configuration: code for this machine's architecture that every one of its processors runs,
    /// position-independent, with the default settings and allocator.
    ///
    /// Ownership: the caller frees the configuration with `kp_config_free`. Modules copy what they need from it.
    fn kp_config_new(config: Out<'_, Handle<Config>>; error) {
        let config = config.required("config")?;
        let settings = Settings::default().with(|settings| settings.is_pic = true);
        let new = Config { triple: Triple::host(), settings, flags: Vec::new(), limits: Limits::default(), allocator: None };
        config.put(Handle::create(new)?);
        Ok(())
    }

    /// Sets the target: a triple such as `aarch64-unknown-linux-gnu`, an architecture alone, which means Linux,
    /// `host` for this machine's architecture, or `native` for this machine with all features of its processor.
    /// Removes the flags of the instruction set that were set before.
    fn kp_config_set_target(config: Handle<Config>, name: Text<'_>; error) {
        let name = name.required("name")?;
        config.with(|config| config.set_target(name))
    }

    /// Sets a setting, or a flag of the target's instruction set such as `has_bmi2`, to a value in text form. The
    /// command `kingpost compile --set help` lists them. Settings of interest:
    ///
    /// - `opt_level`: `none`, `speed` or `speed_and_size`;
    /// - `regalloc_algorithm`: the register allocator: `ssa`, `linear`, `backtracking` or `fused`;
    /// - `regalloc_checker`: `true` if the checker verifies each allocation before code is emitted;
    /// - `validate_code`: `terms` or `solver` if the emitted code of each function is proved to mean what the function
    ///   means; `solver` consults z3 where `terms` do not decide;
    /// - `validate_failure`: what happens to a function whose code is refuted or not proved: `refuse` is the error
    ///   `KP_ERROR_UNPROVED`, `recompile` replaces the code by proved code of another allocator, `report` keeps it;
    /// - `is_pic`, `unwind_info`, `preserve_frame_pointers`, `debug_values`.
    fn kp_config_set(config: Handle<Config>, key: Text<'_>, value: Text<'_>; error) {
        let (key, value) = (key.required("key")?, value.required("value")?);
        config.with(|config| config.set(key, value))
    }

    /// Sets a limit of each function; exceeding it is an error with the status `KP_ERROR_LIMIT`. The limits:
    ///
    /// - `work`: work units of all stages; one is about one instruction that one stage examines. Equal functions and
    ///   settings take equal work on every machine;
    /// - `bytes`: bytes of memory that compilation takes, without the emitted code;
    /// - `instructions`, `vregs`, `frame_bytes`, `code_bytes`: instructions before and after selection, virtual
    ///   registers, bytes of the frame, and bytes of code.
    fn kp_config_set_limit(config: Handle<Config>, name: Text<'_>, value: u64; error) {
        let name = name.required("name")?;
        config.with(|config| config.set_limit(name, value))
    }

    /// Frees a configuration.
    fn kp_config_free(config: Handle<Config>; error) {
        config.take().map(drop)
    }
}
