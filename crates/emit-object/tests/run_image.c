// Runs the function with a name as the main function of a program: `run_image IMAGE NAME ARGUMENT...`. It is in a Mach-O
// image with MACHO, otherwise in a PE image for Windows on AArch64. The image calls a few functions of the C library.
#ifdef MACHO
#include "macho_image.h"
#else
#include "pe_image.h"
#endif
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *import(const char *name) {
    static const struct { const char *name; void *address; } known[] = {
        { "read", read }, { "write", write }, { "malloc", malloc }, { "calloc", calloc }, { "realloc", realloc },
        { "free", free }, { "memcpy", memcpy }, { "memset", memset }, { "dyld_stub_binder", abort },
    };
#ifdef MACHO
    if (*name == '_') name++;
#endif
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, name)) return known[i].address;
    fail("unknown import", name);
    return NULL;
}

int main(int argc, char **argv) {
    load(argv[1]);
    return ((int (*)(int, char **))defined(argv[2]))(argc - 2, argv + 2);
}
