//! Placement of instructions: removes unused ones, moves loop invariants out of loops, and moves values that only
//! some paths use into those paths.
//!
//! ```text
//! block1(v2: i64):                         v3 = imul v0, v1
//!   v3 = imul v0, v1                       jump block1(v4)
//!   v5 = iadd v2, v3                       block1(v2: i64):
//!   brif v5, block1(v5), block2              v5 = iadd v2, v3
//! ```
//!
//! Needs the [`Analyses`], which stay valid. An instruction can be placed in any block on one path of the dominator
//! tree, between the deepest block that defines one of its operands and the common dominator of its uses (Click,
//! "Global code motion, global value numbering", 1995). It leaves its block only for a block of lower frequency.
//!
//! A cheap instruction leaves a loop only while the loop uses few enough values from outside to keep all of them in
//! registers. So does a vector constant that is loaded from memory; other constants never leave a loop. An
//! instruction does not move down if two operands would have to be kept in place of one result.
//!
//! One sweep down the tree finds the earliest blocks and the values that loops use. One sweep up the tree decides,
//! users before operands. Cost: linear in instructions, except for a logarithm of the tree's depth at each use in
//! another block.

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, SecondaryMap};
use kingpost_ir::loops::Loop;
use kingpost_ir::{Block, Function, Inst, InstView, Opcode, Type, Value};

use crate::purity::{self, Purity, is_cheap, is_constant, is_movable, purity};
use crate::rematerialise::{MAX_LOOPS, Rematerialise};
use kingpost_ir::analyses::Analyses;
use kingpost_meter::heap_bytes;
use kingpost_meter::{Exceeded, Meter};

/// Number of values of each register class that a loop may use from outside, including the values that cheap
/// instructions moved out of it add. A machine with sixteen registers can keep this many besides the values of the
/// loop itself. A loop with a call has no budget, because the few registers that the call preserves have better
/// uses.
const BUDGET: u32 = 8;

/// Places of the uses of an instruction that have been seen. The default consists of equal bytes, because a table
/// is filled with it for each function.
#[derive(Copy, Clone, Default, Debug)]
struct Uses {
    /// The common dominator of the uses.
    block: PackedOption<Block>,
    /// First user in that block; none if the block itself has no user. If an instruction has moved and must not be
    /// visited again, `block` is none and this is the instruction itself.
    first: PackedOption<Inst>,
}

/// Place of an instruction.
#[derive(Copy, Clone, Debug)]
struct Here {
    block: Block,
    /// Preorder number of the header of the block's innermost loop, or 0 outside of loops.
    header: u32,
    /// Whether the instruction ends the block.
    is_last: bool,
}

/// Place of a value's definition. All zeros outside loops.
#[derive(Copy, Clone, Default, Debug)]
struct Origin {
    /// Preorder number of the earliest block where it can be computed.
    earliest: u32,
    /// Preorder number of the block where it is computed at present.
    defined: u32,
    /// Number plus one of the last loop for which it was counted; 0 if there is none.
    counted: u32,
}

/// Values that a loop uses.
#[derive(Copy, Clone, Default, Debug)]
struct LoopUses {
    /// By register class: number of values from outside that its blocks use. Blocks of inner loops do not count.
    from_outside: [u32; 2],
    /// Number of integers from outside that its blocks use, including the blocks of inner loops.
    integers: u32,
    /// Whether one of its blocks has a call. Calls of inner loops are added at the end.
    has_call: bool,
}

/// Memory of the pass.
#[derive(Default, Debug)]
pub(crate) struct CodeMotion {
    /// By value. Empty in a function without loops, because nothing leaves a loop there.
    origins: Vec<Origin>,
    /// By instruction.
    uses: Vec<Uses>,
    /// By loop.
    loops: SecondaryMap<Loop, LoopUses>,
    rematerialise: Rematerialise,
    /// Number of loops for which values were counted.
    steps: u64,
    /// Whether short code is better than fast code.
    pub(crate) prefers_size: bool,
}

