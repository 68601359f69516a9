//! The matcher of the proved rules. Written by `kingpost rules generate`: do not edit.

use super::bits::Bits;
use super::support::{condition, constant, definition, fits, is_int_or_lanes, make_constant};
use super::Graph;
use kingpost_ir::condcodes::IntCC;
use kingpost_ir::{InstData, Opcode, Type, Value, types};

const _: () = assert!(fits(include_bytes!("../../../../rules/integers.rules"), 0xb8d6f28fa12322de), "the matcher is stale: make rules");
const _: () = assert!(fits(include_bytes!("../../../../rules/floats.rules"), 0xa85d6072798f374a), "the matcher is stale: make rules");
const _: () = assert!(fits(include_bytes!("../../../../rules/ledger.tsv"), 0x4fde7b2ed31c08e0), "the matcher is stale: make rules");

/// A proved rule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rule {
    /// `add_zero`
    AddZero,
    /// `sub_zero`
    SubZero,
    /// `mul_one`
    MulOne,
    /// `mul_zero`
    MulZero,
    /// `and_ones`
    AndOnes,
    /// `and_zero`
    AndZero,
    /// `or_zero`
    OrZero,
    /// `or_ones`
    OrOnes,
    /// `xor_zero`
    XorZero,
    /// `and_self`
    AndSelf,
    /// `or_self`
    OrSelf,
    /// `xor_self`
    XorSelf,
    /// `sub_self`
    SubSelf,
    /// `shl_zero`
    ShlZero,
    /// `ushr_zero`
    UshrZero,
    /// `sshr_zero`
    SshrZero,
    /// `rotl_zero`
    RotlZero,
    /// `rotr_zero`
    RotrZero,
    /// `udiv_one`
    UdivOne,
    /// `sdiv_one`
    SdivOne,
    /// `urem_one`
    UremOne,
    /// `srem_one`
    SremOne,
    /// `absorb_and`
    AbsorbAnd,
    /// `absorb_or`
    AbsorbOr,
    /// `xor_ones`
    XorOnes,
    /// `not_not`
    NotNot,
    /// `neg_neg`
    NegNeg,
    /// `zero_sub`
    ZeroSub,
    /// `neg_sub`
    NegSub,
    /// `add_neg`
    AddNeg,
    /// `sub_neg`
    SubNeg,
    /// `mul_minus_one`
    MulMinusOne,
    /// `sub_const`
    SubConst,
    /// `add_chain`
    AddChain,
    /// `sub_add_const`
    SubAddConst,
    /// `const_sub_add`
    ConstSubAdd,
    /// `mul_chain`
    MulChain,
    /// `and_chain`
    AndChain,
    /// `or_chain`
    OrChain,
    /// `xor_chain`
    XorChain,
    /// `sub_add`
    SubAdd,
    /// `add_sub`
    AddSub,
    /// `sub_sub`
    SubSub,
    /// `mul_pow2`
    MulPow2,
    /// `udiv_pow2`
    UdivPow2,
    /// `urem_pow2`
    UremPow2,
    /// `ext_ext`
    ExtExt,
    /// `sext_sext`
    SextSext,
    /// `sext_uext`
    SextUext,
    /// `reduce_uext`
    ReduceUext,
    /// `reduce_sext`
    ReduceSext,
    /// `reduce_reduce`
    ReduceReduce,
    /// `reduce_uext_low`
    ReduceUextLow,
    /// `reduce_uext_high`
    ReduceUextHigh,
    /// `narrow_add`
    NarrowAdd,
    /// `narrow_and`
    NarrowAnd,
    /// `amount_uext`
    AmountUext,
    /// `not_cmp`
    NotCmp,
    /// `cmp_not_zero`
    CmpNotZero,
    /// `cmp_zero`
    CmpZero,
    /// `eq_add_const`
    EqAddConst,
    /// `eq_self`
    EqSelf,
    /// `ne_self`
    NeSelf,
    /// `ult_zero`
    UltZero,
    /// `uge_zero`
    UgeZero,
    /// `range`
    Range,
    /// `cond_uext`
    CondUext,
    /// `cond_sext`
    CondSext,
    /// `cond_ne_zero`
    CondNeZero,
    /// `cond_neg`
    CondNeg,
    /// `select_uext`
    SelectUext,
    /// `select_same`
    SelectSame,
    /// `select_ne_zero`
    SelectNeZero,
    /// `select_smin`
    SelectSmin,
    /// `select_smax`
    SelectSmax,
    /// `select_umin`
    SelectUmin,
    /// `select_umax`
    SelectUmax,
    /// `shl_ushr`
    ShlUshr,
    /// `ushr_shl`
    UshrShl,
    /// `shl_shl`
    ShlShl,
    /// `select_smin_le`
    SelectSminLe,
    /// `select_smax_ge`
    SelectSmaxGe,
    /// `select_umin_le`
    SelectUminLe,
    /// `select_umax_ge`
    SelectUmaxGe,
    /// `smin_self`
    SminSelf,
    /// `smax_self`
    SmaxSelf,
    /// `umin_self`
    UminSelf,
    /// `umax_self`
    UmaxSelf,
    /// `umin_zero`
    UminZero,
    /// `umax_zero`
    UmaxZero,
    /// `abs_neg`
    AbsNeg,
    /// `abs_abs`
    AbsAbs,
    /// `and_uext`
    AndUext,
    /// `or_uext`
    OrUext,
    /// `xor_uext`
    XorUext,
    /// `narrow_add_uext`
    NarrowAddUext,
    /// `narrow_sub_uext`
    NarrowSubUext,
    /// `narrow_add_sext`
    NarrowAddSext,
    /// `narrow_sub_sext`
    NarrowSubSext,
    /// `narrow_or`
    NarrowOr,
    /// `narrow_xor`
    NarrowXor,
    /// `cmp_uext_zero`
    CmpUextZero,
    /// `cmp_sext_zero`
    CmpSextZero,
    /// `cmp_uext`
    CmpUext,
    /// `cmp_sext`
    CmpSext,
    /// `cmp_and_one`
    CmpAndOne,
    /// `cmp_sub_zero`
    CmpSubZero,
    /// `cmp_xor_zero`
    CmpXorZero,
    /// `cmp_neg_zero`
    CmpNegZero,
    /// `select_one_zero`
    SelectOneZero,
    /// `select_one_zero_i8`
    SelectOneZeroI8,
    /// `select_eq_zero`
    SelectEqZero,
    /// `cond_bmask`
    CondBmask,
    /// `cond_select`
    CondSelect,
    /// `fneg_fneg`
    FnegFneg,
    /// `fabs_fneg`
    FabsFneg,
    /// `fabs_fabs`
    FabsFabs,
    /// `copysign_self`
    CopysignSelf,
    /// `copysign_fneg`
    CopysignFneg,
    /// `copysign_fabs`
    CopysignFabs,
}

impl Rule {
    /// All, in the order in which they are tried.
    pub const ALL: &[Rule] = &[
        Rule::AddZero,
        Rule::SubZero,
        Rule::MulOne,
        Rule::MulZero,
        Rule::AndOnes,
        Rule::AndZero,
        Rule::OrZero,
        Rule::OrOnes,
        Rule::XorZero,
        Rule::AndSelf,
        Rule::OrSelf,
        Rule::XorSelf,
        Rule::SubSelf,
        Rule::ShlZero,
        Rule::UshrZero,
        Rule::SshrZero,
        Rule::RotlZero,
        Rule::RotrZero,
        Rule::UdivOne,
        Rule::SdivOne,
        Rule::UremOne,
        Rule::SremOne,
        Rule::AbsorbAnd,
        Rule::AbsorbOr,
        Rule::XorOnes,
        Rule::NotNot,
        Rule::NegNeg,
        Rule::ZeroSub,
        Rule::NegSub,
        Rule::AddNeg,
        Rule::SubNeg,
        Rule::MulMinusOne,
        Rule::SubConst,
        Rule::AddChain,
        Rule::SubAddConst,
        Rule::ConstSubAdd,
        Rule::MulChain,
        Rule::AndChain,
        Rule::OrChain,
        Rule::XorChain,
        Rule::SubAdd,
        Rule::AddSub,
        Rule::SubSub,
        Rule::MulPow2,
        Rule::UdivPow2,
        Rule::UremPow2,
        Rule::ExtExt,
        Rule::SextSext,
        Rule::SextUext,
        Rule::ReduceUext,
        Rule::ReduceSext,
        Rule::ReduceReduce,
        Rule::ReduceUextLow,
        Rule::ReduceUextHigh,
        Rule::NarrowAdd,
        Rule::NarrowAnd,
        Rule::AmountUext,
        Rule::NotCmp,
        Rule::CmpNotZero,
        Rule::CmpZero,
        Rule::EqAddConst,
        Rule::EqSelf,
        Rule::NeSelf,
        Rule::UltZero,
        Rule::UgeZero,
        Rule::Range,
        Rule::CondUext,
        Rule::CondSext,
        Rule::CondNeZero,
        Rule::CondNeg,
        Rule::SelectUext,
        Rule::SelectSame,
        Rule::SelectNeZero,
        Rule::SelectSmin,
        Rule::SelectSmax,
        Rule::SelectUmin,
        Rule::SelectUmax,
        Rule::ShlUshr,
        Rule::UshrShl,
        Rule::ShlShl,
        Rule::SelectSminLe,
        Rule::SelectSmaxGe,
        Rule::SelectUminLe,
        Rule::SelectUmaxGe,
        Rule::SminSelf,
        Rule::SmaxSelf,
        Rule::UminSelf,
        Rule::UmaxSelf,
        Rule::UminZero,
        Rule::UmaxZero,
        Rule::AbsNeg,
        Rule::AbsAbs,
        Rule::AndUext,
        Rule::OrUext,
        Rule::XorUext,
        Rule::NarrowAddUext,
        Rule::NarrowSubUext,
        Rule::NarrowAddSext,
        Rule::NarrowSubSext,
        Rule::NarrowOr,
        Rule::NarrowXor,
        Rule::CmpUextZero,
        Rule::CmpSextZero,
        Rule::CmpUext,
        Rule::CmpSext,
        Rule::CmpAndOne,
        Rule::CmpSubZero,
        Rule::CmpXorZero,
        Rule::CmpNegZero,
        Rule::SelectOneZero,
        Rule::SelectOneZeroI8,
        Rule::SelectEqZero,
        Rule::CondBmask,
        Rule::CondSelect,
        Rule::FnegFneg,
        Rule::FabsFneg,
        Rule::FabsFabs,
        Rule::CopysignSelf,
        Rule::CopysignFneg,
        Rule::CopysignFabs,
    ];

    /// The name in the text.
    pub fn name(self) -> &'static str {
        match self {
            Rule::AddZero => "add_zero",
            Rule::SubZero => "sub_zero",
            Rule::MulOne => "mul_one",
            Rule::MulZero => "mul_zero",
            Rule::AndOnes => "and_ones",
            Rule::AndZero => "and_zero",
            Rule::OrZero => "or_zero",
            Rule::OrOnes => "or_ones",
            Rule::XorZero => "xor_zero",
            Rule::AndSelf => "and_self",
            Rule::OrSelf => "or_self",
            Rule::XorSelf => "xor_self",
            Rule::SubSelf => "sub_self",
            Rule::ShlZero => "shl_zero",
            Rule::UshrZero => "ushr_zero",
            Rule::SshrZero => "sshr_zero",
            Rule::RotlZero => "rotl_zero",
            Rule::RotrZero => "rotr_zero",
            Rule::UdivOne => "udiv_one",
            Rule::SdivOne => "sdiv_one",
            Rule::UremOne => "urem_one",
            Rule::SremOne => "srem_one",
            Rule::AbsorbAnd => "absorb_and",
            Rule::AbsorbOr => "absorb_or",
            Rule::XorOnes => "xor_ones",
            Rule::NotNot => "not_not",
            Rule::NegNeg => "neg_neg",
            Rule::ZeroSub => "zero_sub",
            Rule::NegSub => "neg_sub",
            Rule::AddNeg => "add_neg",
            Rule::SubNeg => "sub_neg",
            Rule::MulMinusOne => "mul_minus_one",
            Rule::SubConst => "sub_const",
            Rule::AddChain => "add_chain",
            Rule::SubAddConst => "sub_add_const",
            Rule::ConstSubAdd => "const_sub_add",
            Rule::MulChain => "mul_chain",
            Rule::AndChain => "and_chain",
            Rule::OrChain => "or_chain",
            Rule::XorChain => "xor_chain",
            Rule::SubAdd => "sub_add",
            Rule::AddSub => "add_sub",
            Rule::SubSub => "sub_sub",
            Rule::MulPow2 => "mul_pow2",
            Rule::UdivPow2 => "udiv_pow2",
            Rule::UremPow2 => "urem_pow2",
            Rule::ExtExt => "ext_ext",
            Rule::SextSext => "sext_sext",
            Rule::SextUext => "sext_uext",
            Rule::ReduceUext => "reduce_uext",
            Rule::ReduceSext => "reduce_sext",
            Rule::ReduceReduce => "reduce_reduce",
            Rule::ReduceUextLow => "reduce_uext_low",
            Rule::ReduceUextHigh => "reduce_uext_high",
            Rule::NarrowAdd => "narrow_add",
            Rule::NarrowAnd => "narrow_and",
            Rule::AmountUext => "amount_uext",
            Rule::NotCmp => "not_cmp",
            Rule::CmpNotZero => "cmp_not_zero",
            Rule::CmpZero => "cmp_zero",
            Rule::EqAddConst => "eq_add_const",
            Rule::EqSelf => "eq_self",
            Rule::NeSelf => "ne_self",
            Rule::UltZero => "ult_zero",
            Rule::UgeZero => "uge_zero",
            Rule::Range => "range",
            Rule::CondUext => "cond_uext",
            Rule::CondSext => "cond_sext",
            Rule::CondNeZero => "cond_ne_zero",
            Rule::CondNeg => "cond_neg",
            Rule::SelectUext => "select_uext",
            Rule::SelectSame => "select_same",
            Rule::SelectNeZero => "select_ne_zero",
            Rule::SelectSmin => "select_smin",
            Rule::SelectSmax => "select_smax",
            Rule::SelectUmin => "select_umin",
            Rule::SelectUmax => "select_umax",
            Rule::ShlUshr => "shl_ushr",
            Rule::UshrShl => "ushr_shl",
            Rule::ShlShl => "shl_shl",
            Rule::SelectSminLe => "select_smin_le",
            Rule::SelectSmaxGe => "select_smax_ge",
            Rule::SelectUminLe => "select_umin_le",
            Rule::SelectUmaxGe => "select_umax_ge",
            Rule::SminSelf => "smin_self",
            Rule::SmaxSelf => "smax_self",
            Rule::UminSelf => "umin_self",
            Rule::UmaxSelf => "umax_self",
            Rule::UminZero => "umin_zero",
            Rule::UmaxZero => "umax_zero",
            Rule::AbsNeg => "abs_neg",
            Rule::AbsAbs => "abs_abs",
            Rule::AndUext => "and_uext",
            Rule::OrUext => "or_uext",
            Rule::XorUext => "xor_uext",
            Rule::NarrowAddUext => "narrow_add_uext",
            Rule::NarrowSubUext => "narrow_sub_uext",
            Rule::NarrowAddSext => "narrow_add_sext",
            Rule::NarrowSubSext => "narrow_sub_sext",
            Rule::NarrowOr => "narrow_or",
            Rule::NarrowXor => "narrow_xor",
            Rule::CmpUextZero => "cmp_uext_zero",
            Rule::CmpSextZero => "cmp_sext_zero",
            Rule::CmpUext => "cmp_uext",
            Rule::CmpSext => "cmp_sext",
            Rule::CmpAndOne => "cmp_and_one",
            Rule::CmpSubZero => "cmp_sub_zero",
            Rule::CmpXorZero => "cmp_xor_zero",
            Rule::CmpNegZero => "cmp_neg_zero",
            Rule::SelectOneZero => "select_one_zero",
            Rule::SelectOneZeroI8 => "select_one_zero_i8",
            Rule::SelectEqZero => "select_eq_zero",
            Rule::CondBmask => "cond_bmask",
            Rule::CondSelect => "cond_select",
            Rule::FnegFneg => "fneg_fneg",
            Rule::FabsFneg => "fabs_fneg",
            Rule::FabsFabs => "fabs_fabs",
            Rule::CopysignSelf => "copysign_self",
            Rule::CopysignFneg => "copysign_fneg",
            Rule::CopysignFabs => "copysign_fabs",
        }
    }
}

