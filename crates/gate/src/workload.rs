//! The compiled module, and a case: a target, an allocator, an optimization level.

use anyhow::{Result, anyhow, bail};
use kingpost_codegen::{ALLOCATORS, Compiler, Context, Options, Settings, Stats};
use kingpost_ir::Function;
use kingpost_mach::ModuleBuffer;
use kingpost_testgen::ir::generate_with_usual_types;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use target_lexicon::Triple;

/// Seeds of the programs in the module.
const SEEDS: Range<u64> = 0..120;
const TARGETS: [&str; 2] = ["x86_64", "aarch64"];

/// One way to compile the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Case {
    pub(crate) target: String,
    pub(crate) allocator: String,
    pub(crate) opt_level: String,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.target, self.allocator, self.opt_level)
    }
}

impl Case {
    pub(crate) fn new(target: &str, allocator: &str, opt_level: &str) -> Case {
        Case { target: target.into(), allocator: allocator.into(), opt_level: opt_level.into() }
    }

    /// Returns both targets with every allocator without optimization, and with the optimizer and the allocator
    /// `ssa`.
    pub(crate) fn all() -> Vec<Case> {
        let mut cases = Vec::new();
        for target in TARGETS {
            cases.extend(ALLOCATORS.iter().map(|(allocator, _)| Case::new(target, allocator, "none")));
            cases.push(Case::new(target, "ssa", "speed"));
        }
        cases
    }

    /// Compiles the module three times: to measure the result, to warm up the compiler, and to be counted from
    /// outside.
    ///
    /// # Errors
    /// If a target or allocator does not exist, or a function does not compile.
    pub(crate) fn run(&self) -> Result<Made> {
        let functions: Vec<Function> = SEEDS.flat_map(|seed| generate_with_usual_types(seed).functions).collect();
        let insts = functions.iter().map(|function| function.dfg.num_insts() as u64).sum();
        let counting = self.compiler()?.with_options(Options::default().with(|options| options.count = true));
        let mut cx = counting.context();
        compile_all(&counting, &mut cx, &mut functions.clone(), &mut ModuleBuffer::default())?;
        let Stats { code_bytes, spills, fills, moves, .. } = *cx.stats();

        let compiler = self.compiler()?;
        let (mut cx, mut module) = (compiler.context(), ModuleBuffer::default());
        compile_all(&compiler, &mut cx, &mut functions.clone(), &mut module)?;
        module.clear();
        let mut functions = functions;
        compile_warm(&compiler, &mut cx, &mut functions, &mut module)?;
        Ok(Made { insts, code_bytes, spills, fills, moves })
    }

    fn compiler(&self) -> Result<Compiler> {
        let mut settings = Settings::default();
        let words = [
            ("regalloc_algorithm", self.allocator.as_str()),
            ("opt_level", &self.opt_level),
            ("enable_verifier", "false"),
            ("is_pic", "false"),
            ("regalloc_checker", "false"),
            ("preserve_frame_pointers", "true"),
            ("enable_multi_ret_implicit_sret", "true"),
        ];
        for (key, value) in words {
            settings.set(key, value)?;
        }
        let triple = Triple::from_str(&format!("{}-unknown-linux-gnu", self.target)).map_err(|e| anyhow!("{e}"))?;
        Ok(Compiler::new(&triple, settings, &[])?)
    }
}

/// Results of compiling the module. The text form is the five numbers.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Made {
    /// CLIF instructions of the module.
    pub(crate) insts: u64,
    pub(crate) code_bytes: u64,
    pub(crate) spills: u64,
    pub(crate) fills: u64,
    pub(crate) moves: u64,
}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {} {}", self.insts, self.code_bytes, self.spills, self.fills, self.moves)
    }
}

impl FromStr for Made {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Made> {
        let numbers: Vec<u64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        let [insts, code_bytes, spills, fills, moves] = numbers[..] else { bail!("five numbers, not {text:?}") };
        Ok(Made { insts, code_bytes, spills, fills, moves })
    }
}

fn compile_all(
    compiler: &Compiler,
    cx: &mut Context,
    functions: &mut [Function],
    module: &mut ModuleBuffer,
) -> Result<()> {
    functions.iter_mut().try_for_each(|function| Ok(compiler.compile(cx, function, module)?))
}

/// Compiles like [`compile_all`]. Its name selects its cost in the profile.
#[inline(never)]
pub(crate) fn compile_warm(
    compiler: &Compiler,
    cx: &mut Context,
    functions: &mut [Function],
    module: &mut ModuleBuffer,
) -> Result<()> {
    compile_all(compiler, cx, functions, module)
}
