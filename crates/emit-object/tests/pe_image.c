// Maps a linked PE image for Windows on AArch64, relocates it, binds its imports, and undoes frames by its records.
#define _GNU_SOURCE
#include "pe_image.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct section { char name[8]; uint32_t size, rva, raw_size, raw, unused[3], flags; };

uint8_t *image;
uint32_t image_size;
struct directory *directories;

void fail(const char *what, const char *which) {
    printf("%s %s\n", what, which);
    exit(1);
}

static void relocate(int64_t distance) {
    uint32_t at = directories[RELOCATIONS].rva, end = at + directories[RELOCATIONS].size;
    while (at < end) {
        uint32_t page = *AT(uint32_t, at), size = *AT(uint32_t, at + 4);
        for (uint32_t i = 8; i < size; i += 2) {
            uint16_t entry = *AT(uint16_t, at + i);
            if (entry >> 12 == 10) *AT(uint64_t, page + (entry & 0xfff)) += distance;
            else if (entry >> 12) fail("unknown relocation", "");
        }
        at += size;
    }
}

static void bind(void) {
    if (!directories[IMPORTS].rva) return;
    for (uint32_t *library = AT(uint32_t, directories[IMPORTS].rva); library[3]; library += 5) {
        uint64_t *names = AT(uint64_t, library[0]), *addresses = AT(uint64_t, library[4]);
        for (; *names; names++) *addresses++ = (uint64_t)import(AT(char, *names + 2));
    }
}

void load(const char *path) {
    int fd = open(path, O_RDONLY);
    off_t size = lseek(fd, 0, SEEK_END);
    uint8_t *file = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file == MAP_FAILED || memcmp(file, "MZ", 2)) fail("no image", path);
    uint8_t *headers = file + *(uint32_t *)(file + 0x3c);
    if (*(uint16_t *)(headers + 4) != 0xaa64) fail("not of this machine:", path);
    uint8_t *optional = headers + 24;
    image_size = *(uint32_t *)(optional + 56);
    image = mmap(NULL, image_size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct section *section = (struct section *)(optional + *(uint16_t *)(headers + 20));
    for (int i = *(uint16_t *)(headers + 6); i; i--, section++)
        memcpy(image + section->rva, file + section->raw, section->raw_size < section->size ? section->raw_size : section->size);
    directories = (struct directory *)(optional + 112);
    relocate((int64_t)image - *(int64_t *)(optional + 24));
    bind();
    __builtin___clear_cache((char *)image, (char *)image + image_size);
}

void *defined(const char *name) {
    uint32_t *exports = AT(uint32_t, directories[EXPORTS].rva);
    for (uint32_t i = 0; i < exports[6]; i++)
        if (!strcmp(AT(char, AT(uint32_t, exports[8])[i]), name))
            return image + AT(uint32_t, exports[7])[AT(uint16_t, exports[9])[i]];
    fail("undefined", name);
    return NULL;
}

// Returns the number of bytes of a code.
static int code_bytes(uint8_t code) {
    return code < 0xc0 ? 1 : code < 0xe0 ? 2 : code == 0xe0 ? 4 : code == 0xe2 ? 2 : 1;
}

// Undoes the instruction that a code describes.
static void undo(const uint8_t *code, struct context *c) {
    unsigned first = code[0], both = code[0] << 8 | code[1], offset = (both & 63) * 8;
    uint64_t *sp = (uint64_t *)c->sp;
    if (first < 0x20) {
        c->sp += first * 16;
    } else if (first >= 0x80 && first < 0xc0) {
        c->x[29] = sp[0], c->x[30] = sp[1], c->sp += ((first & 63) + 1) * 8;
    } else if (first >= 0xc0 && first < 0xc8) {
        c->sp += (both & 0x7ff) * 16;
    } else if (first >= 0xc8 && first < 0xcc) {
        c->x[19 + (both >> 6 & 15)] = sp[offset / 8], c->x[20 + (both >> 6 & 15)] = sp[offset / 8 + 1];
    } else if (first >= 0xd0 && first < 0xd4) {
        c->x[19 + (both >> 6 & 15)] = sp[offset / 8];
    } else if (first >= 0xdc && first < 0xde) {
        c->d[8 + (both >> 6 & 7)] = sp[offset / 8];
    } else if (first == 0xe0) {
        c->sp += (uint64_t)(code[1] << 16 | code[2] << 8 | code[3]) * 16;
    } else if (first == 0xe1) {
        c->sp = c->x[29];
    } else if (first != 0xe3) {
        printf("unknown code %x\n", first);
        exit(1);
    }
}

