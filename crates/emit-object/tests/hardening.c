// A program without libraries, so that every part of it has landing pads and its pages are guarded.
long calls(long (*function)(long), long argument);
long tail(long argument);
long twice(long argument);
long switches(long argument);
int table(int argument);

static void leave(long status) {
    register long x0 __asm__("x0") = status;
    register long x8 __asm__("x8") = 93;
    __asm__ volatile("svc 0" : : "r"(x0), "r"(x8));
    __builtin_unreachable();
}

void _start(void) {
#ifdef WITHOUT_PAD
    __asm__ volatile("adr x9, 1f\n\tbr x9\n1:\tnop" : : : "x9");
#endif
    long wrong = 0;
    wrong |= calls(twice, 21) != 42;
    wrong |= (tail(21) != 42) << 1;
    wrong |= (switches(21) != 42) << 2;
    for (int i = 0; i < 5; i++)
        wrong |= (table(i) != (i < 4 ? 10 * (i + 1) : 7)) << 3;
    leave(wrong);
}
