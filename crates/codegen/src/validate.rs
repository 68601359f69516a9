//! Proof of the emitted code: the stage of the setting `validate_code`.
//!
//! Converts the tables of a compiled function to the form that the validator reads. The validator trusts none of them.

use crate::compiler::{Compiler, Context, StageMemory};
use crate::error::CompileError;
use crate::proofs::{Proofs, Reference};
use crate::stage::Stage;
use crate::stages::{ProofCounts, Stages};
use crate::targets::CpuFlags;
use kingpost_ir::Function;
use kingpost_mach::block_order::MachineBlock;
use kingpost_mach::settings::{OptLevel, ValidateCode, ValidateFailure};
use kingpost_mach::{
    ContextPlace, CpuFeatures, FunctionView, HandlerSite, LowerState, ModuleBuffer, Reloc, RelocKind, SymbolName,
};
use kingpost_regalloc::RegClass;
use kingpost_regalloc::cost::Cost;
use kingpost_validate::{
    Code, Handler, Head, Machine, Relocation, RelocationKind, Report, Symbol, Verdict, prove_with_heads,
};
use std::fmt::Write;
use std::sync::PoisonError;
use std::time::Duration;
use target_lexicon::Architecture;

/// Limit of the solver's processor time for one obligation.
const SOLVER_LIMIT: Duration = Duration::from_secs(2);

/// Keeps `func` as it was read, if the settings ask for it.
pub(crate) fn begin(compiler: &Compiler, cx: &mut StageMemory, func: &Function) {
    cx.proofs.report = None;
    cx.proofs.heads.clear();
    let is_reference = compiler.validates() && compiler.settings().opt_level == OptLevel::None;
    cx.proofs.input = (is_reference || compiler.replacement().is_some()).then(|| Box::new(func.clone()));
}

/// Returns the function compiled last, as it was read.
pub(crate) fn take_input(cx: &mut Context) -> Option<Box<Function>> {
    cx.stages.get_mut().proofs.input.take()
}

/// Returns `true` unless the code of the last function was kept without a proof. A cache would keep it silently.
pub(crate) fn may_be_cached(cx: &Context) -> bool {
    cx.proof().is_none_or(|report| !has_failed(&report.verdict))
}

/// Proves that the function emitted last means what `func` means, if the setting `validate_code` is on. A failure is an
/// error, unless it is only reported.
pub(crate) fn run(
    compiler: &Compiler,
    cx: &mut StageMemory,
    func: &Function,
    module: &mut ModuleBuffer,
    s: &mut Stages<'_>,
) -> Result<(), CompileError> {
    let (mode, policy) = (compiler.settings().validate_code, compiler.settings().validate_failure);
    let ends_before = |last: Stage| (last as usize) < Stage::Validate as usize;
    if mode == ValidateCode::Off || s.options.stop_after.is_some_and(ends_before) {
        return Ok(());
    }
    let StageMemory { proofs, lowering, .. } = cx;
    let view = module.function(module.len() - 1);
    let is_observed = s.options.list || s.takes(Stage::Validate);
    let proof = s.run(Stage::Validate, || {
        let code = code(compiler, lowering, func, &view);
        Ok::<_, CompileError>(proof(compiler, proofs, func, &code, is_observed))
    });
    let (report, reference) = proof.inspect_err(|_| module.pop_function())?;
    s.dump(|| text(func, &report, &reference, &proofs.heads));
    count(&mut s.stats.proofs, &report.verdict);
    let failure = has_failed(&report.verdict).then(|| report.verdict.to_string());
    proofs.report = Some((report, reference));
    match failure {
        None => Ok(()),
        Some(failure) if policy == ValidateFailure::Report => {
            log::warn!("{}: the emitted code is {failure}", func.name);
            Ok(())
        }
        Some(report) => {
            let cost = || Cost::of(&cx.code.problem, compiler.isa().env(), &cx.allocation);
            s.uncount(module.last_code_bytes(), cost);
            module.pop_function();
            Err(CompileError::Unproved { report })
        }
    }
}

