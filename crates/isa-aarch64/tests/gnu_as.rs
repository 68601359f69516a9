//! Every instruction row agrees with GNU `as`, byte for byte, and relocation for relocation.
//!
//! Text and bytes of each row come from one table line, over all registers in each operand's place, edge immediates
//! and address forms. All texts are assembled in one run, one word each. Rows and addresses that become several
//! instructions are compared with the lines that they should become.

#[path = "../../mach/tests/support/gnu_as.rs"]
mod support;

use kingpost_isa_aarch64::asm;
use kingpost_isa_aarch64::branches::A64Branches;
use kingpost_isa_aarch64::encode::encode;
use kingpost_isa_aarch64::encoding::{Encoding, ImmField, MemField, Special};
use kingpost_isa_aarch64::immediates::{self, Shift, bitfield, compare, logical_value, mov_wide, shifted};
use kingpost_isa_aarch64::regs::{CC_NAMES, SP, v, x};
use kingpost_isa_aarch64::rows::{self, ENCODINGS, ROWS};
use kingpost_isa_aarch64::tls;
use kingpost_mach::{Args, BranchForms, CpuFeatures, IndexExtend, Mem, MemBase, RelocKind, Row, RowId};
use kingpost_regalloc::{PReg, RegClass};
use std::collections::BTreeSet;
use support::{Assembler, Cases, SYMBOLS, assign, each_in_each_place, free_operands, symbol};

/// The least CPU by its name in the assembler, and a CPU with all extensions that rows need.
const BASELINE: &str = "armv8-a";
const EVERYTHING: &str = "armv8.2-a+lse+fp16+dotprod+i8mm";

fn add(cases: &mut Cases, row: RowId, regs: &[PReg], mem: Option<Mem>, imm: i64) {
    let args = Args { regs, mem, imm, symbols: &SYMBOLS, trap: None };
    let start = cases.buffer.len();
    let text = asm::text(row, &args);
    // The baseline has only what rows without needs require.
    let is_baseline = ROWS[usize::from(row.0)].needs == CpuFeatures::NONE;
    let text = if is_baseline { text } else { format!(".arch {EVERYTHING}\n{text}\n.arch {BASELINE}") };
    lines(cases, &text, row, &args);
    assert_eq!(cases.buffer.len(), start + 4, "{} is one instruction", ROWS[usize::from(row.0)]);
}

/// Adds the case that `row` with `args` is emitted as the lines `text`.
fn lines(cases: &mut Cases, text: &str, row: RowId, args: &Args<'_>) {
    cases.add_text(text.to_string(), |buffer| encode(row, args, buffer));
}

fn raw(cases: &mut Cases, text: String, bytes: &[u8]) {
    cases.add_text(text, |buffer| buffer.put(bytes));
}

/// Returns all registers of a class except register 31 of integers, which is zero or the stack pointer and is part of
/// the rows that use it.
fn all_regs(class: RegClass) -> Vec<PReg> {
    (0..if class == RegClass::Int { 31 } else { 32 }).map(|n| PReg::new(class, n)).collect()
}

/// Returns register choices for `row`: each register in each place, combined with two sets of other registers.
fn choices(row: &Row) -> Vec<Vec<PReg>> {
    match free_operands(row) {
        free if free.is_empty() => vec![vec![]],
        free => each_in_each_place(&free, &[&[1, 2, 3, 4, 5, 6], &[29, 21, 30, 10, 13, 8]], all_regs),
    }
}

/// Returns the registers of `row`, in general different ones.
fn distinct(row: &Row) -> Vec<PReg> {
    let choices = choices(row);
    assign(row, &choices[choices.len() / 2])
}

/// Returns `true` if the text of the row has this field.
fn has(row: &Row, field: &str) -> bool {
    row.asm.contains(field)
}

