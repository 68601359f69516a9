//! The object that is read back, and its symbols and relocations in the form of the assembler.

use super::text::Text;
use crate::error::ObjectError;
use kingpost_mach::RelocKind;
use object::read::elf::{ElfFile64, ElfSymbol64};
use object::{LittleEndian, Object, ObjectSymbol, SymbolFlags, SymbolKind, elf};

/// An object that is read back.
pub(super) type File<'data> = ElfFile64<'data, LittleEndian>;

/// Returns the error for an object that `elf.rs` would not write.
pub(super) fn malformed(error: object::Error) -> ObjectError {
    ObjectError::Format(error.to_string())
}

/// Refuses names that the assembler would misread: names of its own labels and sections, and names with control
/// characters.
pub(super) fn check_names(file: &File<'_>) -> Result<(), ObjectError> {
    for symbol in file.symbols().filter(|symbol| !symbol.is_local()) {
        let name = symbol.name().map_err(malformed)?;
        if name.starts_with('.') || name.contains(char::is_control) {
            return Err(ObjectError::Name(name.into()));
        }
    }
    Ok(())
}

/// Declares a symbol, unless it is a local label of the assembler, and returns its name.
pub(super) fn declare(symbol: &ElfSymbol64<'_, '_, LittleEndian>, text: &mut Text) -> Result<String, ObjectError> {
    let name = quoted(symbol.name().map_err(malformed)?);
    if symbol.is_local() && name.starts_with('.') {
        return Ok(name);
    }
    if symbol.is_weak() {
        text.line(format_args!(".weak {name}"));
    } else if symbol.is_global() {
        text.line(format_args!(".globl {name}"));
    }
    if let SymbolFlags::Elf { st_other, .. } = symbol.flags()
        && st_other & 3 == elf::STV_HIDDEN
    {
        text.line(format_args!(".hidden {name}"));
    }
    let kind = match symbol.kind() {
        SymbolKind::Text => "function",
        SymbolKind::Tls => "tls_object",
        _ => "object",
    };
    text.line(format_args!(".type {name}, %{kind}"));
    text.line(format_args!(".size {name}, {}", symbol.size()));
    Ok(name)
}

/// Returns the name of a symbol in the form of the assembler.
pub(super) fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let is_word = !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(is_plain);
    if is_word && !is_reserved(name) {
        name.into()
    } else {
        format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

/// Prefixes that are register names together with a number, on either machine.
const NUMBERED: [&str; 20] = [
    "r", "st", "mm", "xmm", "ymm", "zmm", "tmm", "k", "cr", "dr", "db", "tr", "bnd", "x", "w", "b", "h", "s", "d", "q",
];

/// Registers and operators without a number.
const RESERVED: [&str; 80] = [
    "ah", "al", "and", "ax", "bcst", "bh", "bl", "bp", "bpl", "bx", "byte", "ch", "cl", "cs", "cx", "dh", "di", "dil",
    "dl", "ds", "dword", "dx", "eax", "ebp", "ebx", "ecx", "edi", "edx", "eip", "eiz", "eq", "es", "esi", "esp", "far",
    "flat", "fp", "fs", "fword", "ge", "gs", "gt", "le", "lr", "lt", "mmword", "mod", "ne", "near", "not", "offset",
    "or", "oword", "ptr", "qword", "rax", "rbp", "rbx", "rcx", "rdi", "rdx", "rip", "riz", "rsi", "rsp", "shl",
    "short", "shr", "si", "sil", "sp", "spl", "ss", "st", "tbyte", "word", "wsp", "wzr", "xor", "xzr",
];

/// Returns `true` if the name, in either case, is a register or operator of an assembler.
pub(super) fn is_reserved(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let letters = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
    let is_register = NUMBERED.contains(&&name[..letters]) && (1..=3).contains(&(name.len() - letters));
    is_register || RESERVED.contains(&&*name) || name.ends_with("mmword")
}

/// Returns the name of the relocation in `.reloc`. Only x86-64 has instructions whose relocations are written out.
pub(super) fn relocation_name(kind: RelocKind) -> Result<&'static str, ObjectError> {
    Ok(match kind {
        RelocKind::Abs8 => "R_X86_64_64",
        RelocKind::X86PcRel4 => "R_X86_64_PC32",
        RelocKind::X86CallPcRel4 | RelocKind::X86CallPltRel4 => "R_X86_64_PLT32",
        RelocKind::X86GotPcRel4 => "R_X86_64_GOTPCREL",
        RelocKind::X86TlsGd => "R_X86_64_TLSGD",
        _ => return Err(ObjectError::Relocation(kind)),
    })
}
