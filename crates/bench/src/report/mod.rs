//! All comparisons, measured in one run and written as one page: `kingpost-bench report`.
//!
//! Each section measures, draws, and writes its table and its numbers. Times are CPU seconds of one thread. The
//! compilers take turns within milliseconds, and the least of several rounds counts. The spread is the least and the
//! greatest ratio of a single round.
//!
//! | file | holds |
//! |---|---|
//! | `page.rs` | the page as Markdown, and the numbers as CSV files |
//! | `plot.rs` | the plots of the page |

mod page;
mod plot;

use crate::args::ReportArgs;
use crate::kernels::{Measured, Summary, suite};
use crate::measure::{self, Row, geometric_mean};
use crate::optimisers::{self, Outcome as Optimised};
use crate::regalloc::duel::{FASTALLOC, ION, Outcome};
use crate::regalloc::growth::{fit, points, sizes};
use crate::regalloc::table::cost_ratio;
use crate::shapes::{self, SHAPES, exponent};
use crate::{X86_64, compilers, read};
use anyhow::Result;
use page::Page;
use plot::{Bars, Lines, Scatter};
use std::path::PathBuf;
use std::time::Instant;

const TARGETS: [&str; 2] = [X86_64, "aarch64"];
/// Baseline of the comparisons.
const DEFAULT: &str = "cranelift backtracking";
const SINGLE_PASS: &str = "cranelift single_pass";
/// Our allocators on the page. `spill_all` is only for tests.
const OURS: [&str; 4] = ["ssa", "linear", "backtracking", "fused"];
/// Allocators that solve a problem after lowering, so that they can be measured alone.
const ALONE: [&str; 3] = ["ssa", "linear", "backtracking"];
/// Compilers whose cost is justified after an optimizer.
const OPTIMISED: [&str; 3] = [DEFAULT, "kingpost ssa", "kingpost backtracking"];

/// Extent of the measurements.
struct Plan {
    files: Vec<PathBuf>,
    rounds: usize,
    kernel_rounds: usize,
    /// Instructions of the largest shape for the time and bytes of allocators alone.
    largest: usize,
}

/// Measures everything and writes the page.
///
/// # Errors
/// If a file cannot be read or written, or a compiler does not support the corpus.
pub(crate) fn write(args: &ReportArgs) -> Result<()> {
    let start = Instant::now();
    let mut files = if args.files.is_empty() { crate::modules() } else { args.files.clone() };
    let plan = if args.quick {
        files.truncate(3);
        Plan { files, rounds: 2, kernel_rounds: 5, largest: 100_000 }
    } else {
        Plan { files, rounds: 3, kernel_rounds: 21, largest: 1_000_000 }
    };
    let mut page = Page::new(&args.folder, "Kingpost against published peers")?;
    introduce(&mut page, &plan, args.quick);
    compile_time(&mut page, &plan)?;
    tiny(&mut page, &plan)?;
    optimised(&mut page, &plan)?;
    optimisers(&mut page, &plan)?;
    allocation(&mut page, &plan)?;
    run_time(&mut page, &plan)?;
    memory(&mut page, &plan)?;
    growth(&mut page, &plan)?;
    page.paragraph(&format!("Measured in {:.1} minutes.", start.elapsed().as_secs_f64() / 60.0));
    println!("written: {}", page.write()?.display());
    Ok(())
}

fn introduce(page: &mut Page, plan: &Plan, is_quick: bool) {
    let names: Vec<String> = plan.files.iter().map(|file| name_of(file)).collect();
    page.paragraph(&format!(
        "Written by `make bench{}`: Cranelift 0.135.8 and regalloc2 0.15.2, as published, in the same process as Kingpost, on the same \
         input, with the same CPU flags, verifiers and checkers off. Times are CPU time of one thread; the compilers take turns \
         block by block of functions, and of {} rounds the least counts. A spread is the least and the greatest of the same ratio \
         round by round. What one side refuses is left out for all.",
        if is_quick { " QUICK=1" } else { "" },
        plan.rounds
    ));
    page.paragraph(&format!("Modules: {}.", if names.is_empty() { "none".into() } else { names.join(", ") }));
    if let Some(cpu) = cpu() {
        page.paragraph(&format!("Processor: {cpu}."));
    }
}

