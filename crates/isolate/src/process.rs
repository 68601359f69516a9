//! Children that call functions, and how the calls end.
//!
//! Sound because: between `fork` and `_exit` the child calls only functions that are safe there (no allocation, no locks), and
//! code of the images, whose effects on memory stay in the child but for [`SharedMemory`].

use crate::call::{Ending, IsolatedCall};
use crate::error::IsolateError;
use crate::memory::SharedMemory;
use std::io;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::time::Duration;

/// Words of the note that a child makes about a call: state (0 not run, 1 running, 2 returned, or 3 and a signal), then signal, pc, address, sp.
const NOTE_WORDS: usize = 5;
const RUNNING: u64 = 1;
const RETURNED: u64 = 2;
const FAULT: u64 = 3;

/// The note of the running call, for the signal handler of the child.
static NOTE: AtomicPtr<AtomicU64> = AtomicPtr::new(std::ptr::null_mut());

const SIGNALS: [i32; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGPROF];
/// Bytes of the stack on which the handler runs.
const HANDLER_STACK: usize = 1 << 16;

/// Runs calls as [`run`](crate::run) does.
///
/// # Safety
/// A function that takes one number by the C convention is at the address of each call while this runs.
pub(crate) unsafe fn call_in_children(calls: &[IsolatedCall], seconds: u32) -> Result<Vec<Ending>, IsolateError> {
    let mut notes = SharedMemory::new(calls.len() * NOTE_WORDS * 8)?;
    let stack = SharedMemory::new(HANDLER_STACK)?;
    let (mut endings, mut left) = (Vec::with_capacity(calls.len()), Duration::from_secs(seconds.into()));
    while endings.len() < calls.len() {
        if left.is_zero() || endings.last() == Some(&Ending::Late) {
            endings.resize(calls.len(), Ending::NotRun);
            break;
        }
        let first = endings.len();
        // SAFETY: the child runs `child`, which keeps to what may be done there, and never returns.
        let pid = unsafe { libc::fork() };
        if pid < 0 {
            return Err(IsolateError::Process);
        }
        if pid == 0 {
            // SAFETY: promised by the caller.
            unsafe { child(calls, first, &notes, &stack, left) };
        }
        let (status, used) = wait(pid);
        left = left.saturating_sub(used);
        notes.take_back();
        collect(&notes, calls.len(), status, &mut endings);
    }
    Ok(endings)
}

/// Waits until a child has ended, and returns its status and the CPU time that it used: zero where the system keeps neither,
/// because this process ignores the ends of its children. The call does wait then, too.
fn wait(pid: libc::pid_t) -> (i32, Duration) {
    let mut status = 0;
    // SAFETY: all fields are numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `pid` is our child, this is the only wait for it, and both places live until the call returns.
    while unsafe { libc::wait4(pid, &mut status, 0, &mut usage) } < 0 {
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return (0, Duration::ZERO);
        }
    }
    let time = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
    (status, time(usage.ru_utime) + time(usage.ru_stime))
}

/// Appends the endings of the calls that a child made; at least one.
fn collect(notes: &SharedMemory, count: usize, status: i32, endings: &mut Vec<Ending>) {
    let first = endings.len();
    for index in first..count {
        let word = |n: usize| {
            let at = (index * NOTE_WORDS + n) * 8;
            u64::from_le_bytes(notes.bytes()[at..at + 8].try_into().expect("eight bytes"))
        };
        let ending = match word(0) {
            RETURNED => Ending::Returned,
            FAULT if word(1) == libc::SIGPROF as u64 => Ending::Late,
            FAULT => Ending::Fault {
                signal: word(1) as i32,
                pc: word(2) as usize,
                address: word(3) as usize,
                sp: word(4) as usize,
            },
            RUNNING => Ending::Died { status },
            _ if index == first => Ending::Died { status },
            _ => return,
        };
        endings.push(ending);
        if ending != Ending::Returned {
            return;
        }
    }
}

/// Makes the calls from the one with index `first` on, and ends the process.
///
/// # Safety
/// The process is a child, and a function that takes one number by the C convention is at the address of each call.
unsafe fn child(calls: &[IsolatedCall], first: usize, notes: &SharedMemory, stack: &SharedMemory, left: Duration) -> ! {
    catch_signals(stack);
    limit_cpu_time(left);
    let notes = notes.start().cast::<AtomicU64>();
    for (index, call) in calls.iter().enumerate().skip(first) {
        // SAFETY: there is a note for each call.
        let note = unsafe { notes.add(index * NOTE_WORDS) };
        NOTE.store(note, Ordering::SeqCst);
        // SAFETY: mapped, aligned, and only this process writes to it now.
        let state = unsafe { &*note };
        state.store(RUNNING, Ordering::SeqCst);
        // SAFETY: promised by the caller.
        let function = unsafe { std::mem::transmute::<usize, extern "C" fn(usize)>(call.function) };
        function(call.argument);
        state.store(RETURNED, Ordering::SeqCst);
    }
    // SAFETY: ends the process.
    unsafe { libc::_exit(0) }
}

