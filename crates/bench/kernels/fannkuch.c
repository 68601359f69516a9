// Flips of all permutations, after the Benchmarks Game's fannkuch-redux.
// tested: 5 => 1107
// measured: 8 => 161622
#include "kernel.h"

u64 fannkuch(u64 n) {
    i32 start[16];
    i32 work[16];
    i32 count[16];
    i32 len = (i32)n;
    i32 most = 0;
    i32 checksum = 0;
    i32 r = len;
    i32 number = 0;
    for (i32 i = 0; i < len; i++) {
        start[i] = i;
    }
    while (1) {
        while (r != 1) {
            count[r - 1] = r;
            r--;
        }
        for (i32 i = 0; i < len; i++) {
            work[i] = start[i];
        }
        i32 flips = 0;
        i32 k = work[0];
        while (k != 0) {
            i32 low = 0;
            i32 high = k;
            while (low < high) {
                i32 swap = work[low];
                work[low] = work[high];
                work[high] = swap;
                low++;
                high--;
            }
            flips++;
            k = work[0];
        }
        if (flips > most) {
            most = flips;
        }
        checksum += (number & 1) == 0 ? flips : -flips;
        i32 more = 1;
        while (more != 0) {
            if (r == len) {
                return (u64)checksum * 100 + (u64)most;
            }
            i32 first = start[0];
            for (i32 i = 0; i < r; i++) {
                start[i] = start[i + 1];
            }
            start[r] = first;
            count[r]--;
            if (count[r] > 0) {
                more = 0;
            } else {
                r++;
            }
        }
        number++;
    }
    return 0;
}
