// Calls functions from windows.rs, is called by them, and walks their frames with the unwinder of Windows.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <windows.h>

extern int64_t sums(int64_t a, double b, int64_t c, float d, int64_t e, double f);
extern int64_t through_pointers(int64_t index);
extern int64_t large_frame(int64_t x);
extern double keeps_floats(double x);
extern int64_t switches(int64_t x);
extern int64_t divides(int64_t x, int64_t y);
extern int64_t calls_weak(void);
extern int64_t prints(int64_t x);
extern int64_t walks(int64_t x);
extern int64_t counts(void);
extern double literal(double x);
extern int64_t system_v_inside(int64_t x);

int64_t from_c[3] = { 10, 20, 30 };
extern int64_t table_with_a_long_name[2];
extern int64_t (*const functions[2])(int64_t);

double double_of(double x) { return 2 * x; }
int64_t overridden(void) { return 77; }
int64_t pages(char *memory, int64_t bytes) {
    int64_t sum = 0;
    memset(memory, 1, bytes);
    for (int64_t i = 0; i < bytes; i += 4096) sum += memory[i];
    return sum;
}
// Checks the registers that a callee preserves.
int64_t spoils(int64_t x) {
    __asm__ volatile("" ::: "rbx", "rsi", "rdi", "r12", "r13", "r14", "r15", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                     "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
    return x + 1;
}

static int frames, found_main;
int main(void);

// Walks up to `main`. Returns the number of frames in between.
int64_t walk(void) {
    CONTEXT context;
    RtlCaptureContext(&context);
    frames = 0;
    found_main = 0;
    while (frames < 20) {
        DWORD64 base = 0;
        PRUNTIME_FUNCTION function = RtlLookupFunctionEntry(context.Rip, &base, NULL);
        if (!function) {
            context.Rip = *(DWORD64 *)context.Rsp;
            context.Rsp += 8;
        } else {
            if (base + function->BeginAddress <= (DWORD64)main && (DWORD64)main < base + function->EndAddress) {
                found_main = 1;
                break;
            }
            void *data;
            DWORD64 establisher;
            RtlVirtualUnwind(UNW_FLAG_NHANDLER, base, context.Rip, function, &context, &data, &establisher, NULL);
        }
        frames++;
    }
    return frames;
}

extern int64_t stepped(int64_t x);
extern int64_t system_v(int64_t x) __attribute__((sysv_abi));

// Calls a function with distinct values in the registers that it preserves, and stops after each instruction.
int64_t stepped_call(int64_t (*function)(int64_t), int64_t x);
__asm__(".text\n"
        ".globl stepped_call\n"
        "stepped_call:\n"
        "push %rbx; push %rsi; push %rdi; push %rbp; push %r12; push %r13; push %r14; push %r15; sub $0xc8, %rsp\n"
        ".irp n, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
        "movaps %xmm\\n, (\\n * 16 - 64)(%rsp)\n"
        "mov $(\\n * 0x1001), %eax; movq %rax, %xmm\\n\n"
        ".endr\n"
        "mov %rcx, %rax; mov %rdx, %rcx\n"
        "mov $0x103, %ebx; mov $0x105, %ebp; mov $0x106, %esi; mov $0x107, %edi\n"
        "mov $0x10c, %r12d; mov $0x10d, %r13d; mov $0x10e, %r14d; mov $0x10f, %r15d\n"
        "mov %rsp, wanted_sp(%rip); lea 1f(%rip), %rdx; mov %rdx, wanted_pc(%rip)\n"
        "pushfq; orl $0x100, (%rsp); popfq\n"
        "call *%rax\n"
        "1: nop\n"
        ".irp n, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
        "movaps (\\n * 16 - 64)(%rsp), %xmm\\n\n"
        ".endr\n"
        "add $0xc8, %rsp; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rdi; pop %rsi; pop %rbx; ret\n");
DWORD64 wanted_pc, wanted_sp;
static DWORD64 first_function = -1, last_function;
static int steps, wrong_steps;

// Unwinds to the caller of the stepped function, whose registers have the values from before the call.
static void check_step(CONTEXT c) {
    for (int frame = 0; c.Rip != wanted_pc && frame < 8; frame++) {
        DWORD64 base = 0, establisher;
        void *data;
        PRUNTIME_FUNCTION function = RtlLookupFunctionEntry(c.Rip, &base, NULL);
        if (function) {
            RtlVirtualUnwind(UNW_FLAG_NHANDLER, base, c.Rip, function, &c, &data, &establisher, NULL);
        } else {
            c.Rip = *(DWORD64 *)c.Rsp;
            c.Rsp += 8;
        }
    }
    int right = c.Rip == wanted_pc && c.Rsp == wanted_sp && c.Rbx == 0x103 && c.Rbp == 0x105 && c.Rsi == 0x106 && c.Rdi == 0x107
        && c.R12 == 0x10c && c.R13 == 0x10d && c.R14 == 0x10e && c.R15 == 0x10f;
    for (int n = 6; n < 16; n++) right &= (&c.Xmm0)[n].Low == n * 0x1001;
    wrong_steps += !right;
    steps++;
}

static LONG CALLBACK step(EXCEPTION_POINTERS *e) {
    if (e->ExceptionRecord->ExceptionCode != EXCEPTION_SINGLE_STEP) return EXCEPTION_CONTINUE_SEARCH;
    CONTEXT *context = e->ContextRecord;
    if (context->Rip >= first_function && context->Rip < last_function + 16) check_step(*context);
    if (context->Rip == wanted_pc) context->EFlags &= ~0x100;
    else context->EFlags |= 0x100;
    return EXCEPTION_CONTINUE_EXECUTION;
}

extern int64_t *thread_counter(void);
extern int64_t *thread_zeros(void);

static DWORD WINAPI other_thread(void *result) {
    *thread_counter() += 5;
    *(int64_t *)result = *thread_counter() + *thread_zeros();
    return 0;
}

static int bad;
static void check(const char *what, int64_t got, int64_t want) {
    if (got != want) {
        printf("%s: %lld, expected %lld\n", what, (long long)got, (long long)want);
        bad = 1;
    }
}

int main(void) {
    check("sums", sums(1, 2.0, 3, 4.0f, 5, 6.0), 21);
    check("through_pointers", through_pointers(1), 20 + 200);
    check("functions", functions[1](5), 6);
    check("table", table_with_a_long_name[1], 200);
    check("large_frame", large_frame(3), 25 + 3);
    check("keeps_floats", (int64_t)keeps_floats(1.0), 2 * (1 + 2 + 3 + 4 + 5 + 6 + 7 + 8) + 36);
    for (int i = -1; i < 8; i++) check("switches", switches(i), i < 0 || i > 5 ? -1 : i * i);
    check("divides", divides(1000, 7), 142);
    check("calls_weak", calls_weak(), 77 + 5);
    check("prints", prints(42), 12);
    check("walks", walks(7), 1 + 3 + 7);
    check("main", found_main, 1);
    check("counts", counts() + counts(), 3);
    check("literal", (int64_t)literal(1.5), 4);
    check("system_v_inside", system_v_inside(4), 4 + 5);
    void *const all[] = { sums, stepped, switches, system_v_inside, system_v, thread_zeros };
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        if ((DWORD64)all[i] < first_function) first_function = (DWORD64)all[i];
        if ((DWORD64)all[i] > last_function) last_function = (DWORD64)all[i];
    }
    AddVectoredExceptionHandler(1, step);
    check("stepped", stepped_call(stepped, 4), 21);
    check("stepped system_v_inside", stepped_call(system_v_inside, 4), 9);
    check("stepped switches", stepped_call(switches, 3), 9);
    check("wrong steps", wrong_steps, 0);
    check("many steps", steps > 60, 1);
    int64_t of_other = 0;
    *thread_counter() += 1;
    HANDLE thread = CreateThread(NULL, 0, other_thread, &of_other, 0, NULL);
    WaitForSingleObject(thread, INFINITE);
    check("other thread", of_other, 105);
    check("this thread", *thread_counter(), 101);
    check("alignment", (int64_t)thread_zeros() % 16, 0);
    return bad;
}
