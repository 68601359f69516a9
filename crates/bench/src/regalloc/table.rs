//! Tables of results.

use super::duel::{FASTALLOC, ION, Outcome, Row};
use super::probe::LIMIT;
use crate::measure::geometric_mean;

/// Prints the table of one case.
pub fn print(outcome: &Outcome) {
    let Outcome { name, problems, insts, not_lowered, rows, .. } = outcome;
    println!("{name}: {problems} problems, {insts} instructions, {not_lowered} functions not lowered");
    println!(
        "  {:24} {:>9} {:>8} {:>6} {:>7} {:>8} {:>9} {:>9} {:>9} {:>8} {:>6} {:>14} {:>7} {:>7} {:>9} {:>8}",
        "allocator",
        "seconds",
        "ns each",
        "spread",
        "faster",
        "KiB",
        "spills",
        "fills",
        "moves",
        "remats",
        "saved",
        "cost",
        "ratio",
        "each",
        "check s",
        "checker"
    );
    let ion = outcome.row(ION);
    for row in rows {
        if row.over {
            println!("  {:24} ≥ {LIMIT} s, takes no part", row.name);
            continue;
        }
        let against = |of: &dyn Fn(&Row) -> f64| ion.map_or("-".into(), |ion| format!("{:.2}", of(ion)));
        println!(
            "  {:24} {:>9} {:>8} {:>6} {:>7} {:>8} {:>9} {:>9} {:>9} {:>8} {:>6} {:>14.0} {:>7} {:>7} {:>9.4} {:>8}",
            row.name,
            number(row.seconds, 4, ""),
            number(row.seconds * 1e9 / *insts as f64, 1, ""),
            number(spread(row), 0, " %"),
            if row.seconds.is_nan() { "-".into() } else { against(&|ion| ion.seconds / row.seconds) },
            row.bytes.map_or("-".into(), |bytes| (bytes / 1024).to_string()),
            row.cost.spills,
            row.cost.fills,
            row.cost.moves + row.cost.exchanges,
            row.cost.remats,
            row.cost.callee_saved,
            row.cost.loads(),
            against(&|ion| cost_ratio(row, ion)),
            against(&|ion| each(row, ion)),
            row.check_seconds,
            if row.check_seconds > 0.0 { against(&|ion| row.check_seconds / ion.seconds) } else { "-".into() },
        );
    }
    for row in rows {
        for (reason, (count, first)) in &row.refused {
            println!("  refused by {}: {count} × {reason}, first {first}", row.name);
        }
    }
}

/// Returns a number with decimals and a unit, or `-` for what was not measured.
fn number(number: f64, decimals: usize, unit: &str) -> String {
    if number.is_finite() { format!("{number:.decimals$}{unit}") } else { "-".into() }
}

/// Returns by how many percent the slowest round exceeds the fastest one.
fn spread(row: &Row) -> f64 {
    let fastest = row.rounds.iter().copied().fold(f64::INFINITY, f64::min);
    let slowest = row.rounds.iter().copied().fold(0.0, f64::max);
    (slowest / fastest - 1.0) * 100.0
}

/// Prints the functions in which the cost of our allocators exceeds the cost of regalloc2's backtracking most.
pub fn worst(outcome: &Outcome, count: usize) {
    let Some(ion) = outcome.row(ION) else { return };
    for row in outcome.rows.iter().filter(|row| ![ION, FASTALLOC].contains(&row.name)) {
        let excess = |i: usize| row.costs[i].loads() - ion.costs[i].loads();
        let mut order: Vec<usize> = (0..row.costs.len()).filter(|&i| excess(i) > 0.0).collect();
        order.sort_by(|&a, &b| excess(b).total_cmp(&excess(a)));
        for &i in order.iter().take(count) {
            println!("  {} of {}, +{:.0}", row.name, outcome.functions[i], excess(i));
            println!("    {}", row.costs[i]);
            println!("    {} by {ION}", ion.costs[i]);
        }
    }
}

