//! Checks that cheap instructions of one operand are repeated in large loops, in the blocks that use their results,
//! and not in small loops. In a loop of medium size only those with a constant are repeated, or all if registers
//! are few.

use kingpost_ir::analyses::Analyses;
use kingpost_opt::Optimizer;
use std::fmt::Write;

/// Returns a loop of `blocks` blocks. Each block computes `cheap` of one value and multiplies by the result. If
/// `is_nest`, each block is a loop by itself.
fn chain(cheap: &str, blocks: usize, is_nest: bool) -> String {
    let mut text =
        "function %f(i64, i32, i64) -> i64 {\nblock0(v0: i64, v1: i32, v2: i64):\n v4 = iconst.i64 5\n jump block1(v0)\n".to_string();
    let _ = writeln!(text, "block1(v3: i64):");
    for block in 1..=blocks {
        let [wide, sum, test] = [0, 1, 2].map(|number| 10 * block + number);
        let header = if block == 1 { String::new() } else { format!("block{block}:\n") };
        let next = block + 1;
        let again =
            if is_nest && 1 < block && block < blocks { format!("block{block}") } else { format!("block1(v{sum})") };
        let _ = write!(
            text,
            "{header} v{wide} = {cheap}\n v{sum} = imul v{wide}, v3\n v{test} = icmp ult v{sum}, v2\n\
             brif v{test}, {again}, block{next}\n"
        );
    }
    let _ = write!(text, "block{}:\n return v3\n}}\n", blocks + 1);
    text
}

/// Returns the number of instructions `cheap` that are left.
fn left(optimizer: Optimizer, cheap: &str, blocks: usize, is_nest: bool) -> usize {
    let mut func = kingpost_reader::parse_functions(chain(cheap, blocks, is_nest)).expect("valid text").remove(0);
    { optimizer }.run_all(&mut func, &mut Analyses::default());
    let opcode = cheap.split(['.', ' ']).next().unwrap_or(cheap);
    func.to_string().matches(opcode).count()
}

#[test]
fn extensions_are_repeated_in_large_loops() {
    let extensions = |optimizer, blocks, is_nest| left(optimizer, "uextend.i64 v1", blocks, is_nest);
    for is_nest in [false, true] {
        let many = || Optimizer::default().for_registers(30);
        assert_eq!([3, 199, 200].map(|blocks| extensions(many(), blocks, is_nest)), [1, 1, 200]);
        let few = || Optimizer::default().for_registers(16);
        assert_eq!([3, 29, 30].map(|blocks| extensions(few(), blocks, is_nest)), [1, 1, 30]);
        assert_eq!(extensions(few().preferring_size(true), 200, is_nest), 1);
    }
}

#[test]
fn sums_with_constants_are_repeated_in_loops_of_medium_size() {
    for is_nest in [false, true] {
        let sums = |blocks| left(Optimizer::default(), "iadd v0, v4", blocks, is_nest);
        assert_eq!([3, 29, 30, 200].map(sums), [1, 1, 30, 200]);
    }
}
