//! The function as terms: the value of each SSA value, and the effects of each block in order.
//!
//! ```text
//! block1(v1: i32):
//!     v2 = iadd_imm v1, 1         v2 is the term v1 + 1, wherever it is in scope
//!     v3 = load.i32 v0+8          Effect::Load of v0 + 8, whose result is the variable m3
//!     store v2, v0                Effect::Store
//!     brif v3, block2, block3     Exit::Branch
//! ```
//!
//! Variables are block parameters and results of effects. An SSA equation holds wherever its value is in scope, so the
//! terms belong to the whole function: code that folds or repeats a computation in another block needs no special
//! treatment.

use crate::error::Feature;
use crate::float::{chosen, has_instruction};
use crate::input::{Code, Machine};
use cranelift_entity::{EntityRef, SecondaryMap};
use kingpost_ir::atomic_rmw_op::AtomicRmwOp;
use kingpost_ir::instruction::BlockArgKind;
use kingpost_ir::memflags::{Endianness, MemFlags};
use kingpost_ir::preamble::GlobalValueData;
use kingpost_ir::types::I128;
use kingpost_ir::{Block, BlockCall, Function, Inst, InstView, Opcode, SigRef, TrapCode, Type, Value, ValueDef};
use kingpost_semantics::{Immediate, Operand, Operation, access_bits, by_halves, loaded, outcome, stored};
use kingpost_smt::{Node, Op, Sort, Term, Terms};

/// An effect of a block, in the order of the text.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    Load(Load),
    Store {
        address: Term,
        value: Term,
        trap: Option<TrapCode>,
    },
    /// Traps if the condition holds.
    TrapIf {
        condition: Term,
        code: TrapCode,
    },
    Call(Call),
    Atomic(Atomic),
    Fence,
}

#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) address: Term,
    /// The variable of the loaded bits.
    pub(crate) bits: Term,
    pub(crate) trap: Option<TrapCode>,
    /// Whether the memory does not change during the function.
    pub(crate) readonly: bool,
}

/// A sequentially consistent access: one step that reads memory and writes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Atomic {
    pub(crate) kind: AtomicKind,
    pub(crate) address: Term,
    /// The variable of the bits that memory held before.
    pub(crate) old: Term,
    /// The bits that memory holds afterwards. Of a load, they are the old ones.
    pub(crate) new: Term,
    pub(crate) trap: Option<TrapCode>,
}

/// Instructions that perform an atomic access besides those that read and write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AtomicKind {
    /// Instructions that only read.
    Load,
    /// Instructions that only write.
    Store,
    /// None.
    Update,
}

#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Address of the called function.
    pub(crate) callee: Term,
    pub(crate) signature: SigRef,
    pub(crate) arguments: Vec<Term>,
    pub(crate) results: Vec<Term>,
}

/// An edge to a block, with the arguments for its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub(crate) block: Block,
    pub(crate) arguments: Vec<Term>,
}

/// End of a block.
#[derive(Clone, Debug)]
pub(crate) enum Exit {
    Jump(Edge),
    Branch {
        condition: Term,
        then: Edge,
        otherwise: Edge,
    },
    Table {
        index: Term,
        entries: Vec<Edge>,
        default: Edge,
    },
    Return(Vec<Term>),
    TailCall(Call),
    /// An effect of the block never lets execution pass.
    Never,
}

/// The meaning of a block.
#[derive(Clone, Debug)]
pub(crate) struct BlockMeaning {
    pub(crate) effects: Vec<Effect>,
    pub(crate) exit: Exit,
}

/// The meaning of a function.
pub(crate) struct Meaning {
    /// The term of each value that a reachable block defines.
    pub(crate) values: SecondaryMap<Value, Option<Term>>,
    /// The meaning of each reachable block.
    pub(crate) blocks: SecondaryMap<Block, Option<BlockMeaning>>,
    /// Reachable blocks in reverse post-order.
    pub(crate) order: Vec<Block>,
}

/// Returns the variable of a symbol's address.
pub(crate) fn symbol(terms: &mut Terms, name: &str) -> Term {
    terms.var(&format!("&{name}"), Sort::Bits(64))
}

/// Returns the parts of a value that are in one place each: both halves of an `i128`, the low one first, or the value.
pub(crate) fn parts(terms: &mut Terms, value: Term) -> Vec<Term> {
    match terms.width(value) {
        128 => [0, 64].into_iter().map(|low| terms.extract(value, low, 64)).collect(),
        _ => vec![value],
    }
}

