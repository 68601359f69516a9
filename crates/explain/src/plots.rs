//! Plots that compare two allocators by the weighted costs of their allocations, function by function: a scatter plot,
//! and the cumulative distribution of the ratios.
//!
//! Costs are in loads. One load is added to each, so that functions without cost have a place on logarithmic axes.

use crate::table::TableRow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A comparison of two allocators.
#[derive(Debug)]
pub struct Plot {
    /// Names of the allocators, such as `ssa-linear`. Letters, digits, `-` and `_`, so that it can name a file.
    pub name: String,
    /// The picture as SVG.
    pub svg: String,
}

/// Side of a panel in pixels.
const SIDE: f64 = 360.0;
/// Distance of the panels from the edges of the picture, and above them.
const MARGIN: f64 = 60.0;
/// Largest ratio on the axis of ratios, and the inverse of the smallest.
const MAX_RATIO: f64 = 4.0;

/// Returns a plot for each pair of allocators in `rows` that both solved some function, in the order of their first rows.
pub fn plots(rows: &[TableRow]) -> Vec<Plot> {
    let mut names: Vec<&str> = Vec::new();
    let mut costs: BTreeMap<&str, BTreeMap<(&str, &str), f64>> = BTreeMap::new();
    for row in rows {
        let name = row.text("allocator");
        if !names.contains(&name) {
            names.push(name);
        }
        let function = (row.text("file"), row.text("function"));
        costs.entry(name).or_default().insert(function, row.weighted_cost());
    }
    let mut plots = Vec::new();
    for (index, x) in names.iter().enumerate() {
        for y in &names[index + 1..] {
            let pair = |(function, &cost)| Some((cost + 1.0, costs[y].get(function)? + 1.0));
            let points: Vec<(f64, f64)> = costs[x].iter().filter_map(pair).collect();
            if !points.is_empty() {
                // An external allocator has its command as name.
                let name = format!("{x}-{y}").replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "_");
                plots.push(Plot { name, svg: svg(&escaped(x), &escaped(y), &points) });
            }
        }
    }
    plots
}