heap_bytes!(CodeMotion { origins, uses, loops, rematerialise } without { steps, prefers_size });

impl CodeMotion {
    /// Runs the pass.
    pub(crate) fn run(&mut self, func: &mut Function, analyses: &Analyses, meter: &Meter) {
        self.uses.clear();
        self.uses.resize(func.dfg.num_insts(), Uses::default());
        self.origins.clear();
        let has_loops = analyses.loops.loops().next().is_some();
        if has_loops {
            self.loops.clear();
            self.origins.resize(func.dfg.num_values(), Origin::default());
            if self.find_origins(func, analyses, meter).is_err() {
                return;
            }
        }
        for &block in analyses.dominators.preorder().iter().rev() {
            let innermost = analyses.loops.innermost_loop(block);
            let header = innermost.map_or(0, |each| analyses.dominators.preorder_number(analyses.loops.header(each)));
            let last = func.layout.last_inst(block);
            let mut next = last;
            while let Some(inst) = next {
                next = func.layout.prev_inst(inst);
                let uses = self.uses[inst.index()];
                if !uses.are_of_placed() {
                    self.visit(func, analyses, inst, uses, Here { block, header, is_last: last == Some(inst) });
                }
            }
        }
        let is_short = has_loops && !self.prefers_size && self.is_any_short_of_registers(analyses);
        if is_short && meter.reserve(2 * func.dfg.num_insts() as u64).is_ok() {
            let loops = &self.loops;
            self.rematerialise.run(func, analyses, |each| loops[each].is_short_of_registers());
        }
    }

    /// Propagates the calls of inner loops to the loops around them. Returns `true` if any loop is short of
    /// registers.
    fn is_any_short_of_registers(&mut self, analyses: &Analyses) -> bool {
        let mut any = false;
        for each in analyses.loops.loops() {
            let uses = self.loops[each];
            any |= uses.is_short_of_registers();
            if let Some(parent) = analyses.loops.parent(each) {
                self.loops[parent].has_call |= uses.has_call;
            }
        }
        any
    }

    /// Finds the origins of values and the values that loops use. Visits only blocks of loops: a value that another
    /// block defines is available before every loop that uses it, so that its origin may count as 0.
    fn find_origins(&mut self, func: &Function, analyses: &Analyses, meter: &Meter) -> Result<(), Exceeded> {
        self.steps = 0;
        let mut paid = 0;
        meter.reserve(func.dfg.num_insts() as u64)?;
        for &block in analyses.dominators.preorder() {
            meter.spend_batch(self.steps, &mut paid)?;
            let Some(innermost) = analyses.loops.innermost_loop(block) else { continue };
            let header = analyses.dominators.preorder_number(analyses.loops.header(innermost));
            let here = analyses.dominators.preorder_number(block);
            for &param in func.dfg.block_params(block) {
                self.origins[param.index()] = Origin { earliest: here, defined: here, counted: 0 };
            }
            for inst in func.layout.block_insts(block) {
                let is_movable = is_movable(func, inst);
                if !is_movable && func.dfg.opcode(inst).is_call() {
                    self.loops[innermost].has_call = true;
                }
                let mut earliest = 1;
                for &operand in func.dfg.inst_args(inst) {
                    let origin = self.origins[operand.index()];
                    earliest = earliest.max(origin.earliest);
                    // A value that can be computed above the header, but is not, may move there, and is counted
                    // then.
                    if origin.defined < header && origin.counted != innermost.as_u32() + 1 {
                        self.count_from_outside(func, analyses, operand, innermost);
                    }
                }
                let earliest = if is_movable { earliest } else { here };
                for &result in func.dfg.inst_results(inst) {
                    self.origins[result.index()] = Origin { earliest, defined: here, counted: 0 };
                }
            }
        }
        meter.spend_rest(self.steps, &mut paid)
    }

