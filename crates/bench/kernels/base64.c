// Base64: encodes bytes, decodes the text by a table, and compares.
// tested: 1 => 32800840
// measured: 100 => 5052558118890142804
#include "kernel.h"
#define LEN 3001

static u8 digit(u32 six) {
    six = six & 63;
    if (six < 26) {
        return (u8)(65 + six);
    }
    if (six < 52) {
        return (u8)(71 + six);
    }
    if (six < 62) {
        return (u8)(six - 4);
    }
    return six == 62 ? 43 : 47;
}

static u32 encode(u8 *in, u32 len, u8 *digits, u8 *out) {
    u32 at = 0;
    u32 end = 0;
    while (at + 3 <= len) {
        u32 bits = (u32)in[at] << 16 | (u32)in[at + 1] << 8 | (u32)in[at + 2];
        out[end] = digits[bits >> 18];
        out[end + 1] = digits[bits >> 12 & 63];
        out[end + 2] = digits[bits >> 6 & 63];
        out[end + 3] = digits[bits & 63];
        at += 3;
        end += 4;
    }
    u32 rest = len - at;
    if (rest != 0) {
        u32 bits = (u32)in[at] << 16;
        if (rest == 2) {
            bits = bits | (u32)in[at + 1] << 8;
        }
        out[end] = digits[bits >> 18];
        out[end + 1] = digits[bits >> 12 & 63];
        out[end + 2] = rest == 2 ? digits[bits >> 6 & 63] : 61;
        out[end + 3] = 61;
        end += 4;
    }
    return end;
}

// Returns the number of bytes, or 0 if a character is not in the alphabet.
static u32 decode(u8 *in, u32 len, u8 *values, u8 *out) {
    u32 end = 0;
    for (u32 at = 0; at < len; at += 4) {
        u32 a = values[in[at]];
        u32 b = values[in[at + 1]];
        u32 c = values[in[at + 2]];
        u32 d = values[in[at + 3]];
        if ((a | b | c | d) > 64 || (a | b) == 64) {
            return 0;
        }
        u32 bits = a << 18 | b << 12 | (c & 63) << 6 | (d & 63);
        out[end] = (u8)(bits >> 16);
        end++;
        if (c != 64) {
            out[end] = (u8)(bits >> 8);
            end++;
        }
        if (d != 64) {
            out[end] = (u8)bits;
            end++;
        }
    }
    return end;
}

u64 base64(u64 n) {
    u8 bytes[3008];
    u8 text[4016];
    u8 decoded[3008];
    u8 digits[64];
    u8 values[256];
    for (u32 i = 0; i < 256; i++) {
        values[i] = 128;
    }
    for (u32 i = 0; i < 64; i++) {
        digits[i] = digit(i);
        values[digits[i]] = (u8)i;
    }
    values[61] = 64;
    u32 seed = 1;
    for (u32 i = 0; i < LEN; i++) {
        seed = seed * 1103515245u + 12345u;
        bytes[i] = (u8)(seed >> 20);
    }
    u64 sum = 0;
    for (u64 round = 0; round < n; round++) {
        u32 len = encode(bytes, LEN - (u32)(round % 3), digits, text);
        u32 back = decode(text, len, values, decoded);
        for (u32 i = 0; i < back; i++) {
            if (decoded[i] != bytes[i]) {
                return 0;
            }
        }
        sum = sum * 31 + (u64)len * 8192 + back + text[round % len];
    }
    return sum;
}
