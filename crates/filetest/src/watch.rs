//! Work on many items by threads, each step of it within a limit of CPU time.
//!
//! A compiler that does not terminate cannot be stopped from outside, but it can be abandoned. The thread whose
//! step is late continues until the process ends, and another one takes its place. CPU time is read from the system
//! (proc(5)), so that a busy machine does not make steps late. If the system has no such record, no step is late.

use std::fs;
use std::io;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Time between two checks of the threads. It only affects how soon a late step is abandoned.
const PERIOD: Duration = Duration::from_millis(50);
/// Ticks of CPU time in a second, as `/proc` counts them on every Linux.
const TICKS: u64 = 100;

/// Record of the step on which a thread works.
#[derive(Default, Debug)]
pub(crate) struct Progress {
    state: Mutex<State>,
}

#[derive(Clone, Default, Debug)]
struct State {
    /// Folder of the thread in `/proc`.
    thread: PathBuf,
    /// Index of the item; `None` before the first and after the last.
    item: Option<usize>,
    /// Number of steps begun.
    count: u64,
    /// Name of the step, and the command that repeats it.
    label: Option<[String; 2]>,
    /// Whether the thread takes no further item, should the step end nevertheless.
    is_abandoned: bool,
}

impl Progress {
    /// Records that a step begins.
    pub(crate) fn begin(&self, name: String, command: String) {
        self.change(|state| state.label = Some([name, command]));
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.count += 1;
        change(&mut state);
    }

