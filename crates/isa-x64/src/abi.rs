//! Calling conventions: the places of arguments and results, as a pure function of signature and settings.
//!
//! | convention | |
//! |---|---|
//! | `system_v` | System V ABI, AMD64 supplement, section 3.2 |
//! | `fast` | `system_v`, except that the halves of an i128 are placed independently |
//! | `tail` | `fast` with more result registers; callees pop their stack arguments |
//! | `windows_fastcall` | Microsoft's "x64 calling convention": an argument takes the register of its position, callers reserve 32 bytes for the first four, arguments and structures of more than 8 bytes are passed by address, variadic floats in both registers of their position; results of type i128 have been changed to vectors |
//! | `winch` | `system_v`, except that no register is preserved, and only the last result is in a register |
//! | `preserve_all` | `system_v` without results; all registers are preserved |
//! | `probestack` | the routine that touches the pages of a frame: the number of bytes is in rax; all registers except rax and r11 are preserved |

use crate::regs::{
    ALL_BUT_FRAME, R8, R9, R10, R11, RAX, RCX, RDI, RDX, RSI, SYSV_CALLEE_SAVED, SYSV_CLOBBERS, WINDOWS_CALLEE_SAVED,
    xmm,
};
use crate::x64::STACK_ALIGN;
use kingpost_ir::Type;
use kingpost_ir::signature::{AbiParam, ArgumentExtension, ArgumentPurpose, CallConv, Signature};
use kingpost_ir::types::{F16, F128, I32, I64, I128};
use kingpost_mach::LowerError;
use kingpost_mach::Settings;
use kingpost_mach::abi::{
    AbiArg, AbiPart, AbiPlace, AbiSignature, VariadicList, area_bytes, check_struct_return, no_convention, struct_word,
    winch_results,
};
use kingpost_regalloc::{PReg, PRegSet};
use smallvec::{SmallVec, smallvec};

const ARG_INTS: [PReg; 6] = [RDI, RSI, RDX, RCX, R8, R9];
const WINDOWS_ARG_INTS: [PReg; 4] = [RCX, RDX, R8, R9];
const FLOATS: [PReg; 8] = [xmm(0), xmm(1), xmm(2), xmm(3), xmm(4), xmm(5), xmm(6), xmm(7)];
const SYSV_RESULT_INTS: [PReg; 2] = [RAX, RDX];
const LLVM_RESULT_INTS: [PReg; 3] = [RAX, RDX, RCX];
const TAIL_RESULT_INTS: [PReg; 8] = [RAX, RCX, RDX, RSI, RDI, R8, R9, R10];
/// Size in bytes of the area in which a callee may store the arguments that it received in registers.
pub(crate) const SHADOW_BYTES: u64 = 32;

fn unsupported(what: &'static str) -> LowerError {
    LowerError::Feature { what, target: "x86_64" }
}

/// Way in which an i128 is passed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wide {
    /// In two registers or as a whole in memory.
    Whole,
    /// Like two i64.
    Split,
    /// By address.
    Indirect,
}

/// Differences between the conventions.
struct Convention {
    arg_ints: &'static [PReg],
    arg_floats: &'static [PReg],
    result_ints: &'static [PReg],
    result_floats: &'static [PReg],
    /// Whether an argument takes one register of each class.
    by_position: bool,
    wide: Wide,
    /// Whether i128 and, by position, f16 and f128 need LLVM's extensions.
    guards: bool,
    callee_pops: bool,
    clobbers: PRegSet,
    callee_saved: PRegSet,
}

