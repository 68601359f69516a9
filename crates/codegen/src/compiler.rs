//! The interface for callers: a compiler for one target and its settings, and a context per thread.

use crate::allocators::{ALLOCATORS, AllocatorFactory, DEFAULT, FUSED, allocator, allocator_name};
use crate::cache::Cache;
use crate::error::CompileError;
use crate::options::Options;
use crate::stages::Stats;
use crate::targets::{self, CpuFlags, TargetError, TargetIsa};
use kingpost_checker::Checker;
use kingpost_ir::Function;
use kingpost_ir::analyses::Analyses;
use kingpost_ir::signature::CallConv;
use kingpost_ir::types::{I64, Type};
use kingpost_ir::verifier::{TargetInfo, Verifier};
use kingpost_mach::settings::{OptLevel, SettingError, Settings, ValidateCode, ValidateFailure};
use kingpost_mach::{Code, CpuFeatures, EmitOptions, Emitter, Guard, Listing, LowerState};
use kingpost_meter::HeapBytes;
use kingpost_opt::Optimizer;
use kingpost_regalloc::{Allocation, Allocator, RegClass};
use kingpost_regalloc_fused::Fused;
use std::sync::{Arc, Mutex, PoisonError};
use target_lexicon::{Architecture, CallingConvention, Triple};

/// A compiler for one target and its settings. Threads share it; each thread has its own [`Context`].
///
/// ```
/// use kingpost_codegen::{Compiler, OptLevel, Settings};
/// use target_lexicon::triple;
///
/// // Code for every x86-64 processor with BMI2, optimized.
/// let settings = Settings::default().with(|settings| settings.opt_level = OptLevel::Speed);
/// let compiler = Compiler::new(&triple!("x86_64-unknown-linux-gnu"), settings, &["has_bmi2".into()]).unwrap();
/// assert_eq!(compiler.triple().to_string(), "x86_64-unknown-linux-gnu");
/// // A name that does not exist is an error that names it.
/// let settings = Settings::default().with(|settings| settings.regalloc_algorithm = "best".into());
/// assert!(Compiler::host(settings).is_err_and(|error| error.to_string().contains("`best`")));
/// ```
pub struct Compiler {
    isa: Box<dyn TargetIsa>,
    settings: Settings,
    triple: Triple,
    allocator: AllocatorFactory,
    /// Whether registers are allocated during instruction selection where possible.
    is_fused: bool,
    /// Whether the allocator is one of the caller's.
    has_own_allocator: bool,
    options: Options,
    /// Compiler of the code that replaces code without a proof, with the setting `validate_failure=recompile`.
    baseline: Option<Box<Compiler>>,
    /// Compiled functions that outlive the process.
    cache: Option<Cache>,
    /// Contexts of finished batches, for later batches.
    spare: Mutex<Vec<Context>>,
}

/// Memory of one compiling thread. A context serves function after function.
pub struct Context {
    pub(crate) stages: Box<dyn Memory>,
    /// Memory of the baseline compiler, if its code replaced the code of the last function.
    pub(crate) baseline: Option<Box<dyn Memory>>,
    pub(crate) stats: Stats,
}

/// [`StageMemory`] as a trait object. The code that frees it is compiled once, and not in every crate that owns a
/// [`Compiler`] or a [`Context`].
pub(crate) trait Memory: Send + Sync {
    fn get(&self) -> &StageMemory;
    fn get_mut(&mut self) -> &mut StageMemory;
}

impl Memory for StageMemory {
    fn get(&self) -> &StageMemory {
        self
    }

    fn get_mut(&mut self) -> &mut StageMemory {
        self
    }
}

/// Memory of the stages.
pub(crate) struct StageMemory {
    pub(crate) guard: Guard,
    pub(crate) verifier: Verifier,
    pub(crate) analyses: Analyses,
    pub(crate) optimizer: Optimizer,
    pub(crate) lowering: LowerState,
    pub(crate) fused: Fused,
    pub(crate) code: Code,
    pub(crate) allocator: OwnAllocator,
    pub(crate) allocation: Allocation,
    pub(crate) checker: Checker,
    pub(crate) emitter: Emitter,
    #[cfg(feature = "validate")]
    pub(crate) proofs: crate::proofs::Proofs,
}

