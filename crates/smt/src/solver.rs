//! Solvers as long-lived processes that read SMT-LIB text from a pipe.
//!
//! Between queries a solver receives `(reset)`. For z3 this is faster than `(push)` and `(pop)`, which would select
//! its incremental engine. Limits are processor time of the solver, so that an answer does not depend on the load
//! of the machine. A solver that exceeds its limit is terminated, and started again for the next query.

use crate::evaluate::Model;
use crate::reply;
use crate::script::{Name, Query};
use crate::term::Terms;
use std::fmt::{self, Write as _};
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Interval between checks of the processor time of a solver that has not answered.
const POLL: Duration = Duration::from_millis(10);
/// Ticks of processor time in a second, as `/proc` counts them on every Linux.
const TICKS: u64 = 100;

/// A solver program and its mode.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Backend {
    /// Z3.
    Z3,
    /// cvc5.
    Cvc5,
    /// cvc5 with translation of bit-vectors to integers, which decides products and quotients that bits do not.
    Cvc5Integers,
}

impl Backend {
    /// Returns the name of the program.
    pub fn program(self) -> &'static str {
        match self {
            Backend::Z3 => "z3",
            Backend::Cvc5 | Backend::Cvc5Integers => "cvc5",
        }
    }

    /// Returns `true` if the program can be started.
    pub fn is_installed(self) -> bool {
        let mut command = Command::new(self.program());
        command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    fn arguments(self) -> &'static [&'static str] {
        match self {
            Backend::Z3 => &["-in", "-smt2"],
            Backend::Cvc5 => &["--lang=smt2", "--incremental", "--produce-models"],
            Backend::Cvc5Integers => &["--lang=smt2", "--incremental", "--produce-models", "--solve-bv-as-int=sum"],
        }
    }

    /// Returns the commands that reset the solver and set the logic of the next query.
    fn preamble(quantified: bool, floats: bool) -> &'static str {
        match (quantified, floats) {
            (true, _) => "(reset)\n(set-logic BV)\n",
            (false, false) => "(reset)\n(set-logic QF_BV)\n",
            (false, true) => "(reset)\n(set-logic QF_BVFP)\n",
        }
    }
}

/// Answer of a solver to a query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// A model exists; this is one.
    Sat(Model),
    /// No model exists.
    Unsat,
    /// The solver gave up, or ran out of time.
    Unknown,
}

/// Reason why a query has no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum SolverError {
    /// The program cannot be started.
    Start(Backend, io::Error),
    /// The program ended or closed its pipes.
    Closed(Backend),
    /// The program's answer does not follow the protocol.
    Reply(Backend, String),
}

impl fmt::Display for SolverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SolverError::Start(backend, error) => write!(f, "{} cannot be started: {error}", backend.program()),
            SolverError::Closed(backend) => write!(f, "{} ended unexpectedly", backend.program()),
            SolverError::Reply(backend, text) => write!(f, "{} answered: {text}", backend.program()),
        }
    }
}

impl std::error::Error for SolverError {}

/// A solver; its process starts with the first query.
#[derive(Debug)]
pub struct Solver {
    backend: Backend,
    process: Option<Process>,
    used: Duration,
}

#[derive(Debug)]
struct Process {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    start: Instant,
}

impl Solver {
    /// Creates a solver that has not been started.
    pub fn new(backend: Backend) -> Solver {
        Solver { backend, process: None, used: Duration::ZERO }
    }

    /// Returns the processor time that all queries have used.
    pub fn used(&self) -> Duration {
        self.used
    }

    /// Decides a query within a limit of processor time.
    ///
    /// # Errors
    /// If the program cannot be started or does not follow the protocol. A timeout is [`Answer::Unknown`].
    pub fn check(&mut self, terms: &Terms, query: &Query, limit: Duration) -> Result<Answer, SolverError> {
        let mut process = match self.process.take() {
            Some(process) => process,
            None => Process::start(self.backend)?,
        };
        let before = process.processor_time();
        let answer = process.decide(terms, query, before + limit);
        self.used += process.processor_time().saturating_sub(before);
        match answer {
            Ok(answer) => {
                self.process = Some(process);
                Ok(answer)
            }
            Err(Failure::Late) => Ok(Answer::Unknown),
            Err(Failure::Closed) => Err(SolverError::Closed(self.backend)),
            Err(Failure::Reply(text)) => Err(SolverError::Reply(self.backend, text)),
        }
    }
}

