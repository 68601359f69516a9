//! Tail calls from functions of one signature to functions of another, with values that change their places.
//!
//! A caller in `system_v` takes the arguments of the first function from `sent` and stores the results to `got`.
//! The first function tail calls the second one, with values of its own if they have the type, otherwise with
//! values from `sent`. The second one stores its arguments to `passed` and returns the contents of `ret`. C
//! compares.

use super::signature::{Param, Signature, bare, places, scalar};
use kingpost_testgen::rng::Rng;

/// Both signatures and the properties of the functions.
pub(super) struct Chain {
    seed: u64,
    from: Vec<Param>,
    to: Vec<Param>,
    results: Vec<Param>,
    /// Per argument of the second function, the argument of the first one that is passed on, if any.
    sources: Vec<Option<usize>>,
    /// Whether the first function stores its arguments.
    notes: bool,
    /// Whether it makes another call first, so that it has a frame.
    calls: bool,
    indirect: bool,
}

/// Largest number of parameters of the second function.
const MAX_PARAMS: usize = 30;

impl Chain {
    /// Returns a chain that begins with `from`, which has no structs.
    pub(super) fn new(from: &Signature) -> Chain {
        let rng = &mut Rng::new(!from.seed);
        let to: Vec<Param> = (0..rng.range(0..MAX_PARAMS)).map(|_| scalar(rng)).collect();
        let results = (0..rng.range(0..12)).map(|_| scalar(rng)).collect();
        let source = |param: &Param| {
            let same = |k: &usize| ty(from.params[*k]) == ty(*param);
            let same: Vec<usize> = (0..from.params.len()).filter(same).collect();
            (!same.is_empty()).then(|| same[rng.range(0..same.len())])
        };
        let sources = to.iter().map(source).collect();
        let [notes, calls, indirect] = [50, 50, 50].map(|percent| rng.chance(percent));
        Chain { seed: from.seed, from: from.params.clone(), to, results, sources, notes, calls, indirect }
    }

    /// Returns the three CLIF functions.
    pub(super) fn clif(&self, n: usize) -> String {
        let convention = |params: &[Param]| format!("({}){} tail", types(params), arrow(&self.results));
        let (first, second) = (convention(&self.from), convention(&self.to));
        let globals = "    gv0 = symbol %sent\n    gv1 = symbol %seen\n    gv2 = symbol %passed\n    gv3 = symbol %ret\n    gv4 = symbol %got\n";
        let near = if self.seed.is_multiple_of(2) { "colocated " } else { "" };
        let mut text = format!("function %kc_{n}() system_v {{\n{globals}    fn0 = {near}%first_{n}{first}\nblock0:\n");
        text += "    v1000 = symbol_value.i64 gv0\n    v1001 = symbol_value.i64 gv4\n";
        text += &load_all(&self.from, 0);
        text += &format!("    {}call fn0({})\n", equals(&self.results, 2000), names(0..self.from.len()));
        text += &store_all(&self.results, 2000);
        text += "    return\n}\n\n";

        text += &format!(
            "function %first_{n}{first} {{\n{globals}    sig0 = {second}\n    fn0 = {near}%second_{n} sig0\n    fn1 = %leaf() system_v\n"
        );
        text += &format!("block0({}):\n    v1000 = symbol_value.i64 gv0\n", heads(&self.from));
        if self.calls {
            text += "    call fn1()\n";
        }
        if self.notes {
            text += "    v1001 = symbol_value.i64 gv1\n";
            text += &store_all(&self.from, 0);
        }
        let mut args = Vec::new();
        for (k, (&param, place)) in self.to.iter().zip(places(&self.to)).enumerate() {
            args.push(match self.sources[k] {
                Some(source) => format!("v{source}"),
                None => {
                    text += &load(param, place, 100 + k);
                    format!("v{}", 100 + k)
                }
            });
        }
        let args = args.join(", ");
        text += &match self.indirect {
            true => format!("    v1002 = func_addr.i64 fn0\n    return_call_indirect sig0, v1002({args})\n}}\n\n"),
            false => format!("    return_call fn0({args})\n}}\n\n"),
        };

        text += &format!("function %second_{n}{second} {{\n{globals}block0({}):\n", heads(&self.to));
        text += "    v1001 = symbol_value.i64 gv2\n    v1000 = symbol_value.i64 gv3\n";
        text += &store_all(&self.to, 0);
        text += &load_all(&self.results, 2000);
        text + &format!("    return {}\n}}\n\n", names(2000..2000 + self.results.len()))
    }

