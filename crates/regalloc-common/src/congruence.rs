//! Congruence classes: sets of values that are never live at one point, so that one location can hold them all.
//!
//! ```text
//! b1(v2): .. v3 = add v2, 1; branch -> b1(v3)      {v2, v3}: v2 is dead where v3 begins
//! ```
//!
//! Union-find over classes, each with the sorted list of its members' intervals. Two classes merge unless an
//! interval of one overlaps an interval of the other (Boissinot et al., *Revisiting out-of-SSA translation for
//! correctness, code quality and efficiency*, 2009, section IV). The caller offers pairs in descending order of
//! profit.
//!
//! Cost: two lists of similar length are merged in the sum of their lengths. A short list is inserted into a long
//! one by binary search, in place while the long one has room. Intervals for a very long list are first gathered in
//! a separate list, which holds at most the square root of the long list's length. A class of n values therefore
//! costs n^1.5 moves, thirty intervals at a time. All merges share a budget of steps, so that the total is linear
//! in the budget.

use crate::point::{PointRange, ProgPoint};
use crate::release;
use kingpost_regalloc::meter::heap_bytes;
use std::ops::Range;

/// Longest list that is inserted into a longer one by binary search instead of a full merge.
const MAX_SHORT: usize = 4;

/// Number of intervals that one step of the budget moves.
const MOVED_PER_STEP: usize = 16;

/// Length from which on insertions into a list are gathered first.
const LONG: usize = 1024;

/// No class.
const NONE: u32 = u32::MAX;

/// A range of points over which a value is live.
pub trait Interval: Copy {
    /// A point of the program.
    type Point: Copy + Ord;

    /// Returns the first point. Intervals of one class are sorted by it.
    fn start(&self) -> Self::Point;

    /// Returns the point after the last one.
    fn end(&self) -> Self::Point;

    /// Returns the first point that another value may not occupy, if it is before the start.
    fn reserved_from(&self) -> Self::Point {
        self.start()
    }

    /// Appends `next`, which begins at or after the end of this interval. Returns `true` if the two form one
    /// interval.
    fn append(&mut self, next: &Self) -> bool {
        let _ = next;
        false
    }
}

impl Interval for PointRange {
    type Point = ProgPoint;

    fn start(&self) -> ProgPoint {
        self.from
    }

    fn end(&self) -> ProgPoint {
        self.to
    }

    fn append(&mut self, next: &PointRange) -> bool {
        let joins = self.to == next.from;
        self.to = if joins { next.to } else { self.to };
        joins
    }
}

/// A list in the pool, with the end of the space reserved for it.
#[derive(Clone, Copy, Debug, Default)]
struct List {
    start: u32,
    end: u32,
    capacity_end: u32,
}

impl List {
    fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Classes of densely numbered values. Its memory is reused.
#[derive(Debug)]
pub struct Congruence<I> {
    /// By value: the next value on the path to the representative of its class, or itself.
    parents: Vec<u32>,
    /// By representative.
    lists: Vec<List>,
    /// The intervals of all lists, and unused space between them.
    pub pool: Vec<I>,
    merged: Vec<I>,
    /// Intervals of the class `gathered_for` that are not in its list yet, in order.
    gathered: Vec<I>,
    gathered_for: u32,
    /// Number of steps that merges may still take.
    pub budget: usize,
}

heap_bytes!(Congruence<I> { parents, lists, pool, merged, gathered } without { gathered_for, budget });

impl<I> Default for Congruence<I> {
    fn default() -> Congruence<I> {
        Congruence {
            parents: Vec::new(),
            lists: Vec::new(),
            pool: Vec::new(),
            merged: Vec::new(),
            gathered: Vec::new(),
            gathered_for: NONE,
            budget: 0,
        }
    }
}

impl<I: Interval> Congruence<I> {
    /// Creates a class without intervals for each of `values` values.
    pub fn begin(&mut self, values: usize) {
        self.forget_gathered();
        self.parents.clear();
        self.parents.extend(0..values as u32);
        self.lists.clear();
        self.lists.resize(values, List::default());
        self.pool.clear();
    }

    /// Creates a class for each value; `spans` has the indices of each value's intervals.
    pub fn begin_with(&mut self, intervals: impl Iterator<Item = I>, spans: impl Iterator<Item = Range<u32>>) {
        self.forget_gathered();
        self.pool.clear();
        self.pool.extend(intervals);
        self.lists.clear();
        self.lists.extend(spans.map(|Range { start, end }| List { start, end, capacity_end: end }));
        self.parents.clear();
        self.parents.extend(0..self.lists.len() as u32);
    }

