//! # Compile with an allocator of your own
//!
//! A register allocator is a type that implements [`Allocator`]. It needs no place in this workspace and no change to
//! it. This program gives two of them to a [`Compiler`]: `cargo run --example own_allocator`. The first one,
//! [`SpillAll`], keeps every value in memory. Its crate `kingpost-regalloc-spill-all` is a guide to the duties of an
//! allocator. The second one makes a mistake, and the checker reports it.

use kingpost::codegen::{AllocatorFactory, Compiler, Settings};
use kingpost::compiled::ModuleBuffer;
use kingpost::regalloc::{AllocError, Allocation, Allocator, EditKind, MachineEnv, Problem};
use kingpost_regalloc_spill_all::SpillAll;
use std::error::Error;
use std::sync::Arc;

/// An allocator that forgets to store one value.
#[derive(Default)]
struct Forgetful(SpillAll);

impl Allocator for Forgetful {
    fn name(&self) -> &'static str {
        "forgetful"
    }

    fn allocate(&mut self, problem: &Problem, env: &MachineEnv, out: &mut Allocation) -> Result<(), AllocError> {
        self.0.allocate(problem, env, out)?;
        let store = out.edits.iter().position(|edit| matches!(edit.kind, EditKind::Spill { .. }));
        out.edits.remove(store.expect("something is stored"));
        Ok(())
    }
}

/// A loop with a division and a call. It exercises fixed registers, clobbers, and arguments that exchange places.
const GCD: &str = "
function %gcd(i64, i64) -> i64 {
    fn0 = %seen(i64, i64)
block0(v0: i64, v1: i64):
    jump block1(v0, v1)
block1(v2: i64, v3: i64):
    call fn0(v2, v3)
    brif v3, block2, block3
block2:
    v4 = urem v2, v3
    jump block1(v3, v4)
block3:
    return v2
}";

/// Compiles [`GCD`] and returns the number of bytes of code, of slots in its frame and of allocated values.
///
/// `factory` creates an allocator for each compiling thread. With `regalloc_checker`, a wrong allocation is an error
/// before any byte is emitted.
fn compile(factory: AllocatorFactory) -> Result<(usize, usize, usize), Box<dyn Error>> {
    let settings = Settings::default().with(|settings| settings.regalloc_checker = true);
    let compiler = Compiler::host(settings)?.with_allocator(factory);
    let mut functions = kingpost::reader::parse_functions(GCD)?;
    let (mut context, mut module) = (compiler.context(), ModuleBuffer::default());
    compiler.compile(&mut context, &mut functions[0], &mut module)?;
    Ok((module.code_bytes(), context.allocation().slots.len(), context.code().problem.vregs.len()))
}

fn main() -> Result<(), Box<dyn Error>> {
    let (bytes, slots, values) = compile(Arc::new(|| Box::new(SpillAll::default())))?;
    println!("{bytes} bytes of code; {slots} slots for {values} values");
    assert_eq!(slots, values);
    let error = compile(Arc::new(|| Box::new(Forgetful::default()))).expect_err("the checker rejects it");
    println!("{error}");
    let message = error.to_string();
    assert!(message.contains("forgetful") && message.contains("holds the value"), "{message}");
    Ok(())
}

#[test]
fn a_compiler_takes_any_allocator() {
    main().unwrap();
}
