//! The matcher of the proved rules. Written by `kingpost rules generate`: do not edit.

use super::bits::Bits;
use super::graph::{Effect, Graph};
use super::sources::Sources;
use super::support::{fits, cond_trap, condition, constant, definition, float_condition, is_int_or_lanes, is_offset, load, make_constant, offset, store, trap};
use crate::known_bits::{ones, zeros};
use kingpost_ir::condcodes::{FloatCC, IntCC};
use kingpost_ir::{InstData, MemFlags, Opcode, Type, Value, types};

const _: () = assert!(fits(include_bytes!("../../rules/integers.rules"), 0xaf167c1c3e86dee4), "the matcher is stale: make rules");
const _: () = assert!(fits(include_bytes!("../../rules/floats.rules"), 0x461f41de08da95fc), "the matcher is stale: make rules");
const _: () = assert!(fits(include_bytes!("../../rules/effects.rules"), 0xd4df5797c8d359a8), "the matcher is stale: make rules");
const _: () = assert!(fits(include_bytes!("../../rules/ledger.tsv"), 0x0b8a2ee910fec767), "the matcher is stale: make rules");

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
    /// `neg_mul`
    NegMul,
    /// `mul_neg`
    MulNeg,
    /// `neg_add_const`
    NegAddConst,
    /// `not_add`
    NotAdd,
    /// `neg_not`
    NegNot,
    /// `add_not_one`
    AddNotOne,
    /// `add_not`
    AddNot,
    /// `add_not_self`
    AddNotSelf,
    /// `and_not_self`
    AndNotSelf,
    /// `or_not_self`
    OrNotSelf,
    /// `xor_not_self`
    XorNotSelf,
    /// `and_not_not`
    AndNotNot,
    /// `or_not_not`
    OrNotNot,
    /// `xor_not_not`
    XorNotNot,
    /// `and_or_not`
    AndOrNot,
    /// `or_and_not`
    OrAndNot,
    /// `sub_const`
    SubConst,
    /// `add_chain`
    AddChain,
    /// `sub_add_const`
    SubAddConst,
    /// `const_sub_add`
    ConstSubAdd,
    /// `const_sub_sub`
    ConstSubSub,
    /// `mul_chain`
    MulChain,
    /// `and_chain`
    AndChain,
    /// `or_chain`
    OrChain,
    /// `xor_chain`
    XorChain,
    /// `mul_shl`
    MulShl,
    /// `shl_mul`
    ShlMul,
    /// `sub_add`
    SubAdd,
    /// `add_sub`
    AddSub,
    /// `sub_sub`
    SubSub,
    /// `sub_add_left`
    SubAddLeft,
    /// `sub_sub_left`
    SubSubLeft,
    /// `add_add_neg`
    AddAddNeg,
    /// `xor_xor_self`
    XorXorSelf,
    /// `sub_or_and`
    SubOrAnd,
    /// `sub_or_xor`
    SubOrXor,
    /// `add_and_or`
    AddAndOr,
    /// `add_and_xor`
    AddAndXor,
    /// `or_and_xor`
    OrAndXor,
    /// `or_xor_self`
    OrXorSelf,
    /// `xor_and_and`
    XorAndAnd,
    /// `mul_pow2`
    MulPow2,
    /// `udiv_pow2`
    UdivPow2,
    /// `urem_pow2`
    UremPow2,
    /// `sdiv_pow2`
    SdivPow2,
    /// `umulhi_wide`
    UmulhiWide,
    /// `smulhi_wide`
    SmulhiWide,
    /// `smulhi_ushr`
    SmulhiUshr,
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
    /// `reduce_sext_low`
    ReduceSextLow,
    /// `reduce_sext_high`
    ReduceSextHigh,
    /// `and_uext_mask`
    AndUextMask,
    /// `and_uext`
    AndUext,
    /// `or_uext`
    OrUext,
    /// `xor_uext`
    XorUext,
    /// `and_sext`
    AndSext,
    /// `or_sext`
    OrSext,
    /// `xor_sext`
    XorSext,
    /// `narrow_add_uext`
    NarrowAddUext,
    /// `narrow_sub_uext`
    NarrowSubUext,
    /// `narrow_mul_uext`
    NarrowMulUext,
    /// `narrow_add_sext`
    NarrowAddSext,
    /// `narrow_sub_sext`
    NarrowSubSext,
    /// `narrow_mul_sext`
    NarrowMulSext,
    /// `narrow_shl`
    NarrowShl,
    /// `narrow_ushr`
    NarrowUshr,
    /// `reduce_neg`
    ReduceNeg,
    /// `reduce_not`
    ReduceNot,
    /// `reduce_add`
    ReduceAdd,
    /// `reduce_and`
    ReduceAnd,
    /// `reduce_or`
    ReduceOr,
    /// `reduce_xor`
    ReduceXor,
    /// `reduce_mul`
    ReduceMul,
    /// `select_of_uext`
    SelectOfUext,
    /// `select_of_sext`
    SelectOfSext,
    /// `shl_ushr`
    ShlUshr,
    /// `ushr_shl`
    UshrShl,
    /// `sshr_shl`
    SshrShl,
    /// `sext8`
    Sext8,
    /// `sext16`
    Sext16,
    /// `sext32`
    Sext32,
    /// `shl_shl`
    ShlShl,
    /// `ushr_ushr`
    UshrUshr,
    /// `sshr_sshr`
    SshrSshr,
    /// `shl_shl_out`
    ShlShlOut,
    /// `ushr_ushr_out`
    UshrUshrOut,
    /// `sshr_sshr_out`
    SshrSshrOut,
    /// `ushr_sshr_sign`
    UshrSshrSign,
    /// `rotate_const`
    RotateConst,
    /// `rotate_sub`
    RotateSub,
    /// `rotate_neg`
    RotateNeg,
    /// `rotate_sub_right`
    RotateSubRight,
    /// `rotate_neg_right`
    RotateNegRight,
    /// `rotr_const`
    RotrConst,
    /// `rotl_neg`
    RotlNeg,
    /// `rotr_neg`
    RotrNeg,
    /// `shl_amount_uext`
    ShlAmountUext,
    /// `shl_amount_sext`
    ShlAmountSext,
    /// `shl_amount_cut`
    ShlAmountCut,
    /// `shl_amount_mask`
    ShlAmountMask,
    /// `ushr_amount_uext`
    UshrAmountUext,
    /// `ushr_amount_sext`
    UshrAmountSext,
    /// `ushr_amount_cut`
    UshrAmountCut,
    /// `ushr_amount_mask`
    UshrAmountMask,
    /// `sshr_amount_uext`
    SshrAmountUext,
    /// `sshr_amount_sext`
    SshrAmountSext,
    /// `sshr_amount_cut`
    SshrAmountCut,
    /// `sshr_amount_mask`
    SshrAmountMask,
    /// `rotl_amount_uext`
    RotlAmountUext,
    /// `rotl_amount_mask`
    RotlAmountMask,
    /// `rotr_amount_uext`
    RotrAmountUext,
    /// `rotr_amount_mask`
    RotrAmountMask,
    /// `eq_self`
    EqSelf,
    /// `ne_self`
    NeSelf,
    /// `ult_zero`
    UltZero,
    /// `uge_zero`
    UgeZero,
    /// `ult_mask`
    UltMask,
    /// `uge_mask`
    UgeMask,
    /// `ult_and`
    UltAnd,
    /// `ule_and`
    UleAnd,
    /// `lt_uext_const`
    LtUextConst,
    /// `gt_uext_const`
    GtUextConst,
    /// `not_cmp`
    NotCmp,
    /// `cmp_not_zero`
    CmpNotZero,
    /// `cmp_zero`
    CmpZero,
    /// `cmp_and_one`
    CmpAndOne,
    /// `cmp_xor_one`
    CmpXorOne,
    /// `uext_cmp_and`
    UextCmpAnd,
    /// `range`
    Range,
    /// `eq_add_const`
    EqAddConst,
    /// `eq_const_sub`
    EqConstSub,
    /// `eq_xor_const`
    EqXorConst,
    /// `eq_not_const`
    EqNotConst,
    /// `eq_neg_const`
    EqNegConst,
    /// `eq_not_not`
    EqNotNot,
    /// `eq_add_add`
    EqAddAdd,
    /// `eq_add_self`
    EqAddSelf,
    /// `cmp_sub_zero`
    CmpSubZero,
    /// `cmp_xor_zero`
    CmpXorZero,
    /// `ugt_sub`
    UgtSub,
    /// `ule_sub`
    UleSub,
    /// `ult_add_const`
    UltAddConst,
    /// `uge_add_const`
    UgeAddConst,
    /// `ult_one`
    UltOne,
    /// `ule_zero`
    UleZero,
    /// `ugt_zero`
    UgtZero,
    /// `uge_one`
    UgeOne,
    /// `cmp_uext_zero`
    CmpUextZero,
    /// `cmp_sext_zero`
    CmpSextZero,
    /// `cmp_uext`
    CmpUext,
    /// `cmp_sext`
    CmpSext,
    /// `cmp_uext_const`
    CmpUextConst,
    /// `select_const`
    SelectConst,
    /// `select_zero`
    SelectZero,
    /// `select_same`
    SelectSame,
    /// `select_uext`
    SelectUext,
    /// `select_ne_zero`
    SelectNeZero,
    /// `select_eq_zero`
    SelectEqZero,
    /// `select_then_same`
    SelectThenSame,
    /// `select_else_same`
    SelectElseSame,
    /// `select_eq`
    SelectEq,
    /// `select_ne`
    SelectNe,
    /// `select_one_zero`
    SelectOneZero,
    /// `select_one_zero_i8`
    SelectOneZeroI8,
    /// `select_zero_one`
    SelectZeroOne,
    /// `select_bit`
    SelectBit,
    /// `select_bit_wide`
    SelectBitWide,
    /// `select_eq_one`
    SelectEqOne,
    /// `select_or`
    SelectOr,
    /// `select_and`
    SelectAnd,
    /// `select_or_not`
    SelectOrNot,
    /// `select_and_not`
    SelectAndNot,
    /// `bitselect_same`
    BitselectSame,
    /// `bitselect_zero`
    BitselectZero,
    /// `bitselect_ones`
    BitselectOnes,
    /// `select_or_shift`
    SelectOrShift,
    /// `select_xor_shift`
    SelectXorShift,
    /// `or_ushr_xor`
    OrUshrXor,
    /// `xor_ushr_xor`
    XorUshrXor,
    /// `cond_uext`
    CondUext,
    /// `cond_sext`
    CondSext,
    /// `cond_ne_zero`
    CondNeZero,
    /// `cond_eq_one`
    CondEqOne,
    /// `cond_neg`
    CondNeg,
    /// `cond_bmask`
    CondBmask,
    /// `cond_select_c`
    CondSelectC,
    /// `cond_iabs`
    CondIabs,
    /// `cond_rotl`
    CondRotl,
    /// `cond_rotr`
    CondRotr,
    /// `cond_popcnt`
    CondPopcnt,
    /// `cond_xor_cmp`
    CondXorCmp,
    /// `cond_sub`
    CondSub,
    /// `bmask_uext`
    BmaskUext,
    /// `bmask_ne_zero`
    BmaskNeZero,
    /// `select_smin`
    SelectSmin,
    /// `select_smax`
    SelectSmax,
    /// `select_umin`
    SelectUmin,
    /// `select_umax`
    SelectUmax,
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
    /// `smin_smin`
    SminSmin,
    /// `smax_smax`
    SmaxSmax,
    /// `umin_umin`
    UminUmin,
    /// `umax_umax`
    UmaxUmax,
    /// `umin_zero`
    UminZero,
    /// `umax_zero`
    UmaxZero,
    /// `umin_ones`
    UminOnes,
    /// `umax_ones`
    UmaxOnes,
    /// `abs_neg`
    AbsNeg,
    /// `abs_abs`
    AbsAbs,
    /// `abs_slt`
    AbsSlt,
    /// `abs_sle`
    AbsSle,
    /// `abs_sgt`
    AbsSgt,
    /// `abs_sge`
    AbsSge,
    /// `abs_smax`
    AbsSmax,
    /// `abs_xor`
    AbsXor,
    /// `mask_known`
    MaskKnown,
    /// `mask_clears`
    MaskClears,
    /// `ones_known`
    OnesKnown,
    /// `ult_known`
    UltKnown,
    /// `uge_known`
    UgeKnown,
    /// `ule_known`
    UleKnown,
    /// `ugt_known`
    UgtKnown,
    /// `eq_known`
    EqKnown,
    /// `ne_known`
    NeKnown,
    /// `slt_known`
    SltKnown,
    /// `sge_known`
    SgeKnown,
    /// `bool_ne_zero`
    BoolNeZero,
    /// `bool_eq_one`
    BoolEqOne,
    /// `sext_known`
    SextKnown,
    /// `sshr_known`
    SshrKnown,
    /// `uext_reduce`
    UextReduce,
    /// `bswap_bswap`
    BswapBswap,
    /// `bitrev_bitrev`
    BitrevBitrev,
    /// `add_splat`
    AddSplat,
    /// `and_splat`
    AndSplat,
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
    /// `copysign_of_fabs`
    CopysignOfFabs,
    /// `fabs_copysign`
    FabsCopysign,
    /// `copysign_twice`
    CopysignTwice,
    /// `copysign_sign`
    CopysignSign,
    /// `bitcast_back`
    BitcastBack,
    /// `bitcast_bitcast`
    BitcastBitcast,
    /// `fcmp_zero`
    FcmpZero,
    /// `fcmp_xor_one`
    FcmpXorOne,
    /// `fcmp_fneg`
    FcmpFneg,
    /// `fadd_fneg`
    FaddFneg,
    /// `fsub_fneg`
    FsubFneg,
    /// `fmul_fneg`
    FmulFneg,
    /// `brif_same`
    BrifSame,
    /// `brif_const`
    BrifConst,
    /// `brif_zero`
    BrifZero,
    /// `brif_eq_zero`
    BrifEqZero,
    /// `trapz_const`
    TrapzConst,
    /// `trapnz_zero`
    TrapnzZero,
    /// `trapz_zero`
    TrapzZero,
    /// `trapnz_const`
    TrapnzConst,
    /// `trapz_eq_zero`
    TrapzEqZero,
    /// `trapnz_eq_zero`
    TrapnzEqZero,
    /// `trapz_known`
    TrapzKnown,
    /// `store8_uext`
    Store8Uext,
    /// `store8_sext`
    Store8Sext,
    /// `store8_uext_low`
    Store8UextLow,
    /// `store8_sext_low`
    Store8SextLow,
    /// `store8_reduce`
    Store8Reduce,
    /// `store8_mask`
    Store8Mask,
    /// `store16_uext`
    Store16Uext,
    /// `store16_sext`
    Store16Sext,
    /// `store16_uext_low`
    Store16UextLow,
    /// `store16_sext_low`
    Store16SextLow,
    /// `store16_reduce`
    Store16Reduce,
    /// `store16_mask`
    Store16Mask,
    /// `store32_uext`
    Store32Uext,
    /// `store32_sext`
    Store32Sext,
    /// `store32_mask`
    Store32Mask,
    /// `store_reduce8`
    StoreReduce8,
    /// `store_reduce16`
    StoreReduce16,
    /// `store_reduce32`
    StoreReduce32,
    /// `store_bitcast`
    StoreBitcast,
    /// `load_offset`
    LoadOffset,
    /// `uload8_offset`
    Uload8Offset,
    /// `sload8_offset`
    Sload8Offset,
    /// `uload16_offset`
    Uload16Offset,
    /// `sload16_offset`
    Sload16Offset,
    /// `uload32_offset`
    Uload32Offset,
    /// `sload32_offset`
    Sload32Offset,
    /// `store_offset`
    StoreOffset,
    /// `store8_offset`
    Store8Offset,
    /// `store16_offset`
    Store16Offset,
    /// `store32_offset`
    Store32Offset,
}

impl Rule {
    /// All rules, in the order in which they are tried.
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
        Rule::NegMul,
        Rule::MulNeg,
        Rule::NegAddConst,
        Rule::NotAdd,
        Rule::NegNot,
        Rule::AddNotOne,
        Rule::AddNot,
        Rule::AddNotSelf,
        Rule::AndNotSelf,
        Rule::OrNotSelf,
        Rule::XorNotSelf,
        Rule::AndNotNot,
        Rule::OrNotNot,
        Rule::XorNotNot,
        Rule::AndOrNot,
        Rule::OrAndNot,
        Rule::SubConst,
        Rule::AddChain,
        Rule::SubAddConst,
        Rule::ConstSubAdd,
        Rule::ConstSubSub,
        Rule::MulChain,
        Rule::AndChain,
        Rule::OrChain,
        Rule::XorChain,
        Rule::MulShl,
        Rule::ShlMul,
        Rule::SubAdd,
        Rule::AddSub,
        Rule::SubSub,
        Rule::SubAddLeft,
        Rule::SubSubLeft,
        Rule::AddAddNeg,
        Rule::XorXorSelf,
        Rule::SubOrAnd,
        Rule::SubOrXor,
        Rule::AddAndOr,
        Rule::AddAndXor,
        Rule::OrAndXor,
        Rule::OrXorSelf,
        Rule::XorAndAnd,
        Rule::MulPow2,
        Rule::UdivPow2,
        Rule::UremPow2,
        Rule::SdivPow2,
        Rule::UmulhiWide,
        Rule::SmulhiWide,
        Rule::SmulhiUshr,
        Rule::ExtExt,
        Rule::SextSext,
        Rule::SextUext,
        Rule::ReduceUext,
        Rule::ReduceSext,
        Rule::ReduceReduce,
        Rule::ReduceUextLow,
        Rule::ReduceUextHigh,
        Rule::ReduceSextLow,
        Rule::ReduceSextHigh,
        Rule::AndUextMask,
        Rule::AndUext,
        Rule::OrUext,
        Rule::XorUext,
        Rule::AndSext,
        Rule::OrSext,
        Rule::XorSext,
        Rule::NarrowAddUext,
        Rule::NarrowSubUext,
        Rule::NarrowMulUext,
        Rule::NarrowAddSext,
        Rule::NarrowSubSext,
        Rule::NarrowMulSext,
        Rule::NarrowShl,
        Rule::NarrowUshr,
        Rule::ReduceNeg,
        Rule::ReduceNot,
        Rule::ReduceAdd,
        Rule::ReduceAnd,
        Rule::ReduceOr,
        Rule::ReduceXor,
        Rule::ReduceMul,
        Rule::SelectOfUext,
        Rule::SelectOfSext,
        Rule::ShlUshr,
        Rule::UshrShl,
        Rule::SshrShl,
        Rule::Sext8,
        Rule::Sext16,
        Rule::Sext32,
        Rule::ShlShl,
        Rule::UshrUshr,
        Rule::SshrSshr,
        Rule::ShlShlOut,
        Rule::UshrUshrOut,
        Rule::SshrSshrOut,
        Rule::UshrSshrSign,
        Rule::RotateConst,
        Rule::RotateSub,
        Rule::RotateNeg,
        Rule::RotateSubRight,
        Rule::RotateNegRight,
        Rule::RotrConst,
        Rule::RotlNeg,
        Rule::RotrNeg,
        Rule::ShlAmountUext,
        Rule::ShlAmountSext,
        Rule::ShlAmountCut,
        Rule::ShlAmountMask,
        Rule::UshrAmountUext,
        Rule::UshrAmountSext,
        Rule::UshrAmountCut,
        Rule::UshrAmountMask,
        Rule::SshrAmountUext,
        Rule::SshrAmountSext,
        Rule::SshrAmountCut,
        Rule::SshrAmountMask,
        Rule::RotlAmountUext,
        Rule::RotlAmountMask,
        Rule::RotrAmountUext,
        Rule::RotrAmountMask,
        Rule::EqSelf,
        Rule::NeSelf,
        Rule::UltZero,
        Rule::UgeZero,
        Rule::UltMask,
        Rule::UgeMask,
        Rule::UltAnd,
        Rule::UleAnd,
        Rule::LtUextConst,
        Rule::GtUextConst,
        Rule::NotCmp,
        Rule::CmpNotZero,
        Rule::CmpZero,
        Rule::CmpAndOne,
        Rule::CmpXorOne,
        Rule::UextCmpAnd,
        Rule::Range,
        Rule::EqAddConst,
        Rule::EqConstSub,
        Rule::EqXorConst,
        Rule::EqNotConst,
        Rule::EqNegConst,
        Rule::EqNotNot,
        Rule::EqAddAdd,
        Rule::EqAddSelf,
        Rule::CmpSubZero,
        Rule::CmpXorZero,
        Rule::UgtSub,
        Rule::UleSub,
        Rule::UltAddConst,
        Rule::UgeAddConst,
        Rule::UltOne,
        Rule::UleZero,
        Rule::UgtZero,
        Rule::UgeOne,
        Rule::CmpUextZero,
        Rule::CmpSextZero,
        Rule::CmpUext,
        Rule::CmpSext,
        Rule::CmpUextConst,
        Rule::SelectConst,
        Rule::SelectZero,
        Rule::SelectSame,
        Rule::SelectUext,
        Rule::SelectNeZero,
        Rule::SelectEqZero,
        Rule::SelectThenSame,
        Rule::SelectElseSame,
        Rule::SelectEq,
        Rule::SelectNe,
        Rule::SelectOneZero,
        Rule::SelectOneZeroI8,
        Rule::SelectZeroOne,
        Rule::SelectBit,
        Rule::SelectBitWide,
        Rule::SelectEqOne,
        Rule::SelectOr,
        Rule::SelectAnd,
        Rule::SelectOrNot,
        Rule::SelectAndNot,
        Rule::BitselectSame,
        Rule::BitselectZero,
        Rule::BitselectOnes,
        Rule::SelectOrShift,
        Rule::SelectXorShift,
        Rule::OrUshrXor,
        Rule::XorUshrXor,
        Rule::CondUext,
        Rule::CondSext,
        Rule::CondNeZero,
        Rule::CondEqOne,
        Rule::CondNeg,
        Rule::CondBmask,
        Rule::CondSelectC,
        Rule::CondIabs,
        Rule::CondRotl,
        Rule::CondRotr,
        Rule::CondPopcnt,
        Rule::CondXorCmp,
        Rule::CondSub,
        Rule::BmaskUext,
        Rule::BmaskNeZero,
        Rule::SelectSmin,
        Rule::SelectSmax,
        Rule::SelectUmin,
        Rule::SelectUmax,
        Rule::SelectSminLe,
        Rule::SelectSmaxGe,
        Rule::SelectUminLe,
        Rule::SelectUmaxGe,
        Rule::SminSelf,
        Rule::SmaxSelf,
        Rule::UminSelf,
        Rule::UmaxSelf,
        Rule::SminSmin,
        Rule::SmaxSmax,
        Rule::UminUmin,
        Rule::UmaxUmax,
        Rule::UminZero,
        Rule::UmaxZero,
        Rule::UminOnes,
        Rule::UmaxOnes,
        Rule::AbsNeg,
        Rule::AbsAbs,
        Rule::AbsSlt,
        Rule::AbsSle,
        Rule::AbsSgt,
        Rule::AbsSge,
        Rule::AbsSmax,
        Rule::AbsXor,
        Rule::MaskKnown,
        Rule::MaskClears,
        Rule::OnesKnown,
        Rule::UltKnown,
        Rule::UgeKnown,
        Rule::UleKnown,
        Rule::UgtKnown,
        Rule::EqKnown,
        Rule::NeKnown,
        Rule::SltKnown,
        Rule::SgeKnown,
        Rule::BoolNeZero,
        Rule::BoolEqOne,
        Rule::SextKnown,
        Rule::SshrKnown,
        Rule::UextReduce,
        Rule::BswapBswap,
        Rule::BitrevBitrev,
        Rule::AddSplat,
        Rule::AndSplat,
        Rule::FnegFneg,
        Rule::FabsFneg,
        Rule::FabsFabs,
        Rule::CopysignSelf,
        Rule::CopysignFneg,
        Rule::CopysignFabs,
        Rule::CopysignOfFabs,
        Rule::FabsCopysign,
        Rule::CopysignTwice,
        Rule::CopysignSign,
        Rule::BitcastBack,
        Rule::BitcastBitcast,
        Rule::FcmpZero,
        Rule::FcmpXorOne,
        Rule::FcmpFneg,
        Rule::FaddFneg,
        Rule::FsubFneg,
        Rule::FmulFneg,
        Rule::BrifSame,
        Rule::BrifConst,
        Rule::BrifZero,
        Rule::BrifEqZero,
        Rule::TrapzConst,
        Rule::TrapnzZero,
        Rule::TrapzZero,
        Rule::TrapnzConst,
        Rule::TrapzEqZero,
        Rule::TrapnzEqZero,
        Rule::TrapzKnown,
        Rule::Store8Uext,
        Rule::Store8Sext,
        Rule::Store8UextLow,
        Rule::Store8SextLow,
        Rule::Store8Reduce,
        Rule::Store8Mask,
        Rule::Store16Uext,
        Rule::Store16Sext,
        Rule::Store16UextLow,
        Rule::Store16SextLow,
        Rule::Store16Reduce,
        Rule::Store16Mask,
        Rule::Store32Uext,
        Rule::Store32Sext,
        Rule::Store32Mask,
        Rule::StoreReduce8,
        Rule::StoreReduce16,
        Rule::StoreReduce32,
        Rule::StoreBitcast,
        Rule::LoadOffset,
        Rule::Uload8Offset,
        Rule::Sload8Offset,
        Rule::Uload16Offset,
        Rule::Sload16Offset,
        Rule::Uload32Offset,
        Rule::Sload32Offset,
        Rule::StoreOffset,
        Rule::Store8Offset,
        Rule::Store16Offset,
        Rule::Store32Offset,
    ];

    /// Returns the name of the rule.
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
            Rule::NegMul => "neg_mul",
            Rule::MulNeg => "mul_neg",
            Rule::NegAddConst => "neg_add_const",
            Rule::NotAdd => "not_add",
            Rule::NegNot => "neg_not",
            Rule::AddNotOne => "add_not_one",
            Rule::AddNot => "add_not",
            Rule::AddNotSelf => "add_not_self",
            Rule::AndNotSelf => "and_not_self",
            Rule::OrNotSelf => "or_not_self",
            Rule::XorNotSelf => "xor_not_self",
            Rule::AndNotNot => "and_not_not",
            Rule::OrNotNot => "or_not_not",
            Rule::XorNotNot => "xor_not_not",
            Rule::AndOrNot => "and_or_not",
            Rule::OrAndNot => "or_and_not",
            Rule::SubConst => "sub_const",
            Rule::AddChain => "add_chain",
            Rule::SubAddConst => "sub_add_const",
            Rule::ConstSubAdd => "const_sub_add",
            Rule::ConstSubSub => "const_sub_sub",
            Rule::MulChain => "mul_chain",
            Rule::AndChain => "and_chain",
            Rule::OrChain => "or_chain",
            Rule::XorChain => "xor_chain",
            Rule::MulShl => "mul_shl",
            Rule::ShlMul => "shl_mul",
            Rule::SubAdd => "sub_add",
            Rule::AddSub => "add_sub",
            Rule::SubSub => "sub_sub",
            Rule::SubAddLeft => "sub_add_left",
            Rule::SubSubLeft => "sub_sub_left",
            Rule::AddAddNeg => "add_add_neg",
            Rule::XorXorSelf => "xor_xor_self",
            Rule::SubOrAnd => "sub_or_and",
            Rule::SubOrXor => "sub_or_xor",
            Rule::AddAndOr => "add_and_or",
            Rule::AddAndXor => "add_and_xor",
            Rule::OrAndXor => "or_and_xor",
            Rule::OrXorSelf => "or_xor_self",
            Rule::XorAndAnd => "xor_and_and",
            Rule::MulPow2 => "mul_pow2",
            Rule::UdivPow2 => "udiv_pow2",
            Rule::UremPow2 => "urem_pow2",
            Rule::SdivPow2 => "sdiv_pow2",
            Rule::UmulhiWide => "umulhi_wide",
            Rule::SmulhiWide => "smulhi_wide",
            Rule::SmulhiUshr => "smulhi_ushr",
            Rule::ExtExt => "ext_ext",
            Rule::SextSext => "sext_sext",
            Rule::SextUext => "sext_uext",
            Rule::ReduceUext => "reduce_uext",
            Rule::ReduceSext => "reduce_sext",
            Rule::ReduceReduce => "reduce_reduce",
            Rule::ReduceUextLow => "reduce_uext_low",
            Rule::ReduceUextHigh => "reduce_uext_high",
            Rule::ReduceSextLow => "reduce_sext_low",
            Rule::ReduceSextHigh => "reduce_sext_high",
            Rule::AndUextMask => "and_uext_mask",
            Rule::AndUext => "and_uext",
            Rule::OrUext => "or_uext",
            Rule::XorUext => "xor_uext",
            Rule::AndSext => "and_sext",
            Rule::OrSext => "or_sext",
            Rule::XorSext => "xor_sext",
            Rule::NarrowAddUext => "narrow_add_uext",
            Rule::NarrowSubUext => "narrow_sub_uext",
            Rule::NarrowMulUext => "narrow_mul_uext",
            Rule::NarrowAddSext => "narrow_add_sext",
            Rule::NarrowSubSext => "narrow_sub_sext",
            Rule::NarrowMulSext => "narrow_mul_sext",
            Rule::NarrowShl => "narrow_shl",
            Rule::NarrowUshr => "narrow_ushr",
            Rule::ReduceNeg => "reduce_neg",
            Rule::ReduceNot => "reduce_not",
            Rule::ReduceAdd => "reduce_add",
            Rule::ReduceAnd => "reduce_and",
            Rule::ReduceOr => "reduce_or",
            Rule::ReduceXor => "reduce_xor",
            Rule::ReduceMul => "reduce_mul",
            Rule::SelectOfUext => "select_of_uext",
            Rule::SelectOfSext => "select_of_sext",
            Rule::ShlUshr => "shl_ushr",
            Rule::UshrShl => "ushr_shl",
            Rule::SshrShl => "sshr_shl",
            Rule::Sext8 => "sext8",
            Rule::Sext16 => "sext16",
            Rule::Sext32 => "sext32",
            Rule::ShlShl => "shl_shl",
            Rule::UshrUshr => "ushr_ushr",
            Rule::SshrSshr => "sshr_sshr",
            Rule::ShlShlOut => "shl_shl_out",
            Rule::UshrUshrOut => "ushr_ushr_out",
            Rule::SshrSshrOut => "sshr_sshr_out",
            Rule::UshrSshrSign => "ushr_sshr_sign",
            Rule::RotateConst => "rotate_const",
            Rule::RotateSub => "rotate_sub",
            Rule::RotateNeg => "rotate_neg",
            Rule::RotateSubRight => "rotate_sub_right",
            Rule::RotateNegRight => "rotate_neg_right",
            Rule::RotrConst => "rotr_const",
            Rule::RotlNeg => "rotl_neg",
            Rule::RotrNeg => "rotr_neg",
            Rule::ShlAmountUext => "shl_amount_uext",
            Rule::ShlAmountSext => "shl_amount_sext",
            Rule::ShlAmountCut => "shl_amount_cut",
            Rule::ShlAmountMask => "shl_amount_mask",
            Rule::UshrAmountUext => "ushr_amount_uext",
            Rule::UshrAmountSext => "ushr_amount_sext",
            Rule::UshrAmountCut => "ushr_amount_cut",
            Rule::UshrAmountMask => "ushr_amount_mask",
            Rule::SshrAmountUext => "sshr_amount_uext",
            Rule::SshrAmountSext => "sshr_amount_sext",
            Rule::SshrAmountCut => "sshr_amount_cut",
            Rule::SshrAmountMask => "sshr_amount_mask",
            Rule::RotlAmountUext => "rotl_amount_uext",
            Rule::RotlAmountMask => "rotl_amount_mask",
            Rule::RotrAmountUext => "rotr_amount_uext",
            Rule::RotrAmountMask => "rotr_amount_mask",
            Rule::EqSelf => "eq_self",
            Rule::NeSelf => "ne_self",
            Rule::UltZero => "ult_zero",
            Rule::UgeZero => "uge_zero",
            Rule::UltMask => "ult_mask",
            Rule::UgeMask => "uge_mask",
            Rule::UltAnd => "ult_and",
            Rule::UleAnd => "ule_and",
            Rule::LtUextConst => "lt_uext_const",
            Rule::GtUextConst => "gt_uext_const",
            Rule::NotCmp => "not_cmp",
            Rule::CmpNotZero => "cmp_not_zero",
            Rule::CmpZero => "cmp_zero",
            Rule::CmpAndOne => "cmp_and_one",
            Rule::CmpXorOne => "cmp_xor_one",
            Rule::UextCmpAnd => "uext_cmp_and",
            Rule::Range => "range",
            Rule::EqAddConst => "eq_add_const",
            Rule::EqConstSub => "eq_const_sub",
            Rule::EqXorConst => "eq_xor_const",
            Rule::EqNotConst => "eq_not_const",
            Rule::EqNegConst => "eq_neg_const",
            Rule::EqNotNot => "eq_not_not",
            Rule::EqAddAdd => "eq_add_add",
            Rule::EqAddSelf => "eq_add_self",
            Rule::CmpSubZero => "cmp_sub_zero",
            Rule::CmpXorZero => "cmp_xor_zero",
            Rule::UgtSub => "ugt_sub",
            Rule::UleSub => "ule_sub",
            Rule::UltAddConst => "ult_add_const",
            Rule::UgeAddConst => "uge_add_const",
            Rule::UltOne => "ult_one",
            Rule::UleZero => "ule_zero",
            Rule::UgtZero => "ugt_zero",
            Rule::UgeOne => "uge_one",
            Rule::CmpUextZero => "cmp_uext_zero",
            Rule::CmpSextZero => "cmp_sext_zero",
            Rule::CmpUext => "cmp_uext",
            Rule::CmpSext => "cmp_sext",
            Rule::CmpUextConst => "cmp_uext_const",
            Rule::SelectConst => "select_const",
            Rule::SelectZero => "select_zero",
            Rule::SelectSame => "select_same",
            Rule::SelectUext => "select_uext",
            Rule::SelectNeZero => "select_ne_zero",
            Rule::SelectEqZero => "select_eq_zero",
            Rule::SelectThenSame => "select_then_same",
            Rule::SelectElseSame => "select_else_same",
            Rule::SelectEq => "select_eq",
            Rule::SelectNe => "select_ne",
            Rule::SelectOneZero => "select_one_zero",
            Rule::SelectOneZeroI8 => "select_one_zero_i8",
            Rule::SelectZeroOne => "select_zero_one",
            Rule::SelectBit => "select_bit",
            Rule::SelectBitWide => "select_bit_wide",
            Rule::SelectEqOne => "select_eq_one",
            Rule::SelectOr => "select_or",
            Rule::SelectAnd => "select_and",
            Rule::SelectOrNot => "select_or_not",
            Rule::SelectAndNot => "select_and_not",
            Rule::BitselectSame => "bitselect_same",
            Rule::BitselectZero => "bitselect_zero",
            Rule::BitselectOnes => "bitselect_ones",
            Rule::SelectOrShift => "select_or_shift",
            Rule::SelectXorShift => "select_xor_shift",
            Rule::OrUshrXor => "or_ushr_xor",
            Rule::XorUshrXor => "xor_ushr_xor",
            Rule::CondUext => "cond_uext",
            Rule::CondSext => "cond_sext",
            Rule::CondNeZero => "cond_ne_zero",
            Rule::CondEqOne => "cond_eq_one",
            Rule::CondNeg => "cond_neg",
            Rule::CondBmask => "cond_bmask",
            Rule::CondSelectC => "cond_select_c",
            Rule::CondIabs => "cond_iabs",
            Rule::CondRotl => "cond_rotl",
            Rule::CondRotr => "cond_rotr",
            Rule::CondPopcnt => "cond_popcnt",
            Rule::CondXorCmp => "cond_xor_cmp",
            Rule::CondSub => "cond_sub",
            Rule::BmaskUext => "bmask_uext",
            Rule::BmaskNeZero => "bmask_ne_zero",
            Rule::SelectSmin => "select_smin",
            Rule::SelectSmax => "select_smax",
            Rule::SelectUmin => "select_umin",
            Rule::SelectUmax => "select_umax",
            Rule::SelectSminLe => "select_smin_le",
            Rule::SelectSmaxGe => "select_smax_ge",
            Rule::SelectUminLe => "select_umin_le",
            Rule::SelectUmaxGe => "select_umax_ge",
            Rule::SminSelf => "smin_self",
            Rule::SmaxSelf => "smax_self",
            Rule::UminSelf => "umin_self",
            Rule::UmaxSelf => "umax_self",
            Rule::SminSmin => "smin_smin",
            Rule::SmaxSmax => "smax_smax",
            Rule::UminUmin => "umin_umin",
            Rule::UmaxUmax => "umax_umax",
            Rule::UminZero => "umin_zero",
            Rule::UmaxZero => "umax_zero",
            Rule::UminOnes => "umin_ones",
            Rule::UmaxOnes => "umax_ones",
            Rule::AbsNeg => "abs_neg",
            Rule::AbsAbs => "abs_abs",
            Rule::AbsSlt => "abs_slt",
            Rule::AbsSle => "abs_sle",
            Rule::AbsSgt => "abs_sgt",
            Rule::AbsSge => "abs_sge",
            Rule::AbsSmax => "abs_smax",
            Rule::AbsXor => "abs_xor",
            Rule::MaskKnown => "mask_known",
            Rule::MaskClears => "mask_clears",
            Rule::OnesKnown => "ones_known",
            Rule::UltKnown => "ult_known",
            Rule::UgeKnown => "uge_known",
            Rule::UleKnown => "ule_known",
            Rule::UgtKnown => "ugt_known",
            Rule::EqKnown => "eq_known",
            Rule::NeKnown => "ne_known",
            Rule::SltKnown => "slt_known",
            Rule::SgeKnown => "sge_known",
            Rule::BoolNeZero => "bool_ne_zero",
            Rule::BoolEqOne => "bool_eq_one",
            Rule::SextKnown => "sext_known",
            Rule::SshrKnown => "sshr_known",
            Rule::UextReduce => "uext_reduce",
            Rule::BswapBswap => "bswap_bswap",
            Rule::BitrevBitrev => "bitrev_bitrev",
            Rule::AddSplat => "add_splat",
            Rule::AndSplat => "and_splat",
            Rule::FnegFneg => "fneg_fneg",
            Rule::FabsFneg => "fabs_fneg",
            Rule::FabsFabs => "fabs_fabs",
            Rule::CopysignSelf => "copysign_self",
            Rule::CopysignFneg => "copysign_fneg",
            Rule::CopysignFabs => "copysign_fabs",
            Rule::CopysignOfFabs => "copysign_of_fabs",
            Rule::FabsCopysign => "fabs_copysign",
            Rule::CopysignTwice => "copysign_twice",
            Rule::CopysignSign => "copysign_sign",
            Rule::BitcastBack => "bitcast_back",
            Rule::BitcastBitcast => "bitcast_bitcast",
            Rule::FcmpZero => "fcmp_zero",
            Rule::FcmpXorOne => "fcmp_xor_one",
            Rule::FcmpFneg => "fcmp_fneg",
            Rule::FaddFneg => "fadd_fneg",
            Rule::FsubFneg => "fsub_fneg",
            Rule::FmulFneg => "fmul_fneg",
            Rule::BrifSame => "brif_same",
            Rule::BrifConst => "brif_const",
            Rule::BrifZero => "brif_zero",
            Rule::BrifEqZero => "brif_eq_zero",
            Rule::TrapzConst => "trapz_const",
            Rule::TrapnzZero => "trapnz_zero",
            Rule::TrapzZero => "trapz_zero",
            Rule::TrapnzConst => "trapnz_const",
            Rule::TrapzEqZero => "trapz_eq_zero",
            Rule::TrapnzEqZero => "trapnz_eq_zero",
            Rule::TrapzKnown => "trapz_known",
            Rule::Store8Uext => "store8_uext",
            Rule::Store8Sext => "store8_sext",
            Rule::Store8UextLow => "store8_uext_low",
            Rule::Store8SextLow => "store8_sext_low",
            Rule::Store8Reduce => "store8_reduce",
            Rule::Store8Mask => "store8_mask",
            Rule::Store16Uext => "store16_uext",
            Rule::Store16Sext => "store16_sext",
            Rule::Store16UextLow => "store16_uext_low",
            Rule::Store16SextLow => "store16_sext_low",
            Rule::Store16Reduce => "store16_reduce",
            Rule::Store16Mask => "store16_mask",
            Rule::Store32Uext => "store32_uext",
            Rule::Store32Sext => "store32_sext",
            Rule::Store32Mask => "store32_mask",
            Rule::StoreReduce8 => "store_reduce8",
            Rule::StoreReduce16 => "store_reduce16",
            Rule::StoreReduce32 => "store_reduce32",
            Rule::StoreBitcast => "store_bitcast",
            Rule::LoadOffset => "load_offset",
            Rule::Uload8Offset => "uload8_offset",
            Rule::Sload8Offset => "sload8_offset",
            Rule::Uload16Offset => "uload16_offset",
            Rule::Sload16Offset => "sload16_offset",
            Rule::Uload32Offset => "uload32_offset",
            Rule::Sload32Offset => "sload32_offset",
            Rule::StoreOffset => "store_offset",
            Rule::Store8Offset => "store8_offset",
            Rule::Store16Offset => "store16_offset",
            Rule::Store32Offset => "store32_offset",
        }
    }
}

