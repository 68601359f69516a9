//! The list of errors, of bounded length.

use crate::error::CheckError;

/// Largest number of errors that are reported.
pub(crate) const MAX_ERRORS: usize = 64;

#[derive(Default)]
pub(crate) struct Report {
    errors: Vec<CheckError>,
}

impl Report {
    pub(crate) fn add(&mut self, error: CheckError) {
        if !self.is_full() {
            self.errors.push(error);
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.errors.len() >= MAX_ERRORS
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// Returns the errors in the order of the code.
    pub(crate) fn finish(mut self) -> Result<(), Vec<CheckError>> {
        self.errors.sort_by_key(|error| (error.entity.inst(), error.entity, error.rule));
        if self.errors.is_empty() { Ok(()) } else { Err(self.errors) }
    }
}
