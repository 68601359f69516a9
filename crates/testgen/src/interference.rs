//! Interference of values, computed directly: sets of live values, from the last instruction of a block to its
//! first.
//!
//! A second opinion on classes of values that share a location, and therefore without code of allocators. Two
//! values interfere if one is defined while the other is live, or if one instruction defines both. A parameter
//! without uses has no location, so that it interferes with no value.

use kingpost_regalloc::{Block, Edge, Inst, Pos, Problem, VReg};
use std::collections::BTreeSet;
use std::fmt;

/// Fault of a set of classes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Clash {
    /// A value is in two classes, or twice in one.
    Twice(VReg),
    /// Members of one class are of different register classes, or only one of them is a reference.
    Unlike(VReg, VReg),
    /// Members of one class are live at one point, first found at this instruction.
    Interfere(VReg, VReg, Inst),
}

impl fmt::Display for Clash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Clash::Twice(a) => write!(f, "{a} is there twice"),
            Clash::Unlike(a, b) => write!(f, "{a} and {b} are not of one kind"),
            Clash::Interfere(a, b, inst) => write!(f, "{a} and {b} interfere at {inst}"),
        }
    }
}

/// Checks classes of values that may share locations.
///
/// # Errors
/// The first fault of the classes.
pub fn judge(problem: &Problem, classes: &[Vec<VReg>]) -> Result<(), Clash> {
    let mut class_of: Vec<Option<usize>> = vec![None; problem.vregs.len()];
    for (number, class) in classes.iter().enumerate() {
        for &vreg in class {
            if class_of[vreg.as_u32() as usize].replace(number).is_some() {
                return Err(Clash::Twice(vreg));
            }
            let kind = |vreg: VReg| (problem.class(vreg), problem.vregs[vreg].is_ref);
            if kind(vreg) != kind(class[0]) {
                return Err(Clash::Unlike(class[0], vreg));
            }
        }
    }
    let judge = Judge { problem, class_of, live_in: live_in(problem) };
    problem.blocks().try_for_each(|block| judge.block(block))
}

type Live = BTreeSet<VReg>;

/// Returns the values live at the head of each block, including parameters with uses.
fn live_in(problem: &Problem) -> Vec<Live> {
    let mut live_in = vec![Live::new(); problem.blocks().count()];
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for block in problem.blocks().rev() {
            let mut live = Live::new();
            problem.succs(block).iter().for_each(|&edge| live.extend(on_edge(problem, &live_in, edge)));
            for inst in problem.insts(block).rev() {
                step(problem, inst, &mut live);
            }
            let known = &mut live_in[block.as_u32() as usize];
            changed |= *known != live;
            *known = live;
        }
    }
    live_in
}

/// Returns the values live on an edge: arguments of parameters with uses, and values live into the successor.
fn on_edge(problem: &Problem, live_in: &[Live], edge: Edge) -> Live {
    let to = problem.edge(edge).to;
    let mut live = live_in[to.as_u32() as usize].clone();
    let passed = problem.params(to).iter().zip(problem.edge_args(edge));
    let args: Vec<VReg> = passed.filter_map(|(param, &arg)| live.remove(param).then_some(arg)).collect();
    live.extend(args);
    live
}

/// Moves a set of live values from after an instruction to before it.
fn step(problem: &Problem, inst: Inst, live: &mut Live) {
    let operands = problem.operands(inst);
    operands.iter().filter(|operand| operand.is_def()).for_each(|operand| _ = live.remove(&operand.vreg()));
    live.extend(operands.iter().filter(|operand| operand.is_use()).map(|operand| operand.vreg()));
}

struct Judge<'a> {
    problem: &'a Problem,
    class_of: Vec<Option<usize>>,
    live_in: Vec<Live>,
}