/// The value that the first matching rule makes of the request.
pub(super) fn match_request(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    match request.opcode() {
        Opcode::Select => match_select(g, request),
        Opcode::Icmp => match_icmp(g, request),
        Opcode::Iadd => match_iadd(g, request),
        Opcode::Isub => match_isub(g, request),
        Opcode::Ineg => match_ineg(g, request),
        Opcode::Iabs => match_iabs(g, request),
        Opcode::Imul => match_imul(g, request),
        Opcode::Smin => match_smin(g, request),
        Opcode::Smax => match_smax(g, request),
        Opcode::Umin => match_umin(g, request),
        Opcode::Umax => match_umax(g, request),
        Opcode::Udiv => match_udiv(g, request),
        Opcode::Sdiv => match_sdiv(g, request),
        Opcode::Urem => match_urem(g, request),
        Opcode::Srem => match_srem(g, request),
        Opcode::Band => match_band(g, request),
        Opcode::Bor => match_bor(g, request),
        Opcode::Bxor => match_bxor(g, request),
        Opcode::Bnot => match_bnot(g, request),
        Opcode::Rotl => match_rotl(g, request),
        Opcode::Rotr => match_rotr(g, request),
        Opcode::Ishl => match_ishl(g, request),
        Opcode::Ushr => match_ushr(g, request),
        Opcode::Sshr => match_sshr(g, request),
        Opcode::Ireduce => match_ireduce(g, request),
        Opcode::Uextend => match_uextend(g, request),
        Opcode::Sextend => match_sextend(g, request),
        Opcode::Fneg => match_fneg(g, request),
        Opcode::Fabs => match_fabs(g, request),
        Opcode::Fcopysign => match_fcopysign(g, request),
        _ => None,
    }
}

fn match_select(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[1]);
    let &[a0, a1, a2] = request.args() else { return None };
    let d0 = definition(g, a0);
    match d0.opcode() {
        Opcode::Uextend => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = select_uext(g, ty, a0_0, a1, a2) {
                return Some(value);
            }
            if a1 == a2 && let Some(value) = select_same(g, ty, a1) {
                return Some(value);
            }
        }
        Opcode::Icmp => {
            let &[a0_0, a0_1] = d0.args() else { return None };
            if a1 == a2 && let Some(value) = select_same(g, ty, a1) {
                return Some(value);
            }
            if let Some(c0_1) = constant(g, a0_1) {
                if condition(&d0) == IntCC::NotEqual && c0_1.is(0) && let Some(value) = select_ne_zero(g, ty, a0_0, a1, a2) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::SignedLessThan && a0_0 == a1 && a0_1 == a2 && let Some(value) = select_smin(g, ty, a0_0, a0_1) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::SignedGreaterThan && a0_1 == a1 && a0_0 == a2 && let Some(value) = select_smin(g, ty, a0_1, a0_0) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::SignedGreaterThan && a0_0 == a1 && a0_1 == a2 && let Some(value) = select_smax(g, ty, a0_0, a0_1) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::SignedLessThan && a0_1 == a1 && a0_0 == a2 && let Some(value) = select_smax(g, ty, a0_1, a0_0) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::UnsignedLessThan && a0_0 == a1 && a0_1 == a2 && let Some(value) = select_umin(g, ty, a0_0, a0_1) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::UnsignedGreaterThan && a0_1 == a1 && a0_0 == a2 && let Some(value) = select_umin(g, ty, a0_1, a0_0) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::UnsignedGreaterThan && a0_0 == a1 && a0_1 == a2 && let Some(value) = select_umax(g, ty, a0_0, a0_1) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::UnsignedLessThan && a0_1 == a1 && a0_0 == a2 && let Some(value) = select_umax(g, ty, a0_1, a0_0) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::SignedLessThanOrEqual && a0_0 == a1 && a0_1 == a2 && let Some(value) = select_smin_le(g, ty, a0_0, a0_1) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::SignedGreaterThanOrEqual && a0_1 == a1 && a0_0 == a2 && let Some(value) = select_smin_le(g, ty, a0_1, a0_0) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::SignedGreaterThanOrEqual && a0_0 == a1 && a0_1 == a2 && let Some(value) = select_smax_ge(g, ty, a0_0, a0_1) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::SignedLessThanOrEqual && a0_1 == a1 && a0_0 == a2 && let Some(value) = select_smax_ge(g, ty, a0_1, a0_0) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::UnsignedLessThanOrEqual && a0_0 == a1 && a0_1 == a2 && let Some(value) = select_umin_le(g, ty, a0_0, a0_1) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::UnsignedGreaterThanOrEqual && a0_1 == a1 && a0_0 == a2 && let Some(value) = select_umin_le(g, ty, a0_1, a0_0) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::UnsignedGreaterThanOrEqual && a0_0 == a1 && a0_1 == a2 && let Some(value) = select_umax_ge(g, ty, a0_0, a0_1) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::UnsignedLessThanOrEqual && a0_1 == a1 && a0_0 == a2 && let Some(value) = select_umax_ge(g, ty, a0_1, a0_0) {
                    return Some(value);
                }
                if let Some(c1) = constant(g, a1) {
                    if let Some(c2) = constant(g, a2) {
                        if c1.is(1) && c2.is(0) && let Some(value) = select_one_zero(g, ty, a0_0, a0_1, condition(&d0)) {
                            return Some(value);
                        }
                        if c1.is(1) && c2.is(0) && let Some(value) = select_one_zero_i8(g, ty, a0_0, a0_1, a0, condition(&d0)) {
                            return Some(value);
                        }
                        if condition(&d0) == IntCC::Equal && c0_1.is(0) && let Some(value) = select_eq_zero(g, ty, a0_0, a1, a2) {
                            return Some(value);
                        }
                    } else if condition(&d0) == IntCC::Equal && c0_1.is(0) && let Some(value) = select_eq_zero(g, ty, a0_0, a1, a2) {
                        return Some(value);
                    }
                } else if condition(&d0) == IntCC::Equal && c0_1.is(0) && let Some(value) = select_eq_zero(g, ty, a0_0, a1, a2) {
                    return Some(value);
                }
            } else {
                if condition(&d0) == IntCC::SignedLessThan && a0_0 == a1 && a0_1 == a2 && let Some(value) = select_smin(g, ty, a0_0, a0_1) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::SignedGreaterThan && a0_1 == a1 && a0_0 == a2 && let Some(value) = select_smin(g, ty, a0_1, a0_0) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::SignedGreaterThan && a0_0 == a1 && a0_1 == a2 && let Some(value) = select_smax(g, ty, a0_0, a0_1) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::SignedLessThan && a0_1 == a1 && a0_0 == a2 && let Some(value) = select_smax(g, ty, a0_1, a0_0) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::UnsignedLessThan && a0_0 == a1 && a0_1 == a2 && let Some(value) = select_umin(g, ty, a0_0, a0_1) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::UnsignedGreaterThan && a0_1 == a1 && a0_0 == a2 && let Some(value) = select_umin(g, ty, a0_1, a0_0) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::UnsignedGreaterThan && a0_0 == a1 && a0_1 == a2 && let Some(value) = select_umax(g, ty, a0_0, a0_1) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::UnsignedLessThan && a0_1 == a1 && a0_0 == a2 && let Some(value) = select_umax(g, ty, a0_1, a0_0) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::SignedLessThanOrEqual && a0_0 == a1 && a0_1 == a2 && let Some(value) = select_smin_le(g, ty, a0_0, a0_1) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::SignedGreaterThanOrEqual && a0_1 == a1 && a0_0 == a2 && let Some(value) = select_smin_le(g, ty, a0_1, a0_0) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::SignedGreaterThanOrEqual && a0_0 == a1 && a0_1 == a2 && let Some(value) = select_smax_ge(g, ty, a0_0, a0_1) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::SignedLessThanOrEqual && a0_1 == a1 && a0_0 == a2 && let Some(value) = select_smax_ge(g, ty, a0_1, a0_0) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::UnsignedLessThanOrEqual && a0_0 == a1 && a0_1 == a2 && let Some(value) = select_umin_le(g, ty, a0_0, a0_1) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::UnsignedGreaterThanOrEqual && a0_1 == a1 && a0_0 == a2 && let Some(value) = select_umin_le(g, ty, a0_1, a0_0) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::UnsignedGreaterThanOrEqual && a0_0 == a1 && a0_1 == a2 && let Some(value) = select_umax_ge(g, ty, a0_0, a0_1) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::UnsignedLessThanOrEqual && a0_1 == a1 && a0_0 == a2 && let Some(value) = select_umax_ge(g, ty, a0_1, a0_0) {
                    return Some(value);
                }
                if let Some(c1) = constant(g, a1) && let Some(c2) = constant(g, a2) {
                    if c1.is(1) && c2.is(0) && let Some(value) = select_one_zero(g, ty, a0_0, a0_1, condition(&d0)) {
                        return Some(value);
                    }
                    if c1.is(1) && c2.is(0) && let Some(value) = select_one_zero_i8(g, ty, a0_0, a0_1, a0, condition(&d0)) {
                        return Some(value);
                    }
                }
            }
        }
        _ => {
            if a1 == a2 && let Some(value) = select_same(g, ty, a1) {
                return Some(value);
            }
        }
    }
    None
}

