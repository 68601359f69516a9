//! Calling conventions: the places of arguments and results, as a pure function of signature and settings.
//!
//! | convention | |
//! |---|---|
//! | `system_v`, `fast` | Procedure Call Standard for the Arm 64-bit Architecture (AAPCS64), section 6.8 |
//! | `tail` | AAPCS64 without x0 and x1 for arguments and results; callees pop their stack arguments |
//! | `apple_aarch64` | Apple's "Writing ARM64 code for Apple platforms": stack arguments take their own size, an i128 takes any two registers, and small integers in registers are extended |
//! | `windows_fastcall` | Microsoft's "Overview of ARM64 ABI conventions": AAPCS64; floats of variadic signatures have become integers |
//! | `winch` | AAPCS64, except that callers rely on x28 only, only the last result is in a register, and the address of further results is an ordinary first argument |
//! | `preserve_all` | AAPCS64 without results; all registers are preserved |
//!
//! Results have as many registers as arguments.

use crate::a64::STACK_ALIGN;
use crate::regs::{AAPCS_CALLEE_SAVED, AAPCS_CLOBBERS, AAPCS_KEPT_BYTES, AAPCS_PARTIAL, X8, X28, v, x};
use kingpost_ir::Type;
use kingpost_ir::signature::{AbiParam, ArgumentExtension, ArgumentPurpose, CallConv, Signature};
use kingpost_ir::types::{F128, I64, I128};
use kingpost_mach::LowerError;
use kingpost_mach::Settings;
use kingpost_mach::abi::{
    AbiArg, AbiPart, AbiPlace, AbiSignature, VariadicList, area_bytes, check_struct_return, no_convention, struct_word,
    winch_results,
};
use kingpost_regalloc::PRegSet;
use smallvec::{SmallVec, smallvec};

/// Registers per class for arguments, and for results: x0 to x7, v0 to v7.
const REGS: u8 = 8;
/// First integer register for arguments and results in `tail`.
const TAIL_FIRST: u8 = 2;

fn unsupported(what: &'static str) -> LowerError {
    LowerError::Feature { what, target: "aarch64" }
}

/// Differences between the conventions.
struct Convention {
    first_int: u8,
    callee_pops: bool,
    /// Whether Apple's rules apply: stack arguments without gaps, i128 in any two registers, extended small integers.
    apple: bool,
    /// Whether f128 needs LLVM's extensions.
    guards: bool,
    clobbers: PRegSet,
    partial_clobbers: PRegSet,
    callee_saved: PRegSet,
}

impl Convention {
    fn of(signature: &Signature, settings: &Settings) -> Result<Convention, LowerError> {
        let standard = Convention {
            first_int: 0,
            callee_pops: false,
            apple: false,
            guards: false,
            clobbers: AAPCS_CLOBBERS,
            partial_clobbers: AAPCS_PARTIAL,
            callee_saved: AAPCS_CALLEE_SAVED,
        };
        let all = AAPCS_CALLEE_SAVED.union(AAPCS_CLOBBERS);
        match signature.call_conv {
            CallConv::SystemV | CallConv::Fast | CallConv::WindowsFastcall => Ok(standard),
            CallConv::Tail => Ok(Convention { first_int: TAIL_FIRST, callee_pops: true, ..standard }),
            CallConv::AppleAarch64 => {
                Ok(Convention { apple: true, guards: !settings.enable_llvm_abi_extensions, ..standard })
            }
            CallConv::Winch => {
                let kept = PRegSet::EMPTY.with(X28);
                let clobbers = all.difference(kept);
                Ok(Convention { clobbers, partial_clobbers: PRegSet::EMPTY, callee_saved: kept, ..standard })
            }
            CallConv::PreserveAll if !signature.returns.is_empty() => {
                Err(unsupported("a result in the calling convention `preserve_all`"))
            }
            CallConv::PreserveAll => Ok(Convention {
                clobbers: PRegSet::EMPTY,
                partial_clobbers: PRegSet::EMPTY,
                callee_saved: all,
                ..standard
            }),
            CallConv::Probestack => Err(no_convention(signature.call_conv, "aarch64")),
        }
    }

    /// Returns the signature without arguments and results.
    fn empty(&self) -> AbiSignature {
        AbiSignature {
            callee_pops: self.callee_pops,
            clobbers: self.clobbers,
            partial_clobbers: self.partial_clobbers,
            kept_bytes: AAPCS_KEPT_BYTES,
            callee_saved: self.callee_saved,
            ..AbiSignature::default()
        }
    }
}