/// The allocator of one context. The mutex is never locked. It makes contexts [`Sync`], because allocators need not
/// be.
pub(crate) struct OwnAllocator(Mutex<Box<dyn Allocator>>);

impl OwnAllocator {
    pub(crate) fn get_mut(&mut self) -> &mut dyn Allocator {
        &mut **self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Key of the setting that names the allocator.
const ALGORITHM: &str = "regalloc_algorithm";

/// Keys of settings that check or report what compilation does, and change no code.
const OBSERVING: [&str; 7] = [
    "regalloc_checker",
    "verify_each",
    "validate_code",
    "regalloc_verbose_logs",
    "enable_verifier",
    "debug_values",
    "machine_code_cfg_info",
];

/// Name of the allocator whose code replaces code without a proof.
pub(crate) const BASELINE: &str = "spill_all";

/// Returns the settings of the compiler whose code replaces code without a proof, if `settings` ask for it.
fn baseline_settings(settings: &Settings) -> Option<Settings> {
    if settings.validate_code == ValidateCode::Off || settings.validate_failure != ValidateFailure::Recompile {
        return None;
    }
    Some(settings.clone().with(|settings| {
        settings.validate_failure = ValidateFailure::Refuse;
        settings.regalloc_algorithm = BASELINE.into();
        settings.opt_level = OptLevel::None;
    }))
}

/// Functions with up to this many instructions keep their memory for reuse, whatever the options say.
const MAX_KEPT: usize = 1 << 17;

impl StageMemory {
    /// Returns the bytes of all memory of the stages, which is itself on the heap.
    fn heap_bytes(&mut self) -> u64 {
        let own = (size_of::<StageMemory>() + size_of_val(self.allocator.get_mut())) as u64;
        let StageMemory { verifier, analyses, optimizer, lowering, fused, code, allocation, checker, emitter, .. } =
            self;
        let before = verifier.heap_bytes() + analyses.heap_bytes() + optimizer.heap_bytes() + lowering.heap_bytes();
        let allocation = fused.heap_bytes() + allocation.heap_bytes() + self.allocator.get_mut().memory_bytes();
        own + before + code.heap_bytes() + allocation + checker.heap_bytes() + emitter.heap_bytes()
    }

    /// Counts the memory of the stages and of the function, which takes `input` bytes, if memory is limited.
    ///
    /// # Errors
    /// If it exceeds the limit.
    pub(crate) fn hold(&mut self, input: impl FnOnce() -> u64) -> Result<(), CompileError> {
        if !self.guard.meter.counts_bytes() {
            return Ok(());
        }
        let bytes = self.heap_bytes().saturating_add(input());
        Ok(self.guard.meter.hold(bytes)?)
    }

    /// Frees the memory of a large function that later stages do not read: its `Analyses`, and the function itself if
    /// [`Options::free_functions`] is set.
    pub(crate) fn release_input(&mut self, func: &mut Function, compiler: &Compiler) {
        if func.dfg.num_insts() <= MAX_KEPT || compiler.validates() {
            return;
        }
        self.analyses.release();
        if compiler.options.free_functions {
            self.lowering.release();
            func.release();
        }
    }
}

impl Compiler {
    /// Returns a compiler for `triple`. `flags` are names of flags and presets of its instruction set;
    /// [`Compiler::for_cpu`] takes typed flags. Without flags, the code runs on every processor of the architecture.
    ///
    /// # Errors
    /// If a target, setting, flag or allocator does not exist or is not supported.
    pub fn new(triple: &Triple, settings: Settings, flags: &[String]) -> Result<Compiler, TargetError> {
        Compiler::create(triple, settings, || targets::flags(triple, flags))
    }

    /// Returns a compiler for processors of `triple` with these features.
    ///
    /// ```
    /// # #[cfg(feature = "x64")] {
    /// use kingpost_codegen::{Compiler, CpuFlags, Settings, X64Flags};
    ///
    /// let flags = X64Flags { has_bmi2: true, ..X64Flags::default() };
    /// let triple = "x86_64-unknown-linux-gnu".parse().unwrap();
    /// let compiler = Compiler::for_cpu(&triple, Settings::default(), CpuFlags::X64(flags)).unwrap();
    /// # assert_eq!(compiler.triple(), &triple);
    /// # }
    /// ```
    ///
    /// # Errors
    /// If a target, setting or allocator does not exist or is not supported, or the features belong to another
    /// architecture.
    pub fn for_cpu(triple: &Triple, settings: Settings, flags: CpuFlags) -> Result<Compiler, TargetError> {
        Compiler::create(triple, settings, || Ok(flags))
    }

    fn create(
        triple: &Triple,
        mut settings: Settings,
        flags: impl FnOnce() -> Result<CpuFlags, TargetError>,
    ) -> Result<Compiler, TargetError> {
        settings.check()?;
        if settings.validate_code != ValidateCode::Off && !cfg!(feature = "validate") {
            let value = settings.validate_code.to_string();
            return Err(SettingError::Unsupported { key: "validate_code", value }.into());
        }
        if settings.verify_each {
            (settings.enable_verifier, settings.regalloc_checker) = (true, true);
        }
        if let (DEFAULT, Some((first, _))) = (settings.regalloc_algorithm.as_str(), ALLOCATORS.first()) {
            settings.regalloc_algorithm = first.to_string();
        }
        settings.regalloc_algorithm = allocator_name(&settings.regalloc_algorithm).to_string();
        let factory = allocator(&settings.regalloc_algorithm)
            .ok_or_else(|| TargetError::Allocator(settings.regalloc_algorithm.clone()))?;
        targets::adapt(&mut settings, triple)?;
        let flags = flags()?;
        let isa = targets::isa(triple, &settings, flags)?;
        let baseline = baseline_settings(&settings)
            .map(|settings| Compiler::for_cpu(triple, settings, flags).map(Box::new))
            .transpose()?;
        let is_fused = settings.regalloc_algorithm == FUSED;
        Ok(Compiler {
            isa,
            settings,
            triple: triple.clone(),
            allocator: factory,
            is_fused,
            has_own_allocator: false,
            options: Options::default(),
            baseline,
            cache: None,
            spare: Mutex::default(),
        })
    }

    /// Returns a compiler for every processor of this machine's architecture. Objects for other machines need it.
    ///
    /// ```
    /// use kingpost_codegen::{Compiler, Settings};
    ///
    /// let compiler = Compiler::baseline(Settings::default()).unwrap();
    /// assert!(compiler.settings().is_pic);
    /// ```
    ///
    /// # Errors
    /// See [`Compiler::new`].
    pub fn baseline(settings: Settings) -> Result<Compiler, TargetError> {
        Compiler::new(&Triple::host(), settings, &[])
    }

    /// Returns a compiler for the processor of this machine, with all its features. The code may fail on every other
    /// processor. It is meant for execution in this process; objects for other machines need [`Compiler::baseline`].
    ///
    /// # Errors
    /// See [`Compiler::new`].
    pub fn host(settings: Settings) -> Result<Compiler, TargetError> {
        match CpuFlags::host() {
            Some(flags) => Compiler::for_cpu(&Triple::host(), settings, flags),
            // The error says that there is no such target.
            None => Compiler::baseline(settings),
        }
    }

    /// Returns the compiler with a register allocator of the caller. The compiler uses no cache from then on, because a
    /// key does not tell such allocators apart.
    #[must_use]
    pub fn with_allocator(mut self, factory: AllocatorFactory) -> Compiler {
        self.cache = None;
        self.has_own_allocator = true;
        self.allocator = factory;
        self.is_fused = false;
        self.spare = Mutex::default();
        self
    }

    /// Returns the compiler with other options: observation, limits, cancellation.
    #[must_use]
    pub fn with_options(mut self, options: Options) -> Compiler {
        self.baseline = self.baseline.map(|baseline| Box::new(baseline.with_options(options.clone())));
        self.options = options;
        self.spare = Mutex::default();
        self
    }

    /// Returns one line that says how code is made: the version, the allocator, the CPU flags, and each setting that has
    /// another value than by default and may change code.
    ///
    /// ```
    /// use kingpost_codegen::{Compiler, Settings};
    ///
    /// let compiler = Compiler::baseline(Settings::default().with(|s| s.regalloc_checker = true)).unwrap();
    /// let line = compiler.description();
    /// assert!(line.starts_with("kingpost 0.1") && line.contains(" regalloc_algorithm=") && !line.contains("checker"));
    /// ```
    pub fn description(&self) -> String {
        let mut line = format!("kingpost {}", crate::VERSION);
        let values = self.settings.values().into_iter().zip(Settings::default().values());
        for (&(key, _), (value, default)) in Settings::KEYS.iter().zip(values) {
            let value = if key == ALGORITHM && self.has_own_allocator { "own".into() } else { value };
            if value != default && !OBSERVING.contains(&key) {
                line.extend([" ", key, "=", &value]);
            }
        }
        let known = CpuFlags::of(self.triple.architecture, &[]).map_or(&[][..], |flags| flags.known());
        let is_on = |name| self.isa.features().contains(CpuFeatures::of(name, known));
        let flags = known.iter().filter(|&&(name, _)| is_on(name));
        line.extend(flags.flat_map(|&(name, _)| [" ", name]));
        line
    }

    /// Returns the compiler with a cache of compiled functions. A hit gives the function that compilation would give,
    /// with all its tables. Options that observe stages, and [`Options::rules`], make compilation ignore the cache, as
    /// does an allocator of the caller.
    ///
    /// ```
    /// use kingpost_codegen::cache::{Cache, Directory};
    /// use kingpost_codegen::{Compiler, Settings};
    ///
    /// # let folder = std::env::temp_dir().join(format!("kingpost-doc-{}", std::process::id()));
    /// let store = Directory::open(&folder, 1 << 30).unwrap();
    /// let compiler = Compiler::baseline(Settings::default()).unwrap().with_cache(Cache::new(store));
    /// # std::fs::remove_dir_all(&folder).unwrap();
    /// ```
    #[must_use]
    pub fn with_cache(mut self, cache: Cache) -> Compiler {
        let facts = (&self.triple, self.isa.features(), &self.settings);
        self.cache = (!self.has_own_allocator).then(|| cache.of(facts));
        self
    }

    /// Returns the target's instruction set.
    pub fn isa(&self) -> &dyn TargetIsa {
        &*self.isa
    }

    /// Returns the shared settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the target triple.
    pub fn triple(&self) -> &Triple {
        &self.triple
    }

    /// Returns the C calling convention of the target.
    pub fn call_conv(&self) -> CallConv {
        match self.triple.default_calling_convention() {
            Ok(CallingConvention::WindowsFastcall) => CallConv::WindowsFastcall,
            Ok(CallingConvention::AppleAarch64) => CallConv::AppleAarch64,
            _ => CallConv::SystemV,
        }
    }

    /// Returns the type of addresses on the target.
    pub fn pointer_type(&self) -> Type {
        I64
    }

    /// Returns the options: observation, limits, cancellation.
    pub fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn replacement(&self) -> Option<&Compiler> {
        self.baseline.as_deref()
    }

    pub(crate) fn cache(&self) -> Option<&Cache> {
        self.cache.as_ref()
    }

    /// Returns a new allocator of the kind that contexts use.
    pub fn new_allocator(&self) -> Box<dyn Allocator> {
        (self.allocator)()
    }

    /// Returns `true` if registers are allocated during instruction selection where possible. An allocator runs only
    /// for functions where it is not.
    pub fn is_fused(&self) -> bool {
        self.is_fused
    }

    /// Returns `true` if anything except emission reads the machine code and the allocation. They must exist then
    /// even if emission does not need them. The emitted bytes do not depend on it.
    pub(crate) fn observes_code(&self) -> bool {
        let (settings, options) = (&self.settings, &self.options);
        settings.regalloc_checker
            || settings.regalloc_verbose_logs
            || settings.machine_code_cfg_info
            || settings.debug_values
            || options.count
            || options.list
            || options.dump.is_some()
            || options.stop_after.is_some()
    }

    /// Returns `true` if the emitted code is proved.
    pub(crate) fn validates(&self) -> bool {
        self.settings.validate_code != ValidateCode::Off
    }

    /// Returns the facts about the target that the verifier needs.
    pub fn target_info(&self) -> TargetInfo {
        TargetInfo::new(Some(self.pointer_type())).with(|target| {
            target.enable_pinned_reg = self.settings.enable_pinned_reg;
            target.preserve_frame_pointers = self.settings.preserve_frame_pointers;
        })
    }

    pub(crate) fn emit_options(&self) -> EmitOptions {
        // Processors fetch code in 16-byte units. Without optimization for speed, blocks are not padded.
        let fetch = if self.settings.opt_level == OptLevel::Speed { 16 } else { 1 };
        EmitOptions::default().with(|options| {
            options.block_padding = self.settings.block_padding();
            options.function_align = (1 << self.settings.log2_min_function_alignment).max(fetch);
            options.block_offsets = self.settings.machine_code_cfg_info;
            options.block_heads = self.validates();
            options.keep_frame_pointer = self.settings.preserve_frame_pointers;
        })
    }

    /// Returns a new context for one thread.
    pub fn context(&self) -> Context {
        Context { stages: self.stage_memory(), baseline: None, stats: Stats::default() }
    }

    pub(crate) fn stage_memory(&self) -> Box<dyn Memory> {
        let guard = self.options.guard();
        let meter = || Arc::clone(&guard.meter);
        Box::new(StageMemory {
            verifier: Verifier::default(),
            analyses: Analyses::default(),
            optimizer: Optimizer::limited(self.options.rules)
                .keeping_accesses(!self.settings.enable_alias_analysis)
                .preferring_size(self.settings.opt_level == OptLevel::SpeedAndSize)
                .for_registers(self.isa().env().class(RegClass::Int).allocatable().len())
                .for_addresses(matches!(self.triple.architecture, Architecture::Aarch64(_)))
                .metered_by(meter()),
            emitter: Emitter::with_guard(guard.clone()),
            lowering: LowerState::with_guard(guard.clone()),
            fused: Fused::default(),
            code: Code::default(),
            allocator: OwnAllocator(Mutex::new(self.new_allocator())),
            allocation: Allocation::default(),
            checker: Checker::new().metered_by(meter()),
            guard,
            #[cfg(feature = "validate")]
            proofs: crate::proofs::Proofs::default(),
        })
    }

    /// Prepares a context for the next function. If memory is limited, the context begins without memory, so that the
    /// bytes of a function do not depend on functions compiled earlier.
    pub(crate) fn begin(&self, cx: &mut Context) {
        cx.baseline = None;
        if cx.stages.get().guard.meter.counts_bytes() {
            cx.stages = self.stage_memory();
        }
    }

    /// Returns a context of a finished batch, or a new one.
    pub(crate) fn take_context(&self) -> Context {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.unwrap_or_else(|| self.context())
    }

    /// Takes back a context for later batches, and returns its counters.
    pub(crate) fn give_back(&self, mut cx: Context) -> Stats {
        let mut stats = std::mem::take(&mut cx.stats);
        stats.tiles = cx.stages.get_mut().lowering.take_tile_counts();
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(cx);
        stats
    }
}

impl Context {
    /// Returns the counters of everything compiled in this context.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Returns the memory of the stages that compiled the last function.
    pub(crate) fn last(&self) -> &StageMemory {
        self.baseline.as_ref().unwrap_or(&self.stages).get()
    }

    /// Returns the machine code of the last compiled function, before allocation.
    pub fn code(&self) -> &Code {
        &self.last().code
    }

    /// Returns the record of lowering for the last compiled function: the blocks and values that its machine code
    /// refers to.
    pub fn lowering(&self) -> &LowerState {
        &self.last().lowering
    }

    /// Returns the allocation of the last compiled function.
    pub fn allocation(&self) -> &Allocation {
        &self.last().allocation
    }

    /// Returns the emitted instructions of the last compiled function, if [`Options::list`] is set.
    pub fn listing(&self) -> &Listing {
        self.last().emitter.listing()
    }
}