fn match_icmp(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if let Some(c1) = constant(g, a1) {
        let d0 = definition(g, a0);
        match d0.opcode() {
            Opcode::Uextend => {
                let &[a0_0] = d0.args() else { return None };
                let d0_0 = definition(g, a0_0);
                if d0_0.opcode() == Opcode::Icmp {
                    let &[a0_0_0, a0_0_1] = d0_0.args() else { return None };
                    if condition(request) == IntCC::Equal && c1.is(0) && let Some(value) = not_cmp(g, a0_0_0, a0_0_1, condition(&d0_0)) {
                        return Some(value);
                    }
                    if matches!(condition(request), IntCC::Equal | IntCC::UnsignedGreaterThanOrEqual | IntCC::UnsignedLessThanOrEqual | IntCC::SignedGreaterThanOrEqual | IntCC::SignedLessThanOrEqual) && a0 == a1 && let Some(value) = eq_self(g, ty) {
                        return Some(value);
                    }
                    if matches!(condition(request), IntCC::NotEqual | IntCC::UnsignedGreaterThan | IntCC::UnsignedLessThan | IntCC::SignedGreaterThan | IntCC::SignedLessThan) && a0 == a1 && let Some(value) = ne_self(g, ty) {
                        return Some(value);
                    }
                    if condition(request) == IntCC::UnsignedLessThan && c1.is(0) && let Some(value) = ult_zero(g, ty) {
                        return Some(value);
                    }
                    if condition(request) == IntCC::UnsignedGreaterThanOrEqual && c1.is(0) && let Some(value) = uge_zero(g, ty) {
                        return Some(value);
                    }
                    if matches!(condition(request), IntCC::Equal | IntCC::NotEqual) && c1.is(0) && let Some(value) = cmp_uext_zero(g, a0_0, condition(request)) {
                        return Some(value);
                    }
                    let d1 = definition(g, a1);
                    if d1.opcode() == Opcode::Uextend {
                        let &[a1_0] = d1.args() else { return None };
                        if matches!(condition(request), IntCC::Equal | IntCC::NotEqual | IntCC::UnsignedLessThan | IntCC::UnsignedLessThanOrEqual | IntCC::UnsignedGreaterThan | IntCC::UnsignedGreaterThanOrEqual) && let Some(value) = cmp_uext(g, a0_0, a1_0, condition(request)) {
                            return Some(value);
                        }
                    }
                } else {
                    if matches!(condition(request), IntCC::Equal | IntCC::UnsignedGreaterThanOrEqual | IntCC::UnsignedLessThanOrEqual | IntCC::SignedGreaterThanOrEqual | IntCC::SignedLessThanOrEqual) && a0 == a1 && let Some(value) = eq_self(g, ty) {
                        return Some(value);
                    }
                    if matches!(condition(request), IntCC::NotEqual | IntCC::UnsignedGreaterThan | IntCC::UnsignedLessThan | IntCC::SignedGreaterThan | IntCC::SignedLessThan) && a0 == a1 && let Some(value) = ne_self(g, ty) {
                        return Some(value);
                    }
                    if condition(request) == IntCC::UnsignedLessThan && c1.is(0) && let Some(value) = ult_zero(g, ty) {
                        return Some(value);
                    }
                    if condition(request) == IntCC::UnsignedGreaterThanOrEqual && c1.is(0) && let Some(value) = uge_zero(g, ty) {
                        return Some(value);
                    }
                    if matches!(condition(request), IntCC::Equal | IntCC::NotEqual) && c1.is(0) && let Some(value) = cmp_uext_zero(g, a0_0, condition(request)) {
                        return Some(value);
                    }
                    let d1 = definition(g, a1);
                    if d1.opcode() == Opcode::Uextend {
                        let &[a1_0] = d1.args() else { return None };
                        if matches!(condition(request), IntCC::Equal | IntCC::NotEqual | IntCC::UnsignedLessThan | IntCC::UnsignedLessThanOrEqual | IntCC::UnsignedGreaterThan | IntCC::UnsignedGreaterThanOrEqual) && let Some(value) = cmp_uext(g, a0_0, a1_0, condition(request)) {
                            return Some(value);
                        }
                    }
                }
            }
            Opcode::Icmp => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if condition(request) == IntCC::NotEqual && c1.is(0) && let Some(value) = cmp_not_zero(g, ty, a0_0, a0_1, condition(&d0)) {
                    return Some(value);
                }
                if condition(request) == IntCC::Equal && c1.is(0) && let Some(value) = cmp_zero(g, ty, a0_0, a0_1, condition(&d0)) {
                    return Some(value);
                }
                if matches!(condition(request), IntCC::Equal | IntCC::UnsignedGreaterThanOrEqual | IntCC::UnsignedLessThanOrEqual | IntCC::SignedGreaterThanOrEqual | IntCC::SignedLessThanOrEqual) && a0 == a1 && let Some(value) = eq_self(g, ty) {
                    return Some(value);
                }
                if matches!(condition(request), IntCC::NotEqual | IntCC::UnsignedGreaterThan | IntCC::UnsignedLessThan | IntCC::SignedGreaterThan | IntCC::SignedLessThan) && a0 == a1 && let Some(value) = ne_self(g, ty) {
                    return Some(value);
                }
                if condition(request) == IntCC::UnsignedLessThan && c1.is(0) && let Some(value) = ult_zero(g, ty) {
                    return Some(value);
                }
                if condition(request) == IntCC::UnsignedGreaterThanOrEqual && c1.is(0) && let Some(value) = uge_zero(g, ty) {
                    return Some(value);
                }
            }
            Opcode::Iadd => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if let Some(c0_1) = constant(g, a0_1) {
                    if matches!(condition(request), IntCC::Equal | IntCC::NotEqual) && let Some(value) = eq_add_const(g, ty, a0_0, c0_1, c1, condition(request)) {
                        return Some(value);
                    }
                    if matches!(condition(request), IntCC::Equal | IntCC::UnsignedGreaterThanOrEqual | IntCC::UnsignedLessThanOrEqual | IntCC::SignedGreaterThanOrEqual | IntCC::SignedLessThanOrEqual) && a0 == a1 && let Some(value) = eq_self(g, ty) {
                        return Some(value);
                    }
                    if matches!(condition(request), IntCC::NotEqual | IntCC::UnsignedGreaterThan | IntCC::UnsignedLessThan | IntCC::SignedGreaterThan | IntCC::SignedLessThan) && a0 == a1 && let Some(value) = ne_self(g, ty) {
                        return Some(value);
                    }
                    if condition(request) == IntCC::UnsignedLessThan && c1.is(0) && let Some(value) = ult_zero(g, ty) {
                        return Some(value);
                    }
                    if condition(request) == IntCC::UnsignedGreaterThanOrEqual && c1.is(0) && let Some(value) = uge_zero(g, ty) {
                        return Some(value);
                    }
                } else {
                    if matches!(condition(request), IntCC::Equal | IntCC::UnsignedGreaterThanOrEqual | IntCC::UnsignedLessThanOrEqual | IntCC::SignedGreaterThanOrEqual | IntCC::SignedLessThanOrEqual) && a0 == a1 && let Some(value) = eq_self(g, ty) {
                        return Some(value);
                    }
                    if matches!(condition(request), IntCC::NotEqual | IntCC::UnsignedGreaterThan | IntCC::UnsignedLessThan | IntCC::SignedGreaterThan | IntCC::SignedLessThan) && a0 == a1 && let Some(value) = ne_self(g, ty) {
                        return Some(value);
                    }
                    if condition(request) == IntCC::UnsignedLessThan && c1.is(0) && let Some(value) = ult_zero(g, ty) {
                        return Some(value);
                    }
                    if condition(request) == IntCC::UnsignedGreaterThanOrEqual && c1.is(0) && let Some(value) = uge_zero(g, ty) {
                        return Some(value);
                    }
                }
            }
            Opcode::Sextend => {
                let &[a0_0] = d0.args() else { return None };
                if matches!(condition(request), IntCC::Equal | IntCC::UnsignedGreaterThanOrEqual | IntCC::UnsignedLessThanOrEqual | IntCC::SignedGreaterThanOrEqual | IntCC::SignedLessThanOrEqual) && a0 == a1 && let Some(value) = eq_self(g, ty) {
                    return Some(value);
                }
                if matches!(condition(request), IntCC::NotEqual | IntCC::UnsignedGreaterThan | IntCC::UnsignedLessThan | IntCC::SignedGreaterThan | IntCC::SignedLessThan) && a0 == a1 && let Some(value) = ne_self(g, ty) {
                    return Some(value);
                }
                if condition(request) == IntCC::UnsignedLessThan && c1.is(0) && let Some(value) = ult_zero(g, ty) {
                    return Some(value);
                }
                if condition(request) == IntCC::UnsignedGreaterThanOrEqual && c1.is(0) && let Some(value) = uge_zero(g, ty) {
                    return Some(value);
                }
                if c1.is(0) && let Some(value) = cmp_sext_zero(g, a0_0, condition(request)) {
                    return Some(value);
                }
                let d1 = definition(g, a1);
                if d1.opcode() == Opcode::Sextend {
                    let &[a1_0] = d1.args() else { return None };
                    if let Some(value) = cmp_sext(g, a0_0, a1_0, condition(request)) {
                        return Some(value);
                    }
                }
            }
            Opcode::Isub => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if matches!(condition(request), IntCC::Equal | IntCC::UnsignedGreaterThanOrEqual | IntCC::UnsignedLessThanOrEqual | IntCC::SignedGreaterThanOrEqual | IntCC::SignedLessThanOrEqual) && a0 == a1 && let Some(value) = eq_self(g, ty) {
                    return Some(value);
                }
                if matches!(condition(request), IntCC::NotEqual | IntCC::UnsignedGreaterThan | IntCC::UnsignedLessThan | IntCC::SignedGreaterThan | IntCC::SignedLessThan) && a0 == a1 && let Some(value) = ne_self(g, ty) {
                    return Some(value);
                }
                if condition(request) == IntCC::UnsignedLessThan && c1.is(0) && let Some(value) = ult_zero(g, ty) {
                    return Some(value);
                }
                if condition(request) == IntCC::UnsignedGreaterThanOrEqual && c1.is(0) && let Some(value) = uge_zero(g, ty) {
                    return Some(value);
                }
                if matches!(condition(request), IntCC::Equal | IntCC::NotEqual) && c1.is(0) && let Some(value) = cmp_sub_zero(g, ty, a0_0, a0_1, condition(request)) {
                    return Some(value);
                }
            }
            Opcode::Bxor => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if matches!(condition(request), IntCC::Equal | IntCC::UnsignedGreaterThanOrEqual | IntCC::UnsignedLessThanOrEqual | IntCC::SignedGreaterThanOrEqual | IntCC::SignedLessThanOrEqual) && a0 == a1 && let Some(value) = eq_self(g, ty) {
                    return Some(value);
                }
                if matches!(condition(request), IntCC::NotEqual | IntCC::UnsignedGreaterThan | IntCC::UnsignedLessThan | IntCC::SignedGreaterThan | IntCC::SignedLessThan) && a0 == a1 && let Some(value) = ne_self(g, ty) {
                    return Some(value);
                }
                if condition(request) == IntCC::UnsignedLessThan && c1.is(0) && let Some(value) = ult_zero(g, ty) {
                    return Some(value);
                }
                if condition(request) == IntCC::UnsignedGreaterThanOrEqual && c1.is(0) && let Some(value) = uge_zero(g, ty) {
                    return Some(value);
                }
                if matches!(condition(request), IntCC::Equal | IntCC::NotEqual) && c1.is(0) && let Some(value) = cmp_xor_zero(g, ty, a0_0, a0_1, condition(request)) {
                    return Some(value);
                }
            }
            Opcode::Ineg => {
                let &[a0_0] = d0.args() else { return None };
                if matches!(condition(request), IntCC::Equal | IntCC::UnsignedGreaterThanOrEqual | IntCC::UnsignedLessThanOrEqual | IntCC::SignedGreaterThanOrEqual | IntCC::SignedLessThanOrEqual) && a0 == a1 && let Some(value) = eq_self(g, ty) {
                    return Some(value);
                }
                if matches!(condition(request), IntCC::NotEqual | IntCC::UnsignedGreaterThan | IntCC::UnsignedLessThan | IntCC::SignedGreaterThan | IntCC::SignedLessThan) && a0 == a1 && let Some(value) = ne_self(g, ty) {
                    return Some(value);
                }
                if condition(request) == IntCC::UnsignedLessThan && c1.is(0) && let Some(value) = ult_zero(g, ty) {
                    return Some(value);
                }
                if condition(request) == IntCC::UnsignedGreaterThanOrEqual && c1.is(0) && let Some(value) = uge_zero(g, ty) {
                    return Some(value);
                }
                if matches!(condition(request), IntCC::Equal | IntCC::NotEqual) && c1.is(0) && let Some(value) = cmp_neg_zero(g, ty, a0_0, condition(request)) {
                    return Some(value);
                }
            }
            _ => {
                if matches!(condition(request), IntCC::Equal | IntCC::UnsignedGreaterThanOrEqual | IntCC::UnsignedLessThanOrEqual | IntCC::SignedGreaterThanOrEqual | IntCC::SignedLessThanOrEqual) && a0 == a1 && let Some(value) = eq_self(g, ty) {
                    return Some(value);
                }
                if matches!(condition(request), IntCC::NotEqual | IntCC::UnsignedGreaterThan | IntCC::UnsignedLessThan | IntCC::SignedGreaterThan | IntCC::SignedLessThan) && a0 == a1 && let Some(value) = ne_self(g, ty) {
                    return Some(value);
                }
                if condition(request) == IntCC::UnsignedLessThan && c1.is(0) && let Some(value) = ult_zero(g, ty) {
                    return Some(value);
                }
                if condition(request) == IntCC::UnsignedGreaterThanOrEqual && c1.is(0) && let Some(value) = uge_zero(g, ty) {
                    return Some(value);
                }
            }
        }
    } else {
        if matches!(condition(request), IntCC::Equal | IntCC::UnsignedGreaterThanOrEqual | IntCC::UnsignedLessThanOrEqual | IntCC::SignedGreaterThanOrEqual | IntCC::SignedLessThanOrEqual) && a0 == a1 && let Some(value) = eq_self(g, ty) {
            return Some(value);
        }
        if matches!(condition(request), IntCC::NotEqual | IntCC::UnsignedGreaterThan | IntCC::UnsignedLessThan | IntCC::SignedGreaterThan | IntCC::SignedLessThan) && a0 == a1 && let Some(value) = ne_self(g, ty) {
            return Some(value);
        }
        let d0 = definition(g, a0);
        match d0.opcode() {
            Opcode::Uextend => {
                let &[a0_0] = d0.args() else { return None };
                let d1 = definition(g, a1);
                if d1.opcode() == Opcode::Uextend {
                    let &[a1_0] = d1.args() else { return None };
                    if matches!(condition(request), IntCC::Equal | IntCC::NotEqual | IntCC::UnsignedLessThan | IntCC::UnsignedLessThanOrEqual | IntCC::UnsignedGreaterThan | IntCC::UnsignedGreaterThanOrEqual) && let Some(value) = cmp_uext(g, a0_0, a1_0, condition(request)) {
                        return Some(value);
                    }
                }
            }
            Opcode::Sextend => {
                let &[a0_0] = d0.args() else { return None };
                let d1 = definition(g, a1);
                if d1.opcode() == Opcode::Sextend {
                    let &[a1_0] = d1.args() else { return None };
                    if let Some(value) = cmp_sext(g, a0_0, a1_0, condition(request)) {
                        return Some(value);
                    }
                }
            }
            _ => {}
        }
    }
    None
}

