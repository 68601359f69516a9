//! The decision tree over the opcodes and constants of sources.
//!
//! Candidates that test one place form a group, and each candidate is in one group only, so the code is no longer
//! than the rules. Rules keep their order if it matters: a candidate joins a group before other candidates only if
//! no request matches it and one of them.

use super::super::Condition;
use super::super::ast::{ClifRule, ConditionName, Node, NodeKind};
use super::leaf::Param;
use super::names::{condition_code, opcode_name, snake_path};
use crate::ast::ExprKind;
use kingpost_ir::Opcode;
use std::collections::HashMap;
use std::fmt::Write;

/// Indices of operands, from the root.
type Path = Vec<usize>;

/// Requirement at a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Need {
    Opcode(Opcode),
    Constant,
}

/// A source that may match the request.
#[derive(Clone)]
pub(super) struct Candidate<'r> {
    name: &'r str,
    needs: Vec<(Path, Need)>,
    /// Tests that are made once the opcodes are known.
    tests: Vec<String>,
    /// Expressions for the parameters of the leaf.
    bound: HashMap<Param, String>,
    /// Destinations seen so far.
    edges: Vec<String>,
    params: &'r [Param],
}

impl<'r> Candidate<'r> {
    /// Returns the candidate for a source in one of its orders.
    pub(super) fn new(rule: &'r ClifRule, source: &Node, params: &'r [Param]) -> Candidate<'r> {
        let mut candidate = Candidate {
            name: &rule.name,
            needs: Vec::new(),
            tests: Vec::new(),
            bound: HashMap::new(),
            edges: Vec::new(),
            params,
        };
        candidate.bound.insert(Param::Request, "request".to_string());
        candidate.bound.insert(Param::Control, "ty".to_string());
        candidate.add(rule, source, &mut Vec::new());
        candidate
    }

    /// Removes and returns the root's opcode, which is known at the start of the tree.
    pub(super) fn take_root(&mut self) -> Option<Opcode> {
        let at = self.needs.iter().position(|(path, _)| path.is_empty())?;
        match self.needs.remove(at).1 {
            Need::Opcode(opcode) => Some(opcode),
            Need::Constant => None,
        }
    }

    fn bind(&mut self, param: Param, text: String) {
        match self.bound.get(&param) {
            Some(known) => self.tests.push(format!("{known} == {text}")),
            None => drop(self.bound.insert(param, text)),
        }
    }

    fn add(&mut self, rule: &ClifRule, node: &Node, path: &mut Path) {
        let value = value_at(path);
        match &node.kind {
            NodeKind::Value(name) => self.bind(Param::Value(name.clone()), value),
            NodeKind::Edge(name) => {
                if self.edges.contains(name) {
                    self.tests.push("g.has_one_destination(request)".to_string());
                }
                self.edges.push(name.clone());
            }
            NodeKind::Offset(expr) => {
                if let ExprKind::Constant(name) = &expr.kind {
                    self.bind(Param::Constant(name.clone()), "offset(g, request)".to_string());
                }
            }
            NodeKind::Constant(expr) => {
                self.needs.push((path.clone(), Need::Constant));
                self.bind(Param::Node(node.id), value);
                let constant = snake_path("c", path);
                match &expr.kind {
                    ExprKind::Constant(name) => self.bind(Param::Constant(name.clone()), constant),
                    ExprKind::Literal(value) => self.tests.push(format!("{constant}.is({value})")),
                    _ => {}
                }
            }
            NodeKind::Inst { opcode, condition, operands } => {
                self.needs.push((path.clone(), Need::Opcode(*opcode)));
                self.bind(Param::Node(node.id), value);
                if let Some(condition) = condition {
                    let is_request = path.is_empty() && !rule.is_condition;
                    let inst = if is_request { "request".to_string() } else { format!("&{}", snake_path("d", path)) };
                    self.condition(rule, *opcode, condition, &inst);
                }
                for (index, operand) in operands.iter().enumerate() {
                    path.push(index);
                    self.add(rule, operand, path);
                    path.pop();
                }
            }
        }
    }

    fn condition(&mut self, rule: &ClifRule, opcode: Opcode, condition: &ConditionName, inst: &str) {
        let all = Condition::all_of(opcode);
        let text =
            if opcode == Opcode::Fcmp { format!("float_condition({inst})") } else { format!("condition({inst})") };
        match condition {
            ConditionName::Fixed(condition) => self.tests.push(format!("{text} == {}", condition_code(*condition))),
            ConditionName::Named { name, inverse, swapped } => {
                let inverse = if *inverse { ".inverse()" } else { "" };
                let swapped = if *swapped { ".swap_args()" } else { "" };
                let text = format!("{text}{inverse}{swapped}");
                let choices =
                    rule.conditions().into_iter().find(|(known, _)| known == name).map(|(_, choices)| choices);
                let choices = choices.unwrap_or_default();
                if choices.len() < all.len() {
                    let choices: Vec<String> = choices.into_iter().map(condition_code).collect();
                    self.tests.push(format!("matches!({text}, {})", choices.join(" | ")));
                }
                self.bind(Param::Condition(name.clone()), text);
            }
        }
    }

    /// Returns the needs that can be tested: the opcodes above them are known.
    fn open(&self) -> impl DoubleEndedIterator<Item = &(Path, Need)> {
        let is_open =
            |path: &Path| self.needs.iter().all(|(other, _)| other.len() >= path.len() || !path.starts_with(other));
        self.needs.iter().filter(move |(path, _)| is_open(path))
    }

    fn needs_at(&self, path: &Path, is_constant: bool) -> Option<Need> {
        let same = |need: Need| (need == Need::Constant) == is_constant;
        self.needs.iter().find(|(other, need)| other == path && same(*need)).map(|(_, need)| *need)
    }

    /// Returns `true` if no request matches both candidates.
    fn excludes(&self, other: &Candidate<'_>) -> bool {
        let differ = |path: &Path, need: Need| {
            let others = other.needs.iter().filter(|(at, _)| at == path).map(|(_, need)| *need);
            others.into_iter().any(|other| match (need, other) {
                (Need::Opcode(a), Need::Opcode(b)) => a != b,
                (Need::Opcode(opcode), Need::Constant) | (Need::Constant, Need::Opcode(opcode)) => {
                    !may_be_constant(opcode)
                }
                (Need::Constant, Need::Constant) => false,
            })
        };
        self.needs.iter().any(|(path, need)| differ(path, *need))
    }

    fn without(&self, path: &Path, is_constant: bool) -> Candidate<'r> {
        let mut other = self.clone();
        other.needs.retain(|(at, need)| at != path || (*need == Need::Constant) != is_constant);
        other
    }

    fn attempt(&self) -> Statement {
        let args: Vec<&str> = self.params.iter().map(|param| self.bound[param].as_str()).collect();
        let call = format!("let Some(value) = {}(g, {})", self.name, args.join(", ")).replace(", )", ")");
        let mut tests = self.tests.clone();
        tests.push(call);
        Statement::If(tests, vec![Statement::Line("return Some(value);".to_string())], Vec::new())
    }
}

