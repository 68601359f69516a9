// What the programs call beside the C library: files without conversion of line ends.
#include <windows.h>

static HANDLE handle(int file) { return GetStdHandle(file ? STD_OUTPUT_HANDLE : STD_INPUT_HANDLE); }

long long read(int file, void *to, long long bytes) {
    DWORD done = 0;
    return ReadFile(handle(file), to, bytes, &done, NULL) ? done : 0;
}

long long write(int file, const void *from, long long bytes) {
    DWORD done = 0;
    return WriteFile(handle(file), from, bytes, &done, NULL) ? done : -1;
}
