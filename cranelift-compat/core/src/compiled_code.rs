//! Compiled code in Cranelift's form.
//!
//! Most parts of Cranelift's type are private. Its incremental cache creates the type from bytes, so compiled code is
//! written as an entry of the cache.

use crate::stencil::{Handler, Location, StackMap, Stencil, Target};
use crate::translate::lib_call_back;
use crate::{library, literals};
use cranelift_codegen::binemit::Reloc;
use cranelift_codegen::bitset::CompoundBitSet;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::incremental_cache::try_finish_recompile;
use cranelift_codegen::ir::{
    self, ExceptionTag, InstBuilder, RelSourceLoc, SourceLoc, ValueLabelAssignments, ValueLabelStart, types,
};
use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::isa::unwind::UnwindInst;
use cranelift_codegen::{
    CodegenError, CodegenResult, CompiledCode, Context, ExceptionContextLoc, LabelValueLoc, MachBufferFrameLayout,
    MachDebugTagPos, MachTrap, RealReg, Reg, ValueLocRange,
};
use kingpost_ir::libcall::KnownSymbol;
use kingpost_mach::{
    ContextPlace, DebugTag, FunctionView, HandlerSite, KeyedSlot, RelocKind, StackMapEntry, SymbolName, UnwindOp,
};
use kingpost_regalloc::{PReg, RegClass};
use std::collections::BTreeMap;
use std::num::NonZeroU8;

/// Writes compiled code in Cranelift's form.
pub(crate) struct Publisher {
    stencil: Stencil,
    /// The last code as a cache entry.
    entry: Vec<u8>,
}

impl Publisher {
    /// Returns a publisher of code for `isa`.
    ///
    /// # Errors
    /// If `isa` cannot compile an empty function.
    pub(crate) fn new(isa: &dyn TargetIsa) -> CodegenResult<Publisher> {
        let mut empty = ir::Function::new();
        let block = empty.dfg.make_block();
        empty.layout.append_block(block);
        FuncCursor::new(&mut empty).at_bottom(block).ins().return_(&[]);
        let params = empty.params.clone();
        let stencil = Context::for_function(empty).compile_stencil(isa, &mut ControlPlane::default())?;
        let code = stencil.apply_params(&params);
        Ok(Publisher { stencil: Stencil::new(code.buffer.nop_units), entry: Vec::new() })
    }

    /// Returns the code of `view`, which was compiled from `func`, with `listing`.
    ///
    /// # Errors
    /// If Cranelift does not accept the code.
    pub(crate) fn publish(
        &mut self,
        view: &FunctionView<'_>,
        listing: Option<String>,
        func: &mut ir::Function,
    ) -> CodegenResult<CompiledCode> {
        self.stencil.set(view, listing, func)?;
        self.entry = postcard::to_allocvec(&self.stencil).expect("a vector takes everything");
        try_finish_recompile(func, &self.entry)
            .map_err(|error| CodegenError::Unsupported(format!("compiled code that Cranelift does not take: {error}")))
    }

    /// Returns the last code as a cache entry.
    pub(crate) fn entry(&self) -> &[u8] {
        &self.entry
    }
}

