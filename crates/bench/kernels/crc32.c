// Checksums of random bytes by a table of 256 words, after Embench's crc32.
// tested: 1 => 1703161001
// measured: 400 => 3855922637
#include "kernel.h"

u64 crc32(u64 n) {
    u32 table[256];
    for (u32 i = 0; i < 256; i++) {
        u32 word = i;
        for (u32 bit = 0; bit < 8; bit++) {
            word = (word & 1) != 0 ? word >> 1 ^ 0xedb88320u : word >> 1;
        }
        table[i] = word;
    }
    u32 seed = 0;
    u32 sum = 0;
    for (u64 round = 0; round < n; round++) {
        u32 crc = 0xffffffffu;
        for (u32 i = 0; i < 1024; i++) {
            seed = seed * 1103515245u + 12345u;
            crc = table[(crc ^ seed >> 16) & 0xff] ^ crc >> 8;
        }
        sum += ~crc;
    }
    return sum;
}
