// The other side of calls in conventions.clif, by another compiler for the same system. Uses no library.
typedef long long i64;
typedef struct { i64 a; } one;
typedef struct { i64 a, b; } pair;
typedef struct { i64 a, b, c; } triple_of;
typedef struct { i64 all[25]; } large;

#define START(list, last) __builtin_va_list list; __builtin_va_start(list, last)
#define NEXT(list, type) __builtin_va_arg(list, type)

i64 our_sum(i64 count, ...);
double our_floats(int count, double scale, ...);
i64 our_many(i64 a, double b, i64 c, double d, i64 e, i64 f, i64 g, i64 h, i64 i, i64 j, i64 k, ...);
i64 our_ignored(i64 x, ...);
i64 our_structs(one a, pair b, triple_of c, i64 d, large e);
i64 our_late_structs(i64 a, i64 b, i64 c, i64 d, i64 e, i64 f, i64 g, pair h, one i, triple_of j);
triple_of our_triple(i64 x);
i64 calls_kinds(const char *kinds);
i64 calls_our_sum(i64 x);
i64 calls_structs(large *all, i64 x);
i64 calls_variadic_structs(large *all);
i64 calls_triple(i64 x);
i64 calls_wide(i64 x);
double calls_without_prototype(i64 x);

static i64 spoiled;

// Uses registers that callees may destroy, and the memory that callers reserve.
__attribute__((noinline)) i64 spoils(i64 x) {
    volatile i64 use[8];
    for (int i = 0; i < 8; i++) use[i] = x + i;
    for (int i = 0; i < 8; i++) spoiled += use[i];
    return x;
}

// Adds arguments, each multiplied by the number of its place, by kinds: an integer or a float.
i64 kinds(const char *text, ...) {
    START(list, text);
    i64 sum = 0;
    for (i64 place = 1; *text; text++, place++)
        sum += place * (*text == 'i' ? NEXT(list, i64) : (i64)NEXT(list, double));
    __builtin_va_end(list);
    return sum;
}

i64 structs(one a, pair b, triple_of c, i64 d, large e) {
    i64 sum = a.a + 2 * b.a + 3 * b.b + 4 * c.a + 5 * c.c + 6 * d + 7 * e.all[0] + 8 * e.all[24];
    // Copies of the caller's memory.
    ((volatile one *)&a)->a = ((volatile pair *)&b)->a = ((volatile triple_of *)&c)->a = ((volatile large *)&e)->all[0] = 0;
    return sum;
}

i64 late_structs(i64 a, i64 b, i64 c, i64 d, i64 e, i64 f, i64 g, pair h, one i, triple_of j) {
    return h.a * 1000 + h.b * 100 + i.a * 10 + j.b - g;
}

i64 variadic_structs(i64 a, i64 b, i64 c, i64 d, i64 e, i64 f, i64 g, ...) {
    START(list, g);
    pair h = NEXT(list, pair);
    i64 i = NEXT(list, i64);
    triple_of j = NEXT(list, triple_of);
    one k = NEXT(list, one);
    __builtin_va_end(list);
    return h.a * 1000 + h.b * 100 + i * 10 + j.c * 7 + k.a - g;
}

triple_of triple(i64 x) {
    triple_of result = { x, x + 1, x + 2 };
    return result;
}

#define HIGH(x) (i64)((x) >> 64)
#if defined(_WIN64) && defined(__aarch64__)
// `va_arg` of this compiler does not skip to an aligned place, as its own calls do.
#define SKIP(list) (void)NEXT(list, i64)
#else
#define SKIP(list) (void)0
#endif

i64 wide(i64 a, ...) {
    START(list, a);
    i64 b = NEXT(list, i64);
    __int128 c = NEXT(list, __int128), d = NEXT(list, __int128), e = NEXT(list, __int128);
    i64 f = NEXT(list, i64);
    SKIP(list);
    __int128 g = NEXT(list, __int128);
    i64 h = NEXT(list, i64);
    __builtin_va_end(list);
    return a + 2 * b + 3 * (i64)c + 5 * HIGH(c) + 7 * (i64)d + 11 * HIGH(d) + 13 * (i64)e + 17 * f + 19 * (i64)g + 23 * HIGH(g) + 29 * h;
}