    /// Counts `value` as used from outside by the loop `innermost`. Takes at most one step for each loop around
    /// `innermost`.
    fn count_from_outside(&mut self, func: &Function, analyses: &Analyses, value: Value, innermost: Loop) {
        let Origin { defined, counted, .. } = self.origins[value.index()];
        self.origins[value.index()].counted = innermost.as_u32() + 1;
        let def = func.dfg.first_result_of(value);
        if def.is_some_and(|def| is_constant(func.dfg.opcode(def))) {
            return;
        }
        let class = class_of(func.dfg.value_type(value));
        self.loops[innermost].from_outside[class] += 1;
        if class != 0 {
            return;
        }
        let last = (counted != 0).then(|| analyses.loops.header(Loop::from_u32(counted - 1)));
        let mut around = Some(innermost);
        while let Some(each) = around
            && defined < analyses.dominators.preorder_number(analyses.loops.header(each))
            && !last.is_some_and(|last| analyses.loops.contains(each, last))
        {
            self.loops[each].integers += 1;
            self.steps += 1;
            around = analyses.loops.parent(each);
        }
    }

    /// Removes an instruction without uses, or moves it to the best block for its uses. Records the uses of its
    /// operands.
    fn visit(&mut self, func: &mut Function, analyses: &Analyses, inst: Inst, uses: Uses, here: Here) {
        let Here { block, header, is_last } = here;
        let mut target = block;
        match uses.block.expand() {
            None if is_removable(func, inst) => return func.layout.remove_inst(inst),
            // The common case: the instruction is used in its own block, and there is no loop to leave.
            Some(late) if late == block && self.stays_in_loop(func, inst, header) => {}
            Some(late) if is_movable(func, inst) => {
                target = self.best_block(func, analyses, inst, late);
                let frequency = |block| analyses.frequencies.block(block);
                if analyses.dominators.dominates(block, target)
                    && (frequency(target) == frequency(block) || self.lengthens_lives(func, analyses, inst, target))
                {
                    target = block;
                }
                if target != block {
                    self.move_to(func, inst, target, if target == late { uses.first.expand() } else { None });
                }
            }
            _ => {}
        }
        // Instructions of a block are visited from its end, so each one that stays precedes the users seen in the
        // block. The last instruction is an exception, because instructions that moved into the block precede it.
        let is_in_order = target == block && !is_last;
        let uses = &mut self.uses;
        let dfg = &func.dfg;
        dfg.for_each_use(inst, |value| {
            if let Some(def) = dfg.defining_inst(value) {
                let seen = &mut uses[def.index()];
                if is_in_order && seen.block.expand() == Some(block) {
                    seen.first = inst.into();
                } else {
                    *seen = seen.with(inst, target, func, analyses);
                }
            }
        });
    }

    /// Returns `true` if an instruction cannot leave the loop with this header, because it needs a value that is
    /// computed in the loop. Always `true` outside of loops.
    fn stays_in_loop(&self, func: &Function, inst: Inst, header: u32) -> bool {
        header == 0 || func.dfg.first_result(inst).is_none_or(|result| self.origins[result.index()].earliest >= header)
    }

    /// Returns the block of lowest frequency for an instruction: `late`, the common dominator of its uses, or a
    /// block before one of the loops around it.
    fn best_block(&mut self, func: &Function, analyses: &Analyses, inst: Inst, late: Block) -> Block {
        let Some(result) = func.dfg.first_result(inst) else { return late };
        let opcode = func.dfg.opcode(inst);
        let is_loaded = opcode == Opcode::Vconst && !is_plain(func, inst);
        if is_constant(opcode) && !is_loaded {
            return late;
        }
        let class = class_of(func.dfg.value_type(result));
        let earliest = self.origins.get(result.index()).map_or(0, |origin| origin.earliest);
        let frequency = |block| analyses.frequencies.block(block);
        let mut best = late;
        let mut innermost = analyses.loops.innermost_loop(late);
        for _ in 0..MAX_LOOPS {
            let Some(each) = innermost else { break };
            // An instruction that can be computed above the header can be computed in the header's immediate
            // dominator.
            let Some(outside) = analyses.dominators.idom(analyses.loops.header(each)) else { break };
            if analyses.dominators.preorder_number(outside) < earliest {
                break;
            }
            let uses = &mut self.loops[each];
            if (is_cheap(opcode) || is_loaded) && (uses.has_call || uses.from_outside[class] >= BUDGET) {
                break;
            }
            uses.from_outside[class] += 1;
            uses.integers += u32::from(class == 0);
            if frequency(outside) < frequency(best) {
                best = outside;
            }
            innermost = analyses.loops.parent(each);
        }
        best
    }

