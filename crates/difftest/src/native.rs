//! Compiles, loads and calls, in a process that may die.

use crate::stub::{self, NOTE, PRESERVED, RECORD_HEAD};
use crate::tables;
use kingpost_codegen::OptLevel;
use kingpost_codegen::module::{Inliner, default_libcall_name};
use kingpost_codegen::{ALLOCATORS, CompileError, Compiler, Context, CpuFlags, Settings};
use kingpost_filetest::native::throw::{self, Throw};
use kingpost_interpreter::DataValue;
use kingpost_ir::builder::{ControlBuilder, InstBuilder};
use kingpost_ir::cursor::Cursor;
use kingpost_ir::extfunc::{ExtFuncData, ExternalName, FuncName};
use kingpost_ir::libcall::LibCall;
use kingpost_ir::signature::{AbiParam, CallConv, Signature};
use kingpost_ir::types::I64;
use kingpost_ir::{Function, MemFlags, Opcode, TrapCode, Value};
use kingpost_isolate::{self as isolate, Ending, IsolateError, IsolatedCall, SharedMemory};
use kingpost_jit::{Image, LoadError, library_address};
use kingpost_mach::{ModuleBuffer, SymbolName};
use std::fmt;
use std::str::FromStr;
use target_lexicon::{Architecture, Triple};

/// Bytes from one value of a record to the next.
const VALUE_BYTES: usize = 8;
/// Byte that fills the place above a narrower argument.
const GARBAGE: u8 = 0xa5;
/// Time limit for all calls of a run together, in seconds.
const SECONDS: u32 = 20;
const SHARED_BYTES: usize = 1 << 18;

/// A compiler under test: an allocator, an optimization level and the CPU's flags.
pub(crate) struct Lane {
    pub(crate) allocator: &'static str,
    pub(crate) opt_level: OptLevel,
    /// Architecture for which it compiles.
    pub(crate) architecture: Architecture,
    /// Words of a `target` line.
    pub(crate) flags: Vec<String>,
    plain: (Compiler, Context),
    /// A compiler with frame pointers in all functions.
    framed: (Compiler, Context),
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}, {}", self.architecture, self.allocator, self.opt_level)?;
        self.flags.iter().try_for_each(|flag| write!(f, " {flag}"))
    }
}

/// Ending of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Returned(Vec<DataValue>),
    Trapped(TrapCode),
    /// An ending that no call may have.
    Wrong(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Returned(values) => write!(f, "returned {}", display(values)),
            Outcome::Trapped(code) => write!(f, "trapped with {code}"),
            Outcome::Wrong(text) => f.write_str(text),
        }
    }
}

