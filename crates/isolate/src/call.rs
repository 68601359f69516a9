//! Calls, and how they end.

/// A call of a function of type `extern "C" fn(usize)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IsolatedCall {
    /// Address of the function.
    pub function: usize,
    /// Its argument, usually the address of shared memory.
    pub argument: usize,
}

/// The ending of an isolated call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// It returned.
    Returned,
    /// It was stopped by a signal.
    Fault {
        /// The signal's number.
        signal: i32,
        /// Address of the instruction.
        pc: usize,
        /// The address that was accessed, if the signal is about one.
        address: usize,
        /// The stack pointer.
        sp: usize,
    },
    /// It did not end before the CPU time of all calls was used up.
    Late,
    /// It was not run, because earlier calls had used up the time.
    NotRun,
    /// The process ended without a word; its status as `waitpid` returns it.
    Died {
        /// The status.
        status: i32,
    },
}