impl Stencil {
    /// Sets the contents to the code of `view`, compiled from `func`.
    ///
    /// # Errors
    /// If Cranelift does not have a relocation, or a constant is too far away.
    fn set(&mut self, view: &FunctionView<'_>, listing: Option<String>, func: &mut ir::Function) -> CodegenResult<()> {
        self.align = literals::append(view, &mut self.code)?.max(view.function.head.align);
        self.set_relocs(view, func)?;
        replace(&mut self.traps, view.traps.iter().map(|s| MachTrap { offset: s.offset, code: trap_code(s.code) }));
        self.set_calls(view);
        let patchable_calls = view.patchable_calls.iter();
        replace(&mut self.patchable_calls, patchable_calls.map(|call| (call.return_offset, call.bytes)));
        self.set_srclocs(view, func);
        self.set_debug_tags(view, func);
        let span = view.function.head.frame.body_offset;
        let stack_maps = view.stack_maps.chunk_by(|a, b| a.return_offset == b.return_offset);
        replace(&mut self.stack_maps, stack_maps.map(|call| (call[0].return_offset, span, stack_map(call))));
        self.frame_layout = frame_layout(view, func);
        self.unwind.clear();
        unwind(view, |offset, inst| self.unwind.push((offset, inst)));
        let labels = value_labels(view, func).into_iter();
        replace(&mut self.value_labels, labels.map(|(label, ranges)| (ir::ValueLabel::from_u32(label), ranges)));
        replace(&mut self.block_starts, view.blocks.iter().copied());
        replace(&mut self.block_edges, view.block_edges.iter().map(|edge| (edge.from, edge.to)));
        self.listing = listing;
        Ok(())
    }

    fn set_relocs(&mut self, view: &FunctionView<'_>, func: &mut ir::Function) -> CodegenResult<()> {
        self.relocs.clear();
        for reloc in view.relocs {
            // Constants are part of the code.
            let Some(name) = external_name(&view.symbols[reloc.symbol as usize], func) else { continue };
            if let Some((offset, kind)) = self::reloc(reloc.offset, reloc.kind)? {
                self.relocs.push((offset, kind, Target::ExternalName(name), reloc.addend));
            }
        }
        Ok(())
    }

    /// Sets the calls and their handlers.
    fn set_calls(&mut self, view: &FunctionView<'_>) {
        self.calls.clear();
        self.handlers.clear();
        for call in view.calls {
            let start = self.handlers.len() as u32;
            handlers(view.handlers_at(call.return_offset), |handler| self.handlers.push(handler));
            let end = self.handlers.len() as u32;
            let frame_offset = (start < end).then_some(view.function.head.frame.body_offset);
            self.calls.push((call.return_offset, frame_offset, start..end));
        }
    }

    fn set_srclocs(&mut self, view: &FunctionView<'_>, func: &ir::Function) {
        let base = func.params.base_srcloc();
        let ends = view.srclocs.iter().skip(1).map(|site| site.offset).chain([view.code.len() as u32]);
        let ranges = view.srclocs.iter().zip(ends);
        let known = ranges.filter(|(site, end)| site.srcloc != u32::MAX && site.offset < *end);
        let location = |srcloc| Location(RelSourceLoc::from_base_offset(base, SourceLoc::new(srcloc)));
        replace(&mut self.srclocs, known.map(|(site, end)| (site.offset, end, location(site.srcloc))));
    }

    fn set_debug_tags(&mut self, view: &FunctionView<'_>, func: &ir::Function) {
        self.tag_sites.clear();
        self.tags.clear();
        for sites in view.debug_tags.chunk_by(|a, b| (a.offset, a.of_call) == (b.offset, b.of_call)) {
            let position = if sites[0].of_call { MachDebugTagPos::Post } else { MachDebugTagPos::Pre };
            let start = self.tags.len() as u32;
            self.tags.extend(sites.iter().filter_map(|site| debug_tag(site.tag, view, func)));
            self.tag_sites.push((sites[0].offset, position, start..self.tags.len() as u32));
        }
    }
}

/// The namespace of the names that [`name_by_number`] assigns.
const NUMBERS: u32 = u32::MAX - 1;

/// Names functions and data of a translated function by the numbers of their names in the client's function. The code
/// then fits all functions with the cache key of the client's function, which has the numbers and not the names.
pub(crate) fn name_by_number(func: &mut kingpost_ir::Function) {
    for (number, name) in func.user_names.iter_mut() {
        *name = (NUMBERS, number.as_u32());
    }
}

/// Replaces the contents of a table, and keeps its memory.
fn replace<T>(table: &mut Vec<T>, entries: impl Iterator<Item = T>) {
    table.clear();
    table.extend(entries);
}