/// Returns values in the form of directives.
pub(crate) fn display(values: &[DataValue]) -> String {
    match values {
        [value] => value.to_string(),
        _ => format!("[{}]", values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// Returns the triple for which tests compile.
pub(crate) fn triple() -> Triple {
    Triple::from_str("x86_64-unknown-linux-gnu").expect("a known triple")
}

/// Returns `true` if this machine can run the code.
pub(crate) fn runs_here() -> bool {
    cfg!(all(target_os = "linux", target_arch = "x86_64"))
}

/// Returns the settings under test.
pub(crate) fn settings(allocator: &str) -> Settings {
    Settings::default().with(|settings| {
        settings.is_pic = false;
        settings.verify_each = true;
        settings.enable_multi_ret_implicit_sret = true;
        settings.enable_llvm_abi_extensions = true;
        settings.unwind_info = false;
        settings.regalloc_algorithm = allocator.into();
    })
}

/// Processor for which x86-64 code is compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cpu {
    /// Any processor.
    Any,
    /// A processor with SSE4.1, if this machine's has it.
    Sse41,
    /// The processor of this machine.
    Host,
}

impl Cpu {
    /// All processors, which tests use in turns.
    pub(crate) const ALL: [Cpu; 3] = [Cpu::Any, Cpu::Sse41, Cpu::Host];

    /// Returns the words of a `target` line.
    pub(crate) fn words(self) -> Vec<String> {
        let host = CpuFlags::host().map_or_else(Vec::new, |cpu| cpu.words());
        match self {
            Cpu::Host => host,
            Cpu::Sse41 if host.iter().any(|word| word == "has_sse41") => vec!["sse41".into()],
            Cpu::Any | Cpu::Sse41 => Vec::new(),
        }
    }
}

impl Lane {
    /// Returns a compiler for `allocator`.
    pub(crate) fn new(allocator: &'static str, cpu: Cpu) -> Lane {
        Lane::for_target(&triple(), allocator, OptLevel::None, cpu.words())
    }

    /// Returns a compiler for `allocator` and a processor of some machine.
    pub(crate) fn for_target(
        triple: &Triple,
        allocator: &'static str,
        opt_level: OptLevel,
        flags: Vec<String>,
    ) -> Lane {
        Lane::with_settings(
            triple,
            allocator,
            settings(allocator).with(|settings| settings.opt_level = opt_level),
            flags,
        )
    }

    /// Returns a compiler for `allocator`, which the settings also name.
    pub(crate) fn with_settings(
        triple: &Triple,
        allocator: &'static str,
        settings: Settings,
        flags: Vec<String>,
    ) -> Lane {
        let compiler = |preserve_frame_pointers| {
            let settings = settings.clone().with(|settings| settings.preserve_frame_pointers = preserve_frame_pointers);
            let compiler = Compiler::new(triple, settings, &flags).expect("settings of the table");
            let cx = compiler.context();
            (compiler, cx)
        };
        let (plain, framed) = (compiler(false), compiler(true));
        Lane { allocator, opt_level: settings.opt_level, architecture: triple.architecture, flags, plain, framed }
    }

    /// Returns the compiler with another allocator.
    #[cfg(test)]
    pub(crate) fn with_allocator(self, factory: &kingpost_codegen::AllocatorFactory) -> Lane {
        let change = |(compiler, _): (Compiler, Context)| {
            let compiler = compiler.with_allocator(factory.clone());
            let cx = compiler.context();
            (compiler, cx)
        };
        Lane { plain: change(self.plain), framed: change(self.framed), ..self }
    }

    /// Returns a compiler for every allocator.
    pub(crate) fn all(cpu: Cpu) -> Vec<Lane> {
        ALLOCATORS.iter().map(|&(name, _)| Lane::new(name, cpu)).collect()
    }

    /// Returns a compiler for every allocator at every optimization level, for some machine.
    pub(crate) fn at_all_levels(triple: &Triple, flags: &[String]) -> Vec<Lane> {
        let lanes =
            ALLOCATORS.iter().flat_map(|&(name, _)| [OptLevel::None, OptLevel::Speed].map(|level| (name, level)));
        lanes.map(|(name, level)| Lane::for_target(triple, name, level, flags.to_vec())).collect()
    }

    pub(crate) fn compiler(&self) -> &Compiler {
        &self.plain.0
    }

    /// Compiles functions into one module, and checks its tables.
    pub(crate) fn compile(&mut self, functions: &[Function]) -> Result<ModuleBuffer, NotLoaded> {
        self.compile_each(functions, |_| Ok(()))
    }

    /// Compiles functions into one module, checks its tables, and calls `judge` after each function.
    pub(crate) fn compile_each(
        &mut self,
        functions: &[Function],
        mut judge: impl FnMut(&Compiled<'_>) -> Result<(), NotLoaded>,
    ) -> Result<ModuleBuffer, NotLoaded> {
        let mut module = ModuleBuffer::default();
        let (compiler, cx) = if needs_frame_pointers(functions) { &mut self.framed } else { &mut self.plain };
        let mut inlined = functions.to_vec();
        Inliner::default().run(compiler, &mut inlined);
        for (function, mut changed) in functions.iter().zip(inlined) {
            let compiled = compiler.compile(cx, &mut changed, &mut module);
            compiled.map_err(|error| NotLoaded::Compile(function.name.to_string(), error))?;
            // Optimized code need not have all original calls.
            let compiled = if self.opt_level == OptLevel::None { function } else { &changed };
            let tables = tables::check(compiled, &module.function(module.len() - 1));
            tables.map_err(|what| NotLoaded::Tables(function.name.to_string(), what))?;
            judge(&Compiled { compiler, cx, func: &changed, module: &module })?;
        }
        Ok(module)
    }
}

/// A function after its compilation, the last one of a module.
pub(crate) struct Compiled<'a> {
    pub(crate) compiler: &'a Compiler,
    pub(crate) cx: &'a Context,
    /// The function as lowering read it.
    pub(crate) func: &'a Function,
    pub(crate) module: &'a ModuleBuffer,
}

/// Returns `true` if one of these functions searches for its callers, so that all need frame pointers.
pub(crate) fn needs_frame_pointers(functions: &[Function]) -> bool {
    let looks = |f: &Function| {
        let mut insts = f.layout.blocks().flat_map(|block| f.layout.block_insts(block));
        insts.any(|inst| f.dfg.opcode(inst) == Opcode::GetFramePointer)
    };
    functions.iter().any(looks)
}

/// Returns a file for `kingpost test` that compiles these functions, callees first, with lines of settings.
pub(crate) fn compile_test(functions: &[Function], settings: &str, architecture: Architecture) -> String {
    let frames = if needs_frame_pointers(functions) { "set preserve_frame_pointers\n" } else { "" };
    let signatures = "set enable_multi_ret_implicit_sret\nset enable_llvm_abi_extensions\n";
    let mut text = format!("test compile\n{signatures}{frames}{settings}target {architecture}\n");
    functions.iter().rev().for_each(|function| text += &format!("\n{function}"));
    text
}

/// A module in memory, with entries that take their arguments from a record.
pub(crate) struct Loaded {
    image: Image,
    throw: Throw,
    /// Address and signature of the function that each entry calls.
    entries: Vec<(usize, Signature)>,
}

/// Compiles `functions` and entries for the first `entries` of them.
pub(crate) fn load(lane: &mut Lane, functions: &[Function], entries: usize) -> Result<Loaded, NotLoaded> {
    let mut module = lane.compile(functions)?;
    let callees = &functions[..entries];
    let stubs: Vec<Function> = callees.iter().enumerate().map(|(n, callee)| entry(n, callee)).collect();
    module.append(&lane.compile(&stubs)?);
    let mut throw = Throw::new(&module, lane.architecture).map_err(NotLoaded::Throw)?;
    let mut resolve = |name: &SymbolName| match name {
        SymbolName::Named(word) if **word == *throw::NAME => throw.address(),
        _ => library(name),
    };
    let image = Image::load(&module, &[], &mut resolve).map_err(NotLoaded::Load)?;
    throw.fill(&image);
    let address = |n| image.address(&SymbolName::named(&entry_name(n))).expect("it was just compiled");
    let entries = callees.iter().enumerate().map(|(n, callee)| (address(n), callee.signature.clone())).collect();
    Ok(Loaded { image, throw, entries })
}

fn entry_name(number: usize) -> String {
    format!("entry_of_the_test_{number}")
}

/// Reason why there is no function to call.
#[derive(Debug)]
pub(crate) enum NotLoaded {
    Compile(String, CompileError),
    /// The tables of a function are wrong.
    Tables(String, String),
    /// The code of a function has no proof.
    Proof(String, String),
    Load(LoadError),
    Throw(String),
}

impl fmt::Display for NotLoaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotLoaded::Compile(name, error) => write!(f, "{name}: {error}"),
            NotLoaded::Tables(name, what) => write!(f, "{name}: wrong tables: {what}"),
            NotLoaded::Proof(name, what) => write!(f, "{name}: {what}"),
            NotLoaded::Load(error) => write!(f, "{error}"),
            NotLoaded::Throw(error) => f.write_str(error),
        }
    }
}

