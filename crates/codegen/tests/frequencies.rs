//! Frequencies that a client gives to blocks: they decide about the order of code, spilling, if-conversion and inlining.

use kingpost_codegen::compiled::ModuleBuffer;
use kingpost_codegen::{ALLOCATORS, Compiler, OptLevel, Options, Settings, Stats};
use kingpost_ir::Function;

/// A loop with a call in one of two arms. Ten values live through the loop: more than a call preserves.
const CALL_IN_LOOP: &str = "
function %f(i64, i64, i64) -> i64 system_v {
    fn0 = %g(i64) -> i64 system_v
block0(v0: i64, v1: i64, v2: i64):
    v3 = iadd v0, v1
    v4 = imul v0, v1
    v5 = bxor v0, v2
    v6 = imul v1, v2
    v7 = isub v2, v0
    v8 = isub v2, v1
    jump block1(v0, v1)
block1(v10: i64, v11: i64):
    v9 = iconst.i64 1023
    v12 = band v10, v9
    brif v12, block3, block2
block2:
    v13 = call fn0(v11)
    jump block4(v13)
block3:
    v14 = iadd v11, v3
    v15 = bxor v14, v4
    v16 = iadd v15, v5
    v17 = bxor v16, v6
    v18 = iadd v17, v7
    v19 = bxor v18, v8
    jump block4(v19)
block4(v20: i64):
    v21 = isub v10, v1
    brif v21, block1(v21, v20), block5
block5:
    return v20
}";

/// A loop around a branch that becomes a `select`.
const DIAMOND: &str = "
function %f(i64, i64) -> i64 system_v {
block0(v0: i64, v1: i64):
    jump block1(v0)
block1(v2: i64):
    v3 = icmp ult v2, v1
    brif v3, block2, block3
block2:
    v4 = iadd v2, v1
    jump block4(v4)
block3:
    v5 = isub v2, v1
    jump block4(v5)
block4(v6: i64):
    brif v6, block1(v6), block5
block5:
    return v6
}";

/// Returns the function with these numbers of runs by block.
fn with(text: &str, frequencies: &[(&str, f64)]) -> Function {
    let mut func = kingpost_reader::parse_functions(text).unwrap().remove(0);
    for &(name, runs) in frequencies {
        let block = func.layout.blocks().find(|&block| func.names.block(block).to_string() == name);
        func.set_block_frequency(block.expect("a block of the text"), runs);
    }
    func
}

fn compiler(allocator: &str, level: OptLevel) -> Compiler {
    let settings = Settings::default().with(|settings| {
        settings.opt_level = level;
        settings.regalloc_algorithm = allocator.into();
        settings.regalloc_checker = true;
    });
    Compiler::baseline(settings).unwrap().with_options(Options::default().with(|options| options.count = true))
}

fn compile(mut func: Function, allocator: &str, level: OptLevel) -> (ModuleBuffer, Stats) {
    let (compiler, mut module) = (compiler(allocator, level), ModuleBuffer::default());
    let mut cx = compiler.context();
    compiler.compile(&mut cx, &mut func, &mut module).unwrap();
    (module, *cx.stats())
}

fn code(func: Function, allocator: &str, level: OptLevel) -> Vec<u8> {
    compile(func, allocator, level).0.function(0).code.to_vec()
}

/// Returns the place of the only call, in percent of the code.
fn place_of_call(func: Function, allocator: &str) -> usize {
    let (module, _) = compile(func, allocator, OptLevel::None);
    let function = module.function(0);
    function.relocs[0].offset as usize * 100 / function.code.len()
}

#[test]
fn frequencies_below_the_smallest_one_mean_cold() {
    let marked = CALL_IN_LOOP.replace("block2:", "block2 cold:");
    for (allocator, _) in ALLOCATORS {
        let cold = code(with(&marked, &[]), allocator, OptLevel::Speed);
        let given = code(with(CALL_IN_LOOP, &[("block2", 0.0)]), allocator, OptLevel::Speed);
        assert_eq!(cold, given, "{allocator}");
    }
}

#[test]
fn blocks_that_seldom_run_in_their_loop_are_placed_last() {
    let hot = [("block1", 1000.0), ("block2", 500.0), ("block3", 500.0), ("block4", 1000.0)];
    let seldom = [("block1", 1000.0), ("block2", 5.0), ("block3", 995.0), ("block4", 1000.0)];
    for (allocator, _) in ALLOCATORS {
        let place = |frequencies| place_of_call(with(CALL_IN_LOOP, frequencies), allocator);
        let (hot, seldom) = (place(&hot), place(&seldom));
        assert!(hot < seldom && seldom > 50, "{allocator}: {hot} % and {seldom} % of the code");
    }
}

#[test]
fn values_are_spilled_where_code_seldom_runs() {
    let cost =
        |frequencies: &[(&str, f64)]| compile(with(CALL_IN_LOOP, frequencies), "ssa", OptLevel::None).1.weighted_cost;
    let often = cost(&[("block1", 1000.0), ("block2", 900.0), ("block3", 100.0), ("block4", 1000.0)]);
    let seldom = cost(&[("block1", 1000.0), ("block2", 1.0), ("block3", 999.0), ("block4", 1000.0)]);
    // The loop without the call needs no memory.
    assert!(seldom < 100.0 && often > 100.0, "{seldom} and {often}");
}

#[test]
fn predictable_branches_remain() {
    let level = OptLevel::Speed;
    let code = |frequencies: &[(&str, f64)]| code(with(DIAMOND, frequencies), "ssa", level);
    let estimated = code(&[]);
    assert_eq!(estimated, code(&[("block1", 100.0), ("block2", 50.0), ("block3", 50.0)]));
    assert_ne!(estimated, code(&[("block1", 100.0), ("block2", 1.0), ("block3", 99.0)]));
}