fn cpu() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(": ")?.1.to_string())
}

fn name_of(file: &std::path::Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.trim_end_matches(".xz").trim_end_matches(".clif").to_string()
}

/// A ratio, with the least and the greatest ratio of single rounds.
struct Ratio {
    value: f64,
    low: f64,
    high: f64,
}

impl Ratio {
    /// Returns the speedup of one compiler over another, as a geometric mean over cases. A case has for both the
    /// least seconds, and the seconds of the rounds.
    fn faster<'a>(cases: impl Iterator<Item = [(f64, &'a [f64]); 2]> + Clone, rounds: usize) -> Ratio {
        let value = geometric_mean(cases.clone().map(|[one, other]| other.0 / one.0));
        let of_round = |round: usize| geometric_mean(cases.clone().map(|[one, other]| other.1[round] / one.1[round]));
        let (low, high) =
            (0..rounds).map(of_round).fold((f64::MAX, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)));
        Ratio { value, low, high }
    }

    fn cells(&self) -> [String; 2] {
        [format!("{:.2}", self.value), format!("{:.2}–{:.2}", self.low, self.high)]
    }
}

/// Results of compilers by file.
type Compiled = Vec<(String, Vec<Row>)>;

fn compile(plan: &Plan, target: &str, opt_level: &str, is_measured: impl Fn(&str) -> bool) -> Result<Compiled> {
    let mut compiled = Vec::new();
    for file in &plan.files {
        let mut compilers = compilers(opt_level, target)?;
        compilers.retain(|compiler| is_measured(compiler.name()));
        compiled.push((name_of(file), measure::measure(&mut compilers, &read(file)?, plan.rounds)?));
    }
    Ok(compiled)
}

/// Returns the speedup of one compiler over another.
fn faster(compiled: &Compiled, name: &str, other: &str, rounds: usize) -> Ratio {
    let find = |rows: &'_ [Row], name: &str| rows.iter().position(|row| row.name == name);
    let cases = compiled.iter().filter_map(|(_, rows)| {
        let [one, other] =
            [find(rows, name)?, find(rows, other)?].map(|i| (rows[i].seconds, rows[i].rounds.as_slice()));
        Some([one, other])
    });
    Ratio::faster(cases, rounds)
}

/// Returns the geometric mean of the ratios of code bytes to the bytes of Cranelift's default.
fn code_bytes(compiled: &Compiled, name: &str) -> f64 {
    let of = |rows: &[Row], name: &str| rows.iter().find(|row| row.name == name).map(|row| row.code_bytes as f64);
    geometric_mean(compiled.iter().filter_map(|(_, rows)| Some(of(rows, name)? / of(rows, DEFAULT)?)))
}

fn names(compiled: &Compiled) -> Vec<String> {
    compiled.first().map_or_else(Vec::new, |(_, rows)| rows.iter().map(|row| row.name.clone()).collect())
}

const COMPILED: [&str; 8] =
    ["target", "opt_level", "module", "compiler", "functions", "refused", "seconds", "code_bytes"];

fn numbers(compiled: &Compiled, target: &str, opt_level: &str) -> impl Iterator<Item = Vec<String>> {
    compiled.iter().flat_map(move |(file, rows)| {
        rows.iter().map(move |row| {
            let Row { name, functions, refused, seconds, code_bytes, .. } = row;
            [target, opt_level, file, name]
                .map(String::from)
                .into_iter()
                .chain([functions.to_string(), refused.to_string(), format!("{seconds:.6}"), code_bytes.to_string()])
                .collect()
        })
    })
}

