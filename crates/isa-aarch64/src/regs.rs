//! Registers and condition codes: numbers, names, and which registers are allocated.

use kingpost_mach::MemBase;
use kingpost_mach::settings::AllocatedRegisters;
use kingpost_regalloc::{ClassEnv, Costs, MachineEnv, PReg, PRegSet, RegClass};

/// Returns general-purpose register `n`.
pub const fn x(n: u8) -> PReg {
    PReg::int(n)
}

/// Returns vector register `n`.
pub const fn v(n: u8) -> PReg {
    PReg::float(n)
}

/// Register for the address of a returned structure.
pub const X8: PReg = x(8);
/// Register with the bytes of a large frame on Windows, in units of 16.
pub const X15: PReg = x(15);
/// First scratch register of frames and addresses. It is never allocated, and no value stays in it beyond one
/// instruction or edit.
pub const X16: PReg = x(16);
/// Second scratch register, which the allocators' edits use as well.
pub const X17: PReg = x(17);
/// The pinned register. Callee-saved if it is not pinned.
pub const X21: PReg = x(21);
/// The only register that calls of `winch` preserve.
pub const X28: PReg = x(28);
/// The frame pointer.
pub const FP: PReg = x(29);
/// The link register: the return address.
pub const LR: PReg = x(30);
/// The stack pointer. Instructions that cannot use it read register 31 as zero.
pub const SP: PReg = x(31);
/// Scratch vector register of the allocators' edits.
pub const V31: PReg = v(31);

/// Equal, zero.
pub const CC_EQ: i32 = 0;
/// Not equal, not zero.
pub const CC_NE: i32 = 1;
/// Unsigned higher or same, carry set (no borrow).
pub const CC_HS: i32 = 2;
/// Unsigned lower, carry clear (borrow); after `fcmp`, less.
pub const CC_LO: i32 = 3;
/// Negative; after `fcmp`, less.
pub const CC_MI: i32 = 4;
/// Not negative.
pub const CC_PL: i32 = 5;
/// Overflow; after `fcmp`, unordered.
pub const CC_VS: i32 = 6;
/// No overflow; after `fcmp`, ordered.
pub const CC_VC: i32 = 7;
/// Unsigned higher.
pub const CC_HI: i32 = 8;
/// Unsigned lower or same; after `fcmp`, less or equal.
pub const CC_LS: i32 = 9;
/// Signed greater or equal; after `fcmp`, greater or equal and ordered.
pub const CC_GE: i32 = 10;
/// Signed less; after `fcmp`, less or unordered.
pub const CC_LT: i32 = 11;
/// Signed greater; after `fcmp`, greater and ordered.
pub const CC_GT: i32 = 12;
/// Signed less or equal; after `fcmp`, less, equal or unordered.
pub const CC_LE: i32 = 13;
/// Always.
pub const CC_AL: i32 = 14;

