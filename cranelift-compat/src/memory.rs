//! Memory of modules: what clients may provide, and two providers.
//!
//! Sound because: a [`Block`] is memory that its provider allocated for it alone, and is written to only until it is
//! finalized; the providers here map what they hand out, hand out every byte once, and unmap it only on an
//! `unsafe` call. A client's provider must do the same; what it returns is trusted.
#![allow(unsafe_code, reason = "memory is mapped, written, and freed while pointers into it may exist")]

use crate::jit::JITModule;
use cranelift_module::{ModuleError, ModuleResult};
use std::io;
use std::ptr::null_mut;

/// Protection of code against jumps to its middle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BranchProtection {
    /// None.
    None,
    /// The extension for branch target identification of the Arm architecture.
    BTI,
}

/// What memory is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JITMemoryKind {
    /// Code, once it is finalized.
    Executable,
    /// Data that may be written to.
    Writable,
    /// Data that is only read, once it is finalized.
    ReadOnly,
}

/// Provides the memory of a module.
pub trait JITMemoryProvider {
    /// Allocates `size` bytes at a multiple of `align`, writable until the next call of [`JITMemoryProvider::finalize`].
    ///
    /// # Errors
    /// No memory.
    fn allocate(&mut self, size: usize, align: u64, kind: JITMemoryKind) -> io::Result<*mut u8>;

    /// Frees everything allocated.
    ///
    /// # Safety
    /// No code in it is running or called again, and no data in it is used again.
    unsafe fn free_memory(&mut self);

    /// Protects everything allocated since the last time as its kind requires.
    ///
    /// # Errors
    /// What the system refuses.
    fn finalize(&mut self, branch_protection: BranchProtection) -> ModuleResult<()>;
}

/// Memory that was allocated for one definition.
pub(crate) struct Block {
    address: usize,
    size: usize,
}

impl Block {
    pub(crate) fn allocate(
        memory: &mut dyn JITMemoryProvider,
        size: usize,
        align: u64,
        kind: JITMemoryKind,
    ) -> ModuleResult<Block> {
        let address = memory.allocate(size, align, kind).map_err(|err| ModuleError::Allocation { err })?;
        Ok(Block { address: address.expose_provenance(), size })
    }

    pub(crate) fn address(&self) -> usize {
        self.address
    }

    /// What stands in the block, which is not finalized.
    pub(crate) fn contents(&mut self) -> &mut [u8] {
        // SAFETY: the provider allocated these bytes, zero or written since, for this block alone, and they are writable until
        // it is finalized; the borrow of `self` keeps other slices away.
        unsafe { std::slice::from_raw_parts_mut(std::ptr::with_exposed_provenance_mut(self.address), self.size) }
    }
}

impl JITModule {
    /// Frees the memory of everything defined. Without this call it stays until the process ends.
    ///
    /// # Safety
    /// No function of the module is running or called again, and no data of it is used again.
    pub unsafe fn free_memory(mut self) {
        self.registrations.clear();
        self.symbol_files.clear();
        // SAFETY: promised by the caller.
        unsafe { self.memory.free_memory() };
    }
}

/// Bytes that are mapped at least at a time.
const CHUNK_BYTES: usize = 1 << 18;

fn page_size() -> usize {
    // SAFETY: `sysconf` has no preconditions.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

fn map(bytes: usize, protection: i32) -> io::Result<usize> {
    // SAFETY: an anonymous private mapping at an address of the system's choice touches no existing memory.
    let address = unsafe { libc::mmap(null_mut(), bytes, protection, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0) };
    if address == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(address as usize) }
}

