//! Vocabulary of calling conventions: the places of arguments and results.
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
    /// In memory: the offset in bytes from the start of the stack argument area, or of the return area for results.
    Stack(u32),
}

/// One part of an argument or result, which fits into a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AbiPart {
    /// Place.
    pub place: AbiPlace,
    /// Type of the part: the value's own, or `i64` for each half of an `i128`.
    pub ty: Type,
    /// Extension of a small integer into the unused upper part of its place.
    pub extension: ArgumentExtension,
}

/// One argument or result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AbiArg {
    /// A value in one or two parts, low part first.
    Value(SmallVec<[AbiPart; 2]>),
    /// A structure that is copied into the stack argument area. The value is a pointer to it.
    Struct {
        /// Offset in bytes from the start of the stack argument area.
        offset: u32,
        /// Number of bytes to copy.
        size: u32,
    },
    /// A structure in registers, or partly in the stack argument area: its words in order, each in one part. The value
    /// is a pointer to it, and the callee stores the words into its frame.
    StructInRegs {
        /// Words of 8 bytes. The last one may have fewer.
        parts: SmallVec<[AbiPart; 2]>,
        /// Number of bytes.
        size: u32,
    },
    /// A structure whose address is passed. The caller copies it into the stack argument area.
    StructByAddress {
        /// Place of the address.
        pointer: AbiPart,
        /// Offset of the copy in bytes from the start of the stack argument area.
        offset: u32,
        /// Number of bytes.
        size: u32,
    },
    /// The address of the first variadic argument, in the definition of a variadic function.
    VariadicList(VariadicList),
    /// A value whose address is passed. The caller copies the value into the stack argument area.
    Indirect {
        /// Place of the address.
        pointer: AbiPart,
        /// Parts of the value, consecutive in memory.
        parts: SmallVec<[AbiPart; 2]>,
    },
}

/// Variadic arguments as the callee reads them: consecutive in memory, the ones in registers after it stored them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct VariadicList {
    /// Offset of the first variadic argument in bytes from the start of the stack argument area.
    pub offset: i32,
    /// Registers that may hold variadic arguments, each with the offset at which the callee stores it.
    pub registers: SmallVec<[(PReg, i32); 8]>,
    /// Bytes that the callee reserves below the stack argument area for these registers.
    pub reserved: u32,
}

impl AbiPart {
    /// Returns a part that is not extended.
    pub fn plain(place: AbiPlace, ty: Type) -> AbiPart {
        AbiPart { place, ty, extension: ArgumentExtension::None }
    }
}

/// Returns the type of word `index` of a structure of `size` bytes.
pub fn struct_word(size: u32, index: u32) -> Type {
    match size - 8 * index {
        1 => I8,
        2 => I16,
        3 | 4 => I32,
        _ => I64,
    }
}

