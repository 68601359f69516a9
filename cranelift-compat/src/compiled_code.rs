//! What was compiled, in Cranelift's form.
//!
//! Only Cranelift's own ways to compile set what `Context::compiled_code` returns. One of them looks into a cache first: it
//! is given an empty function and a cache that has our code for it.

use crate::translate::lib_call_back;
use crate::{library, literals, stack_map};
use cranelift_codegen::binemit::Reloc;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::incremental_cache::{CacheKvStore, serialize_compiled};
use cranelift_codegen::ir::function::FunctionParameters;
use cranelift_codegen::ir::{self, InstBuilder, RelSourceLoc, SourceLoc};
use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::isa::unwind::UnwindInst;
use cranelift_codegen::isa::x64::{EmitState, Inst};
use cranelift_codegen::{
    CodegenError, CodegenResult, CompiledCode, Context, FrameLayout, MachBuffer, MachBufferFrameLayout,
    MachDebugTagPos, RealReg, VCodeConstants,
};
use kingpost_ir::libcall::KnownSymbol;
use kingpost_mach::{DebugTag, FunctionView, KeyedSlot, RelocKind, SymbolName, UnwindOp};
use kingpost_regalloc::{PReg, RegClass};
use std::borrow::Cow;
use std::num::NonZeroU8;

/// Makes compiled code known as Cranelift's contexts have it.
pub(crate) struct Publisher {
    /// Turns a buffer and a listing into an entry of the cache. The type of what it owns for that has no name.
    serialize: Box<Serialize>,
    /// The empty function, in place of a context's own during publication.
    empty: ir::Function,
    events: Vec<(u32, Event)>,
    /// The code, and constants behind it.
    code: Vec<u8>,
}

type Serialize = dyn FnMut(MachBuffer<Inst>, Option<String>) -> Option<Vec<u8>> + Send;

/// What Cranelift's buffer notes at the offset that it has reached.
#[derive(Clone)]
enum Event {
    SrcLoc(u32),
    Trap(ir::TrapCode),
    Unwind(UnwindInst),
    Patchable(u32),
    Call,
    StackMap(std::ops::Range<usize>),
    Tag(MachDebugTagPos, ir::DebugTag),
}

/// A cache with one entry, for every function.
struct Entry(Vec<u8>);

impl CacheKvStore for Entry {
    fn get(&self, _key: &[u8]) -> Option<Cow<'_, [u8]>> {
        Some(Cow::Borrowed(&self.0))
    }

    fn insert(&mut self, _key: &[u8], _value: Vec<u8>) {}
}

impl Publisher {
    /// Publishes code for `isa`.
    ///
    /// # Errors
    /// If `isa` cannot compile an empty function.
    pub(crate) fn new(isa: &dyn TargetIsa) -> CodegenResult<Publisher> {
        let mut empty = ir::Function::new();
        let block = empty.dfg.make_block();
        empty.layout.append_block(block);
        FuncCursor::new(&mut empty).at_bottom(block).ins().return_(&[]);
        let mut context = Context::for_function(empty.clone());
        let mut code = Some(context.compile_stencil(isa, &mut ControlPlane::default())?);
        let serialize = move |buffer: MachBuffer<Inst>, listing| {
            let mut stencil = code.take()?;
            let nop_units = std::mem::take(&mut stencil.buffer.nop_units);
            stencil.buffer = buffer.finish(&VCodeConstants::default(), &mut ControlPlane::default());
            stencil.buffer.nop_units = nop_units;
            stencil.vcode = listing;
            let (stencil, bytes) = serialize_compiled(stencil);
            code = Some(stencil);
            bytes.ok()
        };
        Ok(Publisher { serialize: Box::new(serialize), empty, events: Vec::new(), code: Vec::new() })
    }

