/* Integers and floats of 128 bits: a compiled function and one of C with the same meaning, called from both sides. */
#include <string.h>

typedef __int128 wide;
typedef _Float128 quad;

wide ours(signed char, wide, float, long, quad, wide, long, wide, long);
wide call_theirs(long, quad);

__attribute__((noinline)) wide theirs(signed char a, wide b, float c, long d, quad e, wide f, long g, wide h, long i) {
    wide bits;
    memcpy(&bits, &e, sizeof bits);
    (void)a, (void)c;
    return (b + f + h + (wide)(unsigned long)d + (wide)(unsigned long)g + (wide)(unsigned long)i) ^ bits;
}

int main(void) {
    wide a = ((wide)123456789 << 70) + 77, b = ((wide)-5 << 64) + 9, c = (wide)1 << 100;
    quad f = 3.25;
    if (theirs(1, a, 1.5f, -7, f, b, 99, c, 12345) != ours(1, a, 1.5f, -7, f, b, 99, c, 12345))
        return 1;
    long v = 0x123456789abcdef;
    wide twice = (wide)v << 64 | v;
    return theirs((signed char)v, twice, 1.5f, v, f, ~twice, ~v, twice, v) == call_theirs(v, f) ? 0 : 2;
}