/// Places all arguments and results of `signature`.
///
/// # Errors
/// Conventions and types that are not supported, results without a register where no return area is allowed, results
/// beside `sret`, and too many bytes of stack arguments.
pub(crate) fn assign(signature: &Signature, settings: &Settings) -> Result<AbiSignature, LowerError> {
    let convention = Convention::of(signature, settings)?;
    check_struct_return(signature, "aarch64")?;
    let mut abi = convention.empty();
    let result_bytes;
    (abi.results, result_bytes) = results(signature, &convention)?;
    abi.return_bytes = area_bytes(result_bytes, STACK_ALIGN)?;
    let mut args = Places::new(&convention);
    if abi.return_bytes > 0 {
        if !settings.enable_multi_ret_implicit_sret {
            return Err(unsupported("more results than registers without `enable_multi_ret_implicit_sret`"));
        }
        let is_argument = signature.call_conv == CallConv::Winch;
        let pointer = if is_argument { args.part(I64, ArgumentExtension::None) } else { pointer_in_x8() };
        abi.return_area = Some(pointer);
    }
    check_variadic(signature)?;
    args.splits = signature.call_conv == CallConv::WindowsFastcall && signature.variadic.is_some();
    for (index, param) in signature.params.iter().enumerate() {
        if convention.apple && signature.variadic == Some(index as u32) {
            // Variadic arguments are in memory, each in at least 8 bytes.
            args = Places { next_int: REGS, next_float: REGS, apple: false, ..args };
            args.bytes = args.bytes.next_multiple_of(8);
        }
        let arg = match param.purpose {
            ArgumentPurpose::StructArgument(size) => args.structure(size),
            ArgumentPurpose::VariadicList => AbiArg::VariadicList(args.variadic_list(convention.apple)),
            ArgumentPurpose::StructReturn if convention.callee_pops => {
                return Err(unsupported("`sret` in the calling convention `tail`"));
            }
            // The address of the return area is not a result.
            ArgumentPurpose::StructReturn => AbiArg::Value(smallvec![pointer_in_x8()]),
            ArgumentPurpose::Normal | ArgumentPurpose::VmContext => AbiArg::Value(args.value(param)?),
        };
        abi.args.push(arg);
    }
    args.place_copies(&mut abi.args);
    abi.arg_bytes = area_bytes(args.bytes, STACK_ALIGN)?;
    Ok(abi)
}

/// Rejects variadic signatures of most conventions, and types that they do not pass.
fn check_variadic(signature: &Signature) -> Result<(), LowerError> {
    if signature.variadic.is_none() {
        return Ok(());
    }
    match signature.call_conv {
        CallConv::SystemV | CallConv::AppleAarch64 => Ok(()),
        CallConv::WindowsFastcall if signature.params.iter().all(|param| param.value_type.is_int()) => Ok(()),
        CallConv::WindowsFastcall => Err(unsupported("a dynamic vector in a variadic signature")),
        _ => Err(unsupported("a variadic signature of this calling convention")),
    }
}

/// Returns the places of the results, and the number of bytes of the results in memory.
fn results(signature: &Signature, convention: &Convention) -> Result<(Vec<AbiArg>, u64), LowerError> {
    let mut places = Places::new(convention);
    let values = signature.returns.iter().map(|result| Ok(AbiArg::Value(places.value(result)?)));
    let results = values.collect::<Result<_, LowerError>>()?;
    match signature.call_conv {
        CallConv::Winch => winch_results(signature, [x(0), v(0)], 1, "aarch64"),
        _ => Ok((results, places.bytes)),
    }
}

/// Returns the place of the address of results in memory.
fn pointer_in_x8() -> AbiPart {
    AbiPart { place: AbiPlace::Reg(X8), ty: I64, extension: ArgumentExtension::None }
}

/// Registers and memory that no argument has been assigned yet.
struct Places {
    /// Numbers of the next integer register and the next vector register.
    next_int: u8,
    next_float: u8,
    /// Bytes of memory that arguments have been assigned.
    bytes: u64,
    apple: bool,
    guards: bool,
    /// Whether a structure may be partly in registers: rules of Windows for variadic signatures.
    splits: bool,
}

impl Places {
    fn new(convention: &Convention) -> Places {
        let Convention { first_int, apple, guards, .. } = *convention;
        Places { next_int: first_int, next_float: 0, bytes: 0, apple, guards, splits: false }
    }

