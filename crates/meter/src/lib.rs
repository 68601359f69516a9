//! Budgets of a compilation: work units and bytes, with cancellation.
//!
//! A *work unit* is about one instruction, operand, block or live range that one stage examines. A stage charges
//! its work in one of two ways:
//!
//! - [`Meter::reserve`], before work of a known amount, such as a walk over all instructions. Work that is refused
//!   is neither done nor counted.
//! - [`Meter::spend`], after work whose amount is known only then, in batches of at most [`BATCH`] units or of one
//!   block. The batch that exceeds the limit is counted, because it has been done.
//!
//! Units depend on the input only: not on time, threads, or memory left by earlier functions. A meter belongs to one
//! thread at a time. Its counters are atomic so that a shared context may own it, but they are only loaded and
//! stored.
//!
//! After the first refusal, every request is refused with the same reason until [`Meter::begin`]. A stage that
//! cannot return errors may therefore end early; the caller of the stage reads [`Meter::status`] afterwards.
//!
//! ```
//! use kingpost_meter::{Exceeded, Meter};
//!
//! let meter = Meter::new(100, u64::MAX, None);
//! assert_eq!(meter.reserve(60), Ok(()));
//! assert_eq!(meter.reserve(60), Err(Exceeded::Work { limit: 100 }));
//! assert_eq!((meter.spent(), meter.status()), (60, Err(Exceeded::Work { limit: 100 })));
//! meter.begin();
//! assert_eq!(meter.spend(100), Ok(()));
//! ```

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};

mod heap_bytes;

pub use heap_bytes::HeapBytes;

/// Largest number of units of one charge after the work, unless a block is larger.
pub const BATCH: u64 = 256;

/// Units between two reads of the cancellation flag.
const CANCEL_INTERVAL: u64 = 1024;

/// Reason why a compilation ends early.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Exceeded {
    /// The work exceeds its limit.
    Work {
        /// The limit in work units.
        limit: u64,
    },
    /// The memory exceeds its limit.
    Bytes {
        /// The limit in bytes.
        limit: u64,
    },
    /// The cancellation flag is set.
    Cancelled,
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exceeded::Work { limit } => write!(f, "more than {limit} {WORK}"),
            Exceeded::Bytes { limit } => write!(f, "more than {limit} {BYTES}"),
            Exceeded::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl std::error::Error for Exceeded {}

/// Name of work units in messages about limits.
pub const WORK: &str = "work units";
/// Name of bytes in messages about limits.
pub const BYTES: &str = "bytes of memory";

/// Counters of one function's compilation, and their limits.
#[derive(Debug)]
pub struct Meter {
    /// Limit of the work.
    work: u64,
    /// Limit of the bytes.
    bytes: u64,
    cancel: Option<Arc<AtomicBool>>,
    /// Work so far.
    spent: AtomicU64,
    /// Work above which [`Meter::examine`] decides: the limit, or less to read the flag; 0 after a refusal.
    next: AtomicU64,
    /// Bytes at the last end of a stage.
    held: AtomicU64,
    /// Greatest number of bytes so far.
    peak: AtomicU64,
    /// The reason of a refusal, as one of the constants below.
    state: AtomicU8,
}

/// Values of the field `state` of [`Meter`].
const WITHIN: u8 = 0;
const WORK_EXCEEDED: u8 = 1;
const BYTES_EXCEEDED: u8 = 2;
const CANCELLED: u8 = 3;

/// A meter without limits.
impl Default for Meter {
    fn default() -> Meter {
        Meter::new(u64::MAX, u64::MAX, None)
    }
}

impl Meter {
    /// Returns a meter with a limit of work units and a limit of bytes, and the flag that cancels, if there is one.
    pub fn new(work: u64, bytes: u64, cancel: Option<Arc<AtomicBool>>) -> Meter {
        let meter = Meter {
            work,
            bytes,
            cancel,
            spent: AtomicU64::new(0),
            next: AtomicU64::new(0),
            held: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            state: AtomicU8::new(WITHIN),
        };
        meter.begin();
        meter
    }