    fn state(&self) -> State {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Functions that do the work.
pub(crate) struct Work<T, R> {
    /// Returns the result of an item, and begins steps.
    pub(crate) run: fn(&T, &Progress) -> R,
    /// Returns the result of an item with a late step, from the name and the command of the step.
    pub(crate) late: fn(&T, Option<[String; 2]>) -> R,
}

struct Shared<T, R> {
    items: Vec<T>,
    next: AtomicUsize,
    run: fn(&T, &Progress) -> R,
}

/// A thread, and the CPU time at the last change of its step.
struct Worker {
    step: Arc<Progress>,
    thread: JoinHandle<()>,
    seen: (u64, Duration),
}

/// Runs the work on all items with `jobs` threads, or fewer if the system starts no more, and returns the results in
/// the order of the items. `progress` receives the number of finished items.
///
/// # Errors
/// If the system starts no thread.
///
/// # Panics
/// If the work panics.
pub(crate) fn each<T, R>(
    items: Vec<T>,
    jobs: usize,
    limit: Duration,
    work: Work<T, R>,
    progress: impl Fn(usize),
) -> io::Result<Vec<R>>
where
    T: Send + Sync + 'static,
    R: Send + 'static,
{
    let shared = Arc::new(Shared { items, next: AtomicUsize::new(0), run: work.run });
    let count = shared.items.len();
    let mut results: Vec<Option<R>> = (0..count).map(|_| None).collect();
    let (sender, receiver) = mpsc::channel();
    let mut workers = Vec::new();
    for _ in 0..jobs.min(count) {
        match start(&shared, &sender) {
            Ok(worker) => workers.push(worker),
            Err(error) if workers.is_empty() => return Err(error),
            Err(_) => break,
        }
    }
    let mut done = 0;
    while done < count {
        match receiver.recv_timeout(PERIOD) {
            // The result of an abandoned item may arrive nevertheless.
            Ok((item, result)) if results[item].is_none() => {
                results[item] = Some(result);
                done += 1;
                progress(done);
                continue;
            }
            Ok(_) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        for at in (0..workers.len()).rev() {
            if let Some((item, label)) = workers[at].late(limit).filter(|(item, _)| results[*item].is_none()) {
                results[item] = Some((work.late)(&shared.items[item], label));
                done += 1;
                progress(done);
                workers.swap_remove(at).step.change(|state| state.is_abandoned = true);
                match start(&shared, &sender) {
                    Ok(worker) => workers.push(worker),
                    Err(error) if workers.is_empty() => return Err(error),
                    Err(_) => {}
                }
            }
        }
        if let Some(at) = workers.iter().position(Worker::has_panicked)
            && let Err(panic) = workers.swap_remove(at).thread.join()
        {
            resume_unwind(panic);
        }
    }
    Ok(results.into_iter().flatten().collect())
}

/// Starts a thread that takes one item after the other.
///
/// # Errors
/// If the system starts no thread.
fn start<T, R>(shared: &Arc<Shared<T, R>>, sender: &Sender<(usize, R)>) -> io::Result<Worker>
where
    T: Send + Sync + 'static,
    R: Send + 'static,
{
    let (step, shared, sender) = (Arc::new(Progress::default()), Arc::clone(shared), sender.clone());
    let thread = Builder::new().spawn({
        let step = Arc::clone(&step);
        move || {
            let folder = fs::read_link("/proc/thread-self").unwrap_or_default();
            step.change(|state| state.thread = PathBuf::from("/proc").join(folder));
            loop {
                let item = shared.next.fetch_add(1, Ordering::Relaxed);
                let Some(work) = shared.items.get(item) else { break };
                step.change(|state| (state.item, state.label) = (Some(item), None));
                let result = (shared.run)(work, &step);
                // The result of an abandoned item has no receiver.
                if sender.send((item, result)).is_err() || step.state().is_abandoned {
                    break;
                }
            }
            step.change(|state| state.item = None);
        }
    });
    let thread = thread.map_err(|error| io::Error::new(error.kind(), format!("cannot start a thread: {error}")))?;
    Ok(Worker { step, thread, seen: (0, Duration::ZERO) })
}

impl Worker {
    /// Returns the item and the label of the step if it has used more CPU time than the limit.
    fn late(&mut self, limit: Duration) -> Option<(usize, Option<[String; 2]>)> {
        let state = self.step.state();
        let used = cpu_time(&state.thread)?;
        if state.count != self.seen.0 {
            self.seen = (state.count, used);
        }
        let is_late = used.saturating_sub(self.seen.1) > limit;
        is_late.then_some((state.item?, state.label))
    }

    fn has_panicked(&self) -> bool {
        self.thread.is_finished() && self.step.state().item.is_some()
    }
}

/// Returns the CPU time of a thread.
fn cpu_time(folder: &Path) -> Option<Duration> {
    let text = fs::read_to_string(folder.join("stat")).ok()?;
    // The name of the thread may contain any character; fields are counted from its closing bracket.
    let fields: Vec<&str> = text.rsplit(')').next()?.split_whitespace().collect();
    let ticks = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(Duration::from_millis((ticks(11)? + ticks(12)?) * 1000 / TICKS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    static STOP: AtomicBool = AtomicBool::new(false);

    fn spin_at_two(item: &u32, step: &Progress) -> String {
        step.begin("first".into(), String::new());
        step.begin("second".into(), "again".into());
        while *item == 2 && !STOP.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
        format!("{item}")
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_step_that_does_not_end_is_abandoned() {
        let late = |item: &u32, label: Option<[String; 2]>| format!("{item} {}", label.unwrap_or_default().join(" "));
        let work = Work { run: spin_at_two, late };
        let results = each(vec![1, 2, 3, 4], 1, Duration::from_millis(200), work, |_| ()).unwrap();
        STOP.store(true, Ordering::Relaxed);
        assert_eq!(results, ["1", "2 second again", "3", "4"]);
    }

    #[test]
    fn time_without_work_is_not_counted() {
        let run = |_: &u32, _: &Progress| std::thread::sleep(Duration::from_millis(300));
        let work = Work { run, late: |_, _| panic!("late") };
        assert_eq!(each(vec![1, 2], 2, Duration::from_millis(100), work, |_| ()).unwrap(), [(), ()]);
    }

    #[test]
    #[should_panic(expected = "as it is")]
    fn a_panic_is_passed_on() {
        let run = |_: &u32, _: &Progress| panic!("as it is");
        each(vec![1], 1, Duration::from_secs(9), Work::<u32, ()> { run, late: |_, _| () }, |_| ()).unwrap();
    }
}