impl Convention {
    fn of(signature: &Signature, settings: &Settings) -> Result<Convention, LowerError> {
        let llvm = settings.enable_llvm_abi_extensions;
        let system_v = Convention {
            arg_ints: &ARG_INTS,
            arg_floats: &FLOATS,
            result_ints: if llvm { &LLVM_RESULT_INTS } else { &SYSV_RESULT_INTS },
            result_floats: &FLOATS[..2],
            by_position: false,
            wide: Wide::Whole,
            guards: !llvm,
            callee_pops: false,
            clobbers: SYSV_CLOBBERS,
            callee_saved: SYSV_CALLEE_SAVED,
        };
        match signature.call_conv {
            CallConv::SystemV => Ok(system_v),
            CallConv::Fast => Ok(Convention { wide: Wide::Split, ..system_v }),
            CallConv::Tail => Ok(Convention {
                result_ints: &TAIL_RESULT_INTS,
                result_floats: &FLOATS,
                wide: Wide::Split,
                guards: false,
                callee_pops: true,
                ..system_v
            }),
            CallConv::WindowsFastcall => Ok(Convention {
                arg_ints: &WINDOWS_ARG_INTS,
                arg_floats: &FLOATS[..4],
                result_ints: &SYSV_RESULT_INTS,
                result_floats: &FLOATS[..1],
                by_position: true,
                wide: Wide::Indirect,
                clobbers: ALL_BUT_FRAME.difference(WINDOWS_CALLEE_SAVED),
                callee_saved: WINDOWS_CALLEE_SAVED,
                ..system_v
            }),
            CallConv::Winch => Ok(Convention { clobbers: ALL_BUT_FRAME, callee_saved: PRegSet::EMPTY, ..system_v }),
            CallConv::PreserveAll | CallConv::Probestack if !signature.returns.is_empty() => {
                Err(unsupported(match signature.call_conv {
                    CallConv::Probestack => "a result in the calling convention `probestack`",
                    _ => "a result in the calling convention `preserve_all`",
                }))
            }
            CallConv::PreserveAll => {
                Ok(Convention { clobbers: PRegSet::EMPTY, callee_saved: ALL_BUT_FRAME, ..system_v })
            }
            CallConv::Probestack => {
                let clobbers = PRegSet::EMPTY.with(RAX).with(R11);
                let callee_saved = ALL_BUT_FRAME.difference(clobbers);
                Ok(Convention { arg_ints: &[RAX], arg_floats: &[], clobbers, callee_saved, ..system_v })
            }
            CallConv::AppleAarch64 => Err(no_convention(signature.call_conv, "x86_64")),
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
    check_struct_return(signature, "x86_64")?;
    let mut abi = AbiSignature {
        callee_pops: convention.callee_pops,
        clobbers: convention.clobbers,
        callee_saved: convention.callee_saved,
        ..AbiSignature::default()
    };
    let result_bytes;
    (abi.results, result_bytes) = results(signature, &convention)?;
    abi.return_bytes = area_bytes(result_bytes, STACK_ALIGN)?;
    let mut args = Places::new(convention.arg_ints, convention.arg_floats, &convention);
    if convention.by_position {
        args.bytes = SHADOW_BYTES;
    }
    if abi.return_bytes > 0 {
        if !settings.enable_multi_ret_implicit_sret {
            return Err(unsupported("more results than registers without `enable_multi_ret_implicit_sret`"));
        }
        abi.return_area = Some(args.part(I64, ArgumentExtension::None));
    }
    for (index, param) in signature.params.iter().enumerate() {
        match param.purpose {
            ArgumentPurpose::StructReturn => abi.sret = Some((index, RAX)),
            ArgumentPurpose::StructArgument(_)
            | ArgumentPurpose::Normal
            | ArgumentPurpose::VmContext
            | ArgumentPurpose::VariadicList => {}
        }
        let is_variadic = signature.variadic.is_some_and(|fixed| index >= fixed as usize);
        abi.args.push(args.argument(param, is_variadic && convention.by_position)?);
    }
    if signature.variadic.is_some() {
        match signature.call_conv {
            CallConv::SystemV => abi.float_count = Some((RAX, (FLOATS.len() - args.floats.len()) as u32)),
            CallConv::WindowsFastcall => {}
            _ => return Err(unsupported("a variadic signature of this calling convention")),
        }
    }
    args.place_copies(&mut abi.args);
    abi.arg_bytes = area_bytes(args.bytes, STACK_ALIGN)?;
    Ok(abi)
}

/// Returns the places of the results, and the number of bytes of the results in memory.
fn results(signature: &Signature, convention: &Convention) -> Result<(Vec<AbiArg>, u64), LowerError> {
    if signature.call_conv == CallConv::Winch {
        signature.returns.iter().try_for_each(|result| check(result.value_type, convention))?;
        let extends = signature.returns.iter().any(|result| result.extension != ArgumentExtension::None);
        return winch_results(signature, [RAX, xmm(0)], if extends { 8 } else { 1 }, "x86_64");
    }
    let mut places = Places::new(convention.result_ints, convention.result_floats, convention);
    // Each result takes the next register of its class only.
    places.by_position = false;
    let results = signature.returns.iter().map(|result| Ok(AbiArg::Value(places.value(result)?)));
    let results = results.collect::<Result<_, LowerError>>()?;
    Ok((results, places.bytes))
}

/// Registers and memory that no argument has been assigned yet.
struct Places<'a> {
    ints: &'static [PReg],
    floats: &'static [PReg],
    by_position: bool,
    /// Bytes of memory that arguments have been assigned.
    bytes: u64,
    convention: &'a Convention,
}

impl Places<'_> {
    fn new<'a>(ints: &'static [PReg], floats: &'static [PReg], convention: &'a Convention) -> Places<'a> {
        Places { ints, floats, by_position: convention.by_position, bytes: 0, convention }
    }

    /// Returns the place of an argument. `is_copied` says that a float in a register is in a general-purpose register
    /// too, from which the callee stores it.
    fn argument(&mut self, param: &AbiParam, is_copied: bool) -> Result<AbiArg, LowerError> {
        let general = self.ints.first().filter(|_| is_copied && !param.value_type.is_int());
        match param.purpose {
            ArgumentPurpose::VariadicList => Ok(AbiArg::VariadicList(self.variadic_list())),
            ArgumentPurpose::StructArgument(size) if self.by_position => Ok(self.structure(size)),
            ArgumentPurpose::StructArgument(size) => Ok(AbiArg::Struct { offset: self.memory(8, size), size }),
            _ if self.by_position && param.value_type.bytes() > 8 => {
                check(param.value_type, self.convention)?;
                let pointer = self.part(I64, ArgumentExtension::None);
                Ok(AbiArg::Indirect { pointer, parts: parts(param.value_type) })
            }
            _ => {
                let mut parts = self.value(param)?;
                let bits = if param.value_type.bytes() > 4 { I64 } else { I32 };
                parts.extend(general.map(|&reg| AbiPart::plain(AbiPlace::Reg(reg), bits)));
                Ok(AbiArg::Value(parts))
            }
        }
    }

    /// Returns the place of a structure on Windows: a structure of the size of an integer is passed like one, another
    /// one by address.
    fn structure(&mut self, size: u32) -> AbiArg {
        let mut first = self.part(I64, ArgumentExtension::None);
        match first.place {
            _ if !matches!(size, 1 | 2 | 4 | 8) => AbiArg::StructByAddress { pointer: first, offset: 0, size },
            AbiPlace::Stack(offset) => AbiArg::Struct { offset, size },
            AbiPlace::Reg(_) => {
                first.ty = struct_word(size, 0);
                AbiArg::StructInRegs { parts: smallvec![first], size }
            }
        }
    }

    /// Returns the list of variadic arguments. On Windows, callees store their registers into the memory that callers
    /// reserve for them below the other arguments.
    fn variadic_list(&self) -> VariadicList {
        let first = WINDOWS_ARG_INTS.len() - self.ints.len();
        let offset = if self.ints.is_empty() { self.bytes as i32 } else { 8 * first as i32 };
        let registers = self.ints.iter().copied().zip((offset..).step_by(8)).collect();
        VariadicList { offset, registers, reserved: 0 }
    }

    fn value(&mut self, param: &AbiParam) -> Result<SmallVec<[AbiPart; 2]>, LowerError> {
        let ty = param.value_type;
        check(ty, self.convention)?;
        if ty == I128 {
            let extension = ArgumentExtension::None;
            if self.convention.wide == Wide::Whole && self.ints.len() < 2 {
                // A register that remains is for later arguments: "the assignments get reverted" (section 3.2.3).
                let low = self.memory(16, 16);
                let half = |offset| AbiPart { place: AbiPlace::Stack(offset), ty: I64, extension };
                return Ok(smallvec![half(low), half(low + 8)]);
            }
            return Ok(smallvec![self.part(I64, extension), self.part(I64, extension)]);
        }
        Ok(smallvec![self.part(ty, param.extension)])
    }

    fn part(&mut self, ty: Type, extension: ArgumentExtension) -> AbiPart {
        let reg = if ty.is_int() { self.ints.first() } else { self.floats.first() };
        if ty.is_int() || self.by_position {
            self.ints = self.ints.get(1..).unwrap_or_default();
        }
        if !ty.is_int() || self.by_position {
            self.floats = self.floats.get(1..).unwrap_or_default();
        }
        let place = match reg {
            Some(&reg) => AbiPlace::Reg(reg),
            None => AbiPlace::Stack(self.memory(ty.bytes().next_power_of_two().max(8), ty.bytes().max(8))),
        };
        AbiPart { place, ty, extension }
    }

    fn memory(&mut self, align: u32, size: u32) -> u32 {
        self.bytes = self.bytes.next_multiple_of(u64::from(align));
        let offset = self.bytes;
        self.bytes += u64::from(size).next_multiple_of(8);
        // Signatures with too many bytes are rejected once everything is placed.
        offset as u32
    }

    /// Places the copies of arguments that are passed by address, after all arguments.
    fn place_copies(&mut self, args: &mut [AbiArg]) {
        for arg in args {
            match arg {
                AbiArg::StructByAddress { offset, size, .. } => *offset = self.memory(16, *size),
                AbiArg::Indirect { parts, .. } => {
                    self.bytes = self.bytes.next_multiple_of(16);
                    for part in parts {
                        part.place = AbiPlace::Stack(self.memory(8, part.ty.bytes()));
                    }
                }
                _ => {}
            }
        }
    }
}

