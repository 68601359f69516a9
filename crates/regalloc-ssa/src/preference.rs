//! Registers in order of preference.

use kingpost_regalloc::{PReg, RegClass};

/// The registers of a class in order of preference: runs of ascending numbers, so that the best register of a set
/// is the lowest one in the first run that has any.
#[derive(Default)]
pub(crate) struct Preference {
    /// Order from which the runs were made. It is rarely different from the last function's order.
    order: Vec<PReg>,
    runs: Vec<u64>,
}

impl Preference {
    pub(crate) fn set(&mut self, order: &[PReg]) {
        if self.order == order {
            return;
        }
        self.order.clear();
        self.order.extend_from_slice(order);
        self.runs.clear();
        let mut last = None;
        for reg in order {
            match self.runs.last_mut() {
                Some(run) if last < Some(reg) => *run |= 1 << reg.enc(),
                _ => self.runs.push(1 << reg.enc()),
            }
            last = Some(reg);
        }
    }

    /// Returns the best register of those in `mask`.
    pub(crate) fn best(&self, class: RegClass, mask: u64) -> Option<PReg> {
        let members = self.runs.iter().map(|run| run & mask).find(|&members| members != 0)?;
        Some(PReg::new(class, members.trailing_zeros() as u8))
    }
}
