//! Calling conventions: the places of arguments and results, as a pure function of signature and settings.
//!
//! Source: System V ABI, AMD64 supplement, section 3.2. `fast` is the same; `tail` has more result registers, places the
//! halves of an i128 independently, and its callees pop their stack arguments.

use crate::isa::STACK_ALIGN;
use crate::regs::{R8, R9, R10, RAX, RCX, RDI, RDX, RSI, SYSV_CALLEE_SAVED, SYSV_CLOBBERS, xmm};
use kingpost_ir::Type;
use kingpost_ir::signature::{AbiParam, ArgumentExtension, ArgumentPurpose, CallConv, Signature};
use kingpost_ir::types::{I64, I128};
use kingpost_mach::LowerError;
use kingpost_mach::Settings;
use kingpost_mach::abi::{AbiArg, AbiPart, AbiPlace, AbiSignature, area_bytes, check_struct_return, no_convention};
use kingpost_regalloc::{PReg, PRegSet};
use smallvec::{SmallVec, smallvec};

const ARG_INTS: [PReg; 6] = [RDI, RSI, RDX, RCX, R8, R9];
const FLOATS: [PReg; 8] = [xmm(0), xmm(1), xmm(2), xmm(3), xmm(4), xmm(5), xmm(6), xmm(7)];
const SYSV_RESULT_INTS: [PReg; 2] = [RAX, RDX];
const LLVM_RESULT_INTS: [PReg; 3] = [RAX, RDX, RCX];
const TAIL_RESULT_INTS: [PReg; 8] = [RAX, RCX, RDX, RSI, RDI, R8, R9, R10];

fn unsupported(what: &'static str) -> LowerError {
    LowerError::Feature { what, target: "x86_64" }
}

/// What distinguishes the conventions.
struct Convention {
    result_ints: &'static [PReg],
    result_floats: usize,
    /// Are the halves of an i128 placed like two i64?
    splits_i128: bool,
    /// Does i128 need LLVM's extensions?
    guards_i128: bool,
    callee_pops: bool,
    clobbers: PRegSet,
}

impl Convention {
    fn of(signature: &Signature, settings: &Settings) -> Result<Convention, LowerError> {
        let llvm = settings.enable_llvm_abi_extensions;
        let system_v = Convention {
            result_ints: if llvm { &LLVM_RESULT_INTS } else { &SYSV_RESULT_INTS },
            result_floats: 2,
            splits_i128: false,
            guards_i128: !llvm,
            callee_pops: false,
            clobbers: SYSV_CLOBBERS,
        };
        match signature.call_conv {
            CallConv::SystemV => Ok(system_v),
            CallConv::Fast => Ok(Convention { splits_i128: true, ..system_v }),
            CallConv::Tail => Ok(Convention {
                result_ints: &TAIL_RESULT_INTS,
                result_floats: FLOATS.len(),
                splits_i128: true,
                guards_i128: false,
                callee_pops: true,
                clobbers: SYSV_CLOBBERS,
            }),
            CallConv::PreserveAll if !signature.returns.is_empty() => {
                Err(unsupported("a result in the calling convention `preserve_all`"))
            }
            CallConv::PreserveAll => Ok(Convention { clobbers: PRegSet::EMPTY, ..system_v }),
            CallConv::WindowsFastcall | CallConv::AppleAarch64 | CallConv::Probestack | CallConv::Winch => {
                Err(no_convention(signature.call_conv, "x86_64"))
            }
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
        callee_saved: if signature.call_conv == CallConv::PreserveAll {
            SYSV_CALLEE_SAVED.union(SYSV_CLOBBERS)
        } else {
            SYSV_CALLEE_SAVED
        },
        ..AbiSignature::default()
    };
    let mut results = Places::new(convention.result_ints, &FLOATS[..convention.result_floats]);
    for result in &signature.returns {
        abi.results.push(AbiArg::Value(results.value(result, &convention)?));
    }
    abi.return_bytes = area_bytes(results.bytes, STACK_ALIGN)?;
    let mut args = Places::new(&ARG_INTS, &FLOATS);
    if abi.return_bytes > 0 {
        if !settings.enable_multi_ret_implicit_sret {
            return Err(unsupported("more results than registers without `enable_multi_ret_implicit_sret`"));
        }
        abi.return_area = Some(args.part(I64, ArgumentExtension::None));
    }
    for (index, param) in signature.params.iter().enumerate() {
        let arg = match param.purpose {
            ArgumentPurpose::StructArgument(size) => args.structure(size),
            ArgumentPurpose::StructReturn => {
                abi.sret = Some((index, RAX));
                AbiArg::Value(args.value(param, &convention)?)
            }
            ArgumentPurpose::Normal | ArgumentPurpose::VmContext => AbiArg::Value(args.value(param, &convention)?),
        };
        abi.args.push(arg);
    }
    abi.arg_bytes = area_bytes(args.bytes, STACK_ALIGN)?;
    Ok(abi)
}

/// Registers and memory not handed out yet.
struct Places {
    ints: &'static [PReg],
    floats: &'static [PReg],
    /// Bytes of memory handed out.
    bytes: u64,
}

impl Places {
    fn new(ints: &'static [PReg], floats: &'static [PReg]) -> Places {
        Places { ints, floats, bytes: 0 }
    }

