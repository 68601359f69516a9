//! Every instruction row agrees with GNU `as`, byte for byte, and relocation for relocation.
//!
//! Text and bytes of each row come from one table line, over all registers in each operand's place, edge immediates
//! and address forms. Each text is padded to 16 bytes.

#[path = "../../mach/tests/support/gnu_as.rs"]
mod support;

use kingpost_isa_x64::asm;
use kingpost_isa_x64::branches::X64Branches;
use kingpost_isa_x64::encode::encode;
use kingpost_isa_x64::encoding::{Encoding, RmField, Special};
use kingpost_isa_x64::rows::{self, ENCODINGS, ROWS};
use kingpost_isa_x64::tls;
use kingpost_mach::{
    Args, BranchForms, Buffer, FunctionHead, IndexExtend, JumpTables, Label, Mem, MemBase, ModuleBuffer, Reach,
    RelocKind, Row, RowId, SymbolName,
};
use kingpost_regalloc::{PReg, RegClass};
use support::{Assembler, Cases, SYMBOLS, assign, each_in_each_place, free_operands, symbol};

/// Bytes per text: longer than any instruction (15 bytes), and as long as the longest sequence.
pub(crate) const STRIDE: usize = 16;
pub(crate) const FILLER: u8 = 0xcc;

/// Rows that are encoded in full for all address forms: with and without operand, immediate and VEX.
const ALL_ADDRESSES: [RowId; 6] = [
    rows::MOV_RM.of(64),
    rows::MOV_MR.of(8),
    rows::CMP_MI.of(32),
    rows::MOVS_RM.of(64),
    rows::ANDN_RM.of(64),
    rows::CALL_M,
];

fn add(cases: &mut Cases, row: RowId, regs: &[PReg], mem: Option<Mem>, imm: i64) {
    let args = Args { regs, mem, imm, symbols: &SYMBOLS, trap: None };
    cases.add_text(asm::text(row, &args), |buffer| encode(row, &args, buffer));
    pad(cases);
}

fn raw(cases: &mut Cases, text: String, bytes: &[u8]) {
    cases.add_text(text, |buffer| buffer.put(bytes));
    pad(cases);
}

fn pad(cases: &mut Cases) {
    let len = cases.texts.len() * STRIDE;
    assert!(cases.buffer.len() <= len, "longer than an instruction can be: {:?}", cases.texts.last());
    cases.buffer.bytes_mut().resize(len, FILLER);
}

fn all_regs(class: RegClass) -> impl Iterator<Item = PReg> {
    (0..16).map(move |n| PReg::new(class, n))
}

/// Returns register choices for `row`: all pairs if it has two free operands, else each register in each place.
fn choices(row: &Row) -> Vec<Vec<PReg>> {
    let free = free_operands(row);
    match free[..] {
        [] => vec![vec![]],
        [a] => all_regs(a).map(|r| vec![r]).collect(),
        [a, b] => all_regs(a).flat_map(|r| all_regs(b).map(move |s| vec![r, s])).collect(),
        _ => each_in_each_place(&free, &[&[1, 2, 3], &[9, 14, 7]], |class| all_regs(class).collect()),
    }
}

fn immediates(encoding: &Encoding) -> Vec<i64> {
    let small = vec![0, 1, -1, 2, 3, 31, 63, 127, -127, -128];
    let edges = |bits: u32| [i64::MAX >> (64 - bits), i64::MIN >> (64 - bits), 1 << (bits - 2)];
    if encoding.condition {
        return (0..16).collect();
    }
    match encoding.imm {
        0 => vec![0],
        1 => small,
        // `ret n` takes an unsigned number.
        2 if encoding.rm == RmField::None => vec![0, 8, 128, 0x7fff],
        2 => [small, vec![128, -129, 255, 256], edges(16).to_vec()].concat(),
        4 => [small, vec![128, -129, 255, 256, 32767, -32768, 65535], edges(32).to_vec()].concat(),
        _ => [small, vec![1 << 31, -(1 << 31), 1 << 32, 0xffff_ffff], edges(63).to_vec(), vec![i64::MAX, i64::MIN]]
            .concat(),
    }
}

