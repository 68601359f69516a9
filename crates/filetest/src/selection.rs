//! The part of a test file that belongs to the requested functions.

use kingpost_reader::TestFile;

use crate::options::Options;

/// Returns `true` if the file has a function that is to be tested.
pub(crate) fn selects(file: &TestFile, options: &Options) -> bool {
    options.functions.is_empty() || file.functions.iter().any(|test| is_wanted(test.function.name.to_string(), options))
}

fn is_wanted(name: String, options: &Options) -> bool {
    options.functions.contains(&name)
}

/// A test file, restricted to the functions that are to be tested.
pub(crate) struct Selected<'a> {
    whole: &'a TestFile<'a>,
    /// The restricted file, with all functions for subtests that call them, and without the other functions. Absent
    /// if all functions are to be tested.
    restricted: Option<[TestFile<'a>; 2]>,
}

impl<'a> Selected<'a> {
    pub(crate) fn new(file: &'a TestFile<'a>, options: &Options) -> Selected<'a> {
        let restricted = (!options.functions.is_empty()).then(|| {
            let (mut called, mut alone) = (file.clone(), file.clone());
            alone.functions.retain(|test| is_wanted(test.function.name.to_string(), options));
            for test in &mut called.functions {
                if !is_wanted(test.function.name.to_string(), options) {
                    test.comments.clear();
                }
            }
            [called, alone]
        });
        Selected { whole: file, restricted }
    }

    /// Returns the file for a subtest.
    pub(crate) fn for_subtest(&self, name: &str) -> &TestFile<'a> {
        match &self.restricted {
            None => self.whole,
            Some([called, _]) if name == "run" || name == "interpret" => called,
            Some([_, alone]) => alone,
        }
    }
}