/// Returns the operands that the sources of a root look for.
#[inline]
pub(crate) fn sources(root: Opcode) -> &'static Sources {
    static SOURCES: [Sources; Opcode::ALL.len()] = {
        let mut all = [Sources::NONE; Opcode::ALL.len()];
        all[Opcode::Brif as usize] = Sources::ANY;
        all[Opcode::Trapz as usize] = Sources::ANY;
        all[Opcode::Trapnz as usize] = Sources::of(&[Opcode::Icmp, Opcode::Iconcat, Opcode::Splat], &[]).or_constants();
        all[Opcode::Load as usize] = Sources::of(&[Opcode::Iadd], &[]);
        all[Opcode::Store as usize] = Sources::of(&[Opcode::Ireduce, Opcode::Bitcast], &[Opcode::Iadd]);
        all[Opcode::Uload8 as usize] = Sources::of(&[Opcode::Iadd], &[]);
        all[Opcode::Sload8 as usize] = Sources::of(&[Opcode::Iadd], &[]);
        all[Opcode::Istore8 as usize] = Sources::of(&[Opcode::Band, Opcode::Ireduce, Opcode::Uextend, Opcode::Sextend], &[Opcode::Iadd]);
        all[Opcode::Uload16 as usize] = Sources::of(&[Opcode::Iadd], &[]);
        all[Opcode::Sload16 as usize] = Sources::of(&[Opcode::Iadd], &[]);
        all[Opcode::Istore16 as usize] = Sources::of(&[Opcode::Band, Opcode::Ireduce, Opcode::Uextend, Opcode::Sextend], &[Opcode::Iadd]);
        all[Opcode::Uload32 as usize] = Sources::of(&[Opcode::Iadd], &[]);
        all[Opcode::Sload32 as usize] = Sources::of(&[Opcode::Iadd], &[]);
        all[Opcode::Istore32 as usize] = Sources::of(&[Opcode::Band, Opcode::Uextend, Opcode::Sextend], &[Opcode::Iadd]);
        all[Opcode::Select as usize] = Sources::ANY;
        all[Opcode::Bitselect as usize] = Sources::of(&[Opcode::Iconcat, Opcode::Splat], &[]).or_constants();
        all[Opcode::Bmask as usize] = Sources::of(&[Opcode::Icmp, Opcode::Uextend], &[]);
        all[Opcode::Icmp as usize] = Sources::of(&[Opcode::Iadd, Opcode::Isub, Opcode::Band, Opcode::Bnot, Opcode::Uextend, Opcode::Sextend], &[Opcode::Iadd, Opcode::Isub, Opcode::Band, Opcode::Iconcat, Opcode::Splat]).or_constants();
        all[Opcode::Iadd as usize] = Sources::of(&[Opcode::Isub, Opcode::Ineg, Opcode::Band, Opcode::Bor, Opcode::Bxor, Opcode::Bnot, Opcode::Splat], &[Opcode::Isub, Opcode::Ineg, Opcode::Bnot, Opcode::Iconcat, Opcode::Splat]).or_zero().or_beside_constants(&[Opcode::Iadd, Opcode::Isub, Opcode::Bnot]);
        all[Opcode::Isub as usize] = Sources::of(&[Opcode::Iadd, Opcode::Isub, Opcode::Bor, Opcode::Bxor, Opcode::Iconcat, Opcode::Splat], &[Opcode::Iadd, Opcode::Isub, Opcode::Ineg, Opcode::Iconcat, Opcode::Splat]).or_constants();
        all[Opcode::Ineg as usize] = Sources::of(&[Opcode::Iadd, Opcode::Isub, Opcode::Ineg, Opcode::Bnot], &[]);
        all[Opcode::Iabs as usize] = Sources::of(&[Opcode::Ineg, Opcode::Iabs], &[]);
        all[Opcode::Imul as usize] = Sources::of(&[Opcode::Ineg], &[Opcode::Ineg, Opcode::Iconcat, Opcode::Splat]).or_constants();
        all[Opcode::Smin as usize] = Sources::of(&[Opcode::Smin], &[Opcode::Smin]);
        all[Opcode::Smax as usize] = Sources::of(&[Opcode::Ineg, Opcode::Smax], &[Opcode::Ineg, Opcode::Smax]);
        all[Opcode::Umin as usize] = Sources::of(&[Opcode::Umin], &[Opcode::Umin, Opcode::Iconcat, Opcode::Splat]).or_constants();
        all[Opcode::Umax as usize] = Sources::of(&[Opcode::Umax], &[Opcode::Umax, Opcode::Iconcat, Opcode::Splat]).or_constants();
        all[Opcode::Udiv as usize] = Sources::of(&[], &[Opcode::Iconcat, Opcode::Splat]).or_constants();
        all[Opcode::Sdiv as usize] = Sources::of(&[], &[Opcode::Iconcat, Opcode::Splat]).or_constants();
        all[Opcode::Urem as usize] = Sources::of(&[], &[Opcode::Iconcat, Opcode::Splat]).or_constants();
        all[Opcode::Srem as usize] = Sources::of(&[], &[Opcode::Iconcat, Opcode::Splat]).or_constants();
        all[Opcode::Band as usize] = Sources::of(&[Opcode::Icmp, Opcode::Bor, Opcode::Bnot, Opcode::Uextend, Opcode::Sextend, Opcode::Splat], &[Opcode::Bor, Opcode::Bnot, Opcode::Iconcat, Opcode::Splat]).or_constants();
        all[Opcode::Bor as usize] = Sources::of(&[Opcode::Band, Opcode::Bxor, Opcode::Bnot, Opcode::Ishl, Opcode::Ushr, Opcode::Uextend, Opcode::Sextend], &[Opcode::Band, Opcode::Bxor, Opcode::Bnot, Opcode::Iconcat, Opcode::Splat]).or_constants();
        all[Opcode::Bxor as usize] = Sources::of(&[Opcode::Band, Opcode::Bxor, Opcode::Bnot, Opcode::Uextend, Opcode::Sextend], &[Opcode::Bxor, Opcode::Bnot, Opcode::Iconcat, Opcode::Splat]).or_constants();
        all[Opcode::Bnot as usize] = Sources::of(&[Opcode::Iadd, Opcode::Bnot], &[]);
        all[Opcode::Rotl as usize] = Sources::of(&[], &[Opcode::Ineg, Opcode::Band, Opcode::Uextend, Opcode::Iconcat, Opcode::Splat]).or_zero();
        all[Opcode::Rotr as usize] = Sources::of(&[], &[Opcode::Ineg, Opcode::Band, Opcode::Uextend, Opcode::Iconcat, Opcode::Splat]).or_constants();
        all[Opcode::Ishl as usize] = Sources::of(&[], &[Opcode::Band, Opcode::Ireduce, Opcode::Uextend, Opcode::Sextend, Opcode::Iconcat, Opcode::Splat]).or_zero().or_beside_constants(&[Opcode::Imul, Opcode::Ishl, Opcode::Ushr, Opcode::Sshr]);
        all[Opcode::Ushr as usize] = Sources::of(&[], &[Opcode::Band, Opcode::Ireduce, Opcode::Uextend, Opcode::Sextend, Opcode::Iconcat, Opcode::Splat]).or_zero().or_beside_constants(&[Opcode::Ishl, Opcode::Ushr, Opcode::Sshr]);
        all[Opcode::Sshr as usize] = Sources::ANY;
        all[Opcode::Bitrev as usize] = Sources::of(&[Opcode::Bitrev], &[]);
        all[Opcode::Bswap as usize] = Sources::of(&[Opcode::Bswap], &[]);
        all[Opcode::Ireduce as usize] = Sources::of(&[Opcode::Iadd, Opcode::Isub, Opcode::Ineg, Opcode::Imul, Opcode::Band, Opcode::Bor, Opcode::Bxor, Opcode::Bnot, Opcode::Ishl, Opcode::Ushr, Opcode::Sshr, Opcode::Ireduce, Opcode::Uextend, Opcode::Sextend], &[]);
        all[Opcode::Uextend as usize] = Sources::of(&[Opcode::Ireduce, Opcode::Uextend], &[]);
        all[Opcode::Sextend as usize] = Sources::ANY;
        all[Opcode::Bitcast as usize] = Sources::of(&[Opcode::Bitcast], &[]);
        all[Opcode::Fcmp as usize] = Sources::of(&[Opcode::Fneg], &[]);
        all[Opcode::Fadd as usize] = Sources::of(&[], &[Opcode::Fneg]);
        all[Opcode::Fsub as usize] = Sources::of(&[], &[Opcode::Fneg]);
        all[Opcode::Fmul as usize] = Sources::of(&[Opcode::Fneg], &[]);
        all[Opcode::Fneg as usize] = Sources::of(&[Opcode::Fneg], &[]);
        all[Opcode::Fabs as usize] = Sources::of(&[Opcode::Fneg, Opcode::Fabs, Opcode::Fcopysign], &[]);
        all[Opcode::Fcopysign as usize] = Sources::of(&[Opcode::Fneg, Opcode::Fabs, Opcode::Fcopysign], &[Opcode::Fabs, Opcode::Fcopysign]);
        all
    };
    &SOURCES[root as usize]
}

/// Returns the value that the first matching rule makes of the request.
pub(super) fn match_request(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    match request.opcode() {
        Opcode::Select => match_select(g, request),
        Opcode::Bitselect => match_bitselect(g, request),
        Opcode::Bmask => match_bmask(g, request),
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
        Opcode::Bitrev => match_bitrev(g, request),
        Opcode::Bswap => match_bswap(g, request),
        Opcode::Ireduce => match_ireduce(g, request),
        Opcode::Uextend => match_uextend(g, request),
        Opcode::Sextend => match_sextend(g, request),
        Opcode::Bitcast => match_bitcast(g, request),
        Opcode::Fcmp => match_fcmp(g, request),
        Opcode::Fadd => match_fadd(g, request),
        Opcode::Fsub => match_fsub(g, request),
        Opcode::Fmul => match_fmul(g, request),
        Opcode::Fneg => match_fneg(g, request),
        Opcode::Fabs => match_fabs(g, request),
        Opcode::Fcopysign => match_fcopysign(g, request),
        _ => None,
    }
}

/// Returns the effect that the first matching rule makes of an instruction executed for its effect.
pub(super) fn match_effect(g: &mut impl Graph, request: &InstData) -> Option<Effect> {
    match request.opcode() {
        Opcode::Brif => match_brif(g, request),
        Opcode::Trapz => match_trapz(g, request),
        Opcode::Trapnz => match_trapnz(g, request),
        Opcode::Load => match_load(g, request),
        Opcode::Store => match_store(g, request),
        Opcode::Uload8 => match_uload8(g, request),
        Opcode::Sload8 => match_sload8(g, request),
        Opcode::Istore8 => match_istore8(g, request),
        Opcode::Uload16 => match_uload16(g, request),
        Opcode::Sload16 => match_sload16(g, request),
        Opcode::Istore16 => match_istore16(g, request),
        Opcode::Uload32 => match_uload32(g, request),
        Opcode::Sload32 => match_sload32(g, request),
        Opcode::Istore32 => match_istore32(g, request),
        _ => None,
    }
}