/// Returns edge values of the immediate that the row's text shows.
fn immediates(row: &Row, encoding: &Encoding) -> Vec<i64> {
    let wide = row.operands.iter().any(|o| o.width == 8 && o.class == RegClass::Int);
    let bits: i64 = if wide { 64 } else { 32 };
    let (chunks, ranges) = (bits / 16, |n: i64| vec![0, 1, n / 2, n - 2, n - 1]);
    match encoding.imm {
        ImmField::None => vec![0],
        ImmField::AddSub => vec![0, 1, 0x7ff, 0xfff, 0x1000, 0x1000 * 0x7ff, 0xfff000],
        ImmField::LeftShift(_) => (0..bits).collect(),
        ImmField::Signed { bits, scale, .. } => {
            let half = 1i64 << (bits - 1);
            [-half, -half + 1, -1, 0, 1, half - 1].map(|n| n << scale).to_vec()
        }
        // The assembler does not accept the condition "always" in these instructions.
        ImmField::Inverted => (0..14).collect(),
        ImmField::TestBit => (0..64).collect(),
        ImmField::VectorRight(bits) => (1..=i64::from(bits)).collect(),
        ImmField::VectorLeft(bits) => (0..i64::from(bits)).collect(),
        ImmField::Lanes(log) => {
            let lanes = 16 >> log;
            (0..lanes * lanes).map(|n| ((n % lanes) << 8) | (n / lanes)).collect()
        }
        ImmField::Modified(_) => {
            let amounts = match encoding.lanes {
                Some(lanes) if has(row, "{a}") => i64::from(lanes.lane_bits() / 8),
                _ if has(row, "{msl}") => 2,
                _ => 1,
            };
            (0..amounts << 8).collect()
        }
        // Numbers of lanes, and of bytes.
        ImmField::At(_) if has(row, "e}") => (0..16 >> encoding.lanes.map_or(0, |lanes| lanes.log())).collect(),
        ImmField::At(_) if encoding.lanes.is_some() => {
            (0..if encoding.lanes.is_some_and(|lanes| lanes.is_full()) { 16 } else { 8 }).collect()
        }
        ImmField::At(_) if has(row, "{s}") => shifts(row, bits),
        ImmField::At(_) if has(row, "{x}") => {
            (0..8).flat_map(|kind| (0..5).map(move |amount| kind << 3 | amount)).collect()
        }
        ImmField::At(_) if has(row, "{c}") => (0..14).collect(),
        ImmField::At(_) if has(row, "{cc}") => {
            let cases = (0..14).flat_map(|c| [0, 5, 10, 15].map(|flags| (c, flags)));
            let number = |c| if has(row, "{k}") { (c * 7) & 31 } else { 0 };
            cases.map(|(c, flags)| i64::from(compare(c, flags, number(c)))).collect()
        }
        ImmField::At(_) if has(row, "{b}") => {
            let fields = ranges(bits).into_iter().flat_map(|r| ranges(bits).into_iter().map(move |s| (r, s)));
            fields.map(|(r, s)| i64::from(bitfield(r as u8, s as u8))).collect()
        }
        ImmField::At(_) if has(row, "{w}") => {
            let values = [0, 1, 0x1234, 0x8000, 0xffff];
            values.into_iter().flat_map(|n| (0..chunks as u8).map(move |k| i64::from(mov_wide(n, k)))).collect()
        }
        ImmField::At(_) if has(row, "{l64}") => logical_fields(64).step_by(97).collect(),
        ImmField::At(_) if has(row, "{l32}") => logical_fields(32).step_by(31).collect(),
        ImmField::At(_) if has(row, "{f}") => (0..256).collect(),
        ImmField::At(_) if row.name == "hint_i" => (0..128).collect(),
        // Amounts of shifts, and numbers of traps.
        ImmField::At(_) if row.operands.is_empty() => vec![0, 1, 0xc11f, 0xffff],
        ImmField::At(_) => (0..bits).collect(),
    }
}

/// Returns all amounts of all shifts. Only bitwise operations rotate.
fn shifts(row: &Row, bits: i64) -> Vec<i64> {
    let rotates = ["and", "bic", "orr", "orn", "eor", "eon", "tst", "mvn"].iter().any(|&op| row.asm.starts_with(op));
    let kinds = [Shift::Lsl, Shift::Lsr, Shift::Asr, Shift::Ror];
    let kinds = &kinds[..if rotates { 4 } else { 3 }];
    let amounts = (0..bits).flat_map(|amount| kinds.iter().map(move |&kind| (kind, amount)));
    // The assembler takes no shift as a left shift.
    let said = amounts.filter(|&(kind, amount)| amount != 0 || kind == Shift::Lsl);
    said.map(|(kind, amount)| i64::from(shifted(kind, amount as u8))).collect()
}

