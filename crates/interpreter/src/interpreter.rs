//! The machine: an explicit stack of frames with their values, memory, and fuel.

use kingpost_ir::{Block, BlockCall, Function, Inst, InstView, Opcode, TrapCode, Type, Value};

use crate::environment::{Callable, Environment, FunctionId};
use crate::error::Stop;
use crate::memory::Memory;
use crate::value::mask;

/// Number of bytes that are filled or copied for the price of one instruction.
const BYTES_PER_FUEL: u64 = 64;

/// Limits of a call.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum number of executed instructions. Beyond it, the call stops with [`Stop::Fuel`]. An instruction that
    /// processes many bytes or values counts as several.
    pub fuel: u64,
    /// Maximum number of active calls. Beyond it, a call traps with `stk_ovf`.
    pub frames: usize,
    /// Maximum size of the stack slots of all active frames, in bytes. Beyond it, a call traps with `stk_ovf`.
    pub stack_bytes: u64,
    /// Maximum number of values of all active frames. Beyond it, a call traps with `stk_ovf`.
    pub values: usize,
}

impl Limits {
    /// Returns the limits after `change`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Limits)) -> Limits {
        change(&mut self);
        self
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { fuel: 100_000_000, frames: 1 << 16, stack_bytes: 1 << 26, values: 1 << 24 }
    }
}

/// An active call.
#[derive(Debug)]
struct Frame<'a> {
    callable: &'a Callable<'a>,
    /// Index of the function's first value among the values of the machine.
    base: usize,
    /// Offset of the first stack slot, in the stack's region.
    offset: u64,
    /// Size of the memory in use below this frame, in bytes.
    memory_below: u64,
    /// The instruction that is executed now; in all frames but the last, a call.
    inst: Option<Inst>,
}

/// Runs functions of an environment.
#[derive(Debug)]
pub struct Interpreter<'a> {
    pub(crate) environment: &'a Environment<'a>,
    limits: Limits,
    fuel: u64,
    frames: Vec<Frame<'a>>,
    /// The values of all active frames, by frame and value number.
    values: Vec<u128>,
    pub(crate) memory: Memory,
    pub(crate) pinned: u64,
    /// Whether arithmetic replaces each resulting NaN by the canonical one.
    pub(crate) canonical_nans: bool,
}

/// One execution of an instruction: everything on which its meaning depends besides values and memory.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Cx<'a> {
    pub(crate) callable: &'a Callable<'a>,
    pub(crate) inst: Inst,
    pub(crate) opcode: Opcode,
    /// The controlling type. A dynamic type is replaced by its fixed type, because vector registers have one size.
    pub(crate) ctrl: Type,
    /// Offset of the first stack slot, in the stack's region.
    pub(crate) frame_offset: u64,
    base: usize,
}

impl<'a> Cx<'a> {
    pub(crate) fn function(self) -> &'a Function {
        self.callable.function
    }

    pub(crate) fn view(self) -> InstView<'a> {
        self.function().dfg.view(self.inst)
    }

    pub(crate) fn args(self) -> &'a [Value] {
        self.function().dfg.inst_args(self.inst)
    }

    pub(crate) fn type_of(self, value: Value) -> Type {
        fixed(self.function().dfg.value_type(value))
    }

    pub(crate) fn not_supported(self) -> Stop {
        Stop::NotSupported { opcode: self.opcode, ty: self.ctrl }
    }

    pub(crate) fn malformed(self) -> Stop {
        malformed(self.function())
    }
}

fn fixed(ty: Type) -> Type {
    ty.dynamic_to_vector().unwrap_or(ty)
}

/// Control flow after an instruction.
#[derive(Debug)]
pub(crate) enum Flow {
    Next,
    Branch(BlockCall),
    Call(FunctionId, Box<[u128]>),
    TailCall(FunctionId, Box<[u128]>),
    Return(Box<[u128]>),
    /// Return from a library routine, with these results.
    Returned(Box<[u128]>),
    Throw(Exception),
}

/// An exception that is searching for a handler.
#[derive(Debug)]
pub(crate) struct Exception {
    pub(crate) tag: u32,
    pub(crate) payloads: [u128; 2],
}

fn malformed(function: &Function) -> Stop {
    Stop::Malformed { function: function.name.to_string() }
}

