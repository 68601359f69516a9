//! An external allocator: a program that reads an allocation problem as `.ra` text and writes an allocation.
//!
//! ```text
//! env { … } problem %f { … }   ──standard input──▶  PROGRAM  ──standard output──▶   allocation { … }
//! ```
//! It is started for each problem, by the shell. It may repeat the machine and the problem before its answer, as
//! `kingpost alloc` does. Its answer is untrusted data until the checker has accepted it.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread::Builder;

use kingpost_codegen::AllocatorFactory;
use kingpost_regalloc::{AllocError, Allocation, Allocator, MachineEnv, Problem, text};

/// The name of such an allocator in reports.
const NAME: &str = "program";

/// Returns a factory of allocators that run `program`.
pub fn factory(program: &str) -> AllocatorFactory {
    let program = program.to_string();
    Arc::new(move || Box::new(Program { command: program.clone() }))
}

struct Program {
    command: String,
}

impl Allocator for Program {
    fn name(&self) -> &'static str {
        NAME
    }

    fn allocate(&mut self, problem: &Problem, env: &MachineEnv, out: &mut Allocation) -> Result<(), AllocError> {
        let answer = self.run(&text::question(problem, env)).map_err(|what| AllocError::Program { what })?;
        *out = text::parse_answer(problem, env, &answer)?;
        Ok(())
    }
}

impl Program {
    fn run(&self, question: &str) -> Result<String, String> {
        let mut command = Command::new("sh");
        command.args(["-c", &self.command]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("cannot run `sh`: {error}"))?;
        let mut input = child.stdin.take().ok_or("it has no standard input")?;
        let output = std::thread::scope(|scope| {
            // A program may write before it has read everything, or not read it at all.
            let thread = Builder::new().spawn_scoped(scope, move || drop(input.write_all(question.as_bytes())));
            let thread = thread.map_err(|error| format!("cannot start a thread: {error}"));
            // Without the thread the program has no question, and ends.
            let output = child.wait_with_output().map_err(|error| error.to_string());
            thread.and(output)
        })?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.trim_end();
            return Err(format!("{}{}{said}", output.status, if said.is_empty() { "" } else { ": " }));
        }
        String::from_utf8(output.stdout).map_err(|_| "its answer is not UTF-8".into())
    }
}
