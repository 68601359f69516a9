//! Many functions on many threads, with the bytes that one thread makes.

use crate::compiler::Compiler;
use crate::error::CompileError;
use crate::stages::Stats;
use kingpost_ir::Function;
use kingpost_mach::ModuleBuffer;
use kingpost_regalloc::sort::sort_by_key;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

/// What came of a batch.
#[derive(Debug, Default)]
pub struct Batch {
    /// The functions that were compiled, in the order in which they were given.
    pub module: ModuleBuffer,
    /// Those that were not, by index, in that order.
    pub errors: Vec<(usize, CompileError)>,
    /// Counters of all threads together.
    pub stats: Stats,
}

/// What one thread made: its functions, and which given function each of them is.
#[derive(Default)]
struct Share {
    module: ModuleBuffer,
    indices: Vec<usize>,
    errors: Vec<(usize, CompileError)>,
    stats: Stats,
}

impl Compiler {
    /// Compiles all of `funcs` on up to `jobs` threads, on fewer if the system starts no more. The result does not depend on
    /// their number.
    pub fn compile_batch(&self, funcs: &mut [Function], jobs: usize) -> Batch {
        self.compile_all(&mut funcs.iter_mut().collect::<Vec<_>>(), jobs)
    }

    /// The same for functions that do not lie side by side.
    pub(crate) fn compile_all(&self, funcs: &mut [&mut Function], jobs: usize) -> Batch {
        let count = funcs.len();
        let next = AtomicUsize::new(0);
        let slots: Vec<Mutex<&mut Function>> = funcs.iter_mut().map(|func| Mutex::new(&mut **func)).collect();
        let work = || self.compile_share(&slots, &next);
        let shares: Vec<Share> = std::thread::scope(|scope| {
            // Where the system has no more threads, there are fewer.
            let start = |_| Builder::new().spawn_scoped(scope, work).ok();
            let helpers: Vec<_> = (1..jobs.min(count)).map_while(start).collect();
            let own = work();
            let others = helpers.into_iter().map(|h| h.join().expect("a share catches its panics"));
            std::iter::once(own).chain(others).collect()
        });
        merge(count, shares)
    }

    /// Takes one function after the other until none is left.
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

/// Puts the shares together in the order in which the functions were given.
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