#[inline(never)]
fn match_select(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[1]);
    let &[a0, a1, a2] = request.args() else { return None };
    let d1 = definition(g, a1);
    match d1.opcode() {
        Opcode::Uextend => {
            let &[a1_0] = d1.args() else { return None };
            let d2 = definition(g, a2);
            if d2.opcode() == Opcode::Uextend {
                let &[a2_0] = d2.args() else { return None };
                if let Some(value) = select_of_uext(g, ty, a0, a1_0, a2_0) {
                    return Some(value);
                }
            }
        }
        Opcode::Sextend => {
            let &[a1_0] = d1.args() else { return None };
            let d2 = definition(g, a2);
            if d2.opcode() == Opcode::Sextend {
                let &[a2_0] = d2.args() else { return None };
                if let Some(value) = select_of_sext(g, ty, a0, a1_0, a2_0) {
                    return Some(value);
                }
            }
        }
        _ => {}
    }
    if let Some(c0) = constant(g, a0) {
        if let Some(value) = select_const(g, a1, a0, c0) {
            return Some(value);
        }
        if c0.is(0) && let Some(value) = select_zero(g, a2) {
            return Some(value);
        }
    }
    if a1 == a2 && let Some(value) = select_same(g, ty, a1) {
        return Some(value);
    }
    let d0 = definition(g, a0);
    match d0.opcode() {
        Opcode::Uextend => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = select_uext(g, ty, a0_0, a1, a2) {
                return Some(value);
            }
        }
        Opcode::Icmp => {
            let &[a0_0, a0_1] = d0.args() else { return None };
            if let Some(c0_1) = constant(g, a0_1) {
                if condition(&d0) == IntCC::NotEqual && c0_1.is(0) && let Some(value) = select_ne_zero(g, ty, a0_0, a1, a2) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::Equal && c0_1.is(0) && let Some(value) = select_eq_zero(g, ty, a0_0, a1, a2) {
                    return Some(value);
                }
            }
        }
        Opcode::Band => {
            let &[a0_0, a0_1] = d0.args() else { return None };
            if let Some(c0_1) = constant(g, a0_1) && let Some(c1) = constant(g, a1) && let Some(c2) = constant(g, a2) {
                if c0_1.is(1) && c1.is(1) && c2.is(0) && let Some(value) = select_bit(g, ty, a0_0) {
                    return Some(value);
                }
                if c0_1.is(1) && c1.is(1) && c2.is(0) && let Some(value) = select_bit_wide(g, ty, a0_0) {
                    return Some(value);
                }
            }
        }
        _ => {}
    }
    let d2 = definition(g, a2);
    if d2.opcode() == Opcode::Select {
        let &[a2_0, _, a2_2] = d2.args() else { return None };
        if a0 == a2_0 && let Some(value) = select_then_same(g, ty, a0, a1, a2_2) {
            return Some(value);
        }
    }
    if d1.opcode() == Opcode::Select {
        let &[a1_0, a1_1, _] = d1.args() else { return None };
        if a0 == a1_0 && let Some(value) = select_else_same(g, ty, a0, a1_1, a2) {
            return Some(value);
        }
    }
    if d0.opcode() == Opcode::Icmp {
        let &[a0_0, a0_1] = d0.args() else { return None };
        if condition(&d0) == IntCC::Equal && a0_0 == a1 && a0_1 == a2 && let Some(value) = select_eq(g, a0_1) {
            return Some(value);
        }
        if condition(&d0) == IntCC::Equal && a0_1 == a1 && a0_0 == a2 && let Some(value) = select_eq(g, a0_0) {
            return Some(value);
        }
        if condition(&d0) == IntCC::NotEqual && a0_0 == a1 && a0_1 == a2 && let Some(value) = select_ne(g, a0_0) {
            return Some(value);
        }
        if condition(&d0) == IntCC::NotEqual && a0_1 == a1 && a0_0 == a2 && let Some(value) = select_ne(g, a0_1) {
            return Some(value);
        }
        if let Some(c1) = constant(g, a1) && let Some(c2) = constant(g, a2) {
            if c1.is(1) && c2.is(0) && let Some(value) = select_one_zero(g, ty, a0_0, a0_1, condition(&d0)) {
                return Some(value);
            }
            if c1.is(1) && c2.is(0) && let Some(value) = select_one_zero_i8(g, ty, a0_0, a0_1, a0, condition(&d0)) {
                return Some(value);
            }
            if c1.is(0) && c2.is(1) && let Some(value) = select_zero_one(g, ty, a0_0, a0_1, condition(&d0)) {
                return Some(value);
            }
        }
        if let Some(c0_1) = constant(g, a0_1) && condition(&d0) == IntCC::Equal && c0_1.is(1) && let Some(value) = select_eq_one(g, ty, a0_0, a1, a2) {
            return Some(value);
        }
    }
    if let Some(c1) = constant(g, a1) && c1.is(1) && let Some(value) = select_or(g, ty, a0, a2) {
        return Some(value);
    }
    if let Some(c2) = constant(g, a2) {
        if c2.is(0) && let Some(value) = select_and(g, ty, a0, a1) {
            return Some(value);
        }
        if d0.opcode() == Opcode::Icmp {
            let &[a0_0, a0_1] = d0.args() else { return None };
            if c2.is(1) && let Some(value) = select_or_not(g, ty, a0_0, a0_1, a1, a0, condition(&d0)) {
                return Some(value);
            }
            if c2.is(1) && let Some(value) = select_or_not(g, ty, a0_1, a0_0, a1, a0, condition(&d0).swap_args()) {
                return Some(value);
            }
        }
    }
    if let Some(c1) = constant(g, a1) && d0.opcode() == Opcode::Icmp {
        let &[a0_0, a0_1] = d0.args() else { return None };
        if c1.is(0) && let Some(value) = select_and_not(g, ty, a0_0, a0_1, a2, a0, condition(&d0)) {
            return Some(value);
        }
        if c1.is(0) && let Some(value) = select_and_not(g, ty, a0_1, a0_0, a2, a0, condition(&d0).swap_args()) {
            return Some(value);
        }
    }
    match d1.opcode() {
        Opcode::Bor => {
            let &[a1_0, a1_1] = d1.args() else { return None };
            if let Some(c1_1) = constant(g, a1_1) {
                let d1_0 = definition(g, a1_0);
                if d1_0.opcode() == Opcode::Ushr {
                    let &[a1_0_0, a1_0_1] = d1_0.args() else { return None };
                    if let Some(c1_0_1) = constant(g, a1_0_1) {
                        let d1_0_0 = definition(g, a1_0_0);
                        if d1_0_0.opcode() == Opcode::Select {
                            let &[a1_0_0_0, a1_0_0_1, a1_0_0_2] = d1_0_0.args() else { return None };
                            if d2.opcode() == Opcode::Ushr {
                                let &[a2_0, a2_1] = d2.args() else { return None };
                                if let Some(c2_1) = constant(g, a2_1) {
                                    let d2_0 = definition(g, a2_0);
                                    if d2_0.opcode() == Opcode::Select {
                                        let &[a2_0_0, a2_0_1, a2_0_2] = d2_0.args() else { return None };
                                        if a0 == a1_0_0_0 && a0 == a2_0_0 && a1_0_0_1 == a2_0_1 && a1_0_0_2 == a2_0_2 && c1_0_1 == c2_1 && let Some(value) = select_or_shift(g, ty, a0, a1_0_0_1, a1_0_0_2, a1_0_1, a2_1, c1_1, c1_0_1) {
                                            return Some(value);
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        Opcode::Bxor => {
            let &[a1_0, a1_1] = d1.args() else { return None };
            if let Some(c1_1) = constant(g, a1_1) {
                let d1_0 = definition(g, a1_0);
                if d1_0.opcode() == Opcode::Ushr {
                    let &[a1_0_0, a1_0_1] = d1_0.args() else { return None };
                    if let Some(c1_0_1) = constant(g, a1_0_1) {
                        let d1_0_0 = definition(g, a1_0_0);
                        if d1_0_0.opcode() == Opcode::Select {
                            let &[a1_0_0_0, a1_0_0_1, a1_0_0_2] = d1_0_0.args() else { return None };
                            if d2.opcode() == Opcode::Ushr {
                                let &[a2_0, a2_1] = d2.args() else { return None };
                                if let Some(c2_1) = constant(g, a2_1) {
                                    let d2_0 = definition(g, a2_0);
                                    if d2_0.opcode() == Opcode::Select {
                                        let &[a2_0_0, a2_0_1, a2_0_2] = d2_0.args() else { return None };
                                        if a0 == a1_0_0_0 && a0 == a2_0_0 && a1_0_0_1 == a2_0_1 && a1_0_0_2 == a2_0_2 && c1_0_1 == c2_1 && let Some(value) = select_xor_shift(g, ty, a0, a1_0_0_1, a1_0_0_2, a1_0_1, a2_1, c1_1, c1_0_1) {
                                            return Some(value);
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        _ => {}
    }
    if d0.opcode() == Opcode::Icmp {
        let &[a0_0, a0_1] = d0.args() else { return None };
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
        if let Some(c0_1) = constant(g, a0_1) {
            if d1.opcode() == Opcode::Ineg {
                let &[a1_0] = d1.args() else { return None };
                if condition(&d0) == IntCC::SignedLessThan && c0_1.is(0) && a0_0 == a1_0 && a0_0 == a2 && let Some(value) = abs_slt(g, ty, a0_0) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::SignedLessThanOrEqual && c0_1.is(0) && a0_0 == a1_0 && a0_0 == a2 && let Some(value) = abs_sle(g, ty, a0_0) {
                    return Some(value);
                }
            }
            if d2.opcode() == Opcode::Ineg {
                let &[a2_0] = d2.args() else { return None };
                if condition(&d0) == IntCC::SignedGreaterThan && c0_1.is(0) && a0_0 == a1 && a0_0 == a2_0 && let Some(value) = abs_sgt(g, ty, a0_0) {
                    return Some(value);
                }
                if condition(&d0) == IntCC::SignedGreaterThanOrEqual && c0_1.is(0) && a0_0 == a1 && a0_0 == a2_0 && let Some(value) = abs_sge(g, ty, a0_0) {
                    return Some(value);
                }
            }
        }
    }
    None
}

#[inline(never)]
fn match_bitselect(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[1]);
    let &[a0, a1, a2] = request.args() else { return None };
    if a1 == a2 && let Some(value) = bitselect_same(g, a1) {
        return Some(value);
    }
    if let Some(c0) = constant(g, a0) {
        if c0.is(0) && let Some(value) = bitselect_zero(g, ty, a2) {
            return Some(value);
        }
        if c0.is(-1) && let Some(value) = bitselect_ones(g, ty, a1) {
            return Some(value);
        }
    }
    None
}

#[inline(never)]
fn match_bmask(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = request.controlling_type();
    let &[a0] = request.args() else { return None };
    let d0 = definition(g, a0);
    match d0.opcode() {
        Opcode::Uextend => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = bmask_uext(g, ty, a0_0) {
                return Some(value);
            }
        }
        Opcode::Icmp => {
            let &[a0_0, a0_1] = d0.args() else { return None };
            if let Some(c0_1) = constant(g, a0_1) && condition(&d0) == IntCC::NotEqual && c0_1.is(0) && let Some(value) = bmask_ne_zero(g, ty, a0_0) {
                return Some(value);
            }
        }
        _ => {}
    }
    None
}

#[inline(never)]
fn match_icmp(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if matches!(condition(request), IntCC::Equal | IntCC::UnsignedGreaterThanOrEqual | IntCC::UnsignedLessThanOrEqual | IntCC::SignedGreaterThanOrEqual | IntCC::SignedLessThanOrEqual) && a0 == a1 && let Some(value) = eq_self(g, ty) {
        return Some(value);
    }
    if matches!(condition(request), IntCC::NotEqual | IntCC::UnsignedGreaterThan | IntCC::UnsignedLessThan | IntCC::SignedGreaterThan | IntCC::SignedLessThan) && a0 == a1 && let Some(value) = ne_self(g, ty) {
        return Some(value);
    }
    if let Some(c1) = constant(g, a1) {
        if condition(request) == IntCC::UnsignedLessThan && c1.is(0) && let Some(value) = ult_zero(g, ty) {
            return Some(value);
        }
        if condition(request) == IntCC::UnsignedGreaterThanOrEqual && c1.is(0) && let Some(value) = uge_zero(g, ty) {
            return Some(value);
        }
        let d0 = definition(g, a0);
        match d0.opcode() {
            Opcode::Band => {
                let &[_, a0_1] = d0.args() else { return None };
                if let Some(c0_1) = constant(g, a0_1) {
                    if condition(request) == IntCC::UnsignedLessThan && let Some(value) = ult_mask(g, ty, c0_1, c1) {
                        return Some(value);
                    }
                    if condition(request) == IntCC::UnsignedGreaterThanOrEqual && let Some(value) = uge_mask(g, ty, c0_1, c1) {
                        return Some(value);
                    }
                }
            }
            Opcode::Uextend => {
                let &[a0_0] = d0.args() else { return None };
                if matches!(condition(request), IntCC::NotEqual | IntCC::UnsignedLessThan | IntCC::UnsignedLessThanOrEqual) && let Some(value) = lt_uext_const(g, ty, a0_0, c1) {
                    return Some(value);
                }
                if matches!(condition(request), IntCC::Equal | IntCC::UnsignedGreaterThan | IntCC::UnsignedGreaterThanOrEqual) && let Some(value) = gt_uext_const(g, ty, a0_0, c1) {
                    return Some(value);
                }
                let d0_0 = definition(g, a0_0);
                if d0_0.opcode() == Opcode::Icmp {
                    let &[a0_0_0, a0_0_1] = d0_0.args() else { return None };
                    if condition(request) == IntCC::Equal && c1.is(0) && let Some(value) = not_cmp(g, a0_0_0, a0_0_1, condition(&d0_0)) {
                        return Some(value);
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
            }
            Opcode::Iadd => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if let Some(c0_1) = constant(g, a0_1) && matches!(condition(request), IntCC::Equal | IntCC::NotEqual) && let Some(value) = eq_add_const(g, ty, a0_0, a0, c0_1, c1, condition(request)) {
                    return Some(value);
                }
            }
            Opcode::Isub => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if let Some(c0_0) = constant(g, a0_0) && matches!(condition(request), IntCC::Equal | IntCC::NotEqual) && let Some(value) = eq_const_sub(g, ty, a0_1, c0_0, c1, condition(request)) {
                    return Some(value);
                }
                if matches!(condition(request), IntCC::Equal | IntCC::NotEqual) && c1.is(0) && let Some(value) = cmp_sub_zero(g, ty, a0_0, a0_1, condition(request)) {
                    return Some(value);
                }
            }
            Opcode::Bxor => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if let Some(c0_1) = constant(g, a0_1) && matches!(condition(request), IntCC::Equal | IntCC::NotEqual) && let Some(value) = eq_xor_const(g, ty, a0_0, c0_1, c1, condition(request)) {
                    return Some(value);
                }
                if matches!(condition(request), IntCC::Equal | IntCC::NotEqual) && c1.is(0) && let Some(value) = cmp_xor_zero(g, ty, a0_0, a0_1, condition(request)) {
                    return Some(value);
                }
            }
            Opcode::Bnot => {
                let &[a0_0] = d0.args() else { return None };
                if matches!(condition(request), IntCC::Equal | IntCC::NotEqual) && let Some(value) = eq_not_const(g, ty, a0_0, c1, condition(request)) {
                    return Some(value);
                }
            }
            Opcode::Ineg => {
                let &[a0_0] = d0.args() else { return None };
                if matches!(condition(request), IntCC::Equal | IntCC::NotEqual) && let Some(value) = eq_neg_const(g, ty, a0_0, c1, condition(request)) {
                    return Some(value);
                }
            }
            _ => {}
        }
    }
    let d0 = definition(g, a0);
    match d0.opcode() {
        Opcode::Band => {
            let &[a0_0, a0_1] = d0.args() else { return None };
            if condition(request) == IntCC::UnsignedGreaterThan && a0_0 == a1 && let Some(value) = ult_and(g, ty) {
                return Some(value);
            }
            if condition(request) == IntCC::UnsignedGreaterThan && a0_1 == a1 && let Some(value) = ult_and(g, ty) {
                return Some(value);
            }
        }
        Opcode::Bnot => {
            let &[a0_0] = d0.args() else { return None };
            let d1 = definition(g, a1);
            if d1.opcode() == Opcode::Bnot {
                let &[a1_0] = d1.args() else { return None };
                if matches!(condition(request), IntCC::Equal | IntCC::NotEqual) && let Some(value) = eq_not_not(g, ty, a0_0, a1_0, condition(request)) {
                    return Some(value);
                }
            }
        }
        Opcode::Iadd => {
            let &[a0_0, a0_1] = d0.args() else { return None };
            let d1 = definition(g, a1);
            if d1.opcode() == Opcode::Iadd {
                let &[a1_0, a1_1] = d1.args() else { return None };
                if matches!(condition(request), IntCC::Equal | IntCC::NotEqual) && a0_0 == a1_0 && let Some(value) = eq_add_add(g, ty, a0_1, a1_1, condition(request)) {
                    return Some(value);
                }
                if matches!(condition(request), IntCC::Equal | IntCC::NotEqual) && a0_0 == a1_1 && let Some(value) = eq_add_add(g, ty, a0_1, a1_0, condition(request)) {
                    return Some(value);
                }
                if matches!(condition(request), IntCC::Equal | IntCC::NotEqual) && a0_1 == a1_0 && let Some(value) = eq_add_add(g, ty, a0_0, a1_1, condition(request)) {
                    return Some(value);
                }
                if matches!(condition(request), IntCC::Equal | IntCC::NotEqual) && a0_1 == a1_1 && let Some(value) = eq_add_add(g, ty, a0_0, a1_0, condition(request)) {
                    return Some(value);
                }
            }
        }
        _ => {}
    }
    let d1 = definition(g, a1);
    if d1.opcode() == Opcode::Band {
        let &[a1_0, a1_1] = d1.args() else { return None };
        if condition(request) == IntCC::UnsignedLessThan && a0 == a1_0 && let Some(value) = ult_and(g, ty) {
            return Some(value);
        }
        if condition(request) == IntCC::UnsignedLessThan && a0 == a1_1 && let Some(value) = ult_and(g, ty) {
            return Some(value);
        }
    }
    if d0.opcode() == Opcode::Band {
        let &[a0_0, a0_1] = d0.args() else { return None };
        if condition(request) == IntCC::UnsignedLessThanOrEqual && a0_0 == a1 && let Some(value) = ule_and(g, ty) {
            return Some(value);
        }
        if condition(request) == IntCC::UnsignedLessThanOrEqual && a0_1 == a1 && let Some(value) = ule_and(g, ty) {
            return Some(value);
        }
    }
    if d1.opcode() == Opcode::Band {
        let &[a1_0, a1_1] = d1.args() else { return None };
        if condition(request) == IntCC::UnsignedGreaterThanOrEqual && a0 == a1_0 && let Some(value) = ule_and(g, ty) {
            return Some(value);
        }
        if condition(request) == IntCC::UnsignedGreaterThanOrEqual && a0 == a1_1 && let Some(value) = ule_and(g, ty) {
            return Some(value);
        }
    }
    if d0.opcode() == Opcode::Iadd {
        let &[a0_0, a0_1] = d0.args() else { return None };
        if matches!(condition(request), IntCC::Equal | IntCC::NotEqual) && a0_0 == a1 && let Some(value) = eq_add_self(g, ty, a0_1, condition(request)) {
            return Some(value);
        }
        if matches!(condition(request), IntCC::Equal | IntCC::NotEqual) && a0_1 == a1 && let Some(value) = eq_add_self(g, ty, a0_0, condition(request)) {
            return Some(value);
        }
    }
    if d1.opcode() == Opcode::Iadd {
        let &[a1_0, a1_1] = d1.args() else { return None };
        if matches!(condition(request).swap_args(), IntCC::Equal | IntCC::NotEqual) && a0 == a1_0 && let Some(value) = eq_add_self(g, ty, a1_1, condition(request).swap_args()) {
            return Some(value);
        }
        if matches!(condition(request).swap_args(), IntCC::Equal | IntCC::NotEqual) && a0 == a1_1 && let Some(value) = eq_add_self(g, ty, a1_0, condition(request).swap_args()) {
            return Some(value);
        }
    }
    if d0.opcode() == Opcode::Isub {
        let &[a0_0, a0_1] = d0.args() else { return None };
        if condition(request) == IntCC::UnsignedGreaterThan && a0_0 == a1 && let Some(value) = ugt_sub(g, ty, a0_0, a0_1) {
            return Some(value);
        }
    }
    if d1.opcode() == Opcode::Isub {
        let &[a1_0, a1_1] = d1.args() else { return None };
        if condition(request) == IntCC::UnsignedLessThan && a0 == a1_0 && let Some(value) = ugt_sub(g, ty, a0, a1_1) {
            return Some(value);
        }
    }
    if d0.opcode() == Opcode::Isub {
        let &[a0_0, a0_1] = d0.args() else { return None };
        if condition(request) == IntCC::UnsignedLessThanOrEqual && a0_0 == a1 && let Some(value) = ule_sub(g, ty, a0_0, a0_1) {
            return Some(value);
        }
    }
    if d1.opcode() == Opcode::Isub {
        let &[a1_0, a1_1] = d1.args() else { return None };
        if condition(request) == IntCC::UnsignedGreaterThanOrEqual && a0 == a1_0 && let Some(value) = ule_sub(g, ty, a0, a1_1) {
            return Some(value);
        }
    }
    if d0.opcode() == Opcode::Iadd {
        let &[a0_0, a0_1] = d0.args() else { return None };
        if let Some(c0_1) = constant(g, a0_1) && condition(request) == IntCC::UnsignedLessThan && a0_0 == a1 && let Some(value) = ult_add_const(g, ty, a0_0, c0_1) {
            return Some(value);
        }
    }
    if d1.opcode() == Opcode::Iadd {
        let &[a1_0, a1_1] = d1.args() else { return None };
        if let Some(c1_1) = constant(g, a1_1) && condition(request) == IntCC::UnsignedGreaterThan && a0 == a1_0 && let Some(value) = ult_add_const(g, ty, a0, c1_1) {
            return Some(value);
        }
    }
    if d0.opcode() == Opcode::Iadd {
        let &[a0_0, a0_1] = d0.args() else { return None };
        if let Some(c0_1) = constant(g, a0_1) && condition(request) == IntCC::UnsignedGreaterThanOrEqual && a0_0 == a1 && let Some(value) = uge_add_const(g, ty, a0_0, c0_1) {
            return Some(value);
        }
    }
    if d1.opcode() == Opcode::Iadd {
        let &[a1_0, a1_1] = d1.args() else { return None };
        if let Some(c1_1) = constant(g, a1_1) && condition(request) == IntCC::UnsignedLessThanOrEqual && a0 == a1_0 && let Some(value) = uge_add_const(g, ty, a0, c1_1) {
            return Some(value);
        }
    }
    if let Some(c1) = constant(g, a1) {
        if condition(request) == IntCC::UnsignedLessThan && c1.is(1) && let Some(value) = ult_one(g, ty, a0) {
            return Some(value);
        }
        if condition(request) == IntCC::UnsignedLessThanOrEqual && c1.is(0) && let Some(value) = ule_zero(g, ty, a0) {
            return Some(value);
        }
        if condition(request) == IntCC::UnsignedGreaterThan && c1.is(0) && let Some(value) = ugt_zero(g, ty, a0) {
            return Some(value);
        }
        if condition(request) == IntCC::UnsignedGreaterThanOrEqual && c1.is(1) && let Some(value) = uge_one(g, ty, a0) {
            return Some(value);
        }
        match d0.opcode() {
            Opcode::Uextend => {
                let &[a0_0] = d0.args() else { return None };
                if matches!(condition(request), IntCC::Equal | IntCC::NotEqual) && c1.is(0) && let Some(value) = cmp_uext_zero(g, a0_0, condition(request)) {
                    return Some(value);
                }
            }
            Opcode::Sextend => {
                let &[a0_0] = d0.args() else { return None };
                if c1.is(0) && let Some(value) = cmp_sext_zero(g, a0_0, condition(request)) {
                    return Some(value);
                }
            }
            _ => {}
        }
    }
    match d0.opcode() {
        Opcode::Uextend => {
            let &[a0_0] = d0.args() else { return None };
            if d1.opcode() == Opcode::Uextend {
                let &[a1_0] = d1.args() else { return None };
                if matches!(condition(request), IntCC::Equal | IntCC::NotEqual | IntCC::UnsignedLessThan | IntCC::UnsignedLessThanOrEqual | IntCC::UnsignedGreaterThan | IntCC::UnsignedGreaterThanOrEqual) && let Some(value) = cmp_uext(g, a0_0, a1_0, condition(request)) {
                    return Some(value);
                }
            }
            if let Some(c1) = constant(g, a1) && matches!(condition(request), IntCC::Equal | IntCC::NotEqual | IntCC::UnsignedLessThan | IntCC::UnsignedLessThanOrEqual | IntCC::UnsignedGreaterThan | IntCC::UnsignedGreaterThanOrEqual) && let Some(value) = cmp_uext_const(g, ty, a0_0, c1, condition(request)) {
                return Some(value);
            }
        }
        Opcode::Sextend => {
            let &[a0_0] = d0.args() else { return None };
            if d1.opcode() == Opcode::Sextend {
                let &[a1_0] = d1.args() else { return None };
                if let Some(value) = cmp_sext(g, a0_0, a1_0, condition(request)) {
                    return Some(value);
                }
            }
        }
        _ => {}
    }
    if let Some(c1) = constant(g, a1) {
        if condition(request) == IntCC::UnsignedLessThan && let Some(value) = ult_known(g, ty, a0, c1) {
            return Some(value);
        }
        if condition(request) == IntCC::UnsignedGreaterThanOrEqual && let Some(value) = uge_known(g, ty, a0, c1) {
            return Some(value);
        }
        if condition(request) == IntCC::UnsignedLessThanOrEqual && let Some(value) = ule_known(g, ty, a0, c1) {
            return Some(value);
        }
        if condition(request) == IntCC::UnsignedGreaterThan && let Some(value) = ugt_known(g, ty, a0, c1) {
            return Some(value);
        }
        if condition(request) == IntCC::Equal && let Some(value) = eq_known(g, ty, a0, c1) {
            return Some(value);
        }
        if condition(request) == IntCC::NotEqual && let Some(value) = ne_known(g, ty, a0, c1) {
            return Some(value);
        }
        if condition(request) == IntCC::SignedLessThan && c1.is(0) && let Some(value) = slt_known(g, ty, a0) {
            return Some(value);
        }
        if condition(request) == IntCC::SignedGreaterThanOrEqual && c1.is(0) && let Some(value) = sge_known(g, ty, a0) {
            return Some(value);
        }
        if condition(request) == IntCC::NotEqual && c1.is(0) && let Some(value) = bool_ne_zero(g, ty, a0) {
            return Some(value);
        }
        if condition(request) == IntCC::Equal && c1.is(1) && let Some(value) = bool_eq_one(g, ty, a0) {
            return Some(value);
        }
        if d0.opcode() == Opcode::Fcmp {
            let &[a0_0, a0_1] = d0.args() else { return None };
            if condition(request) == IntCC::Equal && c1.is(0) && let Some(value) = fcmp_zero(g, ty, a0_0, a0_1, float_condition(&d0)) {
                return Some(value);
            }
        }
    }
    None
}

#[inline(never)]
fn match_iadd(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if let Some(c1) = constant(g, a1) {
        if c1.is(0) && let Some(value) = add_zero(g, ty, a0) {
            return Some(value);
        }
        let d0 = definition(g, a0);
        match d0.opcode() {
            Opcode::Bnot => {
                let &[a0_0] = d0.args() else { return None };
                if c1.is(1) && let Some(value) = add_not_one(g, ty, a0_0) {
                    return Some(value);
                }
                if let Some(value) = add_not(g, ty, a0_0, c1) {
                    return Some(value);
                }
            }
            Opcode::Iadd => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if let Some(c0_1) = constant(g, a0_1) && let Some(value) = add_chain(g, ty, a0_0, a0, c0_1, c1) {
                    return Some(value);
                }
            }
            Opcode::Isub => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if let Some(c0_0) = constant(g, a0_0) && let Some(value) = sub_add_const(g, ty, a0_1, c0_0, c1) {
                    return Some(value);
                }
            }
            _ => {}
        }
    }
    let d1 = definition(g, a1);
    match d1.opcode() {
        Opcode::Ineg => {
            let &[a1_0] = d1.args() else { return None };
            if let Some(value) = add_neg(g, ty, a0, a1_0) {
                return Some(value);
            }
        }
        Opcode::Bor => {
            let &[a1_0, a1_1] = d1.args() else { return None };
            let d0 = definition(g, a0);
            if d0.opcode() == Opcode::Band {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if a0_0 == a1_0 && a0_1 == a1_1 && let Some(value) = add_and_or(g, ty, a0_0, a0_1) {
                    return Some(value);
                }
                if a0_1 == a1_0 && a0_0 == a1_1 && let Some(value) = add_and_or(g, ty, a0_0, a0_1) {
                    return Some(value);
                }
            }
        }
        Opcode::Band => {
            let &[a1_0, a1_1] = d1.args() else { return None };
            let d0 = definition(g, a0);
            match d0.opcode() {
                Opcode::Bor => {
                    let &[a0_0, a0_1] = d0.args() else { return None };
                    if a0_0 == a1_0 && a0_1 == a1_1 && let Some(value) = add_and_or(g, ty, a0_0, a0_1) {
                        return Some(value);
                    }
                    if a0_1 == a1_0 && a0_0 == a1_1 && let Some(value) = add_and_or(g, ty, a0_1, a0_0) {
                        return Some(value);
                    }
                }
                Opcode::Bxor => {
                    let &[a0_0, a0_1] = d0.args() else { return None };
                    if a0_0 == a1_0 && a0_1 == a1_1 && let Some(value) = add_and_xor(g, ty, a0_0, a0_1) {
                        return Some(value);
                    }
                    if a0_1 == a1_0 && a0_0 == a1_1 && let Some(value) = add_and_xor(g, ty, a0_1, a0_0) {
                        return Some(value);
                    }
                }
                _ => {}
            }
        }
        Opcode::Bxor => {
            let &[a1_0, a1_1] = d1.args() else { return None };
            let d0 = definition(g, a0);
            if d0.opcode() == Opcode::Band {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if a0_0 == a1_0 && a0_1 == a1_1 && let Some(value) = add_and_xor(g, ty, a0_0, a0_1) {
                    return Some(value);
                }
                if a0_1 == a1_0 && a0_0 == a1_1 && let Some(value) = add_and_xor(g, ty, a0_0, a0_1) {
                    return Some(value);
                }
            }
        }
        Opcode::Splat => {
            let &[a1_0] = d1.args() else { return None };
            let d0 = definition(g, a0);
            if d0.opcode() == Opcode::Splat {
                let &[a0_0] = d0.args() else { return None };
                if let Some(value) = add_splat(g, ty, a0_0, a1_0) {
                    return Some(value);
                }
            }
        }
        _ => {}
    }
    let d0 = definition(g, a0);
    if d0.opcode() == Opcode::Ineg {
        let &[a0_0] = d0.args() else { return None };
        if let Some(value) = add_neg(g, ty, a1, a0_0) {
            return Some(value);
        }
    }
    if d1.opcode() == Opcode::Bnot {
        let &[a1_0] = d1.args() else { return None };
        if a0 == a1_0 && let Some(value) = add_not_self(g, ty) {
            return Some(value);
        }
    }
    match d0.opcode() {
        Opcode::Bnot => {
            let &[a0_0] = d0.args() else { return None };
            if a0_0 == a1 && let Some(value) = add_not_self(g, ty) {
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
    if d1.opcode() == Opcode::Isub {
        let &[a1_0, a1_1] = d1.args() else { return None };
        if a0 == a1_1 && let Some(value) = sub_add(g, ty, a1_0) {
            return Some(value);
        }
    }
    None
}

#[inline(never)]
fn match_isub(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if let Some(c1) = constant(g, a1) && c1.is(0) && let Some(value) = sub_zero(g, ty, a0) {
        return Some(value);
    }
    if a0 == a1 && let Some(value) = sub_self(g, ty) {
        return Some(value);
    }
    if let Some(c0) = constant(g, a0) {
        if c0.is(0) && let Some(value) = zero_sub(g, ty, a1) {
            return Some(value);
        }
        let d1 = definition(g, a1);
        match d1.opcode() {
            Opcode::Iadd => {
                let &[a1_0, a1_1] = d1.args() else { return None };
                if let Some(c1_1) = constant(g, a1_1) && let Some(value) = const_sub_add(g, ty, a1_0, c0, c1_1) {
                    return Some(value);
                }
            }
            Opcode::Isub => {
                let &[a1_0, a1_1] = d1.args() else { return None };
                if let Some(c1_0) = constant(g, a1_0) && let Some(value) = const_sub_sub(g, ty, a1_1, c0, c1_0) {
                    return Some(value);
                }
            }
            _ => {}
        }
    }
    let d1 = definition(g, a1);
    match d1.opcode() {
        Opcode::Ineg => {
            let &[a1_0] = d1.args() else { return None };
            if let Some(value) = sub_neg(g, ty, a0, a1_0) {
                return Some(value);
            }
        }
        Opcode::Band => {
            let &[a1_0, a1_1] = d1.args() else { return None };
            let d0 = definition(g, a0);
            if d0.opcode() == Opcode::Bor {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if a0_0 == a1_0 && a0_1 == a1_1 && let Some(value) = sub_or_and(g, ty, a0_0, a0_1) {
                    return Some(value);
                }
                if a0_1 == a1_0 && a0_0 == a1_1 && let Some(value) = sub_or_and(g, ty, a0_0, a0_1) {
                    return Some(value);
                }
            }
        }
        Opcode::Bxor => {
            let &[a1_0, a1_1] = d1.args() else { return None };
            let d0 = definition(g, a0);
            if d0.opcode() == Opcode::Bor {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if a0_0 == a1_0 && a0_1 == a1_1 && let Some(value) = sub_or_xor(g, ty, a0_0, a0_1) {
                    return Some(value);
                }
                if a0_1 == a1_0 && a0_0 == a1_1 && let Some(value) = sub_or_xor(g, ty, a0_0, a0_1) {
                    return Some(value);
                }
            }
        }
        Opcode::Sshr => {
            let &[a1_0, a1_1] = d1.args() else { return None };
            if let Some(c1_1) = constant(g, a1_1) {
                let d0 = definition(g, a0);
                if d0.opcode() == Opcode::Bxor {
                    let &[a0_0, a0_1] = d0.args() else { return None };
                    let d0_1 = definition(g, a0_1);
                    if d0_1.opcode() == Opcode::Sshr {
                        let &[a0_1_0, a0_1_1] = d0_1.args() else { return None };
                        if let Some(c0_1_1) = constant(g, a0_1_1) && a0_0 == a0_1_0 && a0_0 == a1_0 && c0_1_1 == c1_1 && let Some(value) = abs_xor(g, ty, a0_0, a0_1_1, a1_1, c0_1_1) {
                            return Some(value);
                        }
                    }
                    let d0_0 = definition(g, a0_0);
                    if d0_0.opcode() == Opcode::Sshr {
                        let &[a0_0_0, a0_0_1] = d0_0.args() else { return None };
                        if let Some(c0_0_1) = constant(g, a0_0_1) && a0_0_0 == a0_1 && a0_0_0 == a1_0 && c0_0_1 == c1_1 && let Some(value) = abs_xor(g, ty, a0_0_0, a0_0_1, a1_1, c0_0_1) {
                            return Some(value);
                        }
                    }
                }
            }
        }
        _ => {}
    }
    if let Some(c1) = constant(g, a1) && let Some(value) = sub_const(g, ty, a0, c1) {
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
    match d1.opcode() {
        Opcode::Isub => {
            let &[a1_0, a1_1] = d1.args() else { return None };
            if a0 == a1_0 && let Some(value) = sub_sub(g, ty, a1_1) {
                return Some(value);
            }
        }
        Opcode::Iadd => {
            let &[a1_0, a1_1] = d1.args() else { return None };
            if a0 == a1_0 && let Some(value) = sub_add_left(g, ty, a1_1) {
                return Some(value);
            }
            if a0 == a1_1 && let Some(value) = sub_add_left(g, ty, a1_0) {
                return Some(value);
            }
            if d0.opcode() == Opcode::Iadd {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if a0_0 == a1_0 && let Some(value) = add_add_neg(g, ty, a0_1, a1_1) {
                    return Some(value);
                }
                if a0_0 == a1_1 && let Some(value) = add_add_neg(g, ty, a0_1, a1_0) {
                    return Some(value);
                }
                if a0_1 == a1_0 && let Some(value) = add_add_neg(g, ty, a0_0, a1_1) {
                    return Some(value);
                }
                if a0_1 == a1_1 && let Some(value) = add_add_neg(g, ty, a0_0, a1_0) {
                    return Some(value);
                }
            }
        }
        _ => {}
    }
    if d0.opcode() == Opcode::Isub {
        let &[a0_0, a0_1] = d0.args() else { return None };
        if a0_0 == a1 && let Some(value) = sub_sub_left(g, ty, a0_1) {
            return Some(value);
        }
    }
    None
}

#[inline(never)]
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
        Opcode::Iadd => {
            let &[a0_0, a0_1] = d0.args() else { return None };
            if let Some(c0_1) = constant(g, a0_1) && let Some(value) = neg_add_const(g, ty, a0_0, c0_1) {
                return Some(value);
            }
        }
        Opcode::Bnot => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = neg_not(g, ty, a0_0) {
                return Some(value);
            }
        }
        _ => {}
    }
    None
}

#[inline(never)]
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

#[inline(never)]
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
        match d0.opcode() {
            Opcode::Imul => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if let Some(c0_1) = constant(g, a0_1) && let Some(value) = mul_chain(g, ty, a0_0, c0_1, c1) {
                    return Some(value);
                }
            }
            Opcode::Ishl => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if let Some(c0_1) = constant(g, a0_1) && let Some(value) = mul_shl(g, ty, a0_0, a0_1, c1, c0_1) {
                    return Some(value);
                }
            }
            _ => {}
        }
    }
    let d1 = definition(g, a1);
    if d1.opcode() == Opcode::Ineg {
        let &[a1_0] = d1.args() else { return None };
        let d0 = definition(g, a0);
        if d0.opcode() == Opcode::Ineg {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = neg_mul(g, ty, a0_0, a1_0) {
                return Some(value);
            }
        }
        if let Some(value) = mul_neg(g, ty, a0, a1_0) {
            return Some(value);
        }
    }
    let d0 = definition(g, a0);
    if d0.opcode() == Opcode::Ineg {
        let &[a0_0] = d0.args() else { return None };
        if let Some(value) = mul_neg(g, ty, a1, a0_0) {
            return Some(value);
        }
    }
    if let Some(c1) = constant(g, a1) && let Some(value) = mul_pow2(g, ty, a0, c1) {
        return Some(value);
    }
    None
}

#[inline(never)]
fn match_smin(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if a0 == a1 && let Some(value) = smin_self(g, ty, a0) {
        return Some(value);
    }
    let d0 = definition(g, a0);
    if d0.opcode() == Opcode::Smin {
        let &[a0_0, a0_1] = d0.args() else { return None };
        if a0_1 == a1 && let Some(value) = smin_smin(g, ty, a0_0, a0_1) {
            return Some(value);
        }
        if a0_0 == a1 && let Some(value) = smin_smin(g, ty, a0_1, a0_0) {
            return Some(value);
        }
    }
    let d1 = definition(g, a1);
    if d1.opcode() == Opcode::Smin {
        let &[a1_0, a1_1] = d1.args() else { return None };
        if a0 == a1_1 && let Some(value) = smin_smin(g, ty, a1_0, a0) {
            return Some(value);
        }
        if a0 == a1_0 && let Some(value) = smin_smin(g, ty, a1_1, a0) {
            return Some(value);
        }
    }
    None
}

#[inline(never)]
fn match_smax(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if a0 == a1 && let Some(value) = smax_self(g, ty, a0) {
        return Some(value);
    }
    let d0 = definition(g, a0);
    if d0.opcode() == Opcode::Smax {
        let &[a0_0, a0_1] = d0.args() else { return None };
        if a0_1 == a1 && let Some(value) = smax_smax(g, ty, a0_0, a0_1) {
            return Some(value);
        }
        if a0_0 == a1 && let Some(value) = smax_smax(g, ty, a0_1, a0_0) {
            return Some(value);
        }
    }
    let d1 = definition(g, a1);
    match d1.opcode() {
        Opcode::Smax => {
            let &[a1_0, a1_1] = d1.args() else { return None };
            if a0 == a1_1 && let Some(value) = smax_smax(g, ty, a1_0, a0) {
                return Some(value);
            }
            if a0 == a1_0 && let Some(value) = smax_smax(g, ty, a1_1, a0) {
                return Some(value);
            }
        }
        Opcode::Ineg => {
            let &[a1_0] = d1.args() else { return None };
            if a0 == a1_0 && let Some(value) = abs_smax(g, ty, a0) {
                return Some(value);
            }
        }
        _ => {}
    }
    if d0.opcode() == Opcode::Ineg {
        let &[a0_0] = d0.args() else { return None };
        if a0_0 == a1 && let Some(value) = abs_smax(g, ty, a0_0) {
            return Some(value);
        }
    }
    None
}

#[inline(never)]
fn match_umin(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if a0 == a1 && let Some(value) = umin_self(g, ty, a0) {
        return Some(value);
    }
    let d0 = definition(g, a0);
    if d0.opcode() == Opcode::Umin {
        let &[a0_0, a0_1] = d0.args() else { return None };
        if a0_1 == a1 && let Some(value) = umin_umin(g, ty, a0_0, a0_1) {
            return Some(value);
        }
        if a0_0 == a1 && let Some(value) = umin_umin(g, ty, a0_1, a0_0) {
            return Some(value);
        }
    }
    let d1 = definition(g, a1);
    if d1.opcode() == Opcode::Umin {
        let &[a1_0, a1_1] = d1.args() else { return None };
        if a0 == a1_1 && let Some(value) = umin_umin(g, ty, a1_0, a0) {
            return Some(value);
        }
        if a0 == a1_0 && let Some(value) = umin_umin(g, ty, a1_1, a0) {
            return Some(value);
        }
    }
    if let Some(c1) = constant(g, a1) {
        if c1.is(0) && let Some(value) = umin_zero(g, ty) {
            return Some(value);
        }
        if c1.is(-1) && let Some(value) = umin_ones(g, ty, a0) {
            return Some(value);
        }
    }
    None
}

#[inline(never)]
fn match_umax(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if a0 == a1 && let Some(value) = umax_self(g, ty, a0) {
        return Some(value);
    }
    let d0 = definition(g, a0);
    if d0.opcode() == Opcode::Umax {
        let &[a0_0, a0_1] = d0.args() else { return None };
        if a0_1 == a1 && let Some(value) = umax_umax(g, ty, a0_0, a0_1) {
            return Some(value);
        }
        if a0_0 == a1 && let Some(value) = umax_umax(g, ty, a0_1, a0_0) {
            return Some(value);
        }
    }
    let d1 = definition(g, a1);
    if d1.opcode() == Opcode::Umax {
        let &[a1_0, a1_1] = d1.args() else { return None };
        if a0 == a1_1 && let Some(value) = umax_umax(g, ty, a1_0, a0) {
            return Some(value);
        }
        if a0 == a1_0 && let Some(value) = umax_umax(g, ty, a1_1, a0) {
            return Some(value);
        }
    }
    if let Some(c1) = constant(g, a1) {
        if c1.is(0) && let Some(value) = umax_zero(g, ty, a0) {
            return Some(value);
        }
        if c1.is(-1) && let Some(value) = umax_ones(g, ty) {
            return Some(value);
        }
    }
    None
}

#[inline(never)]
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

#[inline(never)]
fn match_sdiv(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if let Some(c1) = constant(g, a1) {
        if c1.is(1) && let Some(value) = sdiv_one(g, a0) {
            return Some(value);
        }
        if let Some(value) = sdiv_pow2(g, ty, a0, c1) {
            return Some(value);
        }
    }
    None
}

#[inline(never)]
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

#[inline(never)]
fn match_srem(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[_, a1] = request.args() else { return None };
    if let Some(c1) = constant(g, a1) && c1.is(1) && let Some(value) = srem_one(g, ty) {
        return Some(value);
    }
    None
}

#[inline(never)]
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
    }
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
        }
        Opcode::Sextend => {
            let &[a1_0] = d1.args() else { return None };
            let d0 = definition(g, a0);
            if d0.opcode() == Opcode::Sextend {
                let &[a0_0] = d0.args() else { return None };
                if let Some(value) = and_sext(g, ty, a0_0, a1_0) {
                    return Some(value);
                }
            }
        }
        Opcode::Icmp => {
            let &[a1_0, a1_1] = d1.args() else { return None };
            if let Some(c1_1) = constant(g, a1_1) {
                let d0 = definition(g, a0);
                if d0.opcode() == Opcode::Icmp {
                    let &[a0_0, a0_1] = d0.args() else { return None };
                    if let Some(c0_1) = constant(g, a0_1) {
                        if condition(&d0) == IntCC::UnsignedGreaterThanOrEqual && condition(&d1) == IntCC::UnsignedLessThan && a0_0 == a1_0 && let Some(value) = range(g, ty, a0_0, c0_1, c1_1) {
                            return Some(value);
                        }
                        if condition(&d0) == IntCC::UnsignedLessThan && condition(&d1) == IntCC::UnsignedGreaterThanOrEqual && a0_0 == a1_0 && let Some(value) = range(g, ty, a0_0, c1_1, c0_1) {
                            return Some(value);
                        }
                    }
                }
            }
        }
        _ => {}
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
            if let Some(c0_1) = constant(g, a0_1) && let Some(c1) = constant(g, a1) && let Some(value) = and_chain(g, ty, a0_0, c0_1, c1) {
                return Some(value);
            }
        }
        Opcode::Uextend => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(c1) = constant(g, a1) && let Some(value) = and_uext_mask(g, ty, a0_0, c1) {
                return Some(value);
            }
            if d1.opcode() == Opcode::Uextend {
                let &[a1_0] = d1.args() else { return None };
                if let Some(value) = and_uext(g, ty, a0_0, a1_0) {
                    return Some(value);
                }
            }
            if let Some(c1) = constant(g, a1) {
                let d0_0 = definition(g, a0_0);
                if d0_0.opcode() == Opcode::Icmp {
                    let &[a0_0_0, a0_0_1] = d0_0.args() else { return None };
                    if c1.is(1) && let Some(value) = uext_cmp_and(g, ty, a0_0_0, a0_0_1, condition(&d0_0)) {
                        return Some(value);
                    }
                }
            }
        }
        Opcode::Icmp => {
            let &[a0_0, a0_1] = d0.args() else { return None };
            if let Some(c1) = constant(g, a1) && c1.is(1) && let Some(value) = cmp_and_one(g, ty, a0_0, a0_1, condition(&d0)) {
                return Some(value);
            }
        }
        _ => {}
    }
    if d1.opcode() == Opcode::Bnot {
        let &[a1_0] = d1.args() else { return None };
        if a0 == a1_0 && let Some(value) = and_not_self(g, ty) {
            return Some(value);
        }
    }
    if d0.opcode() == Opcode::Bnot {
        let &[a0_0] = d0.args() else { return None };
        if a0_0 == a1 && let Some(value) = and_not_self(g, ty) {
            return Some(value);
        }
        if d1.opcode() == Opcode::Bnot {
            let &[a1_0] = d1.args() else { return None };
            if let Some(value) = and_not_not(g, ty, a0_0, a1_0) {
                return Some(value);
            }
        }
    }
    if d1.opcode() == Opcode::Bor {
        let &[a1_0, a1_1] = d1.args() else { return None };
        let d1_0 = definition(g, a1_0);
        if d1_0.opcode() == Opcode::Bnot {
            let &[a1_0_0] = d1_0.args() else { return None };
            if a0 == a1_0_0 && let Some(value) = and_or_not(g, ty, a0, a1_1) {
                return Some(value);
            }
        }
        let d1_1 = definition(g, a1_1);
        if d1_1.opcode() == Opcode::Bnot {
            let &[a1_1_0] = d1_1.args() else { return None };
            if a0 == a1_1_0 && let Some(value) = and_or_not(g, ty, a0, a1_0) {
                return Some(value);
            }
        }
    }
    if d0.opcode() == Opcode::Bor {
        let &[a0_0, a0_1] = d0.args() else { return None };
        let d0_0 = definition(g, a0_0);
        if d0_0.opcode() == Opcode::Bnot {
            let &[a0_0_0] = d0_0.args() else { return None };
            if a0_0_0 == a1 && let Some(value) = and_or_not(g, ty, a0_0_0, a0_1) {
                return Some(value);
            }
        }
        let d0_1 = definition(g, a0_1);
        if d0_1.opcode() == Opcode::Bnot {
            let &[a0_1_0] = d0_1.args() else { return None };
            if a0_1_0 == a1 && let Some(value) = and_or_not(g, ty, a0_1_0, a0_0) {
                return Some(value);
            }
        }
    }
    if let Some(c1) = constant(g, a1) {
        if let Some(value) = mask_known(g, ty, a0, c1) {
            return Some(value);
        }
        if let Some(value) = mask_clears(g, ty, a0, c1) {
            return Some(value);
        }
    }
    if d0.opcode() == Opcode::Splat {
        let &[a0_0] = d0.args() else { return None };
        if d1.opcode() == Opcode::Splat {
            let &[a1_0] = d1.args() else { return None };
            if let Some(value) = and_splat(g, ty, a0_0, a1_0) {
                return Some(value);
            }
        }
    }
    None
}

#[inline(never)]
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
    }
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
        }
        Opcode::Uextend => {
            let &[a1_0] = d1.args() else { return None };
            let d0 = definition(g, a0);
            if d0.opcode() == Opcode::Uextend {
                let &[a0_0] = d0.args() else { return None };
                if let Some(value) = or_uext(g, ty, a0_0, a1_0) {
                    return Some(value);
                }
            }
        }
        Opcode::Sextend => {
            let &[a1_0] = d1.args() else { return None };
            let d0 = definition(g, a0);
            if d0.opcode() == Opcode::Sextend {
                let &[a0_0] = d0.args() else { return None };
                if let Some(value) = or_sext(g, ty, a0_0, a1_0) {
                    return Some(value);
                }
            }
        }
        Opcode::Ushr => {
            let &[a1_0, a1_1] = d1.args() else { return None };
            if let Some(c1_1) = constant(g, a1_1) {
                let d0 = definition(g, a0);
                if d0.opcode() == Opcode::Ishl {
                    let &[a0_0, a0_1] = d0.args() else { return None };
                    if let Some(c0_1) = constant(g, a0_1) && a0_0 == a1_0 && let Some(value) = rotate_const(g, ty, a0_0, a0_1, a1_1, c0_1, c1_1) {
                        return Some(value);
                    }
                }
            }
            let d0 = definition(g, a0);
            if d0.opcode() == Opcode::Ishl {
                let &[a0_0, a0_1] = d0.args() else { return None };
                let d1_1 = definition(g, a1_1);
                match d1_1.opcode() {
                    Opcode::Isub => {
                        let &[a1_1_0, a1_1_1] = d1_1.args() else { return None };
                        if let Some(c1_1_0) = constant(g, a1_1_0) && a0_0 == a1_0 && a0_1 == a1_1_1 && let Some(value) = rotate_sub(g, ty, a0_0, a0_1, c1_1_0) {
                            return Some(value);
                        }
                    }
                    Opcode::Ineg => {
                        let &[a1_1_0] = d1_1.args() else { return None };
                        if a0_0 == a1_0 && a0_1 == a1_1_0 && let Some(value) = rotate_neg(g, ty, a0_0, a0_1) {
                            return Some(value);
                        }
                    }
                    _ => {}
                }
                let d0_1 = definition(g, a0_1);
                match d0_1.opcode() {
                    Opcode::Isub => {
                        let &[a0_1_0, a0_1_1] = d0_1.args() else { return None };
                        if let Some(c0_1_0) = constant(g, a0_1_0) && a0_0 == a1_0 && a0_1_1 == a1_1 && let Some(value) = rotate_sub_right(g, ty, a0_0, a0_1_1, c0_1_0) {
                            return Some(value);
                        }
                    }
                    Opcode::Ineg => {
                        let &[a0_1_0] = d0_1.args() else { return None };
                        if a0_0 == a1_0 && a0_1_0 == a1_1 && let Some(value) = rotate_neg_right(g, ty, a0_0, a0_1_0) {
                            return Some(value);
                        }
                    }
                    _ => {}
                }
            }
        }
        Opcode::Ishl => {
            let &[a1_0, a1_1] = d1.args() else { return None };
            if let Some(c1_1) = constant(g, a1_1) {
                let d0 = definition(g, a0);
                if d0.opcode() == Opcode::Ushr {
                    let &[a0_0, a0_1] = d0.args() else { return None };
                    if let Some(c0_1) = constant(g, a0_1) && a0_0 == a1_0 && let Some(value) = rotate_const(g, ty, a0_0, a1_1, a0_1, c1_1, c0_1) {
                        return Some(value);
                    }
                }
            }
            let d0 = definition(g, a0);
            if d0.opcode() == Opcode::Ushr {
                let &[a0_0, a0_1] = d0.args() else { return None };
                let d0_1 = definition(g, a0_1);
                match d0_1.opcode() {
                    Opcode::Isub => {
                        let &[a0_1_0, a0_1_1] = d0_1.args() else { return None };
                        if let Some(c0_1_0) = constant(g, a0_1_0) && a0_0 == a1_0 && a0_1_1 == a1_1 && let Some(value) = rotate_sub(g, ty, a0_0, a0_1_1, c0_1_0) {
                            return Some(value);
                        }
                    }
                    Opcode::Ineg => {
                        let &[a0_1_0] = d0_1.args() else { return None };
                        if a0_0 == a1_0 && a0_1_0 == a1_1 && let Some(value) = rotate_neg(g, ty, a0_0, a0_1_0) {
                            return Some(value);
                        }
                    }
                    _ => {}
                }
                let d1_1 = definition(g, a1_1);
                match d1_1.opcode() {
                    Opcode::Isub => {
                        let &[a1_1_0, a1_1_1] = d1_1.args() else { return None };
                        if let Some(c1_1_0) = constant(g, a1_1_0) && a0_0 == a1_0 && a0_1 == a1_1_1 && let Some(value) = rotate_sub_right(g, ty, a0_0, a0_1, c1_1_0) {
                            return Some(value);
                        }
                    }
                    Opcode::Ineg => {
                        let &[a1_1_0] = d1_1.args() else { return None };
                        if a0_0 == a1_0 && a0_1 == a1_1_0 && let Some(value) = rotate_neg_right(g, ty, a0_0, a0_1) {
                            return Some(value);
                        }
                    }
                    _ => {}
                }
            }
        }
        _ => {}
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
            if let Some(c0_1) = constant(g, a0_1) && let Some(c1) = constant(g, a1) && let Some(value) = or_chain(g, ty, a0_0, c0_1, c1) {
                return Some(value);
            }
        }
        Opcode::Ushr => {
            let &[a0_0, a0_1] = d0.args() else { return None };
            if let Some(c0_1) = constant(g, a0_1) && let Some(c1) = constant(g, a1) {
                let d0_0 = definition(g, a0_0);
                if d0_0.opcode() == Opcode::Bxor {
                    let &[a0_0_0, a0_0_1] = d0_0.args() else { return None };
                    if let Some(c0_0_1) = constant(g, a0_0_1) && let Some(value) = or_ushr_xor(g, ty, a0_0_0, a0_1, c0_0_1, c1, c0_1) {
                        return Some(value);
                    }
                }
            }
        }
        _ => {}
    }
    if d1.opcode() == Opcode::Bnot {
        let &[a1_0] = d1.args() else { return None };
        if a0 == a1_0 && let Some(value) = or_not_self(g, ty) {
            return Some(value);
        }
    }
    if d0.opcode() == Opcode::Bnot {
        let &[a0_0] = d0.args() else { return None };
        if a0_0 == a1 && let Some(value) = or_not_self(g, ty) {
            return Some(value);
        }
        if d1.opcode() == Opcode::Bnot {
            let &[a1_0] = d1.args() else { return None };
            if let Some(value) = or_not_not(g, ty, a0_0, a1_0) {
                return Some(value);
            }
        }
    }
    if d1.opcode() == Opcode::Band {
        let &[a1_0, a1_1] = d1.args() else { return None };
        let d1_0 = definition(g, a1_0);
        if d1_0.opcode() == Opcode::Bnot {
            let &[a1_0_0] = d1_0.args() else { return None };
            if a0 == a1_0_0 && let Some(value) = or_and_not(g, ty, a0, a1_1) {
                return Some(value);
            }
        }
        let d1_1 = definition(g, a1_1);
        if d1_1.opcode() == Opcode::Bnot {
            let &[a1_1_0] = d1_1.args() else { return None };
            if a0 == a1_1_0 && let Some(value) = or_and_not(g, ty, a0, a1_0) {
                return Some(value);
            }
        }
        if d0.opcode() == Opcode::Bxor {
            let &[a0_0, a0_1] = d0.args() else { return None };
            if a0_0 == a1_0 && a0_1 == a1_1 && let Some(value) = or_and_xor(g, ty, a0_0, a0_1) {
                return Some(value);
            }
            if a0_1 == a1_0 && a0_0 == a1_1 && let Some(value) = or_and_xor(g, ty, a0_1, a0_0) {
                return Some(value);
            }
        }
    }
    if d0.opcode() == Opcode::Band {
        let &[a0_0, a0_1] = d0.args() else { return None };
        let d0_0 = definition(g, a0_0);
        if d0_0.opcode() == Opcode::Bnot {
            let &[a0_0_0] = d0_0.args() else { return None };
            if a0_0_0 == a1 && let Some(value) = or_and_not(g, ty, a0_0_0, a0_1) {
                return Some(value);
            }
        }
        let d0_1 = definition(g, a0_1);
        if d0_1.opcode() == Opcode::Bnot {
            let &[a0_1_0] = d0_1.args() else { return None };
            if a0_1_0 == a1 && let Some(value) = or_and_not(g, ty, a0_1_0, a0_0) {
                return Some(value);
            }
        }
        if d1.opcode() == Opcode::Bxor {
            let &[a1_0, a1_1] = d1.args() else { return None };
            if a0_0 == a1_0 && a0_1 == a1_1 && let Some(value) = or_and_xor(g, ty, a0_0, a0_1) {
                return Some(value);
            }
            if a0_1 == a1_0 && a0_0 == a1_1 && let Some(value) = or_and_xor(g, ty, a0_0, a0_1) {
                return Some(value);
            }
        }
    }
    if d1.opcode() == Opcode::Bxor {
        let &[a1_0, a1_1] = d1.args() else { return None };
        if a0 == a1_0 && let Some(value) = or_xor_self(g, ty, a0, a1_1) {
            return Some(value);
        }
        if a0 == a1_1 && let Some(value) = or_xor_self(g, ty, a0, a1_0) {
            return Some(value);
        }
    }
    if d0.opcode() == Opcode::Bxor {
        let &[a0_0, a0_1] = d0.args() else { return None };
        if a0_0 == a1 && let Some(value) = or_xor_self(g, ty, a0_0, a0_1) {
            return Some(value);
        }
        if a0_1 == a1 && let Some(value) = or_xor_self(g, ty, a0_1, a0_0) {
            return Some(value);
        }
    }
    if let Some(c1) = constant(g, a1) && let Some(value) = ones_known(g, ty, a0, c1) {
        return Some(value);
    }
    None
}

