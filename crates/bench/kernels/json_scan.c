// A scanner of JSON that counts values by kind and depth, and reads numbers, escapes included.
// tested: 1 => 14651493078863019599
// measured: 150 => 1494388320548417906
#include "kernel.h"

static u32 is_space(u8 c) {
    return c == 32 || c == 10 || c == 9 || c == 13 ? 1u : 0u;
}

static u32 skip_spaces(u8 *text, u32 at) {
    while (is_space(text[at]) != 0) {
        at++;
    }
    return at;
}

// Returns the end of a string that begins before `at`, and adds its characters to `sums[1]`.
static u32 scan_string(u8 *text, u32 at, u64 *sums) {
    u64 sum = sums[1];
    while (text[at] != 34) {
        u8 c = text[at];
        at++;
        if (c == 92) {
            c = text[at];
            at++;
            switch (c) {
            case 110:
                c = 10;
                break;
            case 116:
                c = 9;
                break;
            case 114:
                c = 13;
                break;
            default:
                break;
            }
        }
        sum = sum * 31 + c;
    }
    sums[1] = sum;
    return at + 1;
}

static u32 scan_number(u8 *text, u32 at, u64 *sums) {
    u64 is_negative = 0;
    if (text[at] == 45) {
        is_negative = 1;
        at++;
    }
    u64 value = 0;
    u64 digits = 0;
    while (text[at] >= 48 && text[at] <= 57) {
        value = value * 10 + (text[at] - 48);
        at++;
    }
    if (text[at] == 46) {
        at++;
        while (text[at] >= 48 && text[at] <= 57) {
            value = value * 10 + (text[at] - 48);
            digits++;
            at++;
        }
    }
    sums[2] += is_negative != 0 ? digits - value : value + digits;
    return at;
}

// Scans a text that ends in zero. Returns the deepest nesting, or 100 if the text is wrong.
static u32 scan(u8 *text, u64 *sums) {
    u8 open[64];
    u32 depth = 0;
    u32 deepest = 0;
    u32 at = skip_spaces(text, 0);
    while (text[at] != 0) {
        u8 c = text[at];
        switch (c) {
        case 123:
        case 91:
            open[depth & 63] = c;
            depth++;
            if (depth > deepest) {
                deepest = depth;
            }
            at++;
            break;
        case 125:
        case 93:
            if (depth == 0 || open[(depth - 1) & 63] + 2 != c) {
                return 100;
            }
            depth--;
            at++;
            break;
        case 34:
            at = scan_string(text, at + 1, sums);
            break;
        case 44:
        case 58:
            sums[0]++;
            at++;
            break;
        case 116:
        case 110:
            sums[3]++;
            at += 4;
            break;
        case 102:
            sums[3] += 2;
            at += 5;
            break;
        default:
            if (c != 45 && (c < 48 || c > 57)) {
                return 100;
            }
            at = scan_number(text, at, sums);
            break;
        }
        at = skip_spaces(text, at);
    }
    return depth == 0 ? deepest : 100u;
}

static u32 put(u8 *text, u32 at, u64 characters) {
    while (characters != 0) {
        text[at] = (u8)characters;
        characters = characters >> 8;
        at++;
    }
    return at;
}

// Writes records such as `{"id":-12.5, "s":"a\n\b", "v":[true,[null,7] ] },` and returns the end.
static u32 write_records(u8 *text) {
    u32 at = put(text, 0, 91);
    u32 seed = 5;
    for (u32 i = 0; i < 40; i++) {
        seed = seed * 1103515245u + 12345u;
        at = put(text, at, 0x3a226469227bul);
        if ((seed >> 16 & 1) != 0) {
            at = put(text, at, 45);
        }
        for (u32 digit = 0; digit <= (seed >> 20 & 7); digit++) {
            at = put(text, at, 48 + (seed >> digit) % 10);
        }
        at = put(text, at, 0x352e);
        at = put(text, at, 0x3a227322202cul);
        at = put(text, at, 0x22625c6e5c6122ul);
        at = put(text, at, 0x5b3a227622202cul);
        at = put(text, at, (seed >> 24 & 1) != 0 ? 0x65757274ul : 0x65736c6166ul);
        at = put(text, at, 0x372c6c6c756e5b2cul);
        at = put(text, at, 0x0a7d205d205dul);
        if (i != 39) {
            at = put(text, at, 0x202c);
        }
    }
    return put(text, at, 93);
}

u64 json_scan(u64 n) {
    u8 text[4096];
    u64 sums[4] = {0, 0, 0, 0};
    text[write_records(text)] = 0;
    u64 sum = 0;
    for (u64 round = 0; round < n; round++) {
        sum = sum * 31 + scan(text, sums);
    }
    for (u32 i = 0; i < 4; i++) {
        sum = sum * 31 + sums[i];
    }
    return sum;
}
