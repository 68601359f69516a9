//! Memory: its contents, as far as they are known along the walk of [`crate::gvn`].
//!
//! ```text
//! store v1, v0+8                           store v1, v0+8
//! v2 = load.i32 v0+8                       store v3, v0
//! store v2, v0                             v4 = iadd v1, v1
//! store v3, v0
//! v4 = iadd v1, v2
//! ```
//!
//! Each alias region has a version, a number that changes whenever an instruction may write to the region. Equal
//! loads of one version are one value. A store determines the result of loads of the version that it makes. The
//! last store to a region also determines loads of fewer bytes ([`crate::store_to_load_forwarding`]). An access
//! that names no region may touch every region: such a store changes all versions, and the version of such loads
//! changes with every store.
//!
//! A block inherits the versions on which its predecessors agree. The header of a loop inherits only the versions
//! of regions that no block of the loop writes. A store is dead if another store to its place follows in its block,
//! and no instruction between them may read the stored bytes, trap or leave. No fixpoint is computed. Cost: linear
//! in blocks, edges and instructions.

use cranelift_entity::{EntityRef, SecondaryMap};
use kingpost_ir::loops::Loop;
use kingpost_ir::memflags::{Endianness, MemFlags};
use kingpost_ir::{Block, Function, Inst, InstData, Opcode, Type, Value};

use crate::purity::{Purity, purity};
use kingpost_ir::analyses::Analyses;
use kingpost_meter::heap_bytes;

/// Number of regions that are distinguished. Region `n` of a function has number `n + 1` here. All regions from the
/// last number on share it.
const REGIONS: usize = 8;

/// Region number of accesses that name no region: they overlap every region.
pub(crate) const ANY: usize = 0;

/// The version of each region.
type Versions = [u32; REGIONS];

/// A set of regions, one bit each.
pub(crate) type Regions = u8;

/// The set of all regions.
const ALL: Regions = !0;

/// State of memory at the current point of the walk.
#[derive(Default, Debug)]
pub(crate) struct Memory {
    current: Versions,
    next_version: u32,
    /// By block: versions at its end. Not cleared between functions, because each entry is written before it is
    /// read.
    exits: SecondaryMap<Block, Versions>,
    /// By loop: the regions that its blocks write, including the blocks of inner loops.
    written: SecondaryMap<Loop, Regions>,
    /// By region: the last store with its place, if it is dead should another store to that place follow now.
    pending: [Option<(Inst, [u64; 2])>; REGIONS],
    /// Region whose pending store may trap; there is at most one. Such a store is dead only if no other store comes
    /// between, because its trap would otherwise be delayed until after that other store.
    trapping: Option<usize>,
    /// By region: the last visited store, if it is little-endian.
    stored: [Option<Stored>; REGIONS],
}

heap_bytes!(Memory { exits, written } without { current, next_version, pending, trapping, stored });

/// Facts about a store that later loads of its place require.
#[derive(Copy, Clone, Debug)]
struct Stored {
    opcode: Opcode,
    value: Value,
    addr: Value,
    offset: i32,
    /// Version of its region that the store made.
    version: u32,
}

impl Memory {
    /// Prepares for the walk over a function.
    pub(crate) fn reset(&mut self, func: &Function, analyses: &Analyses) {
        self.next_version = 0;
        self.current = [0; REGIONS];
        self.observe();
        self.stored = Default::default();
        written(func, analyses, &mut self.written);
    }

    /// Enters a block. Its dominators and its predecessors, except for sources of back edges, have been visited.
    pub(crate) fn enter(&mut self, block: Block, analyses: &Analyses) {
        let tree = &analyses.dominators;
        let number = tree.preorder_number(block);
        let mut known = true;
        let mut changed: Regions = 0;
        let mut first: Option<Versions> = None;
        for pred in analyses.cfg.preds(block) {
            if !tree.is_reachable(pred.block) {
                continue;
            }
            if tree.preorder_number(pred.block) >= number {
                // A back edge. Nothing is known at a block of an irreducible cycle.
                known &= tree.dominates(block, pred.block);
                changed |= analyses.loops.innermost_loop(block).map_or(ALL, |each| self.written[each]);
                continue;
            }
            let exit = self.exits[pred.block];
            let versions = *first.get_or_insert(exit);
            if versions != exit {
                for region in 0..REGIONS {
                    changed |= Regions::from(versions[region] != exit[region]) << region;
                }
            }
        }
        self.current = first.unwrap_or_default();
        self.clobber(if known { changed } else { ALL });
        self.observe();
    }

    /// Records the versions at the end of a block.
    pub(crate) fn leave(&mut self, block: Block) {
        self.exits[block] = self.current;
    }

    /// Invalidates the known contents of these regions.
    fn clobber(&mut self, regions: Regions) {
        self.next_version += 1;
        if regions == ALL {
            self.current = [self.next_version; REGIONS];
            return;
        }
        let mut left = regions;
        while left != 0 {
            self.current[left.trailing_zeros() as usize] = self.next_version;
            left &= left - 1;
        }
    }

    /// Records that all of memory is visible now: to a trap, a call, or another thread.
    pub(crate) fn observe(&mut self) {
        self.pending = Default::default();
        self.trapping = None;
    }