/// Returns the address of a library routine with the C convention.
fn library(name: &SymbolName) -> Option<usize> {
    extern "C" fn fma(x: f64, y: f64, z: f64) -> f64 {
        x.mul_add(y, z)
    }
    extern "C" fn fmaf(x: f32, y: f32, z: f32) -> f32 {
        x.mul_add(y, z)
    }
    macro_rules! rounding {
        ($($name:ident $ty:ident $method:ident;)*) => { $(extern "C" fn $name(x: $ty) -> $ty { x.$method() })* };
    }
    rounding! {
        ceil f64 ceil; ceilf f32 ceil; floor f64 floor; floorf f32 floor;
        trunc f64 trunc; truncf f32 trunc; nearest f64 round_ties_even; nearestf f32 round_ties_even;
    }
    let SymbolName::LibCall(libcall) = name else { return None };
    let address = match libcall {
        LibCall::CeilF64 => ceil as *const (),
        LibCall::CeilF32 => ceilf as *const (),
        LibCall::FloorF64 => floor as *const (),
        LibCall::FloorF32 => floorf as *const (),
        LibCall::TruncF64 => trunc as *const (),
        LibCall::TruncF32 => truncf as *const (),
        LibCall::NearestF64 => nearest as *const (),
        LibCall::NearestF32 => nearestf as *const (),
        LibCall::FmaF64 => fma as *const (),
        LibCall::FmaF32 => fmaf as *const (),
        _ => return library_address(default_libcall_name(*libcall, &triple())),
    };
    Some(address as usize)
}

