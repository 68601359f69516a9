//! Allocation problems of a file or of a generated shape.

use crate::ours::FLAGS;
use anyhow::{Result, anyhow};
use kingpost_codegen::{Compiler, Settings};
use kingpost_mach::ModuleBuffer;
use kingpost_regalloc::{AllocError, Allocation, Allocator, MachineEnv, Problem};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A group of problems.
pub struct Case {
    /// The file, or the shape and its size.
    pub name: String,
    /// Whether the problems are generated.
    pub is_shape: bool,
    /// One per function.
    pub problems: Vec<Problem>,
    /// Functions that could not be lowered.
    pub not_lowered: usize,
    /// The machine of all problems.
    pub env: MachineEnv,
}

impl Case {
    /// Returns the case that `spec` names: `shape:NAME:SIZE` or the path of a CLIF file.
    ///
    /// # Errors
    /// If there is no such shape, or a text cannot be read.
    pub fn load(spec: &str) -> Result<Case> {
        let text = crate::read(Path::new(spec))?;
        if let Some(shape) = spec.strip_prefix("shape:") {
            return Case::new(&shape.replace(':', " "), true, &text);
        }
        let name = spec.rsplit('/').next().unwrap_or(spec);
        Case::new(name.trim_end_matches(".xz").trim_end_matches(".clif"), false, &text)
    }

    fn new(name: &str, is_shape: bool, text: &str) -> Result<Case> {
        let functions = kingpost_reader::parse_functions(text).map_err(|error| anyhow!("{error}"))?;
        let mut settings = Settings::default();
        for key in ["preserve_frame_pointers", "enable_multi_ret_implicit_sret", "is_pic"] {
            settings.set(key, "true")?;
        }
        settings.set("enable_verifier", "false")?;
        let flags: Vec<String> = FLAGS.iter().map(ToString::to_string).collect();
        let triple = "x86_64-unknown-linux-gnu".parse().map_err(|error| anyhow!("{error}"))?;
        let collected = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&collected);
        let compiler = Compiler::new(&triple, settings, &flags)?
            .with_allocator(Arc::new(move || Box::new(Collector(Arc::clone(&shared)))));
        let mut context = compiler.context();
        let mut module = ModuleBuffer::default();
        let all = functions.len();
        for mut function in functions {
            // The collector returns an error for every problem.
            let _refused = compiler.compile(&mut context, &mut function, &mut module);
            let mut collected = lock(&collected);
            if let Some(problem) = collected.last_mut().filter(|problem| problem.name.is_empty()) {
                problem.name = function.name.to_string();
            }
        }
        let problems = std::mem::take(&mut *lock(&collected));
        let env = compiler.isa().env().clone();
        Ok(Case { name: name.into(), is_shape, not_lowered: all - problems.len(), problems, env })
    }

    /// Returns the number of instructions of all problems.
    pub fn insts(&self) -> usize {
        self.problems.iter().map(Problem::num_insts).sum()
    }
}

/// An allocator that only records its problems.
struct Collector(Arc<Mutex<Vec<Problem>>>);

fn lock(collected: &Mutex<Vec<Problem>>) -> MutexGuard<'_, Vec<Problem>> {
    collected.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Allocator for Collector {
    fn name(&self) -> &'static str {
        "collector"
    }

    fn allocate(&mut self, problem: &Problem, _: &MachineEnv, _: &mut Allocation) -> Result<(), AllocError> {
        lock(&self.0).push(problem.clone());
        Err(AllocError::StepBudget { steps: 0 })
    }
}