    /// Records the effect on memory of an instruction that is neither a load nor a store.
    pub(crate) fn visit(&mut self, data: &InstData) {
        self.clobber(writes(data));
        if data.opcode().has_side_effects() {
            self.observe();
        }
    }

    /// Records a load that is not superfluous.
    pub(crate) fn load(&mut self, flags: MemFlags) {
        let region = region(flags);
        if region == ANY || !flags.notrap() {
            return self.observe();
        }
        self.pending[region] = None;
        self.pending[ANY] = None;
    }

    /// Records a store. Returns an earlier store that is dead because of it, if there is one.
    pub(crate) fn store(&mut self, inst: Inst, flags: MemFlags, place: [u64; 2]) -> Option<Inst> {
        let region = region(flags);
        let dead = self.pending[region].filter(|&(_, earlier)| earlier == place);
        if let Some(trapping) = self.trapping.take() {
            self.pending[trapping] = None;
        }
        if !flags.notrap() {
            self.observe();
            self.trapping = Some(region);
        }
        self.clobber(overlapping(region));
        self.pending[region] = Some((inst, place));
        dead.map(|(inst, _)| inst)
    }

    /// Records the value that a store has just written, so that loads of another width can use it.
    pub(crate) fn note_stored(&mut self, flags: MemFlags, opcode: Opcode, value: Value, addr: Value, offset: i32) {
        let region = region(flags);
        let version = self.current[region];
        let is_little = flags.endianness() != Some(Endianness::Big);
        self.stored[region] = is_little.then_some(Stored { opcode, value, addr, offset, version });
    }

    /// Returns the opcode and the value of the store that wrote the bytes of a load at this place, if both are
    /// little-endian. The store is on every path to the current point of the walk, because its version is the
    /// current one.
    pub(crate) fn stored(&self, flags: MemFlags, addr: Value, offset: i32) -> Option<(Opcode, Value)> {
        let region = region(flags);
        let stored = self.stored[region].filter(|stored| stored.version == self.current[region])?;
        let is_same = stored.addr == addr && stored.offset == offset;
        let may_read = flags.endianness() != Some(Endianness::Big) && !flags.readonly();
        (is_same && may_read).then_some((stored.opcode, stored.value))
    }

    /// Returns the key of a load at the current point of the walk. Loads with equal keys have equal results.
    pub(crate) fn load_key(&self, load: &InstData) -> [u64; 2] {
        let flags = load.memflags().unwrap_or_default();
        let region = region(flags);
        let version = if flags.readonly() { 0 } else { self.current[region] };
        let order = match flags.endianness() {
            None => 0,
            Some(Endianness::Little) => 1,
            Some(Endianness::Big) => 2,
        };
        // Loads have no small immediate, so the region and the byte order take its bits. The upper half of the
        // second word holds the flags, which the version replaces.
        let [head, rest] = load.key();
        let small = 0x80 | (region << 2 | order) as u64;
        [head | small << 8, rest & u64::from(u32::MAX) | u64::from(version) << 32]
    }
}

/// Returns the region number of an access.
pub(crate) fn region(flags: MemFlags) -> usize {
    flags.alias_region().map_or(ANY, |region| (region.index() + 1).min(REGIONS - 1))
}

/// Returns the regions that overlap `region`.
fn overlapping(region: usize) -> Regions {
    if region == ANY { ALL } else { 1 << region | 1 << ANY }
}

/// Computes, by loop, the regions that its blocks write, and the blocks of inner loops.
pub(crate) fn written(func: &Function, analyses: &Analyses, written: &mut SecondaryMap<Loop, Regions>) {
    written.clear();
    if analyses.loops.loops().next().is_none() {
        return;
    }
    for &block in analyses.dominators.preorder() {
        if let Some(innermost) = analyses.loops.innermost_loop(block)
            && written[innermost] != ALL
        {
            let (mut own, mut next) = (0, func.layout.first_inst(block));
            while let Some(inst) = next {
                next = func.layout.next_inst(inst);
                own |= writes(func.dfg.inst(inst));
            }
            written[innermost] |= own;
        }
    }
    for each in analyses.loops.loops() {
        if let Some(parent) = analyses.loops.parent(each) {
            let own = written[each];
            written[parent] |= own;
        }
    }
}

/// Returns the regions that an instruction may write.
fn writes(data: &InstData) -> Regions {
    match purity(data.opcode()) {
        Purity::Pure | Purity::Constant | Purity::PureMany | Purity::Trap | Purity::Load | Purity::Local => 0,
        Purity::Store => overlapping(region(data.memflags().unwrap_or_default())),
        Purity::Effect if data.opcode().is_call() || data.opcode().other_side_effects() => ALL,
        Purity::Effect => 0,
    }
}

/// Returns the load that reads back the bytes that a store of a value of type `ty` writes. If its opcode is `load`,
/// its result is that value.
pub(crate) fn load_of_store(store: &InstData, ty: Type, addr: Value, offset: i32) -> InstData {
    let opcode = match store.opcode() {
        Opcode::Istore8 => Opcode::Uload8,
        Opcode::Istore16 => Opcode::Uload16,
        Opcode::Istore32 => Opcode::Uload32,
        _ => Opcode::Load,
    };
    InstData::load(opcode, ty, store.memflags().unwrap_or_default(), addr, offset)
}
