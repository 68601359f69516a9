//! Registers and condition codes: numbers, names, and which registers are allocated.

use kingpost_mach::settings::AllocatedRegisters;
use kingpost_regalloc::{ClassEnv, Costs, MachineEnv, PReg, PRegSet, RegClass};

/// Accumulator: products, quotients, compare-exchange; first result.
pub const RAX: PReg = PReg::int(0);
/// Count register: shifts; fourth argument.
pub const RCX: PReg = PReg::int(1);
/// Upper halves of products, remainders; third argument, second result.
pub const RDX: PReg = PReg::int(2);
/// Callee-saved.
pub const RBX: PReg = PReg::int(3);
/// The stack pointer.
pub const RSP: PReg = PReg::int(4);
/// The frame pointer.
pub const RBP: PReg = PReg::int(5);
/// Second argument.
pub const RSI: PReg = PReg::int(6);
/// First argument.
pub const RDI: PReg = PReg::int(7);
/// Fifth argument.
pub const R8: PReg = PReg::int(8);
/// Sixth argument.
pub const R9: PReg = PReg::int(9);
/// Caller-saved, no argument.
pub const R10: PReg = PReg::int(10);
/// Caller-saved, no argument.
pub const R11: PReg = PReg::int(11);
/// Callee-saved.
pub const R12: PReg = PReg::int(12);
/// Callee-saved.
pub const R13: PReg = PReg::int(13);
/// Callee-saved.
pub const R14: PReg = PReg::int(14);
/// Callee-saved, or the pinned register.
pub const R15: PReg = PReg::int(15);

/// Returns `xmm` register `n`.
pub const fn xmm(n: u8) -> PReg {
    PReg::float(n)
}

/// Overflow.
pub const CC_O: i32 = 0;
/// No overflow.
pub const CC_NO: i32 = 1;
/// Unsigned below, carry.
pub const CC_B: i32 = 2;
/// Unsigned above or equal, no carry.
pub const CC_AE: i32 = 3;
/// Equal, zero.
pub const CC_E: i32 = 4;
/// Not equal, not zero.
pub const CC_NE: i32 = 5;
/// Unsigned below or equal.
pub const CC_BE: i32 = 6;
/// Unsigned above.
pub const CC_A: i32 = 7;
/// Sign set.
pub const CC_S: i32 = 8;
/// Sign not set.
pub const CC_NS: i32 = 9;
/// Parity even: after `ucomis`, unordered.
pub const CC_P: i32 = 10;
/// Parity odd: after `ucomis`, ordered.
pub const CC_NP: i32 = 11;
/// Signed less.
pub const CC_L: i32 = 12;
/// Signed greater or equal.
pub const CC_GE: i32 = 13;
/// Signed less or equal.
pub const CC_LE: i32 = 14;
/// Signed greater.
pub const CC_G: i32 = 15;

/// Suffixes of conditions in mnemonics, by number.
pub const CC_NAMES: [&str; 16] =
    ["o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p", "np", "l", "ge", "le", "g"];

/// Registers a System V function preserves: rbx, rbp, r12 to r15. The stack pointer is not counted.
pub const SYSV_CALLEE_SAVED: PRegSet = PRegSet::from_mask(RegClass::Int, 0xf028);

/// General-purpose registers that a System V call does not preserve.
pub const SYSV_CLOBBERED_INTS: PRegSet = PRegSet::from_mask(RegClass::Int, 0x0fc7);

/// Registers that a System V call does not preserve: these and all of `xmm`.
pub const SYSV_CLOBBERS: PRegSet = SYSV_CLOBBERED_INTS.union(PRegSet::from_mask(RegClass::Float, 0xffff));

/// All registers that calls may destroy: the registers that can hold values, and the pinned one.
pub const ALL_BUT_FRAME: PRegSet = SYSV_CLOBBERS.union(PRegSet::from_mask(RegClass::Int, 0xf008));

/// Registers a function preserves under Microsoft's convention: rbx, rbp, rsi, rdi, r12 to r15 and xmm6 to xmm15,
/// whole.
pub const WINDOWS_CALLEE_SAVED: PRegSet =
    PRegSet::from_mask(RegClass::Int, 0xf0e8).union(PRegSet::from_mask(RegClass::Float, 0xffc0));

