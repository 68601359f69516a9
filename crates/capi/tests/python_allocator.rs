//! The tests that every allocator must pass, on the allocator in Python of the examples.
//!
//! ```text
//! test  ──the length of a problem, and the problem──▶   python: answer_text(keep_last, problem)
//!       ◀──the length of an answer, and the answer──
//! ```
//! Without `KINGPOST_EVERY`, it solves a share of the problems, chosen by their size; `spill_all` solves the others.

use super::programs::path;
use super::python::{install, interpreter};
use kingpost::codegen::ALLOCATORS;
use kingpost::regalloc::{AllocError, Allocation, Allocator, MachineEnv, Problem, text};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Arc;
use tempfile::TempDir;

kingpost_testgen::conformance! { Python::start() }

/// Answers problems until there are no more.
const PROGRAM: &str = "
import sys
sys.path.insert(0, sys.argv[1])
import kingpost
from allocator import keep_last
questions, answers = sys.stdin.buffer, sys.stdout.buffer
for length in questions:
    text = questions.read(int(length)).decode()
    answer = kingpost.answer_text(keep_last, text).encode()
    answers.write(b'%d\\n' % len(answer) + answer)
    answers.flush()
";

/// The allocator, and one for the problems that it does not get.
struct Python {
    /// `None` without Python, which is reported.
    process: Option<Process>,
    other: Box<dyn Allocator>,
}

struct Process {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// The package is there until the process ends.
    _folder: Arc<TempDir>,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Process {
    fn start() -> Option<Process> {
        let folder = install("the tests of every allocator, in Python")?;
        let examples = path("python/examples");
        let mut command = interpreter(&folder, &["-c", PROGRAM, examples.to_str().expect("UTF-8")]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let (questions, answers) = (child.stdin.take().expect("an input"), child.stdout.take().expect("an output"));
        Some(Process { child, questions, answers: BufReader::new(answers), _folder: folder })
    }

    fn ask(&mut self, question: &str) -> std::io::Result<String> {
        write!(self.questions, "{}\n{question}", question.len())?;
        self.questions.flush()?;
        let mut length = String::new();
        self.answers.read_line(&mut length)?;
        let mut answer = vec![0; length.trim().parse().map_err(std::io::Error::other)?];
        self.answers.read_exact(&mut answer)?;
        String::from_utf8(answer).map_err(std::io::Error::other)
    }
}

/// Returns `true` for the problems of the share. Equal problems have equal results.
fn is_chosen(problem: &Problem) -> bool {
    let size = problem.num_insts() + problem.num_operands() + problem.vregs.len();
    std::env::var_os("KINGPOST_EVERY").is_some() || size < 12 || size < 5_000 && size.is_multiple_of(16)
}

impl Python {
    fn start() -> Python {
        let other = ALLOCATORS.iter().find(|(name, _)| *name == "spill_all").expect("it is there").1();
        Python { process: Process::start(), other }
    }
}

impl Allocator for Python {
    fn name(&self) -> &'static str {
        "python"
    }

    fn allocate(&mut self, problem: &Problem, env: &MachineEnv, out: &mut Allocation) -> Result<(), AllocError> {
        let Some(process) = self.process.as_mut().filter(|_| is_chosen(problem)) else {
            return self.other.allocate(problem, env, out);
        };
        let answer = process.ask(&text::question(problem, env));
        let answer = answer.map_err(|error| AllocError::Program { what: error.to_string() })?;
        *out = text::parse_answer(problem, env, &answer)?;
        Ok(())
    }
}
