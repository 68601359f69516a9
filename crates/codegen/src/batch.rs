//! Compilation of many functions on many threads, with the result of a single thread.

use crate::compiler::Compiler;
use crate::error::CompileError;
use crate::stages::Stats;
use kingpost_ir::Function;
use kingpost_mach::ModuleBuffer;
use kingpost_regalloc::sort::sort_by_key;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

/// Result of a batch.
#[derive(Debug, Default)]
pub struct Batch {
    /// The functions that were compiled, in the order of the input.
    pub module: ModuleBuffer,
    /// The functions that were not compiled, by index, in the order of the input.
    pub errors: Vec<(usize, CompileError)>,
    /// Counters of all threads.
    pub stats: Stats,
}

/// Results of one thread: its functions, and their indices in the input.
#[derive(Default)]
struct Share {
    module: ModuleBuffer,
    indices: Vec<usize>,
    errors: Vec<(usize, CompileError)>,
    stats: Stats,
}

impl Compiler {
    /// Compiles all of `funcs` on up to `jobs` threads, or fewer if the system cannot start as many. The result does
    /// not depend on the number of threads.
    pub fn compile_batch(&self, funcs: &mut [Function], jobs: usize) -> Batch {
        self.compile_all(&mut funcs.iter_mut().collect::<Vec<_>>(), jobs)
    }

    /// Compiles functions like [`Compiler::compile_batch`], from references that need not be adjacent in memory.
    pub(crate) fn compile_all(&self, funcs: &mut [&mut Function], jobs: usize) -> Batch {
        let count = funcs.len();
        let next = AtomicUsize::new(0);
        let slots: Vec<Mutex<&mut Function>> = funcs.iter_mut().map(|func| Mutex::new(&mut **func)).collect();
        let work = || self.compile_share(&slots, &next);
        let shares: Vec<Share> = std::thread::scope(|scope| {
            // If the system cannot start another thread, the batch uses fewer.
            let start = |_| Builder::new().spawn_scoped(scope, work).ok();
            let helpers: Vec<_> = (1..jobs.min(count)).map_while(start).collect();
            let own = work();
            let others = helpers.into_iter().map(|h| h.join().expect("a share catches its panics"));
            std::iter::once(own).chain(others).collect()
        });
        merge(count, shares)
    }

    /// Compiles the next function of the input until none is left.
    fn compile_share(&self, slots: &[Mutex<&mut Function>], next: &AtomicUsize) -> Share {
        let mut share = Share::default();
        let mut cx = self.take_context();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(slot) = slots.get(index) else { break };
            let mut func = slot.lock().expect("each function is taken once");
            match self.compile(&mut cx, &mut func, &mut share.module) {
                Ok(()) => share.indices.push(index),
                Err(error) => share.errors.push((index, error)),
            }
        }
        share.stats = self.give_back(cx);
        share
    }
}

/// Merges the results of all threads in the order of the input.
fn merge(count: usize, mut shares: Vec<Share>) -> Batch {
    let mut batch = Batch::default();
    for share in &mut shares {
        batch.stats += &share.stats;
        batch.errors.append(&mut share.errors);
    }
    sort_by_key(&mut batch.errors, |&(index, _)| index);
    if let [share] = &mut shares[..] {
        batch.module = std::mem::take(&mut share.module);
        return batch;
    }
    let mut place = vec![None; count];
    for (s, share) in shares.iter().enumerate() {
        for (k, &index) in share.indices.iter().enumerate() {
            place[index] = Some((s, k));
        }
    }
    for (s, k) in place.into_iter().flatten() {
        batch.module.append_function(&shares[s].module.function(k));
    }
    batch
}
