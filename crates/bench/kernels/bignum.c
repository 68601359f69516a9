// Factorials by products of long numbers: multiplication, addition with carry, remainder.
// tested: 1 => 12464324146558353201
// measured: 40 => 2448882553074693540
#include "kernel.h"
#define LIMBS 64

// Computes the product of two numbers of `LIMBS` limbs, modulo 2 to the power of 2048.
static void multiply(u32 *a, u32 *b, u32 *product) {
    for (u32 i = 0; i < LIMBS; i++) {
        product[i] = 0;
    }
    for (u32 i = 0; i < LIMBS; i++) {
        u64 carry = 0;
        u64 factor = a[i];
        if (factor == 0) {
            continue;
        }
        for (u32 j = 0; i + j < LIMBS; j++) {
            u64 sum = factor * b[j] + product[i + j] + carry;
            product[i + j] = (u32)sum;
            carry = sum >> 32;
        }
    }
}

static u32 add(u32 *a, u32 *b) {
    u64 carry = 0;
    for (u32 i = 0; i < LIMBS; i++) {
        u64 sum = (u64)a[i] + b[i] + carry;
        a[i] = (u32)sum;
        carry = sum >> 32;
    }
    return (u32)carry;
}

static u32 remainder_by(u32 *a, u32 divisor) {
    u64 rest = 0;
    for (u32 i = LIMBS; i > 0; i--) {
        rest = (rest << 32 | a[i - 1]) % divisor;
    }
    return (u32)rest;
}

static void copy(u32 *to, u32 *from) {
    for (u32 i = 0; i < LIMBS; i++) {
        to[i] = from[i];
    }
}

u64 bignum(u64 n) {
    u32 factorial[64];
    u32 factor[64];
    u32 product[64];
    u64 sum = 0;
    for (u64 round = 0; round < n; round++) {
        for (u32 i = 0; i < LIMBS; i++) {
            factorial[i] = 0;
            factor[i] = 0;
        }
        factorial[0] = 1 + (u32)round;
        factor[0] = 1;
        factor[1] = 7;
        for (u32 i = 0; i < 40; i++) {
            multiply(factorial, factor, product);
            copy(factorial, product);
            sum = sum * 31 + add(factor, factorial);
        }
        sum = sum * 31 + remainder_by(factorial, 1000000007);
    }
    return sum;
}