fn match_iadd(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if let Some(c1) = constant(g, a1) {
        if c1.is(0) && let Some(value) = add_zero(g, ty, a0) {
            return Some(value);
        }
        let d0 = definition(g, a0);
        match d0.opcode() {
            Opcode::Ineg => {
                let &[a0_0] = d0.args() else { return None };
                if let Some(value) = add_neg(g, ty, a1, a0_0) {
                    return Some(value);
                }
            }
            Opcode::Iadd => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if let Some(c0_1) = constant(g, a0_1) && let Some(value) = add_chain(g, ty, a0_0, c0_1, c1) {
                    return Some(value);
                }
            }
            Opcode::Isub => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if let Some(c0_0) = constant(g, a0_0) {
                    if let Some(value) = sub_add_const(g, ty, a0_1, c0_0, c1) {
                        return Some(value);
                    }
                    if a0_1 == a1 && let Some(value) = sub_add(g, ty, a0_0) {
                        return Some(value);
                    }
                } else if a0_1 == a1 && let Some(value) = sub_add(g, ty, a0_0) {
                    return Some(value);
                }
            }
            _ => {}
        }
    } else {
        let d1 = definition(g, a1);
        match d1.opcode() {
            Opcode::Ineg => {
                let &[a1_0] = d1.args() else { return None };
                if let Some(value) = add_neg(g, ty, a0, a1_0) {
                    return Some(value);
                }
                let d0 = definition(g, a0);
                match d0.opcode() {
                    Opcode::Ineg => {
                        let &[a0_0] = d0.args() else { return None };
                        if let Some(value) = add_neg(g, ty, a1, a0_0) {
                            return Some(value);
                        }
                    }
                    Opcode::Isub => {
                        let &[a0_0, a0_1] = d0.args() else { return None };
                        if a0_1 == a1 && let Some(value) = sub_add(g, ty, a0_0) {
                            return Some(value);
                        }
                    }
                    _ => {}
                }
            }
            Opcode::Isub => {
                let &[a1_0, a1_1] = d1.args() else { return None };
                let d0 = definition(g, a0);
                match d0.opcode() {
                    Opcode::Ineg => {
                        let &[a0_0] = d0.args() else { return None };
                        if let Some(value) = add_neg(g, ty, a1, a0_0) {
                            return Some(value);
                        }
                        if a0 == a1_1 && let Some(value) = sub_add(g, ty, a1_0) {
                            return Some(value);
                        }
                    }
                    Opcode::Isub => {
                        let &[a0_0, a0_1] = d0.args() else { return None };
                        if a0_1 == a1 && let Some(value) = sub_add(g, ty, a0_0) {
                            return Some(value);
                        }
                        if a0 == a1_1 && let Some(value) = sub_add(g, ty, a1_0) {
                            return Some(value);
                        }
                    }
                    _ => {
                        if a0 == a1_1 && let Some(value) = sub_add(g, ty, a1_0) {
                            return Some(value);
                        }
                    }
                }
            }
            _ => {
                let d0 = definition(g, a0);
                match d0.opcode() {
                    Opcode::Ineg => {
                        let &[a0_0] = d0.args() else { return None };
                        if let Some(value) = add_neg(g, ty, a1, a0_0) {
                            return Some(value);
                        }
                    }
                    Opcode::Isub => {
                        let &[a0_0, a0_1] = d0.args() else { return None };
                        if a0_1 == a1 && let Some(value) = sub_add(g, ty, a0_0) {
                            return Some(value);
                        }
                    }
                    _ => {}
                }
            }
        }
    }
    None
}

fn match_isub(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if let Some(c1) = constant(g, a1) {
        if c1.is(0) && let Some(value) = sub_zero(g, ty, a0) {
            return Some(value);
        }
        if a0 == a1 && let Some(value) = sub_self(g, ty) {
            return Some(value);
        }
        if let Some(c0) = constant(g, a0) {
            if c0.is(0) && let Some(value) = zero_sub(g, ty, a1) {
                return Some(value);
            }
            if let Some(value) = sub_const(g, ty, a0, c1) {
                return Some(value);
            }
        } else {
            if let Some(value) = sub_const(g, ty, a0, c1) {
                return Some(value);
            }
            let d0 = definition(g, a0);
            if d0.opcode() == Opcode::Iadd {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if a0_1 == a1 && let Some(value) = add_sub(g, ty, a0_0) {
                    return Some(value);
                }
                if a0_0 == a1 && let Some(value) = add_sub(g, ty, a0_1) {
                    return Some(value);
                }
            }
        }
    } else {
        if a0 == a1 && let Some(value) = sub_self(g, ty) {
            return Some(value);
        }
        if let Some(c0) = constant(g, a0) {
            if c0.is(0) && let Some(value) = zero_sub(g, ty, a1) {
                return Some(value);
            }
            let d1 = definition(g, a1);
            match d1.opcode() {
                Opcode::Ineg => {
                    let &[a1_0] = d1.args() else { return None };
                    if let Some(value) = sub_neg(g, ty, a0, a1_0) {
                        return Some(value);
                    }
                }
                Opcode::Iadd => {
                    let &[a1_0, a1_1] = d1.args() else { return None };
                    if let Some(c1_1) = constant(g, a1_1) && let Some(value) = const_sub_add(g, ty, a1_0, c0, c1_1) {
                        return Some(value);
                    }
                }
                Opcode::Isub => {
                    let &[a1_0, a1_1] = d1.args() else { return None };
                    if a0 == a1_0 && let Some(value) = sub_sub(g, ty, a1_1) {
                        return Some(value);
                    }
                }
                _ => {}
            }
        } else {
            let d1 = definition(g, a1);
            match d1.opcode() {
                Opcode::Ineg => {
                    let &[a1_0] = d1.args() else { return None };
                    if let Some(value) = sub_neg(g, ty, a0, a1_0) {
                        return Some(value);
                    }
                    let d0 = definition(g, a0);
                    if d0.opcode() == Opcode::Iadd {
                        let &[a0_0, a0_1] = d0.args() else { return None };
                        if a0_1 == a1 && let Some(value) = add_sub(g, ty, a0_0) {
                            return Some(value);
                        }
                        if a0_0 == a1 && let Some(value) = add_sub(g, ty, a0_1) {
                            return Some(value);
                        }
                    }
                }
                Opcode::Isub => {
                    let &[a1_0, a1_1] = d1.args() else { return None };
                    let d0 = definition(g, a0);
                    if d0.opcode() == Opcode::Iadd {
                        let &[a0_0, a0_1] = d0.args() else { return None };
                        if a0_1 == a1 && let Some(value) = add_sub(g, ty, a0_0) {
                            return Some(value);
                        }
                        if a0_0 == a1 && let Some(value) = add_sub(g, ty, a0_1) {
                            return Some(value);
                        }
                        if a0 == a1_0 && let Some(value) = sub_sub(g, ty, a1_1) {
                            return Some(value);
                        }
                    } else if a0 == a1_0 && let Some(value) = sub_sub(g, ty, a1_1) {
                        return Some(value);
                    }
                }
                _ => {
                    let d0 = definition(g, a0);
                    if d0.opcode() == Opcode::Iadd {
                        let &[a0_0, a0_1] = d0.args() else { return None };
                        if a0_1 == a1 && let Some(value) = add_sub(g, ty, a0_0) {
                            return Some(value);
                        }
                        if a0_0 == a1 && let Some(value) = add_sub(g, ty, a0_1) {
                            return Some(value);
                        }
                    }
                }
            }
        }
    }
    None
}

fn match_ineg(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0] = request.args() else { return None };
    let d0 = definition(g, a0);
    match d0.opcode() {
        Opcode::Ineg => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = neg_neg(g, ty, a0_0) {
                return Some(value);
            }
        }
        Opcode::Isub => {
            let &[a0_0, a0_1] = d0.args() else { return None };
            if let Some(value) = neg_sub(g, ty, a0_1, a0_0) {
                return Some(value);
            }
        }
        _ => {}
    }
    None
}

fn match_iabs(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0] = request.args() else { return None };
    let d0 = definition(g, a0);
    match d0.opcode() {
        Opcode::Ineg => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = abs_neg(g, ty, a0_0) {
                return Some(value);
            }
        }
        Opcode::Iabs => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = abs_abs(g, ty, a0_0) {
                return Some(value);
            }
        }
        _ => {}
    }
    None
}

fn match_imul(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if let Some(c1) = constant(g, a1) {
        if c1.is(1) && let Some(value) = mul_one(g, ty, a0) {
            return Some(value);
        }
        if c1.is(0) && let Some(value) = mul_zero(g, ty) {
            return Some(value);
        }
        if c1.is(-1) && let Some(value) = mul_minus_one(g, ty, a0) {
            return Some(value);
        }
        let d0 = definition(g, a0);
        if d0.opcode() == Opcode::Imul {
            let &[a0_0, a0_1] = d0.args() else { return None };
            if let Some(c0_1) = constant(g, a0_1) {
                if let Some(value) = mul_chain(g, ty, a0_0, c0_1, c1) {
                    return Some(value);
                }
                if let Some(value) = mul_pow2(g, ty, a0, c1) {
                    return Some(value);
                }
            } else if let Some(value) = mul_pow2(g, ty, a0, c1) {
                return Some(value);
            }
        } else if let Some(value) = mul_pow2(g, ty, a0, c1) {
            return Some(value);
        }
    }
    None
}

fn match_smin(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if a0 == a1 && let Some(value) = smin_self(g, ty, a0) {
        return Some(value);
    }
    None
}

fn match_smax(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if a0 == a1 && let Some(value) = smax_self(g, ty, a0) {
        return Some(value);
    }
    None
}

fn match_umin(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if a0 == a1 && let Some(value) = umin_self(g, ty, a0) {
        return Some(value);
    }
    if let Some(c1) = constant(g, a1) && c1.is(0) && let Some(value) = umin_zero(g, ty) {
        return Some(value);
    }
    None
}

fn match_umax(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if a0 == a1 && let Some(value) = umax_self(g, ty, a0) {
        return Some(value);
    }
    if let Some(c1) = constant(g, a1) && c1.is(0) && let Some(value) = umax_zero(g, ty, a0) {
        return Some(value);
    }
    None
}

fn match_udiv(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if let Some(c1) = constant(g, a1) {
        if c1.is(1) && let Some(value) = udiv_one(g, a0) {
            return Some(value);
        }
        if let Some(value) = udiv_pow2(g, ty, a0, c1) {
            return Some(value);
        }
    }
    None
}

fn match_sdiv(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let &[a0, a1] = request.args() else { return None };
    if let Some(c1) = constant(g, a1) && c1.is(1) && let Some(value) = sdiv_one(g, a0) {
        return Some(value);
    }
    None
}

fn match_urem(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if let Some(c1) = constant(g, a1) {
        if c1.is(1) && let Some(value) = urem_one(g, ty) {
            return Some(value);
        }
        if let Some(value) = urem_pow2(g, ty, a0, c1) {
            return Some(value);
        }
    }
    None
}

fn match_srem(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[_, a1] = request.args() else { return None };
    if let Some(c1) = constant(g, a1) && c1.is(1) && let Some(value) = srem_one(g, ty) {
        return Some(value);
    }
    None
}

