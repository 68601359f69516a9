// Throws through and into functions that our compiler compiled; see exceptions.rs.
extern "C" long catches(long (*callee)(long), long value, double factor);
extern "C" long ends(long (*callee)(long), long value);
extern "C" long passes(long (*callee)(long), long value);

static int destroyed;
struct Counts { ~Counts() { destroyed++; } };

static long throws(long value) {
    Counts counts;
    if (value > 0) throw value;
    return -value;
}

static long deeper(long value) { return value > 1000 ? passes(throws, value) : catches(throws, value, 0.5) + 1; }

int main() {
    if (catches(throws, -3, 2.0) != 3) return 1;
    // The payload, and a value that is live across the call: 5 + 5 * 2.
    if (catches(throws, 5, 2.0) != 15) return 2;
    // Thrown two frames below. One of these frames has only handlers that C++ exceptions do not reach.
    if (catches(deeper, 1001, 3.0) != 4004) return 3;
    if (catches(deeper, 4, 3.0) != 0) return 4;
    try {
        passes(throws, 7);
        return 5;
    } catch (long value) {
        if (value != 7) return 6;
    }
    for (long i = 1; i <= 1000; i++)
        if (catches(throws, i, 1.0) != 2 * i) return 7;
    // The function returns right after the call, or the number of the filter.
    if (ends(throws, -9) != 9) return 9;
    if (ends(throws, 9) != 1) return 10;
    return destroyed == 1007 ? 0 : 8;
}
