//! Work grows in proportion to the problem, whatever its shape. `SIZES=10000,1000000 SHAPE=loop` prints times for those
//! sizes and shapes.

#[path = "../../regalloc-linear/tests/growth/shapes.rs"]
mod shapes;

use kingpost_checker::Checker;
use kingpost_regalloc::{Allocation, Allocator, Cost, Problem};
use kingpost_regalloc_backtracking::Backtracking;

fn items(problem: &Problem) -> u64 {
    (problem.num_insts() + problem.num_operands() + problem.num_edges() + problem.vregs.len()) as u64
}

/// Nanoseconds this thread has run, where the system tells (Linux), since wall clocks count other processes too.
fn cpu_ns() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(f64::NAN)
}

#[test]
fn answers_are_right_and_steps_are_linear() {
    let env = shapes::machine();
    let mut allocator = Backtracking::default();
    for (name, shape) in shapes::SHAPES {
        for size in [10, 300, 4000] {
            let problem = shape(size);
            problem.verify_with(&env).unwrap_or_else(|errors| panic!("{name}: {}", errors[0]));
            let mut answer = Allocation::default();
            allocator.allocate(&problem, &env, &mut answer).unwrap_or_else(|error| panic!("{name}: {error}"));
            Checker::new().check(&problem, &env, &answer).unwrap_or_else(|errors| panic!("{name}: {}", errors[0]));
            let steps = answer.stats.steps / items(&problem);
            assert!(steps <= 64, "{name} of {size}: {steps} steps per item");
        }
    }
}

#[test]
fn times() {
    let Ok(sizes) = std::env::var("SIZES") else { return };
    let sizes: Vec<usize> = sizes.split(',').filter_map(|size| size.parse().ok()).collect();
    let env = shapes::machine();
    println!("{:24}{}", "ns per instruction", sizes.iter().map(|size| format!("{size:>10}")).collect::<String>());
    let only = std::env::var("SHAPE").unwrap_or_default();
    for (name, shape) in shapes::SHAPES.into_iter().filter(|(name, _)| name.contains(&only)) {
        let mut row = format!("{name:24}");
        let mut cost = 0.0;
        for &size in &sizes {
            let problem = shape(size);
            let mut allocator = Backtracking::default();
            let mut answer = Allocation::default();
            // Long enough for the system's coarse clock.
            let start = cpu_ns();
            let mut runs = 0.0;
            while cpu_ns() - start < 2e8 {
                (0..1 + 20_000 / size)
                    .for_each(|_| allocator.allocate(&problem, &env, &mut answer).expect("a solution"));
                runs += (1 + 20_000 / size) as f64;
            }
            let time = (cpu_ns() - start) / runs;
            row += &format!("{:>10.1}", time / problem.num_insts() as f64);
            let weighted = Cost::of(&problem, &env, &answer).weighted;
            let entry = problem.num_insts() as f64 * f64::from(1 << 16);
            cost = weighted as f64 / entry;
        }
        println!("{row}   cost per instruction {cost:.2}");
    }
}