fn match_band(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if let Some(c1) = constant(g, a1) {
        if c1.is(-1) && let Some(value) = and_ones(g, ty, a0) {
            return Some(value);
        }
        if c1.is(0) && let Some(value) = and_zero(g, ty) {
            return Some(value);
        }
        if a0 == a1 && let Some(value) = and_self(g, ty, a0) {
            return Some(value);
        }
        let d0 = definition(g, a0);
        match d0.opcode() {
            Opcode::Bor => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if a0_0 == a1 && let Some(value) = absorb_and(g, ty, a0_0) {
                    return Some(value);
                }
                if a0_1 == a1 && let Some(value) = absorb_and(g, ty, a0_1) {
                    return Some(value);
                }
            }
            Opcode::Band => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if let Some(c0_1) = constant(g, a0_1) && let Some(value) = and_chain(g, ty, a0_0, c0_1, c1) {
                    return Some(value);
                }
            }
            Opcode::Uextend => {
                let &[a0_0] = d0.args() else { return None };
                let d1 = definition(g, a1);
                if d1.opcode() == Opcode::Uextend {
                    let &[a1_0] = d1.args() else { return None };
                    if let Some(value) = and_uext(g, ty, a0_0, a1_0) {
                        return Some(value);
                    }
                }
            }
            Opcode::Icmp => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if c1.is(1) && let Some(value) = cmp_and_one(g, ty, a0_0, a0_1, condition(&d0)) {
                    return Some(value);
                }
            }
            _ => {}
        }
    } else {
        if a0 == a1 && let Some(value) = and_self(g, ty, a0) {
            return Some(value);
        }
        let d1 = definition(g, a1);
        match d1.opcode() {
            Opcode::Bor => {
                let &[a1_0, a1_1] = d1.args() else { return None };
                if a0 == a1_0 && let Some(value) = absorb_and(g, ty, a0) {
                    return Some(value);
                }
                if a0 == a1_1 && let Some(value) = absorb_and(g, ty, a0) {
                    return Some(value);
                }
                let d0 = definition(g, a0);
                if d0.opcode() == Opcode::Bor {
                    let &[a0_0, a0_1] = d0.args() else { return None };
                    if a0_0 == a1 && let Some(value) = absorb_and(g, ty, a0_0) {
                        return Some(value);
                    }
                    if a0_1 == a1 && let Some(value) = absorb_and(g, ty, a0_1) {
                        return Some(value);
                    }
                }
            }
            Opcode::Icmp => {
                let &[a1_0, a1_1] = d1.args() else { return None };
                let d0 = definition(g, a0);
                match d0.opcode() {
                    Opcode::Bor => {
                        let &[a0_0, a0_1] = d0.args() else { return None };
                        if a0_0 == a1 && let Some(value) = absorb_and(g, ty, a0_0) {
                            return Some(value);
                        }
                        if a0_1 == a1 && let Some(value) = absorb_and(g, ty, a0_1) {
                            return Some(value);
                        }
                    }
                    Opcode::Icmp => {
                        let &[a0_0, a0_1] = d0.args() else { return None };
                        if let Some(c0_1) = constant(g, a0_1) && let Some(c1_1) = constant(g, a1_1) {
                            if condition(&d0) == IntCC::UnsignedGreaterThanOrEqual && condition(&d1) == IntCC::UnsignedLessThan && a0_0 == a1_0 && let Some(value) = range(g, ty, a0_0, c0_1, c1_1) {
                                return Some(value);
                            }
                            if condition(&d0) == IntCC::UnsignedLessThan && condition(&d1) == IntCC::UnsignedGreaterThanOrEqual && a0_0 == a1_0 && let Some(value) = range(g, ty, a0_0, c1_1, c0_1) {
                                return Some(value);
                            }
                        }
                    }
                    _ => {}
                }
            }
            Opcode::Uextend => {
                let &[a1_0] = d1.args() else { return None };
                let d0 = definition(g, a0);
                match d0.opcode() {
                    Opcode::Bor => {
                        let &[a0_0, a0_1] = d0.args() else { return None };
                        if a0_0 == a1 && let Some(value) = absorb_and(g, ty, a0_0) {
                            return Some(value);
                        }
                        if a0_1 == a1 && let Some(value) = absorb_and(g, ty, a0_1) {
                            return Some(value);
                        }
                    }
                    Opcode::Uextend => {
                        let &[a0_0] = d0.args() else { return None };
                        if let Some(value) = and_uext(g, ty, a0_0, a1_0) {
                            return Some(value);
                        }
                    }
                    _ => {}
                }
            }
            _ => {
                let d0 = definition(g, a0);
                if d0.opcode() == Opcode::Bor {
                    let &[a0_0, a0_1] = d0.args() else { return None };
                    if a0_0 == a1 && let Some(value) = absorb_and(g, ty, a0_0) {
                        return Some(value);
                    }
                    if a0_1 == a1 && let Some(value) = absorb_and(g, ty, a0_1) {
                        return Some(value);
                    }
                }
            }
        }
    }
    None
}

fn match_bor(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if let Some(c1) = constant(g, a1) {
        if c1.is(0) && let Some(value) = or_zero(g, ty, a0) {
            return Some(value);
        }
        if c1.is(-1) && let Some(value) = or_ones(g, ty) {
            return Some(value);
        }
        if a0 == a1 && let Some(value) = or_self(g, ty, a0) {
            return Some(value);
        }
        let d0 = definition(g, a0);
        match d0.opcode() {
            Opcode::Band => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if a0_0 == a1 && let Some(value) = absorb_or(g, ty, a0_0) {
                    return Some(value);
                }
                if a0_1 == a1 && let Some(value) = absorb_or(g, ty, a0_1) {
                    return Some(value);
                }
            }
            Opcode::Bor => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if let Some(c0_1) = constant(g, a0_1) && let Some(value) = or_chain(g, ty, a0_0, c0_1, c1) {
                    return Some(value);
                }
            }
            Opcode::Uextend => {
                let &[a0_0] = d0.args() else { return None };
                let d1 = definition(g, a1);
                if d1.opcode() == Opcode::Uextend {
                    let &[a1_0] = d1.args() else { return None };
                    if let Some(value) = or_uext(g, ty, a0_0, a1_0) {
                        return Some(value);
                    }
                }
            }
            _ => {}
        }
    } else {
        if a0 == a1 && let Some(value) = or_self(g, ty, a0) {
            return Some(value);
        }
        let d1 = definition(g, a1);
        match d1.opcode() {
            Opcode::Band => {
                let &[a1_0, a1_1] = d1.args() else { return None };
                if a0 == a1_0 && let Some(value) = absorb_or(g, ty, a0) {
                    return Some(value);
                }
                if a0 == a1_1 && let Some(value) = absorb_or(g, ty, a0) {
                    return Some(value);
                }
                let d0 = definition(g, a0);
                if d0.opcode() == Opcode::Band {
                    let &[a0_0, a0_1] = d0.args() else { return None };
                    if a0_0 == a1 && let Some(value) = absorb_or(g, ty, a0_0) {
                        return Some(value);
                    }
                    if a0_1 == a1 && let Some(value) = absorb_or(g, ty, a0_1) {
                        return Some(value);
                    }
                }
            }
            Opcode::Uextend => {
                let &[a1_0] = d1.args() else { return None };
                let d0 = definition(g, a0);
                match d0.opcode() {
                    Opcode::Band => {
                        let &[a0_0, a0_1] = d0.args() else { return None };
                        if a0_0 == a1 && let Some(value) = absorb_or(g, ty, a0_0) {
                            return Some(value);
                        }
                        if a0_1 == a1 && let Some(value) = absorb_or(g, ty, a0_1) {
                            return Some(value);
                        }
                    }
                    Opcode::Uextend => {
                        let &[a0_0] = d0.args() else { return None };
                        if let Some(value) = or_uext(g, ty, a0_0, a1_0) {
                            return Some(value);
                        }
                    }
                    _ => {}
                }
            }
            _ => {
                let d0 = definition(g, a0);
                if d0.opcode() == Opcode::Band {
                    let &[a0_0, a0_1] = d0.args() else { return None };
                    if a0_0 == a1 && let Some(value) = absorb_or(g, ty, a0_0) {
                        return Some(value);
                    }
                    if a0_1 == a1 && let Some(value) = absorb_or(g, ty, a0_1) {
                        return Some(value);
                    }
                }
            }
        }
    }
    None
}

fn match_bxor(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if let Some(c1) = constant(g, a1) {
        if c1.is(0) && let Some(value) = xor_zero(g, ty, a0) {
            return Some(value);
        }
        if a0 == a1 && let Some(value) = xor_self(g, ty) {
            return Some(value);
        }
        if c1.is(-1) && let Some(value) = xor_ones(g, ty, a0) {
            return Some(value);
        }
        let d0 = definition(g, a0);
        match d0.opcode() {
            Opcode::Bxor => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if let Some(c0_1) = constant(g, a0_1) && let Some(value) = xor_chain(g, ty, a0_0, c0_1, c1) {
                    return Some(value);
                }
            }
            Opcode::Uextend => {
                let &[a0_0] = d0.args() else { return None };
                let d1 = definition(g, a1);
                if d1.opcode() == Opcode::Uextend {
                    let &[a1_0] = d1.args() else { return None };
                    if let Some(value) = xor_uext(g, ty, a0_0, a1_0) {
                        return Some(value);
                    }
                }
            }
            _ => {}
        }
    } else {
        if a0 == a1 && let Some(value) = xor_self(g, ty) {
            return Some(value);
        }
        let d0 = definition(g, a0);
        if d0.opcode() == Opcode::Uextend {
            let &[a0_0] = d0.args() else { return None };
            let d1 = definition(g, a1);
            if d1.opcode() == Opcode::Uextend {
                let &[a1_0] = d1.args() else { return None };
                if let Some(value) = xor_uext(g, ty, a0_0, a1_0) {
                    return Some(value);
                }
            }
        }
    }
    None
}

fn match_bnot(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0] = request.args() else { return None };
    let d0 = definition(g, a0);
    if d0.opcode() == Opcode::Bnot {
        let &[a0_0] = d0.args() else { return None };
        if let Some(value) = not_not(g, ty, a0_0) {
            return Some(value);
        }
    }
    None
}

fn match_rotl(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if let Some(c1) = constant(g, a1) && c1.is(0) && let Some(value) = rotl_zero(g, ty, a0) {
        return Some(value);
    }
    None
}

fn match_rotr(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if let Some(c1) = constant(g, a1) && c1.is(0) && let Some(value) = rotr_zero(g, ty, a0) {
        return Some(value);
    }
    None
}

fn match_ishl(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if let Some(c1) = constant(g, a1) {
        if c1.is(0) && let Some(value) = shl_zero(g, ty, a0) {
            return Some(value);
        }
        let d1 = definition(g, a1);
        if d1.opcode() == Opcode::Uextend {
            let &[a1_0] = d1.args() else { return None };
            if let Some(value) = amount_uext(g, ty, a0, a1_0) {
                return Some(value);
            }
            let d0 = definition(g, a0);
            match d0.opcode() {
                Opcode::Ushr => {
                    let &[a0_0, a0_1] = d0.args() else { return None };
                    if let Some(c0_1) = constant(g, a0_1) && c0_1 == c1 && let Some(value) = ushr_shl(g, ty, a0_0, a0_1, a1, c0_1) {
                        return Some(value);
                    }
                }
                Opcode::Ishl => {
                    let &[a0_0, a0_1] = d0.args() else { return None };
                    if let Some(c0_1) = constant(g, a0_1) && let Some(value) = shl_shl(g, ty, a0_0, a0_1, a1, c0_1, c1) {
                        return Some(value);
                    }
                }
                _ => {}
            }
        } else {
            let d0 = definition(g, a0);
            match d0.opcode() {
                Opcode::Ushr => {
                    let &[a0_0, a0_1] = d0.args() else { return None };
                    if let Some(c0_1) = constant(g, a0_1) && c0_1 == c1 && let Some(value) = ushr_shl(g, ty, a0_0, a0_1, a1, c0_1) {
                        return Some(value);
                    }
                }
                Opcode::Ishl => {
                    let &[a0_0, a0_1] = d0.args() else { return None };
                    if let Some(c0_1) = constant(g, a0_1) && let Some(value) = shl_shl(g, ty, a0_0, a0_1, a1, c0_1, c1) {
                        return Some(value);
                    }
                }
                _ => {}
            }
        }
    } else {
        let d1 = definition(g, a1);
        if d1.opcode() == Opcode::Uextend {
            let &[a1_0] = d1.args() else { return None };
            if let Some(value) = amount_uext(g, ty, a0, a1_0) {
                return Some(value);
            }
        }
    }
    None
}

fn match_ushr(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if let Some(c1) = constant(g, a1) {
        if c1.is(0) && let Some(value) = ushr_zero(g, ty, a0) {
            return Some(value);
        }
        let d0 = definition(g, a0);
        if d0.opcode() == Opcode::Ishl {
            let &[a0_0, a0_1] = d0.args() else { return None };
            if let Some(c0_1) = constant(g, a0_1) && c0_1 == c1 && let Some(value) = shl_ushr(g, ty, a0_0, a0_1, a1, c0_1) {
                return Some(value);
            }
        }
    }
    None
}

fn match_sshr(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if let Some(c1) = constant(g, a1) && c1.is(0) && let Some(value) = sshr_zero(g, ty, a0) {
        return Some(value);
    }
    None
}

