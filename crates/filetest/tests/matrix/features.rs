//! Signatures and calls in every calling convention, and annotations, compiled for every machine. Rejected cases
//! are listed in `filetests/matrix/refused_features.txt`, under the words of the error.
//!
//! A reason that ends in "without `KEY`" is followed by another attempt with this setting on, so that the list also
//! has cases that are still rejected.

use kingpost_codegen::{CompileError, Compiler, Settings};
use kingpost_ir::signature::CallConv;
use kingpost_mach::ModuleBuffer;
use kingpost_testgen::opcode_cases::TYPES;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::str::FromStr;
use target_lexicon::Triple;

const MACHINES: [&str; 2] = ["x86_64", "aarch64"];

const HEAD: &str = "\
# What is refused of signatures, of calls and of annotations, by calling convention. A line is `WHAT | MACHINE: CONVENTIONS`; without
# conventions it holds for all of them. `define` is a function of this signature, the others are calls of such a function, listed if the
# function and the plain call are not refused for this reason. `9 x i64` are nine of them, the least number that is refused. A heading is
# the error; one that ends in a setting is no longer raised with it. `make matrix` updates the list.
";

/// The placeholder of the calling convention in the text of a case.
const CONVENTION: &str = "CONV";

/// A function around one feature.
struct Case {
    name: String,
    text: String,
}

/// The calls of a function, beginning with the plain one.
const OPCODES: [&str; 7] =
    ["call", "call patchable", "call_indirect", "try_call", "try_call_indirect", "return_call", "return_call_indirect"];

/// Rejected cases: by reason and case, the machines and conventions.
type Refused = BTreeMap<String, BTreeMap<String, BTreeSet<(usize, usize)>>>;

/// Parameters and results as text.
#[derive(Clone)]
struct Signature {
    params: Vec<String>,
    results: Vec<String>,
}

impl Signature {
    fn new(params: &[&str], results: &[&str]) -> Signature {
        let [params, results] = [params, results].map(|list| list.iter().map(|word| word.to_string()).collect());
        Signature { params, results }
    }

    fn signature(&self) -> String {
        let results = if self.results.is_empty() { String::new() } else { format!("-> {}", self.results.join(", ")) };
        format!("({}) {results} {CONVENTION}", self.params.join(", "))
    }

    /// Returns the parameters that have a value.
    fn values(&self) -> impl Iterator<Item = &str> {
        self.params.iter().filter(|word| *word != "...").map(|word| word.split(' ').next().expect("a type"))
    }

    fn name(&self) -> String {
        let [params, results] = [&self.params, &self.results].map(|list| match &list[..] {
            [first, .., last] if first == last => format!("{} x {first}", list.len()),
            _ => list.join(", "),
        });
        if results.is_empty() { format!("({params})") } else { format!("({params}) -> {results}") }
    }

    /// Returns the body of a function that loads values of all `types`, and their names.
    fn loads<'a>(types: impl Iterator<Item = &'a str>) -> (String, String) {
        let (mut body, mut names) = ("    v1000 = iconst.i64 0\n".to_string(), Vec::new());
        for (number, ty) in types.enumerate() {
            let _ = writeln!(body, "    v{} = load.{ty} v1000", number + 1001);
            names.push(format!("v{}", number + 1001));
        }
        (body, names.join(", "))
    }

    fn definition(&self) -> Case {
        let params: Vec<String> = self.values().enumerate().map(|(number, ty)| format!("v{number}: {ty}")).collect();
        let types = self.results.iter().map(|word| word.split(' ').next().expect("a type"));
        let (body, names) = Signature::loads(types);
        let text = format!(
            "function %f{} {{\nblock0({}):\n{body}    return {names}\n}}\n",
            self.signature(),
            params.join(", ")
        );
        Case { name: format!("define {}", self.name()), text }
    }

    /// Returns the call of such a function by `opcode`.
    fn call(&self, opcode: &str) -> Case {
        let (body, names) = Signature::loads(self.values());
        let patchable = if opcode == "call patchable" { "patchable" } else { "" };
        let word = opcode.split(' ').next().expect("an opcode");
        let signature = self.signature();
        let mut declared = format!("    sig0 = {signature}");
        let callee = match word {
            // The signature follows.
            "try_call_indirect" => format!("v1000({names})"),
            _ if word.ends_with("_indirect") => format!("sig0, v1000({names})"),
            _ => {
                let _ = write!(declared, "\n    fn0 = colocated {patchable} %f{signature}");
                format!("fn0({names})")
            }
        };
        let (head, end) = match word {
            "return_call" | "return_call_indirect" => (format!("() {CONVENTION}"), String::new()),
            "try_call" | "try_call_indirect" => {
                ("() system_v".into(), ", sig0, block1, [ default: block1 ]\nblock1:\n    return".into())
            }
            _ => ("() system_v".into(), "\n    return".into()),
        };
        let returned: Vec<String> = (0..self.results.len()).map(|number| format!("v{}", 2000 + number)).collect();
        let returned = match word {
            "call" | "call_indirect" if !returned.is_empty() => format!("{} = ", returned.join(", ")),
            _ => String::new(),
        };
        let text = format!("function %g{head} {{\n{declared}\nblock0:\n{body}    {returned}{word} {callee}{end}\n}}\n");
        Case { name: format!("{opcode} {}", self.name()), text }
    }
}