/// Returns the immediates of all bit patterns.
fn logical_fields(bits: u32) -> impl Iterator<Item = i64> {
    let fields = (0..1 << 13).map(move |field| (field, logical_value(field, bits)));
    fields.filter(move |&(field, value)| immediates::logical(value, bits) == Some(field)).map(|(field, _)| field.into())
}

const EXTENDS: [IndexExtend; 3] = [IndexExtend::None, IndexExtend::Zero32, IndexExtend::Sign32];

/// Returns addresses that the row can encode.
fn addresses(encoding: &Encoding) -> Vec<Mem> {
    let bytes = i64::from(encoding.bytes);
    let bases =
        all_regs(RegClass::Int).into_iter().map(MemBase::Reg).chain([MemBase::StackPointer, MemBase::FramePointer]);
    let mut out: Vec<Mem> = bases.map(|base| Mem::base(base, 0)).collect();
    let base = MemBase::Reg(x(7));
    let disps = match encoding.mem {
        MemField::Single => vec![-256, -255, -1, 1, 7, 255, bytes, 4095 * bytes],
        MemField::Pair => [-64, -63, -1, 1, 63].map(|n| n * bytes / 2).to_vec(),
        _ => vec![],
    };
    out.extend(disps.into_iter().map(|disp| Mem::base(base, disp)));
    if encoding.mem == MemField::Single {
        let scale = encoding.bytes.trailing_zeros() as u8;
        let indexes = all_regs(RegClass::Int).into_iter().flat_map(|r| EXTENDS.map(|extend| (r, extend)));
        let scaled = indexes.flat_map(|(r, extend)| [0, scale].map(|shift| Some((r, shift, extend))));
        out.extend(scaled.map(|index| Mem { base, index, disp: 0 }));
    }
    out
}

fn add_row(row_id: RowId, cases: &mut Cases) {
    let row = &ROWS[usize::from(row_id.0)];
    let encoding = &ENCODINGS[usize::from(row_id.0)];
    if encoding.special == Special::TlsAddress {
        let args = Args { regs: &assign(row, &[]), mem: Some(symbol(0)), symbols: &SYMBOLS, ..Args::default() };
        cases.add_text(asm::text(row_id, &args), |buffer| tls::address(row_id, &args, buffer));
        cases.rows += 1;
        return;
    }
    if !matches!(encoding.special, Special::No | Special::Leave) {
        return;
    }
    let regs = distinct(row);
    match encoding.mem {
        MemField::Address => return,
        MemField::Literal => {
            let args = Args { regs: &regs, mem: Some(symbol(0)), symbols: &SYMBOLS, ..Args::default() };
            lines(cases, &format!("adrp x16, symbol0\n{}", asm::text(row_id, &args)), row_id, &args);
        }
        MemField::None if encoding.reloc.is_some() => add(cases, row_id, &regs, Some(symbol(0)), 0),
        MemField::None => {
            let all = immediates(row, encoding);
            all.iter().for_each(|&imm| add(cases, row_id, &regs, None, imm));
            for regs in choices(row) {
                add(cases, row_id, &assign(row, &regs), None, all[all.len() / 2]);
            }
        }
        MemField::Single | MemField::Pair | MemField::Base => {
            for mem in addresses(encoding) {
                add(cases, row_id, &regs, Some(mem), 0);
            }
            for regs in choices(row) {
                let regs = assign(row, &regs);
                // The status result of an exclusive store, and the registers of a pair of loads, must be different
                // registers.
                if regs.iter().collect::<BTreeSet<_>>().len() == regs.len() {
                    add(cases, row_id, &regs, Some(Mem::base(MemBase::StackPointer, 0)), 0);
                }
            }
        }
    }
    cases.rows += 1;
}