    /// Returns `true` if moving an instruction down to a block lengthens the live ranges of more than one operand.
    /// Constants do not count, nor operands whose known uses meet in or below that block.
    fn lengthens_lives(&self, func: &Function, analyses: &Analyses, inst: Inst, block: Block) -> bool {
        let lives_on = |&&value: &&Value| {
            let Some(def) = func.dfg.first_result_of(value) else { return true };
            let is_there = |used: Block| analyses.dominators.dominates(block, used);
            !is_constant(func.dfg.opcode(def)) && !self.uses[def.index()].block.expand().is_some_and(is_there)
        };
        func.dfg.inst_args(inst).iter().filter(lives_on).count() > 1
    }

    /// Moves an instruction before its first user in a block, or before the block's last instruction.
    fn move_to(&mut self, func: &mut Function, inst: Inst, block: Block, first_user: Option<Inst>) {
        if let Some(before) = first_user.or_else(|| func.layout.last_inst(block)) {
            func.layout.remove_inst(inst);
            func.layout.insert_inst(inst, before);
            self.uses[inst.index()] = Uses { block: None.into(), first: inst.into() };
        }
    }
}

impl LoopUses {
    /// Returns `true` if the loop uses more integers from outside than registers can hold throughout the loop.
    fn is_short_of_registers(self) -> bool {
        self.integers > if self.has_call { BUDGET } else { 2 * BUDGET }
    }
}

impl Uses {
    /// Returns `true` if the instruction with these uses has moved.
    fn are_of_placed(self) -> bool {
        self.block.is_none() && self.first.is_some()
    }

    /// Returns these uses and the use by `user`, which is in `block`.
    fn with(self, user: Inst, block: Block, func: &Function, analyses: &Analyses) -> Uses {
        let here = Uses { block: block.into(), first: user.into() };
        let Some(seen) = self.block.expand() else { return here };
        if seen == block {
            let is_first = self.first.expand().is_none_or(|first| func.layout.seq(user) < func.layout.seq(first));
            return if is_first { here } else { self };
        }
        match analyses.dominators.common_dominator(seen, block) {
            common if common == block => here,
            common if common == seen => self,
            common => Uses { block: common.into(), first: None.into() },
        }
    }
}

/// Returns the register class of values of a type: 0 for integers, 1 for floats and vectors.
fn class_of(ty: Type) -> usize {
    usize::from(!ty.is_int())
}

/// Returns `true` if a vector constant is all zeros or all ones, which machines make in a register. Other vector
/// constants are loaded, unless the instruction that uses them takes a memory operand.
fn is_plain(func: &Function, inst: Inst) -> bool {
    let InstView::UnaryConst { constant } = func.dfg.view(inst) else { return false };
    let bytes = func.dfg.constants.bytes(constant);
    bytes.iter().all(|&byte| byte == 0) || bytes.iter().all(|&byte| byte == 0xff)
}

/// Returns `true` if an instruction whose results are not used can be removed.
fn is_removable(func: &Function, inst: Inst) -> bool {
    let data = func.dfg.inst(inst);
    match purity(data.opcode()) {
        Purity::Pure | Purity::Constant | Purity::PureMany | Purity::Local => true,
        Purity::Load => data.memflags().is_some_and(|flags| flags.notrap()),
        Purity::Trap => purity::never_traps(func, data),
        Purity::Store | Purity::Effect => false,
    }
}
