//! Register allocation by texts: allocators of the caller, and allocation and checking of problems in `.ra` text.

use crate::buffer::Buffer;
use crate::config::Config;
use crate::entry::entries;
use crate::error::{Error, Failure, Status};
use crate::foreign::{Array, Lent, Out, User};
use crate::handles::Handle;
use kingpost::checker::text::check_text;
use kingpost::regalloc::{AllocError, Allocation, Allocator, MachineEnv, Problem, text};
use std::fmt::Write;
use std::sync::Arc;

/// A register allocator of the caller. `problem` is the machine and the problem as `.ra` text, which ends in a zero
/// byte; it is valid during the call. The allocator appends an allocation as text to `answer` with `kp_buffer_append`,
/// and returns 0. If an instruction needs more registers than there are, the text is `impossible i2 int`, or
/// `impossible i2 r1` for a register that two operands need. With another result than 0 the allocator gives up.
///
/// It may be called in every thread that compiles, and may use other objects of the library. It must return, without
/// `longjmp` and without an exception.
pub type Allocate =
    Option<extern "C-unwind" fn(user: User, problem: Lent, length: usize, answer: Handle<Buffer>) -> i32>;

/// Name of allocators of the caller in messages.
const NAME: &str = "callback";

struct Callback {
    function: extern "C-unwind" fn(User, Lent, usize, Handle<Buffer>) -> i32,
    user: User,
}

impl Allocator for Callback {
    fn name(&self) -> &'static str {
        NAME
    }

    fn allocate(&mut self, problem: &Problem, env: &MachineEnv, out: &mut Allocation) -> Result<(), AllocError> {
        let answer = self.ask(&text::question(problem, env)).map_err(|what| AllocError::Program { what })?;
        *out = text::parse_answer(problem, env, &answer)?;
        Ok(())
    }
}

impl Callback {
    fn ask(&self, question: &str) -> Result<String, String> {
        let question = format!("{question}\0");
        let answer = Buffer::create(Vec::new()).map_err(|failure| failure.message)?;
        let result = (self.function)(self.user, Lent::of(question.as_bytes()), question.len() - 1, answer);
        let bytes = answer.take().map_err(|failure| format!("its answer was freed: {}", failure.message))?.into_bytes();
        match result {
            0 => String::from_utf8(bytes).map_err(|_| "its answer is not UTF-8".into()),
            _ => Err(format!("it gave up with {result}: {}", String::from_utf8_lossy(&bytes))),
        }
    }
}

/// Returns the text of an argument as UTF-8.
fn utf8(bytes: &[u8]) -> Result<&str, Failure> {
    std::str::from_utf8(bytes).map_err(|_| Failure::argument("`text` is not UTF-8"))
}

entries! {
    /// Sets an allocator of the caller for modules that are created later, and turns the setting `regalloc_checker`
    /// on, so that a wrong answer is the error `KP_ERROR_ALLOCATION`. A null `allocate` removes the allocator.
    ///
    /// Ownership: `user` is passed to the allocator. It must be valid until all modules that were created with this
    /// configuration are freed.
    fn kp_config_set_allocator(config: Handle<Config>, allocate: Allocate, user: User; error) {
        config.with(|config| {
            let Some(function) = allocate else {
                config.allocator = None;
                return Ok(());
            };
            config.allocator = Some(Arc::new(move || Box::new(Callback { function, user })));
            config.check_allocations();
            Ok(())
        })
    }

    /// Solves the allocation problems of a `.ra` text with the allocator of a configuration, and stores the text with
    /// the answers. The machine is the one of the text, or otherwise the one of the configuration's target.
    ///
    /// Ownership: the caller frees the buffer with `kp_buffer_free`.
    fn kp_allocate_text(config: Handle<Config>, text: Array<'_, u8>, length: usize, answer: Out<'_, Handle<Buffer>>; error) {
        let (source, answer) = (utf8(text.get(length, "text")?)?, answer.required("answer")?);
        let compiler = config.with(|config| config.compiler())?;
        let file = text::parse(source).map_err(|error| Failure::new(Status::Text, error.to_string()))?;
        let env = file.env.as_ref().unwrap_or_else(|| compiler.isa().env());
        let (mut allocator, mut allocation) = (compiler.new_allocator(), Allocation::default());
        let mut out = env.to_string();
        for case in &file.cases {
            let problem = &case.problem;
            let fail = |status, what: String| Failure::new(status, format!("%{}: {what}", problem.name));
            if let Err(errors) = problem.verify_with(env) {
                let first = errors.first().expect("a reason");
                let (line, column) = text::line_and_column(source, case.positions.of(first.at));
                return Err(fail(Status::Invalid, first.to_string()).at(line, column));
            }
            let result = allocator.allocate(problem, env, &mut allocation);
            result.map_err(|error| fail(Status::Allocation, error.to_string()))?;
            // Writing to a string does not fail.
            let _ = write!(out, "\n{problem}{}", text::display_allocation(problem, &allocation));
        }
        answer.put(Buffer::create(out.into_bytes())?);
        Ok(())
    }

    /// Checks the allocations of a `.ra` text. Stores the number of findings, and the findings as text, one per line.
    ///
    /// Ownership: the caller frees the buffer with `kp_buffer_free`.
    fn kp_check_text(config: Handle<Config>, text: Array<'_, u8>, length: usize, findings: Out<'_, usize>, report: Out<'_, Handle<Buffer>>; error) {
        let (source, report) = (utf8(text.get(length, "text")?)?, report.required("report")?);
        let compiler = config.with(|config| config.compiler())?;
        let verdicts = check_text(source, compiler.isa().env()).map_err(|error| Failure::new(Status::Text, error))?;
        let (mut count, mut out) = (0, String::new());
        for verdict in &verdicts {
            for finding in &verdict.findings {
                count += 1;
                // Writing to a string does not fail.
                let _ = writeln!(out, "%{}: {finding}", verdict.name);
            }
        }
        findings.put(count);
        report.put(Buffer::create(out.into_bytes())?);
        Ok(())
    }
}