/// Passes the handlers of a call to `add`. In Cranelift's form, handlers follow the context that their tags belong
/// to.
fn handlers(of_call: &[HandlerSite], mut add: impl FnMut(Handler)) {
    let mut context = None;
    for handler in of_call {
        if let Some(place) = handler.context.filter(|place| context != Some(*place)) {
            context = Some(place);
            add(Handler::Context(match place {
                ContextPlace::Stack(offset) => ExceptionContextLoc::SPOffset(offset),
                ContextPlace::Reg(reg) => ExceptionContextLoc::GPR(reg.enc()),
            }));
        }
        add(match handler.tag {
            Some(tag) => Handler::Tag(ExceptionTag::from_u32(tag), handler.handler_offset),
            None => Handler::Default(handler.handler_offset),
        });
    }
}

/// Returns the ranges of labeled values. A variable has one label, which belongs to one value after the other. If two
/// values are live at one point, the label belongs to the later one.
fn value_labels(view: &FunctionView<'_>, func: &ir::Function) -> BTreeMap<u32, Vec<ValueLocRange>> {
    let mut by_label: BTreeMap<u32, Vec<ValueLocRange>> = BTreeMap::new();
    for sites in view.values.chunk_by(|a, b| a.value == b.value) {
        let ranges = || {
            sites.iter().map(|site| ValueLocRange {
                loc: value_place(site.place, view),
                start: site.from,
                end: site.to,
            })
        };
        for start in label_starts(func, ir::Value::from_u32(sites[0].value)) {
            by_label.entry(start.label.as_u32()).or_default().extend(ranges());
        }
    }
    for ranges in by_label.values_mut() {
        ranges.sort_by_key(|range| (range.start, range.end));
        for next in (1..ranges.len()).rev() {
            ranges[next - 1].end = ranges[next - 1].end.min(ranges[next].start);
        }
        ranges.retain(|range| range.start < range.end);
    }
    by_label
}

/// Returns the labels of a value. An alias has the labels of another value.
fn label_starts(func: &ir::Function, mut value: ir::Value) -> &[ValueLabelStart] {
    let Some(assigned) = &func.dfg.values_labels else { return &[] };
    // The number of steps is limited, because aliases may form a cycle.
    for _ in 0..assigned.len() {
        match assigned.get(&value) {
            Some(ValueLabelAssignments::Starts(starts)) => return starts,
            Some(ValueLabelAssignments::Alias { value: other, .. }) => value = *other,
            None => break,
        }
    }
    &[]
}

fn value_place(place: ContextPlace, view: &FunctionView<'_>) -> LabelValueLoc {
    match place {
        ContextPlace::Reg(reg) => LabelValueLoc::Reg(Reg::from(real_reg(reg))),
        ContextPlace::Stack(offset) => {
            LabelValueLoc::CFAOffset(i64::from(offset) - i64::from(view.function.head.frame.size))
        }
    }
}

/// Returns the stack map of one call.
fn stack_map(entries: &[StackMapEntry]) -> StackMap {
    let mut by_type: Vec<(ir::Type, CompoundBitSet)> = Vec::new();
    for entry in entries {
        let ty = ir::Type::int(entry.ty.bits() as u16).unwrap_or(types::I64);
        let index = by_type.iter().position(|(known, _)| *known == ty).unwrap_or_else(|| {
            by_type.push((ty, CompoundBitSet::new()));
            by_type.len() - 1
        });
        by_type[index].1.insert(entry.offset as usize);
    }
    (by_type, Some(0))
}

fn frame_layout(view: &FunctionView<'_>, func: &ir::Function) -> Option<MachBufferFrameLayout> {
    let mut layout = MachBufferFrameLayout {
        frame_to_fp_offset: view.function.head.frame.body_offset,
        stackslots: SecondaryMap::new(),
    };
    for (slot, keyed) in keyed_slots(view, func) {
        let described = &mut layout.stackslots[slot];
        (described.offset, described.key) = (keyed.offset, Some(ir::StackSlotKey::new(keyed.key)));
    }
    (!view.keyed_slots.is_empty()).then_some(layout)
}

