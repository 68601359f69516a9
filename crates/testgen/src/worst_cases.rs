//! CLIF functions of any size that are as expensive as possible for an optimizer. Every instruction is a candidate
//! for several rules, or shares operands that a tree would repeat without end, or makes a pass search far.
//!
//! Among them are the shapes of three inputs on which the e-graph of Cranelift grew or recursed without bounds (its
//! pull request 10579 and issues 13068 and 13476).

mod loops;
mod text;

use text::Text;

/// A name, and a function that writes CLIF of about the given number of instructions.
pub type Case = (&'static str, fn(usize) -> String);

/// All cases.
pub const CASES: &[Case] = &[
    ("selects-of-equals", selects_of_equals),
    ("select-chain", select_chain),
    ("nested-sums", nested_sums),
    ("doubled-sums", doubled_sums),
    ("deep-sum", deep_sum),
    ("constants-chain", constants_chain),
    ("differences-of-sums", differences_of_sums),
    ("extensions", extensions),
    ("narrowing", narrowing),
    ("negations", negations),
    ("bit-lattice", bit_lattice),
    ("products", products),
    ("masks", masks),
    ("conditions", conditions),
    ("diamonds", diamonds),
    ("bounds-checks", bounds_checks),
    ("implied-conditions", implied_conditions),
    ("siblings", siblings),
    ("deep-dominators", deep_dominators),
    ("loop-nest", loops::loop_nest),
    ("nest-under-pressure", loops::nest_under_pressure),
    ("counters", loops::counters),
    ("counting-loops", loops::counting_loops),
    ("counter-sums", loops::counter_sums),
    ("short-loops", loops::short_loops),
    ("loads-and-stores", loads_and_stores),
    ("slots", slots),
    ("slot-in-diamonds", slot_in_diamonds),
    ("passed-on-parameters", passed_on_parameters),
];

/// Returns a chain of `select(c, x, x)`: a search that follows both arms takes time exponential in the length.
fn selects_of_equals(size: usize) -> String {
    let mut t = Text::new(&["i64", "i64"]);
    let last = (0..size).fold(0, |x, _| t.def(format_args!("select v1, v{x}, v{x}")));
    t.end(last)
}

fn select_chain(size: usize) -> String {
    let mut t = Text::new(&["i64", "i64"]);
    let last = (0..size / 3).fold(0, |x, index| {
        let k = t.def(format_args!("iconst.i64 {}", index * 3));
        let c = t.def(format_args!("icmp ult v{x}, v{k}"));
        t.def(format_args!("select v{c}, v{k}, v{x}"))
    });
    t.end(last)
}

/// Returns sums whose operands are shared by neighbors.
fn nested_sums(size: usize) -> String {
    let mut t = Text::new(&["i64", "i64", "i64", "i64"]);
    let mut layer = [0, 1, 2, 3];
    for _ in 0..size / 4 {
        layer = std::array::from_fn(|i| t.def(format_args!("iadd v{}, v{}", layer[i], layer[(i + 1) % 4])));
    }
    t.end(layer[0])
}

/// Returns a chain of `x + x`: a tree of them has exponential size.
fn doubled_sums(size: usize) -> String {
    let mut t = Text::new(&["i64"]);
    let last = (0..size).fold(0, |x, _| t.def(format_args!("iadd v{x}, v{x}")));
    t.end(last)
}

fn deep_sum(size: usize) -> String {
    let mut t = Text::new(&["i64", "i64"]);
    let last = (0..size).fold(0, |x, _| t.def(format_args!("iadd v{x}, v1")));
    t.end(last)
}

fn constants_chain(size: usize) -> String {
    let mut t = Text::new(&["i64"]);
    let last = (0..size / 2).fold(0, |x, index| {
        let k = t.def(format_args!("iconst.i64 {}", index * 7 + 1));
        let op = ["iadd", "isub", "bxor", "iadd"][index % 4];
        t.def(format_args!("{op} v{x}, v{k}"))
    });
    t.end(last)
}

/// Returns `(x - z) - (y - z)`, `(x + y) - (x + z)` and similar, of each other's results.
fn differences_of_sums(size: usize) -> String {
    let mut t = Text::new(&["i64", "i64", "i64"]);
    let (mut x, mut y, mut z) = (0, 1, 2);
    for index in 0..size / 3 {
        let op = ["isub", "iadd"][index % 2];
        let (a, b) = (t.def(format_args!("{op} v{x}, v{z}")), t.def(format_args!("{op} v{y}, v{z}")));
        (x, y, z) = (y, z, t.def(format_args!("isub v{a}, v{b}")));
    }
    t.end(z)
}

fn extensions(size: usize) -> String {
    let mut t = Text::new(&["i64"]);
    let last = (0..size / 4).fold(0, |x, _| {
        let byte = t.def(format_args!("ireduce.i8 v{x}"));
        let half = t.def(format_args!("uextend.i16 v{byte}"));
        let word = t.def(format_args!("sextend.i32 v{half}"));
        t.def(format_args!("uextend.i64 v{word}"))
    });
    t.end(last)
}

fn narrowing(size: usize) -> String {
    let mut t = Text::new(&["i64", "i32"]);
    let last = (0..size / 3).fold(0, |x, _| {
        let word = t.def(format_args!("ireduce.i32 v{x}"));
        let sum = t.def(format_args!("iadd v{word}, v1"));
        t.def(format_args!("uextend.i64 v{sum}"))
    });
    t.end(last)
}

fn negations(size: usize) -> String {
    let mut t = Text::new(&["i64", "i64"]);
    let last = (0..size / 3).fold(0, |x, _| {
        let negated = t.def(format_args!("ineg v{x}"));
        let inverted = t.def(format_args!("bnot v{negated}"));
        t.def(format_args!("isub v1, v{inverted}"))
    });
    t.end(last)
}

/// Returns the and, or and exclusive or of equal pairs.
fn bit_lattice(size: usize) -> String {
    let mut t = Text::new(&["i64", "i64"]);
    let (mut x, mut y) = (0, 1);
    for _ in 0..size / 4 {
        let [and, or, xor] = ["band", "bor", "bxor"].map(|op| t.def(format_args!("{op} v{x}, v{y}")));
        (x, y) = (t.def(format_args!("bor v{and}, v{xor}")), or);
    }
    t.end(x)
}

fn products(size: usize) -> String {
    let mut t = Text::new(&["i64"]);
    let last = (0..size / 2).fold(0, |x, index| {
        let k = t.def(format_args!("iconst.i64 {}", index % 60 * 2 + 3));
        t.def(format_args!("imul v{x}, v{k}"))
    });
    t.end(last)
}

/// Returns masks and shifts for which known bits give information at any depth.
fn masks(size: usize) -> String {
    let mut t = Text::new(&["i64", "i64"]);
    let k = t.def("iconst.i64 0x00ff_ff00_ffff_0ff0");
    let last = (0..size / 3).fold(0, |x, _| {
        let sum = t.def(format_args!("bor v{x}, v1"));
        let shifted = t.def(format_args!("rotl v{sum}, v1"));
        t.def(format_args!("band v{shifted}, v{k}"))
    });
    t.end(last)
}

fn conditions(size: usize) -> String {
    let mut t = Text::new(&["i64"]);
    let zero = t.def("iconst.i64 0");
    let last = (0..size / 2).fold(0, |x, _| {
        let c = t.def(format_args!("icmp eq v{x}, v{zero}"));
        t.def(format_args!("uextend.i64 v{c}"))
    });
    t.end(last)
}

fn diamonds(size: usize) -> String {
    let mut t = Text::new(&["i64", "i64"]);
    let mut x = 0;
    for index in 0..size / 6 {
        let [yes, no, join] = [1, 2, 3].map(|block| 3 * index + block);
        let c = t.def(format_args!("icmp ult v{x}, v1"));
        t.line(format_args!("brif v{c}, block{yes}, block{no}"));
        for (block, op) in [(yes, "iadd"), (no, "isub")] {
            t.block(block, &[]);
            let y = t.def(format_args!("{op} v{x}, v1"));
            t.line(format_args!("jump block{join}(v{y})"));
        }
        x = t.block(join, &["i64"]);
    }
    t.end(x)
}

/// Returns repeated bounds checks of one slice, with an address that is only used if they hold.
fn bounds_checks(size: usize) -> String {
    let mut t = Text::new(&["i64", "i64", "i64"]);
    t.line("trapz v1, user1");
    let mut index = 2;
    for _ in 0..size / 8 {
        let eight = t.def("iconst.i64 8");
        let inside = t.def(format_args!("icmp ult v{index}, v1"));
        let wide = t.def(format_args!("uextend.i32 v{inside}"));
        t.line(format_args!("trapz v{wide}, user1"));
        let offset = t.def(format_args!("imul v{index}, v{eight}"));
        let address = t.def(format_args!("iadd v0, v{offset}"));
        let safe = t.def(format_args!("select_spectre_guard v{inside}, v{address}, v0"));
        index = t.def(format_args!("load.i64 v{safe}"));
    }
    t.end(index)
}

/// Returns one value in each of many blocks that do not dominate each other.
fn siblings(size: usize) -> String {
    let mut t = Text::new(&["i64", "i64"]);
    let count = size / 3;
    let index = t.def("ireduce.i32 v0");
    let blocks: Vec<String> = (1..=count).map(|block| format!("block{block}")).collect();
    t.line(format_args!("br_table v{index}, block1, [{}]", blocks.join(", ")));
    for block in 1..count {
        t.block(block, &[]);
        let square = t.def("imul v1, v1");
        let sum = t.def(format_args!("iadd v{square}, v0"));
        t.line(format_args!("return v{sum}"));
    }
    t.block(count, &[]);
    t.end(1)
}

fn deep_dominators(size: usize) -> String {
    let mut t = Text::new(&["i64", "i64"]);
    let mut x = 0;
    for index in 0..size / 4 {
        x = t.def(format_args!("iadd v{x}, v1"));
        t.line(format_args!("brif v{x}, block{}, block{}", 2 * index + 1, 2 * index + 2));
        t.block(2 * index + 2, &[]);
        let y = t.def("imul v0, v1");
        t.line(format_args!("return v{y}"));
        t.block(2 * index + 1, &[]);
    }
    t.end(x)
}

/// Returns comparisons of two values with constants, and of their sums. Each one is a fact for all later ones.
fn implied_conditions(size: usize) -> String {
    let mut t = Text::new(&["i64", "i64"]);
    for index in 0..size / 8 {
        let k = t.def(format_args!("iconst.i64 {}", 5 * index));
        let c = t.def(format_args!("icmp ult v{}, v{k}", index % 2));
        t.line(format_args!("brif v{c}, block{}, block{}", 2 * index + 2, 2 * index + 1));
        t.block(2 * index + 2, &[]);
        t.line("return v0");
        t.block(2 * index + 1, &[]);
        let sum = t.def(format_args!("iadd v{}, v{k}", index % 2));
        let less = t.def(format_args!("icmp ult v{sum}, v{}", 1 - index % 2));
        t.line(format_args!("trapnz v{less}, user1"));
    }
    t.end(0)
}

fn loads_and_stores(size: usize) -> String {
    let mut t = Text::new(&["i64", "i64"]);
    let mut x = 1;
    for index in 0..size / 2 {
        t.line(format_args!("store v{x}, v0+{}", index % 1000 * 8));
        x = t.def(format_args!("load.i64 v0+{}", index * 7 % 1000 * 8));
    }
    t.end(x)
}

fn slots(size: usize) -> String {
    let count = size / 4;
    let mut t = Text::new(&["i64"]);
    let mut x = 0;
    for index in 0..count {
        t.slot(index);
        let address = t.def(format_args!("stack_addr.i64 ss{index}"));
        t.line(format_args!("store v{x}, v{address}"));
        let y = t.def(format_args!("load.i64 v{address}"));
        x = t.def(format_args!("iadd v{y}, v0"));
    }
    t.end(x)
}

fn slot_in_diamonds(size: usize) -> String {
    let mut t = Text::new(&["i64"]);
    t.slot(0);
    let address = t.def("stack_addr.i64 ss0");
    t.line(format_args!("store v0, v{address}"));
    for index in 0..size / 6 {
        let x = t.def(format_args!("load.i64 v{address}"));
        t.line(format_args!("brif v{x}, block{}, block{}", 2 * index + 1, 2 * index + 2));
        t.block(2 * index + 1, &[]);
        let y = t.def(format_args!("iadd v{x}, v0"));
        t.line(format_args!("store v{y}, v{address}"));
        t.line(format_args!("jump block{}", 2 * index + 2));
        t.block(2 * index + 2, &[]);
    }
    let x = t.def(format_args!("load.i64 v{address}"));
    t.end(x)
}

/// Returns parameters that every block passes on to the next, so that all of them are one value.
fn passed_on_parameters(size: usize) -> String {
    const WIDTH: usize = 20;
    let mut t = Text::new(&["i64"; WIDTH]);
    let mut first = 0;
    for index in 0..size / (2 * WIDTH) {
        let args: Vec<String> = (first..first + WIDTH).map(|value| format!("v{value}")).collect();
        let edge = format!("block{}({})", index + 1, args.join(", "));
        t.line(format_args!("brif v{first}, {edge}, {edge}"));
        first = t.block(index + 1, &["i64"; WIDTH]);
    }
    t.end(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_ir::verifier::verify;

    #[test]
    fn cases_are_valid_and_of_their_size() {
        for (name, make) in CASES {
            for size in [40, 400] {
                let text = make(size);
                let functions = kingpost_reader::parse_functions(&text);
                let functions = functions.unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
                let func = &functions[0];
                assert_eq!(verify(func, None), Ok(()), "{name}: {text}");
                let insts = func.dfg.num_insts();
                assert!((size / 40..=2 * size).contains(&insts), "{name}: {insts} of {size}");
            }
        }
    }
}