    /// Returns the place of a structure: up to 16 bytes like integers (rules C.12 to C.15), otherwise by address (rule
    /// B.4). Its alignment is taken to be 8 bytes, and its members no floats.
    fn structure(&mut self, size: u32) -> AbiArg {
        if size > 16 {
            return AbiArg::StructByAddress { pointer: self.part(I64, ArgumentExtension::None), offset: 0, size };
        }
        let words = size.div_ceil(8);
        let fits = u32::from(self.next_int) + words <= u32::from(REGS);
        if !fits && (!self.splits || self.next_int >= REGS) {
            self.next_int = REGS;
            let offset = self.bytes.next_multiple_of(8);
            self.bytes = offset + 8 * u64::from(words);
            return AbiArg::Struct { offset: offset as u32, size };
        }
        let word = |index| AbiPart { ty: struct_word(size, index), ..self.part(I64, ArgumentExtension::None) };
        AbiArg::StructInRegs { parts: (0..words).map(word).collect(), size }
    }

    /// Returns the list of variadic arguments. On Windows, callees store the registers that may hold some immediately
    /// below the arguments in memory; elsewhere, all are in memory.
    fn variadic_list(&self, apple: bool) -> VariadicList {
        let offset = self.bytes.next_multiple_of(8) as i32;
        if apple || self.next_int >= REGS {
            return VariadicList { offset, ..VariadicList::default() };
        }
        let bytes = 8 * i32::from(REGS - self.next_int);
        let registers = (self.next_int..REGS).map(x).zip((-bytes..).step_by(8)).collect();
        VariadicList { offset: -bytes, registers, reserved: (bytes as u32).next_multiple_of(STACK_ALIGN) }
    }

    /// Places the copies of structures, after all arguments.
    fn place_copies(&mut self, args: &mut [AbiArg]) {
        for arg in args {
            if let AbiArg::StructByAddress { offset, size, .. } = arg {
                let start = self.bytes.next_multiple_of(16);
                *offset = start as u32;
                self.bytes = start + u64::from(*size).next_multiple_of(8);
            }
        }
    }

    fn value(&mut self, param: &AbiParam) -> Result<SmallVec<[AbiPart; 2]>, LowerError> {
        let ty = param.value_type;
        if ty == I128 {
            return Ok(self.pair());
        }
        if ty == F128 && self.guards {
            return Err(unsupported("f128 in a signature of `apple_aarch64` without `enable_llvm_abi_extensions`"));
        }
        if ty.is_dynamic_vector() || ty.bytes() > 16 {
            return Err(unsupported("a vector of more than 128 bits in a signature"));
        }
        Ok(smallvec![self.part(ty, param.extension)])
    }

    /// Returns the places of the halves of an `i128`: two registers or 16 bytes of memory. Except under Apple's
    /// convention, the first register has an even number (rule C.10).
    fn pair(&mut self) -> SmallVec<[AbiPart; 2]> {
        if !self.apple {
            self.next_int = self.next_int.next_multiple_of(2);
        }
        if self.next_int + 2 > REGS {
            self.next_int = REGS;
            self.bytes = self.bytes.next_multiple_of(16);
        }
        let half = ArgumentExtension::None;
        smallvec![self.part(I64, half), self.part(I64, half)]
    }

    /// Returns the place of one part: the next register, or memory. The standard leaves the upper bits of small
    /// integers undefined, so only Apple's convention extends them, and only in registers.
    fn part(&mut self, ty: Type, extension: ArgumentExtension) -> AbiPart {
        let next = if ty.is_int() { &mut self.next_int } else { &mut self.next_float };
        if *next < REGS {
            *next += 1;
            let place = AbiPlace::Reg(if ty.is_int() { x(*next - 1) } else { v(*next - 1) });
            return AbiPart { place, ty, extension: if self.apple { extension } else { ArgumentExtension::None } };
        }
        let size = ty.bytes().next_power_of_two().max(if self.apple { 1 } else { 8 });
        AbiPart { place: AbiPlace::Stack(self.memory(size)), ty, extension: ArgumentExtension::None }
    }