impl Judge<'_> {
    fn block(&self, block: Block) -> Result<(), Clash> {
        let problem = self.problem;
        let head = &self.live_in[block.as_u32() as usize];
        for &param in problem.params(block).iter().filter(|param| head.contains(param)) {
            self.meets(param, head, problem.first_inst(block))?;
        }
        let mut live = Live::new();
        let last = problem.terminator(block);
        for &edge in problem.succs(block) {
            let over = on_edge(problem, &self.live_in, edge);
            self.inst(last, &over, |vreg| self.is_on_other_edge(block, edge, vreg))?;
            live.extend(over);
        }
        for inst in problem.insts(block).rev() {
            if inst != last {
                self.inst(inst, &live, |_| false)?;
            }
            step(problem, inst, &mut live);
        }
        Ok(())
    }

    /// Returns `true` if it is a result that exists on another edge only.
    fn is_on_other_edge(&self, block: Block, edge: Edge, vreg: VReg) -> bool {
        let has = |edge: Edge| self.problem.edge_defs(edge).contains(&vreg);
        !has(edge) && self.problem.succs(block).iter().any(|&other| has(other))
    }

    /// Checks that the definitions of an instruction do not interfere with values live after it, each other, or
    /// late uses.
    fn inst(&self, inst: Inst, behind: &Live, absent: impl Fn(VReg) -> bool) -> Result<(), Clash> {
        let operands = self.problem.operands(inst);
        let defs: Vec<_> = operands.iter().filter(|operand| operand.is_def() && !absent(operand.vreg())).collect();
        let mut late = behind.clone();
        late.extend(defs.iter().map(|def| def.vreg()));
        late.extend(operands.iter().filter(|o| o.is_use() && o.pos() == Pos::Late).map(|o| o.vreg()));
        let mut early = late.clone();
        early.extend(operands.iter().filter(|o| o.is_use()).map(|o| o.vreg()));
        for def in defs {
            self.meets(def.vreg(), if def.pos() == Pos::Early { &early } else { &late }, inst)?;
        }
        Ok(())
    }

    fn meets(&self, vreg: VReg, live: &Live, at: Inst) -> Result<(), Clash> {
        let class = |vreg: VReg| self.class_of[vreg.as_u32() as usize];
        let Some(own) = class(vreg) else { return Ok(()) };
        match live.iter().find(|&&other| other != vreg && class(other) == Some(own)) {
            Some(&other) => Err(Clash::Interfere(vreg, other, at)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_regalloc::text;

    #[track_caller]
    fn check(body: &str, class: [u32; 2], want: &str) {
        let source = format!("env {{\nint r0-r3\nfloat f0\n}}\nproblem %f {{\n{body}\n}}");
        let file = text::parse(&source).unwrap_or_else(|error| panic!("{error}"));
        let classes = [class.map(VReg::from_u32).to_vec()];
        let verdict = judge(&file.cases[0].problem, &classes);
        assert_eq!(verdict.err().map_or(String::new(), |clash| clash.to_string()), want);
    }

    #[test]
    fn live_ranges_that_touch_do_not_interfere() {
        check("v0, v1: int 8\nb0:\ndef v0\nuse v0, def v1\nuse v1\nbranch", [0, 1], "");
        check("v0, v1: int 8\nb0:\ndef v0\nuse v0, def v1\nuse v0\nbranch", [0, 1], "v1 and v0 interfere at i1");
        check("v0, v1: int 8\nb0:\ndef v0\nlate use v0, def v1\nbranch", [0, 1], "v1 and v0 interfere at i1");
        check("v0, v1: int 8\nb0:\ndef v0\nuse v0, early def v1\nbranch", [0, 1], "v1 and v0 interfere at i1");
        check("v0, v1: int 8\nb0:\ndef v0, def v1\nbranch", [0, 1], "v0 and v1 interfere at i0");
    }

    #[test]
    fn parameters_meet_what_lives_at_the_head() {
        let round = "v0, v1: int 8\nb0:\ndef v0\nbranch -> b1(v0)\nb1(v1):\n";
        check(&format!("{round}use v1\nbranch"), [0, 1], "");
        check(&format!("{round}use v1\nuse v0\nbranch"), [0, 1], "v1 and v0 interfere at i2");
        check(&format!("{round}use v0\nbranch"), [0, 1], "");
    }

    #[test]
    fn kinds_stay_apart() {
        check("v0: int 8\nv1: float 8\nb0:\ndef v0\ndef v1\nbranch", [0, 1], "v0 and v1 are not of one kind");
        check("v0: int 8\nb0:\ndef v0\nbranch", [0, 0], "v0 is there twice");
    }
}