fn match_ireduce(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = request.controlling_type();
    let &[a0] = request.args() else { return None };
    let d0 = definition(g, a0);
    match d0.opcode() {
        Opcode::Uextend => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = reduce_uext(g, ty, a0_0) {
                return Some(value);
            }
            if let Some(value) = reduce_uext_low(g, ty, a0_0) {
                return Some(value);
            }
            if let Some(value) = reduce_uext_high(g, ty, a0_0) {
                return Some(value);
            }
        }
        Opcode::Sextend => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = reduce_sext(g, ty, a0_0) {
                return Some(value);
            }
        }
        Opcode::Ireduce => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = reduce_reduce(g, ty, a0_0) {
                return Some(value);
            }
        }
        Opcode::Iadd => {
            let &[a0_0, a0_1] = d0.args() else { return None };
            let d0_0 = definition(g, a0_0);
            match d0_0.opcode() {
                Opcode::Uextend => {
                    let &[a0_0_0] = d0_0.args() else { return None };
                    if let Some(c0_1) = constant(g, a0_1) {
                        if let Some(value) = narrow_add(g, ty, a0_0_0, c0_1) {
                            return Some(value);
                        }
                        let d0_1 = definition(g, a0_1);
                        if d0_1.opcode() == Opcode::Uextend {
                            let &[a0_1_0] = d0_1.args() else { return None };
                            if let Some(value) = narrow_add_uext(g, ty, a0_0_0, a0_1_0) {
                                return Some(value);
                            }
                        }
                    } else {
                        let d0_1 = definition(g, a0_1);
                        if d0_1.opcode() == Opcode::Uextend {
                            let &[a0_1_0] = d0_1.args() else { return None };
                            if let Some(value) = narrow_add_uext(g, ty, a0_0_0, a0_1_0) {
                                return Some(value);
                            }
                        }
                    }
                }
                Opcode::Sextend => {
                    let &[a0_0_0] = d0_0.args() else { return None };
                    let d0_1 = definition(g, a0_1);
                    if d0_1.opcode() == Opcode::Sextend {
                        let &[a0_1_0] = d0_1.args() else { return None };
                        if let Some(value) = narrow_add_sext(g, ty, a0_0_0, a0_1_0) {
                            return Some(value);
                        }
                    }
                }
                _ => {}
            }
        }
        Opcode::Band => {
            let &[a0_0, a0_1] = d0.args() else { return None };
            if let Some(c0_1) = constant(g, a0_1) {
                let d0_0 = definition(g, a0_0);
                if d0_0.opcode() == Opcode::Uextend {
                    let &[a0_0_0] = d0_0.args() else { return None };
                    if let Some(value) = narrow_and(g, ty, a0_0_0, c0_1) {
                        return Some(value);
                    }
                }
            }
        }
        Opcode::Isub => {
            let &[a0_0, a0_1] = d0.args() else { return None };
            let d0_0 = definition(g, a0_0);
            match d0_0.opcode() {
                Opcode::Uextend => {
                    let &[a0_0_0] = d0_0.args() else { return None };
                    let d0_1 = definition(g, a0_1);
                    if d0_1.opcode() == Opcode::Uextend {
                        let &[a0_1_0] = d0_1.args() else { return None };
                        if let Some(value) = narrow_sub_uext(g, ty, a0_0_0, a0_1_0) {
                            return Some(value);
                        }
                    }
                }
                Opcode::Sextend => {
                    let &[a0_0_0] = d0_0.args() else { return None };
                    let d0_1 = definition(g, a0_1);
                    if d0_1.opcode() == Opcode::Sextend {
                        let &[a0_1_0] = d0_1.args() else { return None };
                        if let Some(value) = narrow_sub_sext(g, ty, a0_0_0, a0_1_0) {
                            return Some(value);
                        }
                    }
                }
                _ => {}
            }
        }
        Opcode::Bor => {
            let &[a0_0, a0_1] = d0.args() else { return None };
            if let Some(c0_1) = constant(g, a0_1) {
                let d0_0 = definition(g, a0_0);
                if d0_0.opcode() == Opcode::Uextend {
                    let &[a0_0_0] = d0_0.args() else { return None };
                    if let Some(value) = narrow_or(g, ty, a0_0_0, c0_1) {
                        return Some(value);
                    }
                }
            }
        }
        Opcode::Bxor => {
            let &[a0_0, a0_1] = d0.args() else { return None };
            if let Some(c0_1) = constant(g, a0_1) {
                let d0_0 = definition(g, a0_0);
                if d0_0.opcode() == Opcode::Uextend {
                    let &[a0_0_0] = d0_0.args() else { return None };
                    if let Some(value) = narrow_xor(g, ty, a0_0_0, c0_1) {
                        return Some(value);
                    }
                }
            }
        }
        _ => {}
    }
    None
}

fn match_uextend(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = request.controlling_type();
    let &[a0] = request.args() else { return None };
    let d0 = definition(g, a0);
    if d0.opcode() == Opcode::Uextend {
        let &[a0_0] = d0.args() else { return None };
        if let Some(value) = ext_ext(g, ty, a0_0) {
            return Some(value);
        }
    }
    None
}

fn match_sextend(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = request.controlling_type();
    let &[a0] = request.args() else { return None };
    let d0 = definition(g, a0);
    match d0.opcode() {
        Opcode::Sextend => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = sext_sext(g, ty, a0_0) {
                return Some(value);
            }
        }
        Opcode::Uextend => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = sext_uext(g, ty, a0_0) {
                return Some(value);
            }
        }
        _ => {}
    }
    None
}

fn match_fneg(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0] = request.args() else { return None };
    let d0 = definition(g, a0);
    if d0.opcode() == Opcode::Fneg {
        let &[a0_0] = d0.args() else { return None };
        if let Some(value) = fneg_fneg(g, ty, a0_0) {
            return Some(value);
        }
    }
    None
}

fn match_fabs(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0] = request.args() else { return None };
    let d0 = definition(g, a0);
    match d0.opcode() {
        Opcode::Fneg => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = fabs_fneg(g, ty, a0_0) {
                return Some(value);
            }
        }
        Opcode::Fabs => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = fabs_fabs(g, ty, a0_0) {
                return Some(value);
            }
        }
        _ => {}
    }
    None
}

fn match_fcopysign(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if a0 == a1 && let Some(value) = copysign_self(g, ty, a0) {
        return Some(value);
    }
    let d0 = definition(g, a0);
    match d0.opcode() {
        Opcode::Fneg => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = copysign_fneg(g, ty, a0_0, a1) {
                return Some(value);
            }
        }
        Opcode::Fabs => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = copysign_fabs(g, ty, a0_0, a1) {
                return Some(value);
            }
        }
        _ => {}
    }
    None
}

/// The value that the first matching rule on `cond(value)` makes.
pub(super) fn match_condition(g: &mut impl Graph, value: Value) -> Option<Value> {
    let d = definition(g, value);
    match d.opcode() {
        Opcode::Uextend => {
            let &[a0] = d.args() else { return None };
            if let Some(value) = cond_uext(g, a0) {
                return Some(value);
            }
        }
        Opcode::Sextend => {
            let &[a0] = d.args() else { return None };
            if let Some(value) = cond_sext(g, a0) {
                return Some(value);
            }
        }
        Opcode::Icmp => {
            let &[a0, a1] = d.args() else { return None };
            if let Some(c1) = constant(g, a1) && condition(&d) == IntCC::NotEqual && c1.is(0) && let Some(value) = cond_ne_zero(g, a0) {
                return Some(value);
            }
        }
        Opcode::Ineg => {
            let &[a0] = d.args() else { return None };
            if let Some(value) = cond_neg(g, a0) {
                return Some(value);
            }
        }
        Opcode::Bmask => {
            let &[a0] = d.args() else { return None };
            if let Some(value) = cond_bmask(g, a0) {
                return Some(value);
            }
        }
        Opcode::Select => {
            let &[a0, a1, a2] = d.args() else { return None };
            if let Some(c1) = constant(g, a1) && let Some(c2) = constant(g, a2) && c1.is(1) && c2.is(0) && let Some(value) = cond_select(g, a0) {
                return Some(value);
            }
        }
        _ => {}
    }
    None
}

/// `iadd(x, 0) => x at lanes`
fn add_zero(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AddZero) {
        Some(x)
    } else {
        None
    }
}

/// `isub(x, 0) => x at lanes`
fn sub_zero(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SubZero) {
        Some(x)
    } else {
        None
    }
}

/// `imul(x, 1) => x at lanes`
fn mul_one(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::MulOne) {
        Some(x)
    } else {
        None
    }
}

/// `imul(x, 0) => 0 at lanes`
fn mul_zero(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::MulZero) {
        Some(make_constant(g, ty, Bits::new(ty.lane_bits(), 0)))
    } else {
        None
    }
}

/// `band(x, -1) => x at lanes`
fn and_ones(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AndOnes) {
        Some(x)
    } else {
        None
    }
}

/// `band(x, 0) => 0 at lanes`
fn and_zero(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AndZero) {
        Some(make_constant(g, ty, Bits::new(ty.lane_bits(), 0)))
    } else {
        None
    }
}

/// `bor(x, 0) => x at lanes`
fn or_zero(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::OrZero) {
        Some(x)
    } else {
        None
    }
}

/// `bor(x, -1) => -1 at lanes`
fn or_ones(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::OrOnes) {
        Some(make_constant(g, ty, Bits::new(ty.lane_bits(), -1)))
    } else {
        None
    }
}

/// `bxor(x, 0) => x at lanes`
fn xor_zero(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::XorZero) {
        Some(x)
    } else {
        None
    }
}

/// `band(x, x) => x at lanes`
fn and_self(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AndSelf) {
        Some(x)
    } else {
        None
    }
}

/// `bor(x, x) => x at lanes`
fn or_self(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::OrSelf) {
        Some(x)
    } else {
        None
    }
}

/// `bxor(x, x) => 0 at lanes`
fn xor_self(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::XorSelf) {
        Some(make_constant(g, ty, Bits::new(ty.lane_bits(), 0)))
    } else {
        None
    }
}

/// `isub(x, x) => 0 at lanes`
fn sub_self(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SubSelf) {
        Some(make_constant(g, ty, Bits::new(ty.lane_bits(), 0)))
    } else {
        None
    }
}

/// `ishl(x, 0) => x at lanes`
fn shl_zero(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::ShlZero) {
        Some(x)
    } else {
        None
    }
}

/// `ushr(x, 0) => x at lanes`
fn ushr_zero(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::UshrZero) {
        Some(x)
    } else {
        None
    }
}

/// `sshr(x, 0) => x at lanes`
fn sshr_zero(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SshrZero) {
        Some(x)
    } else {
        None
    }
}

/// `rotl(x, 0) => x at lanes`
fn rotl_zero(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::RotlZero) {
        Some(x)
    } else {
        None
    }
}

/// `rotr(x, 0) => x at lanes`
fn rotr_zero(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::RotrZero) {
        Some(x)
    } else {
        None
    }
}

/// `udiv(x, 1) => x`
fn udiv_one(g: &mut impl Graph, x: Value) -> Option<Value> {
    if g.may_apply(Rule::UdivOne) {
        Some(x)
    } else {
        None
    }
}

/// `sdiv(x, 1) => x`
fn sdiv_one(g: &mut impl Graph, x: Value) -> Option<Value> {
    if g.may_apply(Rule::SdivOne) {
        Some(x)
    } else {
        None
    }
}

/// `urem(x, 1) => 0`
fn urem_one(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if g.may_apply(Rule::UremOne) {
        Some(make_constant(g, ty, Bits::new(ty.lane_bits(), 0)))
    } else {
        None
    }
}

/// `srem(x, 1) => 0`
fn srem_one(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if g.may_apply(Rule::SremOne) {
        Some(make_constant(g, ty, Bits::new(ty.lane_bits(), 0)))
    } else {
        None
    }
}

/// `band(x, bor(x, y)) => x at lanes`
fn absorb_and(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AbsorbAnd) {
        Some(x)
    } else {
        None
    }
}

/// `bor(x, band(x, y)) => x at lanes`
fn absorb_or(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AbsorbOr) {
        Some(x)
    } else {
        None
    }
}

/// `bxor(x, -1) => bnot(x) at lanes`
fn xor_ones(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::XorOnes) {
        Some(g.make(InstData::unary(Opcode::Bnot, ty, x)))
    } else {
        None
    }
}

/// `bnot(bnot(x)) => x at lanes`
fn not_not(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::NotNot) {
        Some(x)
    } else {
        None
    }
}

/// `ineg(ineg(x)) => x at lanes`
fn neg_neg(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::NegNeg) {
        Some(x)
    } else {
        None
    }
}

/// `isub(0, x) => ineg(x) at lanes`
fn zero_sub(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::ZeroSub) {
        Some(g.make(InstData::unary(Opcode::Ineg, ty, x)))
    } else {
        None
    }
}

/// `ineg(isub(y, x)) => isub(x, y) at lanes`
fn neg_sub(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::NegSub) {
        Some(g.make(InstData::binary(Opcode::Isub, ty, [x, y])))
    } else {
        None
    }
}

/// `iadd(x, ineg(y)) => isub(x, y) at lanes`
fn add_neg(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AddNeg) {
        Some(g.make(InstData::binary(Opcode::Isub, ty, [x, y])))
    } else {
        None
    }
}

/// `isub(x, ineg(y)) => iadd(x, y) at lanes`
fn sub_neg(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SubNeg) {
        Some(g.make(InstData::binary(Opcode::Iadd, ty, [x, y])))
    } else {
        None
    }
}

/// `imul(x, -1) => ineg(x) at lanes`
fn mul_minus_one(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::MulMinusOne) {
        Some(g.make(InstData::unary(Opcode::Ineg, ty, x)))
    } else {
        None
    }
}

/// `isub(x, C) => iadd(x, -C) at lanes`
fn sub_const(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SubConst) {
        let v0 = make_constant(g, ty, -c);
        Some(g.make(InstData::binary(Opcode::Iadd, ty, [x, v0])))
    } else {
        None
    }
}

/// `iadd(iadd(x, C1), C2) => iadd(x, C1 + C2) at lanes`
fn add_chain(g: &mut impl Graph, ty: Type, x: Value, c1: Bits, c2: Bits) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AddChain) {
        let v0 = make_constant(g, ty, c1 + c2);
        Some(g.make(InstData::binary(Opcode::Iadd, ty, [x, v0])))
    } else {
        None
    }
}

/// `iadd(isub(C1, x), C2) => isub(C1 + C2, x) at lanes`
fn sub_add_const(g: &mut impl Graph, ty: Type, x: Value, c1: Bits, c2: Bits) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SubAddConst) {
        let v1 = make_constant(g, ty, c1 + c2);
        Some(g.make(InstData::binary(Opcode::Isub, ty, [v1, x])))
    } else {
        None
    }
}

/// `isub(C1, iadd(x, C2)) => isub(C1 - C2, x) at lanes`
fn const_sub_add(g: &mut impl Graph, ty: Type, x: Value, c1: Bits, c2: Bits) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::ConstSubAdd) {
        let v1 = make_constant(g, ty, c1 - c2);
        Some(g.make(InstData::binary(Opcode::Isub, ty, [v1, x])))
    } else {
        None
    }
}

/// `imul(imul(x, C1), C2) => imul(x, C1 * C2) at lanes`
fn mul_chain(g: &mut impl Graph, ty: Type, x: Value, c1: Bits, c2: Bits) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::MulChain) {
        let v0 = make_constant(g, ty, c1 * c2);
        Some(g.make(InstData::binary(Opcode::Imul, ty, [x, v0])))
    } else {
        None
    }
}

