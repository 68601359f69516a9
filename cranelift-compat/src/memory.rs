//! Memory of modules: the interface of providers, and two providers.
//!
//! Soundness: a [`Block`] is memory that its provider allocated for it alone, and it is written only until it is
//! finalized. The providers here return every byte of their [`Pages`] once, and free pages that may be in use only in
//! an `unsafe` call. A client's provider must do the same; its results are trusted.
#![allow(unsafe_code, reason = "memory is written, and freed while pointers into it may exist")]

use crate::jit::JITModule;
use cranelift_module::{ModuleError, ModuleResult};
use kingpost_jit::{BranchTargets, PageKind, PageSource, Pages};
use std::io;

/// Protection of code against jumps into its middle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BranchProtection {
    /// None.
    None,
    /// The extension for branch target identification of the Arm architecture.
    BTI,
}

/// Kind of contents of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JITMemoryKind {
    /// Code after it is finalized.
    Executable,
    /// Data that may be written.
    Writable,
    /// Data that is only read after it is finalized.
    ReadOnly,
}

/// Provides the memory of a module.
pub trait JITMemoryProvider {
    /// Allocates `size` bytes at a multiple of `align`, writable until the next call of [`JITMemoryProvider::finalize`].
    ///
    /// # Errors
    /// If there is not enough memory.
    fn allocate(&mut self, size: usize, align: u64, kind: JITMemoryKind) -> io::Result<*mut u8>;

    /// Frees all allocated memory.
    ///
    /// # Safety
    /// No code in the memory may be running or be called again, and no data in it may be used again.
    unsafe fn free_memory(&mut self);

    /// Protects everything allocated since the last call according to its kind.
    ///
    /// # Errors
    /// If the system refuses.
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

    /// Returns the contents of the block, which must not be finalized.
    pub(crate) fn contents(&mut self) -> &mut [u8] {
        // SAFETY: the provider allocated these bytes for this block alone. They are initialized, and writable until
        // the block is finalized. The borrow of `self` prevents other slices.
        unsafe { std::slice::from_raw_parts_mut(std::ptr::with_exposed_provenance_mut(self.address), self.size) }
    }
}

impl JITModule {
    /// Frees the memory of all definitions. Without this call it stays until the process ends.
    ///
    /// # Safety
    /// No function of the module may be running or be called again, and no data of it may be used again.
    pub unsafe fn free_memory(mut self) {
        self.registrations.clear();
        self.symbol_files.clear();
        // SAFETY: the caller promises it.
        unsafe { self.memory.free_memory() };
    }
}

/// Memory of a module: pages that definitions share until they are finalized.
struct Spans {
    source: PageSource,
    /// Writable pages, with the number of bytes in use at their start.
    open: Vec<(JITMemoryKind, Pages, usize)>,
    /// Finalized pages.
    sealed: Vec<Pages>,
}

/// Size in bytes up to which a module doubles its memory with each allocation of pages.
const MOST_BYTES: usize = 1 << 18;

impl Spans {
    fn new(source: PageSource) -> Spans {
        Spans { source, open: Vec::new(), sealed: Vec::new() }
    }

    fn allocate(&mut self, size: usize, align: u64, kind: JITMemoryKind) -> io::Result<*mut u8> {
        let no_memory = || io::Error::from(io::ErrorKind::OutOfMemory);
        let align = usize::try_from(align).ok().filter(|&align| align > 0).ok_or_else(no_memory)?;
        let mut of_kind = self.open.iter_mut().rev().filter(|(of, ..)| *of == kind);
        if let Some(address) = of_kind.find_map(|(_, pages, used)| take(pages, used, size, align)) {
            return Ok(std::ptr::with_exposed_provenance_mut(address));
        }
        let before: usize = self.open.iter().filter(|(of, ..)| *of == kind).map(|(_, pages, _)| pages.size()).sum();
        let source = &mut self.source;
        let mut allocate = |bytes| source.allocate(page_kind(kind), bytes, align).map_err(|_| no_memory());
        let mut pages = allocate(size.max(before.min(MOST_BYTES))).or_else(|_| allocate(size))?;
        let mut used = 0;
        let address = take(&mut pages, &mut used, size, align).ok_or_else(no_memory)?;
        self.open.push((kind, pages, used));
        Ok(std::ptr::with_exposed_provenance_mut(address))
    }