    /// Begins a new function: no work, no bytes, no refusal.
    pub fn begin(&self) {
        [&self.spent, &self.held, &self.peak].into_iter().for_each(|counter| counter.store(0, Relaxed));
        self.state.store(WITHIN, Relaxed);
        self.next.store(if self.cancel.is_some() { 0 } else { self.work }, Relaxed);
    }

    /// Counts work that has been done.
    ///
    /// # Errors
    /// If the work so far exceeds the limit, or compilation is canceled.
    #[inline]
    pub fn spend(&self, work: u64) -> Result<(), Exceeded> {
        let spent = self.spent.load(Relaxed).wrapping_add(work);
        if spent > self.next.load(Relaxed) {
            return self.examine(work, true);
        }
        self.spent.store(spent, Relaxed);
        Ok(())
    }

    /// Counts work before it is done.
    ///
    /// # Errors
    /// If the work would exceed the limit, or compilation is canceled. The work is not counted then.
    #[inline]
    pub fn reserve(&self, work: u64) -> Result<(), Exceeded> {
        let spent = self.spent.load(Relaxed).wrapping_add(work);
        if spent > self.next.load(Relaxed) {
            return self.examine(work, false);
        }
        self.spent.store(spent, Relaxed);
        Ok(())
    }

    /// Counts the growth of a counter, if it is at least [`BATCH`]. `paid` is the part that is counted already.
    ///
    /// # Errors
    /// See [`Meter::spend`].
    #[inline]
    pub fn spend_batch(&self, counter: u64, paid: &mut u64) -> Result<(), Exceeded> {
        if counter - *paid < BATCH {
            return Ok(());
        }
        self.spend_rest(counter, paid)
    }

    /// Counts the growth of a counter as [`Meter::spend_batch`] does, and records the bytes of the running stage at each
    /// batch as [`Meter::grow`] does.
    ///
    /// # Errors
    /// See [`Meter::spend`] and [`Meter::grow`].
    #[inline]
    pub fn spend_growing(&self, counter: u64, paid: &mut u64, bytes: impl FnOnce() -> u64) -> Result<(), Exceeded> {
        if counter - *paid < BATCH {
            return Ok(());
        }
        self.spend_and_grow(counter, paid, bytes)
    }

    /// Counts a batch and its bytes. This is not a part of its callers, which are hot.
    #[cold]
    #[inline(never)]
    fn spend_and_grow(&self, counter: u64, paid: &mut u64, bytes: impl FnOnce() -> u64) -> Result<(), Exceeded> {
        self.spend_rest(counter, paid)?;
        self.grow(bytes)
    }

    /// Counts the growth of a counter, however small it is.
    ///
    /// # Errors
    /// See [`Meter::spend`].
    pub fn spend_rest(&self, counter: u64, paid: &mut u64) -> Result<(), Exceeded> {
        let work = counter - std::mem::replace(paid, counter);
        self.spend(work)
    }

    /// Decides about work beyond the next point of decision.
    #[cold]
    #[inline(never)]
    fn examine(&self, work: u64, is_done: bool) -> Result<(), Exceeded> {
        self.status()?;
        let spent = self.spent.load(Relaxed).saturating_add(work);
        if self.cancel.as_ref().is_some_and(|flag| flag.load(Relaxed)) {
            return self.refuse(CANCELLED);
        }
        if spent <= self.work || is_done {
            self.spent.store(spent, Relaxed);
        }
        if spent > self.work {
            return self.refuse(WORK_EXCEEDED);
        }
        let interval = if self.cancel.is_some() { CANCEL_INTERVAL } else { u64::MAX };
        self.next.store(self.work.min(spent.saturating_add(interval)), Relaxed);
        Ok(())
    }

    fn refuse(&self, state: u8) -> Result<(), Exceeded> {
        self.state.store(state, Relaxed);
        self.next.store(0, Relaxed);
        self.status()
    }

