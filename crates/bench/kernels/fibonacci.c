// Fibonacci numbers by two calls each: nothing but calls.
// tested: 10 => 55
// measured: 26 => 121393
#include "kernel.h"

u64 fibonacci(u64 n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
