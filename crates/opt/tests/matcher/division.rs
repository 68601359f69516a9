//! Checks that replacements of divisions by constants have the value of the division.

use super::graph::{GraphStep, Matcher, TestGraph};
use super::meaning;
use super::random::Random;
use kingpost_ir::types::{I8, I16, I32, I64};
use kingpost_ir::{InstData, Opcode};
use kingpost_opt::rewrite::Graph;

#[test]
fn divisions_keep_their_value() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut expanded = 0;
    for _ in 0..600 {
        for ty in [I8, I16, I32, I64] {
            for opcode in [Opcode::Udiv, Opcode::Sdiv, Opcode::Urem, Opcode::Srem] {
                let mut graph = TestGraph::new(Matcher::Generated);
                let x = graph.run(&GraphStep::Param(ty));
                let divisor = random.constant(ty.bits()) as i64;
                let divisor = graph.iconst(ty, divisor as u64);
                let request = InstData::binary(opcode, ty, [x, divisor]);
                let made = graph.make(request);
                expanded += usize::from(graph.definition(made) != Some(&request));
                meaning::check_request(&mut random, &graph, &request, made);
            }
        }
    }
    assert!(expanded > 4000, "{expanded}");
}