    /// Sets the compiled code of `ctx` to `view`, which was compiled from its function, and `listing`.
    ///
    /// # Errors
    /// If Cranelift does not take it.
    pub(crate) fn publish<'a>(
        &mut self,
        isa: &dyn TargetIsa,
        view: &FunctionView<'_>,
        listing: Option<String>,
        ctx: &'a mut Context,
    ) -> CodegenResult<&'a CompiledCode> {
        let buffer = self.buffer(view, &mut ctx.func)?;
        let not_taken = || CodegenError::Unsupported("compiled code that Cranelift does not take".into());
        let entry = (self.serialize)(buffer, listing).ok_or_else(not_taken)?;
        // The empty function's parameters are the base of source locations, and nothing else.
        self.empty.params = FunctionParameters::new();
        self.empty.params.ensure_base_srcloc(ctx.func.params.base_srcloc());
        std::mem::swap(&mut ctx.func, &mut self.empty);
        let is_ours =
            matches!(ctx.compile_with_cache(isa, &mut Entry(entry), &mut ControlPlane::default()), Ok((_, true)));
        std::mem::swap(&mut ctx.func, &mut self.empty);
        if is_ours { ctx.compiled_code().ok_or_else(not_taken) } else { Err(not_taken()) }
    }

    /// Cranelift's buffer with the code and all tables.
    fn buffer(&mut self, view: &FunctionView<'_>, func: &mut ir::Function) -> CodegenResult<MachBuffer<Inst>> {
        let mut buffer = MachBuffer::new();
        let base = func.params.base_srcloc();
        for reloc in view.relocs {
            // Constants are part of the code.
            let Some(name) = external_name(&view.symbols[reloc.symbol as usize], func) else { continue };
            if let Some((offset, kind)) = self::reloc(reloc.offset, reloc.kind)? {
                buffer.add_reloc_at_offset(offset, kind, &name, reloc.addend);
            }
        }
        let align = literals::append(view, &mut self.code)?.max(view.function.head.align);
        self.collect(view, func);
        let mut state = EmitState::default();
        state.frame_layout =
            FrameLayout { fixed_frame_storage_size: view.function.head.frame.body_offset, ..FrameLayout::default() };
        let (mut at, mut in_srcloc) = (0, false);
        for (offset, event) in self.events.drain(..) {
            buffer.put_data(&self.code[at..offset as usize]);
            at = offset as usize;
            match event {
                Event::SrcLoc(bits) => {
                    if std::mem::take(&mut in_srcloc) {
                        buffer.end_srcloc();
                    }
                    if bits != u32::MAX {
                        buffer.start_srcloc(RelSourceLoc::from_base_offset(base, SourceLoc::new(bits)));
                        in_srcloc = true;
                    }
                }
                Event::Trap(code) => buffer.add_trap(code),
                Event::Unwind(inst) => buffer.add_unwind(inst),
                Event::Patchable(bytes) => buffer.add_patchable_call_site(bytes),
                Event::Call => buffer.add_call_site(),
                Event::StackMap(entries) => {
                    let map = stack_map::user_stack_map(&view.stack_maps[entries]);
                    buffer.push_user_stack_map(&state, offset, map);
                }
                Event::Tag(position, tag) => buffer.push_debug_tags(position, &[tag]),
            }
        }
        buffer.put_data(&self.code[at..]);
        if in_srcloc {
            buffer.end_srcloc();
        }
        if let Some(layout) = frame_layout(view, func) {
            buffer.set_frame_layout(layout);
        }
        buffer.set_log2_min_function_alignment(align.trailing_zeros() as u8);
        Ok(buffer)
    }

    /// Sets `self.events` to what stands at offsets, in their order.
    fn collect(&mut self, view: &FunctionView<'_>, func: &ir::Function) {
        let events = &mut self.events;
        events.clear();
        events.extend(view.srclocs.iter().map(|site| (site.offset, Event::SrcLoc(site.srcloc))));
        events.extend(view.traps.iter().map(|site| (site.offset, Event::Trap(trap_code(site.code)))));
        unwind(view, |offset, inst| events.push((offset, Event::Unwind(inst))));
        let patchable = view.patchable_calls.iter();
        events.extend(patchable.map(|call| (call.return_offset, Event::Patchable(call.bytes))));
        events.extend(view.calls.iter().map(|call| (call.return_offset, Event::Call)));
        let mut start = 0;
        for entries in view.stack_maps.chunk_by(|a, b| a.return_offset == b.return_offset) {
            events.push((entries[0].return_offset, Event::StackMap(start..start + entries.len())));
            start += entries.len();
        }
        let tags = view.debug_tags.iter();
        events.extend(tags.filter_map(|site| {
            let position = if site.of_call { MachDebugTagPos::Post } else { MachDebugTagPos::Pre };
            Some((site.offset, Event::Tag(position, debug_tag(site.tag, view, func)?)))
        }));
        // Sorting sorted runs takes linear time, and leaves what stands at one place in this order.
        events.sort_by_key(|&(offset, _)| offset);
    }
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