    fn memory(&mut self, size: u32) -> u32 {
        self.bytes = self.bytes.next_multiple_of(u64::from(size));
        let offset = self.bytes;
        self.bytes += u64::from(size);
        // Signatures with too many bytes are rejected once everything is placed.
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
    fn structures_and_variadic_lists() {
        let text = |conv: CallConv, params: &[AbiParam], variadic: Option<u32>| {
            let mut signature = Signature::new(conv);
            signature.params.extend(params.iter().copied());
            signature.variadic = variadic;
            assign(&signature, &Settings::default()).unwrap().text(|reg| crate::regs::name(reg, 8))
        };
        let word = AbiParam::new(I64);
        let structure = |size| AbiParam::special(I64, ArgumentPurpose::StructArgument(size));
        let params = [structure(8), structure(16), structure(24), word, word, word, structure(16), word];
        let expected = "x0..8 x1:x2..16 *x3+32..24 x4 x5 x6 +0..16 +16 (64) ->  (0)";
        assert_eq!(text(CallConv::SystemV, &params, None), expected);
        let split = "x0..8 x1:x2..16 *x3+16..24 x4 x5 x6 x7:+0..16 +8 (48) ->  (0)";
        assert_eq!(text(CallConv::WindowsFastcall, &params, Some(6)), split);
        let list = AbiParam::special(I64, ArgumentPurpose::VariadicList);
        let params = [word, word, word, word, word, list];
        let stored = "x0 x1 x2 x3 x4 (-24 x5-24 x6-16 x7-8) (0) ->  (0)";
        assert_eq!(text(CallConv::WindowsFastcall, &params, Some(5)), stored);
        assert_eq!(text(CallConv::AppleAarch64, &params, Some(5)), "x0 x1 x2 x3 x4 (+0) (0) ->  (0)");
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
        // A register that remains when an argument is placed in memory stays unused.
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
            _ => unreachable!("the parameters are no structures"),
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
    fn apple_packs_its_stack() {
        use CallConv::AppleAarch64;
        let many = [[I64; 7].as_slice(), &[I128, I8, I8, I32, I8, I64]].concat();
        assert_eq!(
            check(AppleAarch64, &many, &[], &[]).unwrap(),
            "x0 x1 x2 x3 x4 x5 x6 +0:+8 +16 +17 +20 +24 +32 (48) ->  (0)"
        );
        assert_eq!(check(AppleAarch64, &[I8, I128], &[I8, I128], &[]).unwrap(), "x0 x1:x2 (0) -> x0 x1:x2 (0)");
        assert!(check(AppleAarch64, &[F128], &[], &[]).unwrap_err().contains("enable_llvm_abi_extensions"));
        let mut signature = Signature::new(AppleAarch64);
        let extended = AbiParam::new(I8).with_extension(ArgumentExtension::Sext);
        signature.params.extend([extended; 9]);
        let abi = assign(&signature, &Settings::default()).unwrap();
        let extension =
            |arg: &AbiArg| matches!(arg, AbiArg::Value(parts) if parts[0].extension == ArgumentExtension::Sext);
        assert_eq!(abi.args.iter().map(extension).collect::<Vec<_>>(), [[true; 8].as_slice(), &[false]].concat());
    }

    #[test]
    fn variadic_arguments_of_apple_are_in_memory() {
        let mut signature = Signature::new(CallConv::AppleAarch64);
        signature.params.extend([I64, F64, I32, I8].map(AbiParam::new));
        signature.variadic = Some(1);
        let text = |signature: &Signature| {
            assign(signature, &Settings::default()).unwrap().text(|reg| crate::regs::name(reg, 8))
        };
        assert_eq!(text(&signature), "x0 +0 +8 +16 (32) ->  (0)");
        signature.call_conv = CallConv::SystemV;
        assert_eq!(text(&signature), "x0 d0 x1 x2 (0) ->  (0)");
        signature.call_conv = CallConv::Tail;
        assert!(assign(&signature, &Settings::default()).is_err());
    }

    #[test]
    fn only_the_last_result_of_winch_is_in_a_register() {
        let area = ["enable_multi_ret_implicit_sret"];
        assert_eq!(
            check(CallConv::Winch, &[I64], &[I64, I32, I8, F64], &area).unwrap(),
            "[x0] x1 (0) -> +5 +1 +0 d0 (16)"
        );
        let abi = assign(&Signature::new(CallConv::Winch), &Settings::default()).unwrap();
        assert_eq!(abi.callee_saved, PRegSet::EMPTY.with(X28));
    }

    #[test]
    fn other_conventions_are_refused_by_name() {
        let error = check(CallConv::Probestack, &[], &[], &[]).unwrap_err();
        assert!(error.contains("probestack"), "{error}");
    }

    #[test]
    fn variadic_floats_of_windows_have_become_integers() {
        let mut signature = Signature::new(CallConv::WindowsFastcall);
        signature.params.extend([I64, I64, I32].map(AbiParam::new));
        signature.variadic = Some(1);
        let abi = assign(&signature, &Settings::default()).unwrap();
        assert_eq!(abi.text(|reg| crate::regs::name(reg, 8)), "x0 x1 x2 (0) ->  (0)");
        signature.params.push(AbiParam::new(F128));
        assert!(assign(&signature, &Settings::default()).is_err());
    }
}
