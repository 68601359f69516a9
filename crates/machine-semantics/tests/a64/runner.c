/* Executes instructions from given states. Reads, until the end of input: the number of words, the number of cases,
   the words, and the cases. Writes the states after each case. */

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define CODE 0x1000000000
#define MEMORY 0x2000000000
#define PAGE 4096
#define PLACE 0x340
#define WINDOW 0x800
#define MOST 1024

struct state {
    uint64_t x[8], x30, sp, nzcv, x9, v[6][2];
    uint8_t memory[96];
};

/* The states of one batch, and behind the last one the saved stack pointer. */
static struct state states[MOST];
static struct { struct state state; uint64_t sp; } here;

void run(void *state, void *code);

__asm__(".text\n"
        "run: stp x19, x20, [sp, #-96]!\n"
        " stp x21, x22, [sp, #16]\n stp x23, x24, [sp, #32]\n stp x25, x26, [sp, #48]\n"
        " stp x27, x28, [sp, #64]\n stp x29, x30, [sp, #80]\n"
        " mov x28, x0\n mov x27, x1\n adr x26, back\n"
        " mov x9, sp\n str x9, [x28, #288]\n"
        " ldr x9, [x28, #80]\n msr nzcv, x9\n"
        " ldp q0, q1, [x28, #96]\n ldp q2, q3, [x28, #128]\n ldp q4, q5, [x28, #160]\n"
        " ldr x9, [x28, #72]\n mov sp, x9\n"
        " ldp x0, x1, [x28]\n ldp x2, x3, [x28, #16]\n ldp x4, x5, [x28, #32]\n ldp x6, x7, [x28, #48]\n"
        " ldr x30, [x28, #64]\n mov x9, #0\n br x27\n"
        "back: stp x0, x1, [x28]\n stp x2, x3, [x28, #16]\n stp x4, x5, [x28, #32]\n stp x6, x7, [x28, #48]\n"
        " str x30, [x28, #64]\n str x9, [x28, #88]\n mov x9, sp\n str x9, [x28, #72]\n"
        " mrs x9, nzcv\n str x9, [x28, #80]\n"
        " stp q0, q1, [x28, #96]\n stp q2, q3, [x28, #128]\n stp q4, q5, [x28, #160]\n"
        " ldr x9, [x28, #288]\n mov sp, x9\n"
        " ldp x21, x22, [sp, #16]\n ldp x23, x24, [sp, #32]\n ldp x25, x26, [sp, #48]\n"
        " ldp x27, x28, [sp, #64]\n ldp x29, x30, [sp, #80]\n ldp x19, x20, [sp], #96\n ret\n");

static void *map(uint64_t at, int protection) {
    return mmap((void *)at, PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

int main(void) {
    uint32_t counts[2];
    if (map(CODE, PROT_READ | PROT_WRITE | PROT_EXEC) == MAP_FAILED || map(MEMORY, PROT_READ | PROT_WRITE) == MAP_FAILED)
        return 1;
    char *code = (char *)CODE + PLACE, *window = (char *)MEMORY + WINDOW;
    while (fread(counts, sizeof counts, 1, stdin) == 1) {
        if (counts[0] > 64 || counts[1] > MOST || fread(code, 4, counts[0], stdin) != counts[0]) return 1;
        __builtin___clear_cache(code, code + 4 * counts[0]);
        if (fread(states, sizeof *states, counts[1], stdin) != counts[1]) return 1;
        for (uint32_t i = 0; i < counts[1]; i++) {
            here.state = states[i];
            memcpy(window, here.state.memory, sizeof here.state.memory);
            run(&here, code);
            memcpy(here.state.memory, window, sizeof here.state.memory);
            states[i] = here.state;
        }
        if (fwrite(states, sizeof *states, counts[1], stdout) != counts[1] || fflush(stdout)) return 1;
    }
    return 0;
}
