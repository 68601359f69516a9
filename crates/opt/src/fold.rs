//! Pure integer operations on constants.

use kingpost_ir::condcodes::IntCC;
use kingpost_ir::{InstData, Opcode, Type};

/// An integer constant of at most 64 bits.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Constant {
    /// Bits of the constant, zero-extended from its type.
    pub(crate) bits: u64,
    pub(crate) width: u32,
}

impl Constant {
    fn signed(self) -> i64 {
        (self.bits << (64 - self.width)) as i64 >> (64 - self.width)
    }
}

/// Returns the result of an operation of one operand, of type `result`. Bits above the type are unspecified.
pub(crate) fn unary(opcode: Opcode, result: Type, x: Constant) -> Option<u64> {
    let unused = 64 - x.width;
    Some(match opcode {
        Opcode::Ineg => x.bits.wrapping_neg(),
        Opcode::Iabs => x.signed().wrapping_abs() as u64,
        Opcode::Bnot => !x.bits,
        Opcode::Bitrev => x.bits.reverse_bits() >> unused,
        Opcode::Bswap => x.bits.swap_bytes() >> unused,
        Opcode::Clz => u64::from(x.bits.leading_zeros() - unused),
        Opcode::Ctz => u64::from(x.bits.trailing_zeros().min(x.width)),
        Opcode::Cls => {
            let sign = x.signed() >> 63;
            u64::from((x.signed() ^ sign).leading_zeros() - 1 - unused)
        }
        Opcode::Popcnt => u64::from(x.bits.count_ones()),
        Opcode::Ireduce | Opcode::Uextend if result.bits() <= 64 => x.bits,
        Opcode::Sextend if result.bits() <= 64 => x.signed() as u64,
        Opcode::Bmask if result.bits() <= 64 => u64::from(x.bits != 0).wrapping_neg(),
        _ => return None,
    })
}

/// Returns the result of an operation of two operands, or `None` if it would trap. Bits above the type are
/// unspecified.
pub(crate) fn binary(data: &InstData, x: Constant, y: Constant) -> Option<u64> {
    let (a, b, width) = (x.bits, y.bits, x.width);
    let amount = (b % u64::from(width)) as u32;
    Some(match data.opcode() {
        Opcode::Iadd => a.wrapping_add(b),
        Opcode::Isub => a.wrapping_sub(b),
        Opcode::Imul => a.wrapping_mul(b),
        Opcode::Umulhi => ((u128::from(a) * u128::from(b)) >> width) as u64,
        Opcode::Smulhi => ((i128::from(x.signed()) * i128::from(y.signed())) >> width) as u64,
        Opcode::Smin => x.signed().min(y.signed()) as u64,
        Opcode::Smax => x.signed().max(y.signed()) as u64,
        Opcode::Umin => a.min(b),
        Opcode::Umax => a.max(b),
        Opcode::Band => a & b,
        Opcode::Bor => a | b,
        Opcode::Bxor => a ^ b,
        Opcode::Ishl => a << amount,
        Opcode::Ushr => a >> amount,
        Opcode::Sshr => (x.signed() >> amount) as u64,
        Opcode::Rotl => a << amount | a.checked_shr(width - amount).unwrap_or(0),
        Opcode::Rotr => a >> amount | a.checked_shl(width - amount).unwrap_or(0),
        Opcode::Udiv => a.checked_div(b)?,
        Opcode::Urem => a.checked_rem(b)?,
        Opcode::Sdiv => {
            let quotient = x.signed().checked_div(y.signed())?;
            let overflows = width < 64 && quotient == 1 << (width - 1);
            (!overflows).then_some(quotient as u64)?
        }
        // Minimum % -1 is 0.
        Opcode::Srem if b != 0 => x.signed().wrapping_rem(y.signed()) as u64,
        Opcode::Icmp => u64::from(compare(data.int_cond()?, x, y)),
        _ => return None,
    })
}

fn compare(cond: IntCC, x: Constant, y: Constant) -> bool {
    match cond {
        IntCC::Equal => x.bits == y.bits,
        IntCC::NotEqual => x.bits != y.bits,
        IntCC::SignedLessThan => x.signed() < y.signed(),
        IntCC::SignedGreaterThanOrEqual => x.signed() >= y.signed(),
        IntCC::SignedGreaterThan => x.signed() > y.signed(),
        IntCC::SignedLessThanOrEqual => x.signed() <= y.signed(),
        IntCC::UnsignedLessThan => x.bits < y.bits,
        IntCC::UnsignedGreaterThanOrEqual => x.bits >= y.bits,
        IntCC::UnsignedGreaterThan => x.bits > y.bits,
        IntCC::UnsignedLessThanOrEqual => x.bits <= y.bits,
    }
}