const DISPS: [i64; 8] = [0, 1, 127, 128, -128, -129, i32::MAX as i64, i32::MIN as i64];

fn indexes() -> impl Iterator<Item = (PReg, u8, IndexExtend)> {
    // The stack pointer cannot be an index.
    let regs = (0..16).filter(|&n| n != 4).map(PReg::int);
    regs.flat_map(|r| (0..4).map(move |shift| (r, shift, IndexExtend::None)))
}

/// Returns addresses with every base and every index, scale and displacement.
fn all_addresses() -> Vec<Mem> {
    let mut out = some_addresses();
    for base in all_regs(RegClass::Int).map(MemBase::Reg) {
        for index in indexes().map(Some).chain([None]) {
            out.extend(DISPS.map(|disp| Mem { base, index, disp }));
        }
    }
    out
}

/// Returns addresses in which either base, index or displacement takes all its values.
fn some_addresses() -> Vec<Mem> {
    let rcx = MemBase::Reg(PReg::int(1));
    let mut out: Vec<Mem> = (0..3).map(symbol).collect();
    for base in all_regs(RegClass::Int).map(MemBase::Reg).chain([MemBase::StackPointer, MemBase::FramePointer]) {
        out.extend([0, 8].map(|disp| Mem::base(base, disp)));
    }
    out.extend(DISPS.map(|disp| Mem::base(rcx, disp)));
    out.extend(indexes().map(|index| Mem { base: rcx, index: Some(index), disp: 0 }));
    out
}

/// Returns addresses that differ in REX bits and length.
fn few_addresses() -> Vec<Mem> {
    let reg = |n| MemBase::Reg(PReg::int(n));
    let index = Some((PReg::int(9), 3, IndexExtend::None));
    vec![Mem::base(reg(0), 0), Mem { base: reg(13), index, disp: 0 }, Mem::base(reg(12), 1000), symbol(1)]
}

fn add_row(row_id: RowId, cases: &mut Cases) {
    let row = &ROWS[usize::from(row_id.0)];
    let encoding = &ENCODINGS[usize::from(row_id.0)];
    if encoding.special == Special::TlsAddress {
        let args = Args { regs: &assign(row, &[]), mem: Some(symbol(0)), imm: 1, symbols: &SYMBOLS, trap: None };
        cases.add_text(asm::text(row_id, &args), |buffer| tls::address(row_id, &args, buffer));
        pad(cases);
        cases.rows += 1;
        return;
    }
    if !matches!(encoding.special, Special::No | Special::Leave) {
        return;
    }
    cases.rows += 1;
    let choices = choices(row);
    let first = assign(row, &choices[choices.len() / 2]);
    if encoding.rm == RmField::Mem {
        if encoding.reloc != RelocKind::X86PcRel4 {
            for regs in &choices {
                add(cases, row_id, &assign(row, regs), Some(symbol(0)), 0);
            }
            return;
        }
        let all = ALL_ADDRESSES.contains(&row_id);
        for mem in if all { all_addresses() } else { some_addresses() } {
            add(cases, row_id, &first, Some(mem), 100);
        }
        for mem in few_addresses() {
            for regs in &choices {
                add(cases, row_id, &assign(row, regs), Some(mem), 3);
            }
            for imm in immediates(encoding) {
                add(cases, row_id, &first, Some(mem), imm);
            }
        }
        return;
    }
    let relocated = encoding.reloc != RelocKind::X86PcRel4;
    for regs in &choices {
        let regs = assign(row, regs);
        // The assembler turns an exchange of the accumulator with itself into `nop`. It is never emitted.
        if row_id == rows::XCHG_RR.of(64) && regs == [PReg::int(0); 2] {
            continue;
        }
        if relocated {
            // The assembler does not take a call of a symbol plus an offset as a call.
            let symbols = if encoding.reloc == RelocKind::Abs8 { 0..3 } else { 0..1 };
            symbols.for_each(|s| add(cases, row_id, &regs, Some(symbol(s)), 0));
            continue;
        }
        for imm in immediates(encoding) {
            add(cases, row_id, &regs, None, imm);
        }
    }
}

