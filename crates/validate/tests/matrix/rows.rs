//! The rows of the matrix: the functions around each scalar opcode at each type, the patterns of each tile, other
//! patterns, and functions whose code depends on settings.

use super::forms;
use kingpost_ir::atomic_rmw_op::AtomicRmwOp;
use kingpost_ir::types::{F32, F64, I8, I16, I32, I64, I128};
use kingpost_ir::{Function, Opcode, Type};
use kingpost_testgen::opcode_cases::{self, Case, Operand};
use std::path::Path;

/// Functions that are proved together.
pub(crate) struct Functions {
    /// Opcode and type, or the name of a tile.
    pub(crate) name: String,
    pub(crate) texts: Vec<String>,
    /// Whether they are compiled with each of the settings, instead of with each processor and level.
    pub(crate) by_settings: bool,
}

/// Returns the rows of a machine.
pub(crate) fn of_machine(machine: &str) -> Vec<Functions> {
    let mut rows = of_opcodes();
    rows.extend([I16, I32, I64, I128].map(big_atomics));
    rows.extend(tiles(machine));
    rows.extend(of_text("pattern", include_str!("patterns.clif")));
    rows.extend(of_text("pattern", include_str!("places.clif")));
    let settings = of_text("setting", include_str!("settings.clif"));
    rows.extend(settings.into_iter().map(|row| Functions { by_settings: true, ..row }));
    rows
}

/// Returns the rows of all scalar opcodes, in the order of their table.
fn of_opcodes() -> Vec<Functions> {
    let cases: Vec<Case> = opcode_cases::all().into_iter().filter(is_scalar).collect();
    let comparisons = comparisons(&cases);
    let mut rows: Vec<Functions> = Vec::new();
    for case in &cases {
        let name = format!("{}.{}", case.opcode, case.type_name());
        // Variants of an opcode share a row.
        let index = rows.iter().position(|row| row.name == name).unwrap_or(rows.len());
        if index == rows.len() {
            rows.push(Functions { name, texts: Vec::new(), by_settings: false });
        }
        rows[index].texts.extend(forms::functions(case, &comparisons));
    }
    rows
}

/// Returns the row of the atomic operations on big-endian memory.
fn big_atomics(ty: Type) -> Functions {
    let function = |op: &AtomicRmwOp| {
        format!(
            "function %f(i64, {ty}) -> {ty} {{ block0(v0: i64, v1: {ty}): \
             v2 = atomic_rmw.{ty} big {op} v0, v1 return v2 }}"
        )
    };
    Functions {
        name: format!("big_atomic_rmw.{ty}"),
        texts: AtomicRmwOp::ALL.iter().map(function).collect(),
        by_settings: false,
    }
}

fn is_scalar(case: &Case) -> bool {
    let types = case.operand_types().into_iter().chain(case.result_types()).chain([case.ty]);
    types.into_iter().all(|ty| ty.is_invalid() || !ty.is_vector())
}

/// Returns the comparisons of all conditions as operands.
fn comparisons(cases: &[Case]) -> Vec<Operand> {
    let is_compared = |case: &&Case| {
        let types: &[Type] = if case.opcode == Opcode::Icmp { &[I8, I32, I64] } else { &[F32, F64] };
        matches!(case.opcode, Opcode::Icmp | Opcode::Fcmp) && types.contains(&case.ty)
    };
    cases.iter().filter(is_compared).filter_map(Case::as_operand).collect()
}

/// Returns the functions on which the tests of an instruction set see each of its tiles fire.
fn tiles(machine: &str) -> Vec<Functions> {
    let folder = match machine {
        "x86_64" => "isa-x64",
        _ => "isa-aarch64",
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder).join("tests/tiles.clif");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    of_text("tile", &text)
}

/// Returns a row for each function of a text. Names begin with `kind`.
fn of_text(kind: &str, text: &str) -> Vec<Functions> {
    let functions = kingpost_reader::parse_functions(text).unwrap();
    let row = |func: &Function| Functions {
        name: format!("{kind}.{}", func.name),
        texts: vec![func.to_string()],
        by_settings: false,
    };
    functions.iter().map(row).collect()
}
