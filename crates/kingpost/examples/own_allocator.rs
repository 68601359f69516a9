//! # Write your own allocator
//!
//! A register allocator is anything that implements [`Allocator`]: a [`Problem`] and a [`MachineEnv`] go in, an
//! [`Allocation`] comes out. It needs neither a place in this workspace nor a change to it. This guide builds one from
//! nothing, hands it to a [`Compiler`] and lets the checker judge it: `cargo run --example own_allocator`.
//!
//! The allocator is the simplest there is. Every value has a slot in the frame; each instruction loads what it reads and
//! stores what it writes. What it must get right is what every allocator must get right:
//!
//! 1. a *place* for every operand, of the kind that its constraint demands;
//! 2. *edits* between instructions, which bring values to those places;
//! 3. arguments of edges, passed all at once;
//! 4. which callee-saved registers it uses, and where debuggers find their values;
//! 5. which slots hold references, for a garbage collector.
//!
//! A real one does more: see the crates `regalloc-ssa`, `regalloc-linear` and `regalloc-backtracking`. To test yours, write
//! `kingpost_testgen::conformance! { Yours::default() }` in a file of tests, as below: problems designed on paper,
//! generated problems, growth. If it is to be good and not only right, write `kingpost_testgen::quality!` too.

use kingpost::codegen::{Compiler, Settings};
use kingpost::mach::ModuleBuffer;
use kingpost::regalloc::{
    AllocError, Allocation, Allocator, Block, Constraint, Edge, Edit, EditKind, Inst, InstFlags, LabelRange, Loc,
    MachineEnv, NoRegister, Operand, PReg, PRegSet, ParallelMoves, Pos, Problem, RegClass, Slot, StackMapEntry, VReg,
};
use std::collections::HashSet;
use std::error::Error;
use std::sync::Arc;

/// A value, and what the instructions around it need not search for.
struct Value {
    slot: Slot,
    /// Index of the operand that defines it, but for parameters of blocks.
    def: Option<usize>,
    /// The edge on which it comes to exist, if a branch defines it.
    edge: Option<Edge>,
}

#[derive(Default)]
struct Slots {
    values: Vec<Value>,
    /// Makes sequences of copies that happen at once.
    copies: ParallelMoves,
    sequence: Vec<EditKind>,
}

impl Allocator for Slots {
    fn name(&self) -> &'static str {
        "slots"
    }

    fn allocate(&mut self, problem: &Problem, env: &MachineEnv, out: &mut Allocation) -> Result<(), AllocError> {
        out.reset(problem);
        self.copies.begin();
        self.look_at_values(problem, out);
        for block in problem.blocks() {
            for inst in problem.insts(block) {
                self.place(problem, env, inst, out)?;
            }
        }
        for block in problem.blocks() {
            self.edit(problem, env, block, out)?;
        }
        for request in &problem.labels {
            let loc = Loc::slot(self.value(request.vreg).slot);
            out.labels.push(LabelRange { label: request.label, loc, from: request.from, to: request.to });
        }
        out.labels.sort_by_key(|range| (range.label, range.from));
        self.map_references(problem, out);
        out.collect_saved(problem, env.callee_saved());
        Ok(())
    }
}

impl Slots {
    fn value(&self, vreg: VReg) -> &Value {
        &self.values[vreg.as_u32() as usize]
    }

    fn look_at_values(&mut self, problem: &Problem, out: &mut Allocation) {
        let slots = problem.vregs.values().map(|data| out.add_slot(data.width));
        self.values = slots.map(|slot| Value { slot, def: None, edge: None }).collect();
        for (i, operand) in problem.all_operands().iter().enumerate().filter(|(_, operand)| operand.is_def()) {
            self.values[operand.vreg().as_u32() as usize].def = Some(i);
        }
        for edge in problem.edges() {
            for &vreg in problem.edge_defs(edge) {
                self.values[vreg.as_u32() as usize].edge = Some(edge);
            }
        }
    }

