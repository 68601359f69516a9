//! The table of subtests, and what each of them works on.

mod cat;
mod compile;
mod domtree;
mod interpret;
mod print_cfg;
mod run;
mod verifier;

use kingpost_codegen::Compiler;
pub use print_cfg::cfg_text;

use kingpost_ir::verifier::{TargetInfo, Verifier};
use kingpost_reader::{TestFile, TestFunction};

use crate::native::Via;
use crate::plan::{Unit, What};
use crate::report::Findings;
use crate::target::{self, NoCompiler};

/// A `test` command.
#[derive(Debug)]
pub(crate) struct Subtest {
    pub(crate) name: &'static str,
    pub(crate) needs_target: bool,
    /// Whether all functions must be valid before it runs.
    pub(crate) needs_verifier: bool,
    pub(crate) run: fn(&Job, &mut Findings),
}

/// In the order in which they run: first those that do not need the verifier.
static SUBTESTS: &[Subtest] = &[
    Subtest { name: "cat", needs_target: false, needs_verifier: false, run: cat::run },
    Subtest { name: "print-cfg", needs_target: false, needs_verifier: false, run: print_cfg::run },
    Subtest { name: "verifier", needs_target: false, needs_verifier: false, run: verifier::run },
    Subtest { name: "safepoint", needs_target: false, needs_verifier: true, run: cat::run },
    Subtest { name: "domtree", needs_target: false, needs_verifier: true, run: domtree::run },
    Subtest { name: "interpret", needs_target: false, needs_verifier: true, run: interpret::run },
    Subtest { name: "compile", needs_target: true, needs_verifier: true, run: compile::run },
    Subtest { name: "run", needs_target: true, needs_verifier: true, run: run::run },
];

/// Commands that are known but whose stages do not exist yet.
const NOT_SUPPORTED: [&str; 4] = ["optimize", "inline", "alias-analysis", "unwind"];

/// The subtest of a `test` line and its place in the order.
pub(crate) fn find(name: &str) -> (usize, What) {
    match SUBTESTS.iter().position(|subtest| subtest.name == name) {
        Some(place) => (place, What::Run(&SUBTESTS[place])),
        None if NOT_SUPPORTED.contains(&name) => (SUBTESTS.len(), What::NotSupported),
        None => (0, What::Unknown),
    }
}

/// What a subtest works on.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    /// The file's name.
    pub(crate) name: &'a str,
    pub(crate) file: &'a TestFile<'a>,
    pub(crate) unit: &'a Unit<'a>,
    /// What the verifier may know of the target.
    pub(crate) info: Option<TargetInfo>,
    pub(crate) bless: bool,
    pub(crate) via: Via,
}

impl Job<'_> {
    /// Whether all functions are valid; what is wrong with them otherwise becomes failures.
    pub(crate) fn verify(&self, findings: &mut Findings) -> bool {
        let mut verifier = Verifier::default();
        let mut valid = true;
        for function in &self.file.functions {
            if let Err(errors) = verifier.verify(&function.function, self.info) {
                findings.fail(format_args!("{}: not valid:\n{errors}", self.place(function)));
                valid = false;
            }
        }
        valid
    }

    /// File, line and name of a function.
    pub(crate) fn place(&self, function: &TestFunction) -> String {
        format!("{}:{}: {}", self.name, function.line, function.function.name)
    }

    /// The compiler of the unit; without one the findings say why.
    pub(crate) fn compiler(&self, findings: &mut Findings) -> Option<Compiler> {
        let (target, allocator) = (self.unit.target?, self.unit.allocator.as_ref()?);
        match target::compiler(&self.file.header, target, allocator) {
            Ok(compiler) => Some(compiler),
            Err(NoCompiler::Skip(reason)) => {
                findings.skip(reason);
                None
            }
            Err(NoCompiler::Fail(text)) => {
                findings.fail(text);
                None
            }
        }
    }

    /// Checks the text that `show` makes of each function against its filecheck directives.
    pub(crate) fn check_each(&self, findings: &mut Findings, show: impl Fn(&TestFunction) -> String) {
        for function in &self.file.functions {
            if let Err(text) = crate::expect::filecheck(self.file, function, &show(function)) {
                findings.fail(format_args!("{}: {text}", self.name));
            }
        }
    }
}
