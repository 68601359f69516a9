//! Errors of the compilation of a function.

use crate::cache::Key;
use crate::stage::Stage;
use kingpost_checker::CheckError;
use kingpost_ir::verifier::{VerifierError, VerifierErrors};
use kingpost_ir::{AnyEntity, Function};
use kingpost_mach::{LowerError, Refusal};
use kingpost_meter::Exceeded;
use kingpost_regalloc::AllocError;
use std::fmt;

/// An error of one function. The module stays usable.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CompileError {
    /// The function breaks rules of the intermediate representation.
    Invalid(VerifierErrors),
    /// The function uses something that the target or this compiler does not support.
    Lower(Refusal),
    /// The function exceeds a limit.
    Limit {
        /// Quantity that exceeds its limit.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// [`Options::cancel`](crate::Options::cancel) was set.
    Cancelled,
    /// Compilation ended after [`Options::stop_after`](crate::Options::stop_after), as requested. This is no fault,
    /// but there is no code.
    Stopped,
    /// The register allocator gave up.
    Alloc(AllocError),
    /// The checker rejected the allocation: a bug of the allocator, caught before any code was emitted.
    Rejected {
        /// The allocator at fault.
        allocator: &'static str,
        /// Report of the checker.
        report: String,
    },
    /// The validator found no proof that the emitted code means what the function means.
    Unproved {
        /// Report of the validator.
        report: String,
    },
    /// A stage produced a result that breaks rules, so that the next stage cannot rely on it. This is a bug of the
    /// compiler, found by the setting `verify_each`.
    Broken {
        /// The stage at fault.
        stage: Stage,
        /// Every broken rule, with the entity that breaks it.
        report: String,
    },
    /// The compiled function in the cache differs from the result of compilation. Either compilation is not
    /// deterministic, or the entry is the work of another compiler with the same version.
    Cached {
        /// Key of the entry.
        key: Key,
    },
    /// A caught panic: a bug of the compiler.
    Bug {
        /// The stage that failed.
        stage: Stage,
        /// Message of the panic.
        message: String,
    },
}

impl CompileError {
    /// Returns `true` if a later version or higher limits may support the function. Returns `false` for invalid input
    /// and bugs.
    pub fn is_unsupported(&self) -> bool {
        matches!(self, CompileError::Lower(_) | CompileError::Limit { .. })
    }

    /// Returns the faults of the function, one per entity.
    pub fn findings(&self) -> Vec<VerifierError> {
        let finding = |location, message: String| VerifierError::new(location, message);
        let one = |location| vec![finding(location, self.to_string())];
        match self {
            CompileError::Broken { .. } | CompileError::Rejected { .. } => {
                let text = self.to_string();
                let (head, report) = text.split_once('\n').unwrap_or((&text, ""));
                report.lines().map(|line| finding(AnyEntity::Function, format!("{head} {line}"))).collect()
            }
            CompileError::Invalid(errors) => errors.0.clone(),
            CompileError::Lower(refusal) => one(refusal.location),
            _ => one(AnyEntity::Function),
        }
    }

    /// Returns the error with function, block and instruction, one line for each finding. `func` is the function in
    /// its state after the failed compilation.
    pub fn pretty<'a>(&'a self, func: &'a Function) -> impl fmt::Display + 'a {
        let errors = VerifierErrors(self.findings());
        fmt::from_fn(move |f| write!(f, "{}", errors.pretty(func)))
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompileError::Invalid(errors) => write!(f, "{errors}"),
            CompileError::Lower(error) => write!(f, "{error}"),
            CompileError::Limit { what, limit } => write!(f, "more than {limit} {what}"),
            CompileError::Cancelled => f.write_str("cancelled"),
            CompileError::Alloc(error) => write!(f, "register allocation failed: {error}"),
            CompileError::Rejected { allocator, report } => {
                write!(f, "the checker rejects the allocation of `{allocator}`:\n{report}")
            }
            CompileError::Unproved { report } => write!(f, "the emitted code is {report}"),
            CompileError::Cached { key } => {
                write!(f, "the cache's entry {key} differs from the result of compilation: remove the cache")
            }
            CompileError::Stopped => f.write_str("stopped as asked"),
            CompileError::Broken { stage, report } => {
                write!(f, "stage `{stage}` produced an invalid result:\n{report}")
            }
            CompileError::Bug { stage, message } => write!(f, "compiler bug in stage `{stage}`: {message}"),
        }
    }
}

impl std::error::Error for CompileError {}

impl From<VerifierErrors> for CompileError {
    fn from(errors: VerifierErrors) -> CompileError {
        CompileError::Invalid(errors)
    }
}

impl From<LowerError> for CompileError {
    fn from(error: LowerError) -> CompileError {
        Refusal::from(error).into()
    }
}

impl From<Refusal> for CompileError {
    fn from(refusal: Refusal) -> CompileError {
        match refusal.error {
            LowerError::TooLarge { what, limit } => CompileError::Limit { what, limit },
            LowerError::Cancelled => CompileError::Cancelled,
            _ => CompileError::Lower(refusal),
        }
    }
}

impl From<AllocError> for CompileError {
    fn from(error: AllocError) -> CompileError {
        match error {
            AllocError::Exceeded(exceeded) => exceeded.into(),
            error => CompileError::Alloc(error),
        }
    }
}

impl From<Exceeded> for CompileError {
    fn from(exceeded: Exceeded) -> CompileError {
        LowerError::from(exceeded).into()
    }
}

/// Returns the error for an allocation that the checker rejects.
pub(crate) fn rejected(allocator: &'static str, errors: &[CheckError]) -> CompileError {
    let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    CompileError::Rejected { allocator, report: lines.join("\n") }
}
