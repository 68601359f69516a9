//! Memory: what is known of its contents along the walk of [`crate::gvn`].
//!
//! ```text
//! store v1, v0+8                           store v1, v0+8
//! v2 = load.i32 v0+8                       store v3, v0
//! store v2, v0                             v4 = iadd v1, v1
//! store v3, v0
//! v4 = iadd v1, v2
//! ```
//!
//! Each alias region has a version, a number that changes whenever an instruction may write to it. Equal loads of one version
//! are one value, and a store says what a load of the next version returns; the last store to a region says so for loads of fewer
//! bytes, too ([`crate::store_to_load_forwarding`]). An access that names no region may touch every region: such a store changes all
//! versions, and the version of such loads changes with every store. A block inherits the versions on which
//! its predecessors agree, the header of a loop those of regions that no block of the loop writes. A store is dead
//! if another one to the same place follows in its block and no instruction between them may read what it wrote, trap or leave. No
//! fixpoint is computed: linear in blocks, edges and instructions.

use cranelift_entity::{EntityRef, SecondaryMap};
use kingpost_ir::loops::Loop;
use kingpost_ir::memflags::{Endianness, MemFlags};
use kingpost_ir::{Block, Function, Inst, InstData, Opcode, Type, Value};

use crate::purity::{Purity, purity};
use kingpost_ir::analyses::Analyses;

/// The number of regions that are told apart. Region `n` of a function is number `n + 1` here, and the last number stands for
/// all regions from there on.
const REGIONS: usize = 8;

/// The number of accesses that name no region: they overlap every region.
const ANY: usize = 0;

/// The version of each region.
type Versions = [u32; REGIONS];

/// A set of regions, a bit each.
type Regions = u8;

/// The set of all regions.
const ALL: Regions = !0;

/// What is known of memory.
#[derive(Default, Debug)]
pub(crate) struct Memory {
    current: Versions,
    next_version: u32,
    /// By block: the versions at its end. Not cleared for another function, as each is written before it is read.
    exits: SecondaryMap<Block, Versions>,
    /// By loop: what its blocks write, those of inner loops included.
    written: SecondaryMap<Loop, Regions>,
    /// By region: the last store, with its place, if it is dead should another one to the same place follow now.
    pending: [Option<(Inst, [u64; 2])>; REGIONS],
    /// The region whose pending store may trap; there is at most one. Such a store is dead only if no other store comes between,
    /// because memory can be seen when it traps.
    trapping: Option<usize>,
    /// By region: the last store that was visited, if it is little-endian.
    stored: [Option<Stored>; REGIONS],
}

/// A store, as far as loads of its place must know it.
#[derive(Copy, Clone, Debug)]
struct Stored {
    opcode: Opcode,
    value: Value,
    addr: Value,
    offset: i32,
    /// The version of its region that it has made.
    version: u32,
}

impl Memory {
    /// Prepares for the walk over a function.
    pub(crate) fn reset(&mut self, func: &Function, analyses: &Analyses) {
        self.next_version = 0;
        self.current = [0; REGIONS];
        self.observe();
        self.stored = Default::default();
        self.written.clear();
        if analyses.loops.loops().next().is_some() {
            self.find_written(func, analyses);
        }
    }

    fn find_written(&mut self, func: &Function, analyses: &Analyses) {
        for &block in analyses.dominators.preorder() {
            if let Some(innermost) = analyses.loops.innermost_loop(block)
                && self.written[innermost] != ALL
            {
                let (mut written, mut next) = (0, func.layout.first_inst(block));
                while let Some(inst) = next {
                    next = func.layout.next_inst(inst);
                    written |= writes(func.dfg.inst(inst));
                }
                self.written[innermost] |= written;
            }
        }
        for each in analyses.loops.loops() {
            if let Some(parent) = analyses.loops.parent(each) {
                let written = self.written[each];
                self.written[parent] |= written;
            }
        }
    }

    /// Starts a block whose dominators have been visited, and all predecessors but those of back edges.
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
                // A back edge; one of an irreducible cycle says nothing.
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

