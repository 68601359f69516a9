//! Ranges of reserved addresses, which all modules of the process share.
//!
//! An [`Arena`] reserves addresses once, and keeps pages of one kind adjacent.
//!
//! Soundness: an `Arena` owns its addresses from their reservation to their release, and [`Runs`] gives every byte to at
//! most one owner at a time.

use crate::error::LoadError;
use crate::runs::Runs;
use crate::system::{Access, Host, System};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Kind of the contents of pages, which determines their protection after sealing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageKind {
    /// Code: read and execute.
    Code,
    /// Data that no code writes to: read.
    ReadOnly,
    /// Data that code writes to: read and write.
    Writable,
}

impl PageKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [PageKind; 3] = [PageKind::Code, PageKind::ReadOnly, PageKind::Writable];

    /// Returns the access to sealed pages without landing pads.
    pub(crate) fn access(self) -> Access {
        match self {
            PageKind::Code => Access::Execute,
            PageKind::ReadOnly => Access::Read,
            PageKind::Writable => Access::ReadWrite,
        }
    }
}

/// Size in bytes for each kind of pages, by the number of the kind.
pub(crate) type Needs = [usize; PageKind::ALL.len()];

/// A range of reserved addresses.
#[derive(Debug)]
pub(crate) struct Arena {
    start: usize,
    bytes: usize,
    /// Start and size in bytes of the first room, if it is in memory for code alone.
    code: Option<(usize, usize)>,
    /// Free pages: one room for each kind, or one for all kinds.
    rooms: Mutex<Vec<Room>>,
}

/// Free pages of an arena.
#[derive(Debug)]
pub(crate) struct Room {
    free: Runs,
    /// Free pages that are already writable, so that one system call serves many small modules.
    open: Runs,
}

/// Number of pages that are made writable at a time, for modules that need one.
const OPENED_PAGES: usize = 16;

impl Room {
    /// Takes bytes. Returns their address, and whether they are writable already.
    fn take(&mut self, bytes: usize, align: usize) -> Option<(usize, bool)> {
        let page = Host::page_size();
        if (bytes, align) != (page, page) {
            return Some((self.free.take(bytes, align)?, false));
        }
        if let Some(start) = self.open.take(page, page) {
            return Some((start, true));
        }
        let batch = OPENED_PAGES * page;
        // Batches must leave enough free pages, because modules that need more than one page cannot use them.
        if !self.free.has(OPENED_PAGES * batch, page) {
            return Some((self.free.take(page, page)?, false));
        }
        let start = self.free.take(batch, page)?;
        // SAFETY: the pages were just taken.
        if !unsafe { Host::open(start, batch) } {
            self.free.give_back(start + page, batch - page);
            return Some((start, false));
        }
        self.open.give_back(start + page, batch - page);
        Some((start, true))
    }
}

impl Arena {
    /// Reserves rooms of these sizes in bytes, which are multiples of the page size. The first one is for code if code
    /// has memory of its own.
    pub(crate) fn reserve(rooms: &[usize], has_code_memory: bool) -> Result<Arena, LoadError> {
        let sum = |rooms: &[usize]| rooms.iter().try_fold(0_usize, |sum, &bytes| sum.checked_add(bytes));
        let all = sum(rooms).ok_or(LoadError::Memory { bytes: usize::MAX })?;
        let no_memory = || LoadError::Memory { bytes: all };
        let (of_code, others) = rooms.split_at(usize::from(has_code_memory));
        let bytes = others.iter().sum();
        let start = Host::reserve(bytes).ok_or_else(no_memory)?;
        // From here on, dropping it ends the reservations.
        let mut arena = Arena { start, bytes, code: None, rooms: Mutex::default() };
        let mut free = Vec::new();
        if let [bytes] = *of_code {
            let code = Host::reserve_code(bytes, start).ok_or_else(no_memory)?;
            arena.code = Some((code, bytes));
            free.push(Room { free: Runs::new(code, bytes), open: Runs::default() });
            if code.abs_diff(start) > REACH - all.min(REACH) {
                return Err(no_memory());
            }
        }
        let mut at = start;
        free.extend(others.iter().map(|&bytes| {
            at += bytes;
            Room { free: Runs::new(at - bytes, bytes), open: Runs::default() }
        }));
        arena.rooms = Mutex::new(free);
        Ok(arena)
    }

