//! The bodies that can be copied, and the reasons for the others.

use kingpost_ir::preamble::GlobalValueData;
use kingpost_ir::signature::ArgumentPurpose;
use kingpost_ir::{Function, Inst, InstView, Opcode};
use std::fmt;

/// Reason why a body is not copied to a call.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// The instruction is not a direct call.
    NotDirect,
    /// The function has no blocks.
    NoBody,
    /// The call declares another signature than the function has.
    Signature,
    /// The call passes a struct by value, which the function may change.
    StructArgument,
    /// The call can be replaced when the code runs.
    Patchable,
    /// The call has handlers, and the function calls others, which may throw.
    CallsUnderHandlers,
    /// The function checks the stack against a limit, and the caller does not.
    StackLimit,
    /// The caller or the function reads the addresses of its handlers.
    HandlerAddresses,
    /// The function accesses memory, and the caller declares different regions, so that accesses of both may overlap.
    AliasRegions,
    /// The function uses vectors of dynamic size.
    DynamicVectors,
    /// The function uses a global value that is not a symbol.
    GlobalValue,
    /// The meaning of an instruction depends on the frame of its function.
    Opcode(Opcode),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::NotDirect => "the call is not direct",
            Refusal::NoBody => "the function has no body",
            Refusal::Signature => "the call declares another signature",
            Refusal::StructArgument => "a struct is passed by value",
            Refusal::Patchable => "the call is patchable",
            Refusal::CallsUnderHandlers => "the function makes calls, and the call has handlers",
            Refusal::StackLimit => "the function has a stack limit, and its caller has none",
            Refusal::HandlerAddresses => "addresses of handlers are read",
            Refusal::AliasRegions => "the functions declare different alias regions",
            Refusal::DynamicVectors => "the function uses vectors of dynamic size",
            Refusal::GlobalValue => "the function uses a global value that is not a symbol",
            Refusal::Opcode(opcode) => return write!(f, "`{opcode}` depends on the frame"),
        })
    }
}

impl std::error::Error for Refusal {}

/// Checks that the body of `callee` can replace the instruction `call` of `func`.
pub(super) fn check(func: &Function, call: Inst, callee: &Function) -> Result<(), Refusal> {
    let (InstView::Call { func: name, .. } | InstView::TryCall { func: name, .. }) = func.dfg.view(call) else {
        return Err(Refusal::NotDirect);
    };
    let declared = &func.dfg.ext_funcs[name];
    let is_struct = |purpose| matches!(purpose, ArgumentPurpose::StructArgument(_));
    let has_handlers = func.dfg.opcode(call) == Opcode::TryCall;
    check_functions(func, callee)?;
    first_of([
        (func.dfg.signatures[declared.signature] != callee.signature, Refusal::Signature),
        (callee.signature.params.iter().any(|param| is_struct(param.purpose)), Refusal::StructArgument),
        (declared.patchable, Refusal::Patchable),
    ])?;
    let mut insts = callee.layout.blocks().flat_map(|block| callee.layout.block_insts(block));
    insts.try_for_each(|inst| check_inst(callee, inst, has_handlers))
}

/// Checks the properties of two functions without which no call of `callee` in `func` is inlined. `func` need not be
/// verified.
///
/// # Errors
/// If no call is.
pub fn check_functions(func: &Function, callee: &Function) -> Result<(), Refusal> {
    first_of([
        (callee.layout.entry_block().is_none(), Refusal::NoBody),
        (callee.stack_limit.is_some() && func.stack_limit.is_none(), Refusal::StackLimit),
        (func.dfg.has_handler_addresses() || callee.dfg.has_handler_addresses(), Refusal::HandlerAddresses),
        (callee.dfg.has_dynamic_vectors() || !callee.dynamic_stack_slots.is_empty(), Refusal::DynamicVectors),
        (has_accesses(callee) && regions(func) != regions(callee), Refusal::AliasRegions),
    ])
}

/// Returns the first refusal that applies as an error.
fn first_of<const N: usize>(refusals: [(bool, Refusal); N]) -> Result<(), Refusal> {
    refusals.into_iter().find(|&(applies, _)| applies).map_or(Ok(()), |(_, refusal)| Err(refusal))
}

/// Returns the numbers of the declared alias regions, sorted.
fn regions(func: &Function) -> Vec<u32> {
    let mut regions: Vec<u32> = func.alias_regions.values().map(|region| region.user_id).collect();
    regions.sort_unstable();
    regions
}

/// Returns `true` if an instruction has memory flags.
fn has_accesses(func: &Function) -> bool {
    let mut blocks = func.layout.blocks();
    blocks.any(|block| func.layout.block_insts(block).any(|inst| func.dfg.inst(inst).memflags().is_some()))
}

fn check_inst(callee: &Function, inst: Inst, has_handlers: bool) -> Result<(), Refusal> {
    match callee.dfg.opcode(inst) {
        opcode @ (Opcode::GetFramePointer
        | Opcode::GetStackPointer
        | Opcode::GetReturnAddress
        | Opcode::StackSwitch
        | Opcode::DynamicStackAddr) => Err(Refusal::Opcode(opcode)),
        opcode if opcode.is_call() && has_handlers => Err(Refusal::CallsUnderHandlers),
        _ => match callee.dfg.view(inst) {
            InstView::UnaryGlobalValue { global } => match callee.global_values[global] {
                GlobalValueData::Symbol { .. } => Ok(()),
                _ => Err(Refusal::GlobalValue),
            },
            _ => Ok(()),
        },
    }
}