fn compile_time(page: &mut Page, plan: &Plan) -> Result<()> {
    if plan.files.is_empty() {
        return Ok(());
    }
    page.heading("Compile time and code size, without an optimiser");
    let (mut lines, mut charts) = (Vec::new(), Vec::new());
    for target in TARGETS {
        let compiled = compile(plan, target, "none", |name| name != "kingpost spill_all")?;
        let (mut rows, mut points) = (Vec::new(), Vec::new());
        for name in names(&compiled) {
            let default = faster(&compiled, &name, DEFAULT, plan.rounds);
            let single_pass = faster(&compiled, &name, SINGLE_PASS, plan.rounds);
            let bytes = code_bytes(&compiled, &name);
            points.push((name.clone(), default.value, bytes));
            let cells = default.cells().into_iter().chain(single_pass.cells());
            rows.push(std::iter::once(name).chain(cells).chain([format!("{bytes:.3}")]).collect());
        }
        page.paragraph(&format!("{target}: how many times as fast as Cranelift's default and as its `single_pass`, and code bytes against its default; geometric means over modules."));
        page.table(&["compiler", "default", "spread", "`single_pass`", "spread", "bytes"], &rows);
        lines.extend(numbers(&compiled, target, "none"));
        let axes = ["times as fast as Cranelift's default", "code bytes against it"];
        charts.push(Scatter { title: target.into(), axes, points });
    }
    plot::scatter(&page.path("compile.svg"), &charts)?;
    page.plot("compile.svg", "Speed and code size");
    page.numbers("compile.csv", &COMPILED, &lines)
}

/// Adds the section on tiny functions, which shows the fixed cost of a function.
fn tiny(page: &mut Page, plan: &Plan) -> Result<()> {
    page.heading("Tiny functions");
    let (mut heading, mut rows) = (vec!["target".to_string()], Vec::new());
    for target in TARGETS {
        let text = shapes::text("tiny functions:2000")?;
        let mut compilers = compilers("none", target)?;
        compilers.retain(|compiler| compiler.name() != "kingpost spill_all");
        let measured = measure::measure(&mut compilers, &text, 10 * plan.rounds)?;
        heading.truncate(1);
        heading.extend(measured.iter().map(|row| row.name.clone()));
        let times = measured.iter().map(|row| format!("{:.2}", 1e6 * row.seconds / row.functions as f64));
        rows.push(std::iter::once(target.to_string()).chain(times).collect::<Vec<String>>());
    }
    page.paragraph("CPU microseconds for a function of two instructions, a sum and a return, with a warm compiler.");
    let heading: Vec<&str> = heading.iter().map(String::as_str).collect();
    page.table(&heading, &rows);
    page.numbers("tiny.csv", &heading, &rows)
}

fn optimised(page: &mut Page, plan: &Plan) -> Result<()> {
    if plan.files.is_empty() {
        return Ok(());
    }
    page.heading("Compile time and code size at `opt_level=speed`");
    let mut lines = Vec::new();
    for target in TARGETS {
        let compiled = compile(plan, target, "speed", |name| OPTIMISED.contains(&name))?;
        let rows: Vec<Vec<String>> = names(&compiled)
            .into_iter()
            .map(|name| {
                let ratio = faster(&compiled, &name, DEFAULT, plan.rounds).cells();
                let bytes = format!("{:.3}", code_bytes(&compiled, &name));
                std::iter::once(name).chain(ratio).chain([bytes]).collect()
            })
            .collect();
        page.paragraph(&format!(
            "{target}: both sides optimise; how many times as fast as Cranelift, and code bytes against it."
        ));
        page.table(&["compiler", "faster", "spread", "bytes"], &rows);
        lines.extend(numbers(&compiled, target, "speed"));
    }
    page.numbers("optimised.csv", &COMPILED, &lines)
}