/// Returns the definitions. A definition follows the ones that imply its rejection.
fn shapes() -> Vec<Signature> {
    let mut shapes = vec![Signature::new(&[], &[])];
    shapes.extend(TYPES.iter().map(|ty| Signature::new(&[ty], &[])));
    shapes.extend(TYPES.iter().map(|ty| Signature::new(&[], &[ty])));
    shapes.extend([
        Signature::new(&["i64 sret"], &[]),
        Signature::new(&["i64 sret"], &["i64"]),
        Signature::new(&["i64 vmctx"], &[]),
        Signature::new(&["i64 sarg(24)"], &[]),
        Signature::new(&["i8 uext", "i16 sext"], &["i8 uext"]),
        Signature::new(&["i64"; 20], &[]),
        Signature::new(&["i64", "..."], &[]),
        Signature::new(&["i64", "...", "i64", "f64"], &[]),
    ]);
    shapes
}

/// Features that do not depend on the calling convention.
const ANNOTATIONS: &[(&str, &str)] = &[
    (
        "stack map of a slot with align = 32",
        "function %f() { ss0 = explicit_slot 32, align = 32 fn0 = %g() block0: call fn0(), stack_map=[i64 @ ss0+8] return }",
    ),
    (
        "stack map of an entry beyond its slot",
        "function %f() { ss0 = explicit_slot 12 fn0 = %g() block0: call fn0(), stack_map=[i64 @ ss0+8] return }",
    ),
    (
        "debug tag of a slot with align = 32",
        "function %f() { ss0 = explicit_slot 32, align = 32 block0: <ss0> sequence_point return }",
    ),
    ("key of a slot with align = 32", "function %f() { ss0 = explicit_slot 32, align = 32, key = 1 block0: return }"),
    ("debug tag of return_call", "function %f() tail { fn0 = %g() tail block0: <9> return_call fn0() }"),
    (
        "context i128 of try_call",
        "function %f(i128) { sig0 = () fn0 = %g() block0(v0: i128): try_call fn0(), sig0, block1, [ context v0, default: block1 ] block1: return }",
    ),
    (
        "stack limit from a context that is no parameter",
        "function %f() { gv0 = vmctx gv1 = load.i64 notrap aligned gv0+8 stack_limit = gv1 ss0 = explicit_slot 64 block0: v0 = stack_addr.i64 ss0 store v0, v0 return }",
    ),
];

