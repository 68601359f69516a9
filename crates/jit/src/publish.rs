//! New code made known to the processors that run it, where they do not see it by themselves: on AArch64.

/// Makes code just written visible to the fetching of instructions (Arm Architecture Reference Manual, B2.4.4).
///
/// # Safety
/// The range is readable memory.
pub(crate) unsafe fn clean_caches(start: usize, bytes: usize) {
    #[cfg(target_arch = "aarch64")]
    {
        let lines: u64;
        // SAFETY: reads a register that every program may read.
        unsafe { std::arch::asm!("mrs {}, ctr_el0", out(reg) lines, options(nomem, nostack)) };
        // The smallest lines of data and instruction caches, in words, as logarithms.
        let (data, code) = (4 << (lines >> 16 & 15), 4 << (lines & 15));
        // SAFETY: cache maintenance of memory that is readable, as the caller promises.
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
    #[cfg(not(target_arch = "aarch64"))]
    let _ = (start, bytes);
}

/// Makes every processor that runs a thread of this process fetch its next instructions anew. A processor may otherwise run
/// what it fetched from an address before other code came there (Arm Architecture Reference Manual, B2.2.5).
///
/// Kernels older than Linux 4.16 have no such call, and nothing is done then.
pub(crate) fn synchronize_cores() {
    #[cfg(all(target_arch = "aarch64", target_os = "linux"))]
    if !membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE) {
        // The first time in a process, which has to announce that it makes the call.
        membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE);
        membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE);
    }
}

/// Makes a call of the kernel's for memory barriers of all threads. Returns `false` if the kernel refuses.
#[cfg(all(target_arch = "aarch64", target_os = "linux"))]
fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: the call touches no memory of the process.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Returns the protection, beside others, of code that has landing pads where indirect branches go: `PROT_BTI` where the processor
/// checks them.
pub(crate) fn branch_protection(has_landing_pads: bool) -> i32 {
    #[cfg(all(target_arch = "aarch64", target_os = "linux"))]
    if has_landing_pads && std::arch::is_aarch64_feature_detected!("bti") {
        return 0x10;
    }
    let _ = has_landing_pads;
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pads_are_checked_only_where_there_are_pads() {
        assert_eq!(branch_protection(false), 0);
        #[cfg(all(target_arch = "aarch64", target_os = "linux"))]
        assert_eq!(branch_protection(true) != 0, std::arch::is_aarch64_feature_detected!("bti"));
        #[cfg(not(target_arch = "aarch64"))]
        assert_eq!(branch_protection(true), 0);
    }

    /// The kernel refuses the barrier to a process that has not announced it.
    #[cfg(all(target_arch = "aarch64", target_os = "linux"))]
    #[test]
    fn the_barrier_is_announced_and_made() {
        synchronize_cores();
        // SAFETY: the call touches no memory of the process.
        let known = unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_QUERY, 0, 0) };
        let command = libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE;
        assert_eq!(membarrier(command), known > 0 && known & i64::from(command) != 0);
    }
}
