// Calls chains of compiled functions and throws from each of their calls; see throws.rs.
//
// The functions call `hook`, which throws if its site is the planned one. Every function that a chain calls first moves
// all objects in the chain's stack maps, so that values that are live across a call must be updated. `expected` has the
// result of each function. The program ends with 0 if all calls end as expected.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <typeinfo>
#include <unwind.h>

extern "C" {
extern const uint32_t __start_kingpost_stack_maps[];
long passed;
#define CHAIN(n) long chain##n##_0(long, double, long, long, long, long, long, long, long, long, long, long);
CHAINS
#undef CHAIN
}

static const int frames = FRAMES;
static long planned;
static long site_of_first_frame;

// Objects that are not in use yet, and the number of moves.
static long cells[1 << 22];
static long used, moves;
// The frame at which the stack of a chain ends.
static void **end_of_chain;

static void wrong(const char *what) {
    printf("%s, with an exception at site %ld\n", what, planned);
    exit(1);
}

// Moves the objects that the references of one frame lead to.
static void move_references(uintptr_t return_address, uintptr_t frame_pointer) {
    const uint32_t *table = __start_kingpost_stack_maps, *function = table + 4, *entries = function + 6 * table[1];
    for (uint32_t i = 0; i < table[1]; i++, function += 6) {
        uintptr_t offset = return_address - ((uintptr_t)function + (intptr_t)(int32_t)function[0]);
        if (offset >= function[1])
            continue;
        for (const uint32_t *entry = entries + 4 * function[2]; entry < entries + 4 * (function[2] + function[3]); entry += 4) {
            if (entry[0] != offset)
                continue;
            long **reference = (long **)(frame_pointer - function[4] + entry[1]);
            cells[used] = **reference;
            **reference = 0x5a5a5a5a;
            *reference = &cells[used++];
            moves++;
        }
    }
}

// Moves the objects of all frames, starting at the caller.
__attribute__((noinline)) static void collect(void **frame) {
    for (; frame < end_of_chain; frame = (void **)frame[0])
        move_references((uintptr_t)frame[1], (uintptr_t)frame[0]);
}

static _Unwind_Exception *last;

[[noreturn]] static void throw_value(long value) {
    long *object = (long *)__cxxabiv1::__cxa_allocate_exception(sizeof value);
    *object = value;
    last = (_Unwind_Exception *)object - 1;
    __cxxabiv1::__cxa_throw(object, const_cast<std::type_info *>(&typeid(long)), nullptr);
}

extern "C" {
void hook(long site) {
    collect((void **)__builtin_frame_address(0));
    if (site == planned) throw_value(1000 * site + 1);
}

// The value of an exception. A handler of a convention without payloads does not receive it.
long caught(void *exception) {
    collect((void **)__builtin_frame_address(0));
    if (exception && exception != last) wrong("another payload");
    long value = *(long *)__cxxabiv1::__cxa_begin_catch(last);
    __cxxabiv1::__cxa_end_catch();
    return value;
}

void rethrow(long value) {
    collect((void **)__builtin_frame_address(0));
    throw_value(value + 1);
}

long *object(long value) {
    collect((void **)__builtin_frame_address(0));
    cells[used] = value;
    return &cells[used++];
}
}

static void expected_hook(long site) {
    if (site == planned) throw 1000 * site + 1;
}

static long expected(int k, long x, double y) {
    long site = site_of_first_frame + 4 * k;
    auto sum = [&](long from) {
        long first = (10 - k % 10) % 10 + 1;
        return from * 31 + x + x * (k + 3) * 31 + 3 * (long)y + x * (k + 3) + 55 + first * 31;
    };
    try {
        expected_hook(site);
    } catch (long value) {
        return sum(value);
    }
    expected_hook(site + 1);
    long from = 77;
    if (k + 1 < frames) {
        try {
            from = expected(k + 1, x + 1, y + y);
        } catch (long value) {
            if (k % 4 == 1) throw;
            if (k % 4 == 3) throw value + 1;
            return sum(value);
        }
    }
    try {
        expected_hook(site + 2);
    } catch (long value) {
        return sum(value + from);
    }
    return sum(from);
}

typedef long (*chain)(long, double, long, long, long, long, long, long, long, long, long, long);

__attribute__((noinline)) static long call(chain chain, long x, double y) {
    end_of_chain = (void **)__builtin_frame_address(0);
    used = 0;
    try {
        return chain(x, y, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    } catch (long value) {
        return -value;
    }
}

int main() {
    static const chain chains[] = {
#define CHAIN(n) chain##n##_0,
        CHAINS
    };
    long thrown = 0;
    for (const chain &chain : chains) {
        site_of_first_frame = (&chain - chains) * 4 * frames;
        for (planned = site_of_first_frame - 1; planned < site_of_first_frame + 4 * frames; planned++) {
            if (planned >= site_of_first_frame && planned % 4 == 3) continue;
            for (long x = -2; x < 3; x++) {
                long result;
                try {
                    result = expected(0, x, 1.5);
                } catch (long value) {
                    result = -value;
                }
                if (call(chain, x, 1.5) != result) wrong("another result");
                thrown++;
            }
        }
    }
    printf("%ld calls, %ld references moved\n", thrown, moves);
    return moves > 100 * thrown ? 0 : 1;
}
