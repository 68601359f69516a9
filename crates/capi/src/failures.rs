//! Errors of the compiler as failures of the interface.

use crate::error::{Failure, Status};
use kingpost::codegen::CompileError;
use kingpost::codegen::module::ModuleError;
use kingpost::jit::LoadError;
use kingpost::object::ObjectError;

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