/// Returns the variable for the value at a path.
fn value_at(path: &Path) -> String {
    if path.is_empty() { "value".to_string() } else { snake_path("a", path) }
}

/// A statement of the generated code, with its blocks.
#[derive(Clone)]
pub(super) enum Statement {
    Line(String),
    /// Conditions joined by `&&`, the statements if all hold, and the statements otherwise.
    If(Vec<String>, Vec<Statement>, Vec<Statement>),
    /// An expression, and the statements for each of its values.
    Match(String, Vec<(String, Vec<Statement>)>),
}

/// Generates code that tries candidates in their order. The variables in `defined` already hold instructions.
pub(super) fn tree(candidates: &[Candidate<'_>], defined: &[String]) -> Vec<Statement> {
    let mut code = Vec::new();
    let mut defined = defined.to_vec();
    let mut rest = candidates.to_vec();
    while let Some(first) = rest.first() {
        // Constants are tested before opcodes, then the place that most candidates test.
        let size = |need: &&(Path, Need)| (need.1 == Need::Constant, group(&rest, &need.0, need.1).0.len());
        let open: Vec<(Path, Need)> = first.open().rev().max_by_key(size).into_iter().cloned().collect();
        let Some((path, need)) = open.first() else {
            code.push(rest.remove(0).attempt());
            continue;
        };
        let (members, others) = group(&rest, path, *need);
        if *need == Need::Constant {
            let kept: Vec<Candidate<'_>> = members.iter().map(|member| member.without(path, true)).collect();
            let test = format!("let Some({}) = constant(g, {})", snake_path("c", path), value_at(path));
            code.push(Statement::If(vec![test], tree(&kept, &defined), Vec::new()));
        } else {
            let inst = snake_path("d", path);
            if !defined.contains(&inst) {
                code.push(Statement::Line(format!("let {inst} = definition(g, {});", value_at(path))));
                defined.push(inst);
            }
            code.push(by_opcode(&members, path, &defined));
        }
        rest = others;
    }
    code
}

/// Splits candidates into those with a need of this kind at a path that can be tried first, and all other ones.
fn group<'r>(rest: &[Candidate<'r>], path: &Path, need: Need) -> (Vec<Candidate<'r>>, Vec<Candidate<'r>>) {
    let (mut members, mut others): (Vec<Candidate<'_>>, Vec<Candidate<'_>>) = Default::default();
    for candidate in rest {
        let tests_constant = candidate.needs_at(path, need == Need::Constant).is_some();
        let list = if tests_constant && others.iter().all(|other| candidate.excludes(other)) {
            &mut members
        } else {
            &mut others
        };
        list.push(candidate.clone());
    }
    (members, others)
}

