//! Completion of a function: short and long references, jump tables.
//!
//! Every reference whose size depends on its distance (a branch to a label, the address of a table) is emitted as a
//! hole of its shortest encoding's size. [`Buffer::finish`] finds the references that do not reach and gives them
//! longer encodings. It repeats this, because growth moves further targets out of reach; encodings only grow, so the
//! iteration ends. Each round is one pass over the references. From [`MAX_ROUNDS`] rounds on no reference keeps its
//! shortest encoding, from twice as many on its second, and so on. Then the code is copied into the module buffer
//! with the references filled in, and the offsets of every table are adjusted in one merged walk. Functions so short
//! that everything is in reach skip these steps.
//!
//! A longer encoding contains all instructions that it needs to reach its target, such as an inverted branch around a
//! far one. So no islands of veneers have to be placed between instructions, found again, and kept in reach
//! themselves. The price is a few bytes for each reference beyond the first to a far target.
//!
//! Cost: linear in bytes plus rounds × references.

use super::tables::ENTRY_BYTES;
use super::{BranchForms, Buffer, JumpTables, Label, Reach, Reference, Target, UNBOUND};
use crate::compiled::{BlockEdge, BlockHead, FunctionHead, HandlerSite, ModuleBuffer, SymbolName};
use kingpost_regalloc::sort::sort;

/// Number of rounds of growth before each shortest encoding is given up, and again before each second one.
const MAX_ROUNDS: usize = 12;

/// Completion of a function.
impl Buffer {
    /// Completes the function and adds it to `module` with the given head.
    ///
    /// # Errors
    /// [`TooLong`] if the code exceeds 2 GiB.
    pub fn finish(
        &mut self,
        head: FunctionHead,
        tables: &JumpTables,
        symbols: &[SymbolName],
        forms: &dyn BranchForms,
        module: &mut ModuleBuffer,
    ) -> Result<(), TooLong> {
        if self.bytes.len() > MAX_CODE_BYTES {
            return Err(TooLong);
        }
        self.grow(tables, forms)?;
        let pools = &mut module.pools;
        let base = pools.code.len();
        self.copy_code(forms, &mut pools.code);
        let labels = self.bound.iter().map(|&label| (label, self.labels[label.index()]));
        let listed = tables.tables.iter().zip(&self.table_offsets).map(|(&table, &offset)| {
            (offset, tables.of(table).iter().map(|&target| Label::new(target as usize)).collect())
        });
        self.listing.finish(labels, listed, symbols, (pools.code.len() - base) as u32);
        self.place_tables(tables, base, forms, &mut pools.code);
        if pools.code.len() - base > MAX_CODE_BYTES {
            module.discard_unfinished();
            return Err(TooLong);
        }
        self.apply_fixups(&mut pools.code[base..]);
        append(&mut pools.relocs, &self.relocs);
        append(&mut pools.symbols, symbols);
        append(&mut pools.traps, &self.traps);
        append(&mut pools.srclocs, &self.srclocs);
        append(&mut pools.calls, &self.calls);
        append(&mut pools.stack_maps, &self.stack_maps);
        append(&mut pools.debug_tags, &self.debug_tags);
        append(&mut pools.patchable_calls, &self.patchable_calls);
        append(&mut pools.keyed_slots, &self.keyed_slots);
        pools.handlers.extend(
            self.handlers.iter().map(|handler| HandlerSite {
                handler_offset: self.labels[handler.handler_offset as usize],
                ..*handler
            }),
        );
        append(&mut pools.values, &self.values);
        append(&mut pools.constants, &self.constants);
        pools.variables.extend_from_slice(&self.variables);
        append(&mut pools.unwind, &self.unwind);
        append(&mut pools.blocks, &self.block_starts);
        let offset = |label: u32| self.labels[label as usize];
        let heads = self.block_heads.iter();
        pools.block_heads.extend(heads.map(|head| BlockHead { block: head.0, offset: offset(head.0) }));
        let edges = self.block_edges.iter();
        pools.block_edges.extend(edges.map(|edge| BlockEdge { from: offset(edge.from), to: offset(edge.to) }));
        let data_offset = self.table_offsets.first().copied().unwrap_or((pools.code.len() - base) as u32);
        module.push_function(head, data_offset);
        Ok(())
    }

    /// Chooses the encodings of references, and moves all offsets to their final places.
    fn grow(&mut self, tables: &JumpTables, forms: &dyn BranchForms) -> Result<(), TooLong> {
        if self.bytes.len() + tables.max_bytes() <= forms.always_reached() {
            self.layout_tables(tables, self.bytes.len());
            return Ok(());
        }
        self.moved_labels.clone_from(&self.labels);
        self.layout_tables(tables, self.bytes.len());
        let mut round = 0;
        while self.lengthen(forms, round / MAX_ROUNDS) {
            let growth = self.move_labels();
            if self.bytes.len() as u64 + growth > MAX_CODE_BYTES as u64 {
                return Err(TooLong);
            }
            self.layout_tables(tables, self.bytes.len() + growth as usize);
            round += 1;
        }
        if round > 0 {
            std::mem::swap(&mut self.labels, &mut self.moved_labels);
            self.move_offsets();
        }
        Ok(())
    }

