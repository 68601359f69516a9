// A hash table with open addressing: insertion, lookup, and removal that moves later entries back.
// tested: 1 => 15162718565684844480
// measured: 60 => 1460010695856066816
#include "kernel.h"
#define SLOTS 1024
#define MASK 1023
#define KEYS 640

static u64 hash(u64 key) {
    u64 h = key * 0x9e3779b97f4a7c15ul;
    return (h ^ h >> 29) & MASK;
}

// Returns the slot of a key, or the free slot where it would be.
static u64 find(u64 *keys, u64 key) {
    u64 at = hash(key);
    while (keys[at] != 0 && keys[at] != key) {
        at = (at + 1) & MASK;
    }
    return at;
}

static u64 insert(u64 *keys, u64 *values, u64 key, u64 value) {
    u64 at = find(keys, key);
    u64 is_new = keys[at] == 0 ? 1ul : 0ul;
    keys[at] = key;
    values[at] = value;
    return is_new;
}

static void remove_key(u64 *keys, u64 *values, u64 key) {
    u64 hole = find(keys, key);
    if (keys[hole] == 0) {
        return;
    }
    u64 at = (hole + 1) & MASK;
    while (keys[at] != 0) {
        u64 home = hash(keys[at]);
        if (((at - home) & MASK) >= ((at - hole) & MASK)) {
            keys[hole] = keys[at];
            values[hole] = values[at];
            hole = at;
        }
        at = (at + 1) & MASK;
    }
    keys[hole] = 0;
}

u64 hash_table(u64 n) {
    u64 keys[1024];
    u64 values[1024];
    u64 seed = 1;
    u64 sum = 0;
    for (u64 round = 0; round < n; round++) {
        for (u64 i = 0; i < SLOTS; i++) {
            keys[i] = 0;
            values[i] = 0;
        }
        u64 len = 0;
        u64 start = seed;
        for (u64 i = 0; i < KEYS; i++) {
            seed = seed * 6364136223846793005ul + 1442695040888963407ul;
            len += insert(keys, values, (seed >> 40) + 1, i);
        }
        seed = start;
        for (u64 i = 0; i < KEYS; i++) {
            seed = seed * 6364136223846793005ul + 1442695040888963407ul;
            if ((i & 3) == 0) {
                remove_key(keys, values, (seed >> 40) + 1);
            }
        }
        seed = start;
        for (u64 i = 0; i < KEYS; i++) {
            seed = seed * 6364136223846793005ul + 1442695040888963407ul;
            u64 at = find(keys, (seed >> 40) + 1);
            if (keys[at] != 0) {
                sum = sum * 31 + values[at];
            }
        }
        sum += len;
    }
    return sum;
}