#[inline(never)]
fn match_bxor(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if let Some(c1) = constant(g, a1) && c1.is(0) && let Some(value) = xor_zero(g, ty, a0) {
        return Some(value);
    }
    if a0 == a1 && let Some(value) = xor_self(g, ty) {
        return Some(value);
    }
    if let Some(c1) = constant(g, a1) {
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
            Opcode::Icmp => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if c1.is(1) && let Some(value) = cmp_xor_one(g, ty, a0_0, a0_1, condition(&d0)) {
                    return Some(value);
                }
            }
            Opcode::Ushr => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if let Some(c0_1) = constant(g, a0_1) {
                    let d0_0 = definition(g, a0_0);
                    if d0_0.opcode() == Opcode::Bxor {
                        let &[a0_0_0, a0_0_1] = d0_0.args() else { return None };
                        if let Some(c0_0_1) = constant(g, a0_0_1) && let Some(value) = xor_ushr_xor(g, ty, a0_0_0, a0_1, c0_0_1, c1, c0_1) {
                            return Some(value);
                        }
                    }
                }
            }
            Opcode::Fcmp => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if c1.is(1) && let Some(value) = fcmp_xor_one(g, ty, a0_0, a0_1, float_condition(&d0)) {
                    return Some(value);
                }
            }
            _ => {}
        }
    }
    let d1 = definition(g, a1);
    match d1.opcode() {
        Opcode::Bnot => {
            let &[a1_0] = d1.args() else { return None };
            if a0 == a1_0 && let Some(value) = xor_not_self(g, ty) {
                return Some(value);
            }
        }
        Opcode::Band => {
            let &[a1_0, a1_1] = d1.args() else { return None };
            if let Some(c1_1) = constant(g, a1_1) {
                let d0 = definition(g, a0);
                if d0.opcode() == Opcode::Band {
                    let &[a0_0, a0_1] = d0.args() else { return None };
                    if let Some(c0_1) = constant(g, a0_1) {
                        if c0_1 == c1_1 && let Some(value) = xor_and_and(g, ty, a0_0, a1_0, a0, a1, c0_1) {
                            return Some(value);
                        }
                        if c0_1 == c1_1 && let Some(value) = xor_and_and(g, ty, a1_0, a0_0, a1, a0, c0_1) {
                            return Some(value);
                        }
                    }
                }
            }
        }
        Opcode::Uextend => {
            let &[a1_0] = d1.args() else { return None };
            let d0 = definition(g, a0);
            if d0.opcode() == Opcode::Uextend {
                let &[a0_0] = d0.args() else { return None };
                if let Some(value) = xor_uext(g, ty, a0_0, a1_0) {
                    return Some(value);
                }
            }
        }
        Opcode::Sextend => {
            let &[a1_0] = d1.args() else { return None };
            let d0 = definition(g, a0);
            if d0.opcode() == Opcode::Sextend {
                let &[a0_0] = d0.args() else { return None };
                if let Some(value) = xor_sext(g, ty, a0_0, a1_0) {
                    return Some(value);
                }
            }
        }
        _ => {}
    }
    let d0 = definition(g, a0);
    match d0.opcode() {
        Opcode::Bnot => {
            let &[a0_0] = d0.args() else { return None };
            if a0_0 == a1 && let Some(value) = xor_not_self(g, ty) {
                return Some(value);
            }
            if d1.opcode() == Opcode::Bnot {
                let &[a1_0] = d1.args() else { return None };
                if let Some(value) = xor_not_not(g, ty, a0_0, a1_0) {
                    return Some(value);
                }
            }
        }
        Opcode::Bxor => {
            let &[a0_0, a0_1] = d0.args() else { return None };
            if a0_1 == a1 && let Some(value) = xor_xor_self(g, ty, a0_0) {
                return Some(value);
            }
            if a0_0 == a1 && let Some(value) = xor_xor_self(g, ty, a0_1) {
                return Some(value);
            }
        }
        _ => {}
    }
    if d1.opcode() == Opcode::Bxor {
        let &[a1_0, a1_1] = d1.args() else { return None };
        if a0 == a1_1 && let Some(value) = xor_xor_self(g, ty, a1_0) {
            return Some(value);
        }
        if a0 == a1_0 && let Some(value) = xor_xor_self(g, ty, a1_1) {
            return Some(value);
        }
    }
    None
}

#[inline(never)]
fn match_bnot(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0] = request.args() else { return None };
    let d0 = definition(g, a0);
    match d0.opcode() {
        Opcode::Bnot => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = not_not(g, ty, a0_0) {
                return Some(value);
            }
        }
        Opcode::Iadd => {
            let &[a0_0, a0_1] = d0.args() else { return None };
            if let Some(c0_1) = constant(g, a0_1) && c0_1.is(-1) && let Some(value) = not_add(g, ty, a0_0) {
                return Some(value);
            }
        }
        _ => {}
    }
    None
}

#[inline(never)]
fn match_rotl(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if let Some(c1) = constant(g, a1) && c1.is(0) && let Some(value) = rotl_zero(g, ty, a0) {
        return Some(value);
    }
    let d1 = definition(g, a1);
    match d1.opcode() {
        Opcode::Ineg => {
            let &[a1_0] = d1.args() else { return None };
            if let Some(value) = rotl_neg(g, ty, a0, a1_0) {
                return Some(value);
            }
        }
        Opcode::Uextend => {
            let &[a1_0] = d1.args() else { return None };
            if let Some(value) = rotl_amount_uext(g, ty, a0, a1_0) {
                return Some(value);
            }
        }
        Opcode::Band => {
            let &[a1_0, a1_1] = d1.args() else { return None };
            if let Some(c1_1) = constant(g, a1_1) && let Some(value) = rotl_amount_mask(g, ty, a0, a1_0, c1_1) {
                return Some(value);
            }
        }
        _ => {}
    }
    None
}

#[inline(never)]
fn match_rotr(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if let Some(c1) = constant(g, a1) {
        if c1.is(0) && let Some(value) = rotr_zero(g, ty, a0) {
            return Some(value);
        }
        if let Some(value) = rotr_const(g, ty, a0, a1, c1) {
            return Some(value);
        }
    }
    let d1 = definition(g, a1);
    match d1.opcode() {
        Opcode::Ineg => {
            let &[a1_0] = d1.args() else { return None };
            if let Some(value) = rotr_neg(g, ty, a0, a1_0) {
                return Some(value);
            }
        }
        Opcode::Uextend => {
            let &[a1_0] = d1.args() else { return None };
            if let Some(value) = rotr_amount_uext(g, ty, a0, a1_0) {
                return Some(value);
            }
        }
        Opcode::Band => {
            let &[a1_0, a1_1] = d1.args() else { return None };
            if let Some(c1_1) = constant(g, a1_1) && let Some(value) = rotr_amount_mask(g, ty, a0, a1_0, c1_1) {
                return Some(value);
            }
        }
        _ => {}
    }
    None
}

#[inline(never)]
fn match_ishl(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if let Some(c1) = constant(g, a1) {
        if c1.is(0) && let Some(value) = shl_zero(g, ty, a0) {
            return Some(value);
        }
        let d0 = definition(g, a0);
        match d0.opcode() {
            Opcode::Imul => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if let Some(c0_1) = constant(g, a0_1) && let Some(value) = shl_mul(g, ty, a0_0, a1, c0_1, c1) {
                    return Some(value);
                }
            }
            Opcode::Ushr => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if let Some(c0_1) = constant(g, a0_1) && c0_1 == c1 && let Some(value) = ushr_shl(g, ty, a0_0, a0_1, a1, c0_1) {
                    return Some(value);
                }
            }
            Opcode::Sshr => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if let Some(c0_1) = constant(g, a0_1) && c0_1 == c1 && let Some(value) = sshr_shl(g, ty, a0_0, a0_1, a1, c0_1) {
                    return Some(value);
                }
            }
            Opcode::Ishl => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if let Some(c0_1) = constant(g, a0_1) {
                    if let Some(value) = shl_shl(g, ty, a0_0, a0_1, a1, c0_1, c1) {
                        return Some(value);
                    }
                    if let Some(value) = shl_shl_out(g, ty, a0_1, a1, c0_1, c1) {
                        return Some(value);
                    }
                }
            }
            _ => {}
        }
    }
    let d1 = definition(g, a1);
    match d1.opcode() {
        Opcode::Uextend => {
            let &[a1_0] = d1.args() else { return None };
            if let Some(value) = shl_amount_uext(g, ty, a0, a1_0) {
                return Some(value);
            }
        }
        Opcode::Sextend => {
            let &[a1_0] = d1.args() else { return None };
            if let Some(value) = shl_amount_sext(g, ty, a0, a1_0) {
                return Some(value);
            }
        }
        Opcode::Ireduce => {
            let &[a1_0] = d1.args() else { return None };
            if let Some(value) = shl_amount_cut(g, ty, a0, a1_0) {
                return Some(value);
            }
        }
        Opcode::Band => {
            let &[a1_0, a1_1] = d1.args() else { return None };
            if let Some(c1_1) = constant(g, a1_1) && let Some(value) = shl_amount_mask(g, ty, a0, a1_0, c1_1) {
                return Some(value);
            }
        }
        _ => {}
    }
    None
}

#[inline(never)]
fn match_ushr(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if let Some(c1) = constant(g, a1) {
        if c1.is(0) && let Some(value) = ushr_zero(g, ty, a0) {
            return Some(value);
        }
        let d0 = definition(g, a0);
        match d0.opcode() {
            Opcode::Ishl => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if let Some(c0_1) = constant(g, a0_1) && c0_1 == c1 && let Some(value) = shl_ushr(g, ty, a0_0, a0_1, a1, c0_1) {
                    return Some(value);
                }
            }
            Opcode::Ushr => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if let Some(c0_1) = constant(g, a0_1) {
                    if let Some(value) = ushr_ushr(g, ty, a0_0, a0_1, a1, c0_1, c1) {
                        return Some(value);
                    }
                    if let Some(value) = ushr_ushr_out(g, ty, a0_1, a1, c0_1, c1) {
                        return Some(value);
                    }
                }
            }
            Opcode::Sshr => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if let Some(c0_1) = constant(g, a0_1) && let Some(value) = ushr_sshr_sign(g, ty, a0_0, a0_1, a1, c1, c0_1) {
                    return Some(value);
                }
            }
            _ => {}
        }
    }
    let d1 = definition(g, a1);
    match d1.opcode() {
        Opcode::Uextend => {
            let &[a1_0] = d1.args() else { return None };
            if let Some(value) = ushr_amount_uext(g, ty, a0, a1_0) {
                return Some(value);
            }
        }
        Opcode::Sextend => {
            let &[a1_0] = d1.args() else { return None };
            if let Some(value) = ushr_amount_sext(g, ty, a0, a1_0) {
                return Some(value);
            }
        }
        Opcode::Ireduce => {
            let &[a1_0] = d1.args() else { return None };
            if let Some(value) = ushr_amount_cut(g, ty, a0, a1_0) {
                return Some(value);
            }
        }
        Opcode::Band => {
            let &[a1_0, a1_1] = d1.args() else { return None };
            if let Some(c1_1) = constant(g, a1_1) && let Some(value) = ushr_amount_mask(g, ty, a0, a1_0, c1_1) {
                return Some(value);
            }
        }
        _ => {}
    }
    None
}

#[inline(never)]
fn match_sshr(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if let Some(c1) = constant(g, a1) {
        if c1.is(0) && let Some(value) = sshr_zero(g, ty, a0) {
            return Some(value);
        }
        let d0 = definition(g, a0);
        match d0.opcode() {
            Opcode::Ishl => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if let Some(c0_1) = constant(g, a0_1) {
                    if c0_1 == c1 && let Some(value) = sext8(g, ty, a0_0, a0_1, a1, c0_1) {
                        return Some(value);
                    }
                    if c0_1 == c1 && let Some(value) = sext16(g, ty, a0_0, a0_1, a1, c0_1) {
                        return Some(value);
                    }
                    if c0_1 == c1 && let Some(value) = sext32(g, ty, a0_0, a0_1, a1, c0_1) {
                        return Some(value);
                    }
                }
            }
            Opcode::Sshr => {
                let &[a0_0, a0_1] = d0.args() else { return None };
                if let Some(c0_1) = constant(g, a0_1) {
                    if let Some(value) = sshr_sshr(g, ty, a0_0, a0_1, a1, c0_1, c1) {
                        return Some(value);
                    }
                    if let Some(value) = sshr_sshr_out(g, ty, a0_0, a0_1, a1, c0_1, c1) {
                        return Some(value);
                    }
                }
            }
            _ => {}
        }
    }
    let d1 = definition(g, a1);
    match d1.opcode() {
        Opcode::Uextend => {
            let &[a1_0] = d1.args() else { return None };
            if let Some(value) = sshr_amount_uext(g, ty, a0, a1_0) {
                return Some(value);
            }
        }
        Opcode::Sextend => {
            let &[a1_0] = d1.args() else { return None };
            if let Some(value) = sshr_amount_sext(g, ty, a0, a1_0) {
                return Some(value);
            }
        }
        Opcode::Ireduce => {
            let &[a1_0] = d1.args() else { return None };
            if let Some(value) = sshr_amount_cut(g, ty, a0, a1_0) {
                return Some(value);
            }
        }
        Opcode::Band => {
            let &[a1_0, a1_1] = d1.args() else { return None };
            if let Some(c1_1) = constant(g, a1_1) && let Some(value) = sshr_amount_mask(g, ty, a0, a1_0, c1_1) {
                return Some(value);
            }
        }
        _ => {}
    }
    if let Some(value) = sshr_known(g, ty, a0, a1) {
        return Some(value);
    }
    None
}

#[inline(never)]
fn match_bitrev(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let &[a0] = request.args() else { return None };
    let d0 = definition(g, a0);
    if d0.opcode() == Opcode::Bitrev {
        let &[a0_0] = d0.args() else { return None };
        if let Some(value) = bitrev_bitrev(g, a0_0) {
            return Some(value);
        }
    }
    None
}

#[inline(never)]
fn match_bswap(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let &[a0] = request.args() else { return None };
    let d0 = definition(g, a0);
    if d0.opcode() == Opcode::Bswap {
        let &[a0_0] = d0.args() else { return None };
        if let Some(value) = bswap_bswap(g, a0_0) {
            return Some(value);
        }
    }
    None
}

#[inline(never)]
fn match_ireduce(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = request.controlling_type();
    let &[a0] = request.args() else { return None };
    let d0 = definition(g, a0);
    match d0.opcode() {
        Opcode::Ushr => {
            let &[a0_0, a0_1] = d0.args() else { return None };
            if let Some(c0_1) = constant(g, a0_1) {
                let d0_0 = definition(g, a0_0);
                match d0_0.opcode() {
                    Opcode::Imul => {
                        let &[a0_0_0, a0_0_1] = d0_0.args() else { return None };
                        let d0_0_0 = definition(g, a0_0_0);
                        match d0_0_0.opcode() {
                            Opcode::Uextend => {
                                let &[a0_0_0_0] = d0_0_0.args() else { return None };
                                let d0_0_1 = definition(g, a0_0_1);
                                if d0_0_1.opcode() == Opcode::Uextend {
                                    let &[a0_0_1_0] = d0_0_1.args() else { return None };
                                    if let Some(value) = umulhi_wide(g, ty, a0_0_0_0, a0_0_1_0, a0_1, c0_1) {
                                        return Some(value);
                                    }
                                    if let Some(value) = umulhi_wide(g, ty, a0_0_1_0, a0_0_0_0, a0_1, c0_1) {
                                        return Some(value);
                                    }
                                }
                            }
                            Opcode::Sextend => {
                                let &[a0_0_0_0] = d0_0_0.args() else { return None };
                                let d0_0_1 = definition(g, a0_0_1);
                                if d0_0_1.opcode() == Opcode::Sextend {
                                    let &[a0_0_1_0] = d0_0_1.args() else { return None };
                                    if let Some(value) = smulhi_ushr(g, ty, a0_0_0_0, a0_0_1_0, a0_1, c0_1) {
                                        return Some(value);
                                    }
                                    if let Some(value) = smulhi_ushr(g, ty, a0_0_1_0, a0_0_0_0, a0_1, c0_1) {
                                        return Some(value);
                                    }
                                }
                            }
                            _ => {}
                        }
                    }
                    Opcode::Uextend => {
                        let &[a0_0_0] = d0_0.args() else { return None };
                        if let Some(value) = narrow_ushr(g, ty, a0_0_0, a0_1, c0_1) {
                            return Some(value);
                        }
                    }
                    _ => {}
                }
            }
        }
        Opcode::Sshr => {
            let &[a0_0, a0_1] = d0.args() else { return None };
            if let Some(c0_1) = constant(g, a0_1) {
                let d0_0 = definition(g, a0_0);
                if d0_0.opcode() == Opcode::Imul {
                    let &[a0_0_0, a0_0_1] = d0_0.args() else { return None };
                    let d0_0_0 = definition(g, a0_0_0);
                    if d0_0_0.opcode() == Opcode::Sextend {
                        let &[a0_0_0_0] = d0_0_0.args() else { return None };
                        let d0_0_1 = definition(g, a0_0_1);
                        if d0_0_1.opcode() == Opcode::Sextend {
                            let &[a0_0_1_0] = d0_0_1.args() else { return None };
                            if let Some(value) = smulhi_wide(g, ty, a0_0_0_0, a0_0_1_0, a0_1, c0_1) {
                                return Some(value);
                            }
                            if let Some(value) = smulhi_wide(g, ty, a0_0_1_0, a0_0_0_0, a0_1, c0_1) {
                                return Some(value);
                            }
                        }
                    }
                }
            }
        }
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
            if let Some(value) = reduce_sext_low(g, ty, a0_0) {
                return Some(value);
            }
            if let Some(value) = reduce_sext_high(g, ty, a0_0) {
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
                    let d0_1 = definition(g, a0_1);
                    if d0_1.opcode() == Opcode::Uextend {
                        let &[a0_1_0] = d0_1.args() else { return None };
                        if let Some(value) = narrow_add_uext(g, ty, a0_0_0, a0_1_0) {
                            return Some(value);
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
            if let Some(c0_1) = constant(g, a0_1) && let Some(value) = reduce_add(g, ty, a0_0, c0_1) {
                return Some(value);
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
        Opcode::Imul => {
            let &[a0_0, a0_1] = d0.args() else { return None };
            let d0_0 = definition(g, a0_0);
            match d0_0.opcode() {
                Opcode::Uextend => {
                    let &[a0_0_0] = d0_0.args() else { return None };
                    let d0_1 = definition(g, a0_1);
                    if d0_1.opcode() == Opcode::Uextend {
                        let &[a0_1_0] = d0_1.args() else { return None };
                        if let Some(value) = narrow_mul_uext(g, ty, a0_0_0, a0_1_0) {
                            return Some(value);
                        }
                    }
                }
                Opcode::Sextend => {
                    let &[a0_0_0] = d0_0.args() else { return None };
                    let d0_1 = definition(g, a0_1);
                    if d0_1.opcode() == Opcode::Sextend {
                        let &[a0_1_0] = d0_1.args() else { return None };
                        if let Some(value) = narrow_mul_sext(g, ty, a0_0_0, a0_1_0) {
                            return Some(value);
                        }
                    }
                }
                _ => {}
            }
            if let Some(c0_1) = constant(g, a0_1) && let Some(value) = reduce_mul(g, ty, a0_0, c0_1) {
                return Some(value);
            }
        }
        Opcode::Ishl => {
            let &[a0_0, a0_1] = d0.args() else { return None };
            if let Some(c0_1) = constant(g, a0_1) {
                let d0_0 = definition(g, a0_0);
                if d0_0.opcode() == Opcode::Uextend {
                    let &[a0_0_0] = d0_0.args() else { return None };
                    if let Some(value) = narrow_shl(g, ty, a0_0_0, a0_1, c0_1) {
                        return Some(value);
                    }
                }
            }
        }
        Opcode::Ineg => {
            let &[a0_0] = d0.args() else { return None };
            let d0_0 = definition(g, a0_0);
            if d0_0.opcode() == Opcode::Uextend {
                let &[a0_0_0] = d0_0.args() else { return None };
                if let Some(value) = reduce_neg(g, ty, a0_0_0) {
                    return Some(value);
                }
            }
        }
        Opcode::Bnot => {
            let &[a0_0] = d0.args() else { return None };
            let d0_0 = definition(g, a0_0);
            if d0_0.opcode() == Opcode::Uextend {
                let &[a0_0_0] = d0_0.args() else { return None };
                if let Some(value) = reduce_not(g, ty, a0_0_0) {
                    return Some(value);
                }
            }
        }
        Opcode::Band => {
            let &[a0_0, a0_1] = d0.args() else { return None };
            if let Some(c0_1) = constant(g, a0_1) && let Some(value) = reduce_and(g, ty, a0_0, c0_1) {
                return Some(value);
            }
        }
        Opcode::Bor => {
            let &[a0_0, a0_1] = d0.args() else { return None };
            if let Some(c0_1) = constant(g, a0_1) && let Some(value) = reduce_or(g, ty, a0_0, c0_1) {
                return Some(value);
            }
        }
        Opcode::Bxor => {
            let &[a0_0, a0_1] = d0.args() else { return None };
            if let Some(c0_1) = constant(g, a0_1) && let Some(value) = reduce_xor(g, ty, a0_0, c0_1) {
                return Some(value);
            }
        }
        _ => {}
    }
    None
}

#[inline(never)]
fn match_uextend(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = request.controlling_type();
    let &[a0] = request.args() else { return None };
    let d0 = definition(g, a0);
    match d0.opcode() {
        Opcode::Uextend => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = ext_ext(g, ty, a0_0) {
                return Some(value);
            }
        }
        Opcode::Ireduce => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = uext_reduce(g, ty, a0_0, a0) {
                return Some(value);
            }
        }
        _ => {}
    }
    None
}

#[inline(never)]
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
    if let Some(value) = sext_known(g, ty, a0) {
        return Some(value);
    }
    None
}

#[inline(never)]
fn match_bitcast(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = request.controlling_type();
    let &[a0] = request.args() else { return None };
    let d0 = definition(g, a0);
    if d0.opcode() == Opcode::Bitcast {
        let &[a0_0] = d0.args() else { return None };
        if let Some(value) = bitcast_back(g, ty, a0_0, a0) {
            return Some(value);
        }
        if let Some(value) = bitcast_bitcast(g, ty, a0_0, a0) {
            return Some(value);
        }
    }
    None
}

#[inline(never)]
fn match_fcmp(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    let d0 = definition(g, a0);
    if d0.opcode() == Opcode::Fneg {
        let &[a0_0] = d0.args() else { return None };
        let d1 = definition(g, a1);
        if d1.opcode() == Opcode::Fneg {
            let &[a1_0] = d1.args() else { return None };
            if let Some(value) = fcmp_fneg(g, ty, a0_0, a1_0, float_condition(request)) {
                return Some(value);
            }
        }
    }
    None
}

#[inline(never)]
fn match_fadd(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    let d1 = definition(g, a1);
    if d1.opcode() == Opcode::Fneg {
        let &[a1_0] = d1.args() else { return None };
        if let Some(value) = fadd_fneg(g, ty, a0, a1_0) {
            return Some(value);
        }
    }
    None
}

#[inline(never)]
fn match_fsub(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    let d1 = definition(g, a1);
    if d1.opcode() == Opcode::Fneg {
        let &[a1_0] = d1.args() else { return None };
        if let Some(value) = fsub_fneg(g, ty, a0, a1_0) {
            return Some(value);
        }
    }
    None
}

#[inline(never)]
fn match_fmul(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    let d0 = definition(g, a0);
    if d0.opcode() == Opcode::Fneg {
        let &[a0_0] = d0.args() else { return None };
        let d1 = definition(g, a1);
        if d1.opcode() == Opcode::Fneg {
            let &[a1_0] = d1.args() else { return None };
            if let Some(value) = fmul_fneg(g, ty, a0_0, a1_0) {
                return Some(value);
            }
        }
    }
    None
}

#[inline(never)]
fn match_fneg(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let &[a0] = request.args() else { return None };
    let d0 = definition(g, a0);
    if d0.opcode() == Opcode::Fneg {
        let &[a0_0] = d0.args() else { return None };
        if let Some(value) = fneg_fneg(g, a0_0) {
            return Some(value);
        }
    }
    None
}

#[inline(never)]
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
        Opcode::Fcopysign => {
            let &[a0_0, _] = d0.args() else { return None };
            if let Some(value) = fabs_copysign(g, ty, a0_0) {
                return Some(value);
            }
        }
        _ => {}
    }
    None
}

#[inline(never)]
fn match_fcopysign(g: &mut impl Graph, request: &InstData) -> Option<Value> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    if a0 == a1 && let Some(value) = copysign_self(g, a0) {
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
    let d1 = definition(g, a1);
    if d1.opcode() == Opcode::Fabs && let Some(value) = copysign_of_fabs(g, ty, a0) {
        return Some(value);
    }
    if d0.opcode() == Opcode::Fcopysign {
        let &[a0_0, _] = d0.args() else { return None };
        if let Some(value) = copysign_twice(g, ty, a0_0, a1) {
            return Some(value);
        }
    }
    if d1.opcode() == Opcode::Fcopysign {
        let &[_, a1_1] = d1.args() else { return None };
        if let Some(value) = copysign_sign(g, ty, a0, a1_1) {
            return Some(value);
        }
    }
    None
}

