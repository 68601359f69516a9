//! Comparison of an instruction set's rows with GNU `as`: the machine-independent part. The test of each instruction
//! set includes this file, so that no library depends on code that only tests need.
//!
//! All texts are assembled in one run, each at an offset of its own, so that one difference in length does not hide
//! the next one.

use kingpost_mach::{
    BranchForms, Buffer, FunctionHead, JumpTables, Mem, MemBase, ModuleBuffer, RelocKind, Row, RowConstraint,
    SymbolName, SymbolRef,
};
use kingpost_regalloc::{PReg, RegClass};
use object::{Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::process::Command;

/// Symbols that memory operands name.
pub(crate) const SYMBOLS: [SymbolRef; 3] = [
    SymbolRef { name: 0, colocated: true, offset: 0 },
    SymbolRef { name: 1, colocated: false, offset: 8 },
    SymbolRef { name: 2, colocated: true, offset: -300 },
];

/// Returns the memory operand for a symbol.
pub(crate) fn symbol(index: u32) -> Mem {
    Mem::base(MemBase::Symbol(index), 0)
}

/// Returns the classes of the operands of `row` whose registers can be chosen.
pub(crate) fn free_operands(row: &Row) -> Vec<RegClass> {
    let free =
        row.operands.iter().filter(|o| !matches!(o.constraint, RowConstraint::Fixed(_) | RowConstraint::Reuse(_)));
    free.map(|o| o.class).collect()
}

/// Returns registers for the operands of `row`, with `chosen` for the free ones, in order.
pub(crate) fn assign(row: &Row, chosen: &[PReg]) -> Vec<PReg> {
    let mut chosen = chosen.iter();
    let mut regs: Vec<Option<PReg>> = Vec::new();
    for operand in row.operands {
        regs.push(match operand.constraint {
            RowConstraint::Fixed(reg) => Some(reg),
            RowConstraint::Reuse(_) => None,
            _ => Some(*chosen.next().unwrap()),
        });
    }
    let register = |i: usize| match row.operands[i].constraint {
        RowConstraint::Reuse(k) => regs[usize::from(k)],
        _ => regs[i],
    };
    (0..regs.len()).map(|i| register(i).unwrap()).collect()
}

/// Returns register choices for operands of these classes: each of the `registers` of a class in each place, combined
/// with each set of `others`.
pub(crate) fn each_in_each_place(
    free: &[RegClass],
    others: &[&[u8]],
    registers: impl Fn(RegClass) -> Vec<PReg>,
) -> Vec<Vec<PReg>> {
    let mut out = Vec::new();
    for others in others {
        for k in 0..free.len() {
            for reg in registers(free[k]) {
                let mut regs: Vec<PReg> = free.iter().zip(*others).map(|(&class, &n)| PReg::new(class, n)).collect();
                regs[k] = reg;
                out.push(regs);
            }
        }
    }
    out
}

/// One relocation in the form that both sides have: offset, symbol, addend, ELF type.
type Fact = (u64, String, i64, u32);

/// Invocation of an assembler, and the interpretation of its output.
pub(crate) struct Assembler {
    /// Program with its options.
    pub(crate) program: &'static str,
    pub(crate) options: &'static [&'static str],
    /// Text at the beginning of the source.
    pub(crate) heading: &'static str,
    /// Byte between the texts.
    pub(crate) filler: u8,
    pub(crate) branches: &'static dyn BranchForms,
    /// ELF relocation types.
    pub(crate) elf_type: fn(RelocKind) -> u32,
    /// Maps ELF relocation types, with equal results for equivalent ones.
    pub(crate) same_type: fn(u32) -> u32,
    /// Formats the bytes of a difference.
    pub(crate) hex: fn(&[u8]) -> String,
}

/// Texts for the assembler, each with the offset of its code, and our code and relocations for them.
#[derive(Default)]
pub(crate) struct Cases {
    pub(crate) rows: usize,
    pub(crate) texts: Vec<(usize, String)>,
    pub(crate) buffer: Buffer,
}

impl Cases {
    /// Adds the case that `text` is assembled to the code that `emit` puts into the buffer.
    pub(crate) fn add_text(&mut self, text: String, emit: impl FnOnce(&mut Buffer)) {
        self.texts.push((self.buffer.len(), text));
        emit(&mut self.buffer);
    }
}

