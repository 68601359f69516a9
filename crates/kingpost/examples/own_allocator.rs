//! # Write your own allocator
//!
//! A register allocator is anything that implements [`Allocator`]: a [`Problem`] and a [`MachineEnv`] go in, an
//! [`Allocation`] comes out. It needs neither a place in this workspace nor a change to it. This guide builds one from
//! nothing, hands it to a [`Compiler`] and lets the checker judge it: `cargo run --example own_allocator`.
//!
//! The allocator is the simplest there is. Every value has a slot in the frame; each instruction loads what it reads and
//! stores what it writes. What it must get right is what every allocator must get right:
//!
//! 1. a *place* for every operand, of the kind that its constraint wants;
//! 2. *edits* between instructions, which bring values to those places;
//! 3. arguments of edges, passed all at once;
//! 4. which callee-saved registers it uses, and where debuggers find their values.
//!
//! A real one does more: see the crates `regalloc-ssa`, `regalloc-linear` and `regalloc-backtracking`. To test yours, add
//! `kingpost_testgen::conformance! { Yours::default() }` to a test: paper problems, generated problems, growth. If it is
//! to be good and not only right, add `kingpost_testgen::quality!`. References for a garbage collector also need
//! `Allocation::stack_maps`; this one refuses them.

use kingpost::codegen::{Compiler, Settings};
use kingpost::mach::ModuleBuffer;
use kingpost::regalloc::{
    AllocError, Allocation, Allocator, Block, Constraint, Edit, EditKind, Inst, LabelRange, Loc, MachineEnv,
    NoRegister, Operand, PReg, PRegSet, ParallelMoves, Pos, Problem, Slot, VReg,
};
use std::error::Error;
use std::sync::Arc;

#[derive(Default)]
struct Slots {
    /// The slot of each value.
    slots: Vec<Slot>,
    /// Makes sequences of copies that happen at once.
    copies: ParallelMoves,
    sequence: Vec<EditKind>,
}

impl Allocator for Slots {
    fn name(&self) -> &'static str {
        "slots"
    }

    fn allocate(&mut self, problem: &Problem, env: &MachineEnv, out: &mut Allocation) -> Result<(), AllocError> {
        if problem.vregs.values().any(|value| value.is_ref) {
            return Err(AllocError::TooLarge { what: "references", limit: 0 });
        }
        out.reset(problem);
        self.copies.begin();
        self.slots = problem.vregs.values().map(|value| out.add_slot(value.width)).collect();
        for block in problem.blocks() {
            for inst in problem.insts(block) {
                self.place(problem, env, inst, out)?;
            }
        }
        for block in problem.blocks() {
            self.edit(problem, env, block, out)?;
        }
        for request in &problem.labels {
            let loc = Loc::slot(self.slot(request.vreg));
            out.labels.push(LabelRange { label: request.label, loc, from: request.from, to: request.to });
        }
        out.labels.sort_by_key(|range| (range.label, range.from));
        out.collect_saved(problem, env.callee_saved());
        Ok(())
    }
}

impl Slots {
    fn slot(&self, vreg: VReg) -> Slot {
        self.slots[vreg.as_u32() as usize]
    }