// Undoes codes up to the end, without the first ones.
static void undo_list(const uint8_t *code, unsigned skipped, struct context *c) {
    for (; *code != 0xe4; code += code_bytes(*code))
        if (skipped) skipped--;
        else undo(code, c);
}

static unsigned count(const uint8_t *code) {
    unsigned n = 0;
    for (; *code != 0xe4; code += code_bytes(*code)) n++;
    return n;
}

struct runtime_function *function_at(uint64_t pc, uint32_t *words) {
    struct runtime_function *f = AT(struct runtime_function, directories[EXCEPTIONS].rva);
    for (uint32_t i = directories[EXCEPTIONS].size / 8; i; i--, f++) {
        *words = f->data & 3 ? f->data >> 2 & 0x7ff : *AT(uint32_t, f->data) & 0x3ffff;
        uint64_t start = (uint64_t)image + f->begin;
        if (start <= pc && pc < start + *words * 4ul) return f;
    }
    return NULL;
}

uint32_t *routine_of(struct runtime_function *f) {
    if (f->data & 3) return NULL;
    uint32_t *record = AT(uint32_t, f->data), header = *record++;
    uint32_t epilogues = header >> 22 & 31, code_words = header >> 27;
    if (!epilogues && !code_words) epilogues = *record & 0xffff, code_words = *record++ >> 16 & 0xff;
    if (header >> 21 & 1) epilogues = 0;
    return header >> 20 & 1 ? record + epilogues + code_words : NULL;
}

void unwind(struct context *c) {
    uint32_t words;
    struct runtime_function *f = function_at(c->pc, &words);
    if (f) {
        uint32_t index = (c->pc - (uint64_t)image - f->begin) / 4;
        uint8_t packed[3] = { 0xe1, 0, 0xe4 };
        const uint8_t *codes = packed;
        struct { uint32_t start, codes; } scopes[64];
        uint32_t scope_count = 1;
        if (f->data & 3) {
            if ((f->data & 0x1fe003) != 1 || (f->data >> 21 & 3) != 3) fail("unexpected packed record", "");
            packed[1] = 0x80 | ((f->data >> 23) * 2 - 1);
            scopes[0].codes = 1, scopes[0].start = words - 2;
        } else {
            uint32_t *record = AT(uint32_t, f->data), header = *record++;
            uint32_t epilogues = header >> 22 & 31, code_words = header >> 27;
            int is_single = header >> 21 & 1;
            if (!epilogues && !code_words && !is_single) epilogues = *record & 0xffff, code_words = *record++ >> 16 & 0xff;
            codes = (uint8_t *)(record + (is_single ? 0 : epilogues));
            scope_count = is_single ? 1 : epilogues;
            if (scope_count > 64) fail("too many epilogues", "");
            if (is_single) scopes[0].codes = epilogues, scopes[0].start = words - 1 - count(codes + epilogues);
            for (uint32_t i = 0; !is_single && i < epilogues; i++) scopes[i].start = record[i] & 0x3ffff, scopes[i].codes = record[i] >> 22;
        }
        unsigned prologue = count(codes), skipped = index < prologue ? prologue - index : 0;
        for (uint32_t i = 0; i < scope_count; i++) {
            unsigned length = count(codes + scopes[i].codes) + 1;
            if (index >= prologue && index >= scopes[i].start && index < scopes[i].start + length) {
                codes += scopes[i].codes, skipped = index - scopes[i].start;
                break;
            }
        }
        undo_list(codes, skipped, c);
    }
    c->pc = c->x[30];
}
