//! Hints on how to correct an error.

use kingpost_ir::Opcode;
use kingpost_ir::near::near_names;
use kingpost_ir::type_class::TypeClass;

use crate::error::ErrorKind;

/// Opcodes that documents about the language still mention although they were removed, and their replacements.
const REMOVED: &[(&str, &str)] = &[
    ("isub_imm", "`iconst` and `isub`"),
    ("irsub_imm", "`iconst` and `isub` with the constant first"),
    ("bint", "`uextend`, as comparisons have type i8"),
    ("bextend", "`bmask`"),
    ("breduce", "`ireduce`"),
    ("bconst", "`iconst.i8`"),
    ("brz", "`brif` with the blocks exchanged"),
    ("brnz", "`brif`"),
    ("br_icmp", "`icmp` and `brif`"),
    ("brif_icmp", "`icmp` and `brif`"),
    ("fallthrough", "`jump`"),
    ("fallthrough_return", "`return`"),
    ("copy", "an alias, as in `v2 -> v1`"),
    ("selectif", "`icmp` and `select`"),
    ("raw_bitcast", "`bitcast`"),
    ("isplit_lohi", "`isplit`"),
    ("iconcat_lohi", "`iconcat`"),
    ("heap_addr", "the check as `icmp` and `trapnz`, and `iadd`"),
    ("table_addr", "the check as `icmp` and `trapnz`, and `iadd`"),
    ("global_value", "`symbol_value`"),
    ("ifcmp", "`icmp`"),
    ("trapif", "`icmp` and `trapnz`"),
    ("fcvt_low_from_sint", "`swiden_low` and `fcvt_from_sint`"),
    ("resumable_trap", "`trap`"),
    ("fmin_pseudo", "`fcmp` and `select` or `bitselect`"),
    ("fmax_pseudo", "`fcmp` and `select` or `bitselect`"),
    ("stack_load", "`stack_addr` and `load`"),
    ("stack_store", "`stack_addr` and `store`"),
];

impl ErrorKind {
    /// Returns the hint for an error, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            ErrorKind::UnknownOpcode(name) => {
                removed(name).or_else(|| near(name, Opcode::ALL.iter().map(|op| op.name())))
            }
            ErrorKind::UnknownType(name) => {
                let names: Vec<String> = TypeClass::Any.set().iter().map(|ty| ty.to_string()).collect();
                near(name, names.iter().map(String::as_str))
            }
            ErrorKind::SuffixNotAllowed(opcode) => Some(format!("write `{opcode}`")),
            ErrorKind::CannotInfer { opcode, .. } => Some(format!("write the type, as in `{opcode}.i32`")),
            ErrorKind::BadControllingType { opcode, .. } => {
                let class = opcode.info().class;
                Some(format!("{}: {}", class.name(), class.description().to_lowercase()))
            }
            ErrorKind::InstructionOutsideBlock => Some("begin the function with `block0:`".into()),
            ErrorKind::UndefinedValue(number) => {
                Some(format!("every use needs a definition `v{number} = …` in the function"))
            }
            ErrorKind::Expected { found, .. } if found.is_empty() => Some("is a `}` missing?".into()),
            _ => None,
        }
    }
}

/// Returns the hint for an opcode that was removed from the language.
fn removed(name: &str) -> Option<String> {
    let exact = REMOVED.iter().find(|(removed, _)| *removed == name);
    let instead = exact.map(|(_, instead)| (*instead).to_string()).or_else(|| {
        let plain = name.strip_suffix("_imm")?;
        Opcode::from_name(plain.as_bytes()).map(|opcode| format!("`iconst` and `{opcode}`"))
    })?;
    Some(format!("the language has `{name}` no longer: write {instead}"))
}

fn near<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let names: Vec<String> = near_names(name, known).iter().map(|name| format!("`{name}`")).collect();
    (!names.is_empty()).then(|| format!("near: {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_opcodes_are_no_opcodes() {
        for (name, _) in REMOVED {
            assert_eq!(Opcode::from_name(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn hints() {
        let opcode = |name: &str| ErrorKind::UnknownOpcode(name.into()).hint();
        assert!(opcode("ad").unwrap().contains("`iadd`"));
        assert!(opcode("iadd_imm").unwrap().ends_with("write `iconst` and `iadd`"));
        assert!(opcode("brz").unwrap().ends_with("write `brif` with the blocks exchanged"));
        assert_eq!(opcode("nonsense_and_more"), None);
        assert!(ErrorKind::UnknownType("i33".into()).hint().unwrap().contains("`i32`"));
    }
}