/// Adds instructions on the stack pointer, which is register 31 of some rows.
fn add_stack_pointer(cases: &mut Cases) {
    for (a, b) in [(SP, SP), (x(29), SP), (SP, x(1))] {
        add(cases, rows::ADD_RRI.of(64), &[a, b], None, 0xfff);
        add(cases, rows::SUB_RRI.of(64), &[a, b], None, 0x1000);
        add(cases, rows::ADD_RRX.of(64), &[a, b, x(3)], None, 3 << 3);
    }
    add(cases, rows::STP64_PRE, &[SP, SP, x(29), x(30)], None, -16);
    add(cases, rows::LDP64_POST, &[SP, SP, x(29), x(30)], None, 16);
    add(cases, rows::STR64_PRE, &[SP, SP, x(19)], None, -16);
}

/// Adds all bit patterns of both widths.
fn add_logical(cases: &mut Cases) {
    for field in logical_fields(64) {
        add(cases, rows::AND_RRI.of(64), &[x(3), x(4)], None, field);
    }
    for field in logical_fields(32) {
        add(cases, rows::EOR_RRI.of(32), &[x(3), x(4)], None, field);
    }
}

fn add_branches(cases: &mut Cases) {
    let mut forms: Vec<(u32, String)> = vec![(0x1400_0000, "b".into()), (0x1000_0011, "adr x17,".into())];
    forms.extend((0..14).map(|c| (0x5400_0000 | c, format!("b.{}", CC_NAMES[c as usize]))));
    for (word, text) in [(0x3400_0000, "cbz w5,"), (0xb500_001e, "cbnz x30,")] {
        forms.push((word | if word >> 31 == 0 { 5 } else { 0 }, text.into()));
    }
    forms.push((0x3728_0003, "tbnz w3, #5,".into()));
    forms.push((0xb638_0003, "tbz x3, #39,".into()));
    for (form, text) in forms {
        let reach = A64Branches.encodings(form)[0];
        for distance in [reach.low, -4, 0, 4, 4096, reach.high] {
            let mut bytes = Vec::new();
            A64Branches.encode(form, 0, distance, &mut bytes);
            raw(cases, format!("{text} . + {distance}"), &bytes);
        }
    }
    raw(cases, "nop\nnop".into(), &{
        let mut bytes = Vec::new();
        A64Branches.nops(8, &mut bytes);
        bytes
    });
}

/// Adds the instructions of the far encodings, as lines.
fn add_far_branches(cases: &mut Cases) {
    let mut add = |form, encoding, distance, text: String| {
        let mut bytes = Vec::new();
        A64Branches.encode(form, encoding, distance, &mut bytes);
        assert_eq!(bytes.len(), usize::from(A64Branches.encodings(form)[encoding].bytes), "{text}");
        raw(cases, text, &bytes);
    };
    let offset = |to: &str, scratch: &str, distance: i64| {
        let (low, high) = (distance & 0xffff, distance >> 16 & 0xffff);
        let scratch_w = scratch.replace('x', "w");
        format!(
            "adr {to}, .\nmovz {scratch_w}, #{low}\nmovk {scratch_w}, #{high}, lsl #16\nadd {to}, {to}, {scratch_w}, sxtw"
        )
    };
    for far in [1 << 27, -(1 << 27) - 4, 0x7654_3210] {
        let jump = |distance| format!("{}\nbr x16", offset("x16", "x17", distance));
        add(0x1400_0000, 1, far, jump(far));
        add(0x5400_0001, 2, far, format!("b.eq . + 24\n{}", jump(far - 4)));
        add(0x3638_0002, 2, far, format!("tbnz w2, #7, . + 24\n{}", jump(far - 4)));
        add(0x1000_0007, 1, far, offset("x7", "x16", far));
    }
    for distance in [1 << 20, -(1 << 20) - 4, (1 << 27) - 4] {
        add(0x5400_000b, 1, distance, format!("b.ge . + 8\nb . + {}", distance - 4));
        add(0xb400_0009, 1, distance, format!("cbnz x9, . + 8\nb . + {}", distance - 4));
        add(0xb730_0009, 1, distance, format!("tbz x9, #38, . + 8\nb . + {}", distance - 4));
    }
}