    /// # Places
    ///
    /// What may be in memory is there, and the rest requests a register. A def that *reuses* the place of a use has that
    /// of its use; if the instruction can do that in memory, it is the slot of the def, and the use is copied there first.
    fn place(&self, problem: &Problem, env: &MachineEnv, inst: Inst, out: &mut Allocation) -> Result<(), AllocError> {
        let operands = problem.operands(inst);
        let start = problem.operand_range(inst).start;
        let mut requests = Vec::new();
        for (i, operand) in operands.iter().enumerate() {
            let reused_by = u8::try_from(i).ok().and_then(|k| operands.iter().find(|def| def.reused() == Some(k)));
            let in_memory = matches!(operand.constraint(), Constraint::Stack | Constraint::MemOk | Constraint::Any);
            match reused_by {
                _ if operand.reused().is_some() => {}
                None if in_memory => out.locs[start + i] = Loc::slot(self.value(operand.vreg()).slot),
                Some(def) if def.is_rmw() => out.locs[start + i] = Loc::slot(self.value(def.vreg()).slot),
                _ => requests.push(self.request(problem, env, inst, i, reused_by)),
            }
        }
        self.choose(env, inst, &mut requests, &mut out.locs[start..])?;
        for (i, def) in operands.iter().enumerate() {
            if let Some(k) = def.reused() {
                out.locs[start + i] = out.locs[start + usize::from(k)];
            }
        }
        Ok(())
    }

    /// # Requests for registers
    ///
    /// Two moments matter within an instruction: it reads its uses *early* and writes its defs *late*. A use has its
    /// register early and a def late; an early def and a late use have it at both. In a register that a def takes over
    /// there is one value early and another late. Registers that the instruction destroys are lost late.
    fn request(
        &self,
        problem: &Problem,
        env: &MachineEnv,
        inst: Inst,
        i: usize,
        reused_by: Option<&Operand>,
    ) -> Request {
        let operand = problem.operands(inst)[i];
        let vreg = operand.vreg();
        let early = (operand.is_use() || operand.pos() == Pos::Early).then_some(vreg);
        let late = (operand.is_def() || operand.pos() == Pos::Late).then_some(vreg);
        let late = reused_by.map_or(late, |def| Some(def.vreg()));
        let class = problem.class(vreg);
        let allowed = match operand.constraint() {
            Constraint::Fixed(reg) => PRegSet::EMPTY.with(reg),
            Constraint::Within(set) => problem.reg_set(set),
            _ => env.class(class).allocatable(),
        };
        let lost = late.map_or(PRegSet::EMPTY, |late| problem.clobbers(inst).killed(problem.width(late)));
        let edge = self.value(vreg).edge.filter(|_| operand.is_def());
        Request { operand: i, class, allowed: allowed.difference(lost), values: [early, late], edge }
    }

    /// Serves requests: first those of the instruction itself, then edge by edge what a branch defines there. The defs of
    /// two edges never exist together, and may have the same registers. `locs` are of the instruction's operands.
    fn choose(
        &self,
        env: &MachineEnv,
        inst: Inst,
        requests: &mut [Request],
        locs: &mut [Loc],
    ) -> Result<(), AllocError> {
        let on_edges = requests.iter().filter(|request| request.edge.is_some() && request.allowed.len() == 1);
        let fixed = on_edges.fold(PRegSet::EMPTY, |fixed, request| fixed.union(request.allowed));
        for request in requests.iter_mut().filter(|request| request.edge.is_none() && request.values[1].is_some()) {
            let rest = request.allowed.difference(fixed);
            request.allowed = if rest.is_empty() { request.allowed } else { rest };
        }
        // Those with the smallest choice come first.
        requests.sort_by_key(|request| (request.edge, request.allowed.len(), request.values.contains(&None)));
        let own = requests.partition_point(|request| request.edge.is_none());
        let mut chosen = Vec::new();
        for group in requests.chunk_by(|a, b| a.edge == b.edge) {
            if !search(group, env, &mut chosen, &mut 0) {
                return Err(AllocError::TooFewRegisters { inst, class: group[0].class });
            }
            for (request, reg) in &chosen {
                locs[request.operand] = Loc::reg(*reg);
            }
            chosen.truncate(own);
        }
        Ok(())
    }