/// Proves code. Without the optimizer, the proof begins at the function as the compiler received it. If that gives no
/// verdict on the code, it begins at `func`, which lowering read.
fn proof(
    compiler: &Compiler,
    proofs: &mut Proofs,
    func: &Function,
    code: &Code<'_>,
    is_observed: bool,
) -> (Report, Reference) {
    let Proofs { solver, input, heads, .. } = proofs;
    let settings = compiler.settings();
    let mut prove = |func: &Function| {
        let solver = solver.get_mut().unwrap_or_else(PoisonError::into_inner);
        let solver = (settings.validate_code == ValidateCode::Solver).then_some((solver, SOLVER_LIMIT));
        if !is_observed {
            return kingpost_validate::prove(func, code, solver);
        }
        let (report, places) = prove_with_heads(func, code, solver);
        *heads = places;
        report
    };
    let input = match input {
        Some(input) if settings.opt_level == OptLevel::None => input,
        _ => return (prove(func), Reference::Optimized),
    };
    let report = prove(input);
    match report.verdict {
        Verdict::Proved | Verdict::Refuted(_) => (report, Reference::Read),
        verdict @ (Verdict::NotProved(_) | Verdict::OutOfScope(_)) => (prove(func), Reference::Expanded(verdict)),
    }
}

/// Returns the verdict on a function, with the places of values at the heads of its blocks.
fn text(func: &Function, report: &Report, reference: &Reference, heads: &[Head]) -> String {
    let mut text = format!("{}: {}, from the {} function\n", func.name, report.verdict, reference.name());
    for head in heads {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}, code+{:#x}:", head.block, head.offset);
        head.places.iter().for_each(|(value, place)| text += &format!("    {value} in {place}\n"));
    }
    text
}

/// Returns `true` if the validator knows the function and has no proof.
fn has_failed(verdict: &Verdict) -> bool {
    match verdict {
        Verdict::Proved | Verdict::OutOfScope(_) => false,
        Verdict::Refuted(_) | Verdict::NotProved(_) => true,
    }
}

fn count(counts: &mut ProofCounts, verdict: &Verdict) {
    let count = match verdict {
        Verdict::Proved => &mut counts.proved,
        Verdict::Refuted(_) => &mut counts.refuted,
        Verdict::NotProved(_) => &mut counts.not_proved,
        Verdict::OutOfScope(_) => &mut counts.out_of_scope,
    };
    *count += 1;
}

impl Context {
    /// Returns the report on the function compiled last, if the setting `validate_code` is on and the function was
    /// emitted. Of replaced code, it is the report on the code that replaced it.
    pub fn proof(&self) -> Option<&Report> {
        self.last().proofs.report.as_ref().map(|(report, _)| report)
    }

    /// Returns the places of values at the heads of the blocks of the function compiled last, if the setting
    /// `validate_code` is on and [`Options::list`](crate::Options::list) is set.
    pub fn proof_heads(&self) -> &[Head] {
        &self.last().proofs.heads
    }

    /// Returns the text from which the proof of [`Context::proof`] begins.
    pub fn proof_reference(&self) -> Option<&Reference> {
        self.last().proofs.report.as_ref().map(|(_, reference)| reference)
    }

    /// Returns the report on the code of the last function that the baseline's code replaced, if it did. The setting
    /// `validate_failure=recompile` replaces code without a proof.
    pub fn replaced_proof(&self) -> Option<&Report> {
        self.baseline.as_ref().and_then(|_| Some(&self.stages.get().proofs.report.as_ref()?.0))
    }
}

impl Compiler {
    /// Returns the code of the function that `cx` compiled last, with its tables, as the validator reads it. `func` is
    /// the function after its compilation. The setting `validate_code` must be on.
    pub fn code_to_prove<'a>(&self, cx: &Context, func: &Function, view: &FunctionView<'a>) -> Code<'a> {
        code(self, cx.lowering(), func, view)
    }
}