#[inline(never)]
fn match_brif(g: &mut impl Graph, request: &InstData) -> Option<Effect> {
    let ty = g.ty(request.args()[0]);
    let &[a0] = request.args() else { return None };
    if g.has_one_destination(request) && let Some(value) = brif_same(g) {
        return Some(value);
    }
    if let Some(c0) = constant(g, a0) {
        if let Some(value) = brif_const(g, ty, c0) {
            return Some(value);
        }
        if c0.is(0) && let Some(value) = brif_zero(g) {
            return Some(value);
        }
    }
    let d0 = definition(g, a0);
    if d0.opcode() == Opcode::Icmp {
        let &[a0_0, a0_1] = d0.args() else { return None };
        if let Some(c0_1) = constant(g, a0_1) && condition(&d0) == IntCC::Equal && c0_1.is(0) && let Some(value) = brif_eq_zero(g, a0_0) {
            return Some(value);
        }
    }
    None
}

#[inline(never)]
fn match_trapz(g: &mut impl Graph, request: &InstData) -> Option<Effect> {
    let ty = g.ty(request.args()[0]);
    let &[a0] = request.args() else { return None };
    if let Some(c0) = constant(g, a0) {
        if let Some(value) = trapz_const(g, ty, c0) {
            return Some(value);
        }
        if c0.is(0) && let Some(value) = trapz_zero(g, request) {
            return Some(value);
        }
    }
    let d0 = definition(g, a0);
    if d0.opcode() == Opcode::Icmp {
        let &[a0_0, a0_1] = d0.args() else { return None };
        if let Some(c0_1) = constant(g, a0_1) && condition(&d0) == IntCC::Equal && c0_1.is(0) && let Some(value) = trapz_eq_zero(g, request, a0_0) {
            return Some(value);
        }
    }
    if let Some(value) = trapz_known(g, ty, a0) {
        return Some(value);
    }
    None
}

#[inline(never)]
fn match_trapnz(g: &mut impl Graph, request: &InstData) -> Option<Effect> {
    let ty = g.ty(request.args()[0]);
    let &[a0] = request.args() else { return None };
    if let Some(c0) = constant(g, a0) {
        if c0.is(0) && let Some(value) = trapnz_zero(g) {
            return Some(value);
        }
        if let Some(value) = trapnz_const(g, request, ty, c0) {
            return Some(value);
        }
    }
    let d0 = definition(g, a0);
    if d0.opcode() == Opcode::Icmp {
        let &[a0_0, a0_1] = d0.args() else { return None };
        if let Some(c0_1) = constant(g, a0_1) && condition(&d0) == IntCC::Equal && c0_1.is(0) && let Some(value) = trapnz_eq_zero(g, request, a0_0) {
            return Some(value);
        }
    }
    None
}

#[inline(never)]
fn match_load(g: &mut impl Graph, request: &InstData) -> Option<Effect> {
    let ty = request.controlling_type();
    let &[a0] = request.args() else { return None };
    let d0 = definition(g, a0);
    if d0.opcode() == Opcode::Iadd {
        let &[a0_0, a0_1] = d0.args() else { return None };
        if let Some(c0_1) = constant(g, a0_1) && let Some(value) = load_offset(g, request, ty, a0_0, c0_1, offset(g, request)) {
            return Some(value);
        }
    }
    None
}

#[inline(never)]
fn match_store(g: &mut impl Graph, request: &InstData) -> Option<Effect> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    let d0 = definition(g, a0);
    match d0.opcode() {
        Opcode::Ireduce => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = store_reduce8(g, request, ty, a1, a0_0) {
                return Some(value);
            }
            if let Some(value) = store_reduce16(g, request, ty, a1, a0_0) {
                return Some(value);
            }
            if let Some(value) = store_reduce32(g, request, ty, a1, a0_0) {
                return Some(value);
            }
        }
        Opcode::Bitcast => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = store_bitcast(g, request, ty, a1, a0_0) {
                return Some(value);
            }
        }
        _ => {}
    }
    let d1 = definition(g, a1);
    if d1.opcode() == Opcode::Iadd {
        let &[a1_0, a1_1] = d1.args() else { return None };
        if let Some(c1_1) = constant(g, a1_1) && let Some(value) = store_offset(g, request, a1_0, a0, c1_1, offset(g, request)) {
            return Some(value);
        }
    }
    None
}

#[inline(never)]
fn match_uload8(g: &mut impl Graph, request: &InstData) -> Option<Effect> {
    let ty = request.controlling_type();
    let &[a0] = request.args() else { return None };
    let d0 = definition(g, a0);
    if d0.opcode() == Opcode::Iadd {
        let &[a0_0, a0_1] = d0.args() else { return None };
        if let Some(c0_1) = constant(g, a0_1) && let Some(value) = uload8_offset(g, request, ty, a0_0, c0_1, offset(g, request)) {
            return Some(value);
        }
    }
    None
}

#[inline(never)]
fn match_sload8(g: &mut impl Graph, request: &InstData) -> Option<Effect> {
    let ty = request.controlling_type();
    let &[a0] = request.args() else { return None };
    let d0 = definition(g, a0);
    if d0.opcode() == Opcode::Iadd {
        let &[a0_0, a0_1] = d0.args() else { return None };
        if let Some(c0_1) = constant(g, a0_1) && let Some(value) = sload8_offset(g, request, ty, a0_0, c0_1, offset(g, request)) {
            return Some(value);
        }
    }
    None
}

#[inline(never)]
fn match_istore8(g: &mut impl Graph, request: &InstData) -> Option<Effect> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    let d0 = definition(g, a0);
    match d0.opcode() {
        Opcode::Uextend => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = store8_uext(g, request, a1, a0_0) {
                return Some(value);
            }
            if let Some(value) = store8_uext_low(g, request, a1, a0_0) {
                return Some(value);
            }
        }
        Opcode::Sextend => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = store8_sext(g, request, a1, a0_0) {
                return Some(value);
            }
            if let Some(value) = store8_sext_low(g, request, a1, a0_0) {
                return Some(value);
            }
        }
        Opcode::Ireduce => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = store8_reduce(g, request, a1, a0_0) {
                return Some(value);
            }
        }
        Opcode::Band => {
            let &[a0_0, a0_1] = d0.args() else { return None };
            if let Some(c0_1) = constant(g, a0_1) && let Some(value) = store8_mask(g, request, ty, a1, a0_0, c0_1) {
                return Some(value);
            }
        }
        _ => {}
    }
    let d1 = definition(g, a1);
    if d1.opcode() == Opcode::Iadd {
        let &[a1_0, a1_1] = d1.args() else { return None };
        if let Some(c1_1) = constant(g, a1_1) && let Some(value) = store8_offset(g, request, a1_0, a0, c1_1, offset(g, request)) {
            return Some(value);
        }
    }
    None
}

#[inline(never)]
fn match_uload16(g: &mut impl Graph, request: &InstData) -> Option<Effect> {
    let ty = request.controlling_type();
    let &[a0] = request.args() else { return None };
    let d0 = definition(g, a0);
    if d0.opcode() == Opcode::Iadd {
        let &[a0_0, a0_1] = d0.args() else { return None };
        if let Some(c0_1) = constant(g, a0_1) && let Some(value) = uload16_offset(g, request, ty, a0_0, c0_1, offset(g, request)) {
            return Some(value);
        }
    }
    None
}

#[inline(never)]
fn match_sload16(g: &mut impl Graph, request: &InstData) -> Option<Effect> {
    let ty = request.controlling_type();
    let &[a0] = request.args() else { return None };
    let d0 = definition(g, a0);
    if d0.opcode() == Opcode::Iadd {
        let &[a0_0, a0_1] = d0.args() else { return None };
        if let Some(c0_1) = constant(g, a0_1) && let Some(value) = sload16_offset(g, request, ty, a0_0, c0_1, offset(g, request)) {
            return Some(value);
        }
    }
    None
}

#[inline(never)]
fn match_istore16(g: &mut impl Graph, request: &InstData) -> Option<Effect> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    let d0 = definition(g, a0);
    match d0.opcode() {
        Opcode::Uextend => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = store16_uext(g, request, a1, a0_0) {
                return Some(value);
            }
            if let Some(value) = store16_uext_low(g, request, a1, a0_0) {
                return Some(value);
            }
        }
        Opcode::Sextend => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = store16_sext(g, request, a1, a0_0) {
                return Some(value);
            }
            if let Some(value) = store16_sext_low(g, request, a1, a0_0) {
                return Some(value);
            }
        }
        Opcode::Ireduce => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = store16_reduce(g, request, a1, a0_0) {
                return Some(value);
            }
        }
        Opcode::Band => {
            let &[a0_0, a0_1] = d0.args() else { return None };
            if let Some(c0_1) = constant(g, a0_1) && let Some(value) = store16_mask(g, request, ty, a1, a0_0, c0_1) {
                return Some(value);
            }
        }
        _ => {}
    }
    let d1 = definition(g, a1);
    if d1.opcode() == Opcode::Iadd {
        let &[a1_0, a1_1] = d1.args() else { return None };
        if let Some(c1_1) = constant(g, a1_1) && let Some(value) = store16_offset(g, request, a1_0, a0, c1_1, offset(g, request)) {
            return Some(value);
        }
    }
    None
}

#[inline(never)]
fn match_uload32(g: &mut impl Graph, request: &InstData) -> Option<Effect> {
    let ty = g.ty(request.args()[0]);
    let &[a0] = request.args() else { return None };
    let d0 = definition(g, a0);
    if d0.opcode() == Opcode::Iadd {
        let &[a0_0, a0_1] = d0.args() else { return None };
        if let Some(c0_1) = constant(g, a0_1) && let Some(value) = uload32_offset(g, request, ty, a0_0, c0_1, offset(g, request)) {
            return Some(value);
        }
    }
    None
}

#[inline(never)]
fn match_sload32(g: &mut impl Graph, request: &InstData) -> Option<Effect> {
    let ty = g.ty(request.args()[0]);
    let &[a0] = request.args() else { return None };
    let d0 = definition(g, a0);
    if d0.opcode() == Opcode::Iadd {
        let &[a0_0, a0_1] = d0.args() else { return None };
        if let Some(c0_1) = constant(g, a0_1) && let Some(value) = sload32_offset(g, request, ty, a0_0, c0_1, offset(g, request)) {
            return Some(value);
        }
    }
    None
}

#[inline(never)]
fn match_istore32(g: &mut impl Graph, request: &InstData) -> Option<Effect> {
    let ty = g.ty(request.args()[0]);
    let &[a0, a1] = request.args() else { return None };
    let d0 = definition(g, a0);
    match d0.opcode() {
        Opcode::Uextend => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = store32_uext(g, request, a1, a0_0) {
                return Some(value);
            }
        }
        Opcode::Sextend => {
            let &[a0_0] = d0.args() else { return None };
            if let Some(value) = store32_sext(g, request, a1, a0_0) {
                return Some(value);
            }
        }
        Opcode::Band => {
            let &[a0_0, a0_1] = d0.args() else { return None };
            if let Some(c0_1) = constant(g, a0_1) && let Some(value) = store32_mask(g, request, ty, a1, a0_0, c0_1) {
                return Some(value);
            }
        }
        _ => {}
    }
    let d1 = definition(g, a1);
    if d1.opcode() == Opcode::Iadd {
        let &[a1_0, a1_1] = d1.args() else { return None };
        if let Some(c1_1) = constant(g, a1_1) && let Some(value) = store32_offset(g, request, a1_0, a0, c1_1, offset(g, request)) {
            return Some(value);
        }
    }
    None
}

/// Returns the value that the first matching rule on `cond(value)` makes.
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
            if let Some(c1) = constant(g, a1) {
                if condition(&d) == IntCC::NotEqual && c1.is(0) && let Some(value) = cond_ne_zero(g, a0) {
                    return Some(value);
                }
                if condition(&d) == IntCC::Equal && c1.is(1) && let Some(value) = cond_eq_one(g, a0) {
                    return Some(value);
                }
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
            if let Some(c1) = constant(g, a1) && let Some(c2) = constant(g, a2) && c2.is(0) && let Some(value) = cond_select_c(g, a0, a2, c1) {
                return Some(value);
            }
        }
        Opcode::Iabs => {
            let &[a0] = d.args() else { return None };
            if let Some(value) = cond_iabs(g, a0) {
                return Some(value);
            }
        }
        Opcode::Rotl => {
            let &[a0, _] = d.args() else { return None };
            if let Some(value) = cond_rotl(g, a0) {
                return Some(value);
            }
        }
        Opcode::Rotr => {
            let &[a0, _] = d.args() else { return None };
            if let Some(value) = cond_rotr(g, a0) {
                return Some(value);
            }
        }
        Opcode::Popcnt => {
            let &[a0] = d.args() else { return None };
            if let Some(value) = cond_popcnt(g, a0) {
                return Some(value);
            }
        }
        Opcode::Bxor => {
            let &[a0, a1] = d.args() else { return None };
            if let Some(value) = cond_xor_cmp(g, a0, a1, value) {
                return Some(value);
            }
            if let Some(value) = cond_xor_cmp(g, a1, a0, value) {
                return Some(value);
            }
        }
        Opcode::Isub => {
            let &[a0, a1] = d.args() else { return None };
            if let Some(value) = cond_sub(g, a0, a1, value) {
                return Some(value);
            }
        }
        _ => {}
    }
    None
}

/// Applies `iadd(x, 0) => x at lanes`.
fn add_zero(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AddZero) {
        Some(x)
    } else {
        None
    }
}

/// Applies `isub(x, 0) => x at lanes`.
fn sub_zero(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SubZero) {
        Some(x)
    } else {
        None
    }
}

/// Applies `imul(x, 1) => x at lanes`.
fn mul_one(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::MulOne) {
        Some(x)
    } else {
        None
    }
}

/// Applies `imul(x, 0) => 0 at lanes`.
fn mul_zero(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::MulZero) {
        Some(make_constant(g, ty, Bits::new(ty.lane_bits(), 0)))
    } else {
        None
    }
}

/// Applies `band(x, -1) => x at lanes`.
fn and_ones(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AndOnes) {
        Some(x)
    } else {
        None
    }
}

/// Applies `band(x, 0) => 0 at lanes`.
fn and_zero(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AndZero) {
        Some(make_constant(g, ty, Bits::new(ty.lane_bits(), 0)))
    } else {
        None
    }
}

/// Applies `bor(x, 0) => x at lanes`.
fn or_zero(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::OrZero) {
        Some(x)
    } else {
        None
    }
}

/// Applies `bor(x, -1) => -1 at lanes`.
fn or_ones(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::OrOnes) {
        Some(make_constant(g, ty, Bits::new(ty.lane_bits(), -1)))
    } else {
        None
    }
}

/// Applies `bxor(x, 0) => x at lanes`.
fn xor_zero(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::XorZero) {
        Some(x)
    } else {
        None
    }
}

/// Applies `band(x, x) => x at lanes`.
fn and_self(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AndSelf) {
        Some(x)
    } else {
        None
    }
}

/// Applies `bor(x, x) => x at lanes`.
fn or_self(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::OrSelf) {
        Some(x)
    } else {
        None
    }
}

/// Applies `bxor(x, x) => 0 at lanes`.
fn xor_self(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::XorSelf) {
        Some(make_constant(g, ty, Bits::new(ty.lane_bits(), 0)))
    } else {
        None
    }
}

/// Applies `isub(x, x) => 0 at lanes`.
fn sub_self(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SubSelf) {
        Some(make_constant(g, ty, Bits::new(ty.lane_bits(), 0)))
    } else {
        None
    }
}

/// Applies `ishl(x, 0) => x at lanes`.
fn shl_zero(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::ShlZero) {
        Some(x)
    } else {
        None
    }
}

/// Applies `ushr(x, 0) => x at lanes`.
fn ushr_zero(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::UshrZero) {
        Some(x)
    } else {
        None
    }
}

/// Applies `sshr(x, 0) => x at lanes`.
fn sshr_zero(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SshrZero) {
        Some(x)
    } else {
        None
    }
}

/// Applies `rotl(x, 0) => x at lanes`.
fn rotl_zero(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::RotlZero) {
        Some(x)
    } else {
        None
    }
}

/// Applies `rotr(x, 0) => x at lanes`.
fn rotr_zero(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::RotrZero) {
        Some(x)
    } else {
        None
    }
}

/// Applies `udiv(x, 1) => x`.
fn udiv_one(g: &mut impl Graph, x: Value) -> Option<Value> {
    if g.may_apply(Rule::UdivOne) {
        Some(x)
    } else {
        None
    }
}

/// Applies `sdiv(x, 1) => x`.
fn sdiv_one(g: &mut impl Graph, x: Value) -> Option<Value> {
    if g.may_apply(Rule::SdivOne) {
        Some(x)
    } else {
        None
    }
}

/// Applies `urem(x, 1) => 0`.
fn urem_one(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if g.may_apply(Rule::UremOne) {
        Some(make_constant(g, ty, Bits::new(ty.lane_bits(), 0)))
    } else {
        None
    }
}

/// Applies `srem(x, 1) => 0`.
fn srem_one(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if g.may_apply(Rule::SremOne) {
        Some(make_constant(g, ty, Bits::new(ty.lane_bits(), 0)))
    } else {
        None
    }
}

/// Applies `band(x, bor(x, y)) => x at lanes`.
fn absorb_and(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AbsorbAnd) {
        Some(x)
    } else {
        None
    }
}

/// Applies `bor(x, band(x, y)) => x at lanes`.
fn absorb_or(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AbsorbOr) {
        Some(x)
    } else {
        None
    }
}

/// Applies `bxor(x, -1) => bnot(x) at lanes`.
fn xor_ones(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::XorOnes) {
        Some(g.make(InstData::unary(Opcode::Bnot, ty, x)))
    } else {
        None
    }
}

/// Applies `bnot(bnot(x)) => x at lanes`.
fn not_not(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::NotNot) {
        Some(x)
    } else {
        None
    }
}

/// Applies `ineg(ineg(x)) => x at lanes`.
fn neg_neg(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::NegNeg) {
        Some(x)
    } else {
        None
    }
}

/// Applies `isub(0, x) => ineg(x) at lanes`.
fn zero_sub(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::ZeroSub) {
        Some(g.make(InstData::unary(Opcode::Ineg, ty, x)))
    } else {
        None
    }
}

/// Applies `ineg(isub(y, x)) => isub(x, y) at lanes`.
fn neg_sub(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::NegSub) {
        Some(g.make(InstData::binary(Opcode::Isub, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `iadd(x, ineg(y)) => isub(x, y) at lanes`.
fn add_neg(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AddNeg) {
        Some(g.make(InstData::binary(Opcode::Isub, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `isub(x, ineg(y)) => iadd(x, y) at lanes`.
fn sub_neg(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SubNeg) {
        Some(g.make(InstData::binary(Opcode::Iadd, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `imul(x, -1) => ineg(x) at lanes`.
fn mul_minus_one(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::MulMinusOne) {
        Some(g.make(InstData::unary(Opcode::Ineg, ty, x)))
    } else {
        None
    }
}

/// Applies `imul(ineg(x), ineg(y)) => imul(x, y) at lanes`.
fn neg_mul(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::NegMul) {
        Some(g.make(InstData::binary(Opcode::Imul, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `imul(x, ineg(y)) => ineg(imul(x, y)) at lanes`.
fn mul_neg(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::MulNeg) {
        let v2 = g.make(InstData::binary(Opcode::Imul, ty, [x, y]));
        Some(g.make(InstData::unary(Opcode::Ineg, ty, v2)))
    } else {
        None
    }
}

/// Applies `ineg(iadd(x, C)) => isub(-C, x) at lanes`.
fn neg_add_const(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::NegAddConst) {
        let v1 = make_constant(g, ty, -c);
        Some(g.make(InstData::binary(Opcode::Isub, ty, [v1, x])))
    } else {
        None
    }
}

/// Applies `bnot(iadd(x, -1)) => ineg(x) at lanes`.
fn not_add(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::NotAdd) {
        Some(g.make(InstData::unary(Opcode::Ineg, ty, x)))
    } else {
        None
    }
}

/// Applies `ineg(bnot(x)) => iadd(x, 1) at lanes`.
fn neg_not(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::NegNot) {
        let v0 = make_constant(g, ty, Bits::new(ty.lane_bits(), 1));
        Some(g.make(InstData::binary(Opcode::Iadd, ty, [x, v0])))
    } else {
        None
    }
}

/// Applies `iadd(bnot(x), 1) => ineg(x) at lanes`.
fn add_not_one(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AddNotOne) {
        Some(g.make(InstData::unary(Opcode::Ineg, ty, x)))
    } else {
        None
    }
}

/// Applies `iadd(bnot(x), C) => isub(C - 1, x) at lanes`.
fn add_not(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AddNot) {
        let v1 = make_constant(g, ty, c - Bits::new(ty.lane_bits(), 1));
        Some(g.make(InstData::binary(Opcode::Isub, ty, [v1, x])))
    } else {
        None
    }
}

/// Applies `iadd(x, bnot(x)) => -1 at lanes`.
fn add_not_self(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AddNotSelf) {
        Some(make_constant(g, ty, Bits::new(ty.lane_bits(), -1)))
    } else {
        None
    }
}

/// Applies `band(x, bnot(x)) => 0 at lanes`.
fn and_not_self(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AndNotSelf) {
        Some(make_constant(g, ty, Bits::new(ty.lane_bits(), 0)))
    } else {
        None
    }
}

/// Applies `bor(x, bnot(x)) => -1 at lanes`.
fn or_not_self(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::OrNotSelf) {
        Some(make_constant(g, ty, Bits::new(ty.lane_bits(), -1)))
    } else {
        None
    }
}

/// Applies `bxor(x, bnot(x)) => -1 at lanes`.
fn xor_not_self(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::XorNotSelf) {
        Some(make_constant(g, ty, Bits::new(ty.lane_bits(), -1)))
    } else {
        None
    }
}

/// Applies `band(bnot(x), bnot(y)) => bnot(bor(x, y)) at lanes`.
fn and_not_not(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AndNotNot) {
        let v2 = g.make(InstData::binary(Opcode::Bor, ty, [x, y]));
        Some(g.make(InstData::unary(Opcode::Bnot, ty, v2)))
    } else {
        None
    }
}

/// Applies `bor(bnot(x), bnot(y)) => bnot(band(x, y)) at lanes`.
fn or_not_not(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::OrNotNot) {
        let v2 = g.make(InstData::binary(Opcode::Band, ty, [x, y]));
        Some(g.make(InstData::unary(Opcode::Bnot, ty, v2)))
    } else {
        None
    }
}

/// Applies `bxor(bnot(x), bnot(y)) => bxor(x, y) at lanes`.
fn xor_not_not(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::XorNotNot) {
        Some(g.make(InstData::binary(Opcode::Bxor, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `band(x, bor(bnot(x), y)) => band(x, y) at lanes`.
fn and_or_not(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AndOrNot) {
        Some(g.make(InstData::binary(Opcode::Band, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `bor(x, band(bnot(x), y)) => bor(x, y) at lanes`.
fn or_and_not(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::OrAndNot) {
        Some(g.make(InstData::binary(Opcode::Bor, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `isub(x, C) => iadd(x, -C) at lanes`.
fn sub_const(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SubConst) {
        let v0 = make_constant(g, ty, -c);
        Some(g.make(InstData::binary(Opcode::Iadd, ty, [x, v0])))
    } else {
        None
    }
}

/// Applies `iadd(s = iadd(x, C1), C2) => iadd(x, C1 + C2) where sole(s) at lanes`.
fn add_chain(g: &mut impl Graph, ty: Type, x: Value, n2: Value, c1: Bits, c2: Bits) -> Option<Value> {
    if is_int_or_lanes(ty) && g.is_sole(n2) && g.may_apply(Rule::AddChain) {
        let v0 = make_constant(g, ty, c1 + c2);
        Some(g.make(InstData::binary(Opcode::Iadd, ty, [x, v0])))
    } else {
        None
    }
}

/// Applies `iadd(isub(C1, x), C2) => isub(C1 + C2, x) at lanes`.
fn sub_add_const(g: &mut impl Graph, ty: Type, x: Value, c1: Bits, c2: Bits) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SubAddConst) {
        let v1 = make_constant(g, ty, c1 + c2);
        Some(g.make(InstData::binary(Opcode::Isub, ty, [v1, x])))
    } else {
        None
    }
}

/// Applies `isub(C1, iadd(x, C2)) => isub(C1 - C2, x) at lanes`.
fn const_sub_add(g: &mut impl Graph, ty: Type, x: Value, c1: Bits, c2: Bits) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::ConstSubAdd) {
        let v1 = make_constant(g, ty, c1 - c2);
        Some(g.make(InstData::binary(Opcode::Isub, ty, [v1, x])))
    } else {
        None
    }
}

/// Applies `isub(C1, isub(C2, x)) => iadd(x, C1 - C2) at lanes`.
fn const_sub_sub(g: &mut impl Graph, ty: Type, x: Value, c1: Bits, c2: Bits) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::ConstSubSub) {
        let v0 = make_constant(g, ty, c1 - c2);
        Some(g.make(InstData::binary(Opcode::Iadd, ty, [x, v0])))
    } else {
        None
    }
}

/// Applies `imul(imul(x, C1), C2) => imul(x, C1 * C2) at lanes`.
fn mul_chain(g: &mut impl Graph, ty: Type, x: Value, c1: Bits, c2: Bits) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::MulChain) {
        let v0 = make_constant(g, ty, c1 * c2);
        Some(g.make(InstData::binary(Opcode::Imul, ty, [x, v0])))
    } else {
        None
    }
}

/// Applies `band(band(x, C1), C2) => band(x, C1 & C2) at lanes`.
fn and_chain(g: &mut impl Graph, ty: Type, x: Value, c1: Bits, c2: Bits) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AndChain) {
        let v0 = make_constant(g, ty, c1 & c2);
        Some(g.make(InstData::binary(Opcode::Band, ty, [x, v0])))
    } else {
        None
    }
}

/// Applies `bor(bor(x, C1), C2) => bor(x, C1 | C2) at lanes`.
fn or_chain(g: &mut impl Graph, ty: Type, x: Value, c1: Bits, c2: Bits) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::OrChain) {
        let v0 = make_constant(g, ty, c1 | c2);
        Some(g.make(InstData::binary(Opcode::Bor, ty, [x, v0])))
    } else {
        None
    }
}

/// Applies `bxor(bxor(x, C1), C2) => bxor(x, C1 ^ C2) at lanes`.
fn xor_chain(g: &mut impl Graph, ty: Type, x: Value, c1: Bits, c2: Bits) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::XorChain) {
        let v0 = make_constant(g, ty, c1 ^ c2);
        Some(g.make(InstData::binary(Opcode::Bxor, ty, [x, v0])))
    } else {
        None
    }
}

/// Applies `imul(ishl(x, K), C) => imul(x, C << K) where K u< width(x)`.
fn mul_shl(g: &mut impl Graph, ty: Type, x: Value, n1: Value, c: Bits, k: Bits) -> Option<Value> {
    if ty == g.ty(n1) && k.unsigned() < Bits::new(ty.lane_bits(), i128::from(ty.lane_bits())).unsigned() && g.may_apply(Rule::MulShl) {
        let v0 = make_constant(g, ty, c.shift_left(k));
        Some(g.make(InstData::binary(Opcode::Imul, ty, [x, v0])))
    } else {
        None
    }
}

/// Applies `ishl(imul(x, C), K) => imul(x, C << K) where K u< width(x)`.
fn shl_mul(g: &mut impl Graph, ty: Type, x: Value, n3: Value, c: Bits, k: Bits) -> Option<Value> {
    if ty == g.ty(n3) && k.unsigned() < Bits::new(ty.lane_bits(), i128::from(ty.lane_bits())).unsigned() && g.may_apply(Rule::ShlMul) {
        let v0 = make_constant(g, ty, c.shift_left(k));
        Some(g.make(InstData::binary(Opcode::Imul, ty, [x, v0])))
    } else {
        None
    }
}

/// Applies `iadd(isub(x, y), y) => x at lanes`.
fn sub_add(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SubAdd) {
        Some(x)
    } else {
        None
    }
}

/// Applies `isub(iadd(x, y), y) => x at lanes`.
fn add_sub(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AddSub) {
        Some(x)
    } else {
        None
    }
}

/// Applies `isub(x, isub(x, y)) => y at lanes`.
fn sub_sub(g: &mut impl Graph, ty: Type, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SubSub) {
        Some(y)
    } else {
        None
    }
}

/// Applies `isub(x, iadd(x, y)) => ineg(y) at lanes`.
fn sub_add_left(g: &mut impl Graph, ty: Type, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SubAddLeft) {
        Some(g.make(InstData::unary(Opcode::Ineg, ty, y)))
    } else {
        None
    }
}

/// Applies `isub(isub(x, y), x) => ineg(y) at lanes`.
fn sub_sub_left(g: &mut impl Graph, ty: Type, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SubSubLeft) {
        Some(g.make(InstData::unary(Opcode::Ineg, ty, y)))
    } else {
        None
    }
}

/// Applies `isub(iadd(x, y), iadd(x, z)) => isub(y, z) at lanes`.
fn add_add_neg(g: &mut impl Graph, ty: Type, y: Value, z: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AddAddNeg) {
        Some(g.make(InstData::binary(Opcode::Isub, ty, [y, z])))
    } else {
        None
    }
}

/// Applies `bxor(bxor(x, y), y) => x at lanes`.
fn xor_xor_self(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::XorXorSelf) {
        Some(x)
    } else {
        None
    }
}