    /// Reads the cancellation flag.
    ///
    /// # Errors
    /// If compilation is canceled, or a charge has been refused before.
    pub fn check(&self) -> Result<(), Exceeded> {
        match self.cancel.as_ref().is_some_and(|flag| flag.load(Relaxed)) && self.status().is_ok() {
            true => self.refuse(CANCELLED),
            false => self.status(),
        }
    }

    /// Returns whether all charges so far were granted.
    ///
    /// # Errors
    /// The reason of the first refusal.
    #[inline]
    pub fn status(&self) -> Result<(), Exceeded> {
        match self.state.load(Relaxed) {
            WITHIN => Ok(()),
            WORK_EXCEEDED => Err(Exceeded::Work { limit: self.work }),
            BYTES_EXCEEDED => Err(Exceeded::Bytes { limit: self.bytes }),
            _ => Err(Exceeded::Cancelled),
        }
    }

    /// Returns the work units so far. This exceeds the limit by at most the last batch.
    pub fn spent(&self) -> u64 {
        self.spent.load(Relaxed)
    }

    /// Returns `true` if bytes are limited. Otherwise they need not be counted.
    #[inline]
    pub fn counts_bytes(&self) -> bool {
        self.bytes != u64::MAX
    }

    /// Records the bytes that all memory of the compilation takes at the end of a stage.
    ///
    /// # Errors
    /// If they exceed the limit.
    pub fn hold(&self, bytes: u64) -> Result<(), Exceeded> {
        self.held.store(bytes, Relaxed);
        self.note_bytes(bytes)
    }

    /// Records that the memory of the running stage takes `bytes` in addition to the memory at the end of the last
    /// stage.
    ///
    /// # Errors
    /// If both together exceed the limit.
    #[inline]
    pub fn grow(&self, bytes: impl FnOnce() -> u64) -> Result<(), Exceeded> {
        match self.counts_bytes() {
            true => self.note_bytes(self.held.load(Relaxed).saturating_add(bytes())),
            false => Ok(()),
        }
    }

    #[inline(never)]
    fn note_bytes(&self, bytes: u64) -> Result<(), Exceeded> {
        self.status()?;
        self.peak.store(self.peak.load(Relaxed).max(bytes), Relaxed);
        if bytes > self.bytes { self.refuse(BYTES_EXCEEDED) } else { Ok(()) }
    }

    /// Returns the greatest number of bytes so far; 0 if bytes are not limited.
    pub fn peak_bytes(&self) -> u64 {
        self.peak.load(Relaxed)
    }
}

/// A borrowed meter, or none. Without a meter, every charge is granted.
#[derive(Clone, Copy, Default, Debug)]
pub struct MeterRef<'a>(Option<&'a Meter>);

impl<'a> From<&'a Meter> for MeterRef<'a> {
    fn from(meter: &'a Meter) -> MeterRef<'a> {
        MeterRef(Some(meter))
    }
}