/// `band(band(x, C1), C2) => band(x, C1 & C2) at lanes`
fn and_chain(g: &mut impl Graph, ty: Type, x: Value, c1: Bits, c2: Bits) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AndChain) {
        let v0 = make_constant(g, ty, c1 & c2);
        Some(g.make(InstData::binary(Opcode::Band, ty, [x, v0])))
    } else {
        None
    }
}

/// `bor(bor(x, C1), C2) => bor(x, C1 | C2) at lanes`
fn or_chain(g: &mut impl Graph, ty: Type, x: Value, c1: Bits, c2: Bits) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::OrChain) {
        let v0 = make_constant(g, ty, c1 | c2);
        Some(g.make(InstData::binary(Opcode::Bor, ty, [x, v0])))
    } else {
        None
    }
}

/// `bxor(bxor(x, C1), C2) => bxor(x, C1 ^ C2) at lanes`
fn xor_chain(g: &mut impl Graph, ty: Type, x: Value, c1: Bits, c2: Bits) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::XorChain) {
        let v0 = make_constant(g, ty, c1 ^ c2);
        Some(g.make(InstData::binary(Opcode::Bxor, ty, [x, v0])))
    } else {
        None
    }
}

/// `iadd(isub(x, y), y) => x at lanes`
fn sub_add(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SubAdd) {
        Some(x)
    } else {
        None
    }
}

/// `isub(iadd(x, y), y) => x at lanes`
fn add_sub(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AddSub) {
        Some(x)
    } else {
        None
    }
}

/// `isub(x, isub(x, y)) => y at lanes`
fn sub_sub(g: &mut impl Graph, ty: Type, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SubSub) {
        Some(y)
    } else {
        None
    }
}

/// `imul(x, C) => ishl(x, log2(C)) where isPowerOf2(C)`
fn mul_pow2(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if ty.is_int() && c.is_power_of_two() && g.may_apply(Rule::MulPow2) {
        let v0 = make_constant(g, ty, c.log2(ty.lane_bits()));
        Some(g.make(InstData::binary(Opcode::Ishl, ty, [x, v0])))
    } else {
        None
    }
}

/// `udiv(x, C) => ushr(x, log2(C)) where isPowerOf2(C)`
fn udiv_pow2(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if c.is_power_of_two() && g.may_apply(Rule::UdivPow2) {
        let v0 = make_constant(g, ty, c.log2(ty.lane_bits()));
        Some(g.make(InstData::binary(Opcode::Ushr, ty, [x, v0])))
    } else {
        None
    }
}

/// `urem(x, C) => band(x, C - 1) where isPowerOf2(C)`
fn urem_pow2(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if c.is_power_of_two() && g.may_apply(Rule::UremPow2) {
        let v0 = make_constant(g, ty, c - Bits::new(ty.lane_bits(), 1));
        Some(g.make(InstData::binary(Opcode::Band, ty, [x, v0])))
    } else {
        None
    }
}

/// `uextend.W(uextend.M(x: N)) => uextend.W(x) at N < M < W`
fn ext_ext(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if g.may_apply(Rule::ExtExt) {
        Some(g.make(InstData::unary(Opcode::Uextend, ty, x)))
    } else {
        None
    }
}

/// `sextend.W(sextend.M(x: N)) => sextend.W(x) at N < M < W`
fn sext_sext(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if g.may_apply(Rule::SextSext) {
        Some(g.make(InstData::unary(Opcode::Sextend, ty, x)))
    } else {
        None
    }
}

/// `sextend.W(uextend.M(x: N)) => uextend.W(x) at N < M < W`
fn sext_uext(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if g.may_apply(Rule::SextUext) {
        Some(g.make(InstData::unary(Opcode::Uextend, ty, x)))
    } else {
        None
    }
}

/// `ireduce.N(uextend.W(x: N)) => x`
fn reduce_uext(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if ty == g.ty(x) && g.may_apply(Rule::ReduceUext) {
        Some(x)
    } else {
        None
    }
}

/// `ireduce.N(sextend.W(x: N)) => x`
fn reduce_sext(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if ty == g.ty(x) && g.may_apply(Rule::ReduceSext) {
        Some(x)
    } else {
        None
    }
}

/// `ireduce.N(ireduce.M(x: W)) => ireduce.N(x) at N < M < W`
fn reduce_reduce(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if g.may_apply(Rule::ReduceReduce) {
        Some(g.make(InstData::unary(Opcode::Ireduce, ty, x)))
    } else {
        None
    }
}

/// `ireduce.N(uextend.W(x: M)) => ireduce.N(x) at N < M < W`
fn reduce_uext_low(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if ty.lane_bits() < g.ty(x).lane_bits() && g.may_apply(Rule::ReduceUextLow) {
        Some(g.make(InstData::unary(Opcode::Ireduce, ty, x)))
    } else {
        None
    }
}

/// `ireduce.M(uextend.W(x: N)) => uextend.M(x) at N < M < W`
fn reduce_uext_high(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if g.ty(x).lane_bits() < ty.lane_bits() && g.may_apply(Rule::ReduceUextHigh) {
        Some(g.make(InstData::unary(Opcode::Uextend, ty, x)))
    } else {
        None
    }
}

/// `ireduce.N(iadd.W(uextend(x: N), C)) => iadd(x, trunc(C))`
fn narrow_add(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if ty == g.ty(x) && g.may_apply(Rule::NarrowAdd) {
        let v0 = make_constant(g, ty, c.resize(ty.lane_bits()));
        Some(g.make(InstData::binary(Opcode::Iadd, ty, [x, v0])))
    } else {
        None
    }
}

/// `ireduce.N(band.W(uextend(x: N), C)) => band(x, trunc(C))`
fn narrow_and(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if ty == g.ty(x) && g.may_apply(Rule::NarrowAnd) {
        let v0 = make_constant(g, ty, c.resize(ty.lane_bits()));
        Some(g.make(InstData::binary(Opcode::Band, ty, [x, v0])))
    } else {
        None
    }
}

/// `ishl(x, uextend.W(y: N)) => ishl(x, y) where width(y) u>= log2(width(x))`
fn amount_uext(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if ty.is_int() && Bits::new(64, i128::from(g.ty(y).lane_bits())).unsigned() >= Bits::new(64, i128::from(ty.lane_bits())).log2(64).unsigned() && g.may_apply(Rule::AmountUext) {
        Some(g.make(InstData::binary(Opcode::Ishl, ty, [x, y])))
    } else {
        None
    }
}

/// `icmp eq (uextend(icmp cc (x, y)), 0) => icmp !cc (x, y)`
fn not_cmp(g: &mut impl Graph, x: Value, y: Value, cc: IntCC) -> Option<Value> {
    if g.may_apply(Rule::NotCmp) {
        Some(g.make(InstData::icmp(g.ty(y), cc.inverse(), [x, y])))
    } else {
        None
    }
}

/// `icmp ne (icmp cc (x, y), 0) => icmp cc (x, y)`
fn cmp_not_zero(g: &mut impl Graph, ty: Type, x: Value, y: Value, cc: IntCC) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::CmpNotZero) {
        Some(g.make(InstData::icmp(g.ty(y), cc, [x, y])))
    } else {
        None
    }
}

/// `icmp eq (icmp cc (x, y), 0) => icmp !cc (x, y)`
fn cmp_zero(g: &mut impl Graph, ty: Type, x: Value, y: Value, cc: IntCC) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::CmpZero) {
        Some(g.make(InstData::icmp(g.ty(y), cc.inverse(), [x, y])))
    } else {
        None
    }
}

/// `icmp cc (iadd(x, C1), C2) => icmp cc (x, C2 - C1) at cc = eq | ne`
fn eq_add_const(g: &mut impl Graph, ty: Type, x: Value, c1: Bits, c2: Bits, cc: IntCC) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::EqAddConst) {
        let v0 = make_constant(g, ty, c2 - c1);
        Some(g.make(InstData::icmp(ty, cc, [x, v0])))
    } else {
        None
    }
}

/// `icmp cc (x, x) => 1 at cc = eq | uge | ule | sge | sle`
fn eq_self(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::EqSelf) {
        Some(make_constant(g, types::I8, Bits::new(types::I8.lane_bits(), 1)))
    } else {
        None
    }
}

/// `icmp cc (x, x) => 0 at cc = ne | ugt | ult | sgt | slt`
fn ne_self(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::NeSelf) {
        Some(make_constant(g, types::I8, Bits::new(types::I8.lane_bits(), 0)))
    } else {
        None
    }
}

/// `icmp ult (x, 0) => 0`
fn ult_zero(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::UltZero) {
        Some(make_constant(g, types::I8, Bits::new(types::I8.lane_bits(), 0)))
    } else {
        None
    }
}

/// `icmp uge (x, 0) => 1`
fn uge_zero(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::UgeZero) {
        Some(make_constant(g, types::I8, Bits::new(types::I8.lane_bits(), 1)))
    } else {
        None
    }
}

/// `band(icmp uge (x, C1), icmp ult (x, C2)) => icmp ult (isub(x, C1), C2 - C1) where C1 u<= C2`
fn range(g: &mut impl Graph, ty: Type, x: Value, c1: Bits, c2: Bits) -> Option<Value> {
    if ty.is_int() && c1.unsigned() <= c2.unsigned() && g.may_apply(Rule::Range) {
        let v0 = make_constant(g, g.ty(x), c1);
        let v2 = make_constant(g, g.ty(x), c2 - c1);
        let v3 = g.make(InstData::binary(Opcode::Isub, g.ty(x), [x, v0]));
        Some(g.make(InstData::icmp(g.ty(x), IntCC::UnsignedLessThan, [v3, v2])))
    } else {
        None
    }
}

/// `cond(uextend(x)) => cond(x)`
fn cond_uext(g: &mut impl Graph, x: Value) -> Option<Value> {
    if g.may_apply(Rule::CondUext) {
        Some(x)
    } else {
        None
    }
}

/// `cond(sextend(x)) => cond(x)`
fn cond_sext(g: &mut impl Graph, x: Value) -> Option<Value> {
    if g.may_apply(Rule::CondSext) {
        Some(x)
    } else {
        None
    }
}

/// `cond(icmp ne (x, 0)) => cond(x)`
fn cond_ne_zero(g: &mut impl Graph, x: Value) -> Option<Value> {
    if g.may_apply(Rule::CondNeZero) {
        Some(x)
    } else {
        None
    }
}

/// `cond(ineg(x)) => cond(x)`
fn cond_neg(g: &mut impl Graph, x: Value) -> Option<Value> {
    if g.may_apply(Rule::CondNeg) {
        Some(x)
    } else {
        None
    }
}

/// `select(uextend(c), x, y) => select(c, x, y)`
fn select_uext(g: &mut impl Graph, ty: Type, c: Value, x: Value, y: Value) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::SelectUext) {
        Some(g.make(InstData::ternary(Opcode::Select, ty, [c, x, y])))
    } else {
        None
    }
}

/// `select(c, x, x) => x`
fn select_same(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::SelectSame) {
        Some(x)
    } else {
        None
    }
}

/// `select(icmp ne (c, 0), x, y) => select(c, x, y)`
fn select_ne_zero(g: &mut impl Graph, ty: Type, c: Value, x: Value, y: Value) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::SelectNeZero) {
        Some(g.make(InstData::ternary(Opcode::Select, ty, [c, x, y])))
    } else {
        None
    }
}

/// `select(icmp slt (x, y), x, y) => smin(x, y)`
fn select_smin(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if g.may_apply(Rule::SelectSmin) {
        Some(g.make(InstData::binary(Opcode::Smin, ty, [x, y])))
    } else {
        None
    }
}

/// `select(icmp sgt (x, y), x, y) => smax(x, y)`
fn select_smax(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if g.may_apply(Rule::SelectSmax) {
        Some(g.make(InstData::binary(Opcode::Smax, ty, [x, y])))
    } else {
        None
    }
}

/// `select(icmp ult (x, y), x, y) => umin(x, y)`
fn select_umin(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if g.may_apply(Rule::SelectUmin) {
        Some(g.make(InstData::binary(Opcode::Umin, ty, [x, y])))
    } else {
        None
    }
}

/// `select(icmp ugt (x, y), x, y) => umax(x, y)`
fn select_umax(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if g.may_apply(Rule::SelectUmax) {
        Some(g.make(InstData::binary(Opcode::Umax, ty, [x, y])))
    } else {
        None
    }
}

/// `ushr(ishl(x, K), K) => band(x, -1 u>> K) where K u< width(x)`
fn shl_ushr(g: &mut impl Graph, ty: Type, x: Value, n1: Value, n3: Value, k: Bits) -> Option<Value> {
    if ty == g.ty(n1) && ty == g.ty(n3) && k.unsigned() < Bits::new(ty.lane_bits(), i128::from(ty.lane_bits())).unsigned() && g.may_apply(Rule::ShlUshr) {
        let v0 = make_constant(g, ty, Bits::new(ty.lane_bits(), -1).shift_right(k));
        Some(g.make(InstData::binary(Opcode::Band, ty, [x, v0])))
    } else {
        None
    }
}

/// `ishl(ushr(x, K), K) => band(x, -1 << K) where K u< width(x)`
fn ushr_shl(g: &mut impl Graph, ty: Type, x: Value, n1: Value, n3: Value, k: Bits) -> Option<Value> {
    if ty == g.ty(n1) && ty == g.ty(n3) && k.unsigned() < Bits::new(ty.lane_bits(), i128::from(ty.lane_bits())).unsigned() && g.may_apply(Rule::UshrShl) {
        let v0 = make_constant(g, ty, Bits::new(ty.lane_bits(), -1).shift_left(k));
        Some(g.make(InstData::binary(Opcode::Band, ty, [x, v0])))
    } else {
        None
    }
}

