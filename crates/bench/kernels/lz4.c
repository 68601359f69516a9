// Decompression of LZ4 blocks: literals, and copies of earlier bytes that may overlap. The block is compressed first.
// tested: 1 => 77834
// measured: 150 => 13080524658215655321
#include "kernel.h"
#define LEN 4096

static u32 put_length(u8 *out, u32 at, u32 rest) {
    while (rest >= 255) {
        out[at] = 255;
        at++;
        rest -= 255;
    }
    out[at] = (u8)rest;
    return at + 1;
}

// Writes literals, and a copy unless its length is 0. Returns the end.
static u32 put_sequence(u8 *out, u32 at, u8 *literals, u32 count, u32 distance, u32 len) {
    u32 high = count < 15 ? count : 15u;
    u32 low = len == 0 ? 0u : len - 4 < 15 ? len - 4 : 15u;
    out[at] = (u8)(high << 4 | low);
    at++;
    if (high == 15) {
        at = put_length(out, at, count - 15);
    }
    for (u32 i = 0; i < count; i++) {
        out[at] = literals[i];
        at++;
    }
    if (len != 0) {
        out[at] = (u8)distance;
        out[at + 1] = (u8)(distance >> 8);
        at += 2;
        if (low == 15) {
            at = put_length(out, at, len - 19);
        }
    }
    return at;
}

static u32 word(u8 *p) {
    return (u32)p[0] | (u32)p[1] << 8 | (u32)p[2] << 16 | (u32)p[3] << 24;
}

static u32 compress(u8 *in, u8 *out) {
    u32 last[1024];
    for (u32 i = 0; i < 1024; i++) {
        last[i] = 0;
    }
    u32 end = 0;
    u32 begin = 0;
    u32 at = 1;
    while (at + 12 < LEN) {
        u32 key = word(in + at) * 2654435761u >> 22;
        u32 candidate = last[key];
        last[key] = at;
        if (word(in + candidate) != word(in + at)) {
            at++;
            continue;
        }
        u32 len = 4;
        while (at + len + 5 < LEN && in[candidate + len] == in[at + len]) {
            len++;
        }
        end = put_sequence(out, end, in + begin, at - begin, at - candidate, len);
        at += len;
        begin = at;
    }
    return put_sequence(out, end, in + begin, LEN - begin, 0, 0);
}

// Returns the number of bytes written.
static u32 decompress(u8 *in, u32 len, u8 *out) {
    u32 at = 0;
    u32 end = 0;
    while (at < len) {
        u32 token = in[at];
        at++;
        u32 count = token >> 4;
        if (count == 15) {
            while (in[at] == 255) {
                count += 255;
                at++;
            }
            count += in[at];
            at++;
        }
        for (u32 i = 0; i < count; i++) {
            out[end + i] = in[at + i];
        }
        end += count;
        at += count;
        if (at >= len) {
            break;
        }
        u32 from = end - ((u32)in[at] | (u32)in[at + 1] << 8);
        at += 2;
        u32 copy = (token & 15) + 4;
        if (copy == 19) {
            while (in[at] == 255) {
                copy += 255;
                at++;
            }
            copy += in[at];
            at++;
        }
        for (u32 i = 0; i < copy; i++) {
            out[end + i] = out[from + i];
        }
        end += copy;
    }
    return end;
}

u64 lz4(u64 n) {
    u8 text[4096];
    u8 packed[5120];
    u8 unpacked[4096];
    u32 seed = 9;
    u32 at = 0;
    while (at < LEN) {
        seed = seed * 1103515245u + 12345u;
        u32 len = (seed >> 16 & 31) + 1;
        u32 from = at > 64 && (seed >> 27 & 3) != 0 ? (seed >> 8) % (at - 40) : at;
        for (u32 i = 0; i < len && at < LEN; i++) {
            if (from + i < at) {
                text[at] = text[from + i];
            } else {
                seed = seed * 1103515245u + 12345u;
                text[at] = (u8)(seed >> 24);
            }
            at++;
        }
    }
    u32 len = compress(text, packed);
    u64 sum = len;
    for (u64 round = 0; round < n; round++) {
        sum = sum * 31 + decompress(packed, len, unpacked);
        for (u32 i = 0; i < LEN; i += 61) {
            if (text[i] != unpacked[i]) {
                return i;
            }
            sum += unpacked[i];
        }
    }
    return sum;
}
