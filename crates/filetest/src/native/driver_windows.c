/* The child process in which compiled functions for Windows on x86-64 run. driver.c describes its input and output. It
   has no start files, because a function under test may have any name. It calls the system only. */
#include <stdint.h>
#include <windows.h>

enum { MAX_SLOTS = 4096, CLOBBERED = 1000, FAULTED = 9999, LATE = 27 };

struct request { uint32_t index, inputs, outputs; };
struct header { uint64_t tag; };
struct fault { uint64_t tag, pc, address, sp; };

/* The number of entries, then the entries. */
extern const uint64_t __kingpost_table[];

static uint64_t slots[MAX_SLOTS][2] __attribute__((aligned(16)));
static uint64_t seconds;

static void put(const void *bytes, DWORD size) {
    const char *at = bytes;
    while (size > 0) {
        DWORD written = 0;
        if (!WriteFile(GetStdHandle(STD_OUTPUT_HANDLE), at, size, &written, NULL) || !written) ExitProcess(3);
        at += written;
        size -= written;
    }
}

static int get(void *bytes, DWORD size) {
    char *at = bytes;
    while (size > 0) {
        DWORD count = 0;
        if (!ReadFile(GetStdHandle(STD_INPUT_HANDLE), at, size, &count, NULL) || !count) return 0;
        at += count;
        size -= count;
    }
    return 1;
}

/* Returns the signal that Linux sends for an exception, or 0. */
static uint64_t signal_of(DWORD code) {
    switch (code) {
    case EXCEPTION_ACCESS_VIOLATION: case EXCEPTION_STACK_OVERFLOW: case STATUS_GUARD_PAGE_VIOLATION: return 11;
    case EXCEPTION_ILLEGAL_INSTRUCTION: case EXCEPTION_PRIV_INSTRUCTION: return 4;
    case EXCEPTION_INT_DIVIDE_BY_ZERO: case EXCEPTION_INT_OVERFLOW: return 8;
    case EXCEPTION_BREAKPOINT: return 5;
    default: return 0;
    }
}

/* The address at which execution resumes after a fault, and the stack pointer at that address. */
extern char kingpost_recover[];
extern uint64_t kingpost_saved_sp;

static LONG WINAPI handle(EXCEPTION_POINTERS *e) {
    const EXCEPTION_RECORD *record = e->ExceptionRecord;
    uint64_t number = signal_of(record->ExceptionCode);
    if (!number || !kingpost_saved_sp) return EXCEPTION_CONTINUE_SEARCH;
    uint64_t address = record->NumberParameters > 1 ? record->ExceptionInformation[1] : 0;
    struct fault fault = {number, e->ContextRecord->Rip, address, e->ContextRecord->Rsp};
    put(&fault, sizeof fault);
    e->ContextRecord->Rip = (uint64_t)kingpost_recover;
    e->ContextRecord->Rsp = kingpost_saved_sp;
    return EXCEPTION_CONTINUE_EXECUTION;
}

/* Ends the process when it has used its seconds of CPU time. */
static DWORD WINAPI watch(void *unused) {
    for (;;) {
        FILETIME created, ended, kernel, user;
        GetProcessTimes(GetCurrentProcess(), &created, &ended, &kernel, &user);
        if (((uint64_t)user.dwHighDateTime << 32 | user.dwLowDateTime) / 10000000 >= seconds) {
            struct fault fault = {LATE, 0, 0, 0};
            put(&fault, sizeof fault);
            ExitProcess(0);
        }
        Sleep(50);
    }
}

/* Calls a trampoline. Returns 0, or the number of a register that the callee did not preserve, or FAULTED. */
uint64_t kingpost_call_checked(uint64_t trampoline, void *slots) __attribute__((sysv_abi));
__asm__(".text\n"
        ".globl kingpost_call_checked, kingpost_recover\n"
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
        "jmp 1f\n"
        "kingpost_recover: mov $9999, %eax\n"
        "1: mov kingpost_saved_sp(%rip), %rsp; cld\n"
        "movq $0, kingpost_saved_sp(%rip)\n"
        "add $8, %rsp; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\n");
uint64_t kingpost_saved_sp;

void kingpost_start(void) {
    AddVectoredExceptionHandler(1, handle);
    put(__kingpost_table + 1, __kingpost_table[0] * 8);
    if (!get(&seconds, sizeof seconds)) ExitProcess(3);
    CreateThread(NULL, 0, watch, NULL, 0, NULL);
    struct request request;
    while (get(&request, sizeof request)) {
        if (request.inputs > MAX_SLOTS || request.outputs > MAX_SLOTS || !get(slots, request.inputs * 16ul)) break;
        uint64_t clobbered = kingpost_call_checked(__kingpost_table[1 + request.index], slots);
        if (clobbered == FAULTED) continue;
        struct header header = {clobbered ? CLOBBERED + clobbered : 0};
        put(&header, sizeof header);
        if (!clobbered) put(slots, request.outputs * 16ul);
    }
    ExitProcess(0);
}
