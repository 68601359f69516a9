//! Calling conventions: the places of arguments and results, as a pure function of signature and settings.
//!
//! Source: Procedure Call Standard for the Arm 64-bit Architecture (AAPCS64), section 6.8. `fast` is the same; `tail`
//! leaves x0 and x1 alone, and its callees pop their stack arguments. Results have as many registers as arguments.

use crate::isa::STACK_ALIGN;
use crate::regs::{AAPCS_CALLEE_SAVED, AAPCS_CLOBBERS, AAPCS_KEPT_BYTES, AAPCS_PARTIAL, X8, v, x};
use kingpost_ir::Type;
use kingpost_ir::signature::{AbiParam, ArgumentExtension, ArgumentPurpose, CallConv, Signature};
use kingpost_ir::types::{I64, I128};
use kingpost_mach::LowerError;
use kingpost_mach::Settings;
use kingpost_mach::abi::{AbiArg, AbiPart, AbiPlace, AbiSignature, area_bytes, check_struct_return, no_convention};
use kingpost_regalloc::PRegSet;
use smallvec::{SmallVec, smallvec};

/// Registers per class for arguments, and for results: x0 to x7, v0 to v7.
const REGS: u8 = 8;
/// The first integer register of `tail`.
const TAIL_FIRST: u8 = 2;

fn unsupported(what: &'static str) -> LowerError {
    LowerError::Feature { what, target: "aarch64" }
}

/// What distinguishes the conventions.
struct Convention {
    first_int: u8,
    callee_pops: bool,
    preserves_all: bool,
}

impl Convention {
    fn of(signature: &Signature) -> Result<Convention, LowerError> {
        let standard = Convention { first_int: 0, callee_pops: false, preserves_all: false };
        match signature.call_conv {
            CallConv::SystemV | CallConv::Fast => Ok(standard),
            CallConv::Tail => Ok(Convention { first_int: TAIL_FIRST, callee_pops: true, ..standard }),
            CallConv::PreserveAll if !signature.returns.is_empty() => {
                Err(unsupported("a result in the calling convention `preserve_all`"))
            }
            CallConv::PreserveAll => Ok(Convention { preserves_all: true, ..standard }),
            CallConv::WindowsFastcall | CallConv::AppleAarch64 | CallConv::Probestack | CallConv::Winch => {
                Err(no_convention(signature.call_conv, "aarch64"))
            }
        }
    }

    /// The signature without arguments and results.
    fn empty(&self) -> AbiSignature {
        let standard = AbiSignature {
            callee_pops: self.callee_pops,
            clobbers: AAPCS_CLOBBERS,
            partial_clobbers: AAPCS_PARTIAL,
            kept_bytes: AAPCS_KEPT_BYTES,
            callee_saved: AAPCS_CALLEE_SAVED,
            ..AbiSignature::default()
        };
        if self.preserves_all {
            AbiSignature {
                clobbers: PRegSet::EMPTY,
                partial_clobbers: PRegSet::EMPTY,
                callee_saved: AAPCS_CALLEE_SAVED.union(AAPCS_CLOBBERS),
                ..standard
            }
        } else {
            standard
        }
    }
}