/// The slots with keys: both sides have them in the order of the source.
fn keyed_slots<'a>(
    view: &'a FunctionView<'_>,
    func: &'a ir::Function,
) -> impl Iterator<Item = (ir::StackSlot, &'a KeyedSlot)> {
    let keyed = func.sized_stack_slots.iter().filter(|(_, data)| data.key.is_some());
    keyed.map(|(slot, _)| slot).zip(view.keyed_slots)
}

/// A tag; of slots without key it is not known which one they are.
fn debug_tag(tag: DebugTag, view: &FunctionView<'_>, func: &ir::Function) -> Option<ir::DebugTag> {
    match tag {
        DebugTag::User(number) => Some(ir::DebugTag::User(number)),
        DebugTag::StackSlot(offset) => {
            let (slot, _) = keyed_slots(view, func).find(|(_, keyed)| keyed.offset == offset)?;
            Some(ir::DebugTag::StackSlot(slot))
        }
    }
}

/// The prologue's steps in Cranelift's terms, in which epilogues have none.
fn unwind(view: &FunctionView<'_>, mut step: impl FnMut(u32, UnwindInst)) {
    let saved_below = |op| if let UnwindOp::Saved(_, below) = op { below } else { 0 };
    let lowest = view.unwind.iter().map(|site| saved_below(site.op)).max().unwrap_or(0);
    // The registers saved by the link are those before the frame pointer is set.
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
            UnwindOp::CfaPopped(_) | UnwindOp::Restored(_) => {}
        }
    }
}

/// A register: both sides number them as the instructions do.
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

/// The name of a symbol; constants have none.
fn external_name(name: &SymbolName, func: &mut ir::Function) -> Option<ir::ExternalName> {
    Some(match name {
        SymbolName::Named(word) => ir::ExternalName::testcase(word.as_bytes()),
        SymbolName::User(namespace, index) => {
            let name = ir::UserExternalName::new(*namespace, *index);
            ir::ExternalName::user(func.params.ensure_user_func_name(name))
        }
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

/// The relocation that Cranelift has for one, and where. Those of moves are one of a word, see `literals.rs`.
///
/// # Errors
/// A relocation that Cranelift does not have.
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
        RelocKind::Aarch64TlsDescAdrPage => Reloc::Aarch64TlsDescAdrPage21,
        RelocKind::Aarch64TlsDescLdLo12 => Reloc::Aarch64TlsDescLd64Lo12,
        RelocKind::Aarch64TlsDescAddLo12 => Reloc::Aarch64TlsDescAddLo12,
        RelocKind::Aarch64TlsDescCall => Reloc::Aarch64TlsDescCall,
        RelocKind::Aarch64Ld32Lo12 | RelocKind::Aarch64Ld64Lo12 | RelocKind::Aarch64Ld128Lo12 => {
            return Err(CodegenError::Unsupported(format!("a relocation {kind:?}")));
        }
        RelocKind::Aarch64MovwG0 => return Ok(Some((offset + literals::WORD, Reloc::Abs8))),
        RelocKind::Aarch64MovwG1 | RelocKind::Aarch64MovwG2 | RelocKind::Aarch64MovwG3 => return Ok(None),
    };
    Ok(Some((offset, reloc)))
}
