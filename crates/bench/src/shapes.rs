//! Generated functions of growing size, with one generator per shape, and the fitted growth of compile time.

use crate::measure::measure;
use anyhow::{Context, Result};
use std::fmt::Write;

/// A shape: its name, and a function that writes CLIF of about this many instructions.
pub(crate) type Shape = (&'static str, fn(usize) -> String);

pub(crate) const SHAPES: &[Shape] = &[
    ("straight line", straight_line),
    ("high pressure", high_pressure),
    ("diamonds", diamonds),
    ("calls", calls),
    ("switch interpreter", switch_interpreter),
    ("chain of loops", chain_of_loops),
    ("deep nest", deep_nest),
    ("irreducible nest", irreducible_nest),
    ("calls in loops", calls_in_loops),
    ("all live", all_live),
    ("wide parameters", wide_parameters),
    ("many predecessors", many_predecessors),
    ("many constants", many_constants),
    ("exception tables", exception_tables),
    ("tiny functions", tiny_functions),
];

/// Returns the text of the shape `NAME:SIZE`.
///
/// # Errors
/// If there is no such shape, or the size is invalid.
pub(crate) fn text(spec: &str) -> Result<String> {
    let (name, size) = spec.split_once(':').context("a shape is shape:NAME:SIZE")?;
    let shape = SHAPES.iter().find(|(known, _)| *known == name);
    let (_, make) = shape.with_context(|| format!("no shape is called {name}"))?;
    Ok(make(size.parse()?))
}

/// Maximum expected CPU seconds of a compiler for a shape. A compiler that would exceed it is not measured on larger
/// sizes, because its growth is known by then.
const LONGEST: f64 = 3.0;

/// CPU seconds of one compiler at each size; NaN if the compiler refuses the function or would take too long.
pub(crate) type Series = (String, Vec<f64>);

/// Measures all shapes at sizes from 10^3 to `max`, and prints seconds and the fitted exponent for each compiler.
pub fn report(max: usize) -> Result<()> {
    let sizes: Vec<usize> = (3..9).map(|power| 10usize.pow(power)).filter(|&size| size <= max).collect();
    for shape in SHAPES {
        println!("{}", shape.0);
        for (compiler, seconds) in &growth(shape, &sizes, crate::X86_64)? {
            let cells: Vec<String> = seconds.iter().map(|s| format!("{:>10.5}", s)).collect();
            println!("  {compiler:28} {}  exponent {:.2}", cells.join(" "), exponent(&sizes, seconds));
        }
    }
    Ok(())
}

/// Measures all compilers on a shape at each size.
///
/// # Errors
/// If a compiler does not support the target.
pub(crate) fn growth(&(_, make): &Shape, sizes: &[usize], target: &str) -> Result<Vec<Series>> {
    let names: Vec<String> = crate::compilers("none", target)?.iter().map(|compiler| compiler.name().into()).collect();
    let mut table: Vec<Series> = names.into_iter().map(|name| (name, Vec::new())).collect();
    for &size in sizes {
        let mut compilers = crate::compilers("none", target)?;
        let mut is_measured = table.iter().map(|(_, seconds)| expected(seconds) <= LONGEST);
        compilers.retain(|_| is_measured.next().unwrap_or_default());
        let rows = measure(&mut compilers, &make(size), 3)?;
        for (name, seconds) in &mut table {
            let row = rows.iter().find(|row| row.name == *name && row.functions > 0);
            seconds.push(row.map_or(f64::NAN, |row| row.seconds));
        }
    }
    Ok(table)
}

/// Returns the expected seconds at the next size, if the growth factor stays the same.
fn expected(seconds: &[f64]) -> f64 {
    match seconds {
        [.., before, last] if last.is_nan() && !before.is_nan() => f64::INFINITY,
        [.., before, last] if !before.is_nan() => last * last / before,
        _ => 0.0,
    }
}

/// Returns the slope of the least-squares line through the logarithms of the measured points.
pub(crate) fn exponent(sizes: &[usize], seconds: &[f64]) -> f64 {
    let measured = sizes.iter().zip(seconds).filter(|(_, seconds)| seconds.is_finite());
    let points: Vec<(f64, f64)> = measured.map(|(&n, s)| ((n as f64).ln(), s.ln())).collect();
    let n = points.len() as f64;
    let (mx, my) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let cov: f64 = points.iter().map(|p| (p.0 - mx) * (p.1 - my)).sum();
    let var: f64 = points.iter().map(|p| (p.0 - mx).powi(2)).sum();
    cov / var
}

/// Writer of the text of one function, which numbers the values.
struct Text {
    out: String,
    next: usize,
}

impl Text {
    fn new(signature: &str) -> Text {
        Text { out: format!("function %f{signature} {{\n"), next: 0 }
    }

    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    /// Defines the next value by an instruction and returns its number.
    fn def(&mut self, inst: &str) -> usize {
        let v = self.next;
        self.next += 1;
        let _ = writeln!(self.out, "    v{v} = {inst}");
        v
    }

    /// Defines `count` values, each from the previous one and `with`. Returns the last value. Upstream reads at most
    /// 10^5 blocks, so a function of 10^6 instructions needs ten instructions in each.
    fn chain(&mut self, first: usize, with: usize, count: usize) -> usize {
        (0..count).fold(first, |last, i| {
            let op = ["iadd", "bxor", "isub", "bor"][i % 4];
            self.def(&format!("{op}.i64 v{last}, v{with}"))
        })
    }

    /// Begins a block with this many parameters, and returns their numbers.
    fn block(&mut self, number: usize, params: usize) -> Vec<usize> {
        let first = self.next;
        self.next += params;
        let params: Vec<usize> = (first..self.next).collect();
        let list = if params.is_empty() { String::new() } else { format!("({})", list(&params, ": i64")) };
        self.line(&format!("block{number}{list}:"));
        params
    }

    fn end(mut self) -> String {
        self.out.push_str("}\n");
        self.out
    }
}

fn list(values: &[usize], suffix: &str) -> String {
    values.iter().map(|v| format!("v{v}{suffix}")).collect::<Vec<_>>().join(", ")
}

fn straight_line(size: usize) -> String {
    let mut t = Text::new("(i64, i64) -> i64 system_v");
    let p = t.block(0, 2);
    let (mut a, mut b) = (p[0], p[1]);
    for i in 0..size {
        let op = ["iadd", "bxor", "isub", "imul"][i % 4];
        (a, b) = (b, t.def(&format!("{op} v{a}, v{b}")));
    }
    t.line(&format!("    return v{b}"));
    t.end()
}

fn high_pressure(size: usize) -> String {
    let mut t = Text::new("(i64) -> i64 system_v");
    let p = t.block(0, 1);
    // Every value is live until forty more have been defined.
    let mut window = std::collections::VecDeque::from([p[0]]);
    for _ in 0..size {
        let (a, b) = (window[0], window[window.len() - 1]);
        window.push_back(t.def(&format!("iadd v{a}, v{b}")));
        if window.len() > 40 {
            window.pop_front();
        }
    }
    let last = window[window.len() - 1];
    t.line(&format!("    return v{last}"));
    t.end()
}

fn diamonds(size: usize) -> String {
    let mut t = Text::new("(i64, i64) -> i64 system_v");
    let p = t.block(0, 2);
    let mut x = p[0];
    for i in 0..size / 32 {
        let (yes, no, join) = (3 * i + 1, 3 * i + 2, 3 * i + 3);
        let c = t.def(&format!("icmp ult v{x}, v{}", p[1]));
        t.line(&format!("    brif v{c}, block{yes}, block{no}"));
        t.block(yes, 0);
        let a = t.chain(x, p[1], 9);
        t.line(&format!("    jump block{join}(v{a})"));
        t.block(no, 0);
        let b = t.chain(x, p[0], 9);
        t.line(&format!("    jump block{join}(v{b})"));
        let q = t.block(join, 1);
        x = t.chain(q[0], p[0], 9);
    }
    t.line(&format!("    return v{x}"));
    t.end()
}

fn calls(size: usize) -> String {
    let mut t = Text::new("(i64, i64, i64, i64) -> i64 system_v");
    t.line("    fn0 = colocated %g(i64, i64, i64, i64) -> i64 system_v");
    let p = t.block(0, 4);
    let mut args = p;
    for i in 0..size / 2 {
        let r = t.def(&format!("call fn0({})", list(&args, "")));
        args.rotate_left(1 + i % 3);
        args[i % 4] = t.def(&format!("iadd v{r}, v{}", args[(i + 1) % 4]));
    }
    t.line(&format!("    return v{}", args[0]));
    t.end()
}

fn switch_interpreter(size: usize) -> String {
    let cases = size / 12;
    let mut t = Text::new("(i64, i64) -> i64 system_v");
    let p = t.block(0, 2);
    t.line(&format!("    jump block1(v{}, v{})", p[0], p[1]));
    let q = t.block(1, 2);
    let op = t.def(&format!("load.i32 notrap v{}", q[0]));
    let targets: Vec<String> = (0..cases).map(|i| format!("block{}", i + 3)).collect();
    t.line(&format!("    br_table v{op}, block2, [{}]", targets.join(", ")));
    t.block(2, 0);
    t.line(&format!("    return v{}", q[1]));
    for i in 0..cases {
        t.block(i + 3, 0);
        let k = t.def(&format!("iconst.i64 {}", i + 4));
        let next = t.def(&format!("iadd.i64 v{}, v{k}", q[0]));
        let x = t.def(&format!("load.i64 notrap v{next}"));
        let y = t.chain(x, q[1], 6);
        t.line(&format!("    store.i64 notrap v{y}, v{next}+8"));
        t.line(&format!("    jump block1(v{next}, v{y})"));
    }
    t.end()
}

fn chain_of_loops(size: usize) -> String {
    let mut t = Text::new("(i64, i64) -> i64 system_v");
    let p = t.block(0, 2);
    t.line(&format!("    jump block1(v{}, v{})", p[0], p[1]));
    let loops = size / 12;
    for i in 1..=loops {
        let q = t.block(i, 2);
        let one = t.def("iconst.i64 1");
        let n = t.def(&format!("isub v{}, v{one}", q[0]));
        let x = t.def(&format!("imul v{}, v{}", q[1], p[1]));
        let y = t.chain(x, n, 7);
        t.line(&format!("    brif v{n}, block{i}(v{n}, v{y}), block{}(v{}, v{y})", i + 1, p[0]));
    }
    let q = t.block(loops + 1, 2);
    t.line(&format!("    return v{}", q[1]));
    t.end()
}

fn deep_nest(size: usize) -> String {
    let depth = size / 24;
    let mut t = Text::new("(i64, i64) -> i64 system_v");
    let p = t.block(0, 2);
    t.line(&format!("    jump block1(v{})", p[0]));
    for i in 1..=depth {
        let q = t.block(i, 1);
        let x = t.chain(q[0], p[1], 11);
        t.line(&format!("    jump block{}(v{x})", i + 1));
    }
    let q = t.block(depth + 1, 1);
    t.line(&format!("    jump block{}(v{})", depth + 2, q[0]));
    for i in 1..=depth {
        let header = depth + 1 - i;
        let q = t.block(depth + 1 + i, 1);
        let x = t.chain(q[0], p[1], 10);
        let c = t.def(&format!("icmp ult v{x}, v{}", p[0]));
        t.line(&format!("    brif v{c}, block{header}(v{x}), block{}(v{x})", depth + 2 + i));
    }
    let q = t.block(2 * depth + 2, 1);
    t.line(&format!("    return v{}", q[0]));
    t.end()
}

/// Returns a nest of loops that are also entered in their middles.
fn irreducible_nest(size: usize) -> String {
    let depth = size / 24;
    let mut t = Text::new("(i64, i64) -> i64 system_v");
    let p = t.block(0, 2);
    t.line("    jump block1");
    // Every block on the way in may also branch to its counterpart on the way out.
    for i in 1..=depth {
        t.block(i, 0);
        let x = t.chain(p[0], p[1], 10);
        let c = t.def(&format!("icmp ult v{x}, v{}", p[0]));
        t.line(&format!("    brif v{c}, block{}, block{}", i + 1, 2 * depth + 1 - i));
    }
    for i in depth + 1..=2 * depth {
        t.block(i, 0);
        let x = t.chain(p[1], p[0], 10);
        let c = t.def(&format!("icmp ult v{x}, v{}", p[1]));
        t.line(&format!("    brif v{c}, block{}, block{}", 2 * depth + 1 - i, i + 1));
    }
    t.block(2 * depth + 1, 0);
    t.line(&format!("    return v{}", p[0]));
    t.end()
}

fn calls_in_loops(size: usize) -> String {
    let mut t = Text::new("(i64, i64, i64, i64, i64) -> i64 system_v");
    t.line("    fn0 = colocated %g(i64, i64) -> i64 system_v");
    let p = t.block(0, 5);
    t.line(&format!("    jump block1(v{}, v{})", p[0], p[1]));
    let loops = size / 12;
    for i in 1..=loops {
        let q = t.block(i, 2);
        let r = t.def(&format!("call fn0(v{}, v{})", q[1], p[2 + i % 3]));
        let x = t.chain(r, p[2 + (i + 1) % 3], 7);
        let n = t.def(&format!("isub v{}, v{}", q[0], p[1]));
        t.line(&format!("    brif v{n}, block{i}(v{n}, v{x}), block{}(v{}, v{x})", i + 1, p[0]));
    }
    let q = t.block(loops + 1, 2);
    t.line(&format!("    return v{}", q[1]));
    t.end()
}

fn all_live(size: usize) -> String {
    let mut t = Text::new("(i64) -> i64 system_v");
    let p = t.block(0, 1);
    let mut values = vec![p[0]];
    for i in 0..size / 2 {
        values.push(t.def(&format!("bxor v{}, v{}", values[i], p[0])));
    }
    let mut sum = p[0];
    for v in values.iter().rev() {
        sum = t.def(&format!("iadd v{sum}, v{v}"));
    }
    t.line(&format!("    return v{sum}"));
    t.end()
}

fn wide_parameters(size: usize) -> String {
    const WIDTH: usize = 64;
    let mut t = Text::new("(i64) -> i64 system_v");
    let p = t.block(0, 1);
    let mut args = vec![p[0]; WIDTH];
    let blocks = (size / WIDTH).max(2);
    for i in 1..blocks {
        t.line(&format!("    jump block{i}({})", list(&args, "")));
        let q = t.block(i, WIDTH);
        args = q;
        for k in 0..WIDTH {
            if k % 2 == 0 {
                args[k] = t.def(&format!("iadd v{}, v{}", args[k], args[(k + 1) % WIDTH]));
            }
        }
        args.rotate_left(1);
    }
    // All values are read, so that no value is dead at any size.
    let all = args[1..].iter().fold(args[0], |sum, v| t.def(&format!("bxor v{sum}, v{v}")));
    t.line(&format!("    return v{all}"));
    t.end()
}

fn many_predecessors(size: usize) -> String {
    let blocks = size / 12;
    let mut t = Text::new("(i64, i64) -> i64 system_v");
    let p = t.block(0, 2);
    t.line("    jump block1");
    for i in 1..=blocks {
        t.block(i, 0);
        let k = t.def(&format!("iconst.i64 {i}"));
        let x = t.chain(p[0], k, 9);
        let c = t.def(&format!("icmp.i64 ult v{x}, v{}", p[1]));
        t.line(&format!("    brif v{c}, block{}(v{x}), block{}", blocks + 2, i + 1));
    }
    t.block(blocks + 1, 0);
    t.line(&format!("    jump block{}(v{})", blocks + 2, p[0]));
    let q = t.block(blocks + 2, 1);
    t.line(&format!("    return v{}", q[0]));
    t.end()
}

fn many_constants(size: usize) -> String {
    let mut t = Text::new("(i64) -> i64 system_v");
    let p = t.block(0, 1);
    let mut x = p[0];
    for i in 0..size / 2 {
        let k = t.def(&format!("iconst.i64 {:#x}", 0x1234_5678_9abcusize.wrapping_mul(i + 1) & 0xffff_ffff_ffff));
        x = t.def(&format!("bxor v{x}, v{k}"));
    }
    t.line(&format!("    return v{x}"));
    t.end()
}

/// Returns calls with so many handlers that the number of handlers matters, too.
fn exception_tables(size: usize) -> String {
    let handlers = (size / 8).max(1);
    let mut t = Text::new("(i64) -> i64 system_v");
    t.line("    sig0 = (i64) -> i64 tail");
    t.line("    fn0 = %g sig0");
    let mut last = t.block(0, 1)[0];
    for call in 0..2 {
        let first = 1 + call * (handlers + 1);
        let table: Vec<String> = (1..=handlers).map(|i| format!("tag{i}: block{}(exn0)", first + i)).collect();
        t.line(&format!("    try_call fn0(v{last}), sig0, block{first}(ret0), [ {} ]", table.join(", ")));
        for i in 1..=handlers {
            let q = t.block(first + i, 1);
            let x = t.chain(q[0], q[0], 2);
            t.line(&format!("    return v{x}"));
        }
        last = t.block(first, 1)[0];
    }
    t.line(&format!("    return v{last}"));
    t.end()
}

fn tiny_functions(size: usize) -> String {
    let one =
        "function %f(i64, i64) -> i64 system_v {\nblock0(v0: i64, v1: i64):\n    v2 = iadd v0, v1\n    return v2\n}\n";
    one.repeat(size / 2)
}
