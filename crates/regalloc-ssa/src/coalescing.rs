//! Classes of values that wish for one register: parameters and their arguments, results and the inputs they reuse.
//!
//! A class is a hint and nothing else, so that a wrong one costs a move and never more.

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use kingpost_regalloc::{Constraint, InstFlags, PReg, Problem, VReg};
use std::fmt::{self, Write};

/// Union-find over values, and the register each class was given last.
#[derive(Default)]
pub(crate) struct Coalescing {
    parents: SecondaryMap<VReg, PackedOption<VReg>>,
    homes: SecondaryMap<VReg, Option<PReg>>,
}

impl Coalescing {
    pub(crate) fn compute(&mut self, problem: &Problem) {
        self.parents.clear();
        self.homes.clear();
        for edge in problem.edges() {
            for (&param, &arg) in problem.params(problem.edge(edge).to).iter().zip(problem.edge_args(edge)) {
                self.union(param, arg);
            }
        }
        for block in problem.blocks() {
            for inst in problem.insts(block) {
                let operands = problem.operands(inst);
                for operand in operands {
                    if let Constraint::Reuse(k) = operand.constraint() {
                        self.union(operand.vreg(), operands[usize::from(k)].vreg());
                    }
                }
                if let ([a, b], true) = (operands, problem.flags(inst).has(InstFlags::MOVE)) {
                    self.union(a.vreg(), b.vreg());
                }
            }
        }
        // A register that an operand is bound to is where its class would like to be.
        for operand in problem.all_operands() {
            if let Some(reg) = operand.fixed_reg() {
                let root = self.root(operand.vreg());
                self.homes[root].get_or_insert(reg);
            }
        }
    }

    fn root(&mut self, vreg: VReg) -> VReg {
        let mut root = vreg;
        while let Some(parent) = self.parents[root].expand() {
            // Path halving.
            if let Some(above) = self.parents[parent].expand() {
                self.parents[root] = above.into();
            }
            root = parent;
        }
        root
    }

    fn union(&mut self, a: VReg, b: VReg) {
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            let (low, high) = (a.min(b), a.max(b));
            self.parents[high] = low.into();
        }
    }

    /// The register that the class of a value would like.
    pub(crate) fn home(&self, vreg: VReg) -> Option<PReg> {
        let mut root = vreg;
        while let Some(parent) = self.parents[root].expand() {
            root = parent;
        }
        self.homes[root]
    }

    /// The class of the value has this register now.
    pub(crate) fn settle(&mut self, vreg: VReg, reg: PReg) {
        let root = self.root(vreg);
        self.homes[root] = Some(reg);
    }

    /// One line per value that shares a class with an earlier one.
    pub(crate) fn dump(&mut self, problem: &Problem, out: &mut String) -> fmt::Result {
        for vreg in problem.vregs.keys() {
            let root = self.root(vreg);
            if root != vreg {
                writeln!(out, "{vreg} like {root}")?;
            }
        }
        Ok(())
    }
}
