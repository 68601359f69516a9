//! Checks that a function is well formed.
//!
//! The rules, in the order of their checks: the preamble and the signature (`preamble.rs`), then for each instruction
//! of each block: the shape of the block, the entities and the dominance of definitions (`entities.rs`), types
//! (`types.rs`), calls and exception tables (`calls.rs`), and immediates (`immediates.rs`). All errors are collected.
//! *Fatal* errors make further checks meaningless and end the verification.
//!
//! A single instruction is checked by [`verify_inst`] (`inserted.rs`).
//!
//! Not checked: that stack slot offsets are in range, that user stack maps name live slots, and that accesses marked
//! `notrap` or `readonly` keep their promise.
//!
//! Cost: linear in the function, plus the cost of the dominator tree.

mod calls;
mod entities;
mod immediates;
mod inserted;
mod preamble;
mod types;

pub use inserted::verify_inst;

use std::fmt;

use crate::cfg::ControlFlowGraph;
use crate::dominators::DominatorTree;
use crate::entities::{AnyEntity, Block, Inst};
use crate::function::Function;
use crate::types::Type;
use kingpost_meter::heap_bytes;

/// Facts about the target. Without them, some rules are not checked.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TargetInfo {
    /// The type of pointers; `None` if the targets of the function have different pointer types.
    pub pointer_type: Option<Type>,
    /// Whether the setting `enable_pinned_reg` is on.
    pub enable_pinned_reg: bool,
    /// Whether the setting `preserve_frame_pointers` is on.
    pub preserve_frame_pointers: bool,
}

impl TargetInfo {
    /// Creates the facts of a target with default settings.
    pub const fn new(pointer_type: Option<Type>) -> TargetInfo {
        TargetInfo { pointer_type, enable_pinned_reg: false, preserve_frame_pointers: false }
    }

    /// Returns the facts after `change`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut TargetInfo)) -> TargetInfo {
        change(&mut self);
        self
    }
}

/// A violated rule.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct VerifierError {
    /// The entity that violates the rule.
    pub location: AnyEntity,
    /// The message. Entities have the numbers of the function's text.
    pub message: String,
}

impl VerifierError {
    /// Creates the error of an entity.
    pub fn new(location: AnyEntity, message: impl Into<String>) -> VerifierError {
        VerifierError { location, message: message.into() }
    }

    /// Returns the error with the function, the block and the entity at fault, on one line.
    pub fn pretty<'a>(&'a self, func: &'a Function) -> impl fmt::Display + 'a {
        self.pretty_as(&func.name, func)
    }

    /// Returns the text of [`VerifierError::pretty`] with another name of the function.
    pub fn pretty_as<'a>(&'a self, name: &'a dyn fmt::Display, func: &'a Function) -> impl fmt::Display + 'a {
        fmt::from_fn(move |f| {
            write!(f, "{name}: ")?;
            if let AnyEntity::Inst(inst) = self.location
                && let Some(block) = func.layout.inst_block(inst)
            {
                write!(f, "{}: ", func.names.block(block))?;
            }
            if self.location != AnyEntity::Function {
                write!(f, "{}: ", func.describe(self.location))?;
            }
            f.write_str(&self.message)
        })
    }
}

/// All violated rules, in the order in which they were found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct VerifierErrors(pub Vec<VerifierError>);

impl VerifierErrors {
    /// Returns one line for each error, in the form of [`VerifierError::pretty`].
    pub fn pretty<'a>(&'a self, func: &'a Function) -> impl fmt::Display + 'a {
        fmt::from_fn(move |f| self.0.iter().try_for_each(|error| writeln!(f, "{}", error.pretty(func))))
    }
}