impl MeterRef<'_> {
    /// Passes the request to [`Meter::spend`], if there is a meter.
    ///
    /// # Errors
    /// See [`Meter::spend`].
    #[inline]
    pub fn spend(self, work: u64) -> Result<(), Exceeded> {
        self.0.map_or(Ok(()), |meter| meter.spend(work))
    }

    /// Passes the request to [`Meter::reserve`], if there is a meter.
    ///
    /// # Errors
    /// See [`Meter::reserve`].
    #[inline]
    pub fn reserve(self, work: u64) -> Result<(), Exceeded> {
        self.0.map_or(Ok(()), |meter| meter.reserve(work))
    }

    /// Passes the request to [`Meter::spend_batch`], if there is a meter.
    ///
    /// # Errors
    /// See [`Meter::spend`].
    #[inline]
    pub fn spend_batch(self, counter: u64, paid: &mut u64) -> Result<(), Exceeded> {
        self.0.map_or(Ok(()), |meter| meter.spend_batch(counter, paid))
    }

    /// Passes the request to [`Meter::spend_growing`], if there is a meter.
    ///
    /// # Errors
    /// See [`Meter::spend_growing`].
    #[inline]
    pub fn spend_growing(self, counter: u64, paid: &mut u64, bytes: impl FnOnce() -> u64) -> Result<(), Exceeded> {
        self.0.map_or(Ok(()), |meter| meter.spend_growing(counter, paid, bytes))
    }

    /// Passes the request to [`Meter::spend_rest`], if there is a meter.
    ///
    /// # Errors
    /// See [`Meter::spend`].
    #[inline]
    pub fn spend_rest(self, counter: u64, paid: &mut u64) -> Result<(), Exceeded> {
        self.0.map_or(Ok(()), |meter| meter.spend_rest(counter, paid))
    }

    /// Passes the request to [`Meter::grow`], if there is a meter.
    ///
    /// # Errors
    /// See [`Meter::grow`].
    #[inline]
    pub fn grow(self, bytes: impl FnOnce() -> u64) -> Result<(), Exceeded> {
        self.0.map_or(Ok(()), |meter| meter.grow(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_counted_exactly() {
        let meter = Meter::new(10, u64::MAX, None);
        assert_eq!(meter.spend(10), Ok(()));
        assert_eq!(meter.reserve(1), Err(Exceeded::Work { limit: 10 }));
        assert_eq!(meter.spent(), 10);
        assert_eq!(meter.spend(0), Err(Exceeded::Work { limit: 10 }), "refusals last");
        meter.begin();
        assert_eq!(meter.spend(11), Err(Exceeded::Work { limit: 10 }));
        assert_eq!((meter.spend(5), meter.spent()), (Err(Exceeded::Work { limit: 10 }), 11));
        assert_eq!(Exceeded::Work { limit: 10 }.to_string(), "more than 10 work units");
    }

    #[test]
    fn batches_lose_no_unit() {
        let meter = Meter::default();
        let mut paid = 0;
        for counter in 0..=3 * BATCH / 2 {
            assert_eq!(meter.spend_batch(counter, &mut paid), Ok(()));
        }
        assert_eq!(meter.spent(), BATCH);
        assert_eq!(meter.spend_rest(3 * BATCH / 2, &mut paid), Ok(()));
        assert_eq!(meter.spent(), 3 * BATCH / 2);
    }

    #[test]
    fn the_flag_is_read_in_time() {
        let flag = Arc::new(AtomicBool::new(false));
        let meter = Meter::new(u64::MAX, u64::MAX, Some(flag.clone()));
        assert_eq!(meter.spend(1), Ok(()));
        flag.store(true, Relaxed);
        assert_eq!(meter.spend(CANCEL_INTERVAL + 1), Err(Exceeded::Cancelled));
        assert_eq!(meter.check(), Err(Exceeded::Cancelled));
        meter.begin();
        assert_eq!(meter.reserve(1), Err(Exceeded::Cancelled));
        flag.store(false, Relaxed);
        meter.begin();
        assert_eq!((meter.reserve(1), meter.check()), (Ok(()), Ok(())));
    }

    #[test]
    fn bytes_count_from_the_last_stage() {
        let meter = Meter::new(u64::MAX, 100, None);
        assert_eq!((meter.hold(60), meter.grow(|| 40), meter.hold(50)), (Ok(()), Ok(()), Ok(())));
        assert_eq!((meter.peak_bytes(), meter.grow(|| 51)), (100, Err(Exceeded::Bytes { limit: 100 })));
        assert_eq!(meter.spend(1), Err(Exceeded::Bytes { limit: 100 }));
        assert_eq!(Meter::default().grow(|| unreachable!("nobody counts")), Ok(()));
    }

    #[test]
    fn without_a_meter_everything_is_granted() {
        let none = MeterRef::default();
        assert_eq!((none.spend(u64::MAX), none.reserve(u64::MAX), none.grow(|| 1)), (Ok(()), Ok(()), Ok(())));
    }
}