    /// Protects the pages in use and returns all others. Writable data stays open.
    fn finalize(&mut self, branch_protection: BranchProtection) -> ModuleResult<()> {
        let mut index = 0;
        while let Some((kind, pages, used)) = self.open.get_mut(index) {
            if *kind == JITMemoryKind::Writable {
                index += 1;
                continue;
            }
            pages.truncate(*used);
            let targets = match branch_protection {
                BranchProtection::BTI => BranchTargets::LandingPads,
                _ => BranchTargets::Any,
            };
            pages.seal(targets).map_err(|error| {
                ModuleError::Backend(anyhow::Error::new(error).context("cannot protect memory of the module"))
            })?;
            self.sealed.push(self.open.remove(index).1);
        }
        Ok(())
    }

    fn free(&mut self) {
        self.open.clear();
        self.sealed.clear();
    }
}

impl Drop for Spans {
    /// Keeps memory that may still be in use: finalized pages, and writable data. Returns all other pages.
    fn drop(&mut self) {
        for (_, mut pages, used) in self.open.drain(..).filter(|(kind, ..)| *kind == JITMemoryKind::Writable) {
            pages.truncate(used);
            pages.leak();
        }
        self.sealed.drain(..).for_each(Pages::leak);
    }
}

/// Takes bytes after the used part of the pages. Returns their address.
fn take(pages: &mut Pages, used: &mut usize, size: usize, align: usize) -> Option<usize> {
    let address = (pages.address() + *used).checked_next_multiple_of(align)?;
    let end = (address - pages.address()).checked_add(size)?;
    (end <= pages.size()).then(|| {
        *used = end;
        address
    })
}

fn page_kind(kind: JITMemoryKind) -> PageKind {
    match kind {
        JITMemoryKind::Executable => PageKind::Code,
        JITMemoryKind::Writable => PageKind::Writable,
        JITMemoryKind::ReadOnly => PageKind::ReadOnly,
    }
}

/// A provider of memory in ranges of addresses that all modules of the process share. A module takes whole pages.
pub struct SystemMemoryProvider(Spans);

impl SystemMemoryProvider {
    /// Returns a provider without memory.
    pub fn new() -> SystemMemoryProvider {
        SystemMemoryProvider(Spans::new(PageSource::shared()))
    }
}

impl Default for SystemMemoryProvider {
    fn default() -> SystemMemoryProvider {
        SystemMemoryProvider::new()
    }
}

/// A provider of memory in a single range of addresses, so that all definitions are near each other.
pub struct ArenaMemoryProvider(Spans);

impl ArenaMemoryProvider {
    /// Reserves a range of `reserve_size` bytes of addresses, which take no memory yet.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn new_with_size(reserve_size: usize) -> Result<ArenaMemoryProvider, region::Error> {
        let no_memory = |_| region::Error::SystemCall(io::ErrorKind::OutOfMemory.into());
        let source = PageSource::reserve(reserve_size).map_err(no_memory)?;
        Ok(ArenaMemoryProvider(Spans::new(source)))
    }
}

macro_rules! provide_spans {
    ($($provider:ty),*) => {
        $(impl JITMemoryProvider for $provider {
            fn allocate(&mut self, size: usize, align: u64, kind: JITMemoryKind) -> io::Result<*mut u8> {
                self.0.allocate(size, align, kind)
            }

            unsafe fn free_memory(&mut self) {
                self.0.free();
            }

            fn finalize(&mut self, branch_protection: BranchProtection) -> ModuleResult<()> {
                self.0.finalize(branch_protection)
            }
        })*
    };
}

provide_spans!(SystemMemoryProvider, ArenaMemoryProvider);