impl Assembler {
    /// Returns `true` if there is no assembler. That is an error, unless the environment allows tools to be missing.
    pub(crate) fn is_missing(&self, test: &str) -> bool {
        let found = Command::new(self.program).arg("--version").output().is_ok_and(|o| o.status.success());
        let may_skip = std::env::var_os("KINGPOST_WITHOUT_TOOLS").is_some();
        assert!(
            found || may_skip,
            "{test} needs {}, which `make deps` installs; KINGPOST_WITHOUT_TOOLS=1 skips the test",
            self.program
        );
        !found
    }

    /// Asserts that both sides produce equal bytes and relocations.
    pub(crate) fn compare(&self, cases: &mut Cases) {
        let (bytes, relocs) = self.ours(&mut cases.buffer);
        let (expected, expected_relocs) = self.assemble(&cases.texts, bytes.len());
        let ends = cases.texts.iter().skip(1).map(|&(offset, _)| offset).chain([bytes.len()]);
        let mut differences = Vec::new();
        for ((start, text), end) in cases.texts.iter().zip(ends) {
            let (ours, theirs) = (&bytes[*start..end], expected.get(*start..end).unwrap_or_default());
            if ours != theirs {
                differences.push(format!("{text:40} ours {}, as {}\n", (self.hex)(ours), (self.hex)(theirs)));
            }
        }
        let shown: String = differences.iter().take(40).cloned().collect();
        assert!(differences.is_empty(), "{} of {} differ:\n{shown}", differences.len(), cases.texts.len());
        assert_eq!(bytes.len(), expected.len());
        let odd: Vec<_> = relocs.symmetric_difference(&expected_relocs).take(10).collect();
        assert!(odd.is_empty(), "relocations differ: {odd:?}");
        println!("{} texts of {} rows agree, {} relocations", cases.texts.len(), cases.rows, relocs.len());
    }

    /// Returns our code of all texts, and its relocations.
    pub(crate) fn ours(&self, buffer: &mut Buffer) -> (Vec<u8>, BTreeSet<Fact>) {
        let mut module = ModuleBuffer::default();
        let head = FunctionHead::of_bytes(SymbolName::User(0, 0), 1);
        buffer.finish(head, &JumpTables::default(), &[], self.branches, &mut module).unwrap();
        let view = module.function(0);
        let fact = |r: &kingpost_mach::Reloc| {
            (u64::from(r.offset), format!("symbol{}", r.symbol), r.addend, (self.elf_type)(r.kind))
        };
        (view.code.to_vec(), view.relocs.iter().map(fact).collect())
    }

    fn assemble(&self, texts: &[(usize, String)], end: usize) -> (Vec<u8>, BTreeSet<Fact>) {
        let dir = tempfile::tempdir().unwrap();
        let (path, object) = (dir.path().join("rows.s"), dir.path().join("rows.o"));
        let mut source = String::from(self.heading);
        for (offset, text) in texts {
            writeln!(source, ".org {offset}, {}\n{text}", self.filler).unwrap();
        }
        writeln!(source, ".org {end}, {}", self.filler).unwrap();
        std::fs::write(&path, &source).unwrap();
        let output = Command::new(self.program).args(self.options).arg("-o").arg(&object).arg(&path).output().unwrap();
        let messages = String::from_utf8_lossy(&output.stderr);
        let errors = messages.lines().filter(|m| m.contains("Error")).take(40);
        let errors: Vec<String> = errors.map(|m| with_source_line(m, &source)).collect();
        assert!(output.status.success(), "the assembler refuses our texts:\n{}", errors.join("\n"));
        let data = std::fs::read(&object).unwrap();
        let file = object::File::parse(&*data).unwrap();
        let section = file.section_by_name(".text").unwrap();
        let relocs = section.relocations().map(|(offset, reloc)| {
            let RelocationTarget::Symbol(symbol) = reloc.target() else { panic!("relocation without symbol") };
            let RelocationFlags::Elf { r_type } = reloc.flags() else { panic!("not an ELF file") };
            let name = file.symbol_by_index(symbol).unwrap().name().unwrap().to_string();
            (offset, name, reloc.addend(), (self.same_type)(r_type))
        });
        (section.data().unwrap().to_vec(), relocs.collect())
    }
}

/// Returns the assembler's message with the text that it refers to and the text before. The assembler reports a text
/// that is too long at the next one.
fn with_source_line(message: &str, source: &str) -> String {
    let line = message.split(':').nth(1).and_then(|n| n.parse::<usize>().ok()).unwrap_or(0);
    let text: Vec<&str> = source.lines().take(line).skip(line.saturating_sub(2)).collect();
    format!("{message} <- {}", text.join("; "))
}
