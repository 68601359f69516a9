//! The meanings of all forms as text, for judges that are written in another language: `lifters/` beside the tests.
//!
//! ```text
//! form x86_64 268435456 4801f8 add rax, rdi       machine, address, bytes, assembly
//! var r0 64                                       a variable of 64 bits; `bool` is a boolean
//! let t9 64 (bvadd r0 r7)                         a definition in SMT-LIB
//! result r0 t9                                    the content of a register, a flag or `pc` after the form
//! end
//! ```
//!
//! Effects come in order, between the definitions that they need and the ones that need them: `load load0 t9 8` reads
//! 8 bytes at an address, `store t9 t12 8` writes them (both with
//! `aligned` at the end if they fault at an address that is no multiple of the size), `fault t13` faults if a condition holds. `open open0 64`
//! declares a value that the manual leaves open. Operations on floats are functions without meaning, such as `fp.Add.64`.

use crate::a64;
#[cfg(target_arch = "x86_64")]
use crate::x64;
use kingpost_machine_semantics::a64::Instruction as A64;
use kingpost_machine_semantics::x64::Instruction as X64;
use kingpost_machine_semantics::{Access, At, Flow, State, Undecoded, World};
use kingpost_smt::{Node, Op, Sort, Term, Terms, Value};
use std::fmt::Write;

/// The bytes of a form, and where they are.
pub(crate) struct Form {
    /// Name of the machine.
    pub(crate) machine: &'static str,
    pub(crate) text: String,
    pub(crate) address: u64,
    pub(crate) bytes: Vec<u8>,
}

/// An effect of a form, in order.
enum Event {
    Load(Access, Term),
    Store(Access, Term),
    Fault(Term),
}

/// A world that records effects. Its terms are not simplified.
struct Recorder {
    terms: Terms,
    events: Vec<Event>,
    /// Number of values that the manual leaves open.
    open: usize,
}

impl World for Recorder {
    fn terms(&mut self) -> &mut Terms {
        &mut self.terms
    }

    fn load(&mut self, access: Access) -> Term {
        let value = self.terms.var(&format!("load{}", self.events.len()), Sort::Bits(8 * u32::from(access.bytes)));
        self.events.push(Event::Load(access, value));
        value
    }

    fn store(&mut self, access: Access, value: Term) {
        self.events.push(Event::Store(access, value));
    }

    fn fault(&mut self, condition: Term) {
        self.events.push(Event::Fault(condition));
    }

    fn fence(&mut self) {}

    fn unspecified(&mut self, sort: Sort) -> Term {
        self.open += 1;
        self.terms.var(&format!("open{}", self.open - 1), sort)
    }
}

/// Registers and flags of a machine: how many there are of each.
struct Counts {
    general: usize,
    vector: usize,
    flags: usize,
}

impl Counts {
    fn of(machine: &str) -> Counts {
        match machine {
            "x86_64" => Counts { general: 16, vector: 16, flags: 5 },
            _ => Counts { general: 32, vector: 32, flags: 4 },
        }
    }

    /// Returns the places of a state, with the names of the variables that are in them before a form, and their terms.
    fn places(&self, recorder: &mut Recorder, state: &State) -> Vec<(String, Term)> {
        let general = (0..self.general).map(|number| (format!("r{number}"), state.general[number]));
        let vector = (0..self.vector).flat_map(|number| {
            let [low, high] = state.vector[number];
            [(format!("v{number}"), low), (format!("h{number}"), high)]
        });
        let mut places: Vec<(String, Term)> = general.chain(vector).collect();
        places.extend((0..self.flags).map(|number| (format!("f{number}"), state.flag(recorder, number))));
        places
    }
}

/// Executes the instruction at the beginning of `bytes`. Returns its length.
fn step(
    machine: &str,
    recorder: &mut Recorder,
    bytes: &[u8],
    at: At,
    state: &mut State,
) -> Result<(usize, Flow), Undecoded> {
    use kingpost_machine_semantics::{a64, x64};
    if machine == "x86_64" {
        let (instruction, length): (X64, usize) = x64::decode(bytes)?;
        return Ok((length, x64::step(recorder, &instruction, length, at, state)));
    }
    let (instruction, length): (A64, usize) = a64::decode(bytes)?;
    Ok((length, a64::step(recorder, &instruction, at, state)))
}