/// Suffixes of conditions in mnemonics, by number.
pub const CC_NAMES: [&str; 16] =
    ["eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "al", "nv"];

/// Registers a function of the standard convention preserves: x19 to x29, and the low halves of v8 to v15 (AAPCS64,
/// 6.1.1 and 6.1.2). The stack pointer is not counted.
pub const AAPCS_CALLEE_SAVED: PRegSet =
    PRegSet::from_mask(RegClass::Int, 0x3ff8_0000).union(PRegSet::from_mask(RegClass::Float, 0xff00));

/// Registers whose whole contents a call of the standard convention destroys: x0 to x17, x30, v0 to v7, v16 to v31.
pub const AAPCS_CLOBBERS: PRegSet =
    PRegSet::from_mask(RegClass::Int, 0x4003_ffff).union(PRegSet::from_mask(RegClass::Float, 0xffff_00ff));

/// Caller-saved registers that can hold values and that no instruction of a frame writes: x0 to x15.
pub const AAPCS_TEMPORARIES: PRegSet = PRegSet::from_mask(RegClass::Int, 0xffff);

/// Registers that such a call preserves only in their low [`AAPCS_KEPT_BYTES`]: v8 to v15.
pub const AAPCS_PARTIAL: PRegSet = PRegSet::from_mask(RegClass::Float, 0xff00);

/// Bytes of the registers in [`AAPCS_PARTIAL`] that calls keep.
pub const AAPCS_KEPT_BYTES: u8 = 8;

/// Returns the name of a register when `width` bytes of it are used.
pub(crate) fn name(reg: PReg, width: u8) -> String {
    let n = reg.enc();
    let prefix = match (reg.class(), width) {
        (RegClass::Float, 1) => "b",
        (RegClass::Float, 2) => "h",
        (RegClass::Float, 4) => "s",
        (RegClass::Float, 8) => "d",
        (RegClass::Float, _) => "q",
        (RegClass::Int, 8) if reg == SP => return "sp".to_string(),
        (RegClass::Int, _) if reg == SP => return "wsp".to_string(),
        (RegClass::Int, 8) => "x",
        (RegClass::Int, _) => "w",
    };
    format!("{prefix}{n}")
}

/// Registers that instructions and calling conventions require for values: x0 to x8, v0 to v7, v29 and v30, and x9
/// for the address of a callee beside them.
const NAMED: PRegSet =
    PRegSet::from_mask(RegClass::Int, 0x03ff).union(PRegSet::from_mask(RegClass::Float, 0x6000_00ff));

/// Returns the registers to allocate, caller-saved ones first. Excluded are the stack and frame pointers, the link
/// register, x16 and x17 (scratch), x18 (which platforms reserve), v31 (scratch), and x21 if it is the pinned
/// register.
pub(crate) fn env(pinned: bool, allocated: AllocatedRegisters) -> MachineEnv {
    let ints = (0..=15).chain(19..=28).map(x).filter(|&r| !(pinned && r == X21));
    let floats = (0..=7).chain(16..=30).chain(8..=15).map(v);
    let classes = [class(allocated.choose(ints, NAMED), X17), class(allocated.choose(floats, NAMED), V31)];
    MachineEnv { classes, costs: Costs::default() }
}

fn class(order: Vec<PReg>, scratch: PReg) -> ClassEnv {
    let callee_saved = order.iter().copied().filter(|&r| AAPCS_CALLEE_SAVED.contains(r)).collect();
    ClassEnv { order, callee_saved, scratch: Some(scratch), exchange: false, slot_move: false }
}

/// Returns the register of an address base, if it has one.
pub(crate) fn base_register(base: MemBase) -> Option<PReg> {
    match base {
        MemBase::Reg(reg) => Some(reg),
        MemBase::StackPointer => Some(SP),
        MemBase::FramePointer => Some(FP),
        MemBase::Symbol(_) | MemBase::Table(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_mach::RowConstraint;

    #[test]
    fn names_follow_widths() {
        let names: Vec<String> = [1, 2, 4, 8, 16].iter().map(|&w| name(v(9), w)).collect();
        assert_eq!(names, ["b9", "h9", "s9", "d9", "q9"]);
        assert_eq!([name(x(3), 4), name(x(3), 8), name(SP, 8), name(LR, 8)], ["w3", "x3", "sp", "x30"]);
    }

    #[test]
    fn every_register_is_allocated_or_reserved() {
        let env = env(false, AllocatedRegisters::All);
        let reserved = [X16, X17, FP, LR, V31].into_iter().collect();
        assert_eq!(env.allocatable(), AAPCS_CLOBBERS.union(AAPCS_CALLEE_SAVED).difference(reserved));
        let pinned = super::env(true, AllocatedRegisters::All);
        assert_eq!(env.allocatable().difference(pinned.allocatable()), PRegSet::EMPTY.with(X21));
        assert!(!pinned.callee_saved().contains(X21));
    }

    #[test]
    fn a_number_of_registers_includes_those_that_rows_name() {
        let counts = |registers| env(false, registers).classes.map(|class| class.order.len());
        let numbers = [0, 12, 27, 255].map(|n| counts(AllocatedRegisters::Count(n)));
        assert_eq!(numbers, [[10, 10], [12, 12], [26, 27], [26, 31]]);
        assert_eq!(env(false, AllocatedRegisters::Count(0)), env(false, AllocatedRegisters::Few));
        assert_eq!(env(true, AllocatedRegisters::Count(255)), env(true, AllocatedRegisters::All));
    }

    #[test]
    fn few_registers_are_those_that_rows_name() {
        let few = env(false, AllocatedRegisters::Few);
        assert_eq!(few.allocatable(), NAMED);
        assert_eq!(few.callee_saved(), PRegSet::EMPTY);
        for operand in crate::rows::ROWS.iter().flat_map(|row| row.operands) {
            if let RowConstraint::Fixed(reg) = operand.constraint {
                assert!(NAMED.contains(reg), "{reg}");
            }
        }
    }
}