/// Returns `true` if instructions of the opcode may be constants, besides `iconst`.
fn may_be_constant(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::Splat | Opcode::Uextend | Opcode::Sextend | Opcode::Iconcat)
}

fn by_opcode(members: &[Candidate<'_>], path: &Path, defined: &[String]) -> Statement {
    let mut opcodes: Vec<Opcode> = Vec::new();
    for member in members {
        if let Some(Need::Opcode(opcode)) = member.needs_at(path, false)
            && !opcodes.contains(&opcode)
        {
            opcodes.push(opcode);
        }
    }
    let inst = snake_path("d", path);
    let branch = |opcode: Opcode| {
        let fits = |member: &&Candidate<'_>| member.needs_at(path, false) == Some(Need::Opcode(opcode));
        let kept: Vec<Candidate<'_>> = members.iter().filter(fits).map(|member| member.without(path, false)).collect();
        with_operands(&inst, path, opcode, tree(&kept, defined))
    };
    if let [opcode] = opcodes[..] {
        let test = format!("{inst}.opcode() == {}", opcode_name(opcode));
        return Statement::If(vec![test], branch(opcode), Vec::new());
    }
    let mut arms: Vec<(String, Vec<Statement>)> =
        opcodes.into_iter().map(|opcode| (opcode_name(opcode), branch(opcode))).collect();
    arms.push(("_".to_string(), Vec::new()));
    Statement::Match(format!("{inst}.opcode()"), arms)
}

/// Adds a line that names the operands of an instruction, if the code uses them.
pub(super) fn with_operands(inst: &str, path: &Path, opcode: Opcode, code: Vec<Statement>) -> Vec<Statement> {
    let text = print(&code, 0);
    let names: Vec<String> = (0..opcode.info().operands.len())
        .map(|index| {
            let name = snake_path("a", &[path.as_slice(), &[index]].concat());
            if contains_word(&text, &name) { name } else { "_".to_string() }
        })
        .collect();
    if names.iter().all(|name| name == "_") {
        return code;
    }
    let line = format!("let &[{}] = {inst}.args() else {{ return None }};", names.join(", "));
    std::iter::once(Statement::Line(line)).chain(code).collect()
}

pub(super) fn contains_word(text: &str, word: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_word) && !text[at + word.len()..].starts_with(is_word))
}

/// Returns code as indented text.
pub(super) fn print(code: &[Statement], depth: usize) -> String {
    let mut text = String::new();
    let indent = "    ".repeat(depth);
    for statement in code {
        match statement {
            Statement::Line(line) => {
                let _ = writeln!(text, "{indent}{line}");
            }
            Statement::If(..) => {
                let _ = writeln!(text, "{indent}{}", print_if(statement, depth));
            }
            Statement::Match(subject, arms) => {
                let _ = writeln!(text, "{indent}match {subject} {{");
                for (pattern, code) in arms {
                    let body = print(code, depth + 2);
                    let body = if body.is_empty() { "{}".to_string() } else { format!("{{\n{body}{indent}    }}") };
                    let _ = writeln!(text, "{indent}    {pattern} => {body}");
                }
                let _ = writeln!(text, "{indent}}}");
            }
        }
    }
    text
}

fn print_if(statement: &Statement, depth: usize) -> String {
    let Statement::If(tests, then, otherwise) = statement else { return String::new() };
    if otherwise.is_empty()
        && let [Statement::If(inner_tests, inner, none)] = &then[..]
        && none.is_empty()
    {
        let tests = tests.iter().chain(inner_tests).cloned().collect();
        return print_if(&Statement::If(tests, inner.clone(), Vec::new()), depth);
    }
    let indent = "    ".repeat(depth);
    let mut text = format!("if {} {{\n{}{indent}}}", tests.join(" && "), print(then, depth + 1));
    match &otherwise[..] {
        [] => {}
        [other @ Statement::If(..)] => {
            let _ = write!(text, " else {}", print_if(other, depth));
        }
        others => {
            let _ = write!(text, " else {{\n{}{indent}}}", print(others, depth + 1));
        }
    }
    text
}