impl fmt::Display for VerifierErrors {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            f.write_str(&error.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for VerifierErrors {}

/// Signal that a fatal error ended the verification.
struct Fatal;

type Verified = Result<(), Fatal>;

/// Memory of the verifier. One verifier serves one function after the other.
#[derive(Default, Debug)]
pub struct Verifier {
    cfg: ControlFlowGraph,
    dominators: DominatorTree,
    errors: VerifierErrors,
}

heap_bytes!(Verifier { cfg, dominators } without { errors });

impl Verifier {
    /// Checks a function.
    ///
    /// # Errors
    /// If any rule is violated.
    pub fn verify(&mut self, func: &Function, target: Option<TargetInfo>) -> Result<(), VerifierErrors> {
        self.cfg.compute(func);
        self.dominators.compute(func, &self.cfg);
        let mut check = Check { func, target, dominators: &self.dominators, errors: Vec::new() };
        // A fatal error is recorded in `check` like any other.
        let _ended_early = check.function();
        self.errors.0 = check.errors;
        if self.errors.0.is_empty() { Ok(()) } else { Err(std::mem::take(&mut self.errors)) }
    }
}

/// Checks a function.
///
/// # Errors
/// If any rule is violated.
pub fn verify(func: &Function, target: Option<TargetInfo>) -> Result<(), VerifierErrors> {
    Verifier::default().verify(func, target)
}

/// Checks the rules of [`verify`] that walks over a function need to terminate: no branch leads to the entry block,
/// and no global value depends on itself. Linear in blocks and global values.
///
/// # Errors
/// If one of these rules is violated.
pub fn verify_links(func: &Function) -> Result<(), VerifierErrors> {
    let mut check = Check { func, target: None, dominators: &DominatorTree::default(), errors: Vec::new() };
    check.global_value_cycles();
    check.entry_references();
    if check.errors.is_empty() { Ok(()) } else { Err(VerifierErrors(check.errors)) }
}

/// The check of one function.
struct Check<'a> {
    func: &'a Function,
    target: Option<TargetInfo>,
    dominators: &'a DominatorTree,
    errors: Vec<VerifierError>,
}

impl Check<'_> {
    fn report(&mut self, location: impl Into<AnyEntity>, message: impl fmt::Display) {
        let error = VerifierError::new(location.into(), message.to_string());
        self.errors.push(error);
    }

    fn fatal(&mut self, location: impl Into<AnyEntity>, message: impl fmt::Display) -> Verified {
        self.report(location, message);
        Err(Fatal)
    }

    /// Ends the verification if any error was found so far.
    fn stop_on_errors(&self) -> Verified {
        if self.errors.is_empty() { Ok(()) } else { Err(Fatal) }
    }

    fn function(&mut self) -> Verified {
        self.global_values();
        self.user_names();
        self.alias_regions();
        self.entry_params()?;
        self.entry_not_cold()?;
        self.signature()?;
        self.preserve_all()?;
        for block in self.func.layout.blocks() {
            self.block(block)?;
        }
        Ok(())
    }

    fn block(&mut self, block: Block) -> Verified {
        if self.func.layout.first_inst(block).is_none() {
            let block_name = self.func.names.block(block);
            return self.fatal(block, format_args!("{block_name} cannot be empty"));
        }
        for inst in self.func.layout.block_insts(block) {
            self.position(block, inst)?;
            self.entity_references(inst)?;
            self.types(inst)?;
            self.immediates(inst)?;
        }
        Ok(())
    }

    /// Reports the first branch to the entry block.
    fn entry_references(&mut self) {
        let Some(entry) = self.func.layout.entry_block() else { return };
        for inst in self.func.layout.blocks().filter_map(|block| self.func.layout.last_inst(block)) {
            if self.func.dfg.branch_destinations(inst).iter().any(|call| call.block == entry) {
                return self.entry_reference(inst, entry);
            }
        }
    }

    fn entry_reference(&mut self, inst: Inst, entry: Block) {
        let name = self.func.names.block(entry);
        self.report(inst, format_args!("invalid reference to entry block {name}"));
    }

    /// Checks that terminators are at the end of blocks and nowhere else.
    fn position(&mut self, block: Block, inst: Inst) -> Verified {
        let is_terminator = self.func.dfg.opcode(inst).is_terminator();
        let is_last = self.func.layout.last_inst(block) == Some(inst);
        let block_name = self.func.names.block(block);
        match (is_terminator, is_last) {
            (true, false) => self
                .fatal(inst, format_args!("a terminator instruction was encountered before the end of {block_name}")),
            (false, true) => self.fatal(block, "block does not end in a terminator instruction"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
