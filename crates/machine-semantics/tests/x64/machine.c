// Runs instructions on the processor. `machine.s` is assembled with it.
//
// `info` prints a line for each form: address and length of the instruction, address of the place that a taken branch
// reaches, and 16 bytes from the address on. `run` reads, until the end of input, the number of a form, a count, and as
// many states before the instruction (struct state), and writes the states after it.

#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE ((unsigned char *)0x10000000)
#define PAGE_SIZE 4096
#define MEMORY (PAGE + 2048)
#define MEMORY_SIZE 64
// States in one batch.
#define MOST 1024

struct state {
    uint64_t general[16];
    uint64_t flags;
    uint64_t vector[16][2];
    unsigned char memory[MEMORY_SIZE];
    // Exit: 0 the next instruction, 1 the target of a branch, 2 a fault of arithmetic, 3 a fault of memory.
    uint64_t exit;
};

struct form {
    unsigned char *start, *end, *taken;
};

extern struct form forms[];
extern uint64_t form_count;
extern struct state machine_state;
extern uint64_t machine_exit;
void machine_run(void *code);

static sigjmp_buf back;

static void on_fault(int number) {
    siglongjmp(back, number == SIGFPE ? 2 : 3);
}

static void check(int ok, const char *what) {
    if (!ok) {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }
}

static void run(uint64_t form, struct state *state) {
    static unsigned char zeros[PAGE_SIZE];
    memcpy(MEMORY, state->memory, MEMORY_SIZE);
    machine_state = *state;
    machine_exit = 0;
    int fault = sigsetjmp(back, 0);
    if (fault == 0) {
        machine_run(forms[form].start);
        machine_state.exit = machine_exit;
    } else {
        machine_state.exit = fault;
    }
    *state = machine_state;
    memcpy(state->memory, MEMORY, MEMORY_SIZE);
    memset(MEMORY, 0, MEMORY_SIZE);
    check(memcmp(PAGE, zeros, PAGE_SIZE) == 0, "an instruction changed other memory");
}

int main(int argc, char **argv) {
    check(argc == 2, "usage: machine info|run");
    if (strcmp(argv[1], "info") == 0) {
        for (unsigned i = 0; i < form_count; i++) {
            printf("%lu %ld %lu ", (uint64_t)forms[i].start, forms[i].end - forms[i].start, (uint64_t)forms[i].taken);
            for (unsigned j = 0; j < 16; j++)
                printf("%02x", forms[i].start[j]);
            printf("\n");
        }
        return 0;
    }
    void *page = mmap(PAGE, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    check(page == PAGE, "mmap");
    static unsigned char stack[1 << 16];
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&other, 0);
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK | SA_NODEFER};
    sigaction(SIGFPE, &action, 0);
    sigaction(SIGSEGV, &action, 0);
    sigaction(SIGBUS, &action, 0);
    static struct state states[MOST];
    uint64_t head[2];
    while (fread(head, sizeof head, 1, stdin) == 1) {
        check(head[0] < form_count && head[1] <= MOST, "a batch is wrong");
        check(fread(states, sizeof *states, head[1], stdin) == head[1], "a state is missing");
        for (uint64_t i = 0; i < head[1]; i++)
            run(head[0], &states[i]);
        check(fwrite(states, sizeof *states, head[1], stdout) == head[1] && fflush(stdout) == 0, "no output");
    }
    return 0;
}
