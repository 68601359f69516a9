//! Sorting of short lists in little code: those of one instruction, one edge or one loop.
//!
//! The standard library sorts long lists fast, with 8 to 30 KiB of machine code for each type and order: two fifths of
//! all that allocators consisted of. A short list is sorted by insertion and a long one as a heap (Williams, *Algorithm
//! 232: Heapsort*, 1964), with less than 1 KiB. Lists that are long as a rule are left to the library, unless they are
//! sorted seldom.
//!
//! ```
//! let mut list = [3, 1, 2];
//! kingpost_regalloc::sort::sort(&mut list);
//! assert_eq!(list, [1, 2, 3]);
//! ```

use std::cmp::Ordering;

/// Lists of more elements are sorted as a heap.
const MAX_INSERTED: usize = 24;

/// Sorts a list. Cost: `n log n`, and the square for lists of at most 24 elements.
pub fn sort<T: Ord>(list: &mut [T]) {
    sort_by(list, T::cmp);
}

/// Sorts a list by a key, as [`sort`] does. Elements with one key are in any order, but always in the same.
pub fn sort_by_key<T, K: Ord>(list: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(list, |a, b| key(a).cmp(&key(b)));
}

/// Sorts a list by a total order, as [`sort`] does.
pub fn sort_by<T>(list: &mut [T], order: impl Fn(&T, &T) -> Ordering) {
    if list.len() > MAX_INSERTED {
        return sort_as_heap(list, |a, b| order(a, b).is_lt());
    }
    for end in 1..list.len() {
        let mut at = end;
        while at > 0 && order(&list[at], &list[at - 1]).is_lt() {
            list.swap(at - 1, at);
            at -= 1;
        }
    }
}

/// The largest element of the heap goes behind it until the heap is empty.
#[cold]
fn sort_as_heap<T>(list: &mut [T], is_less: impl Fn(&T, &T) -> bool) {
    for root in (0..list.len() / 2).rev() {
        sift_down(list, root, &is_less);
    }
    for end in (1..list.len()).rev() {
        list.swap(0, end);
        sift_down(&mut list[..end], 0, &is_less);
    }
}

/// Makes a heap of the elements below `root`, which are one but for that.
fn sift_down<T>(heap: &mut [T], mut root: usize, is_less: &impl Fn(&T, &T) -> bool) {
    loop {
        let mut child = 2 * root + 1;
        if child >= heap.len() {
            return;
        }
        if child + 1 < heap.len() && is_less(&heap[child], &heap[child + 1]) {
            child += 1;
        }
        if !is_less(&heap[root], &heap[child]) {
            return;
        }
        heap.swap(root, child);
        root = child;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_all_lengths_are_sorted() {
        let mut seed = 1u32;
        for len in 0..200 {
            for limit in [3, 1000] {
                let mut list: Vec<u32> = (0..len)
                    .map(|_| {
                        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        (seed >> 8) % limit
                    })
                    .collect();
                let mut expected = list.clone();
                expected.sort_unstable();
                sort(&mut list);
                assert_eq!(list, expected);
                sort_by_key(&mut list, |&n| std::cmp::Reverse(n));
                expected.reverse();
                assert_eq!(list, expected);
            }
        }
    }

    #[test]
    fn short_lists_keep_the_order_of_equal_elements() {
        let mut list = [(2, 'a'), (1, 'b'), (2, 'c'), (1, 'd')];
        sort_by_key(&mut list, |pair| pair.0);
        assert_eq!(list, [(1, 'b'), (1, 'd'), (2, 'a'), (2, 'c')]);
    }
}