impl AbiArg {
    /// Returns the register of a value that is a single part in a register and is not extended.
    pub fn only_reg(&self) -> Option<PReg> {
        match self {
            AbiArg::Value(parts) => match parts[..] {
                [AbiPart { place: AbiPlace::Reg(reg), extension: ArgumentExtension::None, .. }] => Some(reg),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Places of all arguments and results of one signature.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AbiSignature {
    /// Arguments in the order of the signature.
    pub args: Vec<AbiArg>,
    /// Results in the order of the signature. Stack places are in the return area.
    pub results: Vec<AbiArg>,
    /// Hidden argument with the address of the return area, if some result is in memory.
    pub return_area: Option<AbiPart>,
    /// Struct-return argument that the callee returns, by index into `args`, and the register that holds it at the
    /// return.
    pub sret: Option<(usize, PReg)>,
    /// For a variadic signature, the register that tells the callee how many float registers hold arguments, and this
    /// number.
    pub float_count: Option<(PReg, u32)>,
    /// Bytes of the stack argument area, a multiple of the stack alignment.
    pub arg_bytes: u32,
    /// Bytes of the return area.
    pub return_bytes: u32,
    /// Whether the callee pops its stack arguments.
    pub callee_pops: bool,
    /// Registers that a call of this convention destroys, including the registers of results.
    pub clobbers: PRegSet,
    /// Float registers that a call preserves only in their low `kept_bytes` bytes.
    pub partial_clobbers: PRegSet,
    /// Bytes of `partial_clobbers` that a call preserves.
    pub kept_bytes: u8,
    /// Registers that a function of this convention preserves for its caller.
    pub callee_saved: PRegSet,
}

/// Largest number of bytes of stack arguments, or of results in memory.
const MAX_BYTES: u64 = 128 << 20;

/// Returns the size of an area of arguments or results that take `bytes` bytes, rounded up to a multiple of `align`.
///
/// # Errors
/// If the area exceeds the limit.
pub fn area_bytes(bytes: u64, align: u32) -> Result<u32, LowerError> {
    if bytes > MAX_BYTES {
        return Err(LowerError::TooLarge { what: "bytes of stack arguments or results", limit: MAX_BYTES });
    }
    Ok(bytes.next_multiple_of(u64::from(align)) as u32)
}

/// Rejects results beside an `sret` parameter, because the pointer is returned in the register of the first result.
///
/// # Errors
/// If the signature has both.
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

/// Returns the results of the convention `winch`, and the number of bytes of the results in memory. The last result
/// is in the register of `regs` for its class. All earlier results are in memory without gaps, each in at least
/// `least` bytes, the first one at the highest address.
///
/// # Errors
/// If a result does not fit into one register.
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
    // Iterate from the last result, so that offsets grow.
    for (index, &AbiParam { value_type: ty, extension, .. }) in signature.returns.iter().rev().enumerate() {
        let place = match index {
            0 => AbiPlace::Reg(regs[usize::from(!ty.is_int())]),
            _ => AbiPlace::Stack(bytes as u32),
        };
        let room = ty.bytes().max(least);
        bytes += if index == 0 { 0 } else { u64::from(room) };
        // An extended value takes 8 bytes and would overwrite its neighbors.
        let extension = if index > 0 && room < 8 { ArgumentExtension::None } else { extension };
        results.push(AbiArg::Value(SmallVec::from_slice(&[AbiPart { place, ty, extension }])));
    }
    results.reverse();
    Ok((results, bytes))
}

impl AbiSignature {
    /// Returns the places on one line: the address of the return area in brackets, arguments, their bytes, results,
    /// their bytes. Parts of a value are joined by colons. `+8` is in memory, `+8..24` is a structure of 24 bytes
    /// there, and `*rcx+48` is a value there whose address is in `rcx`. `(+8 rdx+8)` are variadic arguments from that
    /// offset; the callee stores the one in `rdx`.
    pub fn text(&self, name: impl Fn(PReg) -> String) -> String {
        let part = |part: &AbiPart| match part.place {
            AbiPlace::Reg(reg) => name(reg),
            AbiPlace::Stack(offset) => format!("+{offset}"),
        };
        let value = |parts: &[AbiPart]| parts.iter().map(part).collect::<Vec<_>>().join(":");
        let arg = |arg: &AbiArg| match arg {
            AbiArg::Value(parts) => value(parts),
            AbiArg::Struct { offset, size } => format!("+{offset}..{size}"),
            AbiArg::StructInRegs { parts, size } => format!("{}..{size}", value(parts)),
            AbiArg::StructByAddress { pointer, offset, size } => format!("*{}+{offset}..{size}", part(pointer)),
            AbiArg::VariadicList(list) => {
                let stored: String = list.registers.iter().map(|&(reg, at)| format!(" {}{at:+}", name(reg))).collect();
                format!("({:+}{stored})", list.offset)
            }
            AbiArg::Indirect { pointer, parts } => format!("*{}{}", part(pointer), value(parts)),
        };
        let list = |args: &[AbiArg]| args.iter().map(arg).collect::<Vec<_>>().join(" ");
        let area = self.return_area.as_ref().map_or(String::new(), |area| format!("[{}] ", part(area)));
        let (args, results) = (list(&self.args), list(&self.results));
        format!("{area}{args} ({}) -> {results} ({})", self.arg_bytes, self.return_bytes)
    }

    /// Returns the registers that a call of this signature destroys, its results among them.
    pub fn call_clobbers(&self) -> Clobbers {
        Clobbers { lost: self.clobbers, partial: self.partial_clobbers, kept_bytes: self.kept_bytes }
    }
}

/// Returns the register class and width in bytes of the first virtual register for a value of type `ty`, and whether
/// there is a second one.
///
/// Equivalent to [`reg_parts`] without a list, for the types that need one register.
pub fn first_part(ty: Type) -> (RegClass, u8, bool) {
    match ty {
        I64 => (RegClass::Int, 8, false),
        I8 | I16 | I32 => (RegClass::Int, 4, false),
        I128 => (RegClass::Int, 8, true),
        _ => (RegClass::Float, ty.bytes().next_power_of_two().clamp(4, 64) as u8, false),
    }
}

/// Returns the register class and width in bytes of each virtual register for a value of type `ty`. An `i128` has two.
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