    /// # Edits
    ///
    /// All that an allocator adds to the code are edits *before* instructions. What should follow an instruction stands
    /// before the next one. Nothing follows a terminator: what it defines exists on its edges, and is stored where they
    /// arrive.
    fn edit(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        block: Block,
        out: &mut Allocation,
    ) -> Result<(), AllocError> {
        let first = problem.first_inst(block);
        for &edge in problem.preds(block) {
            for def in problem.edge_defs(edge).iter().filter_map(|&vreg| self.value(vreg).def) {
                self.store(problem, def, first, out);
            }
        }
        for inst in problem.insts(block) {
            for i in problem.operand_range(inst).filter(|&i| problem.all_operands()[i].is_use()) {
                self.copy(problem, problem.all_operands()[i].vreg(), out.locs[i]);
            }
            self.copy_all(problem, env, inst, out)?;
            if inst != problem.terminator(block) {
                let next = Inst::from_u32(inst.as_u32() + 1);
                for i in problem.operand_range(inst).filter(|&i| problem.all_operands()[i].is_def()) {
                    self.store(problem, i, next, out);
                }
            }
        }
        // Only a block with one way out passes arguments, all of them at once before its jump: two may change places.
        for &edge in problem.succs(block) {
            for (&arg, &param) in problem.edge_args(edge).iter().zip(problem.params(problem.edge(edge).to)) {
                self.copy(problem, arg, Loc::slot(self.value(param).slot));
            }
        }
        self.copy_all(problem, env, problem.terminator(block), out)
    }

    /// Stores what operand `def` left in a register into the slot of its value, before `at`.
    fn store(&self, problem: &Problem, def: usize, at: Inst, out: &mut Allocation) {
        let vreg = problem.all_operands()[def].vreg();
        if let Some(from) = out.locs[def].as_reg() {
            let kind = EditKind::Spill { from, to: self.value(vreg).slot, width: problem.width(vreg) };
            out.edits.push(Edit { at, kind });
        }
    }

    /// Adds a copy from a value's slot, if it is not to stay there.
    fn copy(&mut self, problem: &Problem, vreg: VReg, to: Loc) {
        let from = Loc::slot(self.value(vreg).slot);
        self.copies.add(from, to, problem.class(vreg), problem.width(vreg));
    }

    /// Makes edits before `at` of the copies added so far. They may use any register, as none holds a value between
    /// instructions.
    fn copy_all(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        at: Inst,
        out: &mut Allocation,
    ) -> Result<(), AllocError> {
        let done = self.copies.resolve(env.allocatable(), (problem, env), out, &mut self.sequence);
        out.edits.extend(self.sequence.drain(..).map(|kind| Edit { at, kind }));
        done.map_err(|NoRegister(class)| AllocError::TooFewRegisters { inst: at, class })
    }

    /// # References
    ///
    /// At a *safepoint* a collector may run. The answer lists the slots with references that are read later: from
    /// each use backwards to the def, on every path.
    fn map_references(&self, problem: &Problem, out: &mut Allocation) {
        let mut live = references_read(problem);
        let mut seen = HashSet::new();
        'read: while let Some((vreg, block, end)) = live.pop() {
            let Value { slot, def, .. } = *self.value(vreg);
            for inst in problem.insts(block).rev().skip_while(|&inst| inst >= end) {
                if def.is_some_and(|def| problem.operand_range(inst).contains(&def)) {
                    continue 'read;
                }
                if problem.flags(inst).has(InstFlags::SAFEPOINT) {
                    out.stack_maps.push(StackMapEntry { inst, slot });
                }
            }
            if problem.params(block).contains(&vreg) {
                continue;
            }
            for &edge in problem.preds(block) {
                let from = problem.edge(edge).from;
                if !problem.edge_defs(edge).contains(&vreg) && seen.insert((vreg, from)) {
                    live.push((vreg, from, Inst::from_u32(problem.terminator(from).as_u32() + 1)));
                }
            }
        }
        out.stack_maps.sort_unstable();
        out.stack_maps.dedup();
    }
}

/// Each reference that is read in a block, with the instruction before which it must exist. Debuggers read, too.
fn references_read(problem: &Problem) -> Vec<(VReg, Block, Inst)> {
    let mut read = Vec::new();
    for block in problem.blocks() {
        for inst in problem.insts(block) {
            let uses = problem.operands(inst).iter().filter(|operand| operand.is_use());
            read.extend(uses.map(|operand| (operand.vreg(), block, inst)));
        }
        let args = problem.succs(block).iter().flat_map(|&edge| problem.edge_args(edge));
        read.extend(args.map(|&arg| (arg, block, problem.terminator(block))));
    }
    let labels = problem.labels.iter().filter(|label| label.from < label.to);
    read.extend(labels.map(|label| (label.vreg, problem.block_of(label.from), label.to)));
    read.retain(|&(vreg, ..)| problem.vregs[vreg].is_ref);
    read
}

