// SHA-256 of blocks of bytes, after Embench's nettle-sha256. The constants are computed: roots of primes.
// tested: 1 => 6372130795232180773
// measured: 5000 => 2178789171381249098
#include "kernel.h"

static u32 rotate(u32 x, u32 by) {
    return x >> by | x << (32 - by);
}

// The first 32 bits behind the point of the square or cube root of a prime.
static u32 root_bits(f64 prime, u32 is_cube) {
    u64 root = 0;
    for (u32 i = 0; i < 37; i++) {
        u64 candidate = root | 1ul << (36 - i);
        f64 x = (f64)candidate / 4294967296.0;
        f64 power = is_cube != 0 ? x * x * x : x * x;
        if (power <= prime) {
            root = candidate;
        }
    }
    return (u32)root;
}

static void constants(u32 *k, u32 *state) {
    u32 found = 0;
    for (u64 candidate = 2; found < 64; candidate++) {
        u32 is_prime = 1;
        for (u64 divisor = 2; divisor * divisor <= candidate; divisor++) {
            if (candidate % divisor == 0) {
                is_prime = 0;
            }
        }
        if (is_prime != 0) {
            k[found] = root_bits((f64)candidate, 1);
            if (found < 8) {
                state[found] = root_bits((f64)candidate, 0);
            }
            found++;
        }
    }
}

static void compress(u32 *state, u8 *block, u32 *k) {
    u32 w[64];
    for (u32 i = 0; i < 16; i++) {
        u8 *p = block + i * 4;
        w[i] = (u32)p[0] << 24 | (u32)p[1] << 16 | (u32)p[2] << 8 | (u32)p[3];
    }
    for (u32 i = 16; i < 64; i++) {
        u32 s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        u32 s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    u32 a = state[0];
    u32 b = state[1];
    u32 c = state[2];
    u32 d = state[3];
    u32 e = state[4];
    u32 f = state[5];
    u32 g = state[6];
    u32 h = state[7];
    for (u32 i = 0; i < 64; i++) {
        u32 s1 = (e >> 6 | e << 26) ^ (e >> 11 | e << 21) ^ (e >> 25 | e << 7);
        u32 choice = (e & f) ^ (~e & g);
        u32 t1 = h + s1 + choice + k[i] + w[i];
        u32 s0 = (a >> 2 | a << 30) ^ (a >> 13 | a << 19) ^ (a >> 22 | a << 10);
        u32 majority = (a & b) ^ (a & c) ^ (b & c);
        u32 t2 = s0 + majority;
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

u64 sha256(u64 n) {
    u32 k[64];
    u32 state[8];
    u8 block[64];
    constants(k, state);
    for (u32 i = 0; i < 64; i++) {
        block[i] = (u8)(i * 7 + 3);
    }
    for (u64 round = 0; round < n; round++) {
        block[round & 63] += 1;
        compress(state, block, k);
    }
    return (u64)state[0] << 32 | state[7];
}
