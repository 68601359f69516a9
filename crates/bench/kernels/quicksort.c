// Quicksort of random integers, recursive, with the middle as pivot.
// tested: 1 => 8502951
// measured: 25 => 9461870251361885195
#include "kernel.h"
#define LEN 1000

static void sort(i32 *a, i64 low, i64 high) {
    i64 i = low;
    i64 j = high;
    i32 pivot = a[(low + high) / 2];
    while (i <= j) {
        while (a[i] < pivot) {
            i++;
        }
        while (a[j] > pivot) {
            j--;
        }
        if (i <= j) {
            i32 swap = a[i];
            a[i] = a[j];
            a[j] = swap;
            i++;
            j--;
        }
    }
    if (low < j) {
        sort(a, low, j);
    }
    if (i < high) {
        sort(a, i, high);
    }
}

u64 quicksort(u64 n) {
    i32 a[1000];
    u32 seed = 1;
    u64 sum = 0;
    for (u64 round = 0; round < n; round++) {
        for (u32 i = 0; i < LEN; i++) {
            seed = seed * 1103515245u + 12345u;
            a[i] = (i32)(seed >> 8);
        }
        sort(a, 0, LEN - 1);
        for (u32 i = 1; i < LEN; i++) {
            if (a[i - 1] > a[i]) {
                return 0;
            }
        }
        sum = sum * 31 + (u64)a[500];
    }
    return sum;
}
