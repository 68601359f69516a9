// Checksums bit by bit, after CoreMark's crcu8, crcu16 and crcu32.
// tested: 5 => 7107
// measured: 40000 => 58741
#include "kernel.h"

static u16 crcu8(u8 data, u16 crc) {
    for (u8 i = 0; i < 8; i++) {
        u8 carry = 0;
        u8 x16 = (u8)((data & 1) ^ ((u8)crc & 1));
        data >>= 1;
        if (x16 == 1) {
            crc ^= 0x4002;
            carry = 1;
        }
        crc >>= 1;
        if (carry != 0) {
            crc |= 0x8000;
        } else {
            crc &= 0x7fff;
        }
    }
    return crc;
}

static u16 crcu16(u16 value, u16 crc) {
    crc = crcu8((u8)value, crc);
    return crcu8((u8)(value >> 8), crc);
}

static u16 crcu32(u32 value, u16 crc) {
    crc = crcu16((u16)value, crc);
    return crcu16((u16)(value >> 16), crc);
}

u64 coremark_crc(u64 n) {
    u16 crc = 0;
    for (u64 i = 0; i < n; i++) {
        crc = crcu32((u32)i * 2654435761u, crc);
    }
    return crc;
}
