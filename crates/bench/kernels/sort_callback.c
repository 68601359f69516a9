// Heap sort and insertion sort of records with a comparison that the caller passes, like qsort.
// tested: 1 => 2883222828756998847
// measured: 100 => 11707414133735608238
#include "kernel.h"
#define LEN 256

typedef i32 (*Comparison)(u64 a, u64 b);

static i32 ascending(u64 a, u64 b) {
    return a < b ? -1 : a > b ? 1 : 0;
}

static i32 descending(u64 a, u64 b) {
    return ascending(b, a);
}

// Compares the low halves, then the high ones.
static i32 by_low_half(u64 a, u64 b) {
    u32 x = (u32)a;
    u32 y = (u32)b;
    if (x != y) {
        return x < y ? -1 : 1;
    }
    return ascending(a, b);
}

static void sift_down(u64 *a, u64 at, u64 len, Comparison compare) {
    u64 value = a[at];
    while (at * 2 + 1 < len) {
        u64 child = at * 2 + 1;
        if (child + 1 < len && compare(a[child], a[child + 1]) < 0) {
            child++;
        }
        if (compare(value, a[child]) >= 0) {
            break;
        }
        a[at] = a[child];
        at = child;
    }
    a[at] = value;
}

static void heap_sort(u64 *a, u64 len, Comparison compare) {
    for (u64 i = len / 2; i > 0; i--) {
        sift_down(a, i - 1, len, compare);
    }
    for (u64 end = len - 1; end > 0; end--) {
        u64 last = a[end];
        a[end] = a[0];
        a[0] = last;
        sift_down(a, 0, end, compare);
    }
}

static void insertion_sort(u64 *a, u64 len, Comparison compare) {
    for (u64 i = 1; i < len; i++) {
        u64 value = a[i];
        u64 at = i;
        while (at > 0 && compare(a[at - 1], value) > 0) {
            a[at] = a[at - 1];
            at--;
        }
        a[at] = value;
    }
}

u64 sort_callback(u64 n) {
    u64 a[256];
    Comparison comparisons[3] = {ascending, descending, by_low_half};
    u64 seed = 1;
    u64 sum = 0;
    for (u64 round = 0; round < n; round++) {
        for (u64 i = 0; i < LEN; i++) {
            seed = seed * 6364136223846793005ul + 1442695040888963407ul;
            a[i] = seed >> 8 & 0xffff00000007fful;
        }
        Comparison compare = comparisons[round % 3];
        heap_sort(a, LEN, compare);
        insertion_sort(a, 32, comparisons[(round + 1) % 3]);
        insertion_sort(a + 64, 24, compare);
        for (u64 i = 0; i < LEN; i++) {
            sum = sum * 31 + a[i];
        }
    }
    return sum;
}