struct Request {
    /// Index among the operands of the instruction.
    operand: usize,
    class: RegClass,
    /// Registers that will do.
    allowed: PRegSet,
    /// The values in the register, early and late.
    values: [Option<VReg>; 2],
    /// The edge on which it exists.
    edge: Option<Edge>,
}

impl Request {
    /// Is there a moment at which the two have different values?
    fn conflicts(&self, other: &Request) -> bool {
        self.values.iter().zip(&other.values).any(|(a, b)| a.zip(*b).is_some_and(|(a, b)| a != b))
    }
}

/// Adds the requests and registers for them to what was `chosen` before: the first registers that work out, in so many
/// steps. Requests with the smallest choice come first, so that second attempts are rare.
fn search<'a>(
    requests: &'a [Request],
    env: &MachineEnv,
    chosen: &mut Vec<(&'a Request, PReg)>,
    steps: &mut u32,
) -> bool {
    let Some((request, rest)) = requests.split_first() else { return true };
    for &reg in env.class(request.class).order.iter().filter(|&&reg| request.allowed.contains(reg)) {
        *steps += 1;
        if *steps < 10_000 && chosen.iter().all(|(other, taken)| *taken != reg || !request.conflicts(other)) {
            chosen.push((request, reg));
            if search(rest, env, chosen, steps) {
                return true;
            }
            chosen.pop();
        }
    }
    false
}

/// A loop with a division and a call: fixed registers, clobbers, arguments that change places.
const GCD: &str = "
function %gcd(i64, i64) -> i64 {
    fn0 = %seen(i64, i64)
block0(v0: i64, v1: i64):
    jump block1(v0, v1)
block1(v2: i64, v3: i64):
    call fn0(v2, v3)
    brif v3, block2, block3
block2:
    v4 = urem v2, v3
    jump block1(v3, v4)
block3:
    return v2
}";

/// # Use
///
/// `with_allocator` takes a function that makes an allocator for each compiling thread. With `regalloc_checker` a wrong
/// answer is an error that says what is wrong, before a byte is emitted.
fn main() -> Result<(), Box<dyn Error>> {
    let settings = Settings { regalloc_checker: true, ..Settings::default() };
    let compiler = Compiler::host(settings)?.with_allocator(Arc::new(|| Box::new(Slots::default())));
    let mut functions = kingpost::reader::parse_functions(GCD)?;
    let (mut context, mut module) = (compiler.context(), ModuleBuffer::default());
    compiler.compile(&mut context, &mut functions[0], &mut module)?;
    let (slots, values) = (context.allocation().slots.len(), context.code().problem.vregs.len());
    println!("{} bytes of code; {slots} slots for {values} values", module.code_bytes());
    assert_eq!(slots, values);
    Ok(())
}

#[cfg(test)]
kingpost_testgen::conformance! { Slots::default() }

#[test]
fn a_compiler_takes_any_allocator() {
    main().unwrap();
}

/// The checker names what is wrong: here, a value that is never stored.
#[test]
fn a_wrong_answer_is_an_error() {
    struct Forgetful(Slots);
    impl Allocator for Forgetful {
        fn name(&self) -> &'static str {
            "forgetful"
        }
        fn allocate(&mut self, problem: &Problem, env: &MachineEnv, out: &mut Allocation) -> Result<(), AllocError> {
            self.0.allocate(problem, env, out)?;
            let store = out.edits.iter().position(|edit| matches!(edit.kind, EditKind::Spill { .. }));
            out.edits.remove(store.expect("something is stored"));
            Ok(())
        }
    }
    let settings = Settings { regalloc_checker: true, ..Settings::default() };
    let triple = "x86_64-unknown-linux-gnu".parse().expect("a triple");
    let compiler = Compiler::new(&triple, settings, &[]).expect("a target");
    let compiler = compiler.with_allocator(Arc::new(|| Box::new(Forgetful(Slots::default()))));
    let mut functions = kingpost::reader::parse_functions(GCD).expect("a function");
    let (mut context, mut module) = (compiler.context(), ModuleBuffer::default());
    let error = compiler.compile(&mut context, &mut functions[0], &mut module).expect_err("the checker rejects it");
    let message = error.to_string();
    assert!(message.contains("forgetful") && message.contains("holds the value"), "{message}");
}