/// Returns the slots with keys. Both sides have them in the order of the source.
fn keyed_slots<'a>(
    view: &'a FunctionView<'_>,
    func: &'a ir::Function,
) -> impl Iterator<Item = (ir::StackSlot, &'a KeyedSlot)> {
    let keyed = func.sized_stack_slots.iter().filter(|(_, data)| data.key.is_some());
    keyed.map(|(slot, _)| slot).zip(view.keyed_slots)
}

/// Returns a tag in Cranelift's form; `None` for a slot without a key, because it cannot be identified.
fn debug_tag(tag: DebugTag, view: &FunctionView<'_>, func: &ir::Function) -> Option<ir::DebugTag> {
    match tag {
        DebugTag::User(number) => Some(ir::DebugTag::User(number)),
        DebugTag::StackSlot(offset) => {
            let (slot, _) = keyed_slots(view, func).find(|(_, keyed)| keyed.offset == offset)?;
            Some(ir::DebugTag::StackSlot(slot))
        }
    }
}

/// Passes the steps of the prologue to `step` in Cranelift's form, which has no steps for epilogues.
fn unwind(view: &FunctionView<'_>, mut step: impl FnMut(u32, UnwindInst)) {
    let saved_below = |op| if let UnwindOp::Saved(_, below) = op { below } else { 0 };
    let lowest = view.unwind.iter().map(|site| saved_below(site.op)).max().unwrap_or(0);
    // Registers that are saved before the frame pointer is set belong to the frame link.
    let (mut in_epilogue, mut cfa) = (false, None);
    for site in view.unwind {
        match site.op {
            UnwindOp::EpilogueBegin => in_epilogue = true,
            UnwindOp::EpilogueEnd => in_epilogue = false,
            _ if in_epilogue => {}
            UnwindOp::CfaStackPointer(offset_upward_to_caller_sp) => {
                step(site.offset, UnwindInst::PushFrameRegs { offset_upward_to_caller_sp });
            }
            UnwindOp::CfaFramePointer(offset_upward_to_caller_sp) => {
                cfa = Some(offset_upward_to_caller_sp);
                let offset_downward_to_clobbers = lowest.saturating_sub(offset_upward_to_caller_sp);
                step(
                    site.offset,
                    UnwindInst::DefineNewFrame { offset_upward_to_caller_sp, offset_downward_to_clobbers },
                );
            }
            UnwindOp::Saved(reg, below) => {
                if let Some(cfa) = cfa {
                    let clobber_offset = lowest.max(cfa) - below;
                    step(site.offset, UnwindInst::SaveReg { clobber_offset, reg: real_reg(reg) });
                }
            }
            UnwindOp::SignedReturnToggled => {
                step(site.offset, UnwindInst::Aarch64SetPointerAuth { return_addresses: true });
            }
            UnwindOp::CfaPopped(_) | UnwindOp::Restored(_) | UnwindOp::Allocated(_) => {}
        }
    }
}

/// Returns a register. Both sides number registers like the instructions do.
fn real_reg(reg: PReg) -> RealReg {
    let class = match reg.class() {
        RegClass::Int => regalloc2::RegClass::Int,
        RegClass::Float => regalloc2::RegClass::Float,
    };
    regalloc2::PReg::new(reg.enc().into(), class).into()
}

fn trap_code(code: kingpost_ir::TrapCode) -> ir::TrapCode {
    NonZeroU8::new(code.byte()).map(ir::TrapCode::from_raw).expect("no trap code is 0")
}