/// Returns a variable; of 128 bits, one for each half.
fn variable(terms: &mut Terms, name: &str, width: u32) -> Term {
    if width != 128 {
        return terms.var(name, Sort::Bits(width));
    }
    let [high, low] = ["high", "low"].map(|half| terms.var(&format!("{name}.{half}"), Sort::Bits(64)));
    terms.concat(high, low)
}

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

/// Returns the meaning of a function. `arguments` are its arguments, and `slots` the addresses of its stack slots.
///
/// # Errors
/// The first feature without a known meaning.
pub(crate) fn meaning(
    terms: &mut Terms,
    func: &Function,
    code: &Code<'_>,
    arguments: &[Term],
    slots: &[Term],
) -> Result<Meaning, Feature> {
    let order = reverse_postorder(func);
    let mut translation = Translation { terms, func, code, slots, values: SecondaryMap::new(), effects: Vec::new() };
    let mut blocks = SecondaryMap::new();
    for &block in &order {
        for (number, &parameter) in func.dfg.block_params(block).iter().enumerate() {
            translation.variable(parameter, "v")?;
            // No edge leads to the entry, so its parameters are always the arguments.
            if Some(block) == func.layout.entry_block() {
                translation.values[parameter] = arguments.get(number).copied();
            }
        }
        let exit = translation.block(block)?;
        blocks[block] = Some(BlockMeaning { effects: std::mem::take(&mut translation.effects), exit });
    }
    Ok(Meaning { values: translation.values, blocks, order })
}

struct Translation<'a> {
    terms: &'a mut Terms,
    func: &'a Function,
    code: &'a Code<'a>,
    slots: &'a [Term],
    values: SecondaryMap<Value, Option<Term>>,
    /// Effects of the current block.
    effects: Vec<Effect>,
}