/// Adds the section on the optimizers alone, without the compilation of their results.
fn optimisers(page: &mut Page, plan: &Plan) -> Result<()> {
    if plan.files.is_empty() {
        return Ok(());
    }
    page.heading("Optimisers alone");
    let (mut rows, mut lines) = (Vec::new(), Vec::new());
    for target in TARGETS {
        let outcomes: Vec<Optimised> =
            plan.files.iter().map(|file| optimisers::compare(file, target, plan.rounds)).collect::<Result<_>>()?;
        let cases = outcomes.iter().map(|Optimised { rows, .. }| [1, 0].map(|i| (rows[i].seconds, &*rows[i].rounds)));
        let times = [0, 1].map(|i| geometric_mean(outcomes.iter().map(|each| each.nanoseconds()[i])));
        let cells = times.iter().map(|time| format!("{time:.0}")).chain(Ratio::faster(cases, plan.rounds).cells());
        rows.push(std::iter::once(target.to_string()).chain(cells).collect::<Vec<_>>());
        lines.extend(plan.files.iter().zip(&outcomes).map(|(file, each)| {
            let times = each.nanoseconds().map(|time| format!("{time:.1}"));
            [target.into(), name_of(file), each.insts.to_string()].into_iter().chain(times).collect::<Vec<_>>()
        }));
    }
    page.paragraph(
        "CPU nanoseconds for each instruction of the input: Cranelift's pass on e-graphs with its analyses of loops and aliases, control \
         flow and dominators being known, and all passes of ours with all analyses. Geometric means over modules.",
    );
    page.table(&["target", "Cranelift", "Kingpost", "faster", "spread"], &rows);
    page.numbers("optimisers.csv", &["target", "module", "instructions", "cranelift", "kingpost"], &lines)
}

fn allocation(page: &mut Page, plan: &Plan) -> Result<()> {
    page.heading("Register allocation alone, against regalloc2");
    let outcomes = crate::regalloc::compare(&ALONE, &plan.files, 10_000, plan.rounds)?;
    let (mut rows, mut points) = (Vec::new(), Vec::new());
    for name in ALONE.into_iter().chain([FASTALLOC]) {
        let solved = || outcomes.iter().filter(|outcome| outcome.problems > 0);
        let of = |is_file: bool| solved().filter(move |outcome| !is_file || !outcome.is_shape);
        let faster = |is_file| Ratio::faster(of(is_file).filter_map(|outcome| seconds(outcome, name)), plan.rounds);
        let cost = |is_file| {
            let ratios = of(is_file).filter_map(|outcome| Some(cost_ratio(outcome.row(name)?, outcome.row(ION)?)));
            geometric_mean(ratios)
        };
        let (modules, all) = (faster(true), faster(false));
        points.push((name.to_string(), all.value, cost(false)));
        let cells = modules.cells().into_iter().chain(all.cells());
        let costs = [cost(true), cost(false)].map(|cost| format!("{cost:.2}"));
        rows.push(std::iter::once(name.to_string()).chain(cells).chain(costs).collect());
    }
    page.paragraph(
        "How many times as fast as regalloc2's backtracking allocator on the same problems, and the weighted cost of spills, fills and \
         moves against it: geometric means over modules, and over modules and all generated shapes of 10,000 instructions. x86-64.",
    );
    let heading = ["allocator", "faster, modules", "spread", "faster, all", "spread", "cost, modules", "cost, all"];
    page.table(&heading, &rows);
    let axes = ["times as fast as regalloc2's backtracking", "weighted cost against it"];
    plot::scatter(&page.path("regalloc.svg"), &[Scatter { title: "modules and shapes".into(), axes, points }])?;
    page.plot("regalloc.svg", "Speed and cost of register allocators");
    let lines: Vec<Vec<String>> = outcomes
        .iter()
        .flat_map(|outcome| outcome.rows.iter().map(move |row| (outcome, row)))
        .map(|(outcome, row)| {
            let counts = [row.cost.spills, row.cost.fills, row.cost.moves].map(|count| count.to_string());
            let head = [outcome.name.clone(), row.name.into(), format!("{:.6}", row.seconds)].into_iter();
            head.chain([format!("{:.0}", row.cost.loads())]).chain(counts).collect()
        })
        .collect();
    page.numbers("regalloc.csv", &["case", "allocator", "seconds", "cost", "spills", "fills", "moves"], &lines)
}

