//! Work on many cases that is abandoned if one of them takes too long.

use cpu_time::ProcessTime;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// The time between two checks of the work. It only affects how soon a case is abandoned.
const PERIOD: Duration = Duration::from_millis(100);

/// Calls `work` on a separate thread. `work` stores the seed of each case that it begins in its argument.
///
/// # Errors
/// The seed of a case in which the process has used more than `limit` of CPU time. Its thread continues until the
/// process ends.
pub(crate) fn watched<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce(&AtomicU64) -> T + Send + 'static,
) -> Result<T, u64> {
    let current = Arc::new(AtomicU64::new(0));
    let (sender, receiver) = mpsc::channel();
    let worker = thread::spawn({
        let current = Arc::clone(&current);
        // Abandoned work has no receiver.
        move || drop(sender.send(work(&current)))
    });
    let (mut seed, mut start) = (current.load(Ordering::Relaxed), ProcessTime::now());
    loop {
        match receiver.recv_timeout(PERIOD) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => unreachable!("the result is sent before the thread ends"),
            },
        }
        let now = current.load(Ordering::Relaxed);
        if now != seed {
            (seed, start) = (now, ProcessTime::now());
        } else if start.elapsed() > limit {
            return Err(seed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn work_that_does_not_end_is_given_up() {
        let stop = Arc::new(AtomicBool::new(false));
        let found = watched(Duration::from_millis(300), {
            let stop = Arc::clone(&stop);
            move |seed| {
                seed.store(7, Ordering::Relaxed);
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            }
        });
        stop.store(true, Ordering::Relaxed);
        assert_eq!(found, Err(7));
    }

    #[test]
    fn work_that_ends_is_returned() {
        assert_eq!(watched(Duration::from_secs(60), |_| 3), Ok(3));
    }

    #[test]
    #[should_panic(expected = "as it is")]
    fn a_panic_is_passed_on() {
        let _ = watched(Duration::from_secs(60), |_| -> u32 { panic!("as it is") });
    }
}