    /// Returns `true` if code is in memory of its own.
    pub(crate) fn has_code_memory(&self) -> bool {
        self.code.is_some()
    }

    pub(crate) fn rooms(&self) -> MutexGuard<'_, Vec<Room>> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `true` if the needs of all kinds fit their rooms.
    pub(crate) fn fits(rooms: &[Room], needs: Needs, align: usize) -> bool {
        rooms.iter().zip(needs).all(|(room, bytes)| bytes == 0 || room.free.has(bytes, align))
    }

    /// Takes bytes for pages of a kind. Returns their address, and whether they are writable already.
    pub(crate) fn take(&self, kind: PageKind, bytes: usize, align: usize) -> Option<(usize, bool)> {
        self.take_from(&mut self.rooms(), kind, bytes, align)
    }

    /// Takes bytes for pages of a kind from the rooms of the arena.
    pub(crate) fn take_from(
        &self,
        rooms: &mut [Room],
        kind: PageKind,
        bytes: usize,
        align: usize,
    ) -> Option<(usize, bool)> {
        let room = (kind as usize).min(rooms.len() - 1);
        if kind == PageKind::Code && self.has_code_memory() {
            return Some((rooms[room].free.take(bytes, align)?, false));
        }
        rooms[room].take(bytes, align)
    }

    pub(crate) fn give_back(&self, kind: PageKind, start: usize, bytes: usize) {
        let mut rooms = self.rooms();
        let room = (kind as usize).min(rooms.len() - 1);
        rooms[room].free.give_back(start, bytes);
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: these are the reservations of `reserve`, released once. No `Pages` of it are left, because each holds the
        // arena.
        unsafe {
            Host::release(self.start, self.bytes);
            if let Some((start, bytes)) = self.code {
                Host::release(start, bytes);
            }
        }
    }
}

/// The arenas of the process, oldest first.
static SHARED: Mutex<Vec<Arc<Arena>>> = Mutex::new(Vec::new());

/// Size of the first arena in bytes. Each further one is as large as all before it, up to [`LARGEST_ARENA`].
const FIRST_ARENA: usize = 1 << 26;
/// Maximum size of an arena in bytes: a quarter of the distance at which code on both machines reaches data.
const LARGEST_ARENA: usize = 1 << 29;
/// Largest distance in bytes between code and data of an arena.
const REACH: usize = 4 * LARGEST_ARENA - 1;
/// Bytes of every kind that an arena must have free when a module begins to take pages from it, so that most modules
/// find all their memory in one arena.
pub(crate) const SPARE: usize = 1 << 18;

/// Returns the first arena in which all needs fit. Creates one if there is none.
pub(crate) fn shared_arena(needs: Needs, align: usize) -> Result<Arc<Arena>, LoadError> {
    let mut arenas = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(arena) = arenas.iter().find(|arena| Arena::fits(&arena.rooms(), needs, align)) {
        return Ok(arena.clone());
    }
    let no_memory = LoadError::Memory { bytes: needs.iter().fold(0, |sum, bytes| sum.saturating_add(*bytes)) };
    let whole = arenas.iter().fold(0, |sum: usize, arena| sum.saturating_add(arena.bytes));
    let mut usual = whole.clamp(FIRST_ARENA, LARGEST_ARENA);
    loop {
        // Half of the addresses are for code.
        let mut rooms = [usual / 2, usual / 4, usual / 4];
        for (room, bytes) in rooms.iter_mut().zip(needs) {
            let least = bytes.checked_add(align).and_then(|bytes| bytes.checked_next_multiple_of(Host::page_size()));
            *room = least.ok_or_else(|| no_memory.clone())?.max(room.next_multiple_of(Host::page_size()));
        }
        match Arena::reserve(&rooms, Host::HAS_CODE_MEMORY) {
            Ok(arena) => {
                arenas.push(Arc::new(arena));
                return Ok(arenas[arenas.len() - 1].clone());
            }
            // The process may have a limit.
            Err(_) if usual > SPARE => usual /= 2,
            Err(error) => return Err(error),
        }
    }
}