/// Adds rows and addresses that become several instructions.
fn add_sequences(cases: &mut Cases) {
    let base = |base, disp| Mem::base(base, disp);
    let index = |shift, extend, disp| Mem { base: MemBase::Reg(x(1)), index: Some((x(2), shift, extend)), disp };
    let (fp, sp, x1, x16) = (MemBase::FramePointer, MemBase::StackPointer, MemBase::Reg(x(1)), MemBase::Reg(x(16)));
    let none = IndexExtend::None;
    let mems: &[(RowId, Mem, &str)] = &[
        (rows::LDR_RM.of(64), base(fp, -264), "sub x16, x29, #0x1000\nldr x0, [x16, #3832]"),
        (rows::LDR_RM.of(64), base(fp, 32768), "add x16, x29, #0x8000\nldr x0, [x16]"),
        (rows::LDR_RM.of(32), base(x1, 0x12_3458), "add x16, x1, #0x123000\nldr w0, [x16, #0x458]"),
        (rows::LDR_RM.of(8), base(sp, -0xff_f001), "mov x16, #0xffffffffff000fff\nldrb w0, [sp, x16]"),
        (rows::LDR_RM.of(64), base(x1, 0x7_1003), "add x16, x1, #0x71000\nldr x0, [x16, #3]"),
        (rows::LDR_RM.of(64), base(x1, 0x7_1ff3), "movz x16, #0x1ff3\nmovk x16, #7, lsl 16\nldr x0, [x1, x16]"),
        (rows::LDR_RM.of(64), base(x1, 0x1234_5678), "movz x16, #0x5678\nmovk x16, #0x1234, lsl 16\nldr x0, [x1, x16]"),
        (rows::LDR_RM.of(64), base(sp, 0x100_0000), "movz x16, #0x100, lsl 16\nldr x0, [sp, x16]"),
        (rows::LDR_RM.of(64), base(x16, 0x100_0000), "movz x17, #0x100, lsl 16\nldr x0, [x16, x17]"),
        (rows::LDR_RM.of(64), index(3, none, 8), "add x16, x1, x2, uxtx #3\nldr x0, [x16, #8]"),
        (rows::LDR_RM.of(64), index(2, none, 0), "add x16, x1, x2, uxtx #2\nldr x0, [x16]"),
        (rows::LDR_RM.of(8), index(1, IndexExtend::Sign32, -3), "add x16, x1, w2, sxtw #1\nldurb w0, [x16, #-3]"),
        (
            rows::STR_MF.of(128),
            index(4, IndexExtend::Zero32, 1 << 24),
            "add x16, x1, w2, uxtw #4\nmovz x17, #0x100, lsl 16\nstr q0, [x16, x17]",
        ),
        (rows::LDR_RM.of(64), symbol(1), "adrp x16, symbol1+8\nadd x16, x16, :lo12:symbol1+8\nldr x0, [x16]"),
        (rows::STP_MRR.of(64), base(sp, 512), "add x16, sp, #512\nstp x0, x3, [x16]"),
        (rows::STP_MRR.of(64), index(3, none, 0), "add x16, x1, x2, uxtx #3\nstp x0, x3, [x16]"),
        (rows::LDAR_RM.of(64), base(x1, 8), "add x16, x1, #8\nldar x0, [x16]"),
        (rows::LDAR_RM.of(64), symbol(0), "adrp x16, symbol0\nadd x16, x16, :lo12:symbol0\nldar x0, [x16]"),
        (rows::ADDR64_RM, base(x1, 4095), "add x0, x1, #4095"),
        (rows::ADDR64_RM, base(sp, 0), "mov x0, sp"),
        (rows::ADDR64_RM, base(fp, -0x12_3456), "sub x0, x29, #0x123000\nsub x0, x0, #0x456"),
        (rows::ADDR64_RM, base(fp, -0x1234_0000), "movz x16, #0x1234, lsl 16\nsub x0, x29, x16, uxtx"),
        (rows::ADDR64_RM, index(4, IndexExtend::Zero32, 0x1000), "add x0, x1, w2, uxtw #4\nadd x0, x0, #0x1000"),
        (rows::ADDR64_CONST, symbol(2), "adrp x0, symbol2-300\nadd x0, x0, :lo12:symbol2-300"),
        (rows::ADDR64_GOT, symbol(0), "adrp x0, :got:symbol0\nldr x0, [x0, :got_lo12:symbol0]"),
        (
            rows::ADDR64_ABS,
            symbol(1),
            "movz x0, #:abs_g0_nc:symbol1+8\nmovk x0, #:abs_g1_nc:symbol1+8\nmovk x0, #:abs_g2_nc:symbol1+8\nmovk x0, #:abs_g3:symbol1+8",
        ),
    ];
    for &(row, mem, text) in mems {
        let float = ROWS[usize::from(row.0)].operands[0].class == RegClass::Float;
        let regs = [if float { v(0) } else { x(0) }, x(3)];
        let count = ROWS[usize::from(row.0)].operands.len();
        let args = Args { mem: Some(mem), regs: &regs[..count], symbols: &SYMBOLS, ..Args::default() };
        lines(cases, text, row, &args);
    }
    let constants: &[(RowId, i64, &str)] = &[
        (rows::CONST_I.of(64), 0, "movz x0, #0"),
        (rows::CONST_I.of(64), -1, "movn x0, #0"),
        (rows::CONST_I.of(32), -2, "movn w0, #1"),
        (rows::CONST_I.of(64), 0x5555_5555_5555_5555, "mov x0, #0x5555555555555555"),
        (rows::CONST_I.of(32), 0x5555_5555, "mov w0, #0x55555555"),
        (rows::CONST_I.of(64), 0x1234_0000_5678, "movz x0, #0x5678\nmovk x0, #0x1234, lsl 32"),
        (rows::CONST_I.of(32), 0x1234_5678, "movz w0, #0x5678\nmovk w0, #0x1234, lsl 16"),
    ];
    for &(row, imm, text) in constants {
        lines(cases, text, row, &Args::imm(&[x(0)], imm));
    }
}