    /// # Places
    ///
    /// Two moments matter within an instruction: it reads its uses *early* and writes its defs *late*. A use needs its
    /// register early and a def late; an early def, a late use, and a use whose place a def reuses need it at both.
    /// Registers that the instruction clobbers are lost late. Operands with little choice are served first.
    fn place(&self, problem: &Problem, env: &MachineEnv, inst: Inst, out: &mut Allocation) -> Result<(), AllocError> {
        let operands = problem.operands(inst);
        let locs = problem.operand_range(inst);
        let mut order: Vec<usize> = (0..operands.len()).collect();
        order.sort_by_key(|&i| match operands[i].constraint() {
            Constraint::Fixed(_) => 0,
            Constraint::Within(_) => 1,
            Constraint::Reuse(_) => 3,
            _ => 2,
        });
        let mut taken = Taken::default();
        for i in order {
            let reused = operands.iter().any(|def| def.constraint() == Constraint::Reuse(i as u8));
            out.locs[locs.start + i] = match operands[i].constraint() {
                // The place of a use, which has one by now.
                Constraint::Reuse(k) => out.locs[locs.start + usize::from(k)],
                // What may be in memory is there, unless a def wants its register.
                Constraint::Stack | Constraint::MemOk | Constraint::Any if !reused => {
                    Loc::slot(self.slot(operands[i].vreg()))
                }
                _ => Loc::reg(taken.choose(problem, env, inst, operands[i], reused)?),
            };
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
            let terminator = problem.terminator(problem.edge(edge).from);
            self.store(problem, terminator, first, |def| problem.edge_defs(edge).contains(&def), out);
        }
        for inst in problem.insts(block) {
            for i in problem.operand_range(inst) {
                let operand = problem.all_operands()[i];
                if let (true, Some(to)) = (operand.is_use(), out.locs[i].as_reg()) {
                    let (from, width) = (self.slot(operand.vreg()), problem.width(operand.vreg()));
                    out.edits.push(Edit { at: inst, kind: EditKind::Fill { from, to, width } });
                }
            }
            if inst != problem.terminator(block) {
                self.store(problem, inst, Inst::from_u32(inst.as_u32() + 1), |_| true, out);
            }
        }
        self.pass_arguments(problem, env, block, out)
    }

    /// Stores the defs of `inst` that are wanted, before `at`.
    fn store(&self, problem: &Problem, inst: Inst, at: Inst, wanted: impl Fn(VReg) -> bool, out: &mut Allocation) {
        for i in problem.operand_range(inst) {
            let operand = problem.all_operands()[i];
            let vreg = operand.vreg();
            if let (true, Some(from)) = (operand.is_def() && wanted(vreg), out.locs[i].as_reg()) {
                let (to, width) = (self.slot(vreg), problem.width(vreg));
                out.edits.push(Edit { at, kind: EditKind::Spill { from, to, width } });
            }
        }
    }

    /// # Arguments
    ///
    /// Only a block with one way out passes arguments, all of them at once before its jump: two may change places. The
    /// sequence may use any register that holds nothing there, here all of them.
    fn pass_arguments(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        block: Block,
        out: &mut Allocation,
    ) -> Result<(), AllocError> {
        for &edge in problem.succs(block) {
            let params = problem.params(problem.edge(edge).to);
            for (&arg, &param) in problem.edge_args(edge).iter().zip(params) {
                let (from, to) = (Loc::slot(self.slot(arg)), Loc::slot(self.slot(param)));
                self.copies.add(from, to, problem.class(arg), problem.width(arg));
            }
        }
        let at = problem.terminator(block);
        let done = self.copies.resolve(env.allocatable(), (problem, env), out, &mut self.sequence);
        out.edits.extend(self.sequence.drain(..).map(|kind| Edit { at, kind }));
        done.map_err(|NoRegister(class)| AllocError::TooFewRegisters { inst: at, class })
    }
}

/// The registers that an instruction's operands have so far, at its two moments.
#[derive(Default)]
struct Taken {
    early: PRegSet,
    late: PRegSet,
}

impl Taken {
    fn choose(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        inst: Inst,
        operand: Operand,
        reused: bool,
    ) -> Result<PReg, AllocError> {
        let class = problem.class(operand.vreg());
        let mut free = match operand.constraint() {
            Constraint::Fixed(reg) => PRegSet::EMPTY.with(reg),
            Constraint::Within(set) => problem.reg_set(set),
            _ => env.class(class).allocatable(),
        };
        let early = operand.is_use() || operand.pos() == Pos::Early;
        let late = operand.is_def() || operand.pos() == Pos::Late || reused;
        if early {
            free = free.difference(self.early);
        }
        if late {
            let lost = problem.clobbers(inst).killed(problem.width(operand.vreg()));
            free = free.difference(self.late).difference(lost);
        }
        let best = env.class(class).order.iter().copied().find(|&reg| free.contains(reg));
        let reg = best.ok_or(AllocError::TooFewRegisters { inst, class })?;
        if early {
            self.early.insert(reg);
        }
        if late {
            self.late.insert(reg);
        }
        Ok(reg)
    }
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
