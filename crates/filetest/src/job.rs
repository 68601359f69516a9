//! The input of a subtest.

use kingpost_codegen::Compiler;
use kingpost_ir::verifier::{TargetInfo, Verifier, VerifierError};
use kingpost_reader::{Position, TestFile, TestFunction};

use crate::data::{DataFault, data_objects};
use crate::known_wrong::KnownWrong;
use crate::native::Via;
use crate::report::Findings;
use crate::target::{self, NoCompiler};
use crate::unit::Unit;

/// Input of a subtest.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    /// The file's name.
    pub(crate) name: &'a str,
    pub(crate) file: &'a TestFile<'a>,
    pub(crate) unit: &'a Unit<'a>,
    /// Facts of the target for the verifier.
    pub(crate) info: Option<TargetInfo>,
    pub(crate) bless: bool,
    pub(crate) via: Via,
    /// Limit of the calls, in seconds of CPU time or millions of interpreted instructions.
    pub(crate) limit: Option<u32>,
    /// Calls to print instead of the file's directives.
    pub(crate) calls: &'a [String],
    /// Directives that must not hold.
    pub(crate) known_wrong: &'a KnownWrong,
}

impl Job<'_> {
    /// Returns `true` if all functions are valid. Otherwise records the errors as failures.
    pub(crate) fn verify(&self, findings: &mut Findings) -> bool {
        let mut verifier = Verifier::default();
        let mut valid = true;
        for function in &self.file.functions {
            if let Err(errors) = verifier.verify(&function.function, self.info) {
                errors.0.iter().for_each(|error| findings.fail(self.describe(function, error)));
                valid = false;
            }
        }
        valid
    }

    /// Returns the text of an error: file, line, column, name of the function, and message.
    pub(crate) fn describe(&self, function: &TestFunction, error: &VerifierError) -> String {
        let text = self.file.text.as_bytes();
        let range = function.source.range_of(text, error.location, &error.message);
        let position = Position::of(text, range.start);
        format!("{}:{position}: {}: {}", self.name, function.function.name, error.message)
    }

    /// Returns `true` if data directives make objects. Otherwise records the error as a failure.
    pub(crate) fn has_valid_data(&self, findings: &mut Findings) -> bool {
        let objects = data_objects(&self.file.data);
        if let Err(DataFault { start, text }) = &objects {
            let position = Position::of(self.file.text.as_bytes(), *start);
            findings.fail(format_args!("{}:{position}: {text}", self.name));
        }
        objects.is_ok()
    }

    /// Returns file, line and name of a function.
    pub(crate) fn place(&self, function: &TestFunction) -> String {
        format!("{}:{}:1: {}", self.name, function.line, function.function.name)
    }

    /// Returns the compiler of the unit. Without one, the findings have the reason.
    pub(crate) fn compiler(&self, findings: &mut Findings) -> Option<Compiler> {
        match target::compiler(&self.file.header, self.unit.target?, self.unit) {
            Ok(compiler) => Some(compiler),
            Err(NoCompiler::Skip(reason)) => {
                findings.skip(reason);
                None
            }
            Err(NoCompiler::Fail { key, text }) => {
                findings.fail(self.describe_word(&key, &text));
                None
            }
        }
    }

    /// Returns the text of an error in a word before the functions: file, line, column, and `text`.
    pub(crate) fn describe_word(&self, key: &str, text: &str) -> String {
        describe_word(self.name, self.file, key, text)
    }

    /// Checks the text that `show` returns for each function against its filecheck directives.
    pub(crate) fn check_each(&self, findings: &mut Findings, show: impl Fn(&TestFunction) -> String) {
        for function in &self.file.functions {
            self.check(function, &show(function), findings);
        }
    }

    /// Checks the text of a function against its filecheck directives.
    pub(crate) fn check(&self, function: &TestFunction, text: &str, findings: &mut Findings) {
        match crate::expect::filecheck(self.file, function, text) {
            Ok(directives) => findings.expectations += directives,
            Err(text) => findings.fail(format_args!("{}:{text}", self.name)),
        }
    }
}

/// Returns the text of an error in a word before the functions: file, line, column, and `text`.
pub(crate) fn describe_word(name: &str, file: &TestFile, key: &str, text: &str) -> String {
    format!("{name}:{}: {text}", Position::of(file.text.as_bytes(), file.header.start_of(key)))
}