/// Returns the address at which the processor continues.
fn address_after(terms: &mut Terms, form: &Form, flow: Flow) -> Term {
    let at = |terms: &mut Terms, offset: i64| terms.number(64, form.address.wrapping_add_signed(offset).into());
    let next = at(terms, form.bytes.len() as i64);
    match flow {
        Flow::Next => next,
        Flow::Jump(target) => at(terms, target),
        Flow::Branch { condition, target } => {
            let target = at(terms, target);
            terms.ite(condition, target, next)
        }
        Flow::Indirect(target) | Flow::Call(target) | Flow::Return(target) => target,
        Flow::Trap => panic!("`{}` traps", form.text),
    }
}

/// Writes the meaning of a form.
fn write(out: &mut String, form: &Form) {
    let mut recorder = Recorder { terms: Terms::raw(), events: Vec::new(), open: 0 };
    let mut state = State::variables(&mut recorder.terms, "");
    let counts = Counts::of(form.machine);
    let before = counts.places(&mut recorder, &state);
    let base = recorder.terms.number(64, form.address.into());
    let (mut offset, mut flow) = (0, Flow::Next);
    while offset < form.bytes.len() {
        let at = At { base, offset: offset as u64, symbol: None };
        let stepped = step(form.machine, &mut recorder, &form.bytes[offset..], at, &mut state);
        let (length, then) = stepped.unwrap_or_else(|error| panic!("`{}`: {error}", form.text));
        (offset, flow) = (offset + length, then);
    }
    let after = counts.places(&mut recorder, &state);
    let pairs = before.into_iter().zip(after);
    let mut results: Vec<(String, Term)> = pairs.filter(|(old, new)| old != new).map(|(_, new)| new).collect();
    results.push(("pc".to_string(), address_after(&mut recorder.terms, form, flow)));
    let bytes: String = form.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    writeln!(out, "form {} {} {bytes} {}", form.machine, form.address, form.text).unwrap();
    Text { out, terms: &recorder.terms }.meaning(&recorder.events, &results);
}

/// The text of a meaning.
struct Text<'a> {
    out: &'a mut String,
    terms: &'a Terms,
}

impl Text<'_> {
    fn line(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn meaning(&mut self, events: &[Event], results: &[(String, Term)]) {
        let operands = |event: &Event| match event {
            Event::Load(access, value) | Event::Store(access, value) => vec![access.address, *value],
            Event::Fault(condition) => vec![*condition],
        };
        let mut roots: Vec<Term> = events.iter().flat_map(operands).collect();
        roots.extend(results.iter().map(|(_, term)| *term));
        let mut left = events.iter();
        for term in self.terms.cone(&roots) {
            if self.terms.name(term).is_some_and(|name| name.starts_with("load")) {
                // The variable is younger than all that the load and the effects before it need.
                let is_load = |event: &&Event| matches!(event, Event::Load(_, value) if *value == term);
                for event in left.by_ref() {
                    self.event(event);
                    if is_load(&event) {
                        break;
                    }
                }
            } else {
                self.definition(term);
            }
        }
        left.for_each(|event| self.event(event));
        for (place, term) in results {
            self.line(&format!("result {place} {}", name(self.terms, *term)));
        }
        self.line("end");
    }

    fn event(&mut self, event: &Event) {
        let text = match event {
            Event::Load(access, value) => {
                format!("load {} {}", name(self.terms, *value), self.access(access, None))
            }
            Event::Store(access, value) => {
                format!("store {}", self.access(access, Some(*value)))
            }
            Event::Fault(condition) => format!("fault {}", name(self.terms, *condition)),
        };
        self.line(&text);
    }

    /// Returns the address of an access, the value that it stores, its size, and whether it must be aligned.
    fn access(&self, access: &Access, value: Option<Term>) -> String {
        let value = value.map_or(String::new(), |value| format!(" {}", name(self.terms, value)));
        let aligned = if access.aligned { " aligned" } else { "" };
        format!("{}{value} {}{aligned}", name(self.terms, access.address), access.bytes)
    }

    /// Writes the line of a variable or of an operation.
    fn definition(&mut self, term: Term) {
        let sort = match self.terms.sort(term) {
            Sort::Bool => "bool".to_string(),
            Sort::Bits(width) => width.to_string(),
        };
        match (self.terms.node(term), self.terms.name(term)) {
            (_, Some(variable)) => {
                let kind = if variable.starts_with("open") { "open" } else { "var" };
                self.line(&format!("{kind} {variable} {sort}"));
            }
            (Node::Unary(op, _) | Node::Binary(op, ..) | Node::Ternary(op, ..), _) => {
                let operands: Vec<Term> = self.terms.node(term).operands().collect();
                let function = function(self.terms, op, operands[0], term);
                let operands: String =
                    operands.into_iter().map(|part| format!(" {}", name(self.terms, part))).collect();
                self.line(&format!("let {} {sort} ({function}{operands})", name(self.terms, term)));
            }
            _ => {}
        }
    }
}

