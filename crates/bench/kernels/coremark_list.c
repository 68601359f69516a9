// A linked list that is searched, reversed and merge-sorted, after CoreMark's core_list_join.
// tested: 1 => 2646
// measured: 200 => 6141629652517037663
#include "kernel.h"
#define NODES 200

// A node is three words: the address of the next one, its index, its data.
static u64 find(u64 list, u64 data) {
    while (list != 0 && ((u64 *)list)[2] != data) {
        list = *(u64 *)list;
    }
    return list;
}

static u64 reverse(u64 list) {
    u64 reversed = 0;
    while (list != 0) {
        u64 next = *(u64 *)list;
        *(u64 *)list = reversed;
        reversed = list;
        list = next;
    }
    return reversed;
}

static u64 is_before(u64 a, u64 b, u64 field) {
    return ((u64 *)a)[field] <= ((u64 *)b)[field] ? 1ul : 0ul;
}

static u64 merge_sort(u64 list, u64 field) {
    u64 run = 1;
    u64 merges = 2;
    while (merges > 1) {
        u64 rest = list;
        u64 tail = 0;
        list = 0;
        merges = 0;
        while (rest != 0) {
            merges++;
            u64 left = rest;
            u64 left_len = 0;
            while (left_len < run && rest != 0) {
                left_len++;
                rest = *(u64 *)rest;
            }
            u64 right_len = run;
            while (left_len > 0 || (right_len > 0 && rest != 0)) {
                u64 next = 0;
                if (left_len == 0) {
                    next = rest;
                    rest = *(u64 *)rest;
                    right_len--;
                } else if (right_len == 0 || rest == 0 || is_before(left, rest, field) != 0) {
                    next = left;
                    left = *(u64 *)left;
                    left_len--;
                } else {
                    next = rest;
                    rest = *(u64 *)rest;
                    right_len--;
                }
                if (tail != 0) {
                    *(u64 *)tail = next;
                } else {
                    list = next;
                }
                tail = next;
            }
        }
        *(u64 *)tail = 0;
        run *= 2;
    }
    return list;
}

u64 coremark_list(u64 n) {
    u64 nodes[600];
    u64 list = 0;
    u64 seed = 1;
    for (u64 i = 0; i < NODES; i++) {
        u64 *node = nodes + i * 3;
        seed = seed * 6364136223846793005ul + 1442695040888963407ul;
        node[0] = list;
        node[1] = i;
        node[2] = seed >> 40 & 1023;
        list = (u64)node;
    }
    u64 sum = 0;
    for (u64 round = 0; round < n; round++) {
        u64 found = find(list, round & 1023);
        if (found != 0) {
            sum += ((u64 *)found)[1];
        }
        list = reverse(list);
        list = merge_sort(list, 2);
        sum = sum * 31 + ((u64 *)list)[1];
        list = merge_sort(list, 1);
        sum = sum * 31 + ((u64 *)list)[2];
    }
    return sum;
}
