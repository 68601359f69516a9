//! References reach their targets on both sides of every limit, and in functions where the growth of one reference
//! pushes others out of reach. The code is followed as a CPU would, so any sequence that reaches the target is
//! accepted.

use kingpost_ir::TrapCode;
use kingpost_isa_aarch64::branches::A64Branches;
use kingpost_mach::{BranchForms, Buffer, FunctionHead, JumpTables, Label, ModuleBuffer, Reach, SymbolName, Target};
use std::cell::Cell;

const B: u32 = 0x1400_0000;
const B_LT: u32 = 0x5400_000b;
const CBZ: u32 = 0xb400_0003;
const TBNZ: u32 = 0x3738_0003;
const ADR_X5: u32 = 0x1000_0005;

/// Result of the code at an offset.
#[derive(PartialEq, Eq, Debug)]
enum End {
    /// A jump to this offset.
    At(usize),
    /// An address in x5, and the offset where execution continues.
    Address(usize, usize),
}

/// Follows the code of one reference, `size` bytes at `at`, whose condition holds if `holds`. Returns its result.
fn follow(code: &[u8], at: usize, size: usize, holds: bool, form: u32) -> End {
    let (mut pc, mut x) = (at, [0i64; 32]);
    loop {
        let word = u32::from_le_bytes(code[pc..pc + 4].try_into().unwrap());
        let signed = |low: u32, bits: u32| i64::from((word << (32 - low - bits)) as i32 >> (32 - bits));
        let go = |distance: i64| (pc as i64 + distance) as usize;
        let (d, n, m) = ((word & 31) as usize, (word >> 5 & 31) as usize, (word >> 16 & 31) as usize);
        let mut next = pc + 4;
        match word >> 24 {
            0x14..=0x17 => next = go(signed(0, 26) * 4),
            0x54 => {
                let same = word & 15 == form & 15;
                next = if same == holds { go(signed(5, 19) * 4) } else { next };
            }
            0x34..=0x37 | 0xb4..=0xb7 => {
                let same = word >> 24 == form >> 24;
                let distance = if word >> 24 & 2 != 0 { signed(5, 14) } else { signed(5, 19) };
                next = if same == holds { go(distance * 4) } else { next };
            }
            0x10 | 0x30 | 0x50 | 0x70 => x[d] = pc as i64 + ((signed(5, 19) * 4) | i64::from(word >> 29 & 3)),
            0x52 => x[d] = i64::from(word >> 5 & 0xffff),
            0x72 => x[d] |= i64::from(word >> 5 & 0xffff) << 16,
            0x8b => x[d] = x[n] + i64::from(x[m] as i32),
            0xd6 => next = x[n] as usize,
            other => panic!("{other:#x} at {pc}"),
        }
        pc = next;
        if pc == at || !(at..at + size).contains(&pc) {
            break;
        }
    }
    if form == ADR_X5 { End::Address(x[5] as usize, pc) } else { End::At(pc) }
}

fn finish(buffer: &mut Buffer) -> ModuleBuffer {
    finish_with(buffer, &JumpTables::default(), &A64Branches)
}

fn finish_with(buffer: &mut Buffer, tables: &JumpTables, forms: &dyn BranchForms) -> ModuleBuffer {
    let mut module = ModuleBuffer::default();
    let head = FunctionHead::of_bytes(SymbolName::named("f"), 4);
    buffer.finish(head, tables, &[], forms, &mut module).unwrap();
    module
}

/// Returns the number of bytes of a reference whose target is `distance` away, forwards or backwards. Checks its
/// target.
fn size_at(form: u32, distance: i64) -> usize {
    let mut buffer = Buffer::default();
    buffer.start(2);
    let label = Label::new(0);
    let far = vec![0; distance.unsigned_abs() as usize];
    let code_trap = TrapCode::user(1).unwrap();
    if distance > 0 {
        // The first word is another instruction, so that the reference is not at offset 0.
        buffer.put4(0);
        buffer.branch(label, form, &A64Branches);
        buffer.trap(code_trap);
        buffer.put(&far[4..]);
        buffer.bind(label);
    } else {
        buffer.put4(0);
        buffer.bind(label);
        buffer.put(&far);
        buffer.branch(label, form, &A64Branches);
        buffer.trap(code_trap);
        buffer.put4(0);
    }
    let module = finish(&mut buffer);
    let view = module.function(0);
    let at = if distance > 0 { 4 } else { 4 + far.len() };
    let end = view.traps[0].offset as usize;
    let target = if distance > 0 { view.code.len() } else { 4 };
    let size = end - at;
    if form == ADR_X5 {
        assert_eq!(follow(view.code, at, size, true, form), End::Address(target, end));
    } else {
        assert_eq!(follow(view.code, at, size, true, form), End::At(target), "{form:#x} over {distance}");
        if form != B {
            assert_eq!(follow(view.code, at, size, false, form), End::At(end), "{form:#x} over {distance}");
        }
    }
    size
}

#[test]
fn branches_grow_at_their_limits() {
    for (form, near) in [(TBNZ, 1 << 15), (CBZ, 1 << 20), (B_LT, 1 << 20)] {
        let sizes = [near - 4, near, -near, -near - 4].map(|distance| size_at(form, distance));
        assert_eq!(sizes, [4, 8, 4, 8], "{form:#x}");
    }
    let sizes = [(1 << 20) - 4, 1 << 20, -(1 << 20), -(1 << 20) - 4].map(|distance| size_at(ADR_X5, distance));
    assert_eq!(sizes, [4, 16, 4, 16]);
}

