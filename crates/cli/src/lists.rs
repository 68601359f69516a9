//! What there is: settings, targets, opcodes.

use crate::args::OpcodesArgs;
use crate::diagnostics::complain;
use crate::outcome::{Outcome, Verdict};
use crate::{output, target};
use kingpost_codegen::{CpuFlags, Settings, TARGETS};
use kingpost_ir::Opcode;
use kingpost_ir::docs::opcode_doc;
use kingpost_ir::near::near_suffix;
use std::fmt::Write as _;
use std::io::Write;

/// All settings, and the flags of an instruction set, with their meanings and what they are by default.
pub(crate) fn settings(flags: Option<CpuFlags>) -> String {
    let mut text = "Settings, with their values unless set:\n".to_string();
    for ((key, doc), value) in Settings::KEYS.iter().zip(target::defaults().values()) {
        let _ = writeln!(text, "  {:<45} {doc}", format!("{key}={value}"));
    }
    let Some(flags) = flags else { return text };
    text += "\nFlags of the instruction set, off unless set:\n";
    for (flag, doc) in flags.known() {
        let _ = writeln!(text, "  {flag:<45} {doc}");
    }
    text + "\nNames of processors and levels, as `haswell` or `x86-64-v3`, set several flags.\n"
}

/// All targets.
pub(crate) fn targets() -> String {
    let mut text = "Architectures; alone each stands for Linux, as in `--target aarch64`:\n".to_string();
    for (name, doc) in TARGETS {
        let _ = writeln!(text, "  {name:<10} {doc}");
    }
    text
}

/// Explains opcodes, or lists them.
pub(crate) fn opcodes(args: &OpcodesArgs) -> Outcome {
    let mut out = output::stdout();
    let mut verdict = Verdict::Good;
    if args.names.is_empty() {
        for opcode in Opcode::ALL {
            let doc = opcode.info().doc;
            let sentence = doc.split_inclusive(". ").next().unwrap_or(doc).trim_end();
            writeln!(out, "{:<30} {sentence}", opcode.name())?;
        }
    }
    for name in &args.names {
        match Opcode::from_name(name.as_bytes()) {
            Some(opcode) => write!(out, "{}", opcode_doc(opcode))?,
            None => {
                let near = near_suffix(name, Opcode::ALL.iter().map(|opcode| opcode.name()));
                complain(&format!("there is no opcode `{name}`{near}"));
                verdict = Verdict::Bad;
            }
        }
    }
    out.flush()?;
    Ok(verdict)
}
