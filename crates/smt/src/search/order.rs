//! Variables in a heap, the one with the greatest part in recent conflicts first.

/// A heap of variables by their activity.
#[derive(Default, Debug)]
pub(super) struct Order {
    heap: Vec<u32>,
    /// Place of each variable in the heap; `usize::MAX` if it is not there.
    places: Vec<usize>,
    activity: Vec<f64>,
    step: f64,
}

const ABSENT: usize = usize::MAX;
/// Factor by which older conflicts count less than the next one.
const DECAY: f64 = 0.95;
/// Activity at which all are made smaller.
const MOST: f64 = 1e100;

impl Order {
    /// Sets the number of variables. None has had a part in a conflict.
    pub(super) fn reset(&mut self, variables: usize) {
        self.heap.clear();
        self.heap.extend(0..variables as u32);
        self.places.clear();
        self.places.extend(0..variables);
        self.activity.clear();
        self.activity.resize(variables, 0.0);
        self.step = 1.0;
    }

    /// Inserts a variable unless it is there.
    pub(super) fn insert(&mut self, variable: u32) {
        if self.places[variable as usize] == ABSENT {
            self.heap.push(variable);
            self.places[variable as usize] = self.heap.len() - 1;
            self.up(self.heap.len() - 1);
        }
    }

    /// Removes the first variable.
    pub(super) fn pop(&mut self) -> Option<u32> {
        let first = *self.heap.first()?;
        let last = self.heap.pop()?;
        self.places[first as usize] = ABSENT;
        if last != first {
            self.heap[0] = last;
            self.places[last as usize] = 0;
            self.down(0);
        }
        Some(first)
    }

    /// Counts a part of a variable in the current conflict.
    pub(super) fn bump(&mut self, variable: u32) {
        let activity = &mut self.activity[variable as usize];
        *activity += self.step;
        if *activity > MOST {
            self.activity.iter_mut().for_each(|activity| *activity /= MOST);
            self.step /= MOST;
        }
        let place = self.places[variable as usize];
        if place != ABSENT {
            self.up(place);
        }
    }

    /// Ends a conflict.
    pub(super) fn decay(&mut self) {
        self.step /= DECAY;
    }

    fn is_before(&self, a: u32, b: u32) -> bool {
        self.activity[a as usize] > self.activity[b as usize]
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.places[self.heap[a] as usize] = a;
        self.places[self.heap[b] as usize] = b;
    }

    fn up(&mut self, mut at: usize) {
        while at > 0 && self.is_before(self.heap[at], self.heap[(at - 1) / 2]) {
            self.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    fn down(&mut self, mut at: usize) {
        loop {
            let children = [2 * at + 1, 2 * at + 2];
            let mut best = at;
            for child in children.into_iter().filter(|&child| child < self.heap.len()) {
                if self.is_before(self.heap[child], self.heap[best]) {
                    best = child;
                }
            }
            if best == at {
                return;
            }
            self.swap(at, best);
            at = best;
        }
    }
}