/// Applies `isub(bor(x, y), band(x, y)) => bxor(x, y) at lanes`.
fn sub_or_and(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SubOrAnd) {
        Some(g.make(InstData::binary(Opcode::Bxor, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `isub(bor(x, y), bxor(x, y)) => band(x, y) at lanes`.
fn sub_or_xor(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SubOrXor) {
        Some(g.make(InstData::binary(Opcode::Band, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `iadd(band(x, y), bor(x, y)) => iadd(x, y) at lanes`.
fn add_and_or(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AddAndOr) {
        Some(g.make(InstData::binary(Opcode::Iadd, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `iadd(band(x, y), bxor(x, y)) => bor(x, y) at lanes`.
fn add_and_xor(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AddAndXor) {
        Some(g.make(InstData::binary(Opcode::Bor, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `bor(band(x, y), bxor(x, y)) => bor(x, y) at lanes`.
fn or_and_xor(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::OrAndXor) {
        Some(g.make(InstData::binary(Opcode::Bor, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `bor(x, bxor(x, y)) => bor(x, y) at lanes`.
fn or_xor_self(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::OrXorSelf) {
        Some(g.make(InstData::binary(Opcode::Bor, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `bxor(a = band(x, C), b = band(y, C)) => band(bxor(x, y), C) where sole(a) && sole(b)`.
fn xor_and_and(g: &mut impl Graph, ty: Type, x: Value, y: Value, n2: Value, n5: Value, c: Bits) -> Option<Value> {
    if ty.is_int() && g.is_sole(n2) && g.is_sole(n5) && g.may_apply(Rule::XorAndAnd) {
        let v2 = make_constant(g, ty, c);
        let v3 = g.make(InstData::binary(Opcode::Bxor, ty, [x, y]));
        Some(g.make(InstData::binary(Opcode::Band, ty, [v3, v2])))
    } else {
        None
    }
}

/// Applies `imul(x, C) => ishl(x, log2(C)) where isPowerOf2(C)`.
fn mul_pow2(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if ty.is_int() && c.is_power_of_two() && g.may_apply(Rule::MulPow2) {
        let v0 = make_constant(g, ty, c.log2(ty.lane_bits()));
        Some(g.make(InstData::binary(Opcode::Ishl, ty, [x, v0])))
    } else {
        None
    }
}

/// Applies `udiv(x, C) => ushr(x, log2(C)) where isPowerOf2(C)`.
fn udiv_pow2(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if c.is_power_of_two() && g.may_apply(Rule::UdivPow2) {
        let v0 = make_constant(g, ty, c.log2(ty.lane_bits()));
        Some(g.make(InstData::binary(Opcode::Ushr, ty, [x, v0])))
    } else {
        None
    }
}

/// Applies `urem(x, C) => band(x, C - 1) where isPowerOf2(C)`.
fn urem_pow2(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if c.is_power_of_two() && g.may_apply(Rule::UremPow2) {
        let v0 = make_constant(g, ty, c - Bits::new(ty.lane_bits(), 1));
        Some(g.make(InstData::binary(Opcode::Band, ty, [x, v0])))
    } else {
        None
    }
}

/// Applies `sdiv(x, C) => sshr(iadd(x, ushr(sshr(x, width(x) - 1), width(x) - log2(C))), log2(C)) where isPowerOf2(C) && C > 1`.
fn sdiv_pow2(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if c.is_power_of_two() && c.signed() > Bits::new(ty.lane_bits(), 1).signed() && g.may_apply(Rule::SdivPow2) {
        let v0 = make_constant(g, ty, Bits::new(ty.lane_bits(), i128::from(ty.lane_bits())) - Bits::new(ty.lane_bits(), 1));
        let v2 = make_constant(g, ty, Bits::new(ty.lane_bits(), i128::from(ty.lane_bits())) - c.log2(ty.lane_bits()));
        let v3 = g.make(InstData::binary(Opcode::Sshr, ty, [x, v0]));
        let v4 = g.make(InstData::binary(Opcode::Ushr, ty, [v3, v2]));
        let v6 = make_constant(g, ty, c.log2(ty.lane_bits()));
        let v7 = g.make(InstData::binary(Opcode::Iadd, ty, [x, v4]));
        Some(g.make(InstData::binary(Opcode::Sshr, ty, [v7, v6])))
    } else {
        None
    }
}

/// Applies `ireduce.N(ushr.W(imul.W(uextend(x: N), uextend(y: N)), C)) => umulhi(x, y) where C == width(x)`.
fn umulhi_wide(g: &mut impl Graph, ty: Type, x: Value, y: Value, n5: Value, c: Bits) -> Option<Value> {
    if ty == g.ty(y) && ty == g.ty(x) && c == Bits::new(g.ty(n5).lane_bits(), i128::from(ty.lane_bits())) && g.may_apply(Rule::UmulhiWide) {
        Some(g.make(InstData::binary(Opcode::Umulhi, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `ireduce.N(sshr.W(imul.W(sextend(x: N), sextend(y: N)), C)) => smulhi(x, y) where C == width(x)`.
fn smulhi_wide(g: &mut impl Graph, ty: Type, x: Value, y: Value, n5: Value, c: Bits) -> Option<Value> {
    if ty == g.ty(y) && ty == g.ty(x) && c == Bits::new(g.ty(n5).lane_bits(), i128::from(ty.lane_bits())) && g.may_apply(Rule::SmulhiWide) {
        Some(g.make(InstData::binary(Opcode::Smulhi, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `ireduce.N(ushr.W(imul.W(sextend(x: N), sextend(y: N)), C)) => smulhi(x, y) where C == width(x)`.
fn smulhi_ushr(g: &mut impl Graph, ty: Type, x: Value, y: Value, n5: Value, c: Bits) -> Option<Value> {
    if ty == g.ty(y) && ty == g.ty(x) && c == Bits::new(g.ty(n5).lane_bits(), i128::from(ty.lane_bits())) && g.may_apply(Rule::SmulhiUshr) {
        Some(g.make(InstData::binary(Opcode::Smulhi, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `uextend.W(uextend.M(x: N)) => uextend.W(x) at N < M < W`.
fn ext_ext(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if g.may_apply(Rule::ExtExt) {
        Some(g.make(InstData::unary(Opcode::Uextend, ty, x)))
    } else {
        None
    }
}

/// Applies `sextend.W(sextend.M(x: N)) => sextend.W(x) at N < M < W`.
fn sext_sext(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if g.may_apply(Rule::SextSext) {
        Some(g.make(InstData::unary(Opcode::Sextend, ty, x)))
    } else {
        None
    }
}

/// Applies `sextend.W(uextend.M(x: N)) => uextend.W(x) at N < M < W`.
fn sext_uext(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if g.may_apply(Rule::SextUext) {
        Some(g.make(InstData::unary(Opcode::Uextend, ty, x)))
    } else {
        None
    }
}

/// Applies `ireduce.N(uextend.W(x: N)) => x`.
fn reduce_uext(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if ty == g.ty(x) && g.may_apply(Rule::ReduceUext) {
        Some(x)
    } else {
        None
    }
}

/// Applies `ireduce.N(sextend.W(x: N)) => x`.
fn reduce_sext(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if ty == g.ty(x) && g.may_apply(Rule::ReduceSext) {
        Some(x)
    } else {
        None
    }
}

/// Applies `ireduce.N(ireduce.M(x: W)) => ireduce.N(x) at N < M < W`.
fn reduce_reduce(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if g.may_apply(Rule::ReduceReduce) {
        Some(g.make(InstData::unary(Opcode::Ireduce, ty, x)))
    } else {
        None
    }
}

/// Applies `ireduce.N(uextend.W(x: M)) => ireduce.N(x) at N < M < W`.
fn reduce_uext_low(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if ty.lane_bits() < g.ty(x).lane_bits() && g.may_apply(Rule::ReduceUextLow) {
        Some(g.make(InstData::unary(Opcode::Ireduce, ty, x)))
    } else {
        None
    }
}

/// Applies `ireduce.M(uextend.W(x: N)) => uextend.M(x) at N < M < W`.
fn reduce_uext_high(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if g.ty(x).lane_bits() < ty.lane_bits() && g.may_apply(Rule::ReduceUextHigh) {
        Some(g.make(InstData::unary(Opcode::Uextend, ty, x)))
    } else {
        None
    }
}

/// Applies `ireduce.N(sextend.W(x: M)) => ireduce.N(x) at N < M < W`.
fn reduce_sext_low(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if ty.lane_bits() < g.ty(x).lane_bits() && g.may_apply(Rule::ReduceSextLow) {
        Some(g.make(InstData::unary(Opcode::Ireduce, ty, x)))
    } else {
        None
    }
}

/// Applies `ireduce.M(sextend.W(x: N)) => sextend.M(x) at N < M < W`.
fn reduce_sext_high(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if g.ty(x).lane_bits() < ty.lane_bits() && g.may_apply(Rule::ReduceSextHigh) {
        Some(g.make(InstData::unary(Opcode::Sextend, ty, x)))
    } else {
        None
    }
}

/// Applies `band(uextend(x), C) => uextend(x) where (~C << (width(C) - width(x))) == 0`.
fn and_uext_mask(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if ((!c).shift_left(Bits::new(ty.lane_bits(), i128::from(ty.lane_bits())) - Bits::new(ty.lane_bits(), i128::from(g.ty(x).lane_bits())))) == Bits::new(ty.lane_bits(), 0) && g.may_apply(Rule::AndUextMask) {
        Some(g.make(InstData::unary(Opcode::Uextend, ty, x)))
    } else {
        None
    }
}

/// Applies `band(uextend.W(x: N), uextend.W(y: N)) => uextend.W(band(x, y))`.
fn and_uext(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if g.ty(y) == g.ty(x) && g.may_apply(Rule::AndUext) {
        let v2 = g.make(InstData::binary(Opcode::Band, g.ty(y), [x, y]));
        Some(g.make(InstData::unary(Opcode::Uextend, ty, v2)))
    } else {
        None
    }
}

/// Applies `bor(uextend.W(x: N), uextend.W(y: N)) => uextend.W(bor(x, y))`.
fn or_uext(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if g.ty(y) == g.ty(x) && g.may_apply(Rule::OrUext) {
        let v2 = g.make(InstData::binary(Opcode::Bor, g.ty(y), [x, y]));
        Some(g.make(InstData::unary(Opcode::Uextend, ty, v2)))
    } else {
        None
    }
}

/// Applies `bxor(uextend.W(x: N), uextend.W(y: N)) => uextend.W(bxor(x, y))`.
fn xor_uext(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if g.ty(y) == g.ty(x) && g.may_apply(Rule::XorUext) {
        let v2 = g.make(InstData::binary(Opcode::Bxor, g.ty(y), [x, y]));
        Some(g.make(InstData::unary(Opcode::Uextend, ty, v2)))
    } else {
        None
    }
}

/// Applies `band(sextend.W(x: N), sextend.W(y: N)) => sextend.W(band(x, y))`.
fn and_sext(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if g.ty(y) == g.ty(x) && g.may_apply(Rule::AndSext) {
        let v2 = g.make(InstData::binary(Opcode::Band, g.ty(y), [x, y]));
        Some(g.make(InstData::unary(Opcode::Sextend, ty, v2)))
    } else {
        None
    }
}

/// Applies `bor(sextend.W(x: N), sextend.W(y: N)) => sextend.W(bor(x, y))`.
fn or_sext(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if g.ty(y) == g.ty(x) && g.may_apply(Rule::OrSext) {
        let v2 = g.make(InstData::binary(Opcode::Bor, g.ty(y), [x, y]));
        Some(g.make(InstData::unary(Opcode::Sextend, ty, v2)))
    } else {
        None
    }
}

/// Applies `bxor(sextend.W(x: N), sextend.W(y: N)) => sextend.W(bxor(x, y))`.
fn xor_sext(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if g.ty(y) == g.ty(x) && g.may_apply(Rule::XorSext) {
        let v2 = g.make(InstData::binary(Opcode::Bxor, g.ty(y), [x, y]));
        Some(g.make(InstData::unary(Opcode::Sextend, ty, v2)))
    } else {
        None
    }
}

/// Applies `ireduce.N(iadd.W(uextend(x: N), uextend(y: N))) => iadd(x, y)`.
fn narrow_add_uext(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if ty == g.ty(y) && ty == g.ty(x) && g.may_apply(Rule::NarrowAddUext) {
        Some(g.make(InstData::binary(Opcode::Iadd, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `ireduce.N(isub.W(uextend(x: N), uextend(y: N))) => isub(x, y)`.
fn narrow_sub_uext(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if ty == g.ty(y) && ty == g.ty(x) && g.may_apply(Rule::NarrowSubUext) {
        Some(g.make(InstData::binary(Opcode::Isub, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `ireduce.N(imul.W(uextend(x: N), uextend(y: N))) => imul(x, y)`.
fn narrow_mul_uext(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if ty == g.ty(y) && ty == g.ty(x) && g.may_apply(Rule::NarrowMulUext) {
        Some(g.make(InstData::binary(Opcode::Imul, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `ireduce.N(iadd.W(sextend(x: N), sextend(y: N))) => iadd(x, y)`.
fn narrow_add_sext(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if ty == g.ty(y) && ty == g.ty(x) && g.may_apply(Rule::NarrowAddSext) {
        Some(g.make(InstData::binary(Opcode::Iadd, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `ireduce.N(isub.W(sextend(x: N), sextend(y: N))) => isub(x, y)`.
fn narrow_sub_sext(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if ty == g.ty(y) && ty == g.ty(x) && g.may_apply(Rule::NarrowSubSext) {
        Some(g.make(InstData::binary(Opcode::Isub, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `ireduce.N(imul.W(sextend(x: N), sextend(y: N))) => imul(x, y)`.
fn narrow_mul_sext(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if ty == g.ty(y) && ty == g.ty(x) && g.may_apply(Rule::NarrowMulSext) {
        Some(g.make(InstData::binary(Opcode::Imul, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `ireduce.N(ishl.W(uextend(x: N), K)) => ishl(x, K) where K u< width(x)`.
fn narrow_shl(g: &mut impl Graph, ty: Type, x: Value, n2: Value, k: Bits) -> Option<Value> {
    if ty == g.ty(x) && k.unsigned() < Bits::new(g.ty(n2).lane_bits(), i128::from(ty.lane_bits())).unsigned() && g.may_apply(Rule::NarrowShl) {
        let v0 = make_constant(g, g.ty(n2), k);
        Some(g.make(InstData::binary(Opcode::Ishl, ty, [x, v0])))
    } else {
        None
    }
}

/// Applies `ireduce.N(ushr.W(uextend(x: N), K)) => ushr(x, K) where K u< width(x)`.
fn narrow_ushr(g: &mut impl Graph, ty: Type, x: Value, n2: Value, k: Bits) -> Option<Value> {
    if ty == g.ty(x) && k.unsigned() < Bits::new(g.ty(n2).lane_bits(), i128::from(ty.lane_bits())).unsigned() && g.may_apply(Rule::NarrowUshr) {
        let v0 = make_constant(g, g.ty(n2), k);
        Some(g.make(InstData::binary(Opcode::Ushr, ty, [x, v0])))
    } else {
        None
    }
}

/// Applies `ireduce.N(ineg.W(uextend(x: N))) => ineg(x)`.
fn reduce_neg(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if ty == g.ty(x) && g.may_apply(Rule::ReduceNeg) {
        Some(g.make(InstData::unary(Opcode::Ineg, ty, x)))
    } else {
        None
    }
}

/// Applies `ireduce.N(bnot.W(uextend(x: N))) => bnot(x)`.
fn reduce_not(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if ty == g.ty(x) && g.may_apply(Rule::ReduceNot) {
        Some(g.make(InstData::unary(Opcode::Bnot, ty, x)))
    } else {
        None
    }
}

/// Applies `ireduce.N(iadd(x, C)) => iadd(ireduce.N(x), trunc(C))`.
fn reduce_add(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if g.may_apply(Rule::ReduceAdd) {
        let v1 = make_constant(g, ty, c.resize(ty.lane_bits()));
        let v2 = g.make(InstData::unary(Opcode::Ireduce, ty, x));
        Some(g.make(InstData::binary(Opcode::Iadd, ty, [v2, v1])))
    } else {
        None
    }
}

/// Applies `ireduce.N(band(x, C)) => band(ireduce.N(x), trunc(C))`.
fn reduce_and(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if g.may_apply(Rule::ReduceAnd) {
        let v1 = make_constant(g, ty, c.resize(ty.lane_bits()));
        let v2 = g.make(InstData::unary(Opcode::Ireduce, ty, x));
        Some(g.make(InstData::binary(Opcode::Band, ty, [v2, v1])))
    } else {
        None
    }
}

/// Applies `ireduce.N(bor(x, C)) => bor(ireduce.N(x), trunc(C))`.
fn reduce_or(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if g.may_apply(Rule::ReduceOr) {
        let v1 = make_constant(g, ty, c.resize(ty.lane_bits()));
        let v2 = g.make(InstData::unary(Opcode::Ireduce, ty, x));
        Some(g.make(InstData::binary(Opcode::Bor, ty, [v2, v1])))
    } else {
        None
    }
}

/// Applies `ireduce.N(bxor(x, C)) => bxor(ireduce.N(x), trunc(C))`.
fn reduce_xor(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if g.may_apply(Rule::ReduceXor) {
        let v1 = make_constant(g, ty, c.resize(ty.lane_bits()));
        let v2 = g.make(InstData::unary(Opcode::Ireduce, ty, x));
        Some(g.make(InstData::binary(Opcode::Bxor, ty, [v2, v1])))
    } else {
        None
    }
}

/// Applies `ireduce.N(imul(x, C)) => imul(ireduce.N(x), trunc(C))`.
fn reduce_mul(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if g.may_apply(Rule::ReduceMul) {
        let v1 = make_constant(g, ty, c.resize(ty.lane_bits()));
        let v2 = g.make(InstData::unary(Opcode::Ireduce, ty, x));
        Some(g.make(InstData::binary(Opcode::Imul, ty, [v2, v1])))
    } else {
        None
    }
}

/// Applies `select(c, uextend.W(x: N), uextend.W(y: N)) => uextend.W(select(c, x, y))`.
fn select_of_uext(g: &mut impl Graph, ty: Type, c: Value, x: Value, y: Value) -> Option<Value> {
    if g.ty(y) == g.ty(x) && g.may_apply(Rule::SelectOfUext) {
        let v3 = g.make(InstData::ternary(Opcode::Select, g.ty(y), [c, x, y]));
        Some(g.make(InstData::unary(Opcode::Uextend, ty, v3)))
    } else {
        None
    }
}

/// Applies `select(c, sextend.W(x: N), sextend.W(y: N)) => sextend.W(select(c, x, y))`.
fn select_of_sext(g: &mut impl Graph, ty: Type, c: Value, x: Value, y: Value) -> Option<Value> {
    if g.ty(y) == g.ty(x) && g.may_apply(Rule::SelectOfSext) {
        let v3 = g.make(InstData::ternary(Opcode::Select, g.ty(y), [c, x, y]));
        Some(g.make(InstData::unary(Opcode::Sextend, ty, v3)))
    } else {
        None
    }
}

/// Applies `ushr(ishl(x, K), K) => band(x, -1 u>> K) where K u< width(x)`.
fn shl_ushr(g: &mut impl Graph, ty: Type, x: Value, n1: Value, n3: Value, k: Bits) -> Option<Value> {
    if ty == g.ty(n1) && ty == g.ty(n3) && k.unsigned() < Bits::new(ty.lane_bits(), i128::from(ty.lane_bits())).unsigned() && g.may_apply(Rule::ShlUshr) {
        let v0 = make_constant(g, ty, Bits::new(ty.lane_bits(), -1).shift_right(k));
        Some(g.make(InstData::binary(Opcode::Band, ty, [x, v0])))
    } else {
        None
    }
}

/// Applies `ishl(ushr(x, K), K) => band(x, -1 << K) where K u< width(x)`.
fn ushr_shl(g: &mut impl Graph, ty: Type, x: Value, n1: Value, n3: Value, k: Bits) -> Option<Value> {
    if ty == g.ty(n1) && ty == g.ty(n3) && k.unsigned() < Bits::new(ty.lane_bits(), i128::from(ty.lane_bits())).unsigned() && g.may_apply(Rule::UshrShl) {
        let v0 = make_constant(g, ty, Bits::new(ty.lane_bits(), -1).shift_left(k));
        Some(g.make(InstData::binary(Opcode::Band, ty, [x, v0])))
    } else {
        None
    }
}

/// Applies `ishl(sshr(x, K), K) => band(x, -1 << K) where K u< width(x)`.
fn sshr_shl(g: &mut impl Graph, ty: Type, x: Value, n1: Value, n3: Value, k: Bits) -> Option<Value> {
    if ty == g.ty(n1) && ty == g.ty(n3) && k.unsigned() < Bits::new(ty.lane_bits(), i128::from(ty.lane_bits())).unsigned() && g.may_apply(Rule::SshrShl) {
        let v0 = make_constant(g, ty, Bits::new(ty.lane_bits(), -1).shift_left(k));
        Some(g.make(InstData::binary(Opcode::Band, ty, [x, v0])))
    } else {
        None
    }
}

/// Applies `sshr(ishl(x, K), K) => sextend(ireduce.i8(x)) where K == width(x) - 8`.
fn sext8(g: &mut impl Graph, ty: Type, x: Value, n1: Value, n3: Value, k: Bits) -> Option<Value> {
    if g.ty(n1) == g.ty(n3) && matches!(ty, types::I16 | types::I32 | types::I64 | types::I128) && k == (Bits::new(g.ty(n1).lane_bits(), i128::from(ty.lane_bits())) - Bits::new(g.ty(n1).lane_bits(), 8)) && g.may_apply(Rule::Sext8) {
        let v1 = g.make(InstData::unary(Opcode::Ireduce, types::I8, x));
        Some(g.make(InstData::unary(Opcode::Sextend, ty, v1)))
    } else {
        None
    }
}

/// Applies `sshr(ishl(x, K), K) => sextend(ireduce.i16(x)) where K == width(x) - 16`.
fn sext16(g: &mut impl Graph, ty: Type, x: Value, n1: Value, n3: Value, k: Bits) -> Option<Value> {
    if g.ty(n1) == g.ty(n3) && matches!(ty, types::I32 | types::I64 | types::I128) && k == (Bits::new(g.ty(n1).lane_bits(), i128::from(ty.lane_bits())) - Bits::new(g.ty(n1).lane_bits(), 16)) && g.may_apply(Rule::Sext16) {
        let v1 = g.make(InstData::unary(Opcode::Ireduce, types::I16, x));
        Some(g.make(InstData::unary(Opcode::Sextend, ty, v1)))
    } else {
        None
    }
}

/// Applies `sshr(ishl(x, K), K) => sextend(ireduce.i32(x)) where K == width(x) - 32`.
fn sext32(g: &mut impl Graph, ty: Type, x: Value, n1: Value, n3: Value, k: Bits) -> Option<Value> {
    if matches!(ty, types::I64 | types::I128) && g.ty(n1) == g.ty(n3) && k == (Bits::new(g.ty(n1).lane_bits(), i128::from(ty.lane_bits())) - Bits::new(g.ty(n1).lane_bits(), 32)) && g.may_apply(Rule::Sext32) {
        let v1 = g.make(InstData::unary(Opcode::Ireduce, types::I32, x));
        Some(g.make(InstData::unary(Opcode::Sextend, ty, v1)))
    } else {
        None
    }
}

/// Applies `ishl(ishl(x, K1), K2) => ishl(x, K1 + K2) where K1 u< width(x) && K2 u< width(x) && K1 + K2 u< width(x)`.
fn shl_shl(g: &mut impl Graph, ty: Type, x: Value, n1: Value, n3: Value, k1: Bits, k2: Bits) -> Option<Value> {
    if g.ty(n1) == g.ty(n3) && ty.is_int() && k1.unsigned() < Bits::new(g.ty(n1).lane_bits(), i128::from(ty.lane_bits())).unsigned() && k2.unsigned() < Bits::new(g.ty(n1).lane_bits(), i128::from(ty.lane_bits())).unsigned() && (k1 + k2).unsigned() < Bits::new(g.ty(n1).lane_bits(), i128::from(ty.lane_bits())).unsigned() && g.may_apply(Rule::ShlShl) {
        let v0 = make_constant(g, g.ty(n1), k1 + k2);
        Some(g.make(InstData::binary(Opcode::Ishl, ty, [x, v0])))
    } else {
        None
    }
}

/// Applies `ushr(ushr(x, K1), K2) => ushr(x, K1 + K2) where K1 u< width(x) && K2 u< width(x) && K1 + K2 u< width(x)`.
fn ushr_ushr(g: &mut impl Graph, ty: Type, x: Value, n1: Value, n3: Value, k1: Bits, k2: Bits) -> Option<Value> {
    if g.ty(n1) == g.ty(n3) && ty.is_int() && k1.unsigned() < Bits::new(g.ty(n1).lane_bits(), i128::from(ty.lane_bits())).unsigned() && k2.unsigned() < Bits::new(g.ty(n1).lane_bits(), i128::from(ty.lane_bits())).unsigned() && (k1 + k2).unsigned() < Bits::new(g.ty(n1).lane_bits(), i128::from(ty.lane_bits())).unsigned() && g.may_apply(Rule::UshrUshr) {
        let v0 = make_constant(g, g.ty(n1), k1 + k2);
        Some(g.make(InstData::binary(Opcode::Ushr, ty, [x, v0])))
    } else {
        None
    }
}

/// Applies `sshr(sshr(x, K1), K2) => sshr(x, K1 + K2) where K1 u< width(x) && K2 u< width(x) && K1 + K2 u< width(x)`.
fn sshr_sshr(g: &mut impl Graph, ty: Type, x: Value, n1: Value, n3: Value, k1: Bits, k2: Bits) -> Option<Value> {
    if g.ty(n1) == g.ty(n3) && ty.is_int() && k1.unsigned() < Bits::new(g.ty(n1).lane_bits(), i128::from(ty.lane_bits())).unsigned() && k2.unsigned() < Bits::new(g.ty(n1).lane_bits(), i128::from(ty.lane_bits())).unsigned() && (k1 + k2).unsigned() < Bits::new(g.ty(n1).lane_bits(), i128::from(ty.lane_bits())).unsigned() && g.may_apply(Rule::SshrSshr) {
        let v0 = make_constant(g, g.ty(n1), k1 + k2);
        Some(g.make(InstData::binary(Opcode::Sshr, ty, [x, v0])))
    } else {
        None
    }
}

/// Applies `ishl(ishl(x, K1), K2) => 0 where K1 u< width(x) && K2 u< width(x) && K1 + K2 u>= width(x)`.
fn shl_shl_out(g: &mut impl Graph, ty: Type, n1: Value, n3: Value, k1: Bits, k2: Bits) -> Option<Value> {
    if g.ty(n1) == g.ty(n3) && ty.is_int() && k1.unsigned() < Bits::new(g.ty(n1).lane_bits(), i128::from(ty.lane_bits())).unsigned() && k2.unsigned() < Bits::new(g.ty(n1).lane_bits(), i128::from(ty.lane_bits())).unsigned() && (k1 + k2).unsigned() >= Bits::new(g.ty(n1).lane_bits(), i128::from(ty.lane_bits())).unsigned() && g.may_apply(Rule::ShlShlOut) {
        Some(make_constant(g, ty, Bits::new(ty.lane_bits(), 0)))
    } else {
        None
    }
}

/// Applies `ushr(ushr(x, K1), K2) => 0 where K1 u< width(x) && K2 u< width(x) && K1 + K2 u>= width(x)`.
fn ushr_ushr_out(g: &mut impl Graph, ty: Type, n1: Value, n3: Value, k1: Bits, k2: Bits) -> Option<Value> {
    if g.ty(n1) == g.ty(n3) && ty.is_int() && k1.unsigned() < Bits::new(g.ty(n1).lane_bits(), i128::from(ty.lane_bits())).unsigned() && k2.unsigned() < Bits::new(g.ty(n1).lane_bits(), i128::from(ty.lane_bits())).unsigned() && (k1 + k2).unsigned() >= Bits::new(g.ty(n1).lane_bits(), i128::from(ty.lane_bits())).unsigned() && g.may_apply(Rule::UshrUshrOut) {
        Some(make_constant(g, ty, Bits::new(ty.lane_bits(), 0)))
    } else {
        None
    }
}

/// Applies `sshr(sshr(x, K1), K2) => sshr(x, width(x) - 1) where K1 u< width(x) && K2 u< width(x) && K1 + K2 u>= width(x)`.
fn sshr_sshr_out(g: &mut impl Graph, ty: Type, x: Value, n1: Value, n3: Value, k1: Bits, k2: Bits) -> Option<Value> {
    if g.ty(n1) == g.ty(n3) && ty.is_int() && k1.unsigned() < Bits::new(g.ty(n1).lane_bits(), i128::from(ty.lane_bits())).unsigned() && k2.unsigned() < Bits::new(g.ty(n1).lane_bits(), i128::from(ty.lane_bits())).unsigned() && (k1 + k2).unsigned() >= Bits::new(g.ty(n1).lane_bits(), i128::from(ty.lane_bits())).unsigned() && g.may_apply(Rule::SshrSshrOut) {
        let v0 = make_constant(g, ty, Bits::new(ty.lane_bits(), i128::from(ty.lane_bits())) - Bits::new(ty.lane_bits(), 1));
        Some(g.make(InstData::binary(Opcode::Sshr, ty, [x, v0])))
    } else {
        None
    }
}

/// Applies `ushr(sshr(x, K), C) => ushr(x, C) where K u< width(x) && C == width(x) - 1`.
fn ushr_sshr_sign(g: &mut impl Graph, ty: Type, x: Value, n1: Value, n3: Value, c: Bits, k: Bits) -> Option<Value> {
    if ty.is_int() && k.unsigned() < Bits::new(g.ty(n1).lane_bits(), i128::from(ty.lane_bits())).unsigned() && c == (Bits::new(g.ty(n3).lane_bits(), i128::from(ty.lane_bits())) - Bits::new(g.ty(n3).lane_bits(), 1)) && g.may_apply(Rule::UshrSshrSign) {
        let v0 = make_constant(g, g.ty(n3), c);
        Some(g.make(InstData::binary(Opcode::Ushr, ty, [x, v0])))
    } else {
        None
    }
}

/// Applies `bor(ishl(x, C1), ushr(x, C2)) => rotl(x, C1) where C1 + C2 == width(x) && C1 u< width(x)`.
fn rotate_const(g: &mut impl Graph, ty: Type, x: Value, n1: Value, n4: Value, c1: Bits, c2: Bits) -> Option<Value> {
    if g.ty(n4) == g.ty(n1) && ty.is_int() && (c1 + c2) == Bits::new(g.ty(n4).lane_bits(), i128::from(ty.lane_bits())) && c1.unsigned() < Bits::new(g.ty(n4).lane_bits(), i128::from(ty.lane_bits())).unsigned() && g.may_apply(Rule::RotateConst) {
        let v0 = make_constant(g, g.ty(n4), c1);
        Some(g.make(InstData::binary(Opcode::Rotl, ty, [x, v0])))
    } else {
        None
    }
}

/// Applies `bor(ishl(x, y), ushr(x, isub(C, y))) => rotl(x, y) where C & (width(x) - 1) == 0`.
fn rotate_sub(g: &mut impl Graph, ty: Type, x: Value, y: Value, c: Bits) -> Option<Value> {
    if ty.is_int() && (c & (Bits::new(g.ty(y).lane_bits(), i128::from(ty.lane_bits())) - Bits::new(g.ty(y).lane_bits(), 1))) == Bits::new(g.ty(y).lane_bits(), 0) && g.may_apply(Rule::RotateSub) {
        Some(g.make(InstData::binary(Opcode::Rotl, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `bor(ishl(x, y), ushr(x, ineg(y))) => rotl(x, y)`.
fn rotate_neg(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::RotateNeg) {
        Some(g.make(InstData::binary(Opcode::Rotl, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `bor(ushr(x, y), ishl(x, isub(C, y))) => rotr(x, y) where C & (width(x) - 1) == 0`.
fn rotate_sub_right(g: &mut impl Graph, ty: Type, x: Value, y: Value, c: Bits) -> Option<Value> {
    if ty.is_int() && (c & (Bits::new(g.ty(y).lane_bits(), i128::from(ty.lane_bits())) - Bits::new(g.ty(y).lane_bits(), 1))) == Bits::new(g.ty(y).lane_bits(), 0) && g.may_apply(Rule::RotateSubRight) {
        Some(g.make(InstData::binary(Opcode::Rotr, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `bor(ushr(x, y), ishl(x, ineg(y))) => rotr(x, y)`.
fn rotate_neg_right(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::RotateNegRight) {
        Some(g.make(InstData::binary(Opcode::Rotr, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `rotr(x, C) => rotl(x, -C) at lanes`.
fn rotr_const(g: &mut impl Graph, ty: Type, x: Value, n1: Value, c: Bits) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::RotrConst) {
        let v0 = make_constant(g, g.ty(n1), -c);
        Some(g.make(InstData::binary(Opcode::Rotl, ty, [x, v0])))
    } else {
        None
    }
}

/// Applies `rotl(x, ineg(y)) => rotr(x, y) at lanes`.
fn rotl_neg(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::RotlNeg) {
        Some(g.make(InstData::binary(Opcode::Rotr, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `rotr(x, ineg(y)) => rotl(x, y) at lanes`.
fn rotr_neg(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::RotrNeg) {
        Some(g.make(InstData::binary(Opcode::Rotl, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `ishl(x, uextend(y)) => ishl(x, y) at lanes`.
fn shl_amount_uext(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::ShlAmountUext) {
        Some(g.make(InstData::binary(Opcode::Ishl, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `ishl(x, sextend(y)) => ishl(x, y) at lanes`.
fn shl_amount_sext(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::ShlAmountSext) {
        Some(g.make(InstData::binary(Opcode::Ishl, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `ishl(x, ireduce(y)) => ishl(x, y) at lanes`.
fn shl_amount_cut(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::ShlAmountCut) {
        Some(g.make(InstData::binary(Opcode::Ishl, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `ishl(x, band(y, C)) => ishl(x, y) where C & (width(x) - 1) == width(x) - 1`.
fn shl_amount_mask(g: &mut impl Graph, ty: Type, x: Value, y: Value, c: Bits) -> Option<Value> {
    if ty.is_int() && (c & (Bits::new(g.ty(y).lane_bits(), i128::from(ty.lane_bits())) - Bits::new(g.ty(y).lane_bits(), 1))) == (Bits::new(g.ty(y).lane_bits(), i128::from(ty.lane_bits())) - Bits::new(g.ty(y).lane_bits(), 1)) && g.may_apply(Rule::ShlAmountMask) {
        Some(g.make(InstData::binary(Opcode::Ishl, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `ushr(x, uextend(y)) => ushr(x, y) at lanes`.
fn ushr_amount_uext(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::UshrAmountUext) {
        Some(g.make(InstData::binary(Opcode::Ushr, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `ushr(x, sextend(y)) => ushr(x, y) at lanes`.
fn ushr_amount_sext(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::UshrAmountSext) {
        Some(g.make(InstData::binary(Opcode::Ushr, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `ushr(x, ireduce(y)) => ushr(x, y) at lanes`.
fn ushr_amount_cut(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::UshrAmountCut) {
        Some(g.make(InstData::binary(Opcode::Ushr, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `ushr(x, band(y, C)) => ushr(x, y) where C & (width(x) - 1) == width(x) - 1`.
fn ushr_amount_mask(g: &mut impl Graph, ty: Type, x: Value, y: Value, c: Bits) -> Option<Value> {
    if ty.is_int() && (c & (Bits::new(g.ty(y).lane_bits(), i128::from(ty.lane_bits())) - Bits::new(g.ty(y).lane_bits(), 1))) == (Bits::new(g.ty(y).lane_bits(), i128::from(ty.lane_bits())) - Bits::new(g.ty(y).lane_bits(), 1)) && g.may_apply(Rule::UshrAmountMask) {
        Some(g.make(InstData::binary(Opcode::Ushr, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `sshr(x, uextend(y)) => sshr(x, y) at lanes`.
fn sshr_amount_uext(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SshrAmountUext) {
        Some(g.make(InstData::binary(Opcode::Sshr, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `sshr(x, sextend(y)) => sshr(x, y) at lanes`.
fn sshr_amount_sext(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SshrAmountSext) {
        Some(g.make(InstData::binary(Opcode::Sshr, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `sshr(x, ireduce(y)) => sshr(x, y) at lanes`.
fn sshr_amount_cut(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SshrAmountCut) {
        Some(g.make(InstData::binary(Opcode::Sshr, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `sshr(x, band(y, C)) => sshr(x, y) where C & (width(x) - 1) == width(x) - 1`.
fn sshr_amount_mask(g: &mut impl Graph, ty: Type, x: Value, y: Value, c: Bits) -> Option<Value> {
    if ty.is_int() && (c & (Bits::new(g.ty(y).lane_bits(), i128::from(ty.lane_bits())) - Bits::new(g.ty(y).lane_bits(), 1))) == (Bits::new(g.ty(y).lane_bits(), i128::from(ty.lane_bits())) - Bits::new(g.ty(y).lane_bits(), 1)) && g.may_apply(Rule::SshrAmountMask) {
        Some(g.make(InstData::binary(Opcode::Sshr, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `rotl(x, uextend(y)) => rotl(x, y) at lanes`.
fn rotl_amount_uext(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::RotlAmountUext) {
        Some(g.make(InstData::binary(Opcode::Rotl, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `rotl(x, band(y, C)) => rotl(x, y) where C & (width(x) - 1) == width(x) - 1`.
fn rotl_amount_mask(g: &mut impl Graph, ty: Type, x: Value, y: Value, c: Bits) -> Option<Value> {
    if ty.is_int() && (c & (Bits::new(g.ty(y).lane_bits(), i128::from(ty.lane_bits())) - Bits::new(g.ty(y).lane_bits(), 1))) == (Bits::new(g.ty(y).lane_bits(), i128::from(ty.lane_bits())) - Bits::new(g.ty(y).lane_bits(), 1)) && g.may_apply(Rule::RotlAmountMask) {
        Some(g.make(InstData::binary(Opcode::Rotl, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `rotr(x, uextend(y)) => rotr(x, y) at lanes`.
fn rotr_amount_uext(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::RotrAmountUext) {
        Some(g.make(InstData::binary(Opcode::Rotr, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `rotr(x, band(y, C)) => rotr(x, y) where C & (width(x) - 1) == width(x) - 1`.
fn rotr_amount_mask(g: &mut impl Graph, ty: Type, x: Value, y: Value, c: Bits) -> Option<Value> {
    if ty.is_int() && (c & (Bits::new(g.ty(y).lane_bits(), i128::from(ty.lane_bits())) - Bits::new(g.ty(y).lane_bits(), 1))) == (Bits::new(g.ty(y).lane_bits(), i128::from(ty.lane_bits())) - Bits::new(g.ty(y).lane_bits(), 1)) && g.may_apply(Rule::RotrAmountMask) {
        Some(g.make(InstData::binary(Opcode::Rotr, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `icmp cc (x, x) => 1 at cc = eq | uge | ule | sge | sle`.
fn eq_self(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::EqSelf) {
        Some(make_constant(g, types::I8, Bits::new(types::I8.lane_bits(), 1)))
    } else {
        None
    }
}

/// Applies `icmp cc (x, x) => 0 at cc = ne | ugt | ult | sgt | slt`.
fn ne_self(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::NeSelf) {
        Some(make_constant(g, types::I8, Bits::new(types::I8.lane_bits(), 0)))
    } else {
        None
    }
}

/// Applies `icmp ult (x, 0) => 0`.
fn ult_zero(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::UltZero) {
        Some(make_constant(g, types::I8, Bits::new(types::I8.lane_bits(), 0)))
    } else {
        None
    }
}

/// Applies `icmp uge (x, 0) => 1`.
fn uge_zero(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::UgeZero) {
        Some(make_constant(g, types::I8, Bits::new(types::I8.lane_bits(), 1)))
    } else {
        None
    }
}

/// Applies `icmp ult (band(x, C1), C2) => 1 where C1 u< C2`.
fn ult_mask(g: &mut impl Graph, ty: Type, c1: Bits, c2: Bits) -> Option<Value> {
    if ty.is_int() && c1.unsigned() < c2.unsigned() && g.may_apply(Rule::UltMask) {
        Some(make_constant(g, types::I8, Bits::new(types::I8.lane_bits(), 1)))
    } else {
        None
    }
}

/// Applies `icmp uge (band(x, C1), C2) => 0 where C1 u< C2`.
fn uge_mask(g: &mut impl Graph, ty: Type, c1: Bits, c2: Bits) -> Option<Value> {
    if ty.is_int() && c1.unsigned() < c2.unsigned() && g.may_apply(Rule::UgeMask) {
        Some(make_constant(g, types::I8, Bits::new(types::I8.lane_bits(), 0)))
    } else {
        None
    }
}

/// Applies `icmp ugt (band(x, y), x) => 0`.
fn ult_and(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::UltAnd) {
        Some(make_constant(g, types::I8, Bits::new(types::I8.lane_bits(), 0)))
    } else {
        None
    }
}

/// Applies `icmp ule (band(x, y), x) => 1`.
fn ule_and(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::UleAnd) {
        Some(make_constant(g, types::I8, Bits::new(types::I8.lane_bits(), 1)))
    } else {
        None
    }
}

/// Applies `icmp cc (uextend(x), C) => 1 where C u>> width(x) != 0 at cc = ne | ult | ule`.
fn lt_uext_const(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if (c.shift_right(Bits::new(ty.lane_bits(), i128::from(g.ty(x).lane_bits())))) != Bits::new(ty.lane_bits(), 0) && g.may_apply(Rule::LtUextConst) {
        Some(make_constant(g, types::I8, Bits::new(types::I8.lane_bits(), 1)))
    } else {
        None
    }
}

/// Applies `icmp cc (uextend(x), C) => 0 where C u>> width(x) != 0 at cc = eq | ugt | uge`.
fn gt_uext_const(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if (c.shift_right(Bits::new(ty.lane_bits(), i128::from(g.ty(x).lane_bits())))) != Bits::new(ty.lane_bits(), 0) && g.may_apply(Rule::GtUextConst) {
        Some(make_constant(g, types::I8, Bits::new(types::I8.lane_bits(), 0)))
    } else {
        None
    }
}

/// Applies `icmp eq (uextend(icmp cc (x, y)), 0) => icmp !cc (x, y)`.
fn not_cmp(g: &mut impl Graph, x: Value, y: Value, cc: IntCC) -> Option<Value> {
    if g.may_apply(Rule::NotCmp) {
        Some(g.make(InstData::icmp(g.ty(y), cc.inverse(), [x, y])))
    } else {
        None
    }
}

/// Applies `icmp ne (icmp cc (x, y), 0) => icmp cc (x, y)`.
fn cmp_not_zero(g: &mut impl Graph, ty: Type, x: Value, y: Value, cc: IntCC) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::CmpNotZero) {
        Some(g.make(InstData::icmp(g.ty(y), cc, [x, y])))
    } else {
        None
    }
}

/// Applies `icmp eq (icmp cc (x, y), 0) => icmp !cc (x, y)`.
fn cmp_zero(g: &mut impl Graph, ty: Type, x: Value, y: Value, cc: IntCC) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::CmpZero) {
        Some(g.make(InstData::icmp(g.ty(y), cc.inverse(), [x, y])))
    } else {
        None
    }
}

/// Applies `band(icmp cc (x, y), 1) => icmp cc (x, y)`.
fn cmp_and_one(g: &mut impl Graph, ty: Type, x: Value, y: Value, cc: IntCC) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::CmpAndOne) {
        Some(g.make(InstData::icmp(g.ty(y), cc, [x, y])))
    } else {
        None
    }
}

/// Applies `bxor(icmp cc (x, y), 1) => icmp !cc (x, y)`.
fn cmp_xor_one(g: &mut impl Graph, ty: Type, x: Value, y: Value, cc: IntCC) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::CmpXorOne) {
        Some(g.make(InstData::icmp(g.ty(y), cc.inverse(), [x, y])))
    } else {
        None
    }
}

/// Applies `band(uextend(icmp cc (x, y)), 1) => uextend(icmp cc (x, y))`.
fn uext_cmp_and(g: &mut impl Graph, ty: Type, x: Value, y: Value, cc: IntCC) -> Option<Value> {
    if g.may_apply(Rule::UextCmpAnd) {
        let v2 = g.make(InstData::icmp(g.ty(y), cc, [x, y]));
        Some(g.make(InstData::unary(Opcode::Uextend, ty, v2)))
    } else {
        None
    }
}

/// Applies `band(icmp uge (x, C1), icmp ult (x, C2)) => icmp ult (isub(x, C1), C2 - C1) where C1 u<= C2`.
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

/// Applies `icmp cc (s = iadd(x, C1), C2) => icmp cc (x, C2 - C1) where sole(s) at cc = eq | ne`.
fn eq_add_const(g: &mut impl Graph, ty: Type, x: Value, n2: Value, c1: Bits, c2: Bits, cc: IntCC) -> Option<Value> {
    if ty.is_int() && g.is_sole(n2) && g.may_apply(Rule::EqAddConst) {
        let v0 = make_constant(g, ty, c2 - c1);
        Some(g.make(InstData::icmp(ty, cc, [x, v0])))
    } else {
        None
    }
}

/// Applies `icmp cc (isub(C1, x), C2) => icmp cc (x, C1 - C2) at cc = eq | ne`.
fn eq_const_sub(g: &mut impl Graph, ty: Type, x: Value, c1: Bits, c2: Bits, cc: IntCC) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::EqConstSub) {
        let v0 = make_constant(g, ty, c1 - c2);
        Some(g.make(InstData::icmp(ty, cc, [x, v0])))
    } else {
        None
    }
}

/// Applies `icmp cc (bxor(x, C1), C2) => icmp cc (x, C1 ^ C2) at cc = eq | ne`.
fn eq_xor_const(g: &mut impl Graph, ty: Type, x: Value, c1: Bits, c2: Bits, cc: IntCC) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::EqXorConst) {
        let v0 = make_constant(g, ty, c1 ^ c2);
        Some(g.make(InstData::icmp(ty, cc, [x, v0])))
    } else {
        None
    }
}

/// Applies `icmp cc (bnot(x), C) => icmp cc (x, ~C) at cc = eq | ne`.
fn eq_not_const(g: &mut impl Graph, ty: Type, x: Value, c: Bits, cc: IntCC) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::EqNotConst) {
        let v0 = make_constant(g, ty, !c);
        Some(g.make(InstData::icmp(ty, cc, [x, v0])))
    } else {
        None
    }
}

/// Applies `icmp cc (ineg(x), C) => icmp cc (x, -C) at cc = eq | ne`.
fn eq_neg_const(g: &mut impl Graph, ty: Type, x: Value, c: Bits, cc: IntCC) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::EqNegConst) {
        let v0 = make_constant(g, ty, -c);
        Some(g.make(InstData::icmp(ty, cc, [x, v0])))
    } else {
        None
    }
}

/// Applies `icmp cc (bnot(x), bnot(y)) => icmp cc (x, y) at cc = eq | ne`.
fn eq_not_not(g: &mut impl Graph, ty: Type, x: Value, y: Value, cc: IntCC) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::EqNotNot) {
        Some(g.make(InstData::icmp(ty, cc, [x, y])))
    } else {
        None
    }
}

/// Applies `icmp cc (iadd(x, y), iadd(x, z)) => icmp cc (y, z) at cc = eq | ne`.
fn eq_add_add(g: &mut impl Graph, ty: Type, y: Value, z: Value, cc: IntCC) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::EqAddAdd) {
        Some(g.make(InstData::icmp(ty, cc, [y, z])))
    } else {
        None
    }
}

/// Applies `icmp cc (iadd(x, y), x) => icmp cc (y, 0) at cc = eq | ne`.
fn eq_add_self(g: &mut impl Graph, ty: Type, y: Value, cc: IntCC) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::EqAddSelf) {
        let v0 = make_constant(g, ty, Bits::new(ty.lane_bits(), 0));
        Some(g.make(InstData::icmp(ty, cc, [y, v0])))
    } else {
        None
    }
}

/// Applies `icmp cc (isub(x, y), 0) => icmp cc (x, y) at cc = eq | ne`.
fn cmp_sub_zero(g: &mut impl Graph, ty: Type, x: Value, y: Value, cc: IntCC) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::CmpSubZero) {
        Some(g.make(InstData::icmp(ty, cc, [x, y])))
    } else {
        None
    }
}

/// Applies `icmp cc (bxor(x, y), 0) => icmp cc (x, y) at cc = eq | ne`.
fn cmp_xor_zero(g: &mut impl Graph, ty: Type, x: Value, y: Value, cc: IntCC) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::CmpXorZero) {
        Some(g.make(InstData::icmp(ty, cc, [x, y])))
    } else {
        None
    }
}

/// Applies `icmp ugt (isub(x, y), x) => icmp ult (x, y)`.
fn ugt_sub(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::UgtSub) {
        Some(g.make(InstData::icmp(ty, IntCC::UnsignedLessThan, [x, y])))
    } else {
        None
    }
}

/// Applies `icmp ule (isub(x, y), x) => icmp uge (x, y)`.
fn ule_sub(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::UleSub) {
        Some(g.make(InstData::icmp(ty, IntCC::UnsignedGreaterThanOrEqual, [x, y])))
    } else {
        None
    }
}

/// Applies `icmp ult (iadd(x, C), x) => icmp ugt (x, ~C)`.
fn ult_add_const(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::UltAddConst) {
        let v0 = make_constant(g, ty, !c);
        Some(g.make(InstData::icmp(ty, IntCC::UnsignedGreaterThan, [x, v0])))
    } else {
        None
    }
}

/// Applies `icmp uge (iadd(x, C), x) => icmp ule (x, ~C)`.
fn uge_add_const(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::UgeAddConst) {
        let v0 = make_constant(g, ty, !c);
        Some(g.make(InstData::icmp(ty, IntCC::UnsignedLessThanOrEqual, [x, v0])))
    } else {
        None
    }
}

/// Applies `icmp ult (x, 1) => icmp eq (x, 0)`.
fn ult_one(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::UltOne) {
        let v0 = make_constant(g, ty, Bits::new(ty.lane_bits(), 0));
        Some(g.make(InstData::icmp(ty, IntCC::Equal, [x, v0])))
    } else {
        None
    }
}

/// Applies `icmp ule (x, 0) => icmp eq (x, 0)`.
fn ule_zero(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::UleZero) {
        let v0 = make_constant(g, ty, Bits::new(ty.lane_bits(), 0));
        Some(g.make(InstData::icmp(ty, IntCC::Equal, [x, v0])))
    } else {
        None
    }
}

/// Applies `icmp ugt (x, 0) => icmp ne (x, 0)`.
fn ugt_zero(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::UgtZero) {
        let v0 = make_constant(g, ty, Bits::new(ty.lane_bits(), 0));
        Some(g.make(InstData::icmp(ty, IntCC::NotEqual, [x, v0])))
    } else {
        None
    }
}

/// Applies `icmp uge (x, 1) => icmp ne (x, 0)`.
fn uge_one(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::UgeOne) {
        let v0 = make_constant(g, ty, Bits::new(ty.lane_bits(), 0));
        Some(g.make(InstData::icmp(ty, IntCC::NotEqual, [x, v0])))
    } else {
        None
    }
}

/// Applies `icmp cc (uextend(x), 0) => icmp cc (x, 0) at cc = eq | ne`.
fn cmp_uext_zero(g: &mut impl Graph, x: Value, cc: IntCC) -> Option<Value> {
    if g.may_apply(Rule::CmpUextZero) {
        let v0 = make_constant(g, g.ty(x), Bits::new(g.ty(x).lane_bits(), 0));
        Some(g.make(InstData::icmp(g.ty(x), cc, [x, v0])))
    } else {
        None
    }
}

/// Applies `icmp cc (sextend(x), 0) => icmp cc (x, 0)`.
fn cmp_sext_zero(g: &mut impl Graph, x: Value, cc: IntCC) -> Option<Value> {
    if g.may_apply(Rule::CmpSextZero) {
        let v0 = make_constant(g, g.ty(x), Bits::new(g.ty(x).lane_bits(), 0));
        Some(g.make(InstData::icmp(g.ty(x), cc, [x, v0])))
    } else {
        None
    }
}

/// Applies `icmp cc (uextend.W(x: N), uextend.W(y: N)) => icmp cc (x, y) at cc = eq | ne | ult | ule | ugt | uge`.
fn cmp_uext(g: &mut impl Graph, x: Value, y: Value, cc: IntCC) -> Option<Value> {
    if g.ty(y) == g.ty(x) && g.may_apply(Rule::CmpUext) {
        Some(g.make(InstData::icmp(g.ty(y), cc, [x, y])))
    } else {
        None
    }
}

/// Applies `icmp cc (sextend.W(x: N), sextend.W(y: N)) => icmp cc (x, y)`.
fn cmp_sext(g: &mut impl Graph, x: Value, y: Value, cc: IntCC) -> Option<Value> {
    if g.ty(y) == g.ty(x) && g.may_apply(Rule::CmpSext) {
        Some(g.make(InstData::icmp(g.ty(y), cc, [x, y])))
    } else {
        None
    }
}

/// Applies `icmp cc (uextend.W(x: N), C) => icmp cc (x, trunc(C)) where C u>> width(x) == 0 at cc = eq | ne | ult | ule | ugt | uge`.
fn cmp_uext_const(g: &mut impl Graph, ty: Type, x: Value, c: Bits, cc: IntCC) -> Option<Value> {
    if (c.shift_right(Bits::new(ty.lane_bits(), i128::from(g.ty(x).lane_bits())))) == Bits::new(ty.lane_bits(), 0) && g.may_apply(Rule::CmpUextConst) {
        let v0 = make_constant(g, g.ty(x), c.resize(g.ty(x).lane_bits()));
        Some(g.make(InstData::icmp(g.ty(x), cc, [x, v0])))
    } else {
        None
    }
}

/// Applies `select(C, x, y) => x where C != 0 at any`.
fn select_const(g: &mut impl Graph, x: Value, n0: Value, c: Bits) -> Option<Value> {
    if c != Bits::new(g.ty(n0).lane_bits(), 0) && g.may_apply(Rule::SelectConst) {
        Some(x)
    } else {
        None
    }
}

/// Applies `select(0, x, y) => y at any`.
fn select_zero(g: &mut impl Graph, y: Value) -> Option<Value> {
    if g.may_apply(Rule::SelectZero) {
        Some(y)
    } else {
        None
    }
}

/// Applies `select(c, x, x) => x`.
fn select_same(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::SelectSame) {
        Some(x)
    } else {
        None
    }
}

/// Applies `select(uextend(c), x, y) => select(c, x, y)`.
fn select_uext(g: &mut impl Graph, ty: Type, c: Value, x: Value, y: Value) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::SelectUext) {
        Some(g.make(InstData::ternary(Opcode::Select, ty, [c, x, y])))
    } else {
        None
    }
}

/// Applies `select(icmp ne (c, 0), x, y) => select(c, x, y)`.
fn select_ne_zero(g: &mut impl Graph, ty: Type, c: Value, x: Value, y: Value) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::SelectNeZero) {
        Some(g.make(InstData::ternary(Opcode::Select, ty, [c, x, y])))
    } else {
        None
    }
}

/// Applies `select(icmp eq (c, 0), x, y) => select(c, y, x)`.
fn select_eq_zero(g: &mut impl Graph, ty: Type, c: Value, x: Value, y: Value) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::SelectEqZero) {
        Some(g.make(InstData::ternary(Opcode::Select, ty, [c, y, x])))
    } else {
        None
    }
}

/// Applies `select(c, x, select(c, y, z)) => select(c, x, z) at any`.
fn select_then_same(g: &mut impl Graph, ty: Type, c: Value, x: Value, z: Value) -> Option<Value> {
    if g.may_apply(Rule::SelectThenSame) {
        Some(g.make(InstData::ternary(Opcode::Select, ty, [c, x, z])))
    } else {
        None
    }
}

/// Applies `select(c, select(c, x, y), z) => select(c, x, z) at any`.
fn select_else_same(g: &mut impl Graph, ty: Type, c: Value, x: Value, z: Value) -> Option<Value> {
    if g.may_apply(Rule::SelectElseSame) {
        Some(g.make(InstData::ternary(Opcode::Select, ty, [c, x, z])))
    } else {
        None
    }
}

/// Applies `select(icmp eq (x, y), x, y) => y`.
fn select_eq(g: &mut impl Graph, y: Value) -> Option<Value> {
    if g.may_apply(Rule::SelectEq) {
        Some(y)
    } else {
        None
    }
}

/// Applies `select(icmp ne (x, y), x, y) => x`.
fn select_ne(g: &mut impl Graph, x: Value) -> Option<Value> {
    if g.may_apply(Rule::SelectNe) {
        Some(x)
    } else {
        None
    }
}

/// Applies `select(icmp cc (x, y), 1: W, 0) => uextend.W(icmp cc (x, y))`.
fn select_one_zero(g: &mut impl Graph, ty: Type, x: Value, y: Value, cc: IntCC) -> Option<Value> {
    if matches!(ty, types::I16 | types::I32 | types::I64 | types::I128) && g.may_apply(Rule::SelectOneZero) {
        let v2 = g.make(InstData::icmp(g.ty(y), cc, [x, y]));
        Some(g.make(InstData::unary(Opcode::Uextend, ty, v2)))
    } else {
        None
    }
}

/// Applies `select(icmp cc (x, y), 1: i8, 0) => icmp cc (x, y)`.
fn select_one_zero_i8(g: &mut impl Graph, ty: Type, x: Value, y: Value, n2: Value, cc: IntCC) -> Option<Value> {
    if ty == g.ty(n2) && g.may_apply(Rule::SelectOneZeroI8) {
        Some(g.make(InstData::icmp(g.ty(y), cc, [x, y])))
    } else {
        None
    }
}

/// Applies `select(icmp cc (x, y), 0, 1: W) => uextend.W(icmp !cc (x, y))`.
fn select_zero_one(g: &mut impl Graph, ty: Type, x: Value, y: Value, cc: IntCC) -> Option<Value> {
    if matches!(ty, types::I16 | types::I32 | types::I64 | types::I128) && g.may_apply(Rule::SelectZeroOne) {
        let v2 = g.make(InstData::icmp(g.ty(y), cc.inverse(), [x, y]));
        Some(g.make(InstData::unary(Opcode::Uextend, ty, v2)))
    } else {
        None
    }
}

/// Applies `select(band(x: T, 1), 1: T, 0) => band(x, 1)`.
fn select_bit(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if ty == g.ty(x) && g.may_apply(Rule::SelectBit) {
        let v0 = make_constant(g, ty, Bits::new(ty.lane_bits(), 1));
        Some(g.make(InstData::binary(Opcode::Band, ty, [x, v0])))
    } else {
        None
    }
}

/// Applies `select(band(x: N, 1), 1: W, 0) => uextend.W(band(x, 1))`.
fn select_bit_wide(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if g.ty(x).lane_bits() < ty.lane_bits() && ty.is_int() && g.may_apply(Rule::SelectBitWide) {
        let v0 = make_constant(g, g.ty(x), Bits::new(g.ty(x).lane_bits(), 1));
        let v2 = g.make(InstData::binary(Opcode::Band, g.ty(x), [x, v0]));
        Some(g.make(InstData::unary(Opcode::Uextend, ty, v2)))
    } else {
        None
    }
}

/// Applies `select(icmp eq (x, 1), y, z) => select(x, y, z) where (zeros(x) | 1) == -1`.
fn select_eq_one(g: &mut impl Graph, ty: Type, x: Value, y: Value, z: Value) -> Option<Value> {
    if ty.is_int() && (zeros(g, x) | Bits::new(g.ty(x).lane_bits(), 1)) == Bits::new(g.ty(x).lane_bits(), -1) && g.may_apply(Rule::SelectEqOne) {
        Some(g.make(InstData::ternary(Opcode::Select, ty, [x, y, z])))
    } else {
        None
    }
}

/// Applies `select(c: T, 1: T, x: T) => bor(c, x) where (zeros(c) | 1) == -1 && (zeros(x) | 1) == -1`.
fn select_or(g: &mut impl Graph, ty: Type, c: Value, x: Value) -> Option<Value> {
    if ty == g.ty(c) && (zeros(g, c) | Bits::new(ty.lane_bits(), 1)) == Bits::new(ty.lane_bits(), -1) && (zeros(g, x) | Bits::new(ty.lane_bits(), 1)) == Bits::new(ty.lane_bits(), -1) && g.may_apply(Rule::SelectOr) {
        Some(g.make(InstData::binary(Opcode::Bor, ty, [c, x])))
    } else {
        None
    }
}

/// Applies `select(c: T, x: T, 0) => band(c, x) where (zeros(c) | 1) == -1 && (zeros(x) | 1) == -1`.
fn select_and(g: &mut impl Graph, ty: Type, c: Value, x: Value) -> Option<Value> {
    if ty == g.ty(c) && (zeros(g, c) | Bits::new(ty.lane_bits(), 1)) == Bits::new(ty.lane_bits(), -1) && (zeros(g, x) | Bits::new(ty.lane_bits(), 1)) == Bits::new(ty.lane_bits(), -1) && g.may_apply(Rule::SelectAnd) {
        Some(g.make(InstData::binary(Opcode::Band, ty, [c, x])))
    } else {
        None
    }
}

/// Applies `select(icmp cc (x, y), z: i8, 1: i8) => bor(icmp !cc (x, y), z) where (zeros(z) | 1) == -1`.
fn select_or_not(g: &mut impl Graph, ty: Type, x: Value, y: Value, z: Value, n2: Value, cc: IntCC) -> Option<Value> {
    if ty == g.ty(n2) && (zeros(g, z) | Bits::new(ty.lane_bits(), 1)) == Bits::new(ty.lane_bits(), -1) && g.may_apply(Rule::SelectOrNot) {
        let v3 = g.make(InstData::icmp(g.ty(y), cc.inverse(), [x, y]));
        Some(g.make(InstData::binary(Opcode::Bor, ty, [v3, z])))
    } else {
        None
    }
}

/// Applies `select(icmp cc (x, y), 0: i8, z: i8) => band(icmp !cc (x, y), z) where (zeros(z) | 1) == -1`.
fn select_and_not(g: &mut impl Graph, ty: Type, x: Value, y: Value, z: Value, n2: Value, cc: IntCC) -> Option<Value> {
    if ty == g.ty(n2) && (zeros(g, z) | Bits::new(ty.lane_bits(), 1)) == Bits::new(ty.lane_bits(), -1) && g.may_apply(Rule::SelectAndNot) {
        let v3 = g.make(InstData::icmp(g.ty(y), cc.inverse(), [x, y]));
        Some(g.make(InstData::binary(Opcode::Band, ty, [v3, z])))
    } else {
        None
    }
}

/// Applies `bitselect(c, x, x) => x at any`.
fn bitselect_same(g: &mut impl Graph, x: Value) -> Option<Value> {
    if g.may_apply(Rule::BitselectSame) {
        Some(x)
    } else {
        None
    }
}

/// Applies `bitselect(0, x, y) => y at lanes`.
fn bitselect_zero(g: &mut impl Graph, ty: Type, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::BitselectZero) {
        Some(y)
    } else {
        None
    }
}

/// Applies `bitselect(-1, x, y) => x at lanes`.
fn bitselect_ones(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::BitselectOnes) {
        Some(x)
    } else {
        None
    }
}

/// Applies `select(c, bor(ushr(select(c, x, y), K), C), ushr(select(c, x, y), K)) => select(c, bor(ushr(x, K), C), ushr(y, K))`.
fn select_or_shift(g: &mut impl Graph, ty: Type, c: Value, x: Value, y: Value, n5: Value, n13: Value, c_bits: Bits, k: Bits) -> Option<Value> {
    if g.ty(n5) == g.ty(n13) && ty.is_int() && g.may_apply(Rule::SelectOrShift) {
        let v0 = make_constant(g, g.ty(n5), k);
        let v2 = make_constant(g, g.ty(n5), k);
        let v4 = make_constant(g, ty, c_bits);
        let v5 = g.make(InstData::binary(Opcode::Ushr, ty, [x, v0]));
        let v6 = g.make(InstData::binary(Opcode::Ushr, ty, [y, v2]));
        let v7 = g.make(InstData::binary(Opcode::Bor, ty, [v5, v4]));
        Some(g.make(InstData::ternary(Opcode::Select, ty, [c, v7, v6])))
    } else {
        None
    }
}

/// Applies `select(c, bxor(ushr(select(c, x, y), K), C), ushr(select(c, x, y), K)) => select(c, bxor(ushr(x, K), C), ushr(y, K))`.
fn select_xor_shift(g: &mut impl Graph, ty: Type, c: Value, x: Value, y: Value, n5: Value, n13: Value, c_bits: Bits, k: Bits) -> Option<Value> {
    if g.ty(n5) == g.ty(n13) && ty.is_int() && g.may_apply(Rule::SelectXorShift) {
        let v0 = make_constant(g, g.ty(n5), k);
        let v2 = make_constant(g, g.ty(n5), k);
        let v4 = make_constant(g, ty, c_bits);
        let v5 = g.make(InstData::binary(Opcode::Ushr, ty, [x, v0]));
        let v6 = g.make(InstData::binary(Opcode::Ushr, ty, [y, v2]));
        let v7 = g.make(InstData::binary(Opcode::Bxor, ty, [v5, v4]));
        Some(g.make(InstData::ternary(Opcode::Select, ty, [c, v7, v6])))
    } else {
        None
    }
}

/// Applies `bor(ushr(bxor(x, C1), K), C2) => bxor(ushr(x, K), (C1 u>> K) | C2) where K u< width(x) && (C2 & (-1 u>> K)) == 0`.
fn or_ushr_xor(g: &mut impl Graph, ty: Type, x: Value, n3: Value, c1: Bits, c2: Bits, k: Bits) -> Option<Value> {
    if ty == g.ty(n3) && k.unsigned() < Bits::new(ty.lane_bits(), i128::from(ty.lane_bits())).unsigned() && (c2 & (Bits::new(ty.lane_bits(), -1).shift_right(k))) == Bits::new(ty.lane_bits(), 0) && g.may_apply(Rule::OrUshrXor) {
        let v0 = make_constant(g, ty, k);
        let v2 = make_constant(g, ty, (c1.shift_right(k)) | c2);
        let v3 = g.make(InstData::binary(Opcode::Ushr, ty, [x, v0]));
        Some(g.make(InstData::binary(Opcode::Bxor, ty, [v3, v2])))
    } else {
        None
    }
}

/// Applies `bxor(ushr(bxor(x, C1), K), C2) => bxor(ushr(x, K), (C1 u>> K) ^ C2) where K u< width(x)`.
fn xor_ushr_xor(g: &mut impl Graph, ty: Type, x: Value, n3: Value, c1: Bits, c2: Bits, k: Bits) -> Option<Value> {
    if ty == g.ty(n3) && k.unsigned() < Bits::new(ty.lane_bits(), i128::from(ty.lane_bits())).unsigned() && g.may_apply(Rule::XorUshrXor) {
        let v0 = make_constant(g, ty, k);
        let v2 = make_constant(g, ty, (c1.shift_right(k)) ^ c2);
        let v3 = g.make(InstData::binary(Opcode::Ushr, ty, [x, v0]));
        Some(g.make(InstData::binary(Opcode::Bxor, ty, [v3, v2])))
    } else {
        None
    }
}

/// Applies `cond(uextend(x)) => cond(x)`.
fn cond_uext(g: &mut impl Graph, x: Value) -> Option<Value> {
    if g.may_apply(Rule::CondUext) {
        Some(x)
    } else {
        None
    }
}

/// Applies `cond(sextend(x)) => cond(x)`.
fn cond_sext(g: &mut impl Graph, x: Value) -> Option<Value> {
    if g.may_apply(Rule::CondSext) {
        Some(x)
    } else {
        None
    }
}

/// Applies `cond(icmp ne (x, 0)) => cond(x)`.
fn cond_ne_zero(g: &mut impl Graph, x: Value) -> Option<Value> {
    if g.may_apply(Rule::CondNeZero) {
        Some(x)
    } else {
        None
    }
}

/// Applies `cond(icmp eq (x, 1)) => cond(x) where (zeros(x) | 1) == -1`.
fn cond_eq_one(g: &mut impl Graph, x: Value) -> Option<Value> {
    if (zeros(g, x) | Bits::new(g.ty(x).lane_bits(), 1)) == Bits::new(g.ty(x).lane_bits(), -1) && g.may_apply(Rule::CondEqOne) {
        Some(x)
    } else {
        None
    }
}

/// Applies `cond(ineg(x)) => cond(x)`.
fn cond_neg(g: &mut impl Graph, x: Value) -> Option<Value> {
    if g.may_apply(Rule::CondNeg) {
        Some(x)
    } else {
        None
    }
}

/// Applies `cond(bmask(x)) => cond(x)`.
fn cond_bmask(g: &mut impl Graph, x: Value) -> Option<Value> {
    if g.may_apply(Rule::CondBmask) {
        Some(x)
    } else {
        None
    }
}

/// Applies `cond(select(c, C, 0)) => cond(c) where C != 0`.
fn cond_select_c(g: &mut impl Graph, c: Value, n2: Value, c_bits: Bits) -> Option<Value> {
    if c_bits != Bits::new(g.ty(n2).lane_bits(), 0) && g.may_apply(Rule::CondSelectC) {
        Some(c)
    } else {
        None
    }
}

/// Applies `cond(iabs(x)) => cond(x)`.
fn cond_iabs(g: &mut impl Graph, x: Value) -> Option<Value> {
    if g.may_apply(Rule::CondIabs) {
        Some(x)
    } else {
        None
    }
}

/// Applies `cond(rotl(x, y)) => cond(x)`.
fn cond_rotl(g: &mut impl Graph, x: Value) -> Option<Value> {
    if g.may_apply(Rule::CondRotl) {
        Some(x)
    } else {
        None
    }
}

/// Applies `cond(rotr(x, y)) => cond(x)`.
fn cond_rotr(g: &mut impl Graph, x: Value) -> Option<Value> {
    if g.may_apply(Rule::CondRotr) {
        Some(x)
    } else {
        None
    }
}

/// Applies `cond(popcnt(x)) => cond(x)`.
fn cond_popcnt(g: &mut impl Graph, x: Value) -> Option<Value> {
    if g.may_apply(Rule::CondPopcnt) {
        Some(x)
    } else {
        None
    }
}

/// Applies `cond(d = bxor(x, y)) => cond(icmp ne (x, y)) where sole(d)`.
fn cond_xor_cmp(g: &mut impl Graph, x: Value, y: Value, n2: Value) -> Option<Value> {
    if g.is_sole(n2) && g.may_apply(Rule::CondXorCmp) {
        Some(g.make(InstData::icmp(g.ty(y), IntCC::NotEqual, [x, y])))
    } else {
        None
    }
}

/// Applies `cond(d = isub(x, y)) => cond(icmp ne (x, y)) where sole(d)`.
fn cond_sub(g: &mut impl Graph, x: Value, y: Value, n2: Value) -> Option<Value> {
    if g.is_sole(n2) && g.may_apply(Rule::CondSub) {
        Some(g.make(InstData::icmp(g.ty(y), IntCC::NotEqual, [x, y])))
    } else {
        None
    }
}

/// Applies `bmask(uextend(x)) => bmask(x)`.
fn bmask_uext(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if g.may_apply(Rule::BmaskUext) {
        Some(g.make(InstData::unary(Opcode::Bmask, ty, x)))
    } else {
        None
    }
}

/// Applies `bmask(icmp ne (x, 0)) => bmask(x)`.
fn bmask_ne_zero(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if g.may_apply(Rule::BmaskNeZero) {
        Some(g.make(InstData::unary(Opcode::Bmask, ty, x)))
    } else {
        None
    }
}

/// Applies `select(icmp slt (x, y), x, y) => smin(x, y)`.
fn select_smin(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if g.may_apply(Rule::SelectSmin) {
        Some(g.make(InstData::binary(Opcode::Smin, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `select(icmp sgt (x, y), x, y) => smax(x, y)`.
fn select_smax(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if g.may_apply(Rule::SelectSmax) {
        Some(g.make(InstData::binary(Opcode::Smax, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `select(icmp ult (x, y), x, y) => umin(x, y)`.
fn select_umin(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if g.may_apply(Rule::SelectUmin) {
        Some(g.make(InstData::binary(Opcode::Umin, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `select(icmp ugt (x, y), x, y) => umax(x, y)`.
fn select_umax(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if g.may_apply(Rule::SelectUmax) {
        Some(g.make(InstData::binary(Opcode::Umax, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `select(icmp sle (x, y), x, y) => smin(x, y)`.
fn select_smin_le(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if g.may_apply(Rule::SelectSminLe) {
        Some(g.make(InstData::binary(Opcode::Smin, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `select(icmp sge (x, y), x, y) => smax(x, y)`.
fn select_smax_ge(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if g.may_apply(Rule::SelectSmaxGe) {
        Some(g.make(InstData::binary(Opcode::Smax, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `select(icmp ule (x, y), x, y) => umin(x, y)`.
fn select_umin_le(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if g.may_apply(Rule::SelectUminLe) {
        Some(g.make(InstData::binary(Opcode::Umin, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `select(icmp uge (x, y), x, y) => umax(x, y)`.
fn select_umax_ge(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if g.may_apply(Rule::SelectUmaxGe) {
        Some(g.make(InstData::binary(Opcode::Umax, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `smin(x, x) => x at lanes`.
fn smin_self(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SminSelf) {
        Some(x)
    } else {
        None
    }
}

/// Applies `smax(x, x) => x at lanes`.
fn smax_self(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SmaxSelf) {
        Some(x)
    } else {
        None
    }
}

/// Applies `umin(x, x) => x at lanes`.
fn umin_self(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::UminSelf) {
        Some(x)
    } else {
        None
    }
}

/// Applies `umax(x, x) => x at lanes`.
fn umax_self(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::UmaxSelf) {
        Some(x)
    } else {
        None
    }
}

/// Applies `smin(smin(x, y), y) => smin(x, y) at lanes`.
fn smin_smin(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SminSmin) {
        Some(g.make(InstData::binary(Opcode::Smin, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `smax(smax(x, y), y) => smax(x, y) at lanes`.
fn smax_smax(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::SmaxSmax) {
        Some(g.make(InstData::binary(Opcode::Smax, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `umin(umin(x, y), y) => umin(x, y) at lanes`.
fn umin_umin(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::UminUmin) {
        Some(g.make(InstData::binary(Opcode::Umin, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `umax(umax(x, y), y) => umax(x, y) at lanes`.
fn umax_umax(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::UmaxUmax) {
        Some(g.make(InstData::binary(Opcode::Umax, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `umin(x, 0) => 0 at lanes`.
fn umin_zero(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::UminZero) {
        Some(make_constant(g, ty, Bits::new(ty.lane_bits(), 0)))
    } else {
        None
    }
}

/// Applies `umax(x, 0) => x at lanes`.
fn umax_zero(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::UmaxZero) {
        Some(x)
    } else {
        None
    }
}

/// Applies `umin(x, -1) => x at lanes`.
fn umin_ones(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::UminOnes) {
        Some(x)
    } else {
        None
    }
}

/// Applies `umax(x, -1) => -1 at lanes`.
fn umax_ones(g: &mut impl Graph, ty: Type) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::UmaxOnes) {
        Some(make_constant(g, ty, Bits::new(ty.lane_bits(), -1)))
    } else {
        None
    }
}

/// Applies `iabs(ineg(x)) => iabs(x) at lanes`.
fn abs_neg(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AbsNeg) {
        Some(g.make(InstData::unary(Opcode::Iabs, ty, x)))
    } else {
        None
    }
}

/// Applies `iabs(iabs(x)) => iabs(x) at lanes`.
fn abs_abs(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AbsAbs) {
        Some(g.make(InstData::unary(Opcode::Iabs, ty, x)))
    } else {
        None
    }
}

/// Applies `select(icmp slt (x, 0), ineg(x), x) => iabs(x)`.
fn abs_slt(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if g.may_apply(Rule::AbsSlt) {
        Some(g.make(InstData::unary(Opcode::Iabs, ty, x)))
    } else {
        None
    }
}

/// Applies `select(icmp sle (x, 0), ineg(x), x) => iabs(x)`.
fn abs_sle(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if g.may_apply(Rule::AbsSle) {
        Some(g.make(InstData::unary(Opcode::Iabs, ty, x)))
    } else {
        None
    }
}

/// Applies `select(icmp sgt (x, 0), x, ineg(x)) => iabs(x)`.
fn abs_sgt(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if g.may_apply(Rule::AbsSgt) {
        Some(g.make(InstData::unary(Opcode::Iabs, ty, x)))
    } else {
        None
    }
}

/// Applies `select(icmp sge (x, 0), x, ineg(x)) => iabs(x)`.
fn abs_sge(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if g.may_apply(Rule::AbsSge) {
        Some(g.make(InstData::unary(Opcode::Iabs, ty, x)))
    } else {
        None
    }
}

/// Applies `smax(x, ineg(x)) => iabs(x) at lanes`.
fn abs_smax(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AbsSmax) {
        Some(g.make(InstData::unary(Opcode::Iabs, ty, x)))
    } else {
        None
    }
}

/// Applies `isub(bxor(x, sshr(x, K)), sshr(x, K)) => iabs(x) where K == width(x) - 1`.
fn abs_xor(g: &mut impl Graph, ty: Type, x: Value, n2: Value, n6: Value, k: Bits) -> Option<Value> {
    if g.ty(n2) == g.ty(n6) && ty.is_int() && k == (Bits::new(g.ty(n2).lane_bits(), i128::from(ty.lane_bits())) - Bits::new(g.ty(n2).lane_bits(), 1)) && g.may_apply(Rule::AbsXor) {
        Some(g.make(InstData::unary(Opcode::Iabs, ty, x)))
    } else {
        None
    }
}

/// Applies `band(x, C) => x where (zeros(x) | C) == -1`.
fn mask_known(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if ty.is_int() && (zeros(g, x) | c) == Bits::new(ty.lane_bits(), -1) && g.may_apply(Rule::MaskKnown) {
        Some(x)
    } else {
        None
    }
}

/// Applies `band(x, C) => 0 where (zeros(x) | ~C) == -1`.
fn mask_clears(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if ty.is_int() && (zeros(g, x) | (!c)) == Bits::new(ty.lane_bits(), -1) && g.may_apply(Rule::MaskClears) {
        Some(make_constant(g, ty, Bits::new(ty.lane_bits(), 0)))
    } else {
        None
    }
}

/// Applies `bor(x, C) => x where (ones(x) | ~C) == -1`.
fn ones_known(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if ty.is_int() && (ones(g, x) | (!c)) == Bits::new(ty.lane_bits(), -1) && g.may_apply(Rule::OnesKnown) {
        Some(x)
    } else {
        None
    }
}

/// Applies `icmp ult (x, C) => 1 where ~zeros(x) u< C`.
fn ult_known(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if ty.is_int() && (!zeros(g, x)).unsigned() < c.unsigned() && g.may_apply(Rule::UltKnown) {
        Some(make_constant(g, types::I8, Bits::new(types::I8.lane_bits(), 1)))
    } else {
        None
    }
}

/// Applies `icmp uge (x, C) => 0 where ~zeros(x) u< C`.
fn uge_known(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if ty.is_int() && (!zeros(g, x)).unsigned() < c.unsigned() && g.may_apply(Rule::UgeKnown) {
        Some(make_constant(g, types::I8, Bits::new(types::I8.lane_bits(), 0)))
    } else {
        None
    }
}

/// Applies `icmp ule (x, C) => 1 where ~zeros(x) u<= C`.
fn ule_known(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if ty.is_int() && (!zeros(g, x)).unsigned() <= c.unsigned() && g.may_apply(Rule::UleKnown) {
        Some(make_constant(g, types::I8, Bits::new(types::I8.lane_bits(), 1)))
    } else {
        None
    }
}

/// Applies `icmp ugt (x, C) => 0 where ~zeros(x) u<= C`.
fn ugt_known(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if ty.is_int() && (!zeros(g, x)).unsigned() <= c.unsigned() && g.may_apply(Rule::UgtKnown) {
        Some(make_constant(g, types::I8, Bits::new(types::I8.lane_bits(), 0)))
    } else {
        None
    }
}

/// Applies `icmp eq (x, C) => 0 where (zeros(x) & C) != 0`.
fn eq_known(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if ty.is_int() && (zeros(g, x) & c) != Bits::new(ty.lane_bits(), 0) && g.may_apply(Rule::EqKnown) {
        Some(make_constant(g, types::I8, Bits::new(types::I8.lane_bits(), 0)))
    } else {
        None
    }
}

/// Applies `icmp ne (x, C) => 1 where (zeros(x) & C) != 0`.
fn ne_known(g: &mut impl Graph, ty: Type, x: Value, c: Bits) -> Option<Value> {
    if ty.is_int() && (zeros(g, x) & c) != Bits::new(ty.lane_bits(), 0) && g.may_apply(Rule::NeKnown) {
        Some(make_constant(g, types::I8, Bits::new(types::I8.lane_bits(), 1)))
    } else {
        None
    }
}

/// Applies `icmp slt (x, 0) => 0 where zeros(x) < 0`.
fn slt_known(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if ty.is_int() && zeros(g, x).signed() < Bits::new(ty.lane_bits(), 0).signed() && g.may_apply(Rule::SltKnown) {
        Some(make_constant(g, types::I8, Bits::new(types::I8.lane_bits(), 0)))
    } else {
        None
    }
}

/// Applies `icmp sge (x, 0) => 1 where zeros(x) < 0`.
fn sge_known(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if ty.is_int() && zeros(g, x).signed() < Bits::new(ty.lane_bits(), 0).signed() && g.may_apply(Rule::SgeKnown) {
        Some(make_constant(g, types::I8, Bits::new(types::I8.lane_bits(), 1)))
    } else {
        None
    }
}

/// Applies `icmp ne (x: i8, 0) => x where (zeros(x) | 1) == -1`.
fn bool_ne_zero(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if ty == types::I8 && (zeros(g, x) | Bits::new(ty.lane_bits(), 1)) == Bits::new(ty.lane_bits(), -1) && g.may_apply(Rule::BoolNeZero) {
        Some(x)
    } else {
        None
    }
}

/// Applies `icmp eq (x: i8, 1) => x where (zeros(x) | 1) == -1`.
fn bool_eq_one(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if ty == types::I8 && (zeros(g, x) | Bits::new(ty.lane_bits(), 1)) == Bits::new(ty.lane_bits(), -1) && g.may_apply(Rule::BoolEqOne) {
        Some(x)
    } else {
        None
    }
}

/// Applies `sextend.W(x: N) => uextend.W(x) where zeros(x) < 0`.
fn sext_known(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if zeros(g, x).signed() < Bits::new(g.ty(x).lane_bits(), 0).signed() && g.may_apply(Rule::SextKnown) {
        Some(g.make(InstData::unary(Opcode::Uextend, ty, x)))
    } else {
        None
    }
}

/// Applies `sshr(x, y) => ushr(x, y) where zeros(x) < 0`.
fn sshr_known(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if ty.is_int() && zeros(g, x).signed() < Bits::new(ty.lane_bits(), 0).signed() && g.may_apply(Rule::SshrKnown) {
        Some(g.make(InstData::binary(Opcode::Ushr, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `uextend.W(d = ireduce.N(x: W)) => x where ~zeros(x) u>> width(d) == 0`.
fn uext_reduce(g: &mut impl Graph, ty: Type, x: Value, n1: Value) -> Option<Value> {
    if ty == g.ty(x) && ((!zeros(g, x)).shift_right(Bits::new(ty.lane_bits(), i128::from(g.ty(n1).lane_bits())))) == Bits::new(ty.lane_bits(), 0) && g.may_apply(Rule::UextReduce) {
        Some(x)
    } else {
        None
    }
}

/// Applies `bswap(bswap(x)) => x`.
fn bswap_bswap(g: &mut impl Graph, x: Value) -> Option<Value> {
    if g.may_apply(Rule::BswapBswap) {
        Some(x)
    } else {
        None
    }
}

/// Applies `bitrev(bitrev(x)) => x`.
fn bitrev_bitrev(g: &mut impl Graph, x: Value) -> Option<Value> {
    if g.may_apply(Rule::BitrevBitrev) {
        Some(x)
    } else {
        None
    }
}

/// Applies `iadd(splat(x), splat(y)) => splat(iadd(x, y)) at lanes`.
fn add_splat(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AddSplat) {
        let v2 = g.make(InstData::binary(Opcode::Iadd, g.ty(y), [x, y]));
        Some(g.make(InstData::unary(Opcode::Splat, ty, v2)))
    } else {
        None
    }
}

/// Applies `band(splat(x), splat(y)) => splat(band(x, y)) at lanes`.
fn and_splat(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if is_int_or_lanes(ty) && g.may_apply(Rule::AndSplat) {
        let v2 = g.make(InstData::binary(Opcode::Band, g.ty(y), [x, y]));
        Some(g.make(InstData::unary(Opcode::Splat, ty, v2)))
    } else {
        None
    }
}

/// Applies `fneg(fneg(x)) => x at lanes`.
fn fneg_fneg(g: &mut impl Graph, x: Value) -> Option<Value> {
    if g.may_apply(Rule::FnegFneg) {
        Some(x)
    } else {
        None
    }
}

/// Applies `fabs(fneg(x)) => fabs(x) at lanes`.
fn fabs_fneg(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if g.may_apply(Rule::FabsFneg) {
        Some(g.make(InstData::unary(Opcode::Fabs, ty, x)))
    } else {
        None
    }
}

/// Applies `fabs(fabs(x)) => fabs(x) at lanes`.
fn fabs_fabs(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if g.may_apply(Rule::FabsFabs) {
        Some(g.make(InstData::unary(Opcode::Fabs, ty, x)))
    } else {
        None
    }
}

/// Applies `fcopysign(x, x) => x at lanes`.
fn copysign_self(g: &mut impl Graph, x: Value) -> Option<Value> {
    if g.may_apply(Rule::CopysignSelf) {
        Some(x)
    } else {
        None
    }
}

/// Applies `fcopysign(fneg(x), y) => fcopysign(x, y) at lanes`.
fn copysign_fneg(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if g.may_apply(Rule::CopysignFneg) {
        Some(g.make(InstData::binary(Opcode::Fcopysign, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `fcopysign(fabs(x), y) => fcopysign(x, y) at lanes`.
fn copysign_fabs(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if g.may_apply(Rule::CopysignFabs) {
        Some(g.make(InstData::binary(Opcode::Fcopysign, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `fcopysign(x, fabs(y)) => fabs(x) at lanes`.
fn copysign_of_fabs(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if g.may_apply(Rule::CopysignOfFabs) {
        Some(g.make(InstData::unary(Opcode::Fabs, ty, x)))
    } else {
        None
    }
}

/// Applies `fabs(fcopysign(x, y)) => fabs(x) at lanes`.
fn fabs_copysign(g: &mut impl Graph, ty: Type, x: Value) -> Option<Value> {
    if g.may_apply(Rule::FabsCopysign) {
        Some(g.make(InstData::unary(Opcode::Fabs, ty, x)))
    } else {
        None
    }
}

/// Applies `fcopysign(fcopysign(x, y), z) => fcopysign(x, z) at lanes`.
fn copysign_twice(g: &mut impl Graph, ty: Type, x: Value, z: Value) -> Option<Value> {
    if g.may_apply(Rule::CopysignTwice) {
        Some(g.make(InstData::binary(Opcode::Fcopysign, ty, [x, z])))
    } else {
        None
    }
}

/// Applies `fcopysign(x, fcopysign(y, z)) => fcopysign(x, z) at lanes`.
fn copysign_sign(g: &mut impl Graph, ty: Type, x: Value, z: Value) -> Option<Value> {
    if g.may_apply(Rule::CopysignSign) {
        Some(g.make(InstData::binary(Opcode::Fcopysign, ty, [x, z])))
    } else {
        None
    }
}

/// Applies `bitcast.T(bitcast(x: T)) => x at any`.
fn bitcast_back(g: &mut impl Graph, ty: Type, x: Value, n1: Value) -> Option<Value> {
    if ty == g.ty(x) && ty.lane_count() == g.ty(n1).lane_count() && g.may_apply(Rule::BitcastBack) {
        Some(x)
    } else {
        None
    }
}

/// Applies `bitcast.T(bitcast(x: U)) => bitcast.T(x) at any`.
fn bitcast_bitcast(g: &mut impl Graph, ty: Type, x: Value, n1: Value) -> Option<Value> {
    if ty.lane_count() == g.ty(x).lane_count() && ty.lane_count() == g.ty(n1).lane_count() && g.may_apply(Rule::BitcastBitcast) {
        Some(g.make(InstData::load_no_offset(Opcode::Bitcast, ty, MemFlags::new(), x)))
    } else {
        None
    }
}

/// Applies `icmp eq (fcmp cc (x, y), 0) => fcmp !cc (x, y)`.
fn fcmp_zero(g: &mut impl Graph, ty: Type, x: Value, y: Value, cc: FloatCC) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::FcmpZero) {
        Some(g.make(InstData::fcmp(g.ty(y), cc.inverse(), [x, y])))
    } else {
        None
    }
}

/// Applies `bxor(fcmp cc (x, y), 1) => fcmp !cc (x, y)`.
fn fcmp_xor_one(g: &mut impl Graph, ty: Type, x: Value, y: Value, cc: FloatCC) -> Option<Value> {
    if ty.is_int() && g.may_apply(Rule::FcmpXorOne) {
        Some(g.make(InstData::fcmp(g.ty(y), cc.inverse(), [x, y])))
    } else {
        None
    }
}

/// Applies `fcmp cc (fneg(x), fneg(y)) => fcmp swap(cc) (x, y)`.
fn fcmp_fneg(g: &mut impl Graph, ty: Type, x: Value, y: Value, cc: FloatCC) -> Option<Value> {
    if ty.is_float() && g.may_apply(Rule::FcmpFneg) {
        Some(g.make(InstData::fcmp(ty, cc.swap_args(), [x, y])))
    } else {
        None
    }
}

/// Applies `fadd(x: T, fneg(y)) => fsub(x, y) at lanes, T = f32 | f64 | f32x4 | f64x2`.
fn fadd_fneg(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if matches!(ty, types::F32 | types::F64 | types::F64X2 | types::F32X4) && g.may_apply(Rule::FaddFneg) {
        Some(g.make(InstData::binary(Opcode::Fsub, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `fsub(x: T, fneg(y)) => fadd(x, y) at lanes, T = f32 | f64 | f32x4 | f64x2`.
fn fsub_fneg(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if matches!(ty, types::F32 | types::F64 | types::F64X2 | types::F32X4) && g.may_apply(Rule::FsubFneg) {
        Some(g.make(InstData::binary(Opcode::Fadd, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `fmul(fneg(x: T), fneg(y)) => fmul(x, y) at lanes, T = f32 | f64 | f32x4 | f64x2`.
fn fmul_fneg(g: &mut impl Graph, ty: Type, x: Value, y: Value) -> Option<Value> {
    if matches!(ty, types::F32 | types::F64 | types::F64X2 | types::F32X4) && g.may_apply(Rule::FmulFneg) {
        Some(g.make(InstData::binary(Opcode::Fmul, ty, [x, y])))
    } else {
        None
    }
}

/// Applies `brif(c, a, a) => jump(a)`.
fn brif_same(g: &mut impl Graph) -> Option<Effect> {
    if g.may_apply(Rule::BrifSame) {
        Some(Effect::Jump(0))
    } else {
        None
    }
}

/// Applies `brif(C, a, b) => jump(a) where C != 0`.
fn brif_const(g: &mut impl Graph, ty: Type, c: Bits) -> Option<Effect> {
    if c != Bits::new(ty.lane_bits(), 0) && g.may_apply(Rule::BrifConst) {
        Some(Effect::Jump(0))
    } else {
        None
    }
}

/// Applies `brif(0, a, b) => jump(b)`.
fn brif_zero(g: &mut impl Graph) -> Option<Effect> {
    if g.may_apply(Rule::BrifZero) {
        Some(Effect::Jump(1))
    } else {
        None
    }
}

/// Applies `brif(icmp eq (x, 0), a, b) => brif(x, b, a)`.
fn brif_eq_zero(g: &mut impl Graph, x: Value) -> Option<Effect> {
    if g.may_apply(Rule::BrifEqZero) {
        Some(Effect::Branch(x, [1, 0]))
    } else {
        None
    }
}

/// Applies `trapz(C) => nop where C != 0`.
fn trapz_const(g: &mut impl Graph, ty: Type, c: Bits) -> Option<Effect> {
    if c != Bits::new(ty.lane_bits(), 0) && g.may_apply(Rule::TrapzConst) {
        Some(Effect::Nothing)
    } else {
        None
    }
}

/// Applies `trapnz(0) => nop`.
fn trapnz_zero(g: &mut impl Graph) -> Option<Effect> {
    if g.may_apply(Rule::TrapnzZero) {
        Some(Effect::Nothing)
    } else {
        None
    }
}

/// Applies `trapz(0) => trap`.
fn trapz_zero(g: &mut impl Graph, request: &InstData) -> Option<Effect> {
    if g.may_apply(Rule::TrapzZero) {
        Some(Effect::Inst(trap(request)))
    } else {
        None
    }
}

/// Applies `trapnz(C) => trap where C != 0`.
fn trapnz_const(g: &mut impl Graph, request: &InstData, ty: Type, c: Bits) -> Option<Effect> {
    if c != Bits::new(ty.lane_bits(), 0) && g.may_apply(Rule::TrapnzConst) {
        Some(Effect::Inst(trap(request)))
    } else {
        None
    }
}

/// Applies `trapz(icmp eq (x, 0)) => trapnz(x)`.
fn trapz_eq_zero(g: &mut impl Graph, request: &InstData, x: Value) -> Option<Effect> {
    if g.may_apply(Rule::TrapzEqZero) {
        Some(Effect::Inst(cond_trap(g, request, Opcode::Trapnz, x)))
    } else {
        None
    }
}

/// Applies `trapnz(icmp eq (x, 0)) => trapz(x)`.
fn trapnz_eq_zero(g: &mut impl Graph, request: &InstData, x: Value) -> Option<Effect> {
    if g.may_apply(Rule::TrapnzEqZero) {
        Some(Effect::Inst(cond_trap(g, request, Opcode::Trapz, x)))
    } else {
        None
    }
}

/// Applies `trapz(x) => nop where ones(x) != 0`.
fn trapz_known(g: &mut impl Graph, ty: Type, x: Value) -> Option<Effect> {
    if ones(g, x) != Bits::new(ty.lane_bits(), 0) && g.may_apply(Rule::TrapzKnown) {
        Some(Effect::Nothing)
    } else {
        None
    }
}

/// Applies `istore8(uextend(x: i8), p) => store(x, p)`.
fn store8_uext(g: &mut impl Graph, request: &InstData, p: Value, x: Value) -> Option<Effect> {
    if g.ty(x) == types::I8 && g.may_apply(Rule::Store8Uext) {
        Some(Effect::Inst(store(request, Opcode::Store, x, p, request.offset())))
    } else {
        None
    }
}

/// Applies `istore8(sextend(x: i8), p) => store(x, p)`.
fn store8_sext(g: &mut impl Graph, request: &InstData, p: Value, x: Value) -> Option<Effect> {
    if g.ty(x) == types::I8 && g.may_apply(Rule::Store8Sext) {
        Some(Effect::Inst(store(request, Opcode::Store, x, p, request.offset())))
    } else {
        None
    }
}

/// Applies `istore8(uextend.W(x: N), p) => istore8(x, p)`.
fn store8_uext_low(g: &mut impl Graph, request: &InstData, p: Value, x: Value) -> Option<Effect> {
    if matches!(g.ty(x), types::I16 | types::I32) && g.may_apply(Rule::Store8UextLow) {
        Some(Effect::Inst(store(request, Opcode::Istore8, x, p, request.offset())))
    } else {
        None
    }
}

/// Applies `istore8(sextend.W(x: N), p) => istore8(x, p)`.
fn store8_sext_low(g: &mut impl Graph, request: &InstData, p: Value, x: Value) -> Option<Effect> {
    if matches!(g.ty(x), types::I16 | types::I32) && g.may_apply(Rule::Store8SextLow) {
        Some(Effect::Inst(store(request, Opcode::Istore8, x, p, request.offset())))
    } else {
        None
    }
}

/// Applies `istore8(ireduce.N(x: W), p) => istore8(x, p)`.
fn store8_reduce(g: &mut impl Graph, request: &InstData, p: Value, x: Value) -> Option<Effect> {
    if matches!(g.ty(x), types::I32 | types::I64) && g.may_apply(Rule::Store8Reduce) {
        Some(Effect::Inst(store(request, Opcode::Istore8, x, p, request.offset())))
    } else {
        None
    }
}

/// Applies `istore8(band(x, C), p) => istore8(x, p) where C & 255 == 255`.
fn store8_mask(g: &mut impl Graph, request: &InstData, ty: Type, p: Value, x: Value, c: Bits) -> Option<Effect> {
    if (c & Bits::new(ty.lane_bits(), 255)) == Bits::new(ty.lane_bits(), 255) && g.may_apply(Rule::Store8Mask) {
        Some(Effect::Inst(store(request, Opcode::Istore8, x, p, request.offset())))
    } else {
        None
    }
}

/// Applies `istore16(uextend(x: i16), p) => store(x, p)`.
fn store16_uext(g: &mut impl Graph, request: &InstData, p: Value, x: Value) -> Option<Effect> {
    if g.ty(x) == types::I16 && g.may_apply(Rule::Store16Uext) {
        Some(Effect::Inst(store(request, Opcode::Store, x, p, request.offset())))
    } else {
        None
    }
}

/// Applies `istore16(sextend(x: i16), p) => store(x, p)`.
fn store16_sext(g: &mut impl Graph, request: &InstData, p: Value, x: Value) -> Option<Effect> {
    if g.ty(x) == types::I16 && g.may_apply(Rule::Store16Sext) {
        Some(Effect::Inst(store(request, Opcode::Store, x, p, request.offset())))
    } else {
        None
    }
}

/// Applies `istore16(uextend.W(x: N), p) => istore16(x, p)`.
fn store16_uext_low(g: &mut impl Graph, request: &InstData, p: Value, x: Value) -> Option<Effect> {
    if g.ty(x) == types::I32 && g.may_apply(Rule::Store16UextLow) {
        Some(Effect::Inst(store(request, Opcode::Istore16, x, p, request.offset())))
    } else {
        None
    }
}

/// Applies `istore16(sextend.W(x: N), p) => istore16(x, p)`.
fn store16_sext_low(g: &mut impl Graph, request: &InstData, p: Value, x: Value) -> Option<Effect> {
    if g.ty(x) == types::I32 && g.may_apply(Rule::Store16SextLow) {
        Some(Effect::Inst(store(request, Opcode::Istore16, x, p, request.offset())))
    } else {
        None
    }
}

/// Applies `istore16(ireduce.N(x: W), p) => istore16(x, p)`.
fn store16_reduce(g: &mut impl Graph, request: &InstData, p: Value, x: Value) -> Option<Effect> {
    if g.ty(x) == types::I64 && g.may_apply(Rule::Store16Reduce) {
        Some(Effect::Inst(store(request, Opcode::Istore16, x, p, request.offset())))
    } else {
        None
    }
}

/// Applies `istore16(band(x, C), p) => istore16(x, p) where C & 65535 == 65535`.
fn store16_mask(g: &mut impl Graph, request: &InstData, ty: Type, p: Value, x: Value, c: Bits) -> Option<Effect> {
    if (c & Bits::new(ty.lane_bits(), 65535)) == Bits::new(ty.lane_bits(), 65535) && g.may_apply(Rule::Store16Mask) {
        Some(Effect::Inst(store(request, Opcode::Istore16, x, p, request.offset())))
    } else {
        None
    }
}

/// Applies `istore32(uextend(x: i32), p) => store(x, p)`.
fn store32_uext(g: &mut impl Graph, request: &InstData, p: Value, x: Value) -> Option<Effect> {
    if g.ty(x) == types::I32 && g.may_apply(Rule::Store32Uext) {
        Some(Effect::Inst(store(request, Opcode::Store, x, p, request.offset())))
    } else {
        None
    }
}

/// Applies `istore32(sextend(x: i32), p) => store(x, p)`.
fn store32_sext(g: &mut impl Graph, request: &InstData, p: Value, x: Value) -> Option<Effect> {
    if g.ty(x) == types::I32 && g.may_apply(Rule::Store32Sext) {
        Some(Effect::Inst(store(request, Opcode::Store, x, p, request.offset())))
    } else {
        None
    }
}

/// Applies `istore32(band(x, C), p) => istore32(x, p) where C & 4294967295 == 4294967295`.
fn store32_mask(g: &mut impl Graph, request: &InstData, ty: Type, p: Value, x: Value, c: Bits) -> Option<Effect> {
    if (c & Bits::new(ty.lane_bits(), 4294967295)) == Bits::new(ty.lane_bits(), 4294967295) && g.may_apply(Rule::Store32Mask) {
        Some(Effect::Inst(store(request, Opcode::Istore32, x, p, request.offset())))
    } else {
        None
    }
}

/// Applies `store(ireduce.i8(x), p) => istore8(x, p)`.
fn store_reduce8(g: &mut impl Graph, request: &InstData, ty: Type, p: Value, x: Value) -> Option<Effect> {
    if ty == types::I8 && matches!(g.ty(x), types::I16 | types::I32 | types::I64) && g.may_apply(Rule::StoreReduce8) {
        Some(Effect::Inst(store(request, Opcode::Istore8, x, p, request.offset())))
    } else {
        None
    }
}

/// Applies `store(ireduce.i16(x), p) => istore16(x, p)`.
fn store_reduce16(g: &mut impl Graph, request: &InstData, ty: Type, p: Value, x: Value) -> Option<Effect> {
    if ty == types::I16 && matches!(g.ty(x), types::I32 | types::I64) && g.may_apply(Rule::StoreReduce16) {
        Some(Effect::Inst(store(request, Opcode::Istore16, x, p, request.offset())))
    } else {
        None
    }
}

/// Applies `store(ireduce.i32(x), p) => istore32(x, p)`.
fn store_reduce32(g: &mut impl Graph, request: &InstData, ty: Type, p: Value, x: Value) -> Option<Effect> {
    if ty == types::I32 && g.ty(x) == types::I64 && g.may_apply(Rule::StoreReduce32) {
        Some(Effect::Inst(store(request, Opcode::Istore32, x, p, request.offset())))
    } else {
        None
    }
}

/// Applies `store(bitcast.T(x: U), p) => store(x, p) at any, T = f32 | f64 | i32 | i64, U = f32 | f64 | i32 | i64`.
fn store_bitcast(g: &mut impl Graph, request: &InstData, ty: Type, p: Value, x: Value) -> Option<Effect> {
    if matches!(ty, types::I32 | types::I64 | types::F32 | types::F64) && ty.lane_count() == g.ty(x).lane_count() && g.may_apply(Rule::StoreBitcast) {
        Some(Effect::Inst(store(request, Opcode::Store, x, p, request.offset())))
    } else {
        None
    }
}

/// Applies `load(iadd(p, C), O) => load(p, O + C) at any`.
fn load_offset(g: &mut impl Graph, request: &InstData, ty: Type, p: Value, c: Bits, o: Bits) -> Option<Effect> {
    if is_offset(o + c) && g.may_apply(Rule::LoadOffset) {
        Some(Effect::Inst(load(request, Opcode::Load, ty, p, (o + c).signed() as i32)))
    } else {
        None
    }
}

/// Applies `uload8(iadd(p, C), O) => uload8(p, O + C)`.
fn uload8_offset(g: &mut impl Graph, request: &InstData, ty: Type, p: Value, c: Bits, o: Bits) -> Option<Effect> {
    if is_offset(o + c) && g.may_apply(Rule::Uload8Offset) {
        Some(Effect::Inst(load(request, Opcode::Uload8, ty, p, (o + c).signed() as i32)))
    } else {
        None
    }
}

/// Applies `sload8(iadd(p, C), O) => sload8(p, O + C)`.
fn sload8_offset(g: &mut impl Graph, request: &InstData, ty: Type, p: Value, c: Bits, o: Bits) -> Option<Effect> {
    if is_offset(o + c) && g.may_apply(Rule::Sload8Offset) {
        Some(Effect::Inst(load(request, Opcode::Sload8, ty, p, (o + c).signed() as i32)))
    } else {
        None
    }
}

/// Applies `uload16(iadd(p, C), O) => uload16(p, O + C)`.
fn uload16_offset(g: &mut impl Graph, request: &InstData, ty: Type, p: Value, c: Bits, o: Bits) -> Option<Effect> {
    if is_offset(o + c) && g.may_apply(Rule::Uload16Offset) {
        Some(Effect::Inst(load(request, Opcode::Uload16, ty, p, (o + c).signed() as i32)))
    } else {
        None
    }
}

/// Applies `sload16(iadd(p, C), O) => sload16(p, O + C)`.
fn sload16_offset(g: &mut impl Graph, request: &InstData, ty: Type, p: Value, c: Bits, o: Bits) -> Option<Effect> {
    if is_offset(o + c) && g.may_apply(Rule::Sload16Offset) {
        Some(Effect::Inst(load(request, Opcode::Sload16, ty, p, (o + c).signed() as i32)))
    } else {
        None
    }
}

/// Applies `uload32(iadd(p, C), O) => uload32(p, O + C)`.
fn uload32_offset(g: &mut impl Graph, request: &InstData, ty: Type, p: Value, c: Bits, o: Bits) -> Option<Effect> {
    if is_offset(o + c) && g.may_apply(Rule::Uload32Offset) {
        Some(Effect::Inst(load(request, Opcode::Uload32, ty, p, (o + c).signed() as i32)))
    } else {
        None
    }
}

/// Applies `sload32(iadd(p, C), O) => sload32(p, O + C)`.
fn sload32_offset(g: &mut impl Graph, request: &InstData, ty: Type, p: Value, c: Bits, o: Bits) -> Option<Effect> {
    if is_offset(o + c) && g.may_apply(Rule::Sload32Offset) {
        Some(Effect::Inst(load(request, Opcode::Sload32, ty, p, (o + c).signed() as i32)))
    } else {
        None
    }
}

/// Applies `store(x, iadd(p, C), O) => store(x, p, O + C) at any`.
fn store_offset(g: &mut impl Graph, request: &InstData, p: Value, x: Value, c: Bits, o: Bits) -> Option<Effect> {
    if is_offset(o + c) && g.may_apply(Rule::StoreOffset) {
        Some(Effect::Inst(store(request, Opcode::Store, x, p, (o + c).signed() as i32)))
    } else {
        None
    }
}

/// Applies `istore8(x, iadd(p, C), O) => istore8(x, p, O + C)`.
fn store8_offset(g: &mut impl Graph, request: &InstData, p: Value, x: Value, c: Bits, o: Bits) -> Option<Effect> {
    if is_offset(o + c) && g.may_apply(Rule::Store8Offset) {
        Some(Effect::Inst(store(request, Opcode::Istore8, x, p, (o + c).signed() as i32)))
    } else {
        None
    }
}

/// Applies `istore16(x, iadd(p, C), O) => istore16(x, p, O + C)`.
fn store16_offset(g: &mut impl Graph, request: &InstData, p: Value, x: Value, c: Bits, o: Bits) -> Option<Effect> {
    if is_offset(o + c) && g.may_apply(Rule::Store16Offset) {
        Some(Effect::Inst(store(request, Opcode::Istore16, x, p, (o + c).signed() as i32)))
    } else {
        None
    }
}

/// Applies `istore32(x, iadd(p, C), O) => istore32(x, p, O + C)`.
fn store32_offset(g: &mut impl Graph, request: &InstData, p: Value, x: Value, c: Bits, o: Bits) -> Option<Effect> {
    if is_offset(o + c) && g.may_apply(Rule::Store32Offset) {
        Some(Effect::Inst(store(request, Opcode::Istore32, x, p, (o + c).signed() as i32)))
    } else {
        None
    }
}