/// Places all arguments and results of `signature`.
///
/// # Errors
/// Conventions and types that are not supported, results without a register where no return area is allowed, results
/// beside `sret`, and too many bytes of stack arguments.
pub(crate) fn assign(signature: &Signature, settings: &Settings) -> Result<AbiSignature, LowerError> {
    let convention = Convention::of(signature)?;
    check_struct_return(signature, "aarch64")?;
    let mut abi = convention.empty();
    let mut results = Places::new(&convention);
    for result in &signature.returns {
        abi.results.push(AbiArg::Value(results.value(result)?));
    }
    abi.return_bytes = area_bytes(results.bytes, STACK_ALIGN)?;
    if abi.return_bytes > 0 {
        if !settings.enable_multi_ret_implicit_sret {
            return Err(unsupported("more results than registers without `enable_multi_ret_implicit_sret`"));
        }
        abi.return_area = Some(pointer_in_x8());
    }
    let mut args = Places::new(&convention);
    for param in &signature.params {
        let arg = match param.purpose {
            ArgumentPurpose::StructArgument(_) => return Err(unsupported("a structure as an argument")),
            ArgumentPurpose::StructReturn if convention.callee_pops => {
                return Err(unsupported("`sret` in the calling convention `tail`"));
            }
            // Its address is not handed back.
            ArgumentPurpose::StructReturn => AbiArg::Value(smallvec![pointer_in_x8()]),
            ArgumentPurpose::Normal | ArgumentPurpose::VmContext => AbiArg::Value(args.value(param)?),
        };
        abi.args.push(arg);
    }
    abi.arg_bytes = area_bytes(args.bytes, STACK_ALIGN)?;
    Ok(abi)
}

/// The place of the address of results in memory.
fn pointer_in_x8() -> AbiPart {
    AbiPart { place: AbiPlace::Reg(X8), ty: I64, extension: ArgumentExtension::None }
}

/// Registers and memory not handed out yet.
struct Places {
    /// Numbers of the next integer register and the next vector register.
    next_int: u8,
    next_float: u8,
    /// Bytes of memory handed out.
    bytes: u64,
}

impl Places {
    fn new(convention: &Convention) -> Places {
        Places { next_int: convention.first_int, next_float: 0, bytes: 0 }
    }

    fn value(&mut self, param: &AbiParam) -> Result<SmallVec<[AbiPart; 2]>, LowerError> {
        let ty = param.value_type;
        if ty == I128 {
            return Ok(self.pair());
        }
        if ty.is_dynamic_vector() || ty.bytes() > 16 {
            return Err(unsupported("a vector of more than 128 bits in a signature"));
        }
        Ok(smallvec![self.part(ty)])
    }

    /// Two registers of which the first has an even number (rule C.10), or 16 bytes of memory.
    fn pair(&mut self) -> SmallVec<[AbiPart; 2]> {
        self.next_int = self.next_int.next_multiple_of(2);
        if self.next_int >= REGS {
            self.bytes = self.bytes.next_multiple_of(16);
        }
        smallvec![self.part(I64), self.part(I64)]
    }

    /// The convention leaves the upper parts of small integers undefined, so nothing is extended.
    fn part(&mut self, ty: Type) -> AbiPart {
        let next = if ty.is_int() { &mut self.next_int } else { &mut self.next_float };
        let place = if *next < REGS {
            *next += 1;
            AbiPlace::Reg(if ty.is_int() { x(*next - 1) } else { v(*next - 1) })
        } else {
            AbiPlace::Stack(self.memory(ty.bytes().next_power_of_two().max(8)))
        };
        AbiPart { place, ty, extension: ArgumentExtension::None }
    }