/// Returns the number of a relocation (ELF for the Arm 64-bit architecture, 5.7).
fn our_type(kind: RelocKind) -> u32 {
    match kind {
        RelocKind::Abs8 => 257,
        RelocKind::Aarch64Call => 283,
        RelocKind::Aarch64AdrPage => 275,
        RelocKind::Aarch64AddLo12 => 277,
        RelocKind::Aarch64Ld32Lo12 => 285,
        RelocKind::Aarch64Ld64Lo12 => 286,
        RelocKind::Aarch64Ld128Lo12 => 299,
        RelocKind::Aarch64MovwG0 => 264,
        RelocKind::Aarch64MovwG1 => 266,
        RelocKind::Aarch64MovwG2 => 268,
        RelocKind::Aarch64MovwG3 => 269,
        RelocKind::Aarch64AdrGotPage => 311,
        RelocKind::Aarch64LdGotLo12 => 312,
        RelocKind::Aarch64TlsDescAdrPage => 562,
        RelocKind::Aarch64TlsDescLdLo12 => 563,
        RelocKind::Aarch64TlsDescAddLo12 => 564,
        RelocKind::Aarch64TlsDescCall => 569,
        other => panic!("{other:?} is not of this machine"),
    }
}

/// Returns the type of a call for both branch types. The assembler distinguishes a jump out of the function from a
/// call.
fn same_type(elf: u32) -> u32 {
    const JUMP26: u32 = 282;
    if elf == JUMP26 { 283 } else { elf }
}

fn hex(bytes: &[u8]) -> String {
    bytes.chunks(4).map(|w| w.iter().rev().map(|b| format!("{b:02x}")).collect::<String>() + " ").collect()
}

const ASSEMBLER: Assembler = Assembler {
    program: "aarch64-linux-gnu-as",
    options: &[],
    heading: ".arch armv8-a\n.text\nstart:\n",
    filler: 0,
    branches: &A64Branches,
    elf_type: our_type,
    same_type,
    hex,
};

#[test]
fn rows_agree_with_the_system_assembler() {
    if ASSEMBLER.is_missing("rows_agree_with_the_system_assembler") {
        return;
    }
    let mut cases = Cases::default();
    cases.buffer.start(0);
    for n in 0..ROWS.len() {
        add_row(RowId(n as u16), &mut cases);
    }
    add_stack_pointer(&mut cases);
    add_logical(&mut cases);
    add_branches(&mut cases);
    add_far_branches(&mut cases);
    add_sequences(&mut cases);
    ASSEMBLER.compare(&mut cases);
}