#[test]
fn branches_beyond_128_mib_go_through_a_register() {
    let far = 1 << 27;
    assert_eq!([far - 4, far, -far, -far - 4].map(|distance| size_at(B, distance)), [4, 20, 4, 20]);
    // Distances are measured from the branch, which has grown already.
    assert_eq!([far - 4, far, 4 - far, -far].map(|distance| size_at(TBNZ, distance)), [8, 24, 8, 24]);
}

#[test]
fn tables_are_addressed_at_any_distance() {
    for (gap, size) in [((1 << 20) - 4, 4), (1 << 20, 16)] {
        let mut tables = JumpTables::default();
        let table = tables.table([0].into_iter());
        let mut buffer = Buffer::default();
        buffer.start(1);
        buffer.bind(Label::new(0));
        buffer.reference(Target::Table(table), ADR_X5, &A64Branches);
        buffer.trap(TrapCode::user(1).unwrap());
        // The table is at `gap` if the reference is short.
        buffer.put(&vec![0; gap - 4]);
        let module = finish_with(&mut buffer, &tables, &A64Branches);
        let (code, end) = (module.function(0).code, module.function(0).traps[0].offset as usize);
        let table = end + gap - 4;
        assert_eq!((end, follow(code, 0, end, true, ADR_X5)), (size, End::Address(table, end)), "gap {gap}");
        assert_eq!(i32::from_le_bytes(code[table..].try_into().unwrap()), -(table as i32), "gap {gap}");
    }
}

/// Checks references of every kind at short intervals, each to a random target.
fn check_random(seed: u64, blocks: usize, max_gap: usize) {
    let mut state = seed;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let forms = [B, B_LT, CBZ, TBNZ, TBNZ, ADR_X5];
    let mut buffer = Buffer::default();
    buffer.start(blocks);
    let mut expected = Vec::new();
    let code = TrapCode::user(1).unwrap();
    for block in 0..blocks {
        buffer.bind(Label::new(block));
        buffer.block_start();
        let form = forms[random(forms.len())];
        // Most targets are about as far away as tests of bits reach.
        let reach = (1 << 15) / max_gap * 4;
        let to = (block + random(reach)).saturating_sub(reach / 2).min(blocks - 1);
        buffer.trap(code);
        buffer.branch(Label::new(to), form, &A64Branches);
        buffer.trap(code);
        buffer.put(&vec![0; 4 * (1 + random(max_gap / 4))]);
        expected.push((form, to));
    }
    let module = finish(&mut buffer);
    let view = module.function(0);
    for (block, (&(form, to), sites)) in expected.iter().zip(view.traps.chunks(2)).enumerate() {
        let (at, end) = (sites[0].offset as usize, sites[1].offset as usize);
        assert_eq!(at, view.blocks[block] as usize);
        let target = view.blocks[to] as usize;
        match follow(view.code, at, end - at, true, form) {
            End::At(found) => assert_eq!(found, target, "seed {seed}, block {block}"),
            End::Address(found, next) => assert_eq!((found, next), (target, end), "seed {seed}, block {block}"),
        }
        if ![B, ADR_X5].contains(&form) {
            assert_eq!(follow(view.code, at, end - at, false, form), End::At(end), "seed {seed}, block {block}");
        }
    }
}

#[test]
fn random_functions_keep_their_targets() {
    for seed in 0..20 {
        check_random(seed, 3000, 100);
    }
    check_random(100, 20_000, 400);
}

/// Counter of how often the encodings of a reference are examined, which is the work of deciding between them.
#[derive(Default)]
struct Counting(Cell<usize>);

impl BranchForms for Counting {
    fn encodings(&self, form: u32) -> &'static [Reach] {
        self.0.set(self.0.get() + 1);
        A64Branches.encodings(form)
    }

    fn encode(&self, form: u32, encoding: usize, distance: i64, out: &mut Vec<u8>) {
        A64Branches.encode(form, encoding, distance, out);
    }

    fn always_reached(&self) -> usize {
        A64Branches.always_reached()
    }

    fn jump(&self) -> u32 {
        A64Branches.jump()
    }

    fn opposite(&self, form: u32) -> u32 {
        A64Branches.opposite(form)
    }

    fn text(&self, form: u32) -> String {
        A64Branches.text(form)
    }

    fn nops(&self, bytes: usize, out: &mut Vec<u8>) {
        A64Branches.nops(bytes, out);
    }
}

/// Checks a chain of tests of bits, each just in reach of its target until one of the tests in between grows. The
/// last one is out of reach, so in each round growth spreads by the reach of a test. The search for the exact answer
/// must end before it takes more than linear time.
#[test]
fn chains_of_growth_take_linear_time() {
    let n = 200_000;
    // Branches are 8 bytes apart, and each label is 4 bytes after its branch: the distance is the greatest that the
    // branch reaches.
    let over = (1 << 15) / 8 - 1;
    let mut buffer = Buffer::default();
    buffer.start(n + over + 1);
    for i in 0..n + over + 1 {
        buffer.trap(TrapCode::user(1).unwrap());
        if i < n {
            buffer.branch(Label::new(i + over + usize::from(i + 1 == n)), TBNZ, &A64Branches);
        } else {
            buffer.put4(0);
        }
        buffer.bind(Label::new(i));
        buffer.block_start();
        buffer.put4(0);
    }
    let forms = Counting::default();
    let module = finish_with(&mut buffer, &JumpTables::default(), &forms);
    assert!(forms.0.get() < 20 * n, "{} looks at {n} branches", forms.0.get());
    let view = module.function(0);
    for i in 0..n {
        let (at, end) = (view.traps[i].offset as usize, view.blocks[i] as usize);
        let target = view.blocks[i + over + usize::from(i + 1 == n)] as usize;
        assert_eq!((end - at, follow(view.code, at, end - at, true, TBNZ)), (8, End::At(target)), "branch {i}");
    }
}
