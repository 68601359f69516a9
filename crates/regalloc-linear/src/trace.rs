//! What the allocator decides, for the log and for an observer.

use kingpost_regalloc::{Event, Observer};

/// Where events go.
pub(crate) struct Trace<'o> {
    observer: Option<&'o mut dyn Observer>,
    /// Does anything read events?
    pub(crate) is_on: bool,
}

impl<'o> Trace<'o> {
    /// A trace to the log, if that is on, and to an observer, if there is one.
    pub(crate) fn new(observer: Option<&'o mut dyn Observer>) -> Trace<'o> {
        let is_on = observer.is_some() || log::log_enabled!(log::Level::Trace);
        Trace { observer, is_on }
    }

    /// Announces an event.
    #[inline]
    pub(crate) fn event(&mut self, event: Event<'_>) {
        if self.is_on {
            self.announce(event);
        }
    }

    #[cold]
    fn announce(&mut self, event: Event<'_>) {
        log::trace!("{event:?}");
        if let Some(observer) = &mut self.observer {
            observer.event(event);
        }
    }
}