/// Rejects types that the convention does not pass.
fn check(ty: Type, convention: &Convention) -> Result<(), LowerError> {
    match ty {
        I128 if convention.guards => Err(unsupported("i128 in a signature without `enable_llvm_abi_extensions`")),
        F16 | F128 if convention.guards && convention.by_position => {
            Err(unsupported("f16 or f128 in a signature of `windows_fastcall` without `enable_llvm_abi_extensions`"))
        }
        _ if ty.is_dynamic_vector() || ty.bytes() > 16 => {
            Err(unsupported("a vector of more than 128 bits in a signature"))
        }
        _ => Ok(()),
    }
}

/// Returns the parts of a value in memory, without their offsets.
fn parts(ty: Type) -> SmallVec<[AbiPart; 2]> {
    let part = |ty| AbiPart { place: AbiPlace::Stack(0), ty, extension: ArgumentExtension::None };
    if ty == I128 { smallvec![part(I64), part(I64)] } else { smallvec![part(ty)] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_ir::types::{F64, I8, I8X16, I32};

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
    fn system_v_places() {
        use CallConv::SystemV;
        assert_eq!(check(SystemV, &[I8, F64, I64], &[I32], &[]).unwrap(), "rdi xmm0 rsi (0) -> rax (0)");
        assert_eq!(
            check(SystemV, &[I64; 9], &[I64, F64, I64, F64], &[]).unwrap(),
            "rdi rsi rdx rcx r8 r9 +0 +8 +16 (32) -> rax xmm0 rdx xmm1 (0)"
        );
        let i128_after = [I64, I64, I64, I64, I64, I128, I64];
        assert_eq!(
            check(SystemV, &i128_after, &[], &["enable_llvm_abi_extensions"]).unwrap(),
            "rdi rsi rdx rcx r8 +0:+8 r9 (16) ->  (0)"
        );
        assert!(check(SystemV, &[I128], &[], &[]).unwrap_err().contains("enable_llvm_abi_extensions"));
    }

    #[test]
    fn results_beyond_the_registers_need_a_setting() {
        let results = [I64, I64, I64, I8];
        let error = check(CallConv::SystemV, &[I64], &results, &[]).unwrap_err();
        assert!(error.contains("enable_multi_ret_implicit_sret"));
        assert_eq!(
            check(CallConv::SystemV, &[I64], &results, &["enable_multi_ret_implicit_sret"]).unwrap(),
            "[rdi] rsi (0) -> rax rdx +0 +8 (16)"
        );
        assert_eq!(check(CallConv::Tail, &[I64], &results, &[]).unwrap(), "rdi (0) -> rax rcx rdx rsi (0)");
    }

    #[test]
    fn structures_lie_among_the_stack_arguments() {
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params.push(AbiParam::special(I64, ArgumentPurpose::StructArgument(24)));
        signature.params.push(AbiParam::special(I64, ArgumentPurpose::StructReturn));
        let abi = assign(&signature, &Settings::default()).unwrap();
        assert_eq!(abi.args[0], AbiArg::Struct { offset: 0, size: 24 });
        assert_eq!((abi.sret, abi.arg_bytes), (Some((1, RAX)), 32));
    }

    #[test]
    fn windows_passes_structures_like_integers_or_by_address() {
        let mut signature = Signature::new(CallConv::WindowsFastcall);
        let structure = |size| AbiParam::special(I64, ArgumentPurpose::StructArgument(size));
        signature.params.extend([8, 16, 4, 24, 8, 3].map(structure));
        let abi = assign(&signature, &Settings::default()).unwrap();
        let text = abi.text(|reg| crate::regs::name(reg, 8));
        assert_eq!(text, "rcx..8 *rdx+48..16 r8..4 *r9+64..24 +32..8 *+40+96..3 (112) ->  (0)");
    }

    #[test]
    fn windows_has_variadic_floats_in_both_registers() {
        let mut signature = Signature::new(CallConv::WindowsFastcall);
        signature.params.extend([F64, F64, I64, F64, F64].map(AbiParam::new));
        signature.variadic = Some(1);
        let text = |signature: &Signature| {
            assign(signature, &Settings::default()).unwrap().text(|reg| crate::regs::name(reg, 8))
        };
        assert_eq!(text(&signature), "xmm0 xmm1:rdx r8 xmm3:r9 +32 (48) ->  (0)");
        signature.params.truncate(1);
        signature.params.push(AbiParam::special(I64, ArgumentPurpose::VariadicList));
        assert_eq!(text(&signature), "xmm0 (+8 rdx+8 r8+16 r9+24) (32) ->  (0)");
    }

    #[test]
    fn other_conventions_are_refused_by_name() {
        let error = check(CallConv::AppleAarch64, &[], &[], &[]).unwrap_err();
        assert!(error.contains("apple_aarch64"), "{error}");
    }

    #[test]
    fn variadic_calls_pass_the_number_of_float_registers() {
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params.extend([I64, F64, I32, F64].map(AbiParam::new));
        signature.variadic = Some(1);
        let abi = assign(&signature, &Settings::default()).unwrap();
        assert_eq!(abi.float_count, Some((RAX, 2)));
        signature.call_conv = CallConv::Tail;
        assert!(assign(&signature, &Settings::default()).is_err());
    }

    #[test]
    fn places_of_windows_go_by_position() {
        use CallConv::WindowsFastcall;
        assert_eq!(
            check(WindowsFastcall, &[I8, F64, I64, F64, F64, I32], &[I64, F64], &[]).unwrap(),
            "rcx xmm1 r8 xmm3 +32 +40 (48) -> rax xmm0 (0)"
        );
        // Callers reserve memory for the first four in any case.
        assert_eq!(check(WindowsFastcall, &[], &[], &[]).unwrap(), " (32) ->  (0)");
        let llvm = ["enable_llvm_abi_extensions"];
        let wide = [I64, I8X16, I64, I128, F128];
        assert_eq!(
            check(WindowsFastcall, &wide, &[], &llvm).unwrap(),
            "rcx *rdx+48 r8 *r9+64:+72 *+32+80 (96) ->  (0)"
        );
        assert!(check(WindowsFastcall, &[F16], &[], &[]).unwrap_err().contains("enable_llvm_abi_extensions"));
        let results = [I64, I64, F64, F64];
        assert_eq!(
            check(WindowsFastcall, &[F64, I64], &results, &["enable_multi_ret_implicit_sret"]).unwrap(),
            "[rcx] xmm1 r8 (32) -> rax rdx xmm0 +0 (16)"
        );
        let abi = assign(&Signature::new(WindowsFastcall), &Settings::default()).unwrap();
        assert_eq!(abi.clobbers.iter().count(), 7 + 6);
        assert!(abi.clobbers.intersection(abi.callee_saved).is_empty());
    }

    #[test]
    fn only_the_last_result_of_winch_is_in_a_register() {
        use CallConv::Winch;
        let area = ["enable_multi_ret_implicit_sret"];
        assert_eq!(check(Winch, &[I64], &[F64], &[]).unwrap(), "rdi (0) -> xmm0 (0)");
        // The first result has the highest address, and each takes its own size.
        assert_eq!(check(Winch, &[I64], &[I64, I32, I8, I64], &area).unwrap(), "[rdi] rsi (0) -> +5 +1 +0 rax (16)");
        let mut signature = Signature::new(Winch);
        let extended = AbiParam::new(I8).with_extension(ArgumentExtension::Uext);
        signature.returns.extend([extended, AbiParam::new(I64), extended]);
        let mut settings = Settings::default();
        settings.set(area[0], "true").unwrap();
        let abi = assign(&signature, &settings).unwrap();
        assert_eq!(abi.text(|reg| crate::regs::name(reg, 8)), "[rdi]  (0) -> +8 +0 rax (16)");
        assert!(abi.callee_saved.is_empty());
    }

    #[test]
    fn a_probe_routine_preserves_what_it_is_not_given() {
        assert_eq!(check(CallConv::Probestack, &[I64], &[], &[]).unwrap(), "rax (0) ->  (0)");
        let abi = assign(&Signature::new(CallConv::Probestack), &Settings::default()).unwrap();
        assert_eq!(abi.clobbers, PRegSet::EMPTY.with(RAX).with(R11));
        assert!(check(CallConv::Probestack, &[], &[I64], &[]).is_err());
    }
}
