//! The buffer one function is emitted into, and its completion: short and long branches, constants, fixups.
//!
//! Every branch to a label is emitted as a hole of its short form's size. [`Buffer::finish`] finds the branches that do
//! not reach, grows them, and looks again, since growth moves others out of reach; branches only grow, so this ends.
//! Each round is one pass over the branches; after [`MAX_ROUNDS`] rounds all that remain grow at once. Then the code is
//! copied into the module buffer with the branches filled in, and offsets of every table are moved along in one
//! merged walk.
//!
//! Cost: linear in bytes plus rounds × branches.

use crate::compiled::SymbolName;
use crate::compiled::{
    CallSite, FunctionHead, ModuleBuffer, Reloc, RelocKind, SrcLocSite, TrapSite, UnwindOp, UnwindSite,
};
use kingpost_ir::TrapCode;

/// Rounds of branch growth before all remaining short branches become long.
const MAX_ROUNDS: usize = 12;

/// A place in the code that branches go to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Label(u32);

impl Label {
    /// Label number `index`; the emitter numbers labels as the blocks they stand for.
    pub fn new(index: usize) -> Label {
        Label(index as u32)
    }

    /// Its number.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// How an instruction set encodes its branches to labels. `form` is its own: a condition code, a register to test.
pub trait BranchForms {
    /// Size in bytes of the short and of the long encoding.
    fn sizes(&self, form: u32) -> (u8, u8);
    /// Inclusive range of distances from the branch's first byte that the short encoding reaches.
    fn short_reach(&self, form: u32) -> (i64, i64);
    /// Appends the encoding for a target at `distance` bytes from the branch's first byte.
    fn encode(&self, form: u32, long: bool, distance: i64, out: &mut Vec<u8>);
    /// Writes the distance from a fixup's `at` to its target into the code.
    fn patch(&self, kind: FixupKind, field: &mut [u8], distance: i64);
    /// Appends `bytes` bytes that do nothing when executed.
    fn nops(&self, bytes: usize, out: &mut Vec<u8>);
}

#[derive(Clone, Copy, Debug)]
struct Branch {
    at: u32,
    label: Label,
    form: u32,
    long: bool,
}

/// What a fixup writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FixupKind {
    /// 4 bytes: target minus the field's address, plus an addend.
    PcRel4(i32),
    /// AArch64 `adr`: 21 bits.
    Aarch64Adr,
    /// AArch64 `ldr` (literal): 19 bits of words.
    Aarch64Literal,
}

/// Target of a fixup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FixupTarget {
    /// A label.
    Label(Label),
    /// An entry of the pool behind the code.
    Pool(u32),
}

#[derive(Clone, Copy, Debug)]
struct Fixup {
    at: u32,
    kind: FixupKind,
    target: FixupTarget,
}

/// Something placed behind the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PoolEntry {
    /// Constant bytes: `len` bytes at `start` of [`Pool::bytes`], aligned to `len` rounded up to a power of two.
    Bytes {
        /// First byte.
        start: u32,
        /// Number of bytes.
        len: u32,
    },
    /// A jump table of 4-byte entries, each the distance from the table's start to a label in [`Pool::targets`].
    Table {
        /// First target.
        start: u32,
        /// Number of targets.
        len: u32,
    },
}

/// Constants and jump tables of one function.
#[derive(Clone, Default, Debug)]
pub struct Pool {
    /// What there is, in order of placement.
    pub entries: Vec<PoolEntry>,
    /// Contents of the constants.
    pub bytes: Vec<u8>,
    /// Targets of the jump tables: label numbers.
    pub targets: Vec<u32>,
}

impl Pool {
    /// Empties the pool, keeping its memory.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.bytes.clear();
        self.targets.clear();
    }

    /// Adds a constant, or finds it if one of the last few is equal, and gives its index.
    pub fn constant(&mut self, bytes: &[u8]) -> u32 {
        const LOOK_BACK: usize = 16;
        let from = self.entries.len().saturating_sub(LOOK_BACK);
        for (i, entry) in self.entries.iter().enumerate().skip(from) {
            if let PoolEntry::Bytes { start, len } = *entry
                && &self.bytes[start as usize..(start + len) as usize] == bytes
            {
                return i as u32;
            }
        }
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(bytes);
        self.entries.push(PoolEntry::Bytes { start, len: bytes.len() as u32 });
        (self.entries.len() - 1) as u32
    }

    /// Adds a jump table and gives its index.
    pub fn table(&mut self, targets: impl Iterator<Item = u32>) -> u32 {
        let start = self.targets.len() as u32;
        self.targets.extend(targets);
        self.entries.push(PoolEntry::Table { start, len: self.targets.len() as u32 - start });
        (self.entries.len() - 1) as u32
    }
}