    /// Returns the C function that makes the call and compares.
    pub(super) fn c(&self, n: usize) -> String {
        let mut text = format!("void kc_{n}(void);\nint check_{n}(void) {{\n  fill({}u);\n  kc_{n}();\n", self.seed);
        let mut compare = |left: &str, from: usize, right: &str, at: usize, param: Param, what: usize| {
            let Param::Scalar((.., bytes)) = param else { return };
            text += &format!("  if (memcmp(&{left}[{from}], &{right}[{at}], {bytes})) return {what};\n");
        };
        let from = places(&self.from);
        for (&param, &place) in self.from.iter().zip(&from).filter(|_| self.notes) {
            compare("sent", place, "seen", place, param, 1);
        }
        for ((&param, place), source) in self.to.iter().zip(places(&self.to)).zip(&self.sources) {
            compare("sent", source.map_or(place, |k| from[k]), "passed", place, param, 3);
        }
        for (&param, place) in self.results.iter().zip(places(&self.results)) {
            compare("ret", place, "got", place, param, 2);
        }
        text + "  return 0;\n}\n"
    }
}

/// Returns the type without annotations.
fn ty(param: Param) -> &'static str {
    match param {
        Param::Scalar((ty, ..)) => bare(ty),
        Param::Struct(_) | Param::Pair(_) => unreachable!("structs are replaced"),
    }
}

fn types(params: &[Param]) -> String {
    let ty = |param: &Param| match *param {
        Param::Scalar((ty, ..)) => ty,
        Param::Struct(_) | Param::Pair(_) => unreachable!("structs are replaced"),
    };
    params.iter().map(ty).collect::<Vec<_>>().join(", ")
}

fn arrow(results: &[Param]) -> String {
    if results.is_empty() { String::new() } else { format!(" -> {}", types(results)) }
}

fn names(values: std::ops::Range<usize>) -> String {
    values.map(|value| format!("v{value}")).collect::<Vec<_>>().join(", ")
}

fn equals(results: &[Param], first: usize) -> String {
    if results.is_empty() { String::new() } else { format!("{} = ", names(first..first + results.len())) }
}

/// Returns the parameters of a block, from `v0` on.
fn heads(params: &[Param]) -> String {
    let head = |(k, &param): (usize, &Param)| format!("v{k}: {}", ty(param));
    params.iter().enumerate().map(head).collect::<Vec<_>>().join(", ")
}

/// Returns a load from the memory at `v1000`. Narrow integers are taken from whole words, so that there are bits
/// above them.
fn load(param: Param, place: usize, value: usize) -> String {
    let (ty, at) = (ty(param), place * 8);
    match param {
        Param::Scalar((.., 1 | 2 | 4)) if ty.starts_with('i') => {
            format!("    v{0} = load.i64 v1000+{at}\n    v{value} = ireduce.{ty} v{0}\n", 5000 + value)
        }
        _ => format!("    v{value} = load.{ty} v1000+{at}\n"),
    }
}

fn load_all(params: &[Param], first: usize) -> String {
    let loads = params.iter().zip(places(params)).enumerate();
    loads.map(|(k, (&param, place))| load(param, place, first + k)).collect()
}

/// Returns stores of values to the memory at `v1001`.
fn store_all(params: &[Param], first: usize) -> String {
    let stores = places(params).into_iter().enumerate();
    stores.map(|(k, place)| format!("    store v{}, v1001+{}\n", first + k, place * 8)).collect()
}
