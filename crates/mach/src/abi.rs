//! The vocabulary of calling conventions: where arguments and results are.
//!
//! An assignment is a pure function of the signature and the target's settings; each instruction set computes it in its
//! `abi.rs`. Lowering of calls, entries and returns reads it.

use crate::error::LowerError;
use kingpost_ir::Type;
use kingpost_ir::signature::{AbiParam, ArgumentExtension, ArgumentPurpose, CallConv, Signature};
use kingpost_ir::types::{I8, I16, I32, I64, I128};
use kingpost_regalloc::{Clobbers, PReg, PRegSet, RegClass};
use smallvec::SmallVec;

/// Place of one part of an argument or result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AbiPlace {
    /// In a register.
    Reg(PReg),
    /// In memory, bytes from the start of the stack argument area, or of the return area for results.
    Stack(u32),
}

/// One part of an argument or result: a register's worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AbiPart {
    /// Place.
    pub place: AbiPlace,
    /// Type of the part: the value's own, or `i64` for each half of an `i128`.
    pub ty: Type,
    /// Extension of a small integer into the unused upper part.
    pub extension: ArgumentExtension,
}

/// One argument or result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AbiArg {
    /// A value in one or two parts, low part first.
    Value(SmallVec<[AbiPart; 2]>),
    /// A structure that is copied into the stack argument area; the value is a pointer to it.
    Struct {
        /// Bytes from the start of the stack argument area.
        offset: u32,
        /// Bytes to copy.
        size: u32,
    },
    /// A value whose address is passed: the caller puts it into the stack argument area.
    Indirect {
        /// The address.
        pointer: AbiPart,
        /// The value's parts, one behind the other in memory.
        parts: SmallVec<[AbiPart; 2]>,
    },
}

impl AbiArg {
    /// Returns the register of a value that is in one, all by itself and as it is.
    #[inline]
    pub fn only_reg(&self) -> Option<PReg> {
        match self {
            AbiArg::Value(parts) => match parts[..] {
                [AbiPart { place: AbiPlace::Reg(reg), extension: ArgumentExtension::None, .. }] => Some(reg),
                _ => None,
            },
            AbiArg::Struct { .. } | AbiArg::Indirect { .. } => None,
        }
    }
}

/// Places of all arguments and results of one signature.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AbiSignature {
    /// Arguments in order of the signature.
    pub args: Vec<AbiArg>,
    /// Results in order of the signature. Stack places lie in the return area.
    pub results: Vec<AbiArg>,
    /// The hidden argument with the return area's address, if some result finds no register.
    pub return_area: Option<AbiPart>,
    /// The struct-return argument that the callee hands back, by index into `args`, and the register it goes to.
    pub sret: Option<(usize, PReg)>,
    /// Of a variadic signature, the register in which the callee finds how many float registers hold arguments, and
    /// that number.
    pub float_count: Option<(PReg, u32)>,
    /// Bytes of the stack argument area, a multiple of the stack's alignment.
    pub arg_bytes: u32,
    /// Bytes of the return area.
    pub return_bytes: u32,
    /// Whether the callee pops its stack arguments.
    pub callee_pops: bool,
    /// Registers a call of this convention destroys, results among them.
    pub clobbers: PRegSet,
    /// Float registers destroyed but for their low `kept_bytes` bytes.
    pub partial_clobbers: PRegSet,
    /// See `partial_clobbers`.
    pub kept_bytes: u8,
    /// Registers a function of this convention preserves for its caller.
    pub callee_saved: PRegSet,
}

/// The most bytes of stack arguments, or of results in memory.
const MAX_BYTES: u64 = 128 << 20;

/// Returns the size of an area of arguments or results with `bytes` bytes handed out: a multiple of `align`.
///
/// # Errors
/// If that is more than a frame is given for it.
pub fn area_bytes(bytes: u64, align: u32) -> Result<u32, LowerError> {
    if bytes > MAX_BYTES {
        return Err(LowerError::TooLarge { what: "bytes of stack arguments or results", limit: MAX_BYTES });
    }
    Ok(bytes.next_multiple_of(u64::from(align)) as u32)
}

/// Refuses results beside an `sret` parameter: the register that hands its pointer back is that of the first result.
///
/// # Errors
/// The refusal.
pub fn check_struct_return(signature: &Signature, target: &'static str) -> Result<(), LowerError> {
    let returns_struct = signature.special_param_index(ArgumentPurpose::StructReturn).is_some();
    if returns_struct && !signature.returns.is_empty() {
        return Err(LowerError::Feature { what: "a result beside an `sret` parameter", target });
    }
    Ok(())
}