impl<'a> Interpreter<'a> {
    /// Creates a machine that has not run yet.
    pub fn new(environment: &'a Environment<'a>) -> Interpreter<'a> {
        Interpreter::with_limits(environment, Limits::default())
    }

    /// Creates a machine with these limits.
    pub fn with_limits(environment: &'a Environment<'a>, limits: Limits) -> Interpreter<'a> {
        Interpreter {
            environment,
            limits,
            fuel: 0,
            frames: Vec::new(),
            values: Vec::new(),
            memory: Memory::default(),
            pinned: 0,
            canonical_nans: false,
        }
    }

    /// Returns this machine with the setting `enable_nan_canonicalization`: arithmetic replaces each NaN that it
    /// computes by the canonical one.
    #[must_use]
    pub fn with_canonical_nans(mut self) -> Interpreter<'a> {
        self.canonical_nans = true;
        self
    }

    /// Returns the fuel left after the last call, in instructions.
    pub fn fuel_left(&self) -> u64 {
        self.fuel
    }

    /// Sets the limits of the next calls.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Resets the machine: empties the stack, and restores the fuel and the initial contents of the data objects.
    pub(crate) fn reset(&mut self) {
        self.frames.clear();
        self.values.clear();
        self.memory.reset(&self.environment.data.bytes, self.environment.data.read_only);
        self.pinned = 0;
        self.fuel = self.limits.fuel;
    }

    /// Subtracts instructions from the fuel.
    pub(crate) fn burn_fuel(&mut self, instructions: u64) -> Result<(), Stop> {
        let left = self.fuel.checked_sub(instructions);
        self.fuel = left.unwrap_or(0);
        if left.is_some() { Ok(()) } else { Err(Stop::Fuel) }
    }

    /// Subtracts the fuel for a number of bytes that are filled or copied.
    pub(crate) fn burn_fuel_for_bytes(&mut self, bytes: u64) -> Result<(), Stop> {
        self.burn_fuel(bytes / BYTES_PER_FUEL)
    }

    /// Returns `true` if no call is active.
    pub(crate) fn is_idle(&self) -> bool {
        self.frames.is_empty()
    }

    /// Returns the execution of the next instruction.
    pub(crate) fn context(&self) -> Result<Cx<'a>, Stop> {
        let frame = self.frames.last().ok_or(Stop::Fuel)?;
        let function = frame.callable.function;
        let inst = frame.inst.ok_or_else(|| malformed(function))?;
        Ok(Cx {
            callable: frame.callable,
            inst,
            opcode: function.dfg.opcode(inst),
            ctrl: fixed(function.dfg.ctrl_type(inst)),
            frame_offset: frame.offset,
            base: frame.base,
        })
    }

    pub(crate) fn advance(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.inst = frame.inst.and_then(|inst| frame.callable.function.layout.next_inst(inst));
        }
    }

    /// Makes a frame for a function and defines the parameters of the entry block.
    pub(crate) fn enter(&mut self, id: FunctionId, arguments: &[u128]) -> Result<(), Stop> {
        let overflow = Stop::Trap(TrapCode::STACK_OVERFLOW);
        let callable = self.environment.callable(id);
        let function = callable.function;
        let (base, memory_below) = (self.values.len(), self.memory.stack_len());
        let end = base + function.dfg.num_values();
        if self.frames.len() >= self.limits.frames || end > self.limits.values {
            return Err(overflow);
        }
        let offset = self
            .memory
            .push_frame(callable.frame_size, callable.frame_align(), self.limits.stack_bytes)
            .ok_or(overflow)?;
        self.burn_fuel_for_bytes(callable.frame_size + (function.dfg.num_values() * size_of::<u128>()) as u64)?;
        self.values.resize(end, 0);
        let entry = function.layout.entry_block().ok_or_else(|| malformed(function))?;
        for (&param, &argument) in function.dfg.block_params(entry).iter().zip(arguments) {
            self.values[base + param.as_u32() as usize] = argument & mask(function.dfg.value_type(param).bits());
        }
        let inst = function.layout.first_inst(entry);
        self.frames.push(Frame { callable, base, offset, memory_below, inst });
        Ok(())
    }

    pub(crate) fn leave(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.values.truncate(frame.base);
            self.memory.pop_frame(frame.memory_below);
        }
    }

    /// Continues with the first instruction of a block.
    pub(crate) fn go_to(&mut self, block: Block) {
        if let Some(frame) = self.frames.last_mut() {
            frame.inst = frame.callable.function.layout.first_inst(block);
        }
    }

    /// Returns the bits of a value, zero-extended.
    pub(crate) fn get(&self, cx: Cx<'_>, value: Value) -> u128 {
        let value = cx.function().dfg.resolve_aliases(value);
        self.values[cx.base + value.as_u32() as usize]
    }

    /// Returns the bits of the operand with this index, or zero if there is none.
    pub(crate) fn operand(&self, cx: Cx<'_>, index: usize) -> u128 {
        cx.args().get(index).map_or(0, |&value| self.get(cx, value))
    }

    /// Defines a value. Bits above its width are dropped.
    pub(crate) fn set(&mut self, cx: Cx<'_>, value: Value, bits: u128) {
        self.values[cx.base + value.as_u32() as usize] = bits & mask(cx.type_of(value).bits());
    }

    pub(crate) fn set_results(&mut self, cx: Cx<'_>, bits: &[u128]) {
        for (&result, &bits) in cx.function().dfg.inst_results(cx.inst).iter().zip(bits) {
            self.set(cx, result, bits);
        }
    }

    /// Defines the only result, and continues with the next instruction.
    pub(crate) fn finish(&mut self, cx: Cx<'_>, bits: u128) -> Flow {
        self.set_results(cx, &[bits]);
        Flow::Next
    }
}