const UNBOUND: u32 = u32::MAX;

/// A trap that will stand behind the blocks.
#[derive(Clone, Copy, Debug)]
struct DeferredTrap {
    label: Label,
    code: TrapCode,
    /// The location of the instruction that branches to it.
    srcloc: u32,
}

/// Code of one function while it is emitted. Cleared and used again.
#[derive(Default, Debug)]
pub struct Buffer {
    bytes: Vec<u8>,
    labels: Vec<u32>,
    branches: Vec<Branch>,
    fixups: Vec<Fixup>,
    relocs: Vec<Reloc>,
    traps: Vec<TrapSite>,
    srclocs: Vec<SrcLocSite>,
    calls: Vec<CallSite>,
    unwind: Vec<UnwindSite>,
    block_starts: Vec<u32>,
    pool_offsets: Vec<u32>,
    /// Labels in the order in which they were bound, which is the order of their offsets.
    bound: Vec<Label>,
    moved_labels: Vec<u32>,
    deferred: Vec<DeferredTrap>,
}

/// Emitting.
impl Buffer {
    /// Starts a function with `labels` labels.
    pub fn start(&mut self, labels: usize) {
        self.bytes.clear();
        self.labels.clear();
        self.labels.resize(labels, UNBOUND);
        self.branches.clear();
        self.fixups.clear();
        self.relocs.clear();
        self.traps.clear();
        self.srclocs.clear();
        self.calls.clear();
        self.unwind.clear();
        self.block_starts.clear();
        self.pool_offsets.clear();
        self.bound.clear();
        self.deferred.clear();
    }

    /// Bytes emitted so far, short branches assumed.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Is nothing emitted yet?
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn at(&self) -> u32 {
        self.bytes.len() as u32
    }

