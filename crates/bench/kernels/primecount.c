// Primes below 3,500 by a sieve of multiples, after Embench's primecount.
// tested: 1 => 489
// measured: 80 => 13900306203684630624
#include "kernel.h"

static u32 count(u32 limit) {
    u32 primes[42];
    u32 multiples[42];
    u32 size = 0;
    u32 found = 0;
    for (u32 i = 2; i < limit; i++) {
        u32 is_prime = 1;
        for (u32 p = 0; p < size; p++) {
            while (multiples[p] < i) {
                multiples[p] += primes[p];
            }
            if (multiples[p] == i) {
                is_prime = 0;
                break;
            }
        }
        if (is_prime != 0) {
            found++;
            if (i * i < limit && size < 42) {
                primes[size] = i;
                multiples[size] = i * i;
                size++;
            }
        }
    }
    return found;
}

u64 primecount(u64 n) {
    u64 sum = 0;
    for (u64 round = 0; round < n; round++) {
        sum = sum * 31 + count(3500 + (u32)round);
    }
    return sum;
}
