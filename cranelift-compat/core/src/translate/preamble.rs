//! Translation of types, signatures, names, and all other declarations of a preamble.

use super::enums::{call_conv, lib_call};
use super::unsupported;
use cranelift_codegen::{CodegenResult, ir};
use kingpost_ir::constants::ConstantData;
use kingpost_ir::extfunc::{ExtFuncData, ExternalName, FuncName};
use kingpost_ir::function::{DebugTag, UserStackMapEntry};
use kingpost_ir::libcall::KnownSymbol;
use kingpost_ir::memflags::Endianness;
use kingpost_ir::preamble::{AliasRegionData, DynamicStackSlotData, DynamicTypeData, GlobalValueData, StackSlotData};
use kingpost_ir::signature::{AbiParam, ArgumentExtension, ArgumentPurpose, Signature};
use kingpost_ir::{
    AliasRegion, DynamicType, Function, GlobalValue, MemFlags, SigRef, StackSlot, TrapCode, Type, UserNameRef, types,
};

/// Translates everything except blocks and instructions.
pub(super) fn translate(func: &ir::Function, out: &mut Function) -> CodegenResult<()> {
    out.name = func_name(&func.name);
    out.signature = signature(&func.signature);
    out.user_names.extend(func.params.user_named_funcs().values().map(|name| (name.namespace, name.index)));
    out.stack_slots.extend(func.sized_stack_slots.values().map(stack_slot));
    out.dfg.signatures.extend(func.dfg.signatures.values().map(signature));
    out.dfg.ext_funcs.extend(func.dfg.ext_funcs.values().map(ext_func));
    for (_, region) in func.dfg.alias_regions.iter() {
        let description = region.description.as_ref().into();
        out.alias_regions.push(AliasRegionData { user_id: region.user_id, description });
    }
    for data in func.global_values.values() {
        let data = global_value(func, data)?;
        out.global_values.push(data);
    }
    for data in func.dfg.dynamic_types.values() {
        let (base, scale) = (ty(data.base_vector_ty), self::global(data.dynamic_scale));
        out.dynamic_types.push(DynamicTypeData { base, scale });
    }
    for slot in func.dynamic_stack_slots.values() {
        out.dynamic_stack_slots.push(DynamicStackSlotData { ty: DynamicType::from_u32(slot.dyn_ty.as_u32()) });
    }
    for (_, data) in func.dfg.constants.iter() {
        out.dfg.constants.declare(constant(data));
    }
    out.stack_limit = func.stack_limit.map(global);
    Ok(())
}

/// Translates a type.
#[inline]
pub(crate) fn ty(from: ir::Type) -> Type {
    match from {
        ir::types::I8 => types::I8,
        ir::types::I16 => types::I16,
        ir::types::I32 => types::I32,
        ir::types::I64 => types::I64,
        ir::types::I128 => types::I128,
        ir::types::F16 => types::F16,
        ir::types::F32 => types::F32,
        ir::types::F64 => types::F64,
        ir::types::F128 => types::F128,
        ir::types::INVALID => types::INVALID,
        _ => vector(from),
    }
}

fn vector(from: ir::Type) -> Type {
    let lane = ty(from.lane_type());
    let fixed = lane.by(if from.is_dynamic_vector() { from.min_lane_count() } else { from.lane_count() });
    let vector = if from.is_dynamic_vector() { fixed.and_then(Type::vector_to_dynamic) } else { fixed };
    vector.expect("both sides have the same vector types")
}

/// Translates a signature.
pub(crate) fn signature(from: &ir::Signature) -> Signature {
    let mut signature = Signature::new(call_conv(from.call_conv));
    signature.params.extend(from.params.iter().map(abi_param));
    signature.returns.extend(from.returns.iter().map(abi_param));
    signature
}

fn abi_param(from: &ir::AbiParam) -> AbiParam {
    let purpose = match from.purpose {
        ir::ArgumentPurpose::Normal => ArgumentPurpose::Normal,
        ir::ArgumentPurpose::StructArgument(size) => ArgumentPurpose::StructArgument(size),
        ir::ArgumentPurpose::StructReturn => ArgumentPurpose::StructReturn,
        ir::ArgumentPurpose::VMContext => ArgumentPurpose::VmContext,
    };
    AbiParam::special(ty(from.value_type), purpose).with_extension(match from.extension {
        ir::ArgumentExtension::None => ArgumentExtension::None,
        ir::ArgumentExtension::Uext => ArgumentExtension::Uext,
        ir::ArgumentExtension::Sext => ArgumentExtension::Sext,
    })
}

fn func_name(from: &ir::UserFuncName) -> FuncName {
    match from {
        ir::UserFuncName::User(name) => FuncName::User(name.namespace, name.index),
        ir::UserFuncName::Testcase(name) => FuncName::Named(word(name.raw())),
    }
}

