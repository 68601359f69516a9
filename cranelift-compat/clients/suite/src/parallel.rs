//! Work on all processors, and in processes of their own.

use std::io::Result;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Environment variable in which Cargo finds the words of the emulator for programs of another machine.
const EMULATOR: &str = "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER";

/// Applies a function to all items, on all processors. Results are in the order of the items.
///
/// # Panics
/// If the function panics.
pub fn in_parallel<T: Sync, R: Send>(items: &[T], function: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { return };
                    let result = function(item);
                    results.lock().expect("no thread panics").push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no thread panics");
    results.sort_by_key(|&(index, _)| index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Returns a command of this program, by the emulator if this program is run by one.
///
/// # Errors
/// If the path of this program is not known.
pub fn this_program() -> Result<Command> {
    let program = std::env::current_exe()?;
    let words = std::env::var(EMULATOR).unwrap_or_default();
    let mut words = words.split_whitespace();
    Ok(match words.next().filter(|_| cfg!(target_arch = "aarch64")) {
        Some(emulator) => {
            let mut command = Command::new(emulator);
            command.args(words).arg(program);
            command
        }
        None => Command::new(program),
    })
}