/// Returns the name of a term in the text, or the constant that it is.
fn name(terms: &Terms, term: Term) -> String {
    match (terms.node(term), terms.name(term)) {
        (_, Some(variable)) => variable.to_string(),
        (Node::Const(Value::Bool(value)), _) => value.to_string(),
        (Node::Const(Value::Bits(bits)), _) => format!("(_ bv{} {})", bits.unsigned(), bits.width()),
        // A term's debug text ends with its number.
        _ => format!("{term:?}")
            .chars()
            .filter(char::is_ascii_digit)
            .fold("t".to_string(), |name, c| name + &c.to_string()),
    }
}

/// Returns the SMT-LIB name of an operation.
fn function(terms: &Terms, op: Op, operand: Term, result: Term) -> String {
    let widened = || terms.width(result) - terms.width(operand);
    let symbol = match op {
        Op::Extract { low } => return format!("(_ extract {} {low})", low + terms.width(result) - 1),
        Op::ZeroExtend => return format!("(_ zero_extend {})", widened()),
        Op::SignExtend => return format!("(_ sign_extend {})", widened()),
        Op::Float(float) => return format!("fp.{float:?}.{}.{}", terms.width(operand), terms.width(result)),
        Op::Not => "not",
        Op::And => "and",
        Op::Or => "or",
        Op::Eq => "=",
        Op::Ite => "ite",
        Op::Ult => "bvult",
        Op::Ule => "bvule",
        Op::Slt => "bvslt",
        Op::Sle => "bvsle",
        Op::Add => "bvadd",
        Op::Mul => "bvmul",
        Op::Neg => "bvneg",
        Op::Udiv => "bvudiv",
        Op::Urem => "bvurem",
        Op::Sdiv => "bvsdiv",
        Op::Srem => "bvsrem",
        Op::Shl => "bvshl",
        Op::Lshr => "bvlshr",
        Op::Ashr => "bvashr",
        Op::BitNot => "bvnot",
        Op::BitAnd => "bvand",
        Op::BitOr => "bvor",
        Op::BitXor => "bvxor",
        Op::Concat => "concat",
    };
    symbol.to_string()
}

/// Returns all forms of both machines.
fn all() -> Vec<Form> {
    let mut forms = a64::all_forms("all_meanings_are_written");
    #[cfg(target_arch = "x86_64")]
    forms.extend(x64::all_forms());
    forms
}

/// Writes the file that `KINGPOST_MEANINGS` names, if it names one.
#[test]
fn all_meanings_are_written() {
    let forms = all();
    let mut text = String::new();
    forms.iter().for_each(|form| write(&mut text, form));
    assert_eq!(text.matches("\nend\n").count(), forms.len());
    if let Some(path) = std::env::var_os("KINGPOST_MEANINGS") {
        std::fs::write(path, text).unwrap();
    }
    println!("{} meanings", forms.len());
}

#[test]
fn the_meaning_of_an_addition() {
    let bytes = vec![0x01, 0xf8];
    let mut text = String::new();
    write(&mut text, &Form { machine: "x86_64", text: "add eax, edi".to_string(), address: 4096, bytes });
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "form x86_64 4096 01f8 add eax, edi");
    assert!(lines.iter().any(|line| line.contains("64 ((_ zero_extend 32) t")), "{text}");
    assert!(lines.contains(&"result pc (_ bv4098 64)"), "{text}");
    for place in ["r0", "f0", "f1", "f2", "f3", "f4"] {
        assert!(text.contains(&format!("\nresult {place} t")), "{place} changes:\n{text}");
    }
}