/// Returns a function that takes the address of values, calls `callee` with them, and replaces them by the results.
/// Narrow integers are truncated from whole words, so that the callee gets them with undefined bits above.
fn entry(number: usize, callee: &Function) -> Function {
    let mut signature = Signature::new(CallConv::SystemV);
    signature.params.push(AbiParam::new(I64));
    let mut func = Function::new(FuncName::Named(entry_name(number)), signature);
    let signature = func.dfg.signatures.push(callee.signature.clone());
    let name = match &callee.name {
        FuncName::Named(name) => ExternalName::Named(name.as_str().into()),
        &FuncName::User(namespace, index) => ExternalName::User(func.user_names.push((namespace, index))),
    };
    let callee_ref = func.dfg.ext_funcs.push(ExtFuncData { name, signature, colocated: false, patchable: false });
    let mut cursor = Cursor::new(&mut func);
    let block = cursor.new_block();
    let record = cursor.func.dfg.append_block_param(block, I64);
    let flags = MemFlags::trusted();
    let mut args: Vec<Value> = Vec::new();
    for (n, param) in callee.signature.params.iter().enumerate() {
        let (ty, offset) = (param.value_type, (n * VALUE_BYTES) as i32);
        args.push(if ty.is_int() && ty != I64 {
            let word = cursor.ins().load(I64, flags, record, offset);
            cursor.ins().ireduce(ty, word)
        } else {
            cursor.ins().load(ty, flags, record, offset)
        });
    }
    let call = cursor.ins().call(callee_ref, &args);
    let results = cursor.func.dfg.inst_results(call).to_vec();
    for (n, &result) in results.iter().enumerate() {
        cursor.ins().store(flags, result, record, (n * VALUE_BYTES) as i32);
    }
    cursor.ins().return_(&[]);
    func
}

/// Requirements of calls: memory shared with the children, and the stub.
pub(crate) struct Caller {
    shared: SharedMemory,
    stub_image: Image,
    stub: usize,
}

