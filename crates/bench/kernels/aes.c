// AES-128 encryption with one table of 256 words, after Embench's nettle-aes.
// tested: 2 => 80321708832259134
// measured: 10000 => 12676357806549058391
#include "kernel.h"

static u8 double_of(u8 x) {
    return (u8)(x << 1 ^ ((x & 128) != 0 ? 27 : 0));
}

// The substitution box: inverses in the field by powers of 3, and an affine map.
static void make_box(u8 *box) {
    u8 p = 1;
    u8 q = 1;
    u32 more = 1;
    while (more != 0) {
        p = (u8)(p ^ double_of(p));
        q ^= (u8)(q << 1);
        q ^= (u8)(q << 2);
        q ^= (u8)(q << 4);
        if ((q & 128) != 0) {
            q ^= 9;
        }
        u8 x = (u8)(q ^ (u8)(q << 1 | q >> 7) ^ (u8)(q << 2 | q >> 6) ^ (u8)(q << 3 | q >> 5) ^ (u8)(q << 4 | q >> 4));
        box[p] = x ^ 99;
        more = p != 1 ? 1u : 0u;
    }
    box[0] = 99;
}

static void expand_key(u32 *key, u8 *box) {
    u8 round = 1;
    for (u32 i = 4; i < 44; i++) {
        u32 word = key[i - 1];
        if (i % 4 == 0) {
            word = word >> 8 | word << 24;
            word = (u32)box[word & 255] | (u32)box[word >> 8 & 255] << 8 | (u32)box[word >> 16 & 255] << 16 | (u32)box[word >> 24] << 24;
            word ^= round;
            round = double_of(round);
        }
        key[i] = key[i - 4] ^ word;
    }
}

static void encrypt(u32 *state, u32 *key, u32 *table, u8 *box) {
    u32 a = state[0] ^ key[0];
    u32 b = state[1] ^ key[1];
    u32 c = state[2] ^ key[2];
    u32 d = state[3] ^ key[3];
    for (u32 round = 1; round < 10; round++) {
        u32 *k = key + round * 4;
        u32 e = table[a & 255] ^ (table[b >> 8 & 255] << 8 | table[b >> 8 & 255] >> 24) ^ (table[c >> 16 & 255] << 16 | table[c >> 16 & 255] >> 16) ^ (table[d >> 24] << 24 | table[d >> 24] >> 8) ^ k[0];
        u32 f = table[b & 255] ^ (table[c >> 8 & 255] << 8 | table[c >> 8 & 255] >> 24) ^ (table[d >> 16 & 255] << 16 | table[d >> 16 & 255] >> 16) ^ (table[a >> 24] << 24 | table[a >> 24] >> 8) ^ k[1];
        u32 g = table[c & 255] ^ (table[d >> 8 & 255] << 8 | table[d >> 8 & 255] >> 24) ^ (table[a >> 16 & 255] << 16 | table[a >> 16 & 255] >> 16) ^ (table[b >> 24] << 24 | table[b >> 24] >> 8) ^ k[2];
        u32 h = table[d & 255] ^ (table[a >> 8 & 255] << 8 | table[a >> 8 & 255] >> 24) ^ (table[b >> 16 & 255] << 16 | table[b >> 16 & 255] >> 16) ^ (table[c >> 24] << 24 | table[c >> 24] >> 8) ^ k[3];
        a = e;
        b = f;
        c = g;
        d = h;
    }
    u32 *last = key + 40;
    state[0] = ((u32)box[a & 255] | (u32)box[b >> 8 & 255] << 8 | (u32)box[c >> 16 & 255] << 16 | (u32)box[d >> 24] << 24) ^ last[0];
    state[1] = ((u32)box[b & 255] | (u32)box[c >> 8 & 255] << 8 | (u32)box[d >> 16 & 255] << 16 | (u32)box[a >> 24] << 24) ^ last[1];
    state[2] = ((u32)box[c & 255] | (u32)box[d >> 8 & 255] << 8 | (u32)box[a >> 16 & 255] << 16 | (u32)box[b >> 24] << 24) ^ last[2];
    state[3] = ((u32)box[d & 255] | (u32)box[a >> 8 & 255] << 8 | (u32)box[b >> 16 & 255] << 16 | (u32)box[c >> 24] << 24) ^ last[3];
}

u64 aes(u64 n) {
    u8 box[256];
    u32 table[256];
    u32 key[44];
    u32 state[4];
    make_box(box);
    for (u32 i = 0; i < 256; i++) {
        u8 x = box[i];
        u8 twice = double_of(x);
        table[i] = (u32)twice | (u32)x << 8 | (u32)x << 16 | (u32)(u8)(twice ^ x) << 24;
    }
    for (u32 i = 0; i < 4; i++) {
        key[i] = i * 0x01020304u;
        state[i] = i * 0x11223344u;
    }
    expand_key(key, box);
    for (u64 round = 0; round < n; round++) {
        encrypt(state, key, table, box);
    }
    return (u64)state[0] << 32 | state[3];
}