/// `ishl(ishl(x, K1), K2) => ishl(x, K1 + K2) where K1 u< width(x) && K2 u< width(x) && K1 + K2 u< width(x)`
fn shl_shl(g: &mut impl Graph, ty: Type, x: Value, n1: Value, n3: Value, k1: Bits, k2: Bits) -> Option<Value> {
    if g.ty(n1) == g.ty(n3) && ty.is_int() && k1.unsigned() < Bits::new(g.ty(n1).lane_bits(), i128::from(ty.lane_bits())).unsigned() && k2.unsigned() < Bits::new(g.ty(n1).lane_bits(), i128::from(ty.lane_bits())).unsigned() && (k1 + k2).unsigned() < Bits::new(g.ty(n1).lane_bits(), i128::from(ty.lane_bits())).unsigned() && g.may_apply(Rule::ShlShl) {
        let v0 = make_constant(g, g.ty(n1), k1 + k2);
        Some(g.make(InstData::binary(Opcode::Ishl, ty, [x, v0])))
    } else {
        None
    }
}

/// `select(icmp sle (x, y), x, y) => smin(x, y)`
fn select_smin_le(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if g.may_apply(Rule::SelectSminLe) {
        Some(g.make(InstData::binary(Opcode::Smin, ty, [x, y])))
    } else {
        None
    }
}

/// `select(icmp sge (x, y), x, y) => smax(x, y)`
fn select_smax_ge(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if g.may_apply(Rule::SelectSmaxGe) {
        Some(g.make(InstData::binary(Opcode::Smax, ty, [x, y])))
    } else {
        None
    }
}

/// `select(icmp ule (x, y), x, y) => umin(x, y)`
fn select_umin_le(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if g.may_apply(Rule::SelectUminLe) {
        Some(g.make(InstData::binary(Opcode::Umin, ty, [x, y])))
    } else {
        None
    }
}

/// `select(icmp uge (x, y), x, y) => umax(x, y)`
fn select_umax_ge(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if g.may_apply(Rule::SelectUmaxGe) {
        Some(g.make(InstData::binary(Opcode::Umax, ty, [x, y])))
    } else {
        None
    }
}

/// `smin(x, x) => x at lanes`
fn smin_self(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SminSelf) {
        Some(x)
    } else {
        None
    }
}

/// `smax(x, x) => x at lanes`
fn smax_self(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SmaxSelf) {
        Some(x)
    } else {
        None
    }
}

/// `umin(x, x) => x at lanes`
fn umin_self(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::UminSelf) {
        Some(x)
    } else {
        None
    }
}

/// `umax(x, x) => x at lanes`
fn umax_self(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::UmaxSelf) {
        Some(x)
    } else {
        None
    }
}

/// `umin(x, 0) => 0 at lanes`
fn umin_zero(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::UminZero) {
        Some(make_constant(g, ty, Bits::new(ty.lane_bits(), 0)))
    } else {
        None
    }
}

/// `umax(x, 0) => x at lanes`
fn umax_zero(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::UmaxZero) {
        Some(x)
    } else {
        None
    }
}

/// `iabs(ineg(x)) => iabs(x) at lanes`
fn abs_neg(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AbsNeg) {
        Some(g.make(InstData::unary(Opcode::Iabs, ty, x)))
    } else {
        None
    }
}

/// `iabs(iabs(x)) => iabs(x) at lanes`
fn abs_abs(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AbsAbs) {
        Some(g.make(InstData::unary(Opcode::Iabs, ty, x)))
    } else {
        None
    }
}

/// `band(uextend.W(x: N), uextend.W(y: N)) => uextend.W(band(x, y))`
fn and_uext(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if g.ty(y) == g.ty(x) && g.may_apply(Rule::AndUext) {
        let v2 = g.make(InstData::binary(Opcode::Band, g.ty(y), [x, y]));
        Some(g.make(InstData::unary(Opcode::Uextend, ty, v2)))
    } else {
        None
    }
}

/// `bor(uextend.W(x: N), uextend.W(y: N)) => uextend.W(bor(x, y))`
fn or_uext(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if g.ty(y) == g.ty(x) && g.may_apply(Rule::OrUext) {
        let v2 = g.make(InstData::binary(Opcode::Bor, g.ty(y), [x, y]));
        Some(g.make(InstData::unary(Opcode::Uextend, ty, v2)))
    } else {
        None
    }
}

/// `bxor(uextend.W(x: N), uextend.W(y: N)) => uextend.W(bxor(x, y))`
fn xor_uext(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if g.ty(y) == g.ty(x) && g.may_apply(Rule::XorUext) {
        let v2 = g.make(InstData::binary(Opcode::Bxor, g.ty(y), [x, y]));
        Some(g.make(InstData::unary(Opcode::Uextend, ty, v2)))
    } else {
        None
    }
}

/// `ireduce.N(iadd.W(uextend(x: N), uextend(y: N))) => iadd(x, y)`
fn narrow_add_uext(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if ty == g.ty(y) && ty == g.ty(x) && g.may_apply(Rule::NarrowAddUext) {
        Some(g.make(InstData::binary(Opcode::Iadd, ty, [x, y])))
    } else {
        None
    }
}

/// `ireduce.N(isub.W(uextend(x: N), uextend(y: N))) => isub(x, y)`
fn narrow_sub_uext(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if ty == g.ty(y) && ty == g.ty(x) && g.may_apply(Rule::NarrowSubUext) {
        Some(g.make(InstData::binary(Opcode::Isub, ty, [x, y])))
    } else {
        None
    }
}

/// `ireduce.N(iadd.W(sextend(x: N), sextend(y: N))) => iadd(x, y)`
fn narrow_add_sext(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if ty == g.ty(y) && ty == g.ty(x) && g.may_apply(Rule::NarrowAddSext) {
        Some(g.make(InstData::binary(Opcode::Iadd, ty, [x, y])))
    } else {
        None
    }
}

/// `ireduce.N(isub.W(sextend(x: N), sextend(y: N))) => isub(x, y)`
fn narrow_sub_sext(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if ty == g.ty(y) && ty == g.ty(x) && g.may_apply(Rule::NarrowSubSext) {
        Some(g.make(InstData::binary(Opcode::Isub, ty, [x, y])))
    } else {
        None
    }
}

/// `ireduce.N(bor.W(uextend(x: N), C)) => bor(x, trunc(C))`
fn narrow_or(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if ty == g.ty(x) && g.may_apply(Rule::NarrowOr) {
        let v0 = make_constant(g, ty, c.resize(ty.lane_bits()));
        Some(g.make(InstData::binary(Opcode::Bor, ty, [x, v0])))
    } else {
        None
    }
}

/// `ireduce.N(bxor.W(uextend(x: N), C)) => bxor(x, trunc(C))`
fn narrow_xor(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if ty == g.ty(x) && g.may_apply(Rule::NarrowXor) {
        let v0 = make_constant(g, ty, c.resize(ty.lane_bits()));
        Some(g.make(InstData::binary(Opcode::Bxor, ty, [x, v0])))
    } else {
        None
    }
}

/// `icmp cc (uextend(x), 0) => icmp cc (x, 0) at cc = eq | ne`
fn cmp_uext_zero(g: &mut impl Graph, x: Value, cc: IntCC) -> Option<Value> {
    if g.may_apply(Rule::CmpUextZero) {
        let v0 = make_constant(g, g.ty(x), Bits::new(g.ty(x).lane_bits(), 0));
        Some(g.make(InstData::icmp(g.ty(x), cc, [x, v0])))
    } else {
        None
    }
}

/// `icmp cc (sextend(x), 0) => icmp cc (x, 0)`
fn cmp_sext_zero(g: &mut impl Graph, x: Value, cc: IntCC) -> Option<Value> {
    if g.may_apply(Rule::CmpSextZero) {
        let v0 = make_constant(g, g.ty(x), Bits::new(g.ty(x).lane_bits(), 0));
        Some(g.make(InstData::icmp(g.ty(x), cc, [x, v0])))
    } else {
        None
    }
}

/// `icmp cc (uextend.W(x: N), uextend.W(y: N)) => icmp cc (x, y) at cc = eq | ne | ult | ule | ugt | uge`
fn cmp_uext(g: &mut impl Graph, x: Value, y: Value, cc: IntCC) -> Option<Value> {
    if g.ty(y) == g.ty(x) && g.may_apply(Rule::CmpUext) {
        Some(g.make(InstData::icmp(g.ty(y), cc, [x, y])))
    } else {
        None
    }
}

/// `icmp cc (sextend.W(x: N), sextend.W(y: N)) => icmp cc (x, y)`
fn cmp_sext(g: &mut impl Graph, x: Value, y: Value, cc: IntCC) -> Option<Value> {
    if g.ty(y) == g.ty(x) && g.may_apply(Rule::CmpSext) {
        Some(g.make(InstData::icmp(g.ty(y), cc, [x, y])))
    } else {
        None
    }
}

/// `band(icmp cc (x, y), 1) => icmp cc (x, y)`
fn cmp_and_one(g: &mut impl Graph, ty: Type, x: Value, y: Value, cc: IntCC) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::CmpAndOne) {
        Some(g.make(InstData::icmp(g.ty(y), cc, [x, y])))
    } else {
        None
    }
}

/// `icmp cc (isub(x, y), 0) => icmp cc (x, y) at cc = eq | ne`
fn cmp_sub_zero(g: &mut impl Graph, ty: Type, x: Value, y: Value, cc: IntCC) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::CmpSubZero) {
        Some(g.make(InstData::icmp(ty, cc, [x, y])))
    } else {
        None
    }
}

/// `icmp cc (bxor(x, y), 0) => icmp cc (x, y) at cc = eq | ne`
fn cmp_xor_zero(g: &mut impl Graph, ty: Type, x: Value, y: Value, cc: IntCC) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::CmpXorZero) {
        Some(g.make(InstData::icmp(ty, cc, [x, y])))
    } else {
        None
    }
}

/// `icmp cc (ineg(x), 0) => icmp cc (x, 0) at cc = eq | ne`
fn cmp_neg_zero(g: &mut impl Graph, ty: Type, x: Value, cc: IntCC) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::CmpNegZero) {
        let v0 = make_constant(g, ty, Bits::new(ty.lane_bits(), 0));
        Some(g.make(InstData::icmp(ty, cc, [x, v0])))
    } else {
        None
    }
}

/// `select(icmp cc (x, y), 1: W, 0) => uextend.W(icmp cc (x, y))`
fn select_one_zero(g: &mut impl Graph, ty: Type, x: Value, y: Value, cc: IntCC) -> Option<Value> {
    if matches!(ty, types::I16 | types::I32 | types::I64 | types::I128) && g.may_apply(Rule::SelectOneZero) {
        let v2 = g.make(InstData::icmp(g.ty(y), cc, [x, y]));
        Some(g.make(InstData::unary(Opcode::Uextend, ty, v2)))
    } else {
        None
    }
}

/// `select(icmp cc (x, y), 1: i8, 0) => icmp cc (x, y)`
fn select_one_zero_i8(g: &mut impl Graph, ty: Type, x: Value, y: Value, n2: Value, cc: IntCC) -> Option<Value> {
    if ty == g.ty(n2) && g.may_apply(Rule::SelectOneZeroI8) {
        Some(g.make(InstData::icmp(g.ty(y), cc, [x, y])))
    } else {
        None
    }
}

/// `select(icmp eq (c, 0), x, y) => select(c, y, x)`
fn select_eq_zero(g: &mut impl Graph, ty: Type, c: Value, x: Value, y: Value) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::SelectEqZero) {
        Some(g.make(InstData::ternary(Opcode::Select, ty, [c, y, x])))
    } else {
        None
    }
}

/// `cond(bmask(x)) => cond(x)`
fn cond_bmask(g: &mut impl Graph, x: Value) -> Option<Value> {
    if g.may_apply(Rule::CondBmask) {
        Some(x)
    } else {
        None
    }
}

/// `cond(select(c, 1, 0)) => cond(c)`
fn cond_select(g: &mut impl Graph, c: Value) -> Option<Value> {
    if g.may_apply(Rule::CondSelect) {
        Some(c)
    } else {
        None
    }
}

/// `fneg(fneg(x)) => x`
fn fneg_fneg(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if ty.is_float() && g.may_apply(Rule::FnegFneg) {
        Some(x)
    } else {
        None
    }
}

/// `fabs(fneg(x)) => fabs(x)`
fn fabs_fneg(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if ty.is_float() && g.may_apply(Rule::FabsFneg) {
        Some(g.make(InstData::unary(Opcode::Fabs, ty, x)))
    } else {
        None
    }
}

/// `fabs(fabs(x)) => fabs(x)`
fn fabs_fabs(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if ty.is_float() && g.may_apply(Rule::FabsFabs) {
        Some(g.make(InstData::unary(Opcode::Fabs, ty, x)))
    } else {
        None
    }
}

/// `fcopysign(x, x) => x`
fn copysign_self(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if ty.is_float() && g.may_apply(Rule::CopysignSelf) {
        Some(x)
    } else {
        None
    }
}

/// `fcopysign(fneg(x), y) => fcopysign(x, y)`
fn copysign_fneg(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if ty.is_float() && g.may_apply(Rule::CopysignFneg) {
        Some(g.make(InstData::binary(Opcode::Fcopysign, ty, [x, y])))
    } else {
        None
    }
}

/// `fcopysign(fabs(x), y) => fcopysign(x, y)`
fn copysign_fabs(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if ty.is_float() && g.may_apply(Rule::CopysignFabs) {
        Some(g.make(InstData::binary(Opcode::Fcopysign, ty, [x, y])))
    } else {
        None
    }
}