/// Returns a name without the `%`. Names of tests are ASCII.
fn word(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

fn external_name(from: &ir::ExternalName) -> ExternalName {
    match from {
        ir::ExternalName::User(name) => ExternalName::User(UserNameRef::from_u32(name.as_u32())),
        ir::ExternalName::TestCase(name) => ExternalName::Named(word(name.raw()).into()),
        ir::ExternalName::LibCall(libcall) => ExternalName::LibCall(lib_call(*libcall)),
        ir::ExternalName::KnownSymbol(symbol) => ExternalName::KnownSymbol(known_symbol(*symbol)),
    }
}

/// Translates a symbol that linkers know.
pub(crate) fn known_symbol(from: ir::KnownSymbol) -> KnownSymbol {
    match from {
        ir::KnownSymbol::ElfGlobalOffsetTable => KnownSymbol::ElfGlobalOffsetTable,
        ir::KnownSymbol::CoffTlsIndex => KnownSymbol::CoffTlsIndex,
    }
}

fn ext_func(from: &ir::ExtFuncData) -> ExtFuncData {
    ExtFuncData {
        name: external_name(&from.name),
        signature: SigRef::from_u32(from.signature.as_u32()),
        colocated: from.colocated,
        patchable: from.patchable,
    }
}

fn stack_slot(from: &ir::StackSlotData) -> StackSlotData {
    StackSlotData { size: from.size, align_shift: from.align_shift, key: from.key.map(|key| key.bits()) }
}

fn global(from: ir::GlobalValue) -> GlobalValue {
    GlobalValue::from_u32(from.as_u32())
}

fn global_value(func: &ir::Function, from: &ir::GlobalValueData) -> CodegenResult<GlobalValueData> {
    Ok(match from {
        ir::GlobalValueData::VMContext => GlobalValueData::VmContext,
        ir::GlobalValueData::Load { base, offset, global_type, flags } => GlobalValueData::Load {
            base: global(*base),
            offset: (*offset).into(),
            ty: ty(*global_type),
            flags: mem_flags(func.dfg.mem_flags[*flags])?,
        },
        ir::GlobalValueData::IAddImm { base, offset, global_type } => {
            GlobalValueData::IAddImm { base: global(*base), offset: (*offset).into(), ty: ty(*global_type) }
        }
        ir::GlobalValueData::Symbol { name, offset, colocated, tls } => GlobalValueData::Symbol {
            name: external_name(name),
            offset: (*offset).into(),
            colocated: *colocated,
            tls: *tls,
        },
        ir::GlobalValueData::DynScaleTargetConst { vector_type } => {
            GlobalValueData::DynScaleTargetConst { vector_type: ty(*vector_type) }
        }
    })
}

/// Translates the bytes of a constant.
pub(super) fn constant(from: &ir::ConstantData) -> ConstantData {
    ConstantData::new(from.as_slice())
}

/// Translates the flags of a memory access.
pub(super) fn mem_flags(from: ir::MemFlagsData) -> CodegenResult<MemFlags> {
    let mut flags = MemFlags::new().with_trap_code(from.trap_code().map(trap_code));
    if from.aligned() {
        flags = flags.with_aligned();
    }
    if from.readonly() {
        flags = flags.with_readonly();
    }
    if from.can_move() {
        flags = flags.with_can_move();
    }
    flags = match from.explicit_endianness() {
        None => flags,
        Some(ir::Endianness::Little) => flags.with_endianness(Endianness::Little),
        Some(ir::Endianness::Big) => flags.with_endianness(Endianness::Big),
    };
    let region = from.alias_region().map(|region| AliasRegion::from_u32(region.as_u32()));
    let limit = || unsupported(format!("more than {} alias regions", MemFlags::MAX_REGIONS));
    flags.with_alias_region(region).ok_or_else(limit)
}

/// Translates a trap code. The numbers are equal on both sides.
pub(super) fn trap_code(from: ir::TrapCode) -> TrapCode {
    TrapCode::from_byte(from.as_raw().get()).expect("no trap code is 0")
}

/// Translates an entry of a stack map.
pub(super) fn stack_map_entry(from: &ir::UserStackMapEntry) -> UserStackMapEntry {
    UserStackMapEntry { ty: ty(from.ty), slot: slot(from.slot), offset: from.offset }
}

/// Translates a tag for debuggers.
pub(super) fn debug_tag(from: &ir::DebugTag) -> DebugTag {
    match from {
        ir::DebugTag::User(number) => DebugTag::User(*number),
        ir::DebugTag::StackSlot(slot) => DebugTag::StackSlot(self::slot(*slot)),
    }
}

/// Translates a stack slot.
pub(super) fn slot(from: ir::StackSlot) -> StackSlot {
    StackSlot::from_u32(from.as_u32())
}
