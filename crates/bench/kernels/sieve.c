// The sieve of Eratosthenes over bytes.
// tested: 1 => 1028
// measured: 80 => 1028
#include "kernel.h"
#define LEN 8192

u64 sieve(u64 n) {
    u8 flags[8192];
    u64 count = 0;
    for (u64 round = 0; round < n; round++) {
        count = 0;
        for (u32 i = 0; i < LEN; i++) {
            flags[i] = 1;
        }
        for (u32 i = 2; i < LEN; i++) {
            if (flags[i] != 0) {
                for (u32 k = i + i; k < LEN; k += i) {
                    flags[k] = 0;
                }
                count++;
            }
        }
    }
    return count;
}
