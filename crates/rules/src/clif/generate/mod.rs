//! Rust from rules: one function for each opcode that is the root of a source, and one for each rule.
//!
//! ```text
//! fn match_iadd(g: &mut impl Graph, request: &InstData) -> Option<Value> {      a decision tree over opcodes and constants
//!     ...
//!     if let Some(value) = add_neg(g, ty, a0, a1_0) { return Some(value); }     its leaves
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `tree.rs` | the decision trees |
//! | `leaf.rs` | the function of a rule |
//! | `names.rs` | names in the generated text |
//! | `types.rs` | the tests of types |
//! | `constant.rs` | constant expressions and conditions |

mod constant;
mod leaf;
mod names;
mod tree;
mod types;

use super::ast::{ClifRule, Node, NodeKind};
use super::cover::{self, Typed};
use super::order;
use crate::ast::ExprKind;
use crate::error::RuleError;
use kingpost_ir::Opcode;
use kingpost_ir::opcodes::Suffix;
use leaf::{Leaf, LeafText};
use names::{camel_case, opcode_name};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};
use tree::{Candidate, Statement, contains_word, print, tree, with_operands};
use types::Types;

/// A rule and its text.
pub struct Entry<'r> {
    /// The rule.
    pub rule: &'r ClifRule,
    /// The text, with comments and line breaks.
    pub text: &'r str,
}

/// A file that the code depends on: its path from the code, and its bytes.
pub struct Dependency {
    /// The path, as `include_bytes!` takes it.
    pub path: String,
    /// The contents.
    pub bytes: Vec<u8>,
}

/// Error that prevents the compilation of a rule.
#[derive(Debug)]
#[non_exhaustive]
pub struct GenerateError {
    /// The rule.
    pub rule: String,
    /// The error.
    pub error: RuleError,
}

/// Rejects a rule by which rewriting may not end, or that is never applied.
fn check_order(rules: &[&ClifRule]) -> Result<(), GenerateError> {
    for rule in rules {
        order::check(rule).map_err(of(rule))?;
    }
    let typed = rules.iter().map(|rule| Typed::new(rule).map_err(of(rule))).collect::<Result<Vec<_>, _>>()?;
    cover::check(&typed).map_err(|(rule, error)| GenerateError { rule, error })
}

fn of(rule: &ClifRule) -> impl Fn(RuleError) -> GenerateError {
    |error| GenerateError { rule: rule.name.clone(), error }
}

