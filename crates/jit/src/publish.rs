//! Announcement of new code to the processors that run it. It is needed on AArch64, where processors do not notice by
//! themselves.

#[cfg(windows)]
use windows_sys::Win32::System::{Diagnostics::Debug::FlushInstructionCache, Threading::GetCurrentProcess};

/// Makes new code visible to instruction fetches (Arm Architecture Reference Manual, B2.4.4).
///
/// # Safety
/// The range must be readable memory.
pub(crate) unsafe fn clean_caches(start: usize, bytes: usize) {
    #[cfg(test)]
    steps::note(steps::Step::CachesCleaned);
    #[cfg(windows)]
    // SAFETY: cache maintenance of readable memory, as the caller promises.
    unsafe {
        FlushInstructionCache(GetCurrentProcess(), std::ptr::with_exposed_provenance(start), bytes);
    }
    #[cfg(target_vendor = "apple")]
    // SAFETY: cache maintenance of readable memory, as the caller promises.
    unsafe {
        sys_icache_invalidate(std::ptr::with_exposed_provenance_mut(start), bytes);
    }
    #[cfg(all(target_arch = "aarch64", not(any(windows, target_vendor = "apple"))))]
    {
        let lines: u64;
        // SAFETY: reads a register that every program may read.
        unsafe { std::arch::asm!("mrs {}, ctr_el0", out(reg) lines, options(nomem, nostack)) };
        // Smallest lines of the data and instruction caches, in bytes.
        let (data, code) = (4 << (lines >> 16 & 15), 4 << (lines & 15));
        // SAFETY: cache maintenance of readable memory, as the caller promises.
        unsafe {
            for line in (start & !(data - 1)..start + bytes).step_by(data) {
                std::arch::asm!("dc cvau, {}", in(reg) line, options(nostack));
            }
            std::arch::asm!("dsb ish", options(nostack));
            for line in (start & !(code - 1)..start + bytes).step_by(code) {
                std::arch::asm!("ic ivau, {}", in(reg) line, options(nostack));
            }
            std::arch::asm!("dsb ish", "isb", options(nostack));
        }
    }
    let _ = (start, bytes);
}

#[cfg(target_vendor = "apple")]
unsafe extern "C" {
    /// Makes new code visible to instruction fetches of all processors (macOS manual, `sys_icache_invalidate(3)`).
    fn sys_icache_invalidate(start: *mut libc::c_void, bytes: usize);
}

/// Makes every processor that runs a thread of this process discard prefetched instructions. Otherwise a processor
/// may execute instructions that it fetched before new code was written to their address (Arm Architecture Reference
/// Manual, B2.2.5).
///
/// Kernels older than Linux 4.16 do not support this. The function has no effect then. Other systems do it when caches are
/// cleaned.
pub(crate) fn synchronize_cores() {
    #[cfg(test)]
    steps::note(steps::Step::CoresSynchronized);
    #[cfg(all(target_arch = "aarch64", target_os = "linux"))]
    if !membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE) {
        // A process must register before its first barrier.
        membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE);
        membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE);
    }
}

/// Executes the system call `membarrier`. Returns `false` if the kernel refuses.
#[cfg(all(target_arch = "aarch64", target_os = "linux"))]
fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: the call does not access memory of the process.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Record of the steps by which a thread makes code known, for tests: each step is taken on every machine, whatever it does there.
#[cfg(test)]
pub(crate) mod steps {
    use std::cell::RefCell;

    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) enum Step {
        CachesCleaned,
        MadeExecutable,
        CoresSynchronized,
    }

    thread_local! {
        static STEPS: RefCell<Vec<Step>> = const { RefCell::new(Vec::new()) };
    }

    pub(crate) fn note(step: Step) {
        STEPS.with_borrow_mut(|steps| steps.push(step));
    }

    /// Returns the steps since the last call.
    pub(crate) fn take() -> Vec<Step> {
        STEPS.take()
    }
}

#[cfg(all(test, target_arch = "aarch64", target_os = "linux"))]
mod tests {
    use super::*;

    /// Checks that the barrier is announced and executed. The kernel refuses it to a process that has not announced
    /// it.
    #[test]
    fn the_barrier_is_announced_and_made() {
        synchronize_cores();
        // SAFETY: the call does not access memory of the process.
        let known = unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_QUERY, 0, 0) };
        let command = libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE;
        assert_eq!(membarrier(command), known > 0 && known & i64::from(command) != 0);
    }
}
