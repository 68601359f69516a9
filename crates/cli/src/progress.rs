//! Progress of a command that takes longer than two seconds, as a line on a terminal.

use crate::input::Input;
use indicatif::ProgressBar;
use kingpost_ir::extfunc::FuncName;
use std::io::{IsTerminal, stderr, stdout};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{Builder, sleep};
use std::time::Duration;

/// Time after which a command shows its progress.
const PATIENCE: Duration = Duration::from_secs(2);

/// Time between two drawings of the line.
const PERIOD: Duration = Duration::from_millis(100);

/// A line on standard error, drawn by a thread, because a single step may take long.
pub(crate) struct Line(Option<Arc<Mutex<Shown>>>);

/// Contents of a line.
#[derive(Default)]
struct Shown {
    text: String,
    /// The line on the terminal, once it is drawn.
    bar: Option<ProgressBar>,
    /// Whether nothing more is drawn.
    is_done: bool,
}

impl Line {
    /// Returns a line that is drawn if standard error is a terminal, and no results are printed to the same terminal.
    pub(crate) fn new(prints: bool) -> Line {
        if !stderr().is_terminal() || (prints && stdout().is_terminal()) {
            return Line(None);
        }
        let shown = Arc::new(Mutex::new(Shown::default()));
        let line = Arc::downgrade(&shown);
        // Without a thread there is no line.
        let thread = Builder::new().spawn(move || draw(&line));
        Line(thread.ok().map(|_| shown))
    }

    /// Sets the text of the line.
    pub(crate) fn show(&self, text: impl FnOnce() -> String) {
        if let Some(shown) = &self.0 {
            shown.lock().unwrap_or_else(PoisonError::into_inner).text = text();
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if let Some(shown) = &self.0 {
            let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
            shown.is_done = true;
            shown.bar.take().iter().for_each(ProgressBar::finish_and_clear);
        }
    }
}

/// Draws a line after a while, and again until it is dropped.
fn draw(line: &Weak<Mutex<Shown>>) {
    sleep(PATIENCE);
    while let Some(shown) = line.upgrade() {
        let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.is_done {
            return;
        }
        let text = shown.text.clone();
        let bar = shown.bar.get_or_insert_with(ProgressBar::new_spinner);
        bar.set_message(text);
        bar.tick();
        drop(shown);
        sleep(PERIOD);
    }
}

/// Progress through the functions of a text.
pub(crate) struct Progress {
    line: Line,
    name: String,
    bytes: usize,
}

impl Progress {
    pub(crate) fn new(input: &Input, prints: bool) -> Progress {
        Progress { line: Line::new(prints), name: input.name.clone(), bytes: input.text().len() }
    }

    /// Shows that the command is at an offset of the text, after the head of a function.
    pub(crate) fn at(&self, offset: usize, function: &FuncName) {
        self.line.show(|| format!("{}: {} %, {function}", self.name, 100 * offset / self.bytes.max(1)));
    }
}