    fn memory(&mut self, size: u32) -> u32 {
        self.bytes = self.bytes.next_multiple_of(u64::from(size));
        let offset = self.bytes;
        self.bytes += u64::from(size);
        // More than fits is refused as a whole once everything is placed.
        offset as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_ir::types::{F32, F64, F128, I8, I32};

    fn check(conv: CallConv, params: &[Type], returns: &[Type], settings: &[&str]) -> Result<String, String> {
        let mut signature = Signature::new(conv);
        signature.params.extend(params.iter().map(|&ty| AbiParam::new(ty)));
        signature.returns.extend(returns.iter().map(|&ty| AbiParam::new(ty)));
        let mut all = Settings::default();
        for key in settings {
            all.set(key, "true").unwrap();
        }
        let abi = assign(&signature, &all).map_err(|e| e.to_string())?;
        Ok(abi.text(|reg| crate::regs::name(reg, 8)))
    }

    #[test]
    fn standard_places() {
        use CallConv::SystemV;
        assert_eq!(check(SystemV, &[I8, F64, I64, F32], &[I32], &[]).unwrap(), "x0 d0 x1 d1 (0) -> x0 (0)");
        assert_eq!(
            check(SystemV, &[I64; 11], &[I64, F64, I64, F64], &[]).unwrap(),
            "x0 x1 x2 x3 x4 x5 x6 x7 +0 +8 +16 (32) -> x0 d0 x1 d1 (0)"
        );
        let floats = [[F64; 8].as_slice(), &[F32, F128, I8]].concat();
        assert_eq!(check(SystemV, &floats, &[], &[]).unwrap(), "d0 d1 d2 d3 d4 d5 d6 d7 +0 +16 x0 (32) ->  (0)");
    }

    #[test]
    fn wide_integers_start_at_even_registers() {
        use CallConv::{SystemV, Tail};
        assert_eq!(check(SystemV, &[I8, I128, I8], &[I128], &[]).unwrap(), "x0 x2:x3 x4 (0) -> x0:x1 (0)");
        // What is left over when one goes to memory stays unused.
        let late = [I64, I64, I64, I64, I64, I64, I64, I128, I64, I128];
        assert_eq!(check(SystemV, &late, &[], &[]).unwrap(), "x0 x1 x2 x3 x4 x5 x6 +0:+8 +16 +32:+40 (48) ->  (0)");
        assert_eq!(check(Tail, &[I8, I128, I128], &[I8, I128], &[]).unwrap(), "x2 x4:x5 x6:x7 (0) -> x2 x4:x5 (0)");
    }

    #[test]
    fn results_beyond_the_registers_need_a_setting() {
        let results = [I64; 9];
        let error = check(CallConv::SystemV, &[I64], &results, &[]).unwrap_err();
        assert!(error.contains("enable_multi_ret_implicit_sret"));
        assert_eq!(
            check(CallConv::SystemV, &[I64], &results, &["enable_multi_ret_implicit_sret"]).unwrap(),
            "[x8] x0 (0) -> x0 x1 x2 x3 x4 x5 x6 x7 +0 (16)"
        );
        assert_eq!(
            check(CallConv::Tail, &[I64], &results[..8], &["enable_multi_ret_implicit_sret"]).unwrap(),
            "[x8] x2 (0) -> x2 x3 x4 x5 x6 x7 +0 +8 (16)"
        );
    }

    #[test]
    fn a_returned_structure_has_its_own_register() {
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params.push(AbiParam::special(I64, ArgumentPurpose::StructReturn));
        signature.params.push(AbiParam::new(I64));
        let abi = assign(&signature, &Settings::default()).unwrap();
        let place = |arg: &AbiArg| match arg {
            AbiArg::Value(parts) => parts[0].place,
            AbiArg::Struct { .. } => unreachable!("structures are refused"),
        };
        let places: Vec<AbiPlace> = abi.args.iter().map(place).collect();
        assert_eq!((abi.sret, &places[..]), (None, &[AbiPlace::Reg(X8), AbiPlace::Reg(x(0))][..]));
        signature.call_conv = CallConv::Tail;
        assert!(assign(&signature, &Settings::default()).is_err());
    }

    #[test]
    fn what_calls_preserve() {
        let of = |conv| assign(&Signature::new(conv), &Settings::default()).unwrap();
        for conv in [CallConv::SystemV, CallConv::Fast, CallConv::Tail] {
            let abi = of(conv);
            assert_eq!((abi.partial_clobbers, abi.kept_bytes), ((8..16).map(v).collect::<PRegSet>(), 8), "{conv:?}");
            assert_eq!(abi.callee_pops, conv == CallConv::Tail);
        }
        assert!(of(CallConv::PreserveAll).clobbers.is_empty());
    }

    #[test]
    fn other_conventions_are_refused_by_name() {
        for conv in [CallConv::WindowsFastcall, CallConv::AppleAarch64, CallConv::Probestack, CallConv::Winch] {
            let error = check(conv, &[], &[], &[]).unwrap_err();
            assert!(error.contains(conv.name()), "{error}");
        }
    }
}