/// Returns a name as text of XML.
fn escaped(name: &str) -> String {
    name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Returns a picture with both panels.
fn svg(x: &str, y: &str, points: &[(f64, f64)]) -> String {
    let (width, height) = (2.0 * SIDE + 3.0 * MARGIN, SIDE + 2.0 * MARGIN);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    scatter(&mut out, x, y, points);
    distribution(&mut out, x, y, points);
    out + "</svg>\n"
}

/// A panel, with functions from values to pixels.
struct Panel {
    left: f64,
}

impl Panel {
    /// Returns the pixel of a share of the horizontal axis.
    fn x(&self, share: f64) -> f64 {
        self.left + SIDE * share
    }

    /// Returns the pixel of a share of the vertical axis, which points up.
    fn y(share: f64) -> f64 {
        MARGIN + SIDE * (1.0 - share)
    }

    fn frame(&self, out: &mut String, title: &str, x: &str, y: &str) {
        let (left, middle, bottom) = (self.left, self.x(0.5), Panel::y(0.0));
        let _ = writeln!(
            out,
            "<rect x=\"{left}\" y=\"{MARGIN}\" width=\"{SIDE}\" height=\"{SIDE}\" fill=\"none\" stroke=\"black\"/>"
        );
        text(out, middle, MARGIN - 12.0, "middle", title);
        text(out, middle, bottom + 36.0, "middle", x);
        let (at, center) = (left - 40.0, Panel::y(0.5));
        let _ = writeln!(
            out,
            "<text x=\"{at}\" y=\"{center}\" text-anchor=\"middle\" transform=\"rotate(-90 {at} {center})\">{y}</text>"
        );
    }

    fn tick_x(&self, out: &mut String, share: f64, label: &str) {
        let (x, bottom) = (self.x(share), Panel::y(0.0));
        line(out, (x, bottom), (x, bottom + 4.0), "black");
        text(out, x, bottom + 18.0, "middle", label);
    }

    fn tick_y(&self, out: &mut String, share: f64, label: &str) {
        let y = Panel::y(share);
        line(out, (self.left - 4.0, y), (self.left, y), "black");
        text(out, self.left - 7.0, y + 4.0, "end", label);
    }
}

fn text(out: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>");
}

fn line(out: &mut String, from: (f64, f64), to: (f64, f64), color: &str) {
    let ((x1, y1), (x2, y2)) = (from, to);
    let _ = writeln!(out, "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{color}\"/>");
}

/// Draws one point for each function. Points at one pixel are one.
fn scatter(out: &mut String, x: &str, y: &str, points: &[(f64, f64)]) {
    let panel = Panel { left: MARGIN };
    let most = points.iter().fold(1.0, |most: f64, &(x, y)| most.max(x).max(y));
    let decades = most.log10().ceil().max(1.0);
    let share = |cost: f64| cost.log10() / decades;
    let cheaper = |first: fn(&(f64, f64)) -> bool| points.iter().filter(|point| first(point)).count();
    let (lower_x, lower_y) = (cheaper(|(x, y)| x < y), cheaper(|(x, y)| y < x));
    let equal = points.len() - lower_x - lower_y;
    let title = format!("{x} cheaper: {lower_x}, equal: {equal}, {y} cheaper: {lower_y}");
    panel.frame(out, &title, &format!("{x}: cost in loads, + 1"), &format!("{y}: cost in loads, + 1"));
    for decade in 0..=decades as u32 {
        let unit = ["", "k", "M", "G", "T", "P", "E"].get(decade as usize / 3).copied().unwrap_or_default();
        let label = format!("{}{unit}", [1, 10, 100][decade as usize % 3]);
        panel.tick_x(out, f64::from(decade) / decades, &label);
        panel.tick_y(out, f64::from(decade) / decades, &label);
    }
    line(out, (panel.x(0.0), Panel::y(0.0)), (panel.x(1.0), Panel::y(1.0)), "gray");
    let pixels: BTreeSet<(i64, i64)> =
        points.iter().map(|&(x, y)| (panel.x(share(x)) as i64, Panel::y(share(y)) as i64)).collect();
    for (x, y) in pixels {
        let _ = writeln!(out, "<circle cx=\"{x}\" cy=\"{y}\" r=\"2.5\" fill=\"#1f77b4\" fill-opacity=\"0.5\"/>");
    }
}

/// Draws the share of functions for which the ratio of the costs is at most the value on the horizontal axis.
fn distribution(out: &mut String, x: &str, y: &str, points: &[(f64, f64)]) {
    let panel = Panel { left: SIDE + 2.0 * MARGIN };
    let mut ratios: Vec<f64> = points.iter().map(|(x, y)| y / x).collect();
    ratios.sort_by(f64::total_cmp);
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    let title = format!("{} functions, geometric mean {mean:.3}", ratios.len());
    panel.frame(out, &title, &format!("cost of {y} / cost of {x}"), "share of functions");
    let share = |ratio: f64| (ratio.ln() / MAX_RATIO.ln()).clamp(-1.0, 1.0) / 2.0 + 0.5;
    for (ratio, label) in [(0.25, "1/4"), (0.5, "1/2"), (1.0, "1"), (2.0, "2"), (4.0, "4")] {
        panel.tick_x(out, share(ratio), label);
    }
    for percent in [0, 25, 50, 75, 100] {
        panel.tick_y(out, f64::from(percent) / 100.0, &format!("{percent} %"));
    }
    line(out, (panel.x(0.5), Panel::y(0.0)), (panel.x(0.5), Panel::y(1.0)), "gray");
    // A step at each pixel, with the number of functions up to it.
    let mut steps: BTreeMap<i64, usize> = BTreeMap::new();
    for (index, &ratio) in ratios.iter().enumerate() {
        steps.insert(panel.x(share(ratio)) as i64, index + 1);
    }
    let mut path = format!("M {} {}", panel.x(0.0), Panel::y(0.0));
    for (x, count) in steps {
        let _ = write!(path, " H {x} V {:.1}", Panel::y(count as f64 / ratios.len() as f64));
    }
    let _ = writeln!(out, "<path d=\"{path} H {}\" fill=\"none\" stroke=\"#d62728\"/>", panel.x(1.0));
}