/// Returns the name of a symbol; `None` for constants.
fn external_name(name: &SymbolName, func: &mut ir::Function) -> Option<ir::ExternalName> {
    Some(match name {
        SymbolName::Named(word) => ir::ExternalName::testcase(word.as_bytes()),
        SymbolName::User(_, index) => ir::ExternalName::user(ir::UserExternalNameRef::from_u32(*index)),
        SymbolName::LibCall(libcall) => match lib_call_back(*libcall) {
            Some(libcall) => ir::ExternalName::LibCall(libcall),
            None => ir::ExternalName::user(func.params.ensure_user_func_name(library::user_name(*libcall))),
        },
        SymbolName::KnownSymbol(KnownSymbol::ElfGlobalOffsetTable) => {
            ir::ExternalName::KnownSymbol(ir::KnownSymbol::ElfGlobalOffsetTable)
        }
        SymbolName::KnownSymbol(KnownSymbol::CoffTlsIndex) => {
            ir::ExternalName::KnownSymbol(ir::KnownSymbol::CoffTlsIndex)
        }
        SymbolName::Literal(_) => return None,
    })
}

/// Returns the place and kind of the relocation in Cranelift's form. The relocations of four moves become a single
/// one of a word, see `literals.rs`.
///
/// # Errors
/// If Cranelift does not have the relocation.
fn reloc(offset: u32, kind: RelocKind) -> CodegenResult<Option<(u32, Reloc)>> {
    let reloc = match kind {
        RelocKind::Abs8 => Reloc::Abs8,
        RelocKind::Abs4 => Reloc::Abs4,
        RelocKind::X86PcRel4 => Reloc::X86PCRel4,
        RelocKind::X86CallPcRel4 => Reloc::X86CallPCRel4,
        RelocKind::X86CallPltRel4 => Reloc::X86CallPLTRel4,
        RelocKind::X86GotPcRel4 => Reloc::X86GOTPCRel4,
        RelocKind::Aarch64Call => Reloc::Arm64Call,
        RelocKind::Aarch64AdrPage => Reloc::Aarch64AdrPrelPgHi21,
        RelocKind::Aarch64AddLo12 => Reloc::Aarch64AddAbsLo12Nc,
        RelocKind::Aarch64AdrGotPage => Reloc::Aarch64AdrGotPage21,
        RelocKind::Aarch64LdGotLo12 => Reloc::Aarch64Ld64GotLo12Nc,
        RelocKind::X86TlsGd => Reloc::ElfX86_64TlsGd,
        RelocKind::X86SecRel => Reloc::X86SecRel,
        RelocKind::Aarch64TlsDescAdrPage => Reloc::Aarch64TlsDescAdrPage21,
        RelocKind::Aarch64TlsDescLdLo12 => Reloc::Aarch64TlsDescLd64Lo12,
        RelocKind::Aarch64TlsDescAddLo12 => Reloc::Aarch64TlsDescAddLo12,
        RelocKind::Aarch64TlsDescCall => Reloc::Aarch64TlsDescCall,
        RelocKind::X86Tlv => Reloc::MachOX86_64Tlv,
        RelocKind::Aarch64TlvPage => Reloc::MachOAarch64TlsAdrPage21,
        RelocKind::Aarch64TlvLo12 => Reloc::MachOAarch64TlsAdrPageOff12,
        RelocKind::Aarch64Ld32Lo12
        | RelocKind::Aarch64Ld64Lo12
        | RelocKind::Aarch64Ld128Lo12
        | RelocKind::Aarch64SecRelHi12
        | RelocKind::Aarch64SecRelLo12 => {
            return Err(CodegenError::Unsupported(format!("a relocation {kind:?}")));
        }
        RelocKind::Aarch64MovwG0 => return Ok(Some((offset + literals::WORD, Reloc::Abs8))),
        RelocKind::Aarch64MovwG1 | RelocKind::Aarch64MovwG2 | RelocKind::Aarch64MovwG3 => return Ok(None),
    };
    Ok(Some((offset, reloc)))
}
