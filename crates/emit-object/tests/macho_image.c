// Maps a linked Mach-O image, adds the distance from its address to addresses in it, and binds its imports.
#define _GNU_SOURCE
#include "macho_image.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SEGMENT = 0x19, SYMTAB = 2, DYLD_INFO = 0x80000022, PROT_WRITABLE = 2, PROT_EXECUTABLE = 4 };

struct header { uint32_t magic, cputype, cpusubtype, filetype, ncmds, sizeofcmds, flags, reserved; };
struct command { uint32_t cmd, size; };
struct segment {
    struct command command;
    char name[16];
    uint64_t vmaddr, vmsize, fileoff, filesize;
    uint32_t maxprot, initprot, nsects, flags;
};
struct symtab { struct command command; uint32_t symoff, nsyms, stroff, strsize; };
struct symbol { uint32_t name; uint8_t type, section; uint16_t desc; uint64_t value; };
struct dyld_info { struct command command; uint32_t rebase[2], bind[2], weak[2], lazy[2], exports[2]; };

static uint8_t *file;
static struct segment *segments[16];
static int segment_count;
static struct symtab *symbols;
// The address of the image. Its own addresses begin at zero.
static const uint64_t base = 0x200000000;

void fail(const char *what, const char *which) {
    printf("%s %s\n", what, which);
    exit(1);
}

static uint64_t leb(const uint8_t **at) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return value;
    }
}

// Runs the opcodes that name addresses in the image.
static void rebase(const uint8_t *at, const uint8_t *end) {
    uint64_t place = 0;
    while (at < end) {
        uint8_t op = *at++, low = op & 15;
        uint64_t count = 0, skip = 0;
        switch (op >> 4) {
        case 0: return;
        case 1: break;
        case 2: place = base + segments[low]->vmaddr + leb(&at); break;
        case 3: place += leb(&at); break;
        case 4: place += low * 8; break;
        case 5: count = low; break;
        case 6: count = leb(&at); break;
        case 7: count = 1; skip = leb(&at); break;
        case 8: count = leb(&at); skip = leb(&at); break;
        default: fail("unknown opcode", "of rebasing");
        }
        for (; count; count--, place += 8 + skip) *(uint64_t *)place += base;
    }
}

// Runs the opcodes that write the addresses of imports.
static void bind(const uint8_t *at, const uint8_t *end, int lazy) {
    const char *name = NULL;
    uint64_t place = 0, addend = 0;
    while (at < end) {
        uint8_t op = *at++, low = op & 15;
        uint64_t count = 1, skip = 0;
        switch (op >> 4) {
        case 0: if (!lazy) return; continue;
        case 1: case 3: case 5: continue;
        case 2: leb(&at); continue;
        case 4: name = (const char *)at; at += strlen(name) + 1; continue;
        case 6: addend = leb(&at); continue;
        case 7: place = base + segments[low]->vmaddr + leb(&at); continue;
        case 8: place += leb(&at); continue;
        case 9: break;
        case 10: skip = leb(&at); break;
        case 11: skip = low * 8; break;
        case 12: count = leb(&at); skip = leb(&at); break;
        default: fail("unknown opcode", "of binding");
        }
        while (count--) {
            *(uint64_t *)place = (uint64_t)import(name) + addend;
            place += 8 + skip;
        }
    }
}

void load(const char *path) {
    int fd = open(path, O_RDONLY);
    off_t size = lseek(fd, 0, SEEK_END);
    file = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    struct header *header = (struct header *)file;
    if (file == MAP_FAILED || header->magic != 0xfeedfacf) fail("no image", path);
    struct dyld_info *info = NULL;
    struct command *command = (struct command *)(header + 1);
    for (uint32_t i = 0; i < header->ncmds; i++) {
        if (command->cmd == SEGMENT) segments[segment_count++] = (struct segment *)command;
        if (command->cmd == SYMTAB) symbols = (struct symtab *)command;
        if (command->cmd == DYLD_INFO) info = (struct dyld_info *)command;
        command = (struct command *)((char *)command + command->size);
    }
    for (int i = 0; i < segment_count; i++) {
        struct segment *s = segments[i];
        if (!s->initprot) continue;
        void *want = (void *)(base + s->vmaddr);
        void *at = mmap(want, s->vmsize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (at != want) fail("cannot map", s->name);
        memcpy(at, file + s->fileoff, s->filesize);
    }
    if (info) {
        rebase(file + info->rebase[0], file + info->rebase[0] + info->rebase[1]);
        bind(file + info->bind[0], file + info->bind[0] + info->bind[1], 0);
        bind(file + info->lazy[0], file + info->lazy[0] + info->lazy[1], 1);
    }
    for (int i = 0; i < segment_count; i++) {
        struct segment *s = segments[i];
        int protection = s->initprot & PROT_EXECUTABLE ? PROT_READ | PROT_EXEC : PROT_READ | PROT_WRITE;
        if (s->initprot) mprotect((void *)(base + s->vmaddr), s->vmsize, protection);
        __builtin___clear_cache((char *)(base + s->vmaddr), (char *)(base + s->vmaddr + (s->initprot ? s->vmsize : 0)));
    }
}

void *defined(const char *name) {
    struct symbol *all = (struct symbol *)(file + symbols->symoff);
    for (uint32_t i = 0; i < symbols->nsyms; i++)
        if ((all[i].type & 14) == 14 && !strcmp((char *)file + symbols->stroff + all[i].name, name))
            return (void *)(base + all[i].value);
    fail("undefined", name);
    return NULL;
}

void *in_image(uint64_t address) {
    return (void *)(base + address);
}

struct section *next_section(struct section *after) {
    int found = !after;
    for (int i = 0; i < segment_count; i++) {
        struct section *section = (struct section *)(segments[i] + 1);
        for (uint32_t n = segments[i]->nsects; n; n--, section++) {
            if (found) return section;
            found = section == after;
        }
    }
    return NULL;
}