/// Generates the matcher of rules, which are tried in this order. The matcher does not compile if one of the files
/// has changed.
///
/// # Errors
/// The first rule that cannot be compiled, by which rewriting may not end, or that is never applied.
pub fn generate(entries: &[Entry<'_>], files: &[Dependency]) -> Result<String, GenerateError> {
    let rules: Vec<&ClifRule> = entries.iter().map(|entry| entry.rule).collect();
    check_order(&rules)?;
    let leaves = entries.iter().map(|entry| leaf(entry).map_err(of(entry.rule)));
    let leaves = leaves.collect::<Result<Vec<LeafText>, GenerateError>>()?;
    let (mut roots, mut effects): (Roots<'_>, Roots<'_>) = Default::default();
    let mut conditions: Vec<Candidate<'_>> = Vec::new();
    for (rule, leaf) in rules.iter().zip(&leaves) {
        for variant in super::variants::variants(rule) {
            let mut candidate = Candidate::new(rule, &variant, &leaf.params);
            if rule.is_condition {
                conditions.push(candidate);
            } else if let Some(root) = candidate.take_root() {
                let roots = if rule.effect().is_some() { &mut effects } else { &mut roots };
                roots.entry(root).or_default().push(candidate);
            }
        }
    }
    let mut text = String::new();
    sources(&mut text, &rules);
    let _ = writeln!(text, "/// Returns the value that the first matching rule makes of the request.");
    dispatch(&mut text, "match_request", "Value", &roots);
    let _ = writeln!(
        text,
        "/// Returns the effect that the first matching rule makes of an instruction executed for its effect."
    );
    dispatch(&mut text, "match_effect", "Effect", &effects);
    for (made, roots) in [("Value", &roots), ("Effect", &effects)] {
        for (&opcode, candidates) in roots {
            match_root(&mut text, opcode, made, candidates);
        }
    }
    let _ = writeln!(text, "/// Returns the value that the first matching rule on `cond(value)` makes.");
    let _ = writeln!(text, "pub(super) fn match_condition(g: &mut impl Graph, value: Value) -> Option<Value> {{");
    let _ = writeln!(text, "{}    None\n}}\n", print(&tree(&conditions, &[]), 1));
    let leaves: Vec<&str> = leaves.iter().map(|leaf| leaf.text.as_str()).collect();
    text.push_str(&leaves.join("\n"));
    Ok(head(&rules, files, &text) + &text)
}

fn leaf(entry: &Entry<'_>) -> Result<LeafText, RuleError> {
    let typings = super::typings(entry.rule)?;
    let types = Types::new(entry.rule, typings)?;
    let without_comments = entry.text.lines().map(|line| line.split(';').next().unwrap_or_default());
    let words: Vec<&str> = without_comments.flat_map(str::split_whitespace).skip(2).collect();
    Leaf::build(entry.rule, types, words.join(" ").trim_start_matches(": "))
}

/// Returns the imports of the code in `body`, the checks of its dependencies, and the names of the rules.
fn head(rules: &[&ClifRule], files: &[Dependency], body: &str) -> String {
    let named = |names: &[&str]| {
        let names: Vec<&str> = names.iter().copied().filter(|name| contains_word(body, name)).collect();
        names.join(", ")
    };
    let support = named(&[
        "cond_trap",
        "condition",
        "constant",
        "definition",
        "float_condition",
        "is_int_or_lanes",
        "is_offset",
        "load",
        "make_constant",
        "offset",
        "store",
        "trap",
    ]);
    let facts = named(&["ones", "zeros"]);
    let codes = named(&["FloatCC", "IntCC"]);
    let ir = named(&["InstData", "MemFlags", "Opcode", "Type", "Value", "types"]);
    let mut text = format!(
        "//! The matcher of the proved rules. Written by `kingpost rules generate`: do not edit.\n\n\
         use super::bits::Bits;\nuse super::graph::{{Effect, Graph}};\nuse super::sources::Sources;\nuse super::support::{{fits, {support}}};\nuse crate::known_bits::{{{facts}}};\n\
         use kingpost_ir::condcodes::{{{codes}}};\nuse kingpost_ir::{{{ir}}};\n\n"
    );
    for Dependency { path, bytes } in files {
        let _ = writeln!(
            text,
            "const _: () = assert!(fits(include_bytes!(\"{path}\"), {:#018x}), \"the matcher is stale: make rules\");",
            hash(bytes)
        );
    }
    let _ = writeln!(
        text,
        "\n/// A proved rule.\n#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]\npub enum Rule {{"
    );
    for rule in rules {
        let _ = writeln!(text, "    /// `{}`\n    {},", rule.name, camel_case(&rule.name));
    }
    let _ = writeln!(
        text,
        "}}\n\nimpl Rule {{\n    /// All rules, in the order in which they are tried.\n    pub const ALL: &[Rule] = &["
    );
    for rule in rules {
        let _ = writeln!(text, "        Rule::{},", camel_case(&rule.name));
    }
    let _ = writeln!(
        text,
        "    ];\n\n    /// Returns the name of the rule.\n    pub fn name(self) -> &'static str {{\n        match self {{"
    );
    for rule in rules {
        let _ = writeln!(text, "            Rule::{} => \"{}\",", camel_case(&rule.name), rule.name);
    }
    let _ = writeln!(text, "        }}\n    }}\n}}\n");
    text
}

/// Operands that the sources of a root's rules look for.
#[derive(Default)]
struct Sources {
    /// Opcodes by operand, if there are at most two operands.
    opcodes: [BTreeSet<Opcode>; 2],
    /// Opcodes of the first operand if the second one is a constant.
    beside_constants: BTreeSet<Opcode>,
    /// Whether zero is looked for as second operand, with any first operand.
    zero: bool,
    constants: bool,
    /// Whether any operands are looked for.
    any: bool,
}

impl Sources {
    /// Adds the source of a rule with these operands, in one of their orders.
    fn add(&mut self, operands: &[Node]) {
        let mut inner = None;
        let mut constant = None;
        for (index, operand) in operands.iter().enumerate() {
            match &operand.kind {
                NodeKind::Inst { opcode, .. } if inner.is_none() => inner = Some((index, *opcode)),
                NodeKind::Constant(expr) => constant = Some((index, expr)),
                _ => {}
            }
        }
        let names: Vec<&String> = operands.iter().filter_map(Node::value).collect();
        let has_equal = (1..names.len()).any(|index| names[..index].contains(&names[index]));
        if let Some(opcodes) = constant.and_then(|(index, _)| self.opcodes.get_mut(index)) {
            // Constants that no `iconst` makes. Extended ones are recognized by their type.
            opcodes.extend([Opcode::Splat, Opcode::Iconcat]);
        }
        match (constant, inner) {
            (Some(_), Some((_, opcode))) => self.beside_constants.extend([opcode]),
            (Some((_, expr)), None) if matches!(expr.kind, ExprKind::Literal(0)) => self.zero = true,
            (Some(_), None) => self.constants = true,
            (None, Some((index, opcode))) => match self.opcodes.get_mut(index) {
                Some(opcodes) => opcodes.extend([opcode]),
                None => self.any = true,
            },
            (None, None) => self.any |= !has_equal,
        }
    }
}

/// Writes the code that makes the sources.
impl fmt::Display for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |opcodes: &BTreeSet<Opcode>| opcodes.iter().copied().map(opcode_name).collect::<Vec<_>>().join(", ");
        if self.any {
            return f.write_str("ANY");
        }
        write!(f, "of(&[{}], &[{}])", list(&self.opcodes[0]), list(&self.opcodes[1]))?;
        match (self.constants, self.zero) {
            // Constants are looked for beside any opcode.
            (true, _) => return f.write_str(".or_constants()"),
            (false, true) => f.write_str(".or_zero()")?,
            (false, false) => {}
        }
        if self.beside_constants.is_empty() {
            return Ok(());
        }
        write!(f, ".or_beside_constants(&[{}])", list(&self.beside_constants))
    }
}

