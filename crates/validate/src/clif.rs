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
use kingpost_ir::instruction::BlockArgKind;
use kingpost_ir::memflags::{Endianness, MemFlags};
use kingpost_ir::preamble::GlobalValueData;
use kingpost_ir::{Block, BlockCall, Function, Inst, InstView, Opcode, SigRef, TrapCode, Type, Value, ValueDef};
use kingpost_semantics::{Immediate, Operand, Operation, access_bits, loaded, outcome, stored};
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
        if ty.is_scalar() && ty.bits() <= 64 { Ok(ty) } else { Err(Feature::Type(ty)) }
    }

    /// Makes a value a variable.
    fn variable(&mut self, value: Value, prefix: &str) -> Result<Term, Feature> {
        let width = self.ty(value)?.bits();
        let term = self.terms.var(&format!("{prefix}{}", value.index()), Sort::Bits(width));
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
            (InstView::Call { func, args }, Opcode::Call) => {
                let data = &dfg.ext_funcs[func];
                let name = self.func.display_name(&data.name).to_string();
                let callee = symbol(self.terms, &name);
                self.call(inst, callee, data.signature, args)?;
            }
            (InstView::CallIndirect { sig, callee, args }, Opcode::CallIndirect) => {
                let callee = self.value(callee);
                self.call(inst, callee, sig, args)?;
            }
            (InstView::Load { flags, addr, offset }, _) => self.load(inst, flags, addr, offset)?,
            (InstView::Store { flags, value, addr, offset }, _) => {
                check_order(flags)?;
                let (value, address) = (self.operand(value)?, self.address(addr, offset));
                let bits = stored(self.terms, opcode, value).ok_or(Feature::Opcode(opcode))?;
                self.effects.push(Effect::Store { address, value: bits, trap: flags.trap_code() });
            }
            (InstView::Nullary, Opcode::Fence) => self.effects.push(Effect::Fence),
            (InstView::Nullary, Opcode::Nop | Opcode::SequencePoint) => {}
            _ => self.pure(inst, opcode)?,
        }
        Ok(None)
    }

    fn address(&mut self, base: Value, offset: i32) -> Term {
        let base = self.value(base);
        let offset = self.terms.number(64, offset as i64 as u64 as u128);
        self.terms.add(base, offset)
    }

    fn load(&mut self, inst: Inst, flags: MemFlags, addr: Value, offset: i32) -> Result<(), Feature> {
        check_order(flags)?;
        let (opcode, result) = (self.func.dfg.opcode(inst), self.func.dfg.inst_results(inst)[0]);
        let ty = self.ty(result)?;
        let width = access_bits(opcode, ty).ok_or(Feature::Opcode(opcode))?;
        let bits = self.terms.var(&format!("m{}", result.index()), Sort::Bits(width));
        self.values[result] = loaded(self.terms, opcode, ty, bits);
        let address = self.address(addr, offset);
        let load = Load { address, bits, trap: flags.trap_code(), readonly: flags.readonly() };
        self.effects.push(Effect::Load(load));
        Ok(())
    }

    fn call(&mut self, inst: Inst, callee: Term, signature: SigRef, args: &[Value]) -> Result<(), Feature> {
        for &argument in args {
            self.ty(self.func.dfg.resolve_aliases(argument))?;
        }
        let arguments = args.iter().map(|&value| self.value(value)).collect();
        let results = self.func.dfg.inst_results(inst).iter().map(|&result| self.variable(result, "r"));
        let results = results.collect::<Result<_, _>>()?;
        self.effects.push(Effect::Call(Call { callee, signature, arguments, results }));
        Ok(())
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
            InstView::LoadNoOffset { flags, .. } if opcode == Opcode::Bitcast => {
                check_order(flags)?;
                Immediate::None
            }
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

/// Refuses accesses in big-endian byte order.
fn check_order(flags: MemFlags) -> Result<(), Feature> {
    if flags.endianness() == Some(Endianness::Big) { Err(Feature::ByteOrder) } else { Ok(()) }
}