    /// Ends a block.
    pub(crate) fn leave(&mut self, block: Block) {
        self.exits[block] = self.current;
    }

    /// Forgets what these regions hold.
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

    /// Notes that all of memory can be seen now: by a trap, a call, another thread.
    pub(crate) fn observe(&mut self) {
        self.pending = Default::default();
        self.trapping = None;
    }

    /// What an instruction that is neither load nor store means for memory.
    pub(crate) fn visit(&mut self, data: &InstData) {
        self.clobber(writes(data));
        if data.opcode().has_side_effects() {
            self.observe();
        }
    }

    /// Notes a load that is not superfluous.
    pub(crate) fn load(&mut self, flags: MemFlags) {
        let region = region(flags);
        if region == ANY || !flags.notrap() {
            return self.observe();
        }
        self.pending[region] = None;
        self.pending[ANY] = None;
    }

    /// Notes a store. Returns an earlier one that it makes superfluous.
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

    /// Notes what a store has just written, so that loads of another width can read it back.
    pub(crate) fn note_stored(&mut self, flags: MemFlags, opcode: Opcode, value: Value, addr: Value, offset: i32) {
        let region = region(flags);
        let version = self.current[region];
        let is_little = flags.endianness() != Some(Endianness::Big);
        self.stored[region] = is_little.then_some(Stored { opcode, value, addr, offset, version });
    }

    /// The opcode and value of the store that has written what a load at this place reads, if it is little-endian. The store
    /// is on every path to where the walk is, as its version is the current one.
    pub(crate) fn stored(&self, flags: MemFlags, addr: Value, offset: i32) -> Option<(Opcode, Value)> {
        let region = region(flags);
        let stored = self.stored[region].filter(|stored| stored.version == self.current[region])?;
        let is_same = stored.addr == addr && stored.offset == offset;
        let may_read = flags.endianness() != Some(Endianness::Big) && !flags.readonly();
        (is_same && may_read).then_some((stored.opcode, stored.value))
    }

    /// The key of a load that would happen now: equal keys are equal values.
    pub(crate) fn load_key(&self, load: &InstData) -> [u64; 2] {
        let flags = load.memflags().unwrap_or_default();
        let region = region(flags);
        let version = if flags.readonly() { 0 } else { self.current[region] };
        let order = match flags.endianness() {
            None => 0,
            Some(Endianness::Little) => 1,
            Some(Endianness::Big) => 2,
        };
        // Loads have no small immediate; the upper half of the second word holds the flags.
        let [head, rest] = load.key();
        let small = 0x80 | (region << 2 | order) as u64;
        [head | small << 8, rest & u64::from(u32::MAX) | u64::from(version) << 32]
    }
}

/// Returns the number of an access's region.
fn region(flags: MemFlags) -> usize {
    flags.alias_region().map_or(ANY, |region| (region.index() + 1).min(REGIONS - 1))
}

/// Returns the regions of which a store to `region` may write a byte.
fn overlapping(region: usize) -> Regions {
    if region == ANY { ALL } else { 1 << region | 1 << ANY }
}

/// The regions that an instruction may write.
fn writes(data: &InstData) -> Regions {
    match purity(data.opcode()) {
        Purity::Pure | Purity::Constant | Purity::PureMany | Purity::Trap | Purity::Load | Purity::Local => 0,
        Purity::Store => overlapping(region(data.memflags().unwrap_or_default())),
        Purity::Effect if data.opcode().is_call() || data.opcode().other_side_effects() => ALL,
        Purity::Effect => 0,
    }
}

/// The load that reads back what a store of a value of type `ty` writes. Its result is that value if the opcode is `load`.
pub(crate) fn load_of_store(store: &InstData, ty: Type, addr: Value, offset: i32) -> InstData {
    let opcode = match store.opcode() {
        Opcode::Istore8 => Opcode::Uload8,
        Opcode::Istore16 => Opcode::Uload16,
        Opcode::Istore32 => Opcode::Uload32,
        _ => Opcode::Load,
    };
    InstData::load(opcode, ty, store.memflags().unwrap_or_default(), addr, offset)
}