/// Returns the ratio of the costs of a case. One load is added for each problem, so that a cost of zero has a ratio,
/// too.
pub(crate) fn cost_ratio(row: &Row, rival: &Row) -> f64 {
    let add = row.costs.len() as f64;
    (row.cost.loads() + add) / (rival.cost.loads() + add)
}

/// Returns the geometric mean of the ratios of costs over the problems.
fn each(row: &Row, rival: &Row) -> f64 {
    geometric_mean(row.costs.iter().zip(&rival.costs).map(|(a, b)| (a.loads() + 1.0) / (b.loads() + 1.0)))
}

/// A ratio of an allocator to a rival, with the name of the case.
type Ratio<'a> = (&'a str, f64);

/// A column of the summary: its title, its comparison, and whether a large ratio is good.
type Column = (&'static str, fn(&Row, &Row) -> f64, bool);

const COLUMNS: [Column; 5] = [
    ("faster", |row, rival| rival.seconds / row.seconds, true),
    ("cost", cost_ratio, false),
    ("cost of each", each, false),
    ("bytes", |row, rival| row.bytes.zip(rival.bytes).map_or(f64::NAN, |(a, b)| a as f64 / b as f64), false),
    ("checker", |row, rival| if row.check_seconds > 0.0 { row.check_seconds / rival.seconds } else { f64::NAN }, false),
];

/// Prints the geometric mean and the worst ratio over all cases, over files and over shapes.
pub fn summary(outcomes: &[Outcome]) {
    let Some(first) = outcomes.first() else { return };
    let names: Vec<&str> = first.rows.iter().map(|row| row.name).collect();
    for rival in [ION, FASTALLOC].into_iter().filter(|rival| names.contains(rival)) {
        println!("\nAgainst {rival}: geometric mean over cases, each a file or a shape, and the worst case");
        for name in names.iter().filter(|&&name| name != rival) {
            for (kind, shapes) in [("files", Some(false)), ("shapes", Some(true)), ("all", None)] {
                let of_kind = |o: &&Outcome| shapes.is_none_or(|shape| o.is_shape == shape);
                let some: Vec<&Outcome> = outcomes.iter().filter(of_kind).collect();
                if shapes.is_none() || some.len() < outcomes.len() {
                    line(kind, name, rival, &some);
                }
            }
        }
    }
    println!();
    for name in &names {
        let over: Vec<&str> = outcomes.iter().filter(|o| o.row(name).is_none()).map(|o| o.name.as_str()).collect();
        if !over.is_empty() {
            println!("{name} took ≥ {LIMIT} s and is left out of: {}", over.join(", "));
        }
        let refused = outcomes.iter().filter_map(|o| o.row(name)).flat_map(|row| row.refused.values());
        let refused: usize = refused.map(|(count, _)| count).sum();
        println!("{name} refused {refused} problems");
    }
}

fn line(kind: &str, name: &str, rival: &str, outcomes: &[&Outcome]) {
    let both: Vec<(&str, &Row, &Row)> =
        outcomes.iter().filter_map(|o| Some((o.name.as_str(), o.row(name)?, o.row(rival)?))).collect();
    if both.is_empty() {
        return;
    }
    let mut text = format!("  {name:24} {kind:6} {:3} cases", both.len());
    for (title, of, more_is_better) in COLUMNS {
        let ratios: Vec<Ratio<'_>> = both.iter().map(|&(case, row, rival)| (case, of(row, rival))).collect();
        text += &part(title, ratios, more_is_better);
    }
    println!("{text}");
}

fn part(title: &str, mut ratios: Vec<Ratio<'_>>, more_is_better: bool) -> String {
    ratios.retain(|(_, ratio)| ratio.is_finite());
    ratios.sort_by(|a, b| a.1.total_cmp(&b.1));
    let worst = if more_is_better { ratios.first() } else { ratios.last() };
    let Some((case, worst)) = worst else { return String::new() };
    format!(" | {title} {:.3}, worst {worst:.2} {case}", geometric_mean(ratios.iter().map(|r| r.1)))
}
