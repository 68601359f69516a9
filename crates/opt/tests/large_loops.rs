//! In a large loop, cheap instructions of one operand are repeated in the blocks that use their results; in a small one they are not.

use kingpost_ir::analyses::Analyses;
use kingpost_opt::Optimizer;
use std::fmt::Write;

/// A loop of `blocks` blocks, each of which extends the same value and multiplies by it, each a loop by itself if `is_nest`.
fn chain(blocks: usize, is_nest: bool) -> String {
    let mut text =
        "function %f(i64, i32, i64) -> i64 {\nblock0(v0: i64, v1: i32, v2: i64):\n jump block1(v0)\n".to_string();
    let _ = writeln!(text, "block1(v3: i64):");
    for block in 1..=blocks {
        let [wide, sum, test] = [0, 1, 2].map(|number| 10 * block + number);
        let header = if block == 1 { String::new() } else { format!("block{block}:\n") };
        let next = block + 1;
        let again =
            if is_nest && 1 < block && block < blocks { format!("block{block}") } else { format!("block1(v{sum})") };
        let _ = write!(
            text,
            "{header} v{wide} = uextend.i64 v1\n v{sum} = imul v{wide}, v3\n v{test} = icmp ult v{sum}, v2\n\
             brif v{test}, {again}, block{next}\n"
        );
    }
    let _ = write!(text, "block{}:\n return v3\n}}\n", blocks + 1);
    text
}

/// How many extensions are left.
fn extensions(blocks: usize, is_nest: bool, prefers_size: bool) -> usize {
    let mut func = kingpost_reader::parse_functions(chain(blocks, is_nest)).expect("valid text").remove(0);
    Optimizer::default().preferring_size(prefers_size).run_all(&mut func, &mut Analyses::default());
    func.to_string().matches("uextend").count()
}

#[test]
fn extensions_are_repeated_in_large_loops() {
    for is_nest in [false, true] {
        assert_eq!([3, 199, 200].map(|blocks| extensions(blocks, is_nest, false)), [1, 1, 200]);
        assert_eq!(extensions(200, is_nest, true), 1);
    }
}