/// Sets a timer that sends this process a signal when it has used some CPU time.
fn limit_cpu_time(limit: Duration) {
    // A timer of zero is none.
    let limit = limit.max(Duration::from_millis(1));
    let it_value = libc::timeval { tv_sec: limit.as_secs() as _, tv_usec: limit.subsec_micros() as _ };
    let timer = libc::itimerval { it_interval: libc::timeval { tv_sec: 0, tv_usec: 0 }, it_value };
    // SAFETY: the timer is read, and no old one is requested.
    unsafe { libc::setitimer(libc::ITIMER_PROF, &timer, std::ptr::null_mut()) };
}

fn catch_signals(stack: &SharedMemory) {
    let alternative = libc::stack_t { ss_sp: stack.start().cast(), ss_flags: 0, ss_size: HANDLER_STACK };
    // SAFETY: the memory is mapped for as long as the process lives; the handler has the type that SA_SIGINFO requires.
    unsafe {
        libc::sigaltstack(&alternative, std::ptr::null_mut());
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
        for signal in SIGNALS {
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// Writes the fault into the note and ends the child.
extern "C" fn handle(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let note = NOTE.load(Ordering::SeqCst);
    // SAFETY: the system hands both over; the note is that of the running call, in mapped memory.
    unsafe {
        let address = (*info).si_addr() as u64;
        let (pc, sp) = registers(context);
        let words = [FAULT, signal as u64, pc, address, sp];
        for (n, &word) in words.iter().enumerate().rev() {
            (*note.add(n)).store(word, Ordering::SeqCst);
        }
        libc::_exit(0)
    }
}

/// Returns the address of the interrupted instruction, and the stack pointer.
///
/// # Safety
/// `context` is what the system handed to a signal handler.
unsafe fn registers(context: *mut libc::c_void) -> (u64, u64) {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: promised by the caller.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    let both = unsafe {
        let registers = &(*context).uc_mcontext.gregs;
        (registers[libc::REG_RIP as usize] as u64, registers[libc::REG_RSP as usize] as u64)
    };
    // SAFETY: promised by the caller.
    #[cfg(all(target_os = "linux", target_arch = "aarch64"))]
    let both = unsafe { ((*context).uc_mcontext.pc, (*context).uc_mcontext.sp) };
    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let both = {
        let _ = context;
        (0, 0)
    };
    both
}

#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests {
    use super::*;

    extern "C" fn add_one(at: usize) {
        // SAFETY: the test below hands over the address of a word.
        unsafe { *(at as *mut u64) += 1 };
    }

    extern "C" fn spin(_: usize) {
        loop {
            std::hint::spin_loop();
        }
    }

    extern "C" fn sleep(_: usize) {
        // SAFETY: the call has no preconditions.
        unsafe { libc::usleep(1_500_000) };
    }

    extern "C" fn leave(_: usize) {
        // SAFETY: ends the process.
        unsafe { libc::_exit(7) }
    }

    /// Checks that the time for which a busy machine lets a call wait does not count.
    #[test]
    fn only_cpu_time_is_limited() {
        let call = IsolatedCall { function: sleep as *const () as usize, argument: 0 };
        // SAFETY: this is a function of that type.
        assert_eq!(unsafe { call_in_children(&[call], 1) }, Ok(vec![Ending::Returned]));
    }

    #[test]
    fn every_ending_is_reported() {
        let mut memory = SharedMemory::new(1).unwrap();
        let call = |function: extern "C" fn(usize), argument| IsolatedCall { function: function as usize, argument };
        let (good, behind) = (memory.address(), memory.address() + memory.bytes().len());
        let calls = [
            call(add_one, good),
            call(add_one, behind),
            call(add_one, good),
            call(leave, 0),
            call(spin, 0),
            call(spin, 0),
        ];
        // SAFETY: these are functions of that type.
        let endings = unsafe { call_in_children(&calls, 1) }.unwrap();
        memory.take_back();
        assert!(matches!(endings[1], Ending::Fault { signal: libc::SIGSEGV, address, .. } if address == behind));
        let others = [Ending::Returned, Ending::Died { status: 7 << 8 }, Ending::Late, Ending::NotRun];
        assert_eq!((endings[0], &endings[2..]), (Ending::Returned, &others[..]));
        assert_eq!(memory.bytes()[..2], [2, 0]);
    }
}