    /// Appends one byte.
    pub fn put1(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// Appends bytes.
    pub fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends four bytes, lowest first.
    pub fn put4(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Appends eight bytes, lowest first.
    pub fn put8(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// The bytes emitted so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes emitted so far, to append to.
    pub fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Binds a label to the present end of the code.
    pub fn bind(&mut self, label: Label) {
        debug_assert_eq!(self.labels[label.index()], UNBOUND, "a label is bound once");
        self.labels[label.index()] = self.at();
        self.bound.push(label);
    }

    /// Makes a label beyond those given at the start.
    pub fn new_label(&mut self) -> Label {
        self.labels.push(UNBOUND);
        Label::new(self.labels.len() - 1)
    }

    /// A label at which, behind the function's blocks, a trap with `code` will stand: the target of conditional traps.
    pub fn defer_trap(&mut self, code: TrapCode) -> Label {
        let label = self.new_label();
        let srcloc = self.srclocs.last().map_or(u32::MAX, |site| site.srcloc);
        self.deferred.push(DeferredTrap { label, code, srcloc });
        label
    }

    /// Emits the deferred traps, each by `emit`.
    pub fn place_deferred_traps(&mut self, emit: impl Fn(TrapCode, &mut Buffer)) {
        for i in 0..self.deferred.len() {
            let trap = self.deferred[i];
            self.srcloc(trap.srcloc);
            self.bind(trap.label);
            emit(trap.code, self);
        }
    }

    /// Appends a branch to `label`.
    pub fn branch(&mut self, label: Label, form: u32, forms: &dyn BranchForms) {
        let at = self.at();
        self.branches.push(Branch { at, label, form, long: false });
        let (short, _) = forms.sizes(form);
        self.bytes.resize(self.bytes.len() + usize::from(short), 0);
    }

    /// Notes that the field at the present end (emitted next) is to be filled with a distance.
    pub fn fixup(&mut self, kind: FixupKind, target: FixupTarget) {
        let at = self.at();
        self.fixups.push(Fixup { at, kind, target });
    }

    /// Notes a relocation of the field at the present end (emitted next).
    pub fn reloc(&mut self, kind: RelocKind, symbol: u32, addend: i64) {
        let offset = self.at();
        self.relocs.push(Reloc { offset, kind, symbol, addend });
    }

    /// Notes that the instruction emitted next may trap.
    pub fn trap(&mut self, code: TrapCode) {
        let offset = self.at();
        self.traps.push(TrapSite { offset, code });
    }

    /// Notes that what follows belongs to a source location.
    pub fn srcloc(&mut self, srcloc: u32) {
        let offset = self.at();
        match self.srclocs.last_mut() {
            Some(last) if last.srcloc == srcloc => {}
            Some(last) if last.offset == offset => last.srcloc = srcloc,
            None if srcloc == u32::MAX => {}
            _ => self.srclocs.push(SrcLocSite { offset, srcloc }),
        }
    }

    /// Notes that the code so far ends in a call.
    pub fn call(&mut self) {
        let return_offset = self.at();
        self.calls.push(CallSite { return_offset });
    }

    /// Notes an unwind operation in force from here on.
    pub fn unwind(&mut self, op: UnwindOp) {
        let offset = self.at();
        self.unwind.push(UnwindSite { offset, op });
    }

    /// Notes that an emitted block starts here.
    pub fn block_start(&mut self) {
        let offset = self.at();
        self.block_starts.push(offset);
    }
}

/// Completion.
impl Buffer {
    /// Completes the function and adds it to `module` with the given head.
    ///
    /// # Errors
    /// [`TooLong`] if it exceeds 2 GiB.
    pub fn finish(
        &mut self,
        head: FunctionHead,
        pool: &Pool,
        symbols: &[SymbolName],
        forms: &dyn BranchForms,
        module: &mut ModuleBuffer,
    ) -> Result<(), TooLong> {
        if self.bytes.len() > MAX_CODE_BYTES / 8 * 3 {
            return Err(TooLong);
        }
        self.grow_branches(forms);
        let mark = module.mark();
        let base = module.code.len();
        self.copy_code(forms, &mut module.code);
        self.move_offsets(forms);
        self.place_pool(pool, base, forms, &mut module.code);
        if module.code.len() - base > MAX_CODE_BYTES {
            return Err(TooLong);
        }
        self.apply_fixups(base, forms, &mut module.code);
        module.relocs.extend_from_slice(&self.relocs);
        module.symbols.extend_from_slice(symbols);
        module.traps.extend_from_slice(&self.traps);
        module.srclocs.extend_from_slice(&self.srclocs);
        module.calls.extend_from_slice(&self.calls);
        module.unwind.extend_from_slice(&self.unwind);
        module.blocks.extend_from_slice(&self.block_starts);
        module.push_function(mark, head);
        Ok(())
    }

    /// Decides which branches are long, and moves labels to their final offsets.
    fn grow_branches(&mut self, forms: &dyn BranchForms) {
        let moved = &mut self.moved_labels;
        moved.clone_from(&self.labels);
        for round in 0.. {
            let mut growth = 0u32;
            let mut next = self.bound.iter().peekable();
            for branch in &self.branches {
                while let Some(l) = next.next_if(|l| self.labels[l.index()] <= branch.at) {
                    moved[l.index()] = self.labels[l.index()] + growth;
                }
                if branch.long {
                    let (short, long) = forms.sizes(branch.form);
                    growth += u32::from(long - short);
                }
            }
            for l in next {
                moved[l.index()] = self.labels[l.index()] + growth;
            }
            let mut changed = false;
            let mut shift = 0u32;
            for branch in &mut self.branches {
                let distance = i64::from(moved[branch.label.index()]) - i64::from(branch.at + shift);
                let (short, long) = forms.sizes(branch.form);
                let (low, high) = forms.short_reach(branch.form);
                if branch.long {
                    shift += u32::from(long - short);
                } else if distance < low || distance > high || round == MAX_ROUNDS {
                    branch.long = true;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        std::mem::swap(&mut self.labels, &mut self.moved_labels);
    }

    /// Appends the code to `out` with every branch encoded.
    fn copy_code(&self, forms: &dyn BranchForms, out: &mut Vec<u8>) {
        let base = out.len();
        let mut from = 0;
        for branch in &self.branches {
            let at = branch.at as usize;
            out.extend_from_slice(&self.bytes[from..at]);
            let here = (out.len() - base) as i64;
            let target = self.labels[branch.label.index()];
            debug_assert_ne!(target, UNBOUND, "branch to a label that is not bound");
            let before = out.len();
            forms.encode(branch.form, branch.long, i64::from(target) - here, out);
            let (short, long) = forms.sizes(branch.form);
            debug_assert_eq!(out.len() - before, usize::from(if branch.long { long } else { short }));
            from = at + usize::from(short);
        }
        out.extend_from_slice(&self.bytes[from..]);
    }

    /// Moves the offsets of all tables along with the grown branches. A table's entry at a branch's own offset stays
    /// before it.
    fn move_offsets(&mut self, forms: &dyn BranchForms) {
        let branches = &self.branches;
        move_table(branches, forms, self.fixups.iter_mut().map(|f| &mut f.at));
        move_table(branches, forms, self.relocs.iter_mut().map(|r| &mut r.offset));
        move_table(branches, forms, self.traps.iter_mut().map(|t| &mut t.offset));
        move_table(branches, forms, self.srclocs.iter_mut().map(|s| &mut s.offset));
        move_table(branches, forms, self.calls.iter_mut().map(|c| &mut c.return_offset));
        move_table(branches, forms, self.unwind.iter_mut().map(|u| &mut u.offset));
        move_table(branches, forms, self.block_starts.iter_mut());
    }

    fn place_pool(&mut self, pool: &Pool, base: usize, forms: &dyn BranchForms, out: &mut Vec<u8>) {
        for entry in &pool.entries {
            let align = match *entry {
                PoolEntry::Bytes { len, .. } => len.next_power_of_two() as usize,
                PoolEntry::Table { .. } => 4,
            };
            let misaligned = (out.len() - base) % align;
            if misaligned != 0 {
                forms.nops(align - misaligned, out);
            }
            let offset = (out.len() - base) as u32;
            self.pool_offsets.push(offset);
            match *entry {
                PoolEntry::Bytes { start, len } => {
                    out.extend_from_slice(&pool.bytes[start as usize..(start + len) as usize]);
                }
                PoolEntry::Table { start, len } => {
                    for &target in &pool.targets[start as usize..(start + len) as usize] {
                        let distance = self.labels[target as usize].wrapping_sub(offset);
                        out.extend_from_slice(&distance.to_le_bytes());
                    }
                }
            }
        }
    }

    fn apply_fixups(&self, base: usize, forms: &dyn BranchForms, code: &mut [u8]) {
        for fixup in &self.fixups {
            let target = match fixup.target {
                FixupTarget::Label(label) => self.labels[label.index()],
                FixupTarget::Pool(index) => self.pool_offsets[index as usize],
            };
            let at = base + fixup.at as usize;
            forms.patch(fixup.kind, &mut code[at..at + 4], i64::from(target) - i64::from(fixup.at));
        }
    }
}

/// Offsets are 32 bits and branches reach 2 GiB.
const MAX_CODE_BYTES: usize = 1 << 31;

/// A function's code exceeds 2 GiB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLong;

fn move_table<'a>(branches: &[Branch], forms: &dyn BranchForms, offsets: impl Iterator<Item = &'a mut u32>) {
    let mut next = branches.iter().peekable();
    let mut growth = 0;
    for offset in offsets {
        while let Some(branch) = next.next_if(|b| b.at < *offset) {
            if branch.long {
                let (short, long) = forms.sizes(branch.form);
                growth += u32::from(long - short);
            }
        }
        *offset += growth;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiled::FrameInfo;

    /// Short: 2 bytes, reach of a signed byte from the end; long: 5 bytes.
    struct Toy;

    impl BranchForms for Toy {
        fn sizes(&self, _: u32) -> (u8, u8) {
            (2, 5)
        }
        fn short_reach(&self, _: u32) -> (i64, i64) {
            (-126, 129)
        }
        fn encode(&self, _: u32, long: bool, distance: i64, out: &mut Vec<u8>) {
            if long {
                out.push(0xe9);
                out.extend_from_slice(&((distance - 5) as i32).to_le_bytes());
            } else {
                out.push(0xeb);
                out.push((distance - 2) as i8 as u8);
            }
        }
        fn patch(&self, kind: FixupKind, field: &mut [u8], distance: i64) {
            let FixupKind::PcRel4(addend) = kind else { panic!("not a kind of this machine") };
            field.copy_from_slice(&(distance as i32 + addend).to_le_bytes());
        }
        fn nops(&self, bytes: usize, out: &mut Vec<u8>) {
            out.resize(out.len() + bytes, 0x90);
        }
    }

    fn head() -> FunctionHead {
        FunctionHead { name: SymbolName::named("f"), align: 1, frame: FrameInfo::default() }
    }

    fn finish(buffer: &mut Buffer, pool: &Pool) -> Vec<u8> {
        let mut module = ModuleBuffer::default();
        buffer.finish(head(), pool, &[], &Toy, &mut module).unwrap();
        module.function(0).code.to_vec()
    }

    /// Follows the branch at `at` to its target.
    fn target(code: &[u8], at: usize) -> usize {
        match code[at] {
            0xeb => (at as i64 + 2 + i64::from(code[at + 1] as i8)) as usize,
            _ => (at as i64 + 5 + i64::from(i32::from_le_bytes(code[at + 1..at + 5].try_into().unwrap()))) as usize,
        }
    }

    #[test]
    fn branches_grow_only_when_they_must() {
        for gap in [0, 1, 126, 127, 128, 129, 1000] {
            let mut b = Buffer::default();
            b.start(2);
            b.bind(Label::new(0));
            b.branch(Label::new(1), 0, &Toy);
            b.put(&vec![0x90; gap]);
            b.bind(Label::new(1));
            b.branch(Label::new(0), 0, &Toy);
            let code = finish(&mut b, &Pool::default());
            let first_long = gap > 127;
            assert_eq!(code[0] == 0xe9, first_long, "gap {gap}");
            let second = if first_long { 5 } else { 2 } + gap;
            assert_eq!(target(&code, 0), second);
            assert_eq!(target(&code, second), 0);
        }
    }

    #[test]
    fn growth_of_one_branch_pushes_others_out_of_reach() {
        // A chain in which branch i jumps over 62 others: just in reach while all are short.
        let n = 400;
        let mut b = Buffer::default();
        b.start(n + 64);
        for i in 0..n + 64 {
            b.bind(Label::new(i));
            b.trap(TrapCode::user(1).unwrap());
            let to = if i == 0 { n } else { (i + 64).min(n + 63) };
            b.branch(Label::new(to), 0, &Toy);
        }
        let mut module = ModuleBuffer::default();
        b.finish(head(), &Pool::default(), &[], &Toy, &mut module).unwrap();
        let view = module.function(0);
        for (i, site) in view.traps.iter().enumerate() {
            let to = if i == 0 { n } else { (i + 64).min(n + 63) };
            assert_eq!(target(view.code, site.offset as usize), view.traps[to].offset as usize, "branch {i}");
        }
    }

    #[test]
    fn constants_and_tables_lie_behind_the_code() {
        let mut b = Buffer::default();
        let mut pool = Pool::default();
        let c = pool.constant(&7u64.to_le_bytes());
        assert_eq!(pool.constant(&7u64.to_le_bytes()), c);
        let t = pool.table([0u32, 1].into_iter());
        b.start(2);
        b.bind(Label::new(0));
        for entry in [c, t] {
            b.fixup(FixupKind::PcRel4(-4), FixupTarget::Pool(entry));
            b.put4(0);
        }
        b.bind(Label::new(1));
        b.put1(0xc3);
        let code = finish(&mut b, &pool);
        let word = |at: usize| i32::from_le_bytes(code[at..at + 4].try_into().unwrap());
        assert_eq!(word(0), 16 - 4, "the constant is aligned to its size");
        assert_eq!(word(4), 24 - 4 - 4);
        assert_eq!((word(24), word(28)), (-24, 8 - 24));
    }
}
