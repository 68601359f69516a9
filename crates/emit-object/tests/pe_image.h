// A PE image for Windows on AArch64 in memory, and its frames; see pe_image.c.
#include <stdint.h>

enum { EXPORTS, IMPORTS, RESOURCES, EXCEPTIONS, SECURITY, RELOCATIONS, TLS = 9 };

struct directory { uint32_t rva, size; };
struct runtime_function { uint32_t begin, data; };
struct context { uint64_t x[31], sp, pc, d[32]; };

extern uint8_t *image;
extern uint32_t image_size;
extern struct directory *directories;
// The place of an address of the image.
#define AT(type, rva) ((type *)(image + (rva)))

// Ends the program with a message.
void fail(const char *what, const char *which);
// Returns the address of an import. The program defines it.
void *import(const char *name);
// Maps the image in a file.
void load(const char *path);
// Returns the address of a symbol that the image exports.
void *defined(const char *name);
// Returns the record of the function at an address, and the number of its words.
struct runtime_function *function_at(uint64_t pc, uint32_t *words);
// Returns the place of the address of a function's routine for exceptions, before the handlers; NULL if it has none.
uint32_t *routine_of(struct runtime_function *f);
// Returns to the caller of a function at an instruction that has not run yet.
void unwind(struct context *c);