/// Reason why a process does not answer.
enum Failure {
    Late,
    Closed,
    Reply(String),
}

impl Process {
    fn start(backend: Backend) -> Result<Process, SolverError> {
        let mut command = Command::new(backend.program());
        command.args(backend.arguments()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| SolverError::Start(backend, error))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(SolverError::Closed(backend));
        };
        let (send, lines) = channel();
        // Ends when the pipe or the receiver is closed, at the latest when this process is dropped.
        let read = move || {
            for line in BufReader::new(output).lines() {
                let Ok(line) = line else { break };
                if send.send(line).is_err() {
                    break;
                }
            }
        };
        std::thread::Builder::new().spawn(read).map_err(|error| SolverError::Start(backend, error))?;
        Ok(Process { child, input, lines, start: Instant::now() })
    }

    /// Sends a query, and reads the answer.
    fn decide(&mut self, terms: &Terms, query: &Query, limit: Duration) -> Result<Answer, Failure> {
        let mut text = Backend::preamble(!query.universal.is_empty(), query.has_floats(terms)).to_string();
        text.push_str(&query.script(terms));
        text.push_str("(check-sat)\n");
        let line = self.ask(&text, limit)?;
        match line.as_str() {
            "unsat" => Ok(Answer::Unsat),
            "unknown" => Ok(Answer::Unknown),
            "sat" => Ok(Answer::Sat(self.model(terms, query, limit)?)),
            _ => Err(Failure::Reply(line)),
        }
    }

    /// Returns the processor time that the solver has used, or the time since it was started if the system does not
    /// report that.
    fn processor_time(&self) -> Duration {
        let Ok(text) = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())) else {
            return self.start.elapsed();
        };
        // The program's name may contain anything, so the fields are counted after its closing parenthesis
        // (proc(5)).
        let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
        Duration::from_millis((ticks(11) + ticks(12)) * 1000 / TICKS)
    }

    /// Sends commands and returns the first line of the reply.
    fn ask(&mut self, text: &str, limit: Duration) -> Result<String, Failure> {
        self.input.write_all(text.as_bytes()).and_then(|()| self.input.flush()).map_err(|_| Failure::Closed)?;
        loop {
            let line = self.line(limit)?;
            let line = line.trim();
            if !line.is_empty() {
                return Ok(line.to_string());
            }
        }
    }

    fn line(&mut self, limit: Duration) -> Result<String, Failure> {
        loop {
            match self.lines.recv_timeout(POLL) {
                Ok(line) => return Ok(line),
                Err(RecvTimeoutError::Disconnected) => return Err(Failure::Closed),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.processor_time() >= limit {
                return Err(Failure::Late);
            }
        }
    }

    fn model(&mut self, terms: &Terms, query: &Query, limit: Duration) -> Result<Model, Failure> {
        let variables = query.free_variables(terms);
        let mut model = Model::default();
        if variables.is_empty() {
            return Ok(model);
        }
        let mut text = "(get-value (".to_string();
        for &variable in &variables {
            let _ = write!(text, "{} ", Name(variable));
        }
        text.push_str("))\n");
        let mut reply = self.ask(&text, limit)?;
        while reply.matches('(').count() > reply.matches(')').count() {
            reply.push('\n');
            reply.push_str(&self.line(limit)?);
        }
        let values = reply::values(&reply).filter(|values| values.len() == variables.len());
        for (&variable, value) in variables.iter().zip(values.ok_or(Failure::Reply(reply))?) {
            model.set(terms.name(variable).unwrap_or_default(), value);
        }
        Ok(model)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // An error means that the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{Bits, Sort, Value};
    use crate::evaluate::Evaluator;
    use crate::float_op::FloatOp;

    fn each_installed(mut run: impl FnMut(Solver)) {
        for backend in [Backend::Z3, Backend::Cvc5, Backend::Cvc5Integers] {
            if backend.is_installed() {
                run(Solver::new(backend));
            } else {
                assert!(std::env::var_os("CI").is_none(), "{} is missing", backend.program());
                eprintln!("SKIPPED: {} is not installed", backend.program());
            }
        }
    }

    #[test]
    fn models_satisfy_and_processes_are_used_again() {
        each_installed(|mut solver| {
            let mut terms = Terms::new();
            // One of the solvers needs many seconds for eight bits.
            let x = terms.var("x", Sort::Bits(6));
            let square = terms.mul(x, x);
            let value = terms.number(6, 0x31);
            let equal = terms.eq(square, value);
            let limit = Duration::from_secs(20);
            for _ in 0..3 {
                let Ok(Answer::Sat(model)) = solver.check(&terms, &Query::new(equal), limit) else { panic!("sat") };
                assert!(Evaluator::new(&terms, &[equal], &model).value(equal).is_true());
                let value = terms.number(6, 3);
                let never = terms.eq(square, value);
                assert_eq!(solver.check(&terms, &Query::new(never), limit).unwrap(), Answer::Unsat);
            }
        });
    }

    #[test]
    fn floats_are_bits() {
        each_installed(|mut solver| {
            if solver.backend == Backend::Cvc5Integers {
                return;
            }
            let mut terms = Terms::new();
            let x = terms.var("x", Sort::Bits(32));
            let double = terms.float(FloatOp::Add, &[x, x], 32);
            let limit = Duration::from_secs(20);
            for (result, expected) in [(3.0_f32, Some(1.5_f32)), (f32::from_bits(1), None)] {
                let result = terms.number(32, result.to_bits().into());
                let equal = terms.eq(double, result);
                match (solver.check(&terms, &Query::new(equal), limit).unwrap(), expected) {
                    (Answer::Sat(model), Some(expected)) => {
                        assert_eq!(model.get("x"), Some(Value::Bits(Bits::new(32, expected.to_bits().into()))));
                        assert!(Evaluator::new(&terms, &[equal], &model).value(equal).is_true());
                    }
                    (answer, expected) => assert_eq!((answer, expected), (Answer::Unsat, None)),
                }
            }
        });
    }

    #[test]
    fn quantifiers_bind_what_they_name() {
        each_installed(|mut solver| {
            if solver.backend == Backend::Cvc5Integers {
                return;
            }
            let mut terms = Terms::new();
            let [x, y] = ["x", "y"].map(|name| terms.var(name, Sort::Bits(4)));
            let both = terms.bit_and(x, y);
            let zero = terms.number(4, 0);
            let equal = terms.eq(both, zero);
            let query = Query { assertion: equal, universal: vec![y] };
            let Ok(Answer::Sat(model)) = solver.check(&terms, &query, Duration::from_secs(20)) else { panic!("sat") };
            assert_eq!(model.get("x"), Some(Value::zero(Sort::Bits(4))));
        });
    }

    #[test]
    fn a_late_solver_is_ended() {
        each_installed(|mut solver| {
            let mut terms = Terms::new();
            let [x, y] = ["x", "y"].map(|name| terms.var(name, Sort::Bits(64)));
            let quotient = terms.udiv(x, y);
            let product = terms.mul(quotient, y);
            let rest = terms.urem(x, y);
            let sum = terms.add(product, rest);
            let differs = terms.ne(sum, x);
            let limit = Duration::from_millis(200);
            let answer = solver.check(&terms, &Query::new(differs), limit).unwrap();
            assert!(answer != Answer::Sat(Model::default()) && solver.used() < Duration::from_secs(60));
            let yes = terms.bool(true);
            let answer = solver.check(&terms, &Query::new(yes), Duration::from_secs(20)).unwrap();
            assert_eq!(answer, Answer::Sat(Model::default()));
        });
    }
}
