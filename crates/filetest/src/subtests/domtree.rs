//! `test domtree`: the `dominates:` comments list the immediate dominators. Filecheck checks the orders that follow
//! from the tree.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use kingpost_ir::cfg::ControlFlowGraph;
use kingpost_ir::dominators::DominatorTree;
use kingpost_ir::{AnyEntity, Block, Function};
use kingpost_reader::TestFunction;

use crate::expect::directive;
use crate::job::Job;
use crate::report::Findings;

pub(crate) fn run(job: &Job, findings: &mut Findings) {
    for test in &job.file.functions {
        let func = &test.function;
        let tree = DominatorTree::new(func, &ControlFlowGraph::new(func));
        check_dominators(job, test, &tree, findings);
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = write_orders(&mut text, func, &tree);
        job.check(test, &text, findings);
        // The dominators of every block are checked.
        findings.expectations += 1;
    }
}

/// Checks that each reachable block but the entry is listed once, at its immediate dominator.
fn check_dominators(job: &Job, test: &TestFunction, tree: &DominatorTree, findings: &mut Findings) {
    let func = &test.function;
    let names: BTreeMap<String, Block> =
        func.layout.blocks().map(|block| (func.names.block(block).to_string(), block)).collect();
    let mut listed: BTreeMap<Block, u32> = BTreeMap::new();
    for comment in &test.comments {
        let Some(text) = directive(comment, "dominates:") else { continue };
        let at = |text: String| format!("{}:{}: {text}", job.name, comment.position());
        let AnyEntity::Inst(inst) = comment.entity else {
            findings.fail(at("`dominates:` must belong to an instruction".into()));
            continue;
        };
        let source = func.layout.inst_block(inst);
        for name in text.split_whitespace() {
            let Some(&block) = names.get(name) else {
                findings.fail(at(format!("there is no {name}")));
                continue;
            };
            if tree.idom(block) != source {
                let idom = tree.idom(block).map(|block| func.names.block(block).to_string());
                findings.fail(at(format!("the immediate dominator of {name} is {}", idom.unwrap_or("none".into()))));
            }
            if listed.insert(block, comment.line).is_some() {
                findings.fail(at(format!("{name} is listed twice")));
            }
        }
    }
    for block in func.layout.blocks().skip(1) {
        if tree.is_reachable(block) && !listed.contains_key(&block) {
            findings.fail(format_args!("{}: {} is not listed", job.place(test), func.names.block(block)));
        }
    }
}

fn write_orders(out: &mut String, func: &Function, tree: &DominatorTree) -> fmt::Result {
    write!(out, "cfg_postorder:")?;
    for &block in tree.cfg_postorder() {
        write!(out, " {}", func.names.block(block))?;
    }
    writeln!(out, "\ndomtree_preorder {{")?;
    for &block in tree.preorder() {
        write!(out, "    {}:", func.names.block(block))?;
        for child in tree.children(block) {
            write!(out, " {}", func.names.block(child))?;
        }
        writeln!(out)?;
    }
    writeln!(out, "}}")
}
