//! Sorting of short lists with little code: lists of one instruction, one edge or one loop.
//!
//! The standard library sorts long lists fast, with 8 to 30 KiB of machine code for each type and order: two fifths
//! of the code size of all allocators. Here a short list is sorted by insertion and a long one as a heap (Williams,
//! *Algorithm 232: Heapsort*, 1964), with less than 1 KiB. Lists that are usually long use the library, unless they
//! are sorted rarely.
//!
//! ```
//! let mut list = [3, 1, 2];
//! kingpost_regalloc::sort::sort(&mut list);
//! assert_eq!(list, [1, 2, 3]);
//! ```

use std::cmp::Ordering;

/// Longest list that is sorted by insertion.
const MAX_INSERTED: usize = 24;

/// Sorts a list. Cost: `n log n`, and quadratic for lists of at most 24 elements.
pub fn sort<T: Ord>(list: &mut [T]) {
    sort_by(list, T::cmp);
}

/// Sorts a list by a key; see [`sort`]. The order of elements with equal keys is arbitrary but deterministic.
pub fn sort_by_key<T, K: Ord>(list: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(list, |a, b| key(a).cmp(&key(b)));
}

/// Sorts a list by a total order; see [`sort`].
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

/// Sorts a list as a heap: moves the largest element of the heap to its end until the heap is empty.
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

/// Moves the element at `root` down until the elements from `root` on form a heap. The elements after it must form
/// heaps.
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
