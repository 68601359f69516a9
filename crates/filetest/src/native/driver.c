/* The child process in which compiled functions run. It is linked with the object under test, which
   defines the table of trampolines and functions; it reads calls from its standard input and writes
   what came of them to its standard output. It names as few symbols as it can, because the names of
   the functions under test could be the same.

   Output: the addresses in the table, then for each call a header and its results, or a header and
   the place of a fault, behind which the process ends. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

enum { MAX_SLOTS = 4096, CLOBBERED = 1000 };

struct request { uint32_t index, inputs, outputs, seconds; };
struct header { uint64_t tag; };
struct fault { uint64_t tag, pc, address, sp; };

/* Number of entries, then the entries. */
extern const uint64_t __kingpost_table[];

static uint64_t slots[MAX_SLOTS][2] __attribute__((aligned(16)));
static char handler_stack[65536];

static void put(const void *bytes, unsigned long size) {
    const char *at = bytes;
    while (size > 0) {
        long written = syscall(SYS_write, 1, at, size);
        if (written <= 0) syscall(SYS_exit_group, 3);
        at += written;
        size -= written;
    }
}

static int get(void *bytes, unsigned long size) {
    char *at = bytes;
    while (size > 0) {
        long count = syscall(SYS_read, 0, at, size);
        if (count <= 0) return 0;
        at += count;
        size -= count;
    }
    return 1;
}

static void handle(int number, siginfo_t *info, void *context) {
    const ucontext_t *c = context;
#if defined(__x86_64__)
    struct fault fault = {number, c->uc_mcontext.gregs[REG_RIP], (uint64_t)info->si_addr, c->uc_mcontext.gregs[REG_RSP]};
#else
    struct fault fault = {number, c->uc_mcontext.pc, (uint64_t)info->si_addr, c->uc_mcontext.sp};
#endif
    put(&fault, sizeof fault);
    syscall(SYS_exit_group, 0);
}

#if defined(__x86_64__)
/* Calls a trampoline; the result is 0, or which register the callee did not preserve. */
uint64_t kingpost_call_checked(uint64_t trampoline, void *slots);
__asm__(".text\n"
        ".globl kingpost_call_checked\n"
        "kingpost_call_checked:\n"
        "push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15; sub $8, %rsp\n"
        "mov %rdi, %rax; mov %rsi, %rdi\n"
        "movabs $0xb1b2b3b4b5b6b7b8, %rbx; lea 1(%rbx), %rbp; lea 2(%rbx), %r12\n"
        "lea 3(%rbx), %r13; lea 4(%rbx), %r14; lea 5(%rbx), %r15\n"
        "mov %rsp, kingpost_saved_sp(%rip)\n"
        "call *%rax\n"
        "mov $1, %eax; cmp %rsp, kingpost_saved_sp(%rip); jne 1f\n"
        "movabs $0xb1b2b3b4b5b6b7b8, %rcx\n"
        "mov $2, %eax; cmp %rcx, %rbx; jne 1f\n"
        "inc %rcx; mov $3, %eax; cmp %rcx, %rbp; jne 1f\n"
        "inc %rcx; mov $4, %eax; cmp %rcx, %r12; jne 1f\n"
        "inc %rcx; mov $5, %eax; cmp %rcx, %r13; jne 1f\n"
        "inc %rcx; mov $6, %eax; cmp %rcx, %r14; jne 1f\n"
        "inc %rcx; mov $7, %eax; cmp %rcx, %r15; jne 1f\n"
        "xor %eax, %eax\n"
        "1: mov kingpost_saved_sp(%rip), %rsp; cld\n"
        "add $8, %rsp; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\n"
        ".local kingpost_saved_sp\n"
        ".comm kingpost_saved_sp, 8, 8\n");
#else
static uint64_t kingpost_call_checked(uint64_t trampoline, void *slots) {
    ((void (*)(void *))trampoline)(slots);
    return 0;
}
#endif

#if defined(__x86_64__)
__attribute__((force_align_arg_pointer))
#endif
void _start(void) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGALRM};
    stack_t stack = {.ss_sp = handler_stack, .ss_size = sizeof handler_stack};
    sigaltstack(&stack, 0);
    for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
        sigaction(signals[i], &action, 0);
    }
    put(__kingpost_table + 1, __kingpost_table[0] * 8);
    struct request request;
    while (get(&request, sizeof request)) {
        struct itimerval timer = {.it_value = {.tv_sec = request.seconds}};
        if (request.inputs > MAX_SLOTS || request.outputs > MAX_SLOTS || !get(slots, request.inputs * 16ul)) break;
        syscall(SYS_setitimer, ITIMER_REAL, &timer, 0);
        uint64_t clobbered = kingpost_call_checked(__kingpost_table[1 + request.index], slots);
        struct header header = {clobbered ? CLOBBERED + clobbered : 0};
        put(&header, sizeof header);
        if (!clobbered) put(slots, request.outputs * 16ul);
    }
    syscall(SYS_exit_group, 0);
}