/// Generates the table of the operands that the sources of rules look for, by root.
fn sources(text: &mut String, rules: &[&ClifRule]) {
    let mut roots: BTreeMap<Opcode, Sources> = BTreeMap::new();
    for rule in rules.iter().filter(|rule| !rule.is_condition) {
        for variant in super::variants::variants(rule) {
            if let NodeKind::Inst { opcode, operands, .. } = &variant.kind {
                roots.entry(*opcode).or_default().add(operands);
            }
        }
    }
    let _ = writeln!(text, "/// Returns the operands that the sources of a root look for.\n#[inline]");
    let _ = writeln!(text, "pub(crate) fn sources(root: Opcode) -> &'static Sources {{");
    let _ = writeln!(text, "    static SOURCES: [Sources; Opcode::ALL.len()] = {{");
    let _ = writeln!(text, "        let mut all = [Sources::NONE; Opcode::ALL.len()];");
    for (root, sources) in roots {
        let _ = writeln!(text, "        all[{} as usize] = Sources::{sources};", opcode_name(root));
    }
    let _ = writeln!(text, "        all\n    }};\n    &SOURCES[root as usize]\n}}\n");
}

/// Candidates by the opcodes of their roots.
type Roots<'r> = BTreeMap<Opcode, Vec<Candidate<'r>>>;

fn dispatch(text: &mut String, name: &str, made: &str, roots: &Roots<'_>) {
    let _ = writeln!(text, "pub(super) fn {name}(g: &mut impl Graph, request: &InstData) -> Option<{made}> {{");
    let _ = writeln!(text, "    match request.opcode() {{");
    for opcode in roots.keys() {
        let _ = writeln!(text, "        {} => match_{}(g, request),", opcode_name(*opcode), opcode.name());
    }
    let _ = writeln!(text, "        _ => None,\n    }}\n}}\n");
}

fn match_root(text: &mut String, opcode: Opcode, made: &str, candidates: &[Candidate<'_>]) {
    let code = tree(candidates, &[]);
    let printed = print(&code, 0);
    let mut lines = Vec::new();
    let operand = match opcode.info().suffix {
        Suffix::From(index) => Some(index),
        _ => None,
    };
    if contains_word(&printed, "ty") {
        let ty =
            operand.map_or("request.controlling_type()".to_string(), |index| format!("g.ty(request.args()[{index}])"));
        lines.push(Statement::Line(format!("let ty = {ty};")));
    }
    lines.extend(with_operands("request", &Vec::new(), opcode, code));
    // If the largest functions were inlined into the dispatch, every request would save all registers.
    let _ = writeln!(text, "#[inline(never)]");
    let _ = writeln!(text, "fn match_{}(g: &mut impl Graph, request: &InstData) -> Option<{made}> {{", opcode.name());
    let _ = writeln!(text, "{}    None\n}}\n", print(&lines, 1));
}

/// Returns the FNV-1a hash, of Fowler, Noll and Vo.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |state, &byte| (state ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