    fn value(&mut self, param: &AbiParam, convention: &Convention) -> Result<SmallVec<[AbiPart; 2]>, LowerError> {
        let ty = param.value_type;
        if ty == I128 {
            if convention.guards_i128 {
                return Err(unsupported("i128 in a signature without `enable_llvm_abi_extensions`"));
            }
            if !convention.splits_i128 && self.ints.len() < 2 {
                // It goes to memory as a whole, and no later argument uses a register left over.
                self.ints = &[];
                self.bytes = self.bytes.next_multiple_of(16);
            }
            return Ok(smallvec![self.part(I64, ArgumentExtension::None), self.part(I64, ArgumentExtension::None)]);
        }
        if ty.is_dynamic_vector() || ty.bytes() > 16 {
            return Err(unsupported("a vector of more than 128 bits in a signature"));
        }
        Ok(smallvec![self.part(ty, param.extension)])
    }

    fn part(&mut self, ty: Type, extension: ArgumentExtension) -> AbiPart {
        let regs = if ty.is_int() { &mut self.ints } else { &mut self.floats };
        let place = match regs.split_first() {
            Some((&reg, rest)) => {
                *regs = rest;
                AbiPlace::Reg(reg)
            }
            None => AbiPlace::Stack(self.memory(ty.bytes().next_power_of_two().max(8), ty.bytes().max(8))),
        };
        AbiPart { place, ty, extension }
    }

    fn structure(&mut self, size: u32) -> AbiArg {
        AbiArg::Struct { pointer: None, offset: self.memory(8, size), size }
    }

    fn memory(&mut self, align: u32, size: u32) -> u32 {
        self.bytes = self.bytes.next_multiple_of(u64::from(align));
        let offset = self.bytes;
        self.bytes += u64::from(size).next_multiple_of(8);
        // More than fits is refused as a whole once everything is placed.
        offset as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_ir::types::{F64, I8, I32};

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
            "rdi rsi rdx rcx r8 +0:+8 +16 (32) ->  (0)"
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
        assert_eq!(abi.args[0], AbiArg::Struct { pointer: None, offset: 0, size: 24 });
        assert_eq!((abi.sret, abi.arg_bytes), (Some((1, RAX)), 32));
    }

    #[test]
    fn other_conventions_are_refused_by_name() {
        for conv in [CallConv::WindowsFastcall, CallConv::AppleAarch64, CallConv::Probestack, CallConv::Winch] {
            let error = check(conv, &[], &[], &[]).unwrap_err();
            assert!(error.contains(conv.name()), "{error}");
        }
    }
}