    fn forget_gathered(&mut self) {
        self.gathered.clear();
        self.gathered_for = NONE;
    }

    /// Frees the memory of an unusually large problem, after its classes have been read.
    pub fn release(&mut self) {
        release(&mut self.gathered);
        release(&mut self.pool);
        release(&mut self.merged);
        release(&mut self.lists);
        release(&mut self.parents);
    }

    /// Sets the intervals of a value, in order. The value must be alone in its class.
    pub fn set(&mut self, value: u32, intervals: impl IntoIterator<Item = I>) {
        let start = self.pool.len();
        // Internal iteration is faster for chains and maps.
        intervals.into_iter().for_each(|next| push(&mut self.pool, start, next));
        let end = self.pool.len() as u32;
        self.lists[value as usize] = List { start: start as u32, end, capacity_end: end };
    }

    /// Returns the representative of the class of a value. Takes at most one step per value, because links lead
    /// from the representative of one class to another representative and form no cycle.
    pub fn find(&mut self, mut value: u32) -> u32 {
        while self.parents[value as usize] != value {
            // Path halving.
            let next = self.parents[self.parents[value as usize] as usize];
            self.parents[value as usize] = next;
            value = next;
        }
        value
    }

    /// Returns `true` if the value represents its class.
    pub fn is_representative(&self, value: u32) -> bool {
        self.parents[value as usize] == value
    }

    /// Returns the number of intervals of the class with representative `class`.
    pub fn len(&self, class: u32) -> usize {
        self.lists[class as usize].len() + self.gathered(class).len()
    }

    /// Returns the pool indices of the intervals of the class with representative `class`. Requires
    /// [`Congruence::merge_gathered`] before.
    pub fn range(&self, class: u32) -> Range<usize> {
        debug_assert!(self.gathered.is_empty(), "some intervals are in no list yet");
        self.lists[class as usize].range()
    }

    /// Returns the intervals of the class with representative `class`, in order. Requires
    /// [`Congruence::merge_gathered`] before.
    pub fn intervals(&self, class: u32) -> &[I] {
        &self.pool[self.range(class)]
    }

    /// Returns the first interval of the class with representative `class`.
    pub fn first(&self, class: u32) -> Option<&I> {
        let [a, b] = [self.list(class), self.gathered(class)].map(<[I]>::first);
        a.into_iter().chain(b).min_by_key(|interval| interval.start())
    }

    /// Returns the intervals of a class without the gathered ones.
    fn list(&self, class: u32) -> &[I] {
        &self.pool[self.lists[class as usize].range()]
    }

    /// Returns the intervals of a class that are not in its list yet.
    fn gathered(&self, class: u32) -> &[I] {
        if class == self.gathered_for { &self.gathered } else { &[] }
    }

    /// Merges two classes, given their representatives, unless they overlap, one has no intervals, or the budget is
    /// too small. The class with more intervals represents the result, or `a` if they have equally many. Returns
    /// `true` if the two are one class now.
    pub fn merge(&mut self, a: u32, b: u32) -> bool {
        let (len_a, len_b) = (self.len(a), self.len(b));
        let least = len_a.min(len_b);
        if a == b || least == 0 || len_a + len_b > self.budget {
            return a == b;
        }
        let (long, short) = if len_a >= len_b { (a, b) } else { (b, a) };
        if least <= MAX_SHORT {
            self.budget -= least;
            if !self.fits(long, short) {
                return false;
            }
            self.insert(long, short);
        } else {
            if a == self.gathered_for || b == self.gathered_for {
                self.merge_gathered();
            }
            // Moving the gathered intervals costs steps too.
            let Some(budget) = self.budget.checked_sub(len_a + len_b) else { return false };
            self.budget = budget;
            if !self.interleave(a, b) {
                return false;
            }
            let mut list = self.with_room(long, self.merged.len());
            list.end = list.start + self.merged.len() as u32;
            self.pool[list.range()].copy_from_slice(&self.merged);
            self.lists[long as usize] = list;
        }
        self.lists[short as usize] = List::default();
        self.parents[short as usize] = long;
        true
    }

