/* Sprig, the small language of the book's first front end, compiled by C: variables, loops, calls, strings,
 * structures and closures, with line tables for debuggers and stack maps for a collector. A program runs in memory or
 * becomes an object file:
 *
 *     sprig tour.sprig 10
 *     sprig tour.sprig 10 --collect        collects at each allocation
 *     sprig tour.sprig 10 -g               with lines and variables for gdb
 *     sprig tour.sprig -o tour.o
 *
 * The front end in Rust, `crates/kingpost/examples/sprig`, has the program `tour.sprig`, and `runtime.c`, the runtime
 * of linked programs. Both front ends write the same objects.
 */
#include "sprig.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

kp_error failure;

/* ---- Memory and errors ---- */

/* A block of memory: a link to the previous block, then the bytes. */
typedef struct allocation {
    struct allocation *previous;
    max_align_t bytes[];
} allocation;

static allocation *allocations;

void *allocate(size_t size) {
    allocation *created = calloc(1, sizeof *created + size);
    if (created == NULL) {
        fail(0, "there is no memory");
    }
    created->previous = allocations;
    allocations = created;
    return created->bytes;
}

void free_all(void) {
    while (allocations != NULL) {
        allocation *freed = allocations;
        allocations = freed->previous;
        free(freed);
    }
}

void fail(unsigned line, const char *format, ...) {
    va_list arguments;
    fflush(stdout);
    if (line != 0) {
        fprintf(stderr, "line %u: ", line);
    }
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    free_all();
    exit(1);
}

void must(kp_status status) {
    if (status != KP_OK) {
        fail(0, "%s", failure.message);
    }
}

/* ---- The two kinds of modules ---- */

/* Returns a configuration. The collector follows frame pointers. */
static kp_config configuration(void) {
    kp_config config;
    must(kp_config_new(&config, &failure));
    must(kp_config_set(config, "preserve_frame_pointers", "true", &failure));
    return config;
}

static void check_main(const program *program) {
    const function *start = program->functions;
    while (start != NULL && strcmp(start->name, "main") != 0) {
        start = start->next;
    }
    if (start == NULL) {
        fail(0, "there is no function `main`");
    }
    if (start->params == NULL || start->params->next != NULL || start->params->ty->kind != TYPE_INT
        || start->result->kind != TYPE_INT) {
        fail(0, "`main` has one parameter of type `int`, and an `int` as its result");
    }
}

/* Compiles a program into memory for this machine's processor, and calls its function `main`. If `file` is not null,
 * debuggers know the lines and variables of this file. The code is not optimized then, so that each line has its
 * instructions.
 */
static int64_t run(const program *program, int64_t number, bool collects_always, const char *file) {
    kp_config config = configuration();
    kp_module module;
    const void *address;
    int64_t (*start)(int64_t), result;
    must(kp_config_set_target(config, "native", &failure));
    must(kp_config_set(config, "opt_level", file == NULL ? "speed" : "none", &failure));
    must(kp_config_set(config, "debug_values", file == NULL ? "false" : "true", &failure));
    must(kp_module_new_jit(config, &module, &failure));
    must(kp_config_free(config, &failure));
    if (file != NULL) {
        must(kp_module_enable_debugger(module, file, ".", &failure));
    }
    add_runtime(module);
    compile(program, module);
    check_main(program);
    must(kp_module_load(module, &failure));
    must(kp_module_address(module, "sprig_main", &address, &failure));
    memcpy(&start, &address, sizeof start);
    result = run_program(module, start, number, collects_always);
    must(kp_module_free(module, &failure));
    return result;
}

/* Compiles a program into an object file for every processor of the architecture. Its line table refers to `file`. */
static void write_object(const program *program, const char *file, const char *output) {
    kp_config config = configuration();
    kp_module module;
    kp_buffer object;
    must(kp_module_new_object(config, &module, &failure));
    must(kp_config_free(config, &failure));
    must(kp_module_set_object_option(module, "source", file, &failure));
    compile(program, module);
    must(kp_module_object(module, &object, &failure));
    must(kp_buffer_write(object, output, &failure));
    must(kp_buffer_free(object, &failure));
    must(kp_module_free(module, &failure));
}

/* ---- The command ---- */

static const char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    char *text = allocate(1);
    size_t length = 0, more = 1;
    if (file == NULL) {
        fail(0, "cannot open %s", path);
    }
    while (more != 0) {
        char *longer = allocate(length + 4097);
        memcpy(longer, text, length);
        text = longer;
        more = fread(text + length, 1, 4096, file);
        length += more;
    }
    fclose(file);
    return text;
}

int main(int count, char **words) {
    bool collects_always = count == 4 && strcmp(words[3], "--collect") == 0;
    bool debugs = count == 4 && strcmp(words[3], "-g") == 0;
    program program;
    if (count == 4 && strcmp(words[2], "-o") == 0) {
        program = parse(read_file(words[1]));
        write_object(&program, words[1], words[3]);
    } else if (count == 3 || collects_always || debugs) {
        program = parse(read_file(words[1]));
        const char *file = debugs ? words[1] : NULL;
        printf("%lld\n", (long long)run(&program, strtoll(words[2], NULL, 10), collects_always, file));
        if (collects_always) {
            fprintf(stderr, "%u collections\n", collections);
        }
    } else {
        fail(0, "usage: sprig FILE NUMBER [--collect | -g], or sprig FILE -o OBJECT");
    }
    free_all();
    return 0;
}