    /// Moves labels by the growth of the references before them, and returns the total growth.
    fn move_labels(&mut self) -> u64 {
        let Buffer { labels, moved_labels, bound, references, .. } = self;
        let mut growth = 0u64;
        let mut next = 0;
        for reference in references.iter() {
            while let Some(&label) = bound.get(next)
                && labels[label.index()] <= reference.at
            {
                moved_labels[label.index()] = labels[label.index()] + growth as u32;
                next += 1;
            }
            growth += u64::from(reference.growth);
        }
        for label in &bound[next..] {
            moved_labels[label.index()] = labels[label.index()] + growth as u32;
        }
        growth
    }

    /// Chooses longer encodings for all references that do not reach, and at least encoding `least`. Returns `true`
    /// if a reference has grown.
    fn lengthen(&mut self, forms: &dyn BranchForms, least: usize) -> bool {
        let mut changed = false;
        let mut shift = 0u32;
        for reference in &mut self.references {
            let target = match reference.target {
                Target::Label(label) => self.moved_labels[label.index()],
                Target::Table(table) => self.table_offsets[table as usize],
            };
            let distance = i64::from(target) - i64::from(reference.at + shift);
            shift += u32::from(reference.growth);
            if !reference.reaches(distance) || usize::from(reference.encoding) < least {
                changed |= reference.lengthen(distance, forms.encodings(reference.form), least);
            }
        }
        changed
    }

    /// Appends the code to `out` with every reference encoded.
    fn copy_code(&self, forms: &dyn BranchForms, out: &mut Vec<u8>) {
        let base = out.len();
        let mut from = 0;
        for reference in &self.references {
            let at = reference.at as usize;
            out.extend_from_slice(&self.bytes[from..at]);
            let here = (out.len() - base) as i64;
            let target = match reference.target {
                Target::Label(label) => self.labels[label.index()],
                Target::Table(table) => self.table_offsets[table as usize],
            };
            debug_assert_ne!(target, UNBOUND, "branch to a label that is not bound");
            let distance = i64::from(target) - here;
            forms.encode(reference.form, usize::from(reference.encoding), distance, out);
            debug_assert_eq!(out.len() - base - here as usize, usize::from(reference.hole + reference.growth));
            from = at + usize::from(reference.hole);
        }
        out.extend_from_slice(&self.bytes[from..]);
    }

    /// Moves the offsets of all tables by the growth of the references before them. A table's entry at a reference's
    /// own offset stays before it.
    fn move_offsets(&mut self) {
        let references = &self.references;
        move_table(references, self.fixups.iter_mut().map(|f| &mut f.at));
        move_table(references, self.relocs.iter_mut().map(|r| &mut r.offset));
        move_table(references, self.traps.iter_mut().map(|t| &mut t.offset));
        move_table(references, self.srclocs.iter_mut().map(|s| &mut s.offset));
        move_table(references, self.calls.iter_mut().map(|c| &mut c.return_offset));
        move_table(references, self.stack_maps.iter_mut().map(|m| &mut m.return_offset));
        move_table(references, self.debug_tags.iter_mut().map(|t| &mut t.offset));
        move_table(references, self.patchable_calls.iter_mut().map(|c| &mut c.return_offset));
        move_table(references, self.handlers.iter_mut().map(|h| &mut h.return_offset));
        // Values are not in the order of their offsets.
        let mut ends: Vec<&mut u32> = self.values.iter_mut().flat_map(|v| [&mut v.from, &mut v.to]).collect();
        sort(&mut ends);
        move_table(references, ends.into_iter());
        move_table(references, self.unwind.iter_mut().map(|u| &mut u.offset));
        move_table(references, self.block_starts.iter_mut());
        move_table(references, self.listing.offsets_mut());
    }

    /// Computes the offsets of the tables after `code_bytes` bytes of code.
    fn layout_tables(&mut self, tables: &JumpTables, code_bytes: usize) {
        self.table_offsets.clear();
        let mut at = code_bytes.next_multiple_of(ENTRY_BYTES);
        for table in &tables.tables {
            self.table_offsets.push(at as u32);
            at += ENTRY_BYTES * table.len as usize;
        }
    }

    fn place_tables(&self, tables: &JumpTables, base: usize, forms: &dyn BranchForms, out: &mut Vec<u8>) {
        for (&table, &offset) in tables.tables.iter().zip(&self.table_offsets) {
            let padding = offset as usize - (out.len() - base);
            if padding != 0 {
                forms.nops(padding, out);
            }
            for &target in tables.of(table) {
                let distance = self.labels[target as usize].wrapping_sub(offset);
                out.extend_from_slice(&distance.to_le_bytes());
            }
        }
    }