impl Translation<'_> {
    /// Returns the type of a value.
    ///
    /// # Errors
    /// If values of the type have no known meaning.
    fn ty(&self, value: Value) -> Result<Type, Feature> {
        let ty = self.func.dfg.value_type(value);
        if ty.is_scalar() && ty.bits() <= 64 || ty == I128 { Ok(ty) } else { Err(Feature::Type(ty)) }
    }

    /// Makes a value a variable.
    fn variable(&mut self, value: Value, prefix: &str) -> Result<Term, Feature> {
        let width = self.ty(value)?.bits();
        let term = variable(self.terms, &format!("{prefix}{}", value.index()), width);
        self.values[value] = Some(term);
        Ok(term)
    }

    fn value(&self, value: Value) -> Term {
        let value = self.func.dfg.resolve_aliases(value);
        self.values[value].expect("definitions dominate uses")
    }

    fn operand(&self, value: Value) -> Result<Operand, Feature> {
        Ok(Operand { ty: self.ty(value)?, bits: self.value(value) })
    }

    fn edge(&self, call: BlockCall) -> Result<Edge, Feature> {
        let arguments = self.func.dfg.block_args(call).iter().map(|argument| match argument.kind() {
            BlockArgKind::Value(value) => Ok(self.value(value)),
            BlockArgKind::TryCallRet(_) | BlockArgKind::TryCallExn(_) => Err(Feature::Opcode(Opcode::TryCall)),
        });
        Ok(Edge { block: call.block, arguments: arguments.collect::<Result<_, _>>()? })
    }

    /// Translates the instructions of a block.
    fn block(&mut self, block: Block) -> Result<Exit, Feature> {
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
            (InstView::Load { flags, addr, offset }, _) => self.load(inst, flags, addr, offset)?,
            (InstView::Store { flags, value, addr, offset }, _) => {
                let (value, address) = (self.operand(value)?, self.address(addr, offset));
                let bits = stored(self.terms, opcode, value).ok_or(Feature::Opcode(opcode))?;
                let value = in_order(self.terms, flags, bits);
                // Code stores the halves of an i128 one after the other.
                for (number, value) in parts(self.terms, value).into_iter().enumerate() {
                    let address = self.plus(address, 8 * number as i64);
                    self.effects.push(Effect::Store { address, value, trap: flags.trap_code() });
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
                self.atomic(AtomicKind::Update, inst, flags, addr, |terms, old| {
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

    fn plus(&mut self, address: Term, offset: i64) -> Term {
        let offset = self.terms.number(64, offset as u64 as u128);
        self.terms.add(address, offset)
    }

    fn load(&mut self, inst: Inst, flags: MemFlags, addr: Value, offset: i32) -> Result<(), Feature> {
        let (opcode, result) = (self.func.dfg.opcode(inst), self.func.dfg.inst_results(inst)[0]);
        let ty = self.ty(result)?;
        let width = access_bits(opcode, ty).ok_or(Feature::Opcode(opcode))?;
        let bits = variable(self.terms, &format!("m{}", result.index()), width);
        let value = in_order(self.terms, flags, bits);
        self.values[result] = loaded(self.terms, opcode, ty, value);
        let address = self.address(addr, offset);
        for (number, bits) in parts(self.terms, bits).into_iter().enumerate() {
            let address = self.plus(address, 8 * number as i64);
            let load = Load { address, bits, trap: flags.trap_code(), readonly: flags.readonly() };
            self.effects.push(Effect::Load(load));
        }
        Ok(())
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
        let old = variable(self.terms, &format!("m:{}", inst.index()), width);
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

    /// Translates an instruction whose only effect is a trap.
    fn pure(&mut self, inst: Inst, opcode: Opcode) -> Result<(), Feature> {
        let dfg = &self.func.dfg;
        let results = dfg.inst_results(inst);
        let constant = |terms: &mut Terms, width, bits: u64| Some(terms.number(width, bits.into()));
        let term = match dfg.view(inst) {
            InstView::UnaryImm { imm } => constant(self.terms, self.ty(results[0])?.bits(), imm as u64),
            InstView::UnaryIeee32 { imm } => constant(self.terms, 32, imm.bits().into()),
            InstView::UnaryIeee64 { imm } => constant(self.terms, 64, imm.bits()),
            InstView::StackAddr { slot, offset } => {
                let offset = self.terms.number(64, offset as i64 as u64 as u128);
                Some(self.terms.add(self.slots[slot.index()], offset))
            }
            InstView::FuncAddr { func } => {
                let name = self.func.display_name(&dfg.ext_funcs[func].name).to_string();
                Some(symbol(self.terms, &name))
            }
            InstView::UnaryGlobalValue { global } => match &self.func.global_values[global] {
                GlobalValueData::Symbol { name, offset, tls: false, .. } => {
                    let name = self.func.display_name(name).to_string();
                    let (base, offset) = (symbol(self.terms, &name), self.terms.number(64, *offset as u64 as u128));
                    Some(self.terms.add(base, offset))
                }
                _ => None,
            },
            _ => return self.computed(inst, opcode),
        };
        self.values[results[0]] = Some(term.ok_or(Feature::Opcode(opcode))?);
        Ok(())
    }

    /// Translates an instruction by its meaning.
    fn computed(&mut self, inst: Inst, opcode: Opcode) -> Result<(), Feature> {
        let dfg = &self.func.dfg;
        let immediate = match dfg.view(inst) {
            InstView::IntCompare { cond, .. } => Immediate::Condition(cond),
            InstView::FloatCompare { cond, .. } => Immediate::FloatCondition(cond),
            InstView::CondTrap { code, .. } | InstView::IntAddTrap { code, .. } => {
                Immediate::Code(self.terms.number(8, code.byte().into()))
            }
            // The byte order of a cast is the one of lanes, and scalars have one.
            InstView::LoadNoOffset { .. } if opcode == Opcode::Bitcast => Immediate::None,
            InstView::Unary { .. } | InstView::Binary { .. } | InstView::Ternary { .. } => Immediate::None,
            _ => return Err(Feature::Opcode(opcode)),
        };
        let results = dfg.inst_results(inst);
        for &result in results {
            self.ty(result)?;
        }
        let operands = dfg.inst_args(inst).iter().map(|&value| self.operand(value));
        let operands = operands.collect::<Result<Vec<_>, _>>()?;
        let operation = Operation { opcode, ty: dfg.ctrl_type(inst), immediate };
        if !has_instruction(self.code.machine, &operation, &operands) {
            return Err(Feature::Opcode(opcode));
        }
        let mut outcome = outcome(self.terms, &operation, &operands).ok_or(Feature::Opcode(opcode))?;
        if outcome.nan.is_some() {
            if opcode == Opcode::Fma && self.negates_elsewhere(inst) {
                return Err(Feature::Opcode(opcode));
            }
            outcome.results = vec![chosen(self.terms, self.code, &operation, &operands, outcome.results[0])?];
        }
        if let &[x, y] = &operands[..]
            && let Some(result) = by_halves(self.terms, opcode, [x.bits, y.bits])
        {
            outcome.results = vec![result];
        }
        self.traps(outcome.trap, opcode)?;
        for (&result, term) in results.iter().zip(outcome.results) {
            self.values[result] = Some(term);
        }
        Ok(())
    }

    /// Returns `true` if an instruction may negate other operands of `fma` than the function, so that the sign of a NaN
    /// differs: one of x86-64 does not negate NaNs, and one of AArch64 negates the first factor.
    fn negates_elsewhere(&self, fma: Inst) -> bool {
        let dfg = &self.func.dfg;
        let is_negated = |value| match dfg.value_def(value) {
            ValueDef::Result(def, _) => dfg.opcode(def) == Opcode::Fneg,
            _ => false,
        };
        let args = dfg.inst_args(fma);
        match self.code.machine {
            Machine::X64 => args.iter().any(|&value| is_negated(value)),
            Machine::Aarch64 => is_negated(args[1]),
        }
    }

    /// Adds the traps of an outcome: a choice among codes, or zero.
    fn traps(&mut self, trap: Term, opcode: Opcode) -> Result<(), Feature> {
        let (mut rest, mut passed) = (trap, self.terms.bool(true));
        loop {
            if let Some(bits) = self.terms.bits(rest) {
                if let Some(code) = TrapCode::from_byte(bits.unsigned() as u8) {
                    self.effects.push(Effect::TrapIf { condition: passed, code });
                }
                return Ok(());
            }
            let Node::Ternary(Op::Ite, condition, then, otherwise) = self.terms.node(rest) else {
                return Err(Feature::Opcode(opcode));
            };
            // One side is a constant. The traps of the other side follow.
            let (condition, code, next) = match (self.terms.bits(then), self.terms.bits(otherwise)) {
                (Some(code), _) => (condition, code, otherwise),
                (None, Some(code)) => (self.terms.not(condition), code, then),
                (None, None) => return Err(Feature::Opcode(opcode)),
            };
            let here = self.terms.and(passed, condition);
            match TrapCode::from_byte(code.unsigned() as u8) {
                Some(code) => self.effects.push(Effect::TrapIf { condition: here, code }),
                // Without a trap under the condition, the other side counts only where it does not hold.
                None => {
                    let not = self.terms.not(condition);
                    passed = self.terms.and(passed, not);
                }
            }
            rest = next;
        }
    }
}

/// Returns bits in the byte order of an access. This is its own inverse.
fn in_order(terms: &mut Terms, flags: MemFlags, bits: Term) -> Term {
    if flags.endianness() != Some(Endianness::Big) {
        return bits;
    }
    let mut reversed = terms.extract(bits, 0, 8);
    for at in (8..terms.width(bits)).step_by(8) {
        let byte = terms.extract(bits, at, 8);
        reversed = terms.concat(reversed, byte);
    }
    reversed
}

/// Returns the bits that `atomic_rmw` writes over the old ones.
fn changed(terms: &mut Terms, flags: MemFlags, op: AtomicRmwOp, old: Operand, operand: Operand) -> Option<Term> {
    let (opcode, is_bitwise) = match op {
        AtomicRmwOp::Xchg => return Some(in_order(terms, flags, operand.bits)),
        AtomicRmwOp::And | AtomicRmwOp::Nand => (Opcode::Band, true),
        AtomicRmwOp::Or => (Opcode::Bor, true),
        AtomicRmwOp::Xor => (Opcode::Bxor, true),
        AtomicRmwOp::Add => (Opcode::Iadd, false),
        AtomicRmwOp::Sub => (Opcode::Isub, false),
        AtomicRmwOp::Umin => (Opcode::Umin, false),
        AtomicRmwOp::Umax => (Opcode::Umax, false),
        AtomicRmwOp::Smin => (Opcode::Smin, false),
        AtomicRmwOp::Smax => (Opcode::Smax, false),
    };
    let of = |terms: &mut Terms, operands: [Operand; 2]| {
        let operation = Operation { opcode, ty: old.ty, immediate: Immediate::None };
        let result = outcome(terms, &operation, &operands)?.results[0];
        Some(if op == AtomicRmwOp::Nand { terms.bit_not(result) } else { result })
    };
    // Operations on single bits are the same in each order of the bytes.
    let turned = if is_bitwise { operand } else { old };
    let turned = Operand { bits: in_order(terms, flags, turned.bits), ..turned };
    if is_bitwise {
        return of(terms, [old, turned]);
    }
    let value = of(terms, [turned, operand])?;
    Some(in_order(terms, flags, value))
}