/// Returns the seconds of one allocator and of regalloc2's backtracking allocator, each with the seconds of the
/// rounds.
fn seconds<'a>(outcome: &'a Outcome, name: &str) -> Option<[(f64, &'a [f64]); 2]> {
    let of = |name: &str| outcome.row(name).map(|row| (row.seconds, row.rounds.as_slice()));
    Some([of(name)?, of(ION)?])
}

fn run_time(page: &mut Page, plan: &Plan) -> Result<()> {
    page.heading("Run time of kernels");
    let measured = crate::kernels::measure(&suite(false, &[])?, plan.kernel_rounds, &page.path("kernels"))?;
    let versions: Vec<&[Measured]> = measured.chunk_by(|a, b| a.version == b.version).collect();
    let first = versions[0];
    let rows: Vec<Vec<String>> = versions
        .iter()
        .map(|version| {
            let Summary { time, worst, worst_kernel, spread, bytes } = Summary::of(version, first);
            let worst = format!("{worst:.2} ({worst_kernel})");
            let spread = format!("{:.1} %", 100.0 * (spread - 1.0));
            vec![version[0].version.clone(), format!("{time:.3}"), spread, worst, format!("{bytes:.3}")]
        })
        .collect();
    page.paragraph(&format!(
        "{} kernels on x86-64: time and bytes against {}, geometric means; the spread is what the median of {} rounds took more than the least.",
        first.len(),
        first[0].version,
        plan.kernel_rounds
    ));
    page.table(&["compiled by", "time", "spread", "worst", "bytes"], &rows);
    let shown = ["kingpost ssa speed", "kingpost backtracking speed", "cc -O1"];
    let series = versions.iter().filter(|version| shown.contains(&version[0].version.as_str()));
    let ratios = |version: &[Measured]| {
        version.iter().zip(first).map(|(row, first)| row.sample.least / first.sample.least).collect()
    };
    let bars = Bars {
        axis: "time against Cranelift at opt_level=speed",
        categories: first.iter().map(|row| row.kernel.clone()).collect(),
        series: series.map(|version| (version[0].version.clone(), ratios(version))).collect(),
    };
    plot::bars(&page.path("kernels.svg"), &bars)?;
    page.plot("kernels.svg", "Run time of kernels");
    let lines: Vec<Vec<String>> = measured
        .iter()
        .map(|row| {
            let times = [row.sample.least, row.sample.median].map(|time| format!("{:.1}", time / 1000.0));
            [row.kernel.clone(), row.version.clone()].into_iter().chain(times).chain([row.bytes.to_string()]).collect()
        })
        .collect();
    page.numbers("kernels.csv", &["kernel", "compiled_by", "least_us", "median_us", "code_bytes"], &lines)
}

fn memory(page: &mut Page, plan: &Plan) -> Result<()> {
    page.heading("Peak memory");
    let empty = page.path("empty.clif");
    std::fs::write(&empty, "")?;
    let base = |name: &str| crate::peak_of(name, &empty).unwrap_or(0);
    if let Some(file) = plan.files.last() {
        let peaks = compilers("none", X86_64)?;
        let peaks = peaks.iter().filter_map(|c| Some((c.name().to_string(), crate::peak_of(c.name(), file)?)));
        let rows: Vec<Vec<String>> = peaks.map(|(name, kib)| vec![name, (kib / 1024).to_string()]).collect();
        page.paragraph(&format!("MiB of a process that reads and compiles {}, its text of included.", name_of(file)));
        page.table(&["compiler", "MiB"], &rows);
    }
    page.paragraph(&format!(
        "Bytes for each instruction of a function of {}, text and all representations included, without those of a process that compiles nothing:",
        plan.largest
    ));
    let mut rows = Vec::new();
    for (shape, make) in SHAPES {
        let insts = make(plan.largest).lines().filter(|line| line.starts_with("    ")).count();
        let spec = PathBuf::from(format!("shape:{shape}:{}", plan.largest));
        let peak = |allocator: &str| {
            let name = format!("kingpost {allocator}");
            let kib = crate::peak_of(&name, &spec)?.saturating_sub(base(&name));
            Some((1024 * kib / insts as u64).to_string())
        };
        let peaks = OURS.iter().map(|allocator| peak(allocator).unwrap_or_else(|| "-".into()));
        rows.push(std::iter::once((*shape).to_string()).chain(peaks).collect::<Vec<String>>());
    }
    let heading: Vec<&str> = std::iter::once("shape").chain(OURS).collect();
    page.table(&heading, &rows);
    page.numbers("memory.csv", &heading, &rows)
}

fn growth(page: &mut Page, plan: &Plan) -> Result<()> {
    page.heading("Growth");
    let small = [1_000, 10_000, 100_000];
    let (mut rows, mut charts, mut lines) = (Vec::new(), Vec::new(), Vec::new());
    for target in TARGETS {
        for shape in SHAPES {
            let mut grown = shapes::growth(shape, &small, target)?;
            grown.retain(|(name, _)| name != "kingpost spill_all");
            for (name, seconds) in &grown {
                let numbers = seconds.iter().map(|seconds| format!("{seconds:.6}"));
                let head = [target, shape.0, name.as_str()].map(String::from).into_iter();
                lines.push(head.chain(numbers).collect::<Vec<String>>());
            }
            let cell = |(_, seconds): &(String, Vec<f64>)| match seconds[..] {
                [.., last] if last.is_finite() => format!("{:.2}", exponent(&small[1..], &seconds[1..])),
                _ => format!("{:.2} (smaller)", exponent(&small, seconds)),
            };
            rows.push(std::iter::once(format!("{target}, {}", shape.0)).chain(grown.iter().map(cell)).collect());
            if target == X86_64 {
                let points = |seconds: Vec<f64>| {
                    let sizes = small.iter().map(|&size| size as f64);
                    sizes.zip(seconds).map(|(size, seconds)| (size, 1e9 * seconds / size)).collect()
                };
                let series = grown.into_iter().map(|(name, seconds)| (name, points(seconds))).collect();
                charts.push(Lines { title: shape.0.into(), series });
            }
        }
    }
    page.paragraph("Nanoseconds an instruction of generated functions, x86-64, from 1,000 to 100,000 instructions: flat is linear.");
    plot::lines(&page.path("growth.svg"), "ns/inst", &charts)?;
    page.plot("growth.svg", "Growth of compile time");
    page.paragraph(
        "Exponents of CPU time from 10,000 to 100,000 instructions; 1 is linear. A compiler that would take more than \
         three seconds, growing as it did, is left out of the largest: its exponent is that from 1,000 instructions to 10,000.",
    );
    let others: Vec<String> = OURS.into_iter().map(|name| format!("kingpost {name}")).collect();
    let heading: Vec<&str> =
        ["shape", DEFAULT, SINGLE_PASS].into_iter().chain(others.iter().map(String::as_str)).collect();
    page.table(&heading, &rows);
    page.numbers(
        "growth.csv",
        &["target", "shape", "compiler", "seconds_1000", "seconds_10000", "seconds_100000"],
        &lines,
    )?;
    allocator_growth(page, plan)
}

/// Adds the section on the growth of allocators. Steps and bytes are exactly reproducible, times are not.
fn allocator_growth(page: &mut Page, plan: &Plan) -> Result<()> {
    let (ours, sizes) = (&ALONE[..3], sizes(plan.largest)?);
    let mut rows = Vec::new();
    for (shape, _) in SHAPES {
        let cells = points(ours, shape, &sizes, 1)?.into_iter().map(|points| {
            let [steps, bytes, seconds, _] = fit(&sizes, &points);
            format!("{steps:.2} / {bytes:.2} / {seconds:.2}")
        });
        rows.push(std::iter::once((*shape).to_string()).chain(cells).collect::<Vec<String>>());
    }
    page.paragraph(&format!(
        "Register allocation alone, from {} to {} instructions: exponents of steps, bytes and CPU time.",
        sizes[0], plan.largest
    ));
    let heading: Vec<&str> = std::iter::once("shape").chain(ours.iter().copied()).collect();
    page.table(&heading, &rows);
    Ok(())
}