    fn apply_fixups(&self, code: &mut [u8]) {
        for fixup in &self.fixups {
            let distance = self.table_offsets[fixup.table as usize].wrapping_sub(fixup.at) as i32;
            let at = fixup.at as usize;
            code[at..at + 4].copy_from_slice(&(distance + fixup.addend).to_le_bytes());
        }
    }
}

/// Limit of the code of a function. Offsets have 32 bits, and branches reach 2 GiB.
const MAX_CODE_BYTES: usize = 1 << 31;

/// Error for a function whose code exceeds 2 GiB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLong;

impl Reference {
    /// Takes the shortest encoding that reaches `distance`, starting from the present one and from encoding `least`.
    /// Returns `true` if the encoding changes.
    fn lengthen(&mut self, distance: i64, encodings: &[Reach], least: usize) -> bool {
        let (old, last) = (usize::from(self.encoding), encodings.len() - 1);
        let mut new = old.max(least.min(last));
        while new < last && !(encodings[new].low..=encodings[new].high).contains(&distance) {
            new += 1;
        }
        self.encoding = new as u8;
        self.growth = encodings[new].bytes - self.hole;
        self.set_reach(encodings[new]);
        new != old
    }
}

/// Appends a table of a function to the table of the module. Most tables of a function are empty.
#[inline(always)]
fn append<T: Clone>(pool: &mut Vec<T>, table: &[T]) {
    if !table.is_empty() {
        pool.extend_from_slice(table);
    }
}

/// Moves a table's ascending offsets by the growth of the references before them.
fn move_table<'a>(references: &[Reference], offsets: impl Iterator<Item = &'a mut u32>) {
    let (mut next, mut growth) = (0, 0);
    for offset in offsets {
        while let Some(reference) = references.get(next)
            && reference.at < *offset
        {
            growth += u32::from(reference.growth);
            next += 1;
        }
        *offset += growth;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_ir::TrapCode;

    /// Branch forms for tests. Short: 2 bytes, reach of a signed byte from the end. Long: 5 bytes.
    struct Toy;

    impl BranchForms for Toy {
        fn encodings(&self, _: u32) -> &'static [Reach] {
            &[Reach { bytes: 2, low: -126, high: 129 }, Reach { bytes: 5, low: i64::MIN, high: i64::MAX }]
        }
        fn encode(&self, _: u32, encoding: usize, distance: i64, out: &mut Vec<u8>) {
            if encoding == 1 {
                out.push(0xe9);
                out.extend_from_slice(&((distance - 5) as i32).to_le_bytes());
            } else {
                out.push(0xeb);
                out.push((distance - 2) as i8 as u8);
            }
        }
        fn always_reached(&self) -> usize {
            126
        }
        fn jump(&self) -> u32 {
            0
        }
        fn opposite(&self, form: u32) -> u32 {
            form
        }
        fn text(&self, _: u32) -> String {
            String::new()
        }
        fn nops(&self, bytes: usize, out: &mut Vec<u8>) {
            out.resize(out.len() + bytes, 0x90);
        }
    }

    fn head() -> FunctionHead {
        FunctionHead::of_bytes(SymbolName::named("f"), 1)
    }

    fn finish(buffer: &mut Buffer, tables: &JumpTables) -> Vec<u8> {
        let mut module = ModuleBuffer::default();
        buffer.finish(head(), tables, &[], &Toy, &mut module).unwrap();
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
            let code = finish(&mut b, &JumpTables::default());
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
        b.finish(head(), &JumpTables::default(), &[], &Toy, &mut module).unwrap();
        let view = module.function(0);
        for (i, site) in view.traps.iter().enumerate() {
            let to = if i == 0 { n } else { (i + 64).min(n + 63) };
            assert_eq!(target(view.code, site.offset as usize), view.traps[to].offset as usize, "branch {i}");
        }
    }

    #[test]
    fn tables_lie_behind_the_code() {
        let mut b = Buffer::default();
        let mut tables = JumpTables::default();
        assert_eq!(tables.targets([1].into_iter()), 0);
        let [first, second] = [&[0u32, 1][..], &[1]].map(|targets| tables.table(targets.iter().copied()));
        b.start(2);
        b.bind(Label::new(0));
        for table in [first, second] {
            b.fixup(table, -4);
            b.put4(0);
        }
        b.bind(Label::new(1));
        b.put1(0xc3);
        let code = finish(&mut b, &tables);
        let word = |at: usize| i32::from_le_bytes(code[at..at + 4].try_into().unwrap());
        assert_eq!((word(0), word(4)), (12 - 4, 20 - 4 - 4), "the tables are aligned");
        assert_eq!((word(12), word(16), word(20)), (-12, 8 - 12, 8 - 20));
    }
}