fn add_branches(cases: &mut Cases) {
    let forms = X64Branches;
    for form in 0..=16 {
        let name = match form {
            16 => "jmp".to_string(),
            n => format!("j{}", kingpost_isa_x64::regs::CC_NAMES[n as usize]),
        };
        let [Reach { low, high, .. }, long] = *forms.encodings(form) else { panic!("two encodings") };
        for distance in [low, low - 1, 0, 2, high, high + 1, 1 << 20, -(1 << 30)] {
            let mut bytes = Vec::new();
            let is_long = distance < low || distance > high;
            forms.encode(form, usize::from(is_long), distance, &mut bytes);
            assert_eq!(bytes.len(), usize::from(if is_long { long.bytes } else { 2 }));
            raw(cases, format!("{name} . + {distance}"), &bytes);
        }
    }
}

fn add_nops(cases: &mut Cases) {
    for len in 1..=9 {
        let mut bytes = Vec::new();
        X64Branches.nops(len, &mut bytes);
        raw(cases, format!(".nops {len}"), &bytes);
    }
}

/// Returns one number for ELF relocation types that a linker may exchange (System V ABI, AMD64, table 4.9).
fn same_type(elf: u32) -> u32 {
    const GOTPCREL: u32 = 9;
    match elf {
        41 | 42 => GOTPCREL,
        other => other,
    }
}

fn our_type(kind: RelocKind) -> u32 {
    match kind {
        RelocKind::Abs8 => 1,
        RelocKind::X86PcRel4 => 2,
        // The assembler emits this type for any call to a symbol, because the linker decides whether there is a PLT.
        RelocKind::X86CallPcRel4 | RelocKind::X86CallPltRel4 => 4,
        RelocKind::X86GotPcRel4 => 9,
        RelocKind::X86TlsGd => 19,
        other => panic!("{other:?} is not of this machine"),
    }
}

fn hex(bytes: &[u8]) -> String {
    let end = bytes.iter().rposition(|&b| b != FILLER).map_or(0, |i| i + 1);
    bytes[..end].iter().map(|b| format!("{b:02x} ")).collect()
}

pub(crate) const ASSEMBLER: Assembler = Assembler {
    program: "as",
    options: &["--64"],
    heading: ".intel_syntax noprefix\n.text\n",
    filler: FILLER,
    branches: &X64Branches,
    elf_type: our_type,
    same_type,
    hex,
};

/// Returns the cases of all rows, branches and no-ops.
pub(crate) fn all_cases() -> Cases {
    let mut cases = Cases::default();
    cases.buffer.start(0);
    for n in 0..ROWS.len() {
        add_row(RowId(n as u16), &mut cases);
    }
    add_branches(&mut cases);
    add_nops(&mut cases);
    cases
}

#[test]
fn rows_agree_with_the_system_assembler() {
    if ASSEMBLER.is_missing("rows_agree_with_the_system_assembler") {
        return;
    }
    ASSEMBLER.compare(&mut all_cases());
}

#[test]
fn tables_are_addressed_from_the_end_of_the_instruction() {
    let mut buffer = Buffer::default();
    buffer.start(1);
    buffer.bind(Label::new(0));
    let mut tables = JumpTables::default();
    let table = tables.table([0].into_iter());
    let mem = Some(Mem::base(MemBase::Table(table), 0));
    encode(rows::CMP_MI.of(64), &Args { mem, imm: 1000, ..Args::default() }, &mut buffer);
    let first = buffer.len();
    encode(rows::LEA64_CONST, &Args { mem, regs: &[PReg::int(9)], ..Args::default() }, &mut buffer);
    let second = buffer.len();
    let mut module = ModuleBuffer::default();
    let head = FunctionHead::of_bytes(SymbolName::User(0, 0), 1);
    buffer.finish(head, &tables, &[], &X64Branches, &mut module).unwrap();
    let (code, start) = (module.function(0).code, module.function(0).function.data_offset as usize);
    let word = |at: usize| i32::from_le_bytes(code[at..at + 4].try_into().unwrap());
    assert_eq!((start, code.len(), word(start)), (20, 24, -20));
    assert_eq!(word(first - 8) as usize + first, start, "an immediate follows the displacement");
    assert_eq!(word(second - 4) as usize + second, start);
}
