// Loads a linked Mach-O image, registers its `__eh_frame`, and runs exceptions.cpp, whose `main` is `run` here.
#include "macho_image.h"
#include <cstring>
#include <cxxabi.h>

int run();
extern "C" int __gxx_personality_v0(...);
extern "C" void __register_frame(void *);

extern "C" void *import(const char *name) {
    static const struct { const char *name; void *address; } known[] = {
        { "___cxa_begin_catch", (void *)abi::__cxa_begin_catch },
        { "___cxa_end_catch", (void *)abi::__cxa_end_catch },
        { "___gxx_personality_v0", (void *)__gxx_personality_v0 },
        { "dyld_stub_binder", (void *)fail },
    };
    for (auto &one : known)
        if (!strcmp(one.name, name)) return one.address;
    fail("unknown import", name);
    return nullptr;
}

extern "C" long catches(long (*callee)(long), long value, double factor) {
    return ((decltype(&catches))defined("_catches"))(callee, value, factor);
}
extern "C" long ends(long (*callee)(long), long value) { return ((decltype(&ends))defined("_ends"))(callee, value); }
extern "C" long passes(long (*callee)(long), long value) {
    return ((decltype(&passes))defined("_passes"))(callee, value);
}

int main(int argc, char **argv) {
    load(argv[argc - 1]);
    for (section *section = nullptr; (section = next_section(section));) {
        if (strncmp(section->name, "__eh_frame", 16)) continue;
        char *start = (char *)in_image(section->addr);
        // The unwinder of this system reads all entries up to a word that is zero.
        if (*(int *)(start + section->size)) fail("no end of", "__eh_frame");
        __register_frame(start);
        return run();
    }
    fail("no section", "__eh_frame");
}