    /// Leaves the intervals of two classes in `merged`, in order. Returns `false` if some overlap.
    fn interleave(&mut self, a: u32, b: u32) -> bool {
        self.merged.clear();
        let (mut left, mut right) = (self.lists[a as usize].range(), self.lists[b as usize].range());
        while !left.is_empty() || !right.is_empty() {
            let is_left =
                right.is_empty() || !left.is_empty() && self.pool[left.start].start() < self.pool[right.start].start();
            let next = if is_left { left.next() } else { right.next() };
            let Some(next) = next.map(|at| self.pool[at]) else { break };
            if self.merged.last().is_some_and(|last| last.end() > next.reserved_from()) {
                return false;
            }
            push(&mut self.merged, 0, next);
        }
        true
    }

    /// Returns `true` if no interval of the list of `short` overlaps an interval of the class `long`.
    fn fits(&self, long: u32, short: u32) -> bool {
        let (list, gathered) = (self.list(long), self.gathered(long));
        self.list(short).iter().all(|interval| fits_into(list, interval) && fits_into(gathered, interval))
    }

    /// Returns the list of a class with room for `len` intervals. A list without room moves to the end of the pool
    /// and gets room for twice as many, so that all moves of a list together take a few times its final length.
    fn with_room(&mut self, class: u32, len: usize) -> List {
        let list = self.lists[class as usize];
        if (list.capacity_end - list.start) as usize >= len {
            return list;
        }
        let start = self.pool.len();
        self.pool.extend_from_within(list.range());
        let filler = self.pool[start];
        self.pool.resize(start + 2 * len, filler);
        let start = start as u32;
        List { start, end: start + list.len() as u32, capacity_end: start + 2 * len as u32 }
    }

    /// Inserts a short list into a long one.
    fn insert(&mut self, long: u32, short: u32) {
        let (before, added) = (self.lists[long as usize], self.lists[short as usize]);
        if before.len() >= LONG {
            return self.gather(long, added.range());
        }
        let mut list = self.with_room(long, before.len() + added.len());
        if list.start != before.start {
            self.budget = self.budget.saturating_sub(before.len());
        }
        for i in added.range() {
            let interval = self.pool[i];
            let at =
                list.start as usize + self.pool[list.range()].partition_point(|other| other.start() < interval.start());
            self.budget = self.budget.saturating_sub((list.end as usize - at) / MOVED_PER_STEP);
            self.pool.copy_within(at..list.end as usize, at + 1);
            self.pool[at] = interval;
            list.end += 1;
        }
        self.lists[long as usize] = list;
    }

    /// Adds intervals to the list of gathered intervals of a very long list.
    fn gather(&mut self, long: u32, added: Range<usize>) {
        if self.gathered_for != long {
            self.merge_gathered();
            self.gathered_for = long;
        }
        for i in added {
            let interval = self.pool[i];
            let at = self.gathered.partition_point(|other| other.start() < interval.start());
            self.gathered.insert(at, interval);
        }
        if self.gathered.len().pow(2) > self.lists[long as usize].len() {
            self.merge_gathered();
        }
    }