/// Compiles a case, and returns the reasons for its rejection: with the usual settings, and with the settings that
/// a reason names.
fn reasons(machine: &str, text: &str) -> Vec<String> {
    let triple = Triple::from_str(&format!("{machine}-unknown-linux-gnu")).expect("a triple");
    let function = match kingpost_reader::parse_functions(text) {
        Ok(mut functions) => functions.remove(0),
        Err(error) => panic!("{error}\n{text}"),
    };
    let (mut settings, mut reasons) = (Settings::default().with(|settings| settings.is_pic = false), Vec::new());
    loop {
        let compiler = Compiler::new(&triple, settings.clone(), &[]).expect("settings that are taken");
        let result = compiler.compile(&mut compiler.context(), &mut function.clone(), &mut ModuleBuffer::default());
        let error = match result {
            Ok(()) => return reasons,
            Err(CompileError::Lower(refusal)) => refusal.error.to_string(),
            // Such a function has no meaning.
            Err(CompileError::Invalid(_)) => return reasons,
            Err(error) => panic!("{machine}: {error}\n{text}"),
        };
        let reason = error.strip_suffix(&format!(" is not supported for {machine}")).unwrap_or(&error).to_string();
        assert!(!reasons.contains(&reason), "{machine}: refused with the setting too: {reason}\n{text}");
        let key = reason.split_once("without `").and_then(|(_, key)| key.strip_suffix('`')).map(str::to_string);
        reasons.push(reason);
        match key {
            Some(key) => settings.set(&key, "true").expect("a setting"),
            None => return reasons,
        }
    }
}

/// Compiles a case, records its reasons for rejection except the `known` ones, and returns all reasons.
fn add(refused: &mut Refused, (machine, convention): (usize, usize), case: &Case, known: &[String]) -> Vec<String> {
    let text = case.text.replace(CONVENTION, CallConv::ALL[convention].name());
    let reasons = reasons(MACHINES[machine], &text);
    for reason in reasons.iter().filter(|reason| !known.contains(reason)) {
        refused.entry(reason.clone()).or_default().entry(case.name.clone()).or_default().insert((machine, convention));
    }
    reasons
}

fn refused() -> Refused {
    let mut refused = Refused::new();
    for place in (0..MACHINES.len()).flat_map(|machine| (0..CallConv::ALL.len()).map(move |c| (machine, c))) {
        for (name, text) in ANNOTATIONS {
            add(&mut refused, place, &Case { name: name.to_string(), text: text.to_string() }, &[]);
        }
        let every = Case { name: "every signature".into(), ..Signature::new(&[], &[]).definition() };
        if !add(&mut refused, place, &every, &[]).is_empty() {
            continue;
        }
        // A reason that applies to one result is not repeated for every result, and a reason that applies to a
        // definition or a plain call is not repeated for every call.
        let any_result = add(&mut refused, place, &Signature::new(&[], &["i64"]).definition(), &[]);
        for shape in shapes() {
            let mut known = if shape.results.is_empty() { Vec::new() } else { any_result.clone() };
            known.extend(add(&mut refused, place, &shape.definition(), &known));
            for opcode in OPCODES {
                known.extend(add(&mut refused, place, &shape.call(opcode), &known));
            }
        }
        for ty in ["i64", "f64", "i8x16"] {
            let many = |count| Signature::new(&[], &vec![ty; count]).definition();
            // The least number represents all greater ones.
            let _ = (2..=20).find(|&count| !add(&mut refused, place, &many(count), &any_result).is_empty());
        }
    }
    refused
}

/// Returns the list as text.
fn text(refused: &Refused) -> String {
    let mut out = HEAD.to_string();
    for (reason, cases) in refused {
        let _ = writeln!(out, "\n# {reason}");
        for (case, places) in cases {
            let _ = write!(out, "{case}");
            for (machine, name) in MACHINES.iter().enumerate() {
                let conventions: Vec<&str> = places
                    .iter()
                    .filter(|place| place.0 == machine)
                    .map(|place| CallConv::ALL[place.1].name())
                    .collect();
                match conventions.len() {
                    0 => continue,
                    count if count == CallConv::ALL.len() => write!(out, " | {name}"),
                    _ => write!(out, " | {name}: {}", conventions.join(" ")),
                }
                .expect("a string takes all");
            }
            out.push('\n');
        }
    }
    out
}

#[test]
fn refused_features_are_listed() {
    let current = text(&refused());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filetests/matrix/refused_features.txt");
    if std::env::var_os("KINGPOST_BLESS").is_some_and(|value| value != "0") {
        std::fs::write(&path, current).expect("writable");
        return;
    }
    let listed = std::fs::read_to_string(&path).expect("the list");
    assert!(listed == current, "{} is not up to date; `make matrix` updates it to:\n{current}", path.display());
}
