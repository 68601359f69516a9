//! Errors of the compiler as failures of the interface.

use crate::error::{Failure, Status};
use kingpost::codegen::CompileError;
use kingpost::codegen::module::ModuleError;
use kingpost::ir::Function;
use kingpost::jit::LoadError;
use kingpost::object::ObjectError;
use kingpost::reader::{Position, SourceMap};

impl From<kingpost::reader::Error> for Failure {
    fn from(error: kingpost::reader::Error) -> Failure {
        Failure::new(Status::Text, error.kind.to_string()).at(error.line, error.column)
    }
}

/// Returns the status of an error of the compiler.
fn status(error: &CompileError) -> Status {
    match error {
        CompileError::Invalid(_) => Status::Invalid,
        CompileError::Lower(_) => Status::Unsupported,
        CompileError::Limit { .. } | CompileError::Cancelled => Status::Limit,
        CompileError::Alloc(_) | CompileError::Rejected { .. } => Status::Allocation,
        CompileError::Unproved { .. } => Status::Unproved,
        _ => Status::Bug,
    }
}

impl From<&ModuleError> for Failure {
    fn from(error: &ModuleError) -> Failure {
        let status = match error {
            ModuleError::Compilation { error, .. } => status(error),
            ModuleError::TooLarge { .. } => Status::Limit,
            ModuleError::Unsupported { .. } => Status::Unsupported,
            _ => Status::Module,
        };
        Failure::new(status, error.to_string())
    }
}

impl From<ModuleError> for Failure {
    fn from(error: ModuleError) -> Failure {
        Failure::from(&error)
    }
}

/// Returns the failure for an error in a function that begins at an offset of a text.
pub(crate) fn in_text(source: &str, start: usize, func: &Function, error: &CompileError) -> Failure {
    let map = SourceMap::read(source.as_bytes(), start);
    let findings = error.findings();
    let first = findings.first().map(|first| map.range_of(source.as_bytes(), first.location, &first.message));
    let Position { line, column } = Position::of(source.as_bytes(), first.map_or(start, |range| range.start));
    Failure::new(status(error), format!("{}: {error}", func.name)).at(line, column)
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Failure {
        let status = if let LoadError::Memory { .. } = error { Status::System } else { Status::Link };
        Failure::new(status, error.to_string())
    }
}

impl From<ObjectError> for Failure {
    fn from(error: ObjectError) -> Failure {
        Failure::new(Status::Link, error.to_string())
    }
}