fn code<'a>(compiler: &Compiler, lowering: &LowerState, func: &Function, view: &FunctionView<'a>) -> Code<'a> {
    let machine = match compiler.triple().architecture {
        Architecture::Aarch64(_) => Machine::Aarch64,
        _ => Machine::X64,
    };
    let origins = lowering.machine_blocks();
    let heads = view.block_heads.iter().filter_map(|head| match origins.get(head.block as usize) {
        Some(MachineBlock::Ir(block)) => Some((*block, head.offset)),
        _ => None,
    });
    let known = CpuFlags::of(compiler.triple().architecture, &[]).map_or(&[][..], |flags| flags.known());
    let is_on = |name| compiler.isa().features().contains(CpuFeatures::of(name, known));
    let features = known.iter().filter(|&&(name, _)| is_on(name)).filter_map(|(name, _)| name.strip_prefix("has_"));
    let frame = view.function.head.frame;
    let bottom = i64::from(frame.slots_offset) - i64::from(frame.size);
    Code {
        machine,
        features: features.collect(),
        canonical_nans: compiler.settings().enable_nan_canonicalization,
        llvm_results: compiler.settings().enable_llvm_abi_extensions,
        bytes: view.code,
        end: view.function.data_offset,
        heads: heads.collect(),
        traps: view.traps.iter().map(|site| (site.offset, site.code)).collect(),
        handlers: view.handlers.iter().map(handler).collect(),
        body_offset: frame.body_offset.into(),
        frame_bytes: Some(frame.size.into()),
        relocations: view.relocs.iter().map(|reloc| relocation(reloc, view.symbols)).collect(),
        slots: func.stack_slots.keys().map(|slot| bottom + lowering.slot_offset(slot) as i64).collect(),
    }
}

fn handler(site: &HandlerSite) -> Handler {
    let context = site.context.map(|place| match place {
        ContextPlace::Reg(register) if register.class() == RegClass::Int => {
            kingpost_validate::ContextPlace::General(register.enc().into())
        }
        ContextPlace::Reg(register) => kingpost_validate::ContextPlace::Vector(register.enc().into()),
        ContextPlace::Stack(offset) => kingpost_validate::ContextPlace::Stack(offset),
    });
    Handler { return_offset: site.return_offset, tag: site.tag, offset: site.handler_offset, context }
}

fn relocation(reloc: &Reloc, symbols: &[SymbolName]) -> Relocation {
    let symbol = match &symbols[reloc.symbol as usize] {
        SymbolName::Literal(literal) => Symbol::Literal(literal.bytes().to_vec()),
        name => Symbol::Named(name.to_string()),
    };
    let kind = match reloc.kind {
        RelocKind::Abs8 => RelocationKind::Address,
        RelocKind::Abs4 => RelocationKind::Other("an absolute address of 32 bits"),
        RelocKind::X86PcRel4 | RelocKind::X86CallPcRel4 | RelocKind::X86CallPltRel4 => RelocationKind::Distance,
        RelocKind::X86GotPcRel4 => RelocationKind::PointerDistance,
        RelocKind::Aarch64Call
        | RelocKind::Aarch64AdrPage
        | RelocKind::Aarch64AddLo12
        | RelocKind::Aarch64Ld32Lo12
        | RelocKind::Aarch64Ld64Lo12
        | RelocKind::Aarch64Ld128Lo12
        | RelocKind::Aarch64MovwG0
        | RelocKind::Aarch64MovwG1
        | RelocKind::Aarch64MovwG2
        | RelocKind::Aarch64MovwG3 => RelocationKind::Address,
        RelocKind::Aarch64AdrGotPage | RelocKind::Aarch64LdGotLo12 => RelocationKind::Pointer,
        RelocKind::X86SecRel
        | RelocKind::X86TlsGd
        | RelocKind::Aarch64TlsDescAdrPage
        | RelocKind::Aarch64TlsDescLdLo12
        | RelocKind::Aarch64TlsDescAddLo12
        | RelocKind::Aarch64TlsDescCall
        | RelocKind::X86Tlv
        | RelocKind::Aarch64SecRelHi12
        | RelocKind::Aarch64SecRelLo12
        | RelocKind::Aarch64TlvPage
        | RelocKind::Aarch64TlvLo12 => RelocationKind::Other("a thread-local symbol"),
    };
    Relocation { offset: reloc.offset, kind, symbol, addend: reloc.addend }
}
