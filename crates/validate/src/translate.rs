//! Translation of blocks: their effects and exits.

use crate::byte_order::{changed, in_order, lanes_in_order};
use crate::clif::{
    Addresses, Atomic, AtomicKind, BlockMeaning, Call, Edge, Effect, Exit, Load, Meaning, Repeat, parts, symbol,
    variable,
};
use crate::error::Feature;
use crate::input::Code;
use crate::lanes::{widened, widening_load};
use crate::parameters::Sources;
use cranelift_entity::{EntityRef, SecondaryMap};
use kingpost_ir::instruction::BlockArgKind;
use kingpost_ir::memflags::MemFlags;
use kingpost_ir::types::I128;
use kingpost_ir::{Block, BlockCall, Function, Inst, InstView, Opcode, SigRef, Type, Value};
use kingpost_semantics::{Operand, access_bits, lane_bits, loaded, stored};
use kingpost_smt::{Term, Terms};
use std::collections::BTreeMap;

/// Returns the reachable blocks in reverse post-order.
pub(crate) fn reverse_postorder(func: &Function) -> Vec<Block> {
    let mut seen: SecondaryMap<Block, bool> = SecondaryMap::new();
    let (mut order, mut stack) = (Vec::new(), Vec::new());
    if let Some(entry) = func.layout.entry_block() {
        seen[entry] = true;
        stack.push((entry, 0));
    }
    while let Some((block, next)) = stack.last_mut() {
        let destinations = func.layout.last_inst(*block).map_or(&[][..], |last| func.dfg.branch_destinations(last));
        match destinations.get(*next) {
            Some(destination) => {
                *next += 1;
                if !std::mem::replace(&mut seen[destination.block], true) {
                    stack.push((destination.block, 0));
                }
            }
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

/// Returns the meaning of a function. `arguments` are its arguments, and `addresses` are addresses of its frame and code.
///
/// # Errors
/// The first feature without a known meaning.
pub(crate) fn meaning(
    terms: &mut Terms,
    func: &Function,
    code: &Code<'_>,
    arguments: &[Term],
    addresses: &Addresses,
) -> Result<Meaning, Feature> {
    let order = reverse_postorder(func);
    let mut translation = Translation {
        terms,
        func,
        code,
        addresses,
        is_frame_read: false,
        sources: Sources::of(func, &order),
        values: SecondaryMap::new(),
        current: None,
        effects: Vec::new(),
        unchanging: BTreeMap::new(),
        loaded: Loaded::default(),
        repeats: Vec::new(),
        definitions: Vec::new(),
    };
    let mut blocks = SecondaryMap::new();
    for &block in &order {
        translation.current = Some(block);
        for (number, &parameter) in func.dfg.block_params(block).iter().enumerate() {
            if translation.sources.is_constant(parameter) {
                translation.ty(parameter)?;
                continue;
            }
            translation.variable(parameter, "v")?;
            // No edge leads to the entry, so its parameters are always the arguments.
            if Some(block) == func.layout.entry_block() {
                translation.values[parameter] = arguments.get(number).copied();
            }
        }
        let exit = translation.block(block)?;
        blocks[block] = Some(BlockMeaning { effects: std::mem::take(&mut translation.effects), exit });
    }
    let repeats = translation.repeats();
    // The prologue reads memory before the blocks do, and they may read it again.
    (translation.current, translation.unchanging, translation.loaded) = (None, BTreeMap::new(), Loaded::default());
    let limit = func.stack_limit.map(|limit| translation.limit(limit)).transpose()?;
    let Translation { sources, values, is_frame_read, .. } = translation;
    Ok(Meaning { values, sources, blocks, order, repeats, limit, is_frame_read })
}

/// The bits at each address, and of each width, that the current block has loaded since the last effect that may change
/// memory. No other thread writes memory that is accessed without atomic operations.
#[derive(Default)]
struct Loaded {
    bits: BTreeMap<(Term, u32), Term>,
    /// Number of effects that were looked at.
    effects: usize,
}

impl Loaded {
    /// Returns the bits that are still known. Forgets all if effects that are new may change memory.
    fn since(&mut self, effects: &[Effect]) -> &BTreeMap<(Term, u32), Term> {
        let new = effects.get(self.effects..).unwrap_or_default();
        if !new.iter().all(|effect| matches!(effect, Effect::Load(_) | Effect::TrapIf { .. })) {
            self.bits.clear();
        }
        self.effects = effects.len();
        &self.bits
    }
}

pub(crate) struct Translation<'a> {
    pub(crate) terms: &'a mut Terms,
    pub(crate) func: &'a Function,
    pub(crate) code: &'a Code<'a>,
    pub(crate) addresses: &'a Addresses,
    /// Whether the frame pointer or the stack pointer is a value.
    pub(crate) is_frame_read: bool,
    sources: Sources,
    pub(crate) values: SecondaryMap<Value, Option<Term>>,
    current: Option<Block>,
    /// Effects of the current block.
    pub(crate) effects: Vec<Effect>,
    /// The bits at each address, and of each width, in memory that does not change, with the block that reads them
    /// first.
    unchanging: BTreeMap<(Term, u32), (Term, Option<Block>)>,
    loaded: Loaded,
    /// Bits that a block reads from memory that does not change, with their address, the block that reads them first, and
    /// the block.
    repeats: Vec<(Term, Term, Block, Block)>,
    /// Variables, or pairs of them, with the blocks that define them.
    definitions: Vec<(Term, Block)>,
}

impl Translation<'_> {
    /// Returns the type of a value.
    ///
    /// # Errors
    /// If values of the type have no known meaning.
    pub(crate) fn ty(&self, value: Value) -> Result<Type, Feature> {
        self.check_type(self.func.dfg.value_type(value))
    }

    pub(crate) fn check_type(&self, ty: Type) -> Result<Type, Feature> {
        if ty.is_scalar() && ty.bits() <= 64 || ty == I128 || ty.is_vector() && ty.bits() <= 128 {
            Ok(ty)
        } else {
            Err(Feature::Type(ty))
        }
    }

    /// Makes a value a variable.
    fn variable(&mut self, value: Value, prefix: &str) -> Result<Term, Feature> {
        let width = self.ty(value)?.bits();
        let term = self.defined(&format!("{prefix}{}", value.index()), width);
        self.values[value] = Some(term);
        Ok(term)
    }

    /// Returns a variable that the current block defines.
    fn defined(&mut self, name: &str, width: u32) -> Term {
        let term = variable(self.terms, name, width);
        self.definitions.extend(self.current.map(|block| (term, block)));
        term
    }

    /// Returns the bits that a block reads again, each with the blocks at whose heads it has other or no bits.
    fn repeats(&mut self) -> Vec<Repeat> {
        if self.repeats.is_empty() {
            return Vec::new();
        }
        let mut homes: BTreeMap<Term, Block> = BTreeMap::new();
        for &(term, block) in &self.definitions {
            homes.extend(self.terms.variables_of(&[term]).into_iter().map(|variable| (variable, block)));
        }
        let repeats = self.repeats.iter().map(|&(bits, address, first, again)| {
            let variables = self.terms.variables_of(&[address]);
            let ends = variables.iter().filter_map(|variable| homes.get(variable).copied()).chain([first]).collect();
            Repeat { bits, again, ends }
        });
        repeats.collect()
    }

    pub(crate) fn value(&self, value: Value) -> Term {
        let value = self.sources.resolve(self.func, value);
        self.values[value].expect("definitions dominate uses")
    }

    pub(crate) fn operand(&self, value: Value) -> Result<Operand, Feature> {
        Ok(Operand { ty: self.ty(value)?, bits: self.value(value) })
    }

    fn edge(&self, call: BlockCall) -> Result<Edge, Feature> {
        self.edge_of_try(call, &[], &[])
    }

    /// Returns an edge of a call with handlers, which may pass its results or the payloads of an exception.
    pub(crate) fn edge_of_try(&self, call: BlockCall, results: &[Term], payloads: &[Term]) -> Result<Edge, Feature> {
        let arguments = self.func.dfg.block_args(call).iter().map(|argument| match argument.kind() {
            BlockArgKind::Value(value) => Some(self.value(value)),
            BlockArgKind::TryCallRet(number) => results.get(number as usize).copied(),
            BlockArgKind::TryCallExn(number) => payloads.get(number as usize).copied(),
        });
        let arguments = arguments.collect::<Option<_>>().ok_or(Feature::Opcode(Opcode::TryCall))?;
        Ok(Edge { block: call.block, arguments })
    }

    /// Translates the instructions of a block.
    fn block(&mut self, block: Block) -> Result<Exit, Feature> {
        self.loaded = Loaded::default();
        for inst in self.func.layout.block_insts(block) {
            if let Some(exit) = self.inst(inst)? {
                return Ok(exit);
            }
        }
        Ok(Exit::Never)
    }

    /// Translates an instruction. Returns the exit if the instruction ends its block.
    fn inst(&mut self, inst: Inst) -> Result<Option<Exit>, Feature> {
        let (dfg, opcode) = (&self.func.dfg, self.func.dfg.opcode(inst));
        match (dfg.view(inst), opcode) {
            (InstView::Jump { dest }, _) => return Ok(Some(Exit::Jump(self.edge(dest)?))),
            (InstView::Brif { cond, then_dest, else_dest }, _) => {
                let (then, otherwise) = (self.edge(then_dest)?, self.edge(else_dest)?);
                let condition = self.operand(cond)?.bits;
                let zero = self.terms.number(self.terms.width(condition), 0);
                let condition = self.terms.ne(condition, zero);
                return Ok(Some(Exit::Branch { condition, then, otherwise }));
            }
            (InstView::BranchTable { index, table }, _) => {
                let (default, entries) = dfg.jump_table(table);
                let entries = entries.iter().map(|&entry| self.edge(entry)).collect::<Result<_, _>>()?;
                return Ok(Some(Exit::Table { index: self.value(index), entries, default: self.edge(default)? }));
            }
            (InstView::MultiAry { args }, Opcode::Return) => {
                return Ok(Some(Exit::Return(args.iter().map(|&value| self.value(value)).collect())));
            }
            (InstView::Trap { code }, _) => {
                let condition = self.terms.bool(true);
                self.effects.push(Effect::TrapIf { condition, code });
                return Ok(Some(Exit::Never));
            }
            (InstView::Call { func, args }, Opcode::Call | Opcode::ReturnCall) => {
                let data = &dfg.ext_funcs[func];
                let name = self.func.display_name(&data.name).to_string();
                let callee = symbol(self.terms, &name);
                return self.call(inst, callee, data.signature, args);
            }
            (InstView::CallIndirect { sig, callee, args }, Opcode::CallIndirect | Opcode::ReturnCallIndirect) => {
                let callee = self.value(callee);
                return self.call(inst, callee, sig, args);
            }
            (InstView::TryCall { func, args, table }, _) => {
                let name = self.func.display_name(&dfg.ext_funcs[func].name).to_string();
                let callee = symbol(self.terms, &name);
                return self.try_call(inst, callee, table, args).map(Some);
            }
            (InstView::TryCallIndirect { callee, args, table }, _) => {
                let callee = self.value(callee);
                return self.try_call(inst, callee, table, args).map(Some);
            }
            (InstView::Load { flags, addr, offset }, _) => self.load(inst, flags, addr, offset)?,
            (InstView::Store { flags, value, addr, offset }, _) => {
                let (value, address) = (self.operand(value)?, self.address(addr, offset));
                let bits = stored(self.terms, opcode, value).ok_or(Feature::Opcode(opcode))?;
                let width = lane_bits(opcode, value.ty).ok_or(Feature::Opcode(opcode))?;
                let value = lanes_in_order(self.terms, flags, width, bits);
                // Code stores the halves of an i128 one after the other.
                for (number, value) in parts(self.terms, value).into_iter().enumerate() {
                    let address = self.plus(address, 8 * number as i64);
                    let aligned = flags.aligned();
                    self.effects.push(Effect::Store { address, value, trap: flags.trap_code(), aligned });
                }
            }
            (InstView::LoadNoOffset { flags, arg }, Opcode::AtomicLoad) => {
                self.atomic(AtomicKind::Load, inst, flags, arg, |_, old| Some(old))?;
            }
            (InstView::StoreNoOffset { flags, value, addr }, Opcode::AtomicStore) => {
                let value = self.operand(value)?.bits;
                let new = in_order(self.terms, flags, value);
                self.atomic(AtomicKind::Store, inst, flags, addr, |_, _| Some(new))?;
            }
            (InstView::AtomicRmw { flags, op, addr, value }, _) => {
                let operand = self.operand(value)?;
                self.atomic(AtomicKind::Update, inst, flags, addr, |terms, old| {
                    changed(terms, flags, op, Operand { bits: old, ..operand }, operand)
                })?;
            }
            (InstView::AtomicCas { flags, addr, expected, new }, _) => {
                let [expected, new] = [self.operand(expected)?.bits, self.operand(new)?.bits];
                self.atomic(AtomicKind::CompareAndSwap, inst, flags, addr, |terms, old| {
                    let [expected, new] = [expected, new].map(|bits| in_order(terms, flags, bits));
                    let is_expected = terms.eq(expected, old);
                    Some(terms.ite(is_expected, new, old))
                })?;
            }
            (InstView::Nullary, Opcode::Fence) => self.effects.push(Effect::Fence),
            (InstView::Nullary, Opcode::Nop | Opcode::SequencePoint) => {}
            _ => self.pure(inst, opcode)?,
        }
        Ok(None)
    }

    fn address(&mut self, base: Value, offset: i32) -> Term {
        let base = self.value(base);
        self.plus(base, offset.into())
    }

    pub(crate) fn plus(&mut self, address: Term, offset: i64) -> Term {
        let offset = self.terms.number(64, offset as u64 as u128);
        self.terms.add(address, offset)
    }

    fn load(&mut self, inst: Inst, flags: MemFlags, addr: Value, offset: i32) -> Result<(), Feature> {
        let (opcode, result) = (self.func.dfg.opcode(inst), self.func.dfg.inst_results(inst)[0]);
        let ty = self.ty(result)?;
        let widening = widening_load(opcode);
        let bits_of = |access: fn(Opcode, Type) -> Option<u32>| access(opcode, ty).ok_or(Feature::Opcode(opcode));
        let (width, lane) = match widening {
            Some((narrow, _)) => (narrow.bits(), narrow.lane_bits()),
            None => (bits_of(access_bits)?, bits_of(lane_bits)?),
        };
        let address = self.address(addr, offset);
        let bits = self.read(address, width, flags, &format!("m{}", result.index()));
        let value = lanes_in_order(self.terms, flags, lane, bits);
        self.values[result] = match widening {
            Some((narrow, is_signed)) => Some(widened(self.terms, narrow, is_signed, value)),
            None => loaded(self.terms, opcode, ty, value),
        };
        Ok(())
    }

    /// Adds a load, and returns its bits: the variable `name`, or bits of memory that does not change and was read
    /// before.
    pub(crate) fn read(&mut self, address: Term, width: u32, flags: MemFlags, name: &str) -> Term {
        let known = self.unchanging.get(&(address, width)).copied().filter(|_| flags.readonly());
        let same = self.loaded.since(&self.effects).get(&(address, width)).copied().filter(|_| !flags.readonly());
        let bits = match (known, same) {
            (_, Some(bits)) => bits,
            (Some((bits, first)), _) => {
                if let (Some(first), Some(again)) = (first, self.current)
                    && first != again
                {
                    self.repeats.push((bits, address, first, again));
                }
                bits
            }
            (None, None) => self.defined(name, width),
        };
        if flags.readonly() && known.is_none() {
            self.unchanging.insert((address, width), (bits, self.current));
        } else if !flags.readonly() {
            self.loaded.bits.insert((address, width), bits);
        }
        for (number, bits) in parts(self.terms, bits).into_iter().enumerate() {
            let address = self.plus(address, 8 * number as i64);
            let (readonly, aligned) = (flags.readonly(), flags.aligned());
            let load = Load { address, bits, trap: flags.trap_code(), readonly, aligned };
            self.effects.push(Effect::Load(load));
        }
        bits
    }

    /// Adds an atomic access. `new` returns the bits that it writes over the old ones.
    fn atomic(
        &mut self,
        kind: AtomicKind,
        inst: Inst,
        flags: MemFlags,
        addr: Value,
        new: impl FnOnce(&mut Terms, Term) -> Option<Term>,
    ) -> Result<(), Feature> {
        let dfg = &self.func.dfg;
        let results = dfg.inst_results(inst);
        let value = results.first().or(dfg.inst_args(inst).first()).expect("an access has a value");
        let width = self.ty(dfg.resolve_aliases(*value))?.bits();
        let old = self.defined(&format!("m:{}", inst.index()), width);
        for &result in results {
            self.values[result] = Some(in_order(self.terms, flags, old));
        }
        let new = new(self.terms, old).ok_or(Feature::Opcode(dfg.opcode(inst)))?;
        let atomic = Atomic { kind, address: self.value(addr), old, new, trap: flags.trap_code() };
        self.effects.push(Effect::Atomic(atomic));
        Ok(())
    }

    /// Translates a call. Returns the exit if it ends its block.
    fn call(&mut self, inst: Inst, callee: Term, signature: SigRef, args: &[Value]) -> Result<Option<Exit>, Feature> {
        for &argument in args {
            self.ty(self.func.dfg.resolve_aliases(argument))?;
        }
        let arguments = args.iter().map(|&value| self.value(value)).collect();
        let results = self.func.dfg.inst_results(inst).iter().map(|&result| self.variable(result, "r"));
        let results = results.collect::<Result<_, _>>()?;
        let call = Call { callee, signature, arguments, results };
        if matches!(self.func.dfg.opcode(inst), Opcode::ReturnCall | Opcode::ReturnCallIndirect) {
            return Ok(Some(Exit::TailCall(call)));
        }
        self.effects.push(Effect::Call(call));
        Ok(None)
    }
}