impl Caller {
    pub(crate) fn new(lane: &Lane) -> Result<Caller, String> {
        let shared = SharedMemory::new(SHARED_BYTES).map_err(|error| error.to_string())?;
        let (stub_image, stub) = stub::load(lane.compiler(), shared.address()).map_err(|error| error.to_string())?;
        Ok(Caller { shared, stub_image, stub })
    }

    /// Makes all calls in order and returns their endings. `more` is the memory that the functions access besides
    /// their own stack.
    pub(crate) fn call(
        &mut self,
        requests: &[Request],
        more: &mut [&mut SharedMemory],
    ) -> Result<Vec<Outcome>, IsolateError> {
        let mut calls = Vec::new();
        let mut records = Vec::new();
        let mut end = stub::CONTROL;
        for request in requests {
            let (function, signature) = &request.module.entries[request.entry];
            let values = signature.params.len().max(signature.returns.len());
            let range = end..end + RECORD_HEAD + VALUE_BYTES * values;
            end = range.end;
            let record = &mut self.shared.bytes_mut()[range.clone()];
            record.fill(0);
            record[..8].copy_from_slice(&(*function as u64).to_le_bytes());
            let params = signature.params.iter().zip(&request.input);
            for (place, (param, value)) in record[RECORD_HEAD..].chunks_exact_mut(VALUE_BYTES).zip(params) {
                let bytes = param.value_type.bytes() as usize;
                place.fill(GARBAGE);
                place[..bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
            }
            calls.push(IsolatedCall { function: self.stub, argument: self.shared.address() + range.start });
            records.push(range);
        }
        let mut images: Vec<&Image> =
            requests.iter().flat_map(|request| [&request.module.image, request.module.throw.image()]).collect();
        images.push(&self.stub_image);
        let mut memory: Vec<&mut SharedMemory> = more.iter_mut().map(|memory| &mut **memory).collect();
        memory.push(&mut self.shared);
        let endings = isolate::run(&images, &calls, &mut memory, SECONDS)?;
        let ended = requests.iter().zip(endings).zip(records);
        Ok(ended.map(|((request, ending), record)| outcome(request, ending, &self.shared.bytes()[record])).collect())
    }
}

/// A call of an entry.
pub(crate) struct Request<'a> {
    pub(crate) module: &'a Loaded,
    pub(crate) entry: usize,
    /// The bits of the arguments.
    pub(crate) input: Vec<u64>,
}

fn outcome(request: &Request, ending: Ending, record: &[u8]) -> Outcome {
    let wrong = |text: String| Outcome::Wrong(text);
    let image = &request.module.image;
    match ending {
        Ending::Returned => {}
        Ending::Fault { pc, signal, address, .. } => {
            return match image.trap_at(pc) {
                Some(code) => Outcome::Trapped(code),
                None => {
                    let place = image.function_at(pc).map(|(name, at)| format!("{name}+{at:#x}"));
                    let place = place.unwrap_or_else(|| format!("{pc:#x}"));
                    wrong(format!("signal {signal} at {place}, address {address:#x}, where no trap is known"))
                }
            };
        }
        Ending::Late | Ending::NotRun => {
            return wrong(format!("the calls did not return within {SECONDS} s of CPU time"));
        }
        Ending::Died { status } => return wrong(format!("the process died, status {status:#x}")),
    }
    let note = u64::from_le_bytes(record[NOTE..NOTE + 8].try_into().expect("eight bytes"));
    if let Some(register) = note.checked_sub(1) {
        return wrong(format!("did not preserve {}", PRESERVED.get(register as usize).unwrap_or(&"a register")));
    }
    let returns = request.module.entries[request.entry].1.returns.iter();
    let values = returns.zip(record[RECORD_HEAD..].chunks_exact(VALUE_BYTES)).map(|(result, place)| {
        let bits = u64::from_le_bytes(place.try_into().expect("eight bytes"));
        DataValue::new(result.value_type, bits.into())
    });
    Outcome::Returned(values.collect())
}
