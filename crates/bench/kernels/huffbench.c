// Huffman coding and decoding of random bytes with a heap of frequencies, after Embench's huffbench.
// tested: 1 => 6873400774555951356
// measured: 30 => 5014774303457529547
#include "kernel.h"
#define LEN 500

static void sift(u32 *frequencies, u32 *heap, u32 n, u32 k) {
    u32 v = heap[k];
    while (k <= n >> 1) {
        u32 j = k + k;
        if (j < n && frequencies[heap[j]] > frequencies[heap[j + 1]]) {
            j++;
        }
        if (frequencies[v] < frequencies[heap[j]]) {
            break;
        }
        heap[k] = heap[j];
        k = j;
    }
    heap[k] = v;
}

static u64 compress(u8 *data, u8 *coded, u8 *decoded) {
    u32 frequencies[512];
    u32 heap[257];
    i32 link[512];
    u32 codes[256];
    u8 lengths[256];
    for (u32 i = 0; i < 512; i++) {
        frequencies[i] = 0;
        link[i] = 0;
    }
    for (u32 i = 0; i < LEN; i++) {
        frequencies[data[i]]++;
    }
    u32 n = 0;
    for (u32 i = 0; i < 256; i++) {
        if (frequencies[i] != 0) {
            n++;
            heap[n] = i;
        }
    }
    for (u32 i = n; i > 0; i--) {
        sift(frequencies, heap, n, i);
    }
    while (n > 1) {
        u32 least = heap[1];
        heap[1] = heap[n];
        n--;
        sift(frequencies, heap, n, 1);
        u32 next = heap[1];
        frequencies[256 + n] = frequencies[next] + frequencies[least];
        link[least] = 256 + (i32)n;
        link[next] = -256 - (i32)n;
        heap[1] = 256 + n;
        sift(frequencies, heap, n, 1);
    }
    link[256 + n] = 0;
    for (u32 m = 0; m < 256; m++) {
        codes[m] = 0;
        lengths[m] = 0;
        if (frequencies[m] != 0) {
            u32 i = 0;
            u32 j = 1;
            u32 x = 0;
            i32 l = link[m];
            while (l != 0) {
                if (l < 0) {
                    x += j;
                    l = -l;
                }
                l = link[l];
                j <<= 1;
                i++;
            }
            codes[m] = x;
            lengths[m] = (u8)i;
        }
    }
    u32 bytes = 0;
    u32 bits = 0;
    u8 out = 0;
    for (u32 j = 0; j < LEN; j++) {
        u8 c = data[j];
        u32 mask = 1u << (lengths[c] - 1);
        for (u32 i = 0; i < lengths[c]; i++) {
            out = (u8)(out << 1 | ((codes[c] & mask) != 0 ? 1 : 0));
            mask >>= 1;
            bits++;
            if (bits == 8) {
                coded[bytes] = out;
                bytes++;
                bits = 0;
                out = 0;
            }
        }
    }
    coded[bytes] = (u8)(out << (8 - bits));
    // Decoding compares codes: slow, as in the original.
    u32 at = 0;
    u32 mask = 128;
    u64 sum = 0;
    for (u32 j = 0; j < LEN; j++) {
        u32 code = 0;
        u32 len = 0;
        u32 found = 256;
        while (found == 256) {
            code = code << 1 | ((coded[at] & mask) != 0 ? 1u : 0u);
            len++;
            mask >>= 1;
            if (mask == 0) {
                mask = 128;
                at++;
            }
            for (u32 m = 0; m < 32; m++) {
                if (lengths[m] == len && codes[m] == code) {
                    found = m;
                    break;
                }
            }
        }
        decoded[j] = (u8)found;
        sum = sum * 31 + found;
    }
    return sum + bytes;
}

u64 huffbench(u64 n) {
    u8 data[500];
    u8 coded[1000];
    u8 decoded[500];
    u32 seed = 1;
    u64 sum = 0;
    for (u64 round = 0; round < n; round++) {
        for (u32 i = 0; i < LEN; i++) {
            seed = seed * 1103515245u + 12345u;
            data[i] = (u8)(seed >> 24 & (seed >> 16 & 31));
        }
        sum += compress(data, coded, decoded);
        for (u32 i = 0; i < LEN; i++) {
            if (data[i] != decoded[i]) {
                return 0;
            }
        }
    }
    return sum;
}