/// Sets the protection of pages of a mapping of this file.
fn protect(start: usize, bytes: usize, protection: i32) -> io::Result<()> {
    // SAFETY: the callers pass whole pages of their own mappings, of which no slice is borrowed.
    let done = unsafe { libc::mprotect(std::ptr::with_exposed_provenance_mut(start), bytes, protection) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Writable pages of one kind, of which some bytes at the start are in use.
#[derive(Default)]
struct Segment {
    start: usize,
    bytes: usize,
    used: usize,
}

impl Segment {
    fn take(&mut self, size: usize, align: usize) -> Option<usize> {
        let address = (self.start + self.used).checked_next_multiple_of(align)?;
        let end = (address - self.start).checked_add(size)?;
        (self.bytes > 0 && end <= self.bytes).then(|| {
            self.used = end;
            address
        })
    }

    /// Protects the pages in use; the others stay for what comes.
    fn seal(&mut self, kind: JITMemoryKind, branch_protection: BranchProtection) -> io::Result<()> {
        let bytes = self.used.next_multiple_of(page_size());
        if bytes == 0 {
            return Ok(());
        }
        match kind {
            JITMemoryKind::Writable => {}
            JITMemoryKind::ReadOnly => protect(self.start, bytes, libc::PROT_READ)?,
            JITMemoryKind::Executable => {
                // SAFETY: the pages are readable.
                unsafe { kingpost_jit::publish_instructions(self.start, bytes) };
                protect(self.start, bytes, libc::PROT_READ | libc::PROT_EXEC | bti(branch_protection))?;
            }
        }
        *self = Segment { start: self.start + bytes, bytes: self.bytes - bytes, used: 0 };
        Ok(())
    }
}

/// The flag for pages with landing pads, where the processor has them.
fn bti(branch_protection: BranchProtection) -> i32 {
    #[cfg(all(target_arch = "aarch64", target_os = "linux"))]
    if branch_protection == BranchProtection::BTI && std::arch::is_aarch64_feature_detected!("bti") {
        return 0x10;
    }
    let _ = branch_protection;
    0
}

/// The segments that are not used up.
#[derive(Default)]
struct Segments(Vec<(JITMemoryKind, Segment)>);

impl Segments {
    /// Takes memory from a segment, or from a new one that `open` makes of so many bytes at least.
    fn allocate(
        &mut self,
        size: usize,
        align: u64,
        kind: JITMemoryKind,
        open: impl FnOnce(usize) -> io::Result<Segment>,
    ) -> io::Result<*mut u8> {
        let no_memory = || io::Error::from(io::ErrorKind::OutOfMemory);
        let align = usize::try_from(align).map_err(|_| no_memory())?;
        let mut of_kind = self.0.iter_mut().rev().filter(|(of, _)| *of == kind);
        let address = match of_kind.find_map(|(_, segment)| segment.take(size, align)) {
            Some(address) => address,
            None => {
                // Pages are aligned; more than that takes room.
                let bytes = size.checked_add(align).and_then(|bytes| bytes.checked_next_multiple_of(page_size()));
                let mut segment = open(bytes.ok_or_else(no_memory)?)?;
                let address = segment.take(size, align).ok_or_else(no_memory)?;
                self.0.push((kind, segment));
                address
            }
        };
        Ok(std::ptr::with_exposed_provenance_mut(address))
    }

    fn finalize(&mut self, branch_protection: BranchProtection) -> ModuleResult<()> {
        for (kind, segment) in &mut self.0 {
            segment.seal(*kind, branch_protection).map_err(|err| {
                ModuleError::Backend(anyhow::Error::new(err).context("cannot protect memory of the module"))
            })?;
        }
        self.0.retain(|(_, segment)| segment.bytes > 0);
        Ok(())
    }
}

/// Memory that the system maps as it is needed.
#[derive(Default)]
pub struct SystemMemoryProvider {
    segments: Segments,
    /// Start and length of everything mapped.
    mappings: Vec<(usize, usize)>,
}

impl SystemMemoryProvider {
    /// A provider that has mapped nothing.
    pub fn new() -> SystemMemoryProvider {
        SystemMemoryProvider::default()
    }
}

impl JITMemoryProvider for SystemMemoryProvider {
    fn allocate(&mut self, size: usize, align: u64, kind: JITMemoryKind) -> io::Result<*mut u8> {
        let mappings = &mut self.mappings;
        self.segments.allocate(size, align, kind, |bytes| {
            let bytes = bytes.max(CHUNK_BYTES);
            let start = map(bytes, libc::PROT_READ | libc::PROT_WRITE)?;
            mappings.push((start, bytes));
            Ok(Segment { start, bytes, used: 0 })
        })
    }

    unsafe fn free_memory(&mut self) {
        self.segments = Segments::default();
        for (start, bytes) in self.mappings.drain(..) {
            // SAFETY: a mapping of this provider, unmapped once; that nothing uses it any more is promised by the caller.
            unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(start), bytes) };
        }
    }

    fn finalize(&mut self, branch_protection: BranchProtection) -> ModuleResult<()> {
        self.segments.finalize(branch_protection)
    }
}

/// Memory from one range of addresses, so that everything is near to everything.
pub struct ArenaMemoryProvider {
    segments: Segments,
    start: usize,
    bytes: usize,
    /// Bytes at the start that segments have.
    used: usize,
}

impl ArenaMemoryProvider {
    /// Reserves a range of so many bytes, of which none takes memory yet.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn new_with_size(reserve_size: usize) -> io::Result<ArenaMemoryProvider> {
        let bytes = reserve_size.max(1).checked_next_multiple_of(page_size());
        let bytes = bytes.ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(ArenaMemoryProvider { segments: Segments::default(), start: map(bytes, libc::PROT_NONE)?, bytes, used: 0 })
    }
}

impl JITMemoryProvider for ArenaMemoryProvider {
    fn allocate(&mut self, size: usize, align: u64, kind: JITMemoryKind) -> io::Result<*mut u8> {
        let (start, free) = (self.start + self.used, self.bytes - self.used);
        let used = &mut self.used;
        self.segments.allocate(size, align, kind, |bytes| {
            if bytes > free {
                return Err(io::ErrorKind::OutOfMemory.into());
            }
            let bytes = bytes.max(CHUNK_BYTES.min(free / KINDS));
            let bytes = bytes.next_multiple_of(page_size()).min(free);
            protect(start, bytes, libc::PROT_READ | libc::PROT_WRITE)?;
            *used += bytes;
            Ok(Segment { start, bytes, used: 0 })
        })
    }

    unsafe fn free_memory(&mut self) {
        self.segments = Segments::default();
        // SAFETY: the mapping of this provider, unmapped once as its length is forgotten; that nothing uses it any more is
        // promised by the caller.
        unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(self.start), std::mem::take(&mut self.bytes)) };
        self.used = 0;
    }

    fn finalize(&mut self, branch_protection: BranchProtection) -> ModuleResult<()> {
        self.segments.finalize(branch_protection)
    }
}

/// How many kinds of memory share an arena.
const KINDS: usize = 3;