double without_prototype(double a, i64 b, double c, double d, double e) { return a + (double)b * 2 + c * 3 + d * 4 + e * 5; }

#ifdef __x86_64__
i64 calls_system_v(large *all);

__attribute__((sysv_abi)) i64 system_v_structs(triple_of a, large b, triple_of c) {
    return a.a + a.c + b.all[2] + b.all[24] + c.b;
}

// Writes to all memory that its caller reserves.
__asm__(".globl memcpy\nmemcpy:\n"
        "mov %rsi, 8(%rsp); mov %rdi, 16(%rsp); movq $-1, 24(%rsp); movq $-1, 32(%rsp)\n"
        "mov %rcx, %rax; mov %rcx, %rdi; mov %rdx, %rsi; mov %r8, %rcx; rep movsb\n"
        "mov 8(%rsp), %rsi; mov 16(%rsp), %rdi; movq $-1, 8(%rsp); movq $-1, 16(%rsp); ret\n");
int conventions(void);
int main(void) { return conventions(); }
#else
void *memcpy(void *to, const void *from, unsigned long long bytes) {
    volatile char *target = to;
    for (const char *source = from; bytes; bytes--) *target++ = *source++;
    return to;
}
#endif

// Returns the number of the first check that fails, or 0.
int conventions(void) {
    int number = 0;
#define CHECK(got, want) do { number++; if ((got) != (want)) return number; } while (0)
    CHECK(our_sum(0), 0);
    CHECK(our_sum(3, 5ll, 7ll, 11ll), 5 + 14 + 33);
    CHECK(our_sum(10, 1ll, 2ll, 3ll, 4ll, 5ll, 6ll, 7ll, 8ll, 9ll, 10ll), 385);
    CHECK(our_floats(2, 4.0, 0.5, 1.5), 8.0);
    CHECK(our_floats(9, 1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0), 45.0);
    CHECK(our_many(1, 2.0, 3, 4.0, 5, 6, 7, 8, 9, 10, 11, 100ll, 12.0, 200ll), 89 * 190 + 20 - 1);
    CHECK(our_ignored(7, 1.5, 2ll), 7);
    one a = { 3 };
    pair b = { 5, 7 };
    triple_of c = { 11, 13, 17 };
    large e;
    for (int i = 0; i < 25; i++) e.all[i] = i + 1;
    CHECK(our_structs(a, b, c, 19, e), 3 + 10 + 21 + 44 + 85 + 114 + 7 + 200);
    CHECK(a.a + b.a + c.a + e.all[0], 3 + 5 + 11 + 1);
    CHECK(our_late_structs(1, 2, 3, 4, 5, 6, 7, b, a, c), 5743 - 7);
    triple_of made = our_triple(20);
    CHECK(made.a + 10 * made.b + 100 * made.c, 20 + 210 + 2200);
    const char *text = "ididdiidid\0d";
    // The text is the first argument, so that the variadic ones have the numbers from 2.
    CHECK(kinds(text, 2ll, 3.0, 4ll, 5.0, 6.0, 7ll, 8ll, 9.0, 10ll, 11.0), 440);
    CHECK(calls_kinds(text), 440 + 11);
    CHECK(calls_our_sum(4), 4 * 45 + 16);
    CHECK(calls_structs(&e, 19), 349 + 1 + 1193);
    CHECK(calls_variadic_structs(&e), 1000 + 200 + 30 + 21 + 1 - 3);
    CHECK(calls_triple(2), 24);
    CHECK(calls_wide(6), 6 + 12 + 18 - 5 - 7 + 66 + 78 - 17 - 19 + 138 + 174);
#ifdef __x86_64__
    CHECK(calls_without_prototype(3), 39.5 + 6);
    CHECK(calls_system_v(&e), 1 + 3 + 3 + 25 + 2);
#endif
    return 0;
}