/// Returns the error for a calling convention that `target` does not have.
pub fn no_convention(convention: CallConv, target: &'static str) -> LowerError {
    let what = match convention {
        CallConv::SystemV => "the calling convention `system_v`",
        CallConv::Fast => "the calling convention `fast`",
        CallConv::Tail => "the calling convention `tail`",
        CallConv::PreserveAll => "the calling convention `preserve_all`",
        CallConv::WindowsFastcall => "the calling convention `windows_fastcall`",
        CallConv::AppleAarch64 => "the calling convention `apple_aarch64`",
        CallConv::Probestack => "the calling convention `probestack`",
        CallConv::Winch => "the calling convention `winch`",
    };
    LowerError::Feature { what, target }
}

/// Results of the convention `winch`, and the bytes of those in memory: the last one is in its class's one of `regs`,
/// the others are in memory without gaps, each of at least `least` bytes, the first one highest.
///
/// # Errors
/// A result without one register for it.
pub fn winch_results(
    signature: &Signature,
    regs: [PReg; 2],
    least: u32,
    target: &'static str,
) -> Result<(Vec<AbiArg>, u64), LowerError> {
    if signature.returns.iter().any(|result| first_part(result.value_type).2) {
        return Err(LowerError::Feature { what: "i128 as a result in the calling convention `winch`", target });
    }
    let mut bytes = 0;
    let mut results: Vec<AbiArg> = Vec::with_capacity(signature.returns.len());
    // The last one comes first here, so that offsets grow.
    for (index, &AbiParam { value_type: ty, extension, .. }) in signature.returns.iter().rev().enumerate() {
        let place = match index {
            0 => AbiPlace::Reg(regs[usize::from(!ty.is_int())]),
            _ => AbiPlace::Stack(bytes as u32),
        };
        let room = ty.bytes().max(least);
        bytes += if index == 0 { 0 } else { u64::from(room) };
        // An extended value takes 8 bytes, and would lie on its neighbors.
        let extension = if index > 0 && room < 8 { ArgumentExtension::None } else { extension };
        results.push(AbiArg::Value(SmallVec::from_slice(&[AbiPart { place, ty, extension }])));
    }
    results.reverse();
    Ok((results, bytes))
}

impl AbiSignature {
    /// The places on one line: the return area's address in brackets, arguments, their bytes, results, their bytes.
    /// Parts of a value are joined by colons; `+8` is in memory, `+8..24` a structure of so many bytes there, `*rcx+48`
    /// a value there whose address is in `rcx`.
    pub fn text(&self, name: impl Fn(PReg) -> String) -> String {
        let part = |part: &AbiPart| match part.place {
            AbiPlace::Reg(reg) => name(reg),
            AbiPlace::Stack(offset) => format!("+{offset}"),
        };
        let value = |parts: &[AbiPart]| parts.iter().map(part).collect::<Vec<_>>().join(":");
        let arg = |arg: &AbiArg| match arg {
            AbiArg::Value(parts) => value(parts),
            AbiArg::Struct { offset, size } => format!("+{offset}..{size}"),
            AbiArg::Indirect { pointer, parts } => format!("*{}{}", part(pointer), value(parts)),
        };
        let list = |args: &[AbiArg]| args.iter().map(arg).collect::<Vec<_>>().join(" ");
        let area = self.return_area.as_ref().map_or(String::new(), |area| format!("[{}] ", part(area)));
        let (args, results) = (list(&self.args), list(&self.results));
        format!("{area}{args} ({}) -> {results} ({})", self.arg_bytes, self.return_bytes)
    }

    /// Returns the registers that a call of this signature destroys, its results among them.
    pub fn lost(&self) -> Clobbers {
        Clobbers { lost: self.clobbers, partial: self.partial_clobbers, kept_bytes: self.kept_bytes }
    }
}

/// Register class and width in bytes of the first virtual register for a value of type `ty`, and whether there are two.
///
/// The same facts as [`reg_parts`] without a list, for the types that need one register.
#[inline]
pub fn first_part(ty: Type) -> (RegClass, u8, bool) {
    match ty {
        I64 => (RegClass::Int, 8, false),
        I8 | I16 | I32 => (RegClass::Int, 4, false),
        I128 => (RegClass::Int, 8, true),
        _ => (RegClass::Float, ty.bytes().next_power_of_two().clamp(4, 64) as u8, false),
    }
}

/// Register class and width in bytes of the virtual registers for a value of type `ty`; two for `i128`.
///
/// Integers narrower than 32 bits are kept in 4 bytes: their upper bits are undefined.
pub fn reg_parts(ty: Type) -> SmallVec<[(RegClass, u8); 2]> {
    if ty.is_int() {
        match ty.bytes() {
            0..=4 => SmallVec::from_slice(&[(RegClass::Int, 4)]),
            8 => SmallVec::from_slice(&[(RegClass::Int, 8)]),
            _ => SmallVec::from_slice(&[(RegClass::Int, 8), (RegClass::Int, 8)]),
        }
    } else {
        let width = ty.bytes().next_power_of_two().clamp(4, 64) as u8;
        SmallVec::from_slice(&[(RegClass::Float, width)])
    }
}