const BYTE_NAMES: [&str; 8] = ["al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil"];
const WORD_NAMES: [&str; 8] = ["ax", "cx", "dx", "bx", "sp", "bp", "si", "di"];

/// Returns the name of a register when `width` bytes of it are used.
pub(crate) fn name(reg: PReg, width: u8) -> String {
    let n = reg.enc();
    if reg.class() == RegClass::Float {
        return format!("xmm{n}");
    }
    match (n, width) {
        (0..8, 1) => BYTE_NAMES[usize::from(n)].to_string(),
        (0..8, 2) => WORD_NAMES[usize::from(n)].to_string(),
        (0..8, 4) => format!("e{}", WORD_NAMES[usize::from(n)]),
        (0..8, _) => format!("r{}", WORD_NAMES[usize::from(n)]),
        (_, 1) => format!("r{n}b"),
        (_, 2) => format!("r{n}w"),
        (_, 4) => format!("r{n}d"),
        _ => format!("r{n}"),
    }
}

/// Registers that instructions and calling conventions require for values: rax, rcx, rdx, rbx, rsi, rdi, r8 to r10
/// and xmm0 to xmm7.
const NAMED: PRegSet = PRegSet::from_mask(RegClass::Int, 0x07cf).union(PRegSet::from_mask(RegClass::Float, 0xff));

/// Returns the registers to allocate: caller-saved ones first, and among equals those with the shorter encodings. The
/// stack and frame pointers are excluded, and `r15` if it is the pinned register.
pub(crate) fn env(pinned: bool, allocated: AllocatedRegisters) -> MachineEnv {
    // r12 as a base costs a SIB byte and r13 a displacement, so they come last.
    let ints = [RAX, RCX, RDX, RSI, RDI, R8, R9, R10, R11, RBX, R14, R15, R12, R13];
    let order = allocated.choose(ints.into_iter().filter(|&r| !(pinned && r == R15)), NAMED);
    let callee_saved = order.iter().copied().filter(|&r| SYSV_CALLEE_SAVED.contains(r)).collect();
    let int = ClassEnv { order, callee_saved, scratch: None, exchange: true, slot_move: false };
    let float = ClassEnv { order: allocated.choose((0..16).map(xmm), NAMED), ..ClassEnv::default() };
    MachineEnv { classes: [int, float], costs: Costs::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_mach::RowConstraint;

    #[test]
    fn names_follow_widths() {
        let names: Vec<String> = [1, 2, 4, 8].iter().map(|&w| name(RSI, w) + " " + &name(R9, w)).collect();
        assert_eq!(names, ["sil r9b", "si r9w", "esi r9d", "rsi r9"]);
        assert_eq!(name(xmm(11), 4), "xmm11");
    }

    #[test]
    fn every_register_is_allocated_or_reserved() {
        let env = env(false, AllocatedRegisters::All);
        assert_eq!(env.allocatable(), SYSV_CLOBBERS.union(SYSV_CALLEE_SAVED).difference(PRegSet::EMPTY.with(RBP)));
        let pinned = super::env(true, AllocatedRegisters::All);
        assert_eq!(env.allocatable().difference(pinned.allocatable()), PRegSet::EMPTY.with(R15));
        assert!(!pinned.callee_saved().contains(R15));
    }

    #[test]
    fn a_number_of_registers_includes_those_that_rows_name() {
        let counts = |registers| env(false, registers).classes.map(|class| class.order.len());
        let numbers = [0, 9, 11, 15, 255].map(|n| counts(AllocatedRegisters::Count(n)));
        assert_eq!(numbers, [[9, 8], [9, 9], [11, 11], [14, 15], [14, 16]]);
        assert_eq!(env(false, AllocatedRegisters::Count(0)), env(false, AllocatedRegisters::Few));
        assert_eq!(env(true, AllocatedRegisters::Count(255)), env(true, AllocatedRegisters::All));
    }

    #[test]
    fn few_registers_are_those_that_rows_name() {
        let few = env(false, AllocatedRegisters::Few);
        assert_eq!(few.allocatable(), NAMED);
        assert_eq!(few.callee_saved(), PRegSet::EMPTY.with(RBX));
        for operand in crate::rows::ROWS.iter().flat_map(|row| row.operands) {
            if let RowConstraint::Fixed(reg) = operand.constraint {
                assert!(NAMED.contains(reg), "{reg}");
            }
        }
    }
}
