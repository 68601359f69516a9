//! Judging of rules on several threads, and options of the commands that do it.

use crate::exit_status::Stop;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

/// Stack size of threads that judge rules, in bytes. It suffices for the deepest nesting that the parser accepts.
const STACK_BYTES: usize = 64 << 20;

pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let limits = 0.001..=1e6;
    text.parse()
        .ok()
        .filter(|seconds| limits.contains(seconds))
        .ok_or_else(|| format!("'{text}' is no number of seconds"))
}

pub(crate) fn threads(jobs: usize) -> usize {
    if jobs > 0 { jobs } else { std::thread::available_parallelism().map_or(1, |count| count.get()) }
}

/// Judges jobs on several threads, and passes the verdicts to `each` in the order of the jobs.
pub(crate) fn in_order<J: Sync, P, V: Send>(
    jobs: &[J],
    solvers: impl Fn() -> P + Sync,
    threads: usize,
    judge: impl Fn(&J, &mut P) -> V + Sync,
    mut each: impl FnMut(&J, V) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let next = AtomicUsize::new(0);
    let (send, verdicts) = channel();
    std::thread::scope(|scope| {
        for number in 0..threads.min(jobs.len()) {
            let (send, next, judge, solvers) = (send.clone(), &next, &judge, &solvers);
            let work = move || {
                let mut prover = solvers();
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(index) else { return };
                    let verdict = judge(job, &mut prover);
                    // Sending fails only if the receiver is gone because output failed. The thread then ends.
                    if send.send((index, verdict)).is_err() {
                        return;
                    }
                }
            };
            match std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work) {
                Ok(_) => {}
                Err(error) if number == 0 => return Err(Stop::Failure(format!("cannot start a thread: {error}"))),
                // If the system cannot start another thread, fewer are used.
                Err(_) => break,
            }
        }
        drop(send);
        let mut waiting = BTreeMap::new();
        let mut expected = 0;
        for (index, verdict) in verdicts {
            waiting.insert(index, verdict);
            while let Some(verdict) = waiting.remove(&expected) {
                each(&jobs[expected], verdict)?;
                expected += 1;
            }
        }
        Ok(())
    })
}
