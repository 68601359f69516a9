// Two Petri nets of many places as one long row of conditions and constant accesses, after Embench's nsichneu.
// tested: 20 => 8414620108987499799
// measured: 40000 => 1855707980409210034
#include "kernel.h"

static u32 step(u32 *places, u32 *values) {
    u32 fired = 0;
    if (places[8] >= 2 && places[11] < 9) {
        u32 x = values[8];
        u32 y = values[5];
        u32 z = values[12];
        if (x != y && (y != z || (z & 8) == 0)) {
            places[8] -= 2;
            places[11] += 1;
            places[5] = places[5] + 1 & 15;
            values[11] = x + z;
            values[5] = y ^ 199;
            fired++;
        }
    }
    if (places[7] >= 2 && places[10] < 9) {
        u32 x = values[7];
        u32 y = values[0];
        u32 z = values[2];
        if (x != y && (y != z || (z & 4) == 0)) {
            places[7] -= 2;
            places[10] += 1;
            places[0] = places[0] + 1 & 15;
            values[10] = x + z;
            values[0] = y ^ 121;
            fired++;
        }
    }
    if (places[7] >= 2 && places[6] < 9) {
        u32 x = values[7];
        u32 y = values[8];
        u32 z = values[1];
        if (x != y && (y != z || (z & 1) == 0)) {
            places[7] -= 2;
            places[6] += 1;
            places[8] = places[8] + 1 & 15;
            values[6] = x + z;
            values[8] = y ^ 188;
            fired++;
        }
    }
    if (places[6] >= 3 && places[15] < 9) {
        u32 x = values[6];
        u32 y = values[4];
        u32 z = values[2];
        if (x != y && (y != z || (z & 2) == 0)) {
            places[6] -= 3;
            places[15] += 2;
            places[4] = places[4] + 1 & 15;
            values[15] = x + z;
            values[4] = y ^ 196;
            fired++;
        }
    }
    if (places[2] >= 3 && places[15] < 9) {
        u32 x = values[2];
        u32 y = values[9];
        u32 z = values[13];
        if (x != y && (y != z || (z & 2) == 0)) {
            places[2] -= 3;
            places[15] += 2;
            places[9] = places[9] + 1 & 15;
            values[15] = x + z;
            values[9] = y ^ 34;
            fired++;
        }
    }
    if (places[0] >= 2 && places[13] < 9) {
        u32 x = values[0];
        u32 y = values[15];
        u32 z = values[3];
        if (x != y && (y != z || (z & 2) == 0)) {
            places[0] -= 2;
            places[13] += 1;
            places[15] = places[15] + 1 & 15;
            values[13] = x + z;
            values[15] = y ^ 224;
            fired++;
        }
    }
    if (places[5] >= 2 && places[4] < 9) {
        u32 x = values[5];
        u32 y = values[15];
        u32 z = values[3];
        if (x != y && (y != z || (z & 2) == 0)) {
            places[5] -= 2;
            places[4] += 1;
            places[15] = places[15] + 1 & 15;
            values[4] = x + z;
            values[15] = y ^ 241;
            fired++;
        }
    }
    if (places[6] >= 2 && places[14] < 9) {
        u32 x = values[6];
        u32 y = values[15];
        u32 z = values[4];
        if (x != y && (y != z || (z & 4) == 0)) {
            places[6] -= 2;
            places[14] += 1;
            places[15] = places[15] + 1 & 15;
            values[14] = x + z;
            values[15] = y ^ 107;
            fired++;
        }
    }
    if (places[5] >= 2 && places[14] < 9) {
        u32 x = values[5];
        u32 y = values[2];
        u32 z = values[4];
        if (x != y && (y != z || (z & 4) == 0)) {
            places[5] -= 2;
            places[14] += 1;
            places[2] = places[2] + 1 & 15;
            values[14] = x + z;
            values[2] = y ^ 78;
            fired++;
        }
    }
    if (places[0] >= 3 && places[9] < 9) {
        u32 x = values[0];
        u32 y = values[10];
        u32 z = values[11];
        if (x != y && (y != z || (z & 1) == 0)) {
            places[0] -= 3;
            places[9] += 2;
            places[10] = places[10] + 1 & 15;
            values[9] = x + z;
            values[10] = y ^ 80;
            fired++;
        }
    }
    if (places[11] >= 3 && places[13] < 9) {
        u32 x = values[11];
        u32 y = values[4];
        u32 z = values[7];
        if (x != y && (y != z || (z & 2) == 0)) {
            places[11] -= 3;
            places[13] += 2;
            places[4] = places[4] + 1 & 15;
            values[13] = x + z;
            values[4] = y ^ 124;
            fired++;
        }
    }
    if (places[15] >= 3 && places[11] < 9) {
        u32 x = values[15];
        u32 y = values[2];
        u32 z = values[0];
        if (x != y && (y != z || (z & 1) == 0)) {
            places[15] -= 3;
            places[11] += 2;
            places[2] = places[2] + 1 & 15;
            values[11] = x + z;
            values[2] = y ^ 244;
            fired++;
        }
    }
    if (places[11] >= 3 && places[13] < 9) {
        u32 x = values[11];
        u32 y = values[6];
        u32 z = values[0];
        if (x != y && (y != z || (z & 4) == 0)) {
            places[11] -= 3;
            places[13] += 2;
            places[6] = places[6] + 1 & 15;
            values[13] = x + z;
            values[6] = y ^ 97;
            fired++;
        }
    }
    if (places[0] >= 2 && places[7] < 9) {
        u32 x = values[0];
        u32 y = values[15];
        u32 z = values[11];
        if (x != y && (y != z || (z & 2) == 0)) {
            places[0] -= 2;
            places[7] += 1;
            places[15] = places[15] + 1 & 15;
            values[7] = x + z;
            values[15] = y ^ 31;
            fired++;
        }
    }
    if (places[7] >= 3 && places[14] < 9) {
        u32 x = values[7];
        u32 y = values[13];
        u32 z = values[15];
        if (x != y && (y != z || (z & 4) == 0)) {
            places[7] -= 3;
            places[14] += 2;
            places[13] = places[13] + 1 & 15;
            values[14] = x + z;
            values[13] = y ^ 229;
            fired++;
        }
    }
    if (places[8] >= 3 && places[12] < 9) {
        u32 x = values[8];
        u32 y = values[7];
        u32 z = values[1];
        if (x != y && (y != z || (z & 4) == 0)) {
            places[8] -= 3;
            places[12] += 2;
            places[7] = places[7] + 1 & 15;
            values[12] = x + z;
            values[7] = y ^ 10;
            fired++;
        }
    }
    if (places[13] >= 3 && places[1] < 9) {
        u32 x = values[13];
        u32 y = values[3];
        u32 z = values[5];
        if (x != y && (y != z || (z & 2) == 0)) {
            places[13] -= 3;
            places[1] += 2;
            places[3] = places[3] + 1 & 15;
            values[1] = x + z;
            values[3] = y ^ 88;
            fired++;
        }
    }
    if (places[8] >= 2 && places[14] < 9) {
        u32 x = values[8];
        u32 y = values[11];
        u32 z = values[15];
        if (x != y && (y != z || (z & 4) == 0)) {
            places[8] -= 2;
            places[14] += 1;
            places[11] = places[11] + 1 & 15;
            values[14] = x + z;
            values[11] = y ^ 176;
            fired++;
        }
    }
    if (places[10] >= 2 && places[4] < 9) {
        u32 x = values[10];
        u32 y = values[2];
        u32 z = values[12];
        if (x != y && (y != z || (z & 2) == 0)) {
            places[10] -= 2;
            places[4] += 1;
            places[2] = places[2] + 1 & 15;
            values[4] = x + z;
            values[2] = y ^ 185;
            fired++;
        }
    }
    if (places[9] >= 2 && places[7] < 9) {
        u32 x = values[9];
        u32 y = values[2];
        u32 z = values[11];
        if (x != y && (y != z || (z & 1) == 0)) {
            places[9] -= 2;
            places[7] += 1;
            places[2] = places[2] + 1 & 15;
            values[7] = x + z;
            values[2] = y ^ 253;
            fired++;
        }
    }
    if (places[12] >= 3 && places[0] < 9) {
        u32 x = values[12];
        u32 y = values[3];
        u32 z = values[11];
        if (x != y && (y != z || (z & 4) == 0)) {
            places[12] -= 3;
            places[0] += 2;
            places[3] = places[3] + 1 & 15;
            values[0] = x + z;
            values[3] = y ^ 117;
            fired++;
        }
    }
    if (places[13] >= 2 && places[2] < 9) {
        u32 x = values[13];
        u32 y = values[0];
        u32 z = values[10];
        if (x != y && (y != z || (z & 8) == 0)) {
            places[13] -= 2;
            places[2] += 1;
            places[0] = places[0] + 1 & 15;
            values[2] = x + z;
            values[0] = y ^ 86;
            fired++;
        }
    }
    if (places[6] >= 2 && places[2] < 9) {
        u32 x = values[6];
        u32 y = values[11];
        u32 z = values[9];
        if (x != y && (y != z || (z & 8) == 0)) {
            places[6] -= 2;
            places[2] += 1;
            places[11] = places[11] + 1 & 15;
            values[2] = x + z;
            values[11] = y ^ 28;
            fired++;
        }
    }
    if (places[5] >= 2 && places[6] < 9) {
        u32 x = values[5];
        u32 y = values[15];
        u32 z = values[2];
        if (x != y && (y != z || (z & 8) == 0)) {
            places[5] -= 2;
            places[6] += 1;
            places[15] = places[15] + 1 & 15;
            values[6] = x + z;
            values[15] = y ^ 76;
            fired++;
        }
    }
    return fired;
}

u64 nsichneu(u64 n) {
    u32 places[16];
    u32 values[16];
    u64 sum = 0;
    for (u64 round = 0; round < n; round++) {
        if ((round & 15) == 0) {
            for (u32 i = 0; i < 16; i++) {
                places[i] = (i * 7 + (u32)round >> 4 & 7) + 2;
                values[i] = i * 13 + (u32)round;
            }
        }
        sum = sum * 31 + step(places, values);
    }
    return sum;
}
