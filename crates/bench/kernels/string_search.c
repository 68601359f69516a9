// Search of patterns in a text, by Horspool's algorithm and by comparing at every place.
// tested: 1 => 1034592
// measured: 60 => 5632673616981081792
#include "kernel.h"
#define LEN 4096

static u32 matches(u8 *text, u8 *pattern, u32 len) {
    for (u32 i = 0; i < len; i++) {
        if (text[i] != pattern[i]) {
            return 0;
        }
    }
    return 1;
}

static u64 search_everywhere(u8 *text, u32 text_len, u8 *pattern, u32 len) {
    u64 sum = 0;
    for (u32 at = 0; at + len <= text_len; at++) {
        if (text[at] == pattern[0] && matches(text + at, pattern, len) != 0) {
            sum += at;
        }
    }
    return sum;
}

static u64 search_with_skips(u8 *text, u32 text_len, u8 *pattern, u32 len) {
    u32 skips[256];
    for (u32 i = 0; i < 256; i++) {
        skips[i] = len;
    }
    for (u32 i = 0; i < len - 1; i++) {
        skips[pattern[i]] = len - 1 - i;
    }
    u64 sum = 0;
    u32 at = 0;
    while (at + len <= text_len) {
        u8 last = text[at + len - 1];
        if (last == pattern[len - 1] && matches(text + at, pattern, len) != 0) {
            sum += at;
        }
        at += skips[last];
    }
    return sum;
}

u64 string_search(u64 n) {
    u8 text[4096];
    u32 seed = 3;
    for (u32 i = 0; i < LEN; i++) {
        seed = seed * 1103515245u + 12345u;
        text[i] = (u8)(97 + (seed >> 28));
    }
    u64 sum = 0;
    for (u64 round = 0; round < n; round++) {
        u32 len = (u32)(round & 7) + 2;
        u32 from = (u32)(round * 61 & 2047);
        sum = sum * 31 + search_everywhere(text, LEN, text + from, len);
        sum = sum * 31 + search_with_skips(text, LEN, text + from, len);
    }
    return sum;
}
