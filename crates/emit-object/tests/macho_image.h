// A Mach-O image in memory; see macho_image.c.
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct section {
    char name[16], segment[16];
    uint64_t addr, size;
    uint32_t offset, align, reloff, nreloc, flags, reserved[3];
};

// Ends the program with a message.
void fail(const char *what, const char *which);
// Returns the address of an import. The program defines it.
void *import(const char *name);
// Maps the image in a file.
void load(const char *path);
// Returns the address of a symbol that the image defines.
void *defined(const char *name);
// Returns the place of an address of the image.
void *in_image(uint64_t address);
// Returns the section after another one, the first section for NULL, and NULL after the last section.
struct section *next_section(struct section *after);

#ifdef __cplusplus
}
#endif