    /// Moves all gathered intervals into the list of their class, which can then be read.
    pub fn merge_gathered(&mut self) {
        let class = std::mem::replace(&mut self.gathered_for, NONE);
        let Some(&List { start, end, .. }) = self.lists.get(class as usize) else { return };
        let old = (end - start) as usize;
        let mut list = self.with_room(class, old + self.gathered.len());
        self.budget = self.budget.saturating_sub(if list.start == start { old / MOVED_PER_STEP } else { old });
        let first = list.start as usize;
        let mut rest = old;
        list.end += self.gathered.len() as u32;
        // From the last one on, so that each interval moves once, to its final index.
        while let Some(interval) = self.gathered.pop() {
            let at = self.pool[first..first + rest].partition_point(|other| other.start() < interval.start());
            let behind = self.gathered.len() + 1;
            self.pool.copy_within(first + at..first + rest, first + at + behind);
            self.pool[first + at + behind - 1] = interval;
            rest = at;
        }
        self.lists[class as usize] = list;
    }
}

/// Returns `true` if the interval overlaps no interval of the list.
fn fits_into<I: Interval>(list: &[I], interval: &I) -> bool {
    let next = list.partition_point(|other| other.start() < interval.start());
    list[..next].last().is_none_or(|last| last.end() <= interval.reserved_from())
        && list.get(next).is_none_or(|next| interval.end() <= next.reserved_from())
}

/// Appends an interval to a list that begins at `start`.
fn push<I: Interval>(list: &mut Vec<I>, start: usize, next: I) {
    if !list[start..].last_mut().is_some_and(|last| last.append(&next)) {
        list.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A half-open interval that joins with an interval that begins at its end.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    struct Plain(u32, u32);

    impl Interval for Plain {
        type Point = u32;

        fn start(&self) -> u32 {
            self.0
        }

        fn end(&self) -> u32 {
            self.1
        }

        fn append(&mut self, next: &Plain) -> bool {
            let joins = self.1 == next.0;
            self.1 = if joins { next.1 } else { self.1 };
            joins
        }
    }

    /// An interval that reserves the point before its start.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    struct Wide(u32, u32);

    impl Interval for Wide {
        type Point = u32;

        fn start(&self) -> u32 {
            self.0
        }

        fn end(&self) -> u32 {
            self.1
        }

        fn reserved_from(&self) -> u32 {
            self.0 - 1
        }
    }

    fn classes<I: Interval>(lists: &[&[I]]) -> Congruence<I> {
        let mut classes = Congruence::default();
        classes.begin(lists.len());
        (0..).zip(lists).for_each(|(value, list)| classes.set(value, list.iter().copied()));
        classes.budget = 1000;
        classes
    }

    #[test]
    fn values_that_touch_merge() {
        let mut all = classes(&[&[Plain(0, 4)], &[Plain(4, 8), Plain(10, 12)], &[Plain(7, 9)], &[Plain(8, 10)]]);
        assert!(all.merge(0, 1));
        assert_eq!((all.find(0), all.find(1)), (1, 1));
        assert!(!all.merge(1, 2), "7 is in both");
        assert!(all.merge(3, 1) && all.merge(1, 1));
        assert_eq!(all.intervals(1), [Plain(0, 4), Plain(4, 8), Plain(8, 10), Plain(10, 12)]);
        assert!(all.is_representative(1) && all.is_representative(2) && !all.is_representative(3));
    }

    #[test]
    fn intervals_that_touch_become_one_where_they_can() {
        let mut all = classes(&[&[Plain(0, 2), Plain(2, 4)], &[]]);
        assert_eq!(all.intervals(0), [Plain(0, 4)]);
        assert!(!all.merge(0, 1), "a value that is never live is in no class");
        let even: Vec<_> = (0..10).map(|i| Plain(20 * i, 20 * i + 10)).collect();
        let odd: Vec<_> = (0..10).map(|i| Plain(20 * i + 10, 20 * i + 20)).collect();
        let mut all = classes(&[&even, &odd]);
        assert!(all.merge(0, 1));
        assert_eq!(all.intervals(0), [Plain(0, 200)]);
    }

    #[test]
    fn what_is_reserved_before_an_interval_is_in_the_way() {
        let mut all = classes(&[&[Wide(1, 4)], &[Wide(4, 8)], &[Wide(5, 8)]]);
        assert!(!all.merge(0, 1) && all.merge(0, 2));
    }

    #[test]
    fn short_lists_go_into_a_very_long_one() {
        let count = 4 * LONG as u32;
        let long: Vec<_> = (0..count).map(|i| Plain(10 * i, 10 * i + 4)).collect();
        // Every third interval overlaps an existing one, the others fit between.
        let from = |i| 10 * i + if i % 3 == 0 { 3 } else { 5 };
        let shorts: Vec<_> = (0..count).map(|i| [Plain(from(i), 10 * i + 8)]).collect();
        let more: Vec<_> = (0..9).map(|i| Plain(10 * i + 8, 10 * i + 9)).collect();
        let mut lists = vec![&long[..], &more];
        // Each twice: the second one overlaps the first one, or the interval that the first one overlapped.
        lists.extend(shorts.iter().chain(&shorts).map(|list| &list[..]));
        let mut all = classes(&lists);
        all.budget = usize::MAX;
        for i in (0..count).rev() {
            assert_eq!(all.merge(0, 2 + i), i % 3 != 0);
            assert!(!all.merge(0, 2 + count + i));
        }
        assert_eq!(all.first(0), Some(&Plain(0, 4)));
        assert!(all.merge(0, 1), "a list that is not short comes last");
        all.merge_gathered();
        let mut expected: Vec<_> = [&long[..], &more].concat();
        expected.extend(shorts.iter().flatten().filter(|short| short.0 % 10 == 5));
        expected.sort_unstable_by_key(|interval| interval.0);
        let points = |list: &[Plain]| list.iter().flat_map(|i| i.0..i.1).collect::<Vec<_>>();
        assert_eq!(points(all.intervals(0)), points(&expected));
    }

    #[test]
    fn the_budget_bounds_merges() {
        let mut all = classes(&[&[Plain(0, 1)], &[Plain(1, 2)], &[Plain(2, 3)]]);
        all.budget = 2;
        assert!(all.merge(0, 1) && !all.merge(0, 2));
    }

    /// Checks that a merge is refused if moving gathered intervals uses up what the merge needs.
    #[test]
    fn gathered_intervals_count_before_a_merge() {
        let count = LONG as u32;
        let long: Vec<_> = (0..count).map(|i| Plain(10 * i, 10 * i + 4)).collect();
        let more: Vec<_> = (0..9).map(|i| Plain(10 * i + 7, 10 * i + 8)).collect();
        let mut all = classes(&[&long[..], &[Plain(5, 6)], &more]);
        all.budget = 1 + LONG + 1 + more.len();
        assert!(all.merge(0, 1) && !all.merge(0, 2));
        assert_eq!((all.find(2), all.len(0), all.len(2)), (2, LONG + 1, more.len()));
    }

    /// Compares random merges with a plain table of points.
    #[test]
    fn merges_agree_with_a_table() {
        let mut seed = 1u64;
        let mut random = |below: u32| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as u32 % below
        };
        for _ in 0..50 {
            let lists: Vec<Vec<Plain>> = (0..40)
                .map(|_| {
                    let count = [1, 3, 12][random(3) as usize];
                    let mut starts: Vec<u32> = (0..count).map(|_| random(600)).collect();
                    starts.sort_unstable();
                    starts.dedup();
                    let ends = starts.iter().skip(1).copied().chain([700]);
                    let lengths: Vec<u32> = starts.iter().map(|_| 1 + random(6)).collect();
                    let ends = ends.zip(&starts).zip(lengths).map(|((next, &start), len)| next.min(start + len));
                    starts.iter().zip(ends).map(|(&start, end)| Plain(start, end)).collect()
                })
                .collect();
            let slices: Vec<&[Plain]> = lists.iter().map(Vec::as_slice).collect();
            let mut all = classes(&slices);
            all.budget = usize::MAX;
            let points = |list: &[Plain]| list.iter().flat_map(|i| i.0..i.1).collect::<Vec<_>>();
            let mut tables: Vec<Vec<u32>> = lists.iter().map(|list| points(list)).collect();
            for _ in 0..200 {
                let (a, b) = (all.find(random(40)), all.find(random(40)));
                let disjoint = a == b || !tables[a as usize].iter().any(|p| tables[b as usize].contains(p));
                assert_eq!(all.merge(a, b), disjoint);
                if disjoint && a != b {
                    let root = all.find(a);
                    let both =
                        [std::mem::take(&mut tables[a as usize]), std::mem::take(&mut tables[b as usize])].concat();
                    tables[root as usize] = both;
                    tables[root as usize].sort_unstable();
                }
            }
            for class in (0..40).filter(|&v| all.is_representative(v)) {
                assert_eq!(points(all.intervals(class)), tables[class as usize]);
            }
        }
    }

    /// Checks that merging each value with a random one, cycles included, gives connected values one representative.
    #[test]
    fn random_links_are_joined() {
        let mut state = 1_u64;
        let mut random = move |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % limit
        };
        for _ in 0..300 {
            let next: Vec<usize> = (0..1 + random(30)).map(|_| random(30)).collect();
            let lists: Vec<[Plain; 1]> = (0..30).map(|value| [Plain(10 * value, 10 * value + 1)]).collect();
            let mut all = classes(&lists.iter().map(|list| &list[..]).collect::<Vec<_>>());
            let mut least: Vec<usize> = (0..30).collect();
            for (from, &to) in next.iter().enumerate() {
                let [a, b] = [from, to].map(|value| all.find(value as u32));
                assert!(all.merge(a, b));
                let joined = [least[from], least[to]];
                least.iter_mut().filter(|class| joined.contains(class)).for_each(|class| *class = joined[0]);
            }
            let found: Vec<u32> = (0..30).map(|value| all.find(value)).collect();
            for (a, b) in (0..30).flat_map(|a| (0..a).map(move |b| (a, b))) {
                assert_eq!(found[a] == found[b], least[a] == least[b], "{a} and {b} in {next:?}");
            }
            assert!(found.iter().all(|&class| all.is_representative(class)), "{next:?}");
        }
    }
}
