//! The count of compiled functions on a terminal.

use cranelift_codegen::kingpost::compiled_functions;
use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A line on standard error that counts compiled functions until it is dropped.
pub(crate) struct Progress {
    /// Ends the thread when it is dropped.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts the line, if standard error is a terminal.
    pub(crate) fn on_terminal() -> Option<Progress> {
        std::io::stderr().is_terminal().then(|| {
            let (end, ended) = mpsc::channel();
            let thread = thread::spawn(move || {
                while ended.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout) {
                    eprint!("\r{} functions", compiled_functions());
                }
                // Erases the line (ECMA-48, 8.3.41).
                eprint!("\r\x1b[K");
            });
            Progress { end: Some(end), thread: Some(thread) }
        })
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end.take();
        // The thread does not panic, and a failure of the display is no failure of the compilation.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
