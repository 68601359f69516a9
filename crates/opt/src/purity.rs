//! Effects of an instruction besides computing its results, as far as the passes must know them.

use kingpost_ir::{Format, Function, Inst, InstData, Opcode};

/// Effects of an instruction besides computing its results.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Purity {
    /// No effect: the instruction can be computed anywhere, once, or not at all. It has operands and one result.
    Pure,
    /// No effect, and no operands. It costs little or nothing where it is used.
    Constant,
    /// No effect, and a number of results other than one.
    PureMany,
    /// A possible trap. The instruction is superfluous if an equal one dominates it.
    Trap,
    /// A load with flags.
    Load,
    /// A store with flags.
    Store,
    /// No effect, but a result that depends on the place of the instruction.
    Local,
    /// Any other effect. The instruction stays.
    Effect,
}

/// Returns the effects of instructions of an opcode.
pub(crate) fn purity(opcode: Opcode) -> Purity {
    PURITY[opcode as usize]
}

/// Purity by opcode. It is a table because every pass reads it for every instruction.
static PURITY: [Purity; Opcode::ALL.len()] = {
    let mut table = [Purity::Effect; Opcode::ALL.len()];
    let mut index = 0;
    while index < table.len() {
        table[Opcode::ALL[index] as usize] = classify(Opcode::ALL[index]);
        index += 1;
    }
    table
};

const fn classify(opcode: Opcode) -> Purity {
    match (opcode.format(), opcode) {
        (Format::Load, _) => Purity::Load,
        (Format::Store, _) => Purity::Store,
        _ if opcode.is_mergeable_trap() => Purity::Trap,
        _ if opcode.has_side_effects() => Purity::Effect,
        (
            _,
            Opcode::GetFramePointer
            | Opcode::GetStackPointer
            | Opcode::GetReturnAddress
            | Opcode::GetExceptionHandlerAddress
            | Opcode::Nop,
        ) => Purity::Local,
        (
            _,
            Opcode::Iconst
            | Opcode::F16const
            | Opcode::F32const
            | Opcode::F64const
            | Opcode::F128const
            | Opcode::Vconst
            | Opcode::StackAddr
            | Opcode::DynamicStackAddr
            | Opcode::SymbolValue
            | Opcode::FuncAddr,
        ) => Purity::Constant,
        _ if opcode.info().results.len() == 1 => Purity::Pure,
        _ => Purity::PureMany,
    }
}

/// Returns `true` if an instruction cannot trap, and computes equal results wherever its operands are available.
/// Such are pure instructions, loads of memory that never changes, and divisions by constants.
pub(crate) fn is_movable(func: &Function, inst: Inst) -> bool {
    let data = func.dfg.inst(inst);
    match purity(data.opcode()) {
        Purity::Pure | Purity::Constant | Purity::PureMany => true,
        Purity::Load => is_pure_load(data),
        Purity::Trap => never_traps(func, data),
        Purity::Store | Purity::Local | Purity::Effect => false,
    }
}

/// Returns `true` if a load reads memory that never changes, and cannot trap.
pub(crate) fn is_pure_load(data: &InstData) -> bool {
    data.memflags().is_some_and(|flags| flags.readonly() && flags.notrap() && flags.can_move())
}

/// Returns `true` if a division has a constant divisor with which it cannot trap.
pub(crate) fn never_traps(func: &Function, data: &InstData) -> bool {
    let &[_, divisor] = data.args() else { return false };
    let ty = func.dfg.value_type(divisor);
    let Some(bits) = constant(func, divisor) else { return false };
    match data.opcode() {
        Opcode::Udiv | Opcode::Urem | Opcode::Srem => bits != 0,
        Opcode::Sdiv => bits != 0 && bits != ty.lane_mask() as u64,
        _ => false,
    }
}

/// Returns the bits of an `iconst`, zero-extended from its type.
#[inline]
pub(crate) fn constant(func: &Function, value: kingpost_ir::Value) -> Option<u64> {
    func.dfg.inst(func.dfg.first_result_of(value)?).iconst_bits()
}

/// Returns `true` if instructions of an opcode have no operands and cost little or nothing where they are used.
pub(crate) fn is_constant(opcode: Opcode) -> bool {
    purity(opcode) == Purity::Constant
}

/// Returns `true` if an instruction takes no longer than reloading its result from the stack.
pub(crate) fn is_cheap(opcode: Opcode) -> bool {
    use Opcode::{
        Band, Bitcast, Bnot, Bor, Bxor, Iadd, Icmp, Ineg, Ireduce, Ishl, Isub, Rotl, Rotr, Sextend, Sshr, Uextend, Ushr,
    };
    matches!(
        opcode,
        Band | Bitcast
            | Bnot
            | Bor
            | Bxor
            | Iadd
            | Icmp
            | Ineg
            | Ireduce
            | Ishl
            | Isub
            | Rotl
            | Rotr
            | Sextend
            | Sshr
            | Uextend
            | Ushr
    )
}
