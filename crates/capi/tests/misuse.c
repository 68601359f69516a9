/* Misuses of the interface. Each has to be an error with a message that says what is wrong. Prints their number. */
#include <kingpost.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kp_error error;
static int misuses, wrong;

/* Checks the error of a misuse. */
static void want_at(int line, kp_status got, kp_status status, const char *message) {
    misuses++;
    if (got != status || error.status != status || strstr(error.message, message) == NULL) {
        printf("misuse.c:%d: status %d, expected %d, message: %s\n", line, got, status, error.message);
        wrong++;
    }
    memset(&error, 0x5a, sizeof error);
    error.message[0] = 0;
}

#define WANT(status, message, call) want_at(__LINE__, call, status, message)

/* Ends the program if a call failed. */
static void must_at(int line, kp_status status) {
    if (status != KP_OK) {
        printf("misuse.c:%d: status %d: %s\n", line, status, error.message);
        exit(1);
    }
}

#define MUST(call) must_at(__LINE__, call)

static const kp_config no_config = {0};
static const kp_module no_module = {0};
static const kp_function no_function = {0};
static const kp_data no_data = {0};
static const kp_builder no_builder = {0};
static const kp_value no_value = {0};
static const kp_block no_block = {0};

static kp_config config;
static kp_module jit;
static kp_function callee;

static kp_status add(kp_module module, const char *text) {
    return kp_module_add_text(module, (const uint8_t *)text, strlen(text), &error);
}

static void configurations(void) {
    kp_config stale, other;
    kp_module module;

    WANT(KP_ERROR_ARGUMENT, "`config` is a null pointer", kp_config_new(NULL, &error));
    MUST(kp_config_new(&stale, &error));
    MUST(kp_config_free(stale, &error));
    WANT(KP_ERROR_HANDLE, "is null", kp_config_set(no_config, "opt_level", "none", &error));
    WANT(KP_ERROR_HANDLE, "stale", kp_config_set(stale, "opt_level", "none", &error));
    WANT(KP_ERROR_HANDLE, "stale", kp_config_free(stale, &error));
    WANT(KP_ERROR_HANDLE, "is null", kp_config_free(no_config, &error));
    other.bits = 0x123456789abcdef0u;
    WANT(KP_ERROR_HANDLE, "no handle of this kind", kp_config_free(other, &error));
    other.bits = jit.bits;
    WANT(KP_ERROR_HANDLE, "no handle of this kind", kp_config_free(other, &error));
    WANT(KP_ERROR_ARGUMENT, "`key` is a null pointer", kp_config_set(config, NULL, "none", &error));
    WANT(KP_ERROR_ARGUMENT, "`value` is a null pointer", kp_config_set(config, "opt_level", NULL, &error));
    WANT(KP_ERROR_ARGUMENT, "`key` is not UTF-8", kp_config_set(config, "opt\xff", "none", &error));
    WANT(KP_ERROR_NAME, "near: opt_level", kp_config_set(config, "opt_levl", "none", &error));
    WANT(KP_ERROR_NAME, "expected one of none", kp_config_set(config, "opt_level", "fast", &error));
    WANT(KP_ERROR_NAME, "`best`", kp_config_set(config, "regalloc_algorithm", "best", &error));
    WANT(KP_ERROR_NAME, "not supported", kp_config_set(config, "enable_incremental_compilation_cache_checks", "true", &error));
    WANT(KP_ERROR_ARGUMENT, "`name` is a null pointer", kp_config_set_limit(config, NULL, 1, &error));
    WANT(KP_ERROR_NAME, "near: work", kp_config_set_limit(config, "wrok", 1, &error));
    WANT(KP_ERROR_ARGUMENT, "`name` is a null pointer", kp_config_set_target(config, NULL, &error));
    WANT(KP_ERROR_NAME, "near: x86_64", kp_config_set_target(config, "x86_65", &error));
    WANT(KP_ERROR_NAME, "not supported", kp_config_set_target(config, "riscv64gc", &error));
    WANT(KP_ERROR_NAME, "not supported", kp_config_set_target(config, "s390x-unknown-linux-gnu", &error));
    WANT(KP_ERROR_ARGUMENT, "`module` is a null pointer", kp_module_new_jit(config, NULL, &error));
    WANT(KP_ERROR_ARGUMENT, "`module` is a null pointer", kp_module_new_object(config, NULL, &error));
    WANT(KP_ERROR_HANDLE, "stale", kp_module_new_jit(stale, &module, &error));
    WANT(KP_ERROR_HANDLE, "is null", kp_module_new_object(no_config, &module, &error));
}

static void texts(void) {
    kp_module module;
    uint32_t line, column;
    uint64_t count;

    MUST(kp_module_new_jit(config, &module, &error));
    WANT(KP_ERROR_ARGUMENT, "`text` is a null pointer", kp_module_add_text(module, NULL, 5, &error));
    WANT(KP_ERROR_ARGUMENT, "is not an array", kp_module_add_text(module, (const uint8_t *)"f", SIZE_MAX, &error));
    WANT(KP_ERROR_HANDLE, "is null", add(no_module, ""));
    add(module, "function %f() {\nblock0:\n    ad\n}");
    line = error.line;
    column = error.column;
    WANT(KP_ERROR_TEXT, "unknown opcode `ad`", add(module, "function %f() {\nblock0:\n    ad\n}"));
    if (line != 3 || column != 5) {
        printf("an unknown opcode at %u:%u\n", line, column);
        wrong++;
    }
    add(module, "function %f(i32) -> i64 {\nblock0(v0: i32):\n    return v0\n}");
    line = error.line;
    column = error.column;
    WANT(KP_ERROR_INVALID, "i64", add(module, "function %f(i32) -> i64 {\nblock0(v0: i32):\n    return v0\n}"));
    if (line != 3 || column != 5) {
        printf("a wrong result at %u:%u\n", line, column);
        wrong++;
    }
    WANT(KP_ERROR_TEXT, "UTF-8", add(module, "function %f\xff"));
    MUST(add(module, "function %g() { block0: return }"));
    WANT(KP_ERROR_MODULE, "defined twice", add(module, "function %g() { block0: return }"));
    WANT(KP_ERROR_MODULE, "u0:7 is not declared", add(module, "function u0:7() { block0: return }"));
    WANT(KP_ERROR_MODULE, "is declared as", add(module, "function %g(i64) { block0(v0: i64): return }"));
    WANT(KP_ERROR_MODULE, "not declared", add(module, "function %h() { fn0 = u0:99() block0: call fn0() return }"));
    WANT(KP_ERROR_TEXT, "data object", add(module, "; data: %d rw zero=1\n; data: %d rw zero=1\n"));
    WANT(KP_ERROR_MODULE, "something else", add(module, "; data: %g rw zero=1\n"));
    WANT(KP_ERROR_ARGUMENT, "`name` is a null pointer", kp_module_count(module, NULL, &count, &error));
    WANT(KP_ERROR_ARGUMENT, "`count` is a null pointer", kp_module_count(module, "functions", NULL, &error));
    WANT(KP_ERROR_NAME, "near: proved", kp_module_count(module, "provd", &count, &error));
    WANT(KP_ERROR_HANDLE, "is null", kp_module_count(no_module, "proved", &count, &error));
    MUST(kp_module_free(module, &error));
    WANT(KP_ERROR_HANDLE, "stale", add(module, ""));
}

static void declarations(void) {
    kp_module module, other, object;
    kp_function function, imported;
    kp_data data, foreign, imported_data;
    kp_pointer pointer;
    kp_buffer buffer, stale;
    const void *address;
    const char *bytes;
    const uint8_t some[8] = {1};

    MUST(kp_module_new_jit(config, &module, &error));
    MUST(kp_module_new_jit(config, &other, &error));
    MUST(kp_module_new_object(config, &object, &error));
    MUST(kp_module_declare_function(module, "f", KP_EXPORT, "() -> i64", &function, &error));
    MUST(kp_module_declare_function(module, "missing", KP_IMPORT, "() -> i64", &imported, &error));
    WANT(KP_ERROR_ARGUMENT, "`name` is a null pointer", kp_module_declare_function(module, NULL, KP_EXPORT, "()", &function, &error));
    WANT(KP_ERROR_ARGUMENT, "`name` is empty", kp_module_declare_function(module, "", KP_EXPORT, "()", &function, &error));
    WANT(KP_ERROR_ARGUMENT, "`linkage` is 9", kp_module_declare_function(module, "g", 9, "()", &function, &error));
    WANT(KP_ERROR_ARGUMENT, "`signature` is a null pointer", kp_module_declare_function(module, "g", KP_EXPORT, NULL, &function, &error));
    WANT(KP_ERROR_TEXT, "unknown type `f65`", kp_module_declare_function(module, "g", KP_EXPORT, "(f65)", &function, &error));
    WANT(KP_ERROR_TEXT, "calling convention", kp_module_declare_function(module, "g", KP_EXPORT, "() stdcall", &function, &error));
    WANT(KP_ERROR_MODULE, "is declared as", kp_module_declare_function(module, "f", KP_EXPORT, "()", &function, &error));
    WANT(KP_ERROR_HANDLE, "is null", kp_module_declare_function(no_module, "f", KP_EXPORT, "()", &function, &error));
    WANT(KP_ERROR_MODULE, "something else", kp_module_declare_data(module, "f", KP_EXPORT, KP_DATA_READ_ONLY, &data, &error));
    WANT(KP_ERROR_ARGUMENT, "`kind` is 3", kp_module_declare_data(module, "d", KP_EXPORT, 3, &data, &error));
    WANT(KP_ERROR_ARGUMENT, "`kind` is 7", kp_module_declare_anonymous_data(module, 7, &data, &error));
    WANT(KP_ERROR_HANDLE, "is null", kp_module_declare_anonymous_data(no_module, KP_DATA_WRITABLE, &data, &error));
    WANT(KP_ERROR_HANDLE, "is null", kp_module_declare_anonymous_function(no_module, "()", &function, &error));
    WANT(KP_ERROR_ARGUMENT, "`signature` is a null pointer", kp_module_declare_anonymous_function(module, NULL, &function, &error));
    WANT(KP_ERROR_TEXT, "unknown type `i65`", kp_module_declare_anonymous_function(module, "(i65)", &function, &error));
    WANT(KP_ERROR_NAME, "no function is called `g`", kp_module_find_function(module, "g", &function, &error));
    WANT(KP_ERROR_NAME, "no data object is called `g`", kp_module_find_data(module, "g", &data, &error));

    MUST(kp_module_declare_data(module, "d", KP_EXPORT, KP_DATA_READ_ONLY, &data, &error));
    MUST(kp_module_declare_data(module, "e", KP_IMPORT, KP_DATA_READ_ONLY, &imported_data, &error));
    MUST(kp_module_declare_data(other, "d", KP_EXPORT, KP_DATA_READ_ONLY, &foreign, &error));
    WANT(KP_ERROR_HANDLE, "is null", kp_module_define_data(module, no_data, some, 8, 8, 8, NULL, 0, &error));
    WANT(KP_ERROR_HANDLE, "does not belong", kp_module_define_data(module, foreign, some, 8, 8, 8, NULL, 0, &error));
    WANT(KP_ERROR_ARGUMENT, "`size` is 4", kp_module_define_data(module, data, some, 8, 4, 8, NULL, 0, &error));
    WANT(KP_ERROR_MODULE, "aligned to 3", kp_module_define_data(module, data, some, 8, 8, 3, NULL, 0, &error));
    WANT(KP_ERROR_LIMIT, "bytes", kp_module_define_data(module, data, some, 8, UINT64_MAX, 8, NULL, 0, &error));
    WANT(KP_ERROR_ARGUMENT, "`bytes` is a null", kp_module_define_data(module, data, NULL, 8, 8, 8, NULL, 0, &error));
    WANT(KP_ERROR_ARGUMENT, "`pointers` is a null", kp_module_define_data(module, data, some, 8, 8, 8, NULL, 1, &error));
    WANT(KP_ERROR_MODULE, "imported", kp_module_define_data(module, imported_data, some, 8, 8, 8, NULL, 0, &error));
    pointer.offset = 1;
    pointer.addend = 0;
    pointer.function = function;
    pointer.data = no_data;
    WANT(KP_ERROR_MODULE, "out of place", kp_module_define_data(module, data, some, 8, 8, 8, &pointer, 1, &error));
    pointer.data = data;
    WANT(KP_ERROR_ARGUMENT, "at once", kp_module_define_data(module, data, some, 8, 8, 8, &pointer, 1, &error));
    pointer.function = no_function;
    pointer.data = foreign;
    WANT(KP_ERROR_HANDLE, "does not belong", kp_module_define_data(module, data, some, 8, 8, 8, &pointer, 1, &error));
    pointer.data = no_data;
    WANT(KP_ERROR_HANDLE, "is null", kp_module_define_data(module, data, some, 8, 8, 8, &pointer, 1, &error));
    MUST(kp_module_define_data(module, data, some, 8, 8, 8, NULL, 0, &error));
    WANT(KP_ERROR_MODULE, "defined twice", kp_module_define_data(module, data, some, 8, 8, 8, NULL, 0, &error));

    WANT(KP_ERROR_MODULE, "not defined yet", kp_module_define_function_alias(module, function, function, &error));
    WANT(KP_ERROR_MODULE, "defined twice", kp_module_define_data_alias(module, data, data, &error));
    WANT(KP_ERROR_HANDLE, "is null", kp_module_define_data_alias(module, data, no_data, &error));

    WANT(KP_ERROR_ARGUMENT, "`address` is a null pointer", kp_module_set_symbol(module, "missing", NULL, &error));
    WANT(KP_ERROR_ARGUMENT, "`name` is a null pointer", kp_module_set_symbol(module, NULL, some, &error));
    WANT(KP_ERROR_MODULE, "not code in memory", kp_module_set_symbol(object, "missing", some, &error));
    WANT(KP_ERROR_ARGUMENT, "`lookup` is a null pointer", kp_module_add_lookup(module, NULL, NULL, &error));
    MUST(add(module, "function %calls() -> i64 { fn0 = %surely_missing() -> i64 block0: v0 = call fn0() return v0 }"));
    WANT(KP_ERROR_LINK, "undefined symbol %surely_missing", kp_module_load(module, &error));
    WANT(KP_ERROR_MODULE, "not code in memory", kp_module_load(object, &error));
    WANT(KP_ERROR_NAME, "`calls`", kp_module_address(module, "calls", &address, &error));
    WANT(KP_ERROR_NAME, "not loaded", kp_module_function_address(module, function, &address, &error));
    WANT(KP_ERROR_NAME, "not loaded", kp_module_data_address(module, data, &address, &error));
    WANT(KP_ERROR_NAME, "contains the address", kp_module_function_at(module, some, &buffer, NULL, &error));
    WANT(KP_ERROR_NAME, "contains the address", kp_module_function_at(module, some, NULL, NULL, &error));
    WANT(KP_ERROR_HANDLE, "is null", kp_module_trap_at(no_module, some, NULL, &error));
    WANT(KP_ERROR_MODULE, "not code in memory", kp_module_stack_map_at(object, some, NULL, 0, NULL, NULL, &error));

    WANT(KP_ERROR_MODULE, "not code in memory", kp_module_enable_debugger(object, NULL, NULL, &error));
    WANT(KP_ERROR_ARGUMENT, "`source` is empty", kp_module_enable_debugger(module, "", ".", &error));
    WANT(KP_ERROR_ARGUMENT, "`folder` is a null pointer", kp_module_enable_debugger(module, "a.c", NULL, &error));
    WANT(KP_ERROR_NAME, "no object option is called `sauce`", kp_module_set_object_option(object, "sauce", "a.c", &error));
    WANT(KP_ERROR_NAME, "expected `true` or `false`", kp_module_set_object_option(object, "trap_table", "maybe", &error));
    WANT(KP_ERROR_MODULE, "not an object", kp_module_set_object_option(module, "source", "a.c", &error));
    WANT(KP_ERROR_MODULE, "not an object", kp_module_object(module, &buffer, &error));
    WANT(KP_ERROR_ARGUMENT, "`object` is a null pointer", kp_module_object(object, NULL, &error));
    MUST(kp_module_object(object, &buffer, &error));
    WANT(KP_ERROR_MODULE, "was taken", kp_module_object(object, &stale, &error));
    WANT(KP_ERROR_MODULE, "was taken", add(object, "function %f() { block0: return }"));
    WANT(KP_ERROR_MODULE, "was taken", kp_module_declare_anonymous_function(object, "()", &function, &error));
    WANT(KP_ERROR_MODULE, "was taken", kp_module_declare_anonymous_data(object, KP_DATA_READ_ONLY, &data, &error));
    WANT(KP_ERROR_MODULE, "was taken", kp_module_declare_function(object, "f", KP_EXPORT, "()", &function, &error));
    WANT(KP_ERROR_SYSTEM, "/nonexistent/f.o", kp_buffer_write(buffer, "/nonexistent/f.o", &error));
    WANT(KP_ERROR_ARGUMENT, "`path` is a null pointer", kp_buffer_write(buffer, NULL, &error));
    WANT(KP_ERROR_ARGUMENT, "`bytes` is a null pointer", kp_buffer_append(buffer, NULL, 3, &error));
    stale = buffer;
    MUST(kp_buffer_free(buffer, &error));
    WANT(KP_ERROR_HANDLE, "stale", kp_buffer_bytes(stale, &bytes, NULL, &error));
    WANT(KP_ERROR_HANDLE, "stale", kp_buffer_free(stale, &error));
    MUST(kp_module_free(module, &error));
    MUST(kp_module_free(other, &error));
    MUST(kp_module_free(object, &error));
    WANT(KP_ERROR_HANDLE, "stale", kp_module_free(module, &error));
}

/* A builder with a block that has been switched to, and its two values: an i64 and an f64. */
static kp_builder b;
static kp_block entry;
static kp_value x, y;
static int number;

static void start(void) {
    char name[32];
    kp_function function;
    sprintf(name, "built%d", number++);
    MUST(kp_module_declare_function(jit, name, KP_EXPORT, "(i64, f64) -> i64", &function, &error));
    MUST(kp_builder_new(jit, function, &b, &error));
    entry = kp_create_block(b);
    kp_append_function_params(b, entry);
    kp_switch_to_block(b, entry);
    x = kp_block_param(b, entry, 0);
    y = kp_block_param(b, entry, 1);
}

/* Builds a function with one misuse, which both ways of asking must report. */
#define BUILD(status, message, misuse) \
    do { \
        start(); \
        misuse; \
        WANT(status, message, kp_builder_error(b, &error)); \
        misuses--; \
        WANT(status, message, kp_builder_finish(b, &error)); \
    } while (0)

static void building(void) {
    kp_builder other, stale;
    kp_function function;
    kp_block block;
    kp_value value, foreign;
    kp_variable variable, foreign_variable;
    kp_slot slot;
    kp_value two[2];
    kp_block blocks[2];
    const uint64_t keys[2] = {3, 3};
    const uint8_t bytes[16] = {0};
    kp_callee import;
    kp_callee no_callee = {0};
    kp_signature no_signature = {0}, signature;

    start();
    other = b;
    foreign = x;
    foreign_variable = kp_declare_variable(b, KP_I64);
    WANT(KP_ERROR_HANDLE, "is null", kp_builder_new(no_module, callee, &b, &error));
    WANT(KP_ERROR_HANDLE, "is null", kp_builder_new(jit, no_function, &b, &error));
    WANT(KP_ERROR_ARGUMENT, "`builder` is a null pointer", kp_builder_new(jit, callee, NULL, &error));
    if (kp_create_block(no_builder).bits != 0 || kp_ins_iconst(no_builder, KP_I64, 1).bits != 0) {
        printf("a null builder builds\n");
        wrong++;
    }
    WANT(KP_ERROR_HANDLE, "is null", kp_builder_finish(no_builder, &error));

    /* Handles. */
    BUILD(KP_ERROR_HANDLE, "value is null", kp_ins_binary(b, KP_OP_IADD, x, no_value));
    BUILD(KP_ERROR_HANDLE, "value does not belong", kp_ins_binary(b, KP_OP_IADD, x, foreign));
    BUILD(KP_ERROR_HANDLE, "block is null", kp_switch_to_block(b, no_block));
    BUILD(KP_ERROR_HANDLE, "block does not belong", (block.bits = foreign.bits, kp_switch_to_block(b, block)));
    BUILD(KP_ERROR_HANDLE, "variable does not belong", kp_use_variable(b, foreign_variable));
    BUILD(KP_ERROR_HANDLE, "callee is null", kp_ins_call(b, no_callee, NULL, 0));
    BUILD(KP_ERROR_HANDLE, "signature is null", kp_ins_call_indirect(b, no_signature, x, NULL, 0));
    BUILD(KP_ERROR_HANDLE, "function is null", kp_import_function(b, no_function));
    BUILD(KP_ERROR_HANDLE, "data object is null", kp_ins_data_address(b, KP_I64, no_data));
    BUILD(KP_ERROR_HANDLE, "stack slot is null", (slot.bits = 0, kp_ins_stack_address(b, KP_I64, slot, 0)));

    /* Numbers. */
    BUILD(KP_ERROR_ARGUMENT, "9999 is no opcode", kp_ins_binary(b, 9999, x, x));
    BUILD(KP_ERROR_ARGUMENT, "77777 is no type", kp_ins_iconst(b, 77777, 1));
    BUILD(KP_ERROR_ARGUMENT, "99 is no condition", kp_ins_icmp(b, 99, x, x));
    BUILD(KP_ERROR_ARGUMENT, "99 is no condition", kp_ins_fcmp(b, 99, y, y));
    BUILD(KP_ERROR_ARGUMENT, "0 is no trap code", kp_ins_trap(b, 0));
    BUILD(KP_ERROR_ARGUMENT, "memory flags", kp_ins_load(b, KP_OP_LOAD, KP_I64, KP_MEM_LITTLE | KP_MEM_BIG, x, 0));
    BUILD(KP_ERROR_ARGUMENT, "atomic_rmw", kp_ins_atomic_rmw(b, KP_I64, 0, 99, x, x));
    BUILD(KP_ERROR_ARGUMENT, "999 is no lane", kp_ins_insert_lane(b, x, x, 999));
    BUILD(KP_ERROR_ARGUMENT, "not a power of two", kp_create_stack_slot(b, 8, 3));
    BUILD(KP_ERROR_ARGUMENT, "none with index 2", kp_block_param(b, entry, 2));
    BUILD(KP_ERROR_ARGUMENT, "none with index 0", kp_result(b, 0));
    BUILD(KP_ERROR_ARGUMENT, "`bytes` is a null pointer", kp_ins_constant(b, KP_F32X4, NULL, 16));
    BUILD(KP_ERROR_ARGUMENT, "i8x16 has 16", kp_ins_constant(b, KP_I8X16, bytes, 3));
    BUILD(KP_ERROR_LIMIT, "too long", kp_ins_return(b, &x, SIZE_MAX));
    BUILD(KP_ERROR_TEXT, "unknown type", kp_import_signature(b, "(i65)"));

    /* Forms and types. */
    BUILD(KP_ERROR_INVALID, "kp_ins_binary builds it", kp_ins_unary(b, KP_OP_IADD, KP_INFER, x));
    BUILD(KP_ERROR_INVALID, "kp_ins_jump builds it", kp_ins_nullary(b, KP_OP_JUMP, KP_INFER));
    BUILD(KP_ERROR_INVALID, "needs the type", kp_ins_unary(b, KP_OP_UEXTEND, KP_INFER, x));
    BUILD(KP_ERROR_INVALID, "infers its type", kp_ins_unary(b, KP_OP_INEG, KP_I64, x));
    BUILD(KP_ERROR_INVALID, "does not take f64", kp_ins_binary(b, KP_OP_IADD, y, y));
    BUILD(KP_ERROR_INVALID, "has type f64, expected i64", kp_ins_binary(b, KP_OP_IADD, x, y));
    BUILD(KP_ERROR_INVALID, "has type i64, expected", kp_ins_unary(b, KP_OP_UEXTEND, KP_I32, x));
    BUILD(KP_ERROR_INVALID, "does not take f64", kp_ins_iconst(b, KP_F64, 1));
    BUILD(KP_ERROR_INVALID, "does not take i128", kp_ins_iconst(b, KP_I128, 1));
    BUILD(KP_ERROR_INVALID, "constant operand beside f64", kp_ins_binary_imm(b, KP_OP_IADD, y, 1));
    BUILD(KP_ERROR_INVALID, "neither a vector", kp_ins_constant(b, KP_I64, bytes, 8));
    BUILD(KP_ERROR_INVALID, "has type f64", kp_ins_store(b, KP_OP_STORE, 0, x, y, 0));
    BUILD(KP_ERROR_INVALID, "condition of type f64", kp_ins_brif(b, y, entry, NULL, 0, entry, NULL, 0));
    BUILD(KP_ERROR_INVALID, "has type i64, expected i32", kp_ins_br_table(b, x, kp_create_block(b), NULL, 0));
    BUILD(KP_ERROR_INVALID, "switch on f64", kp_ins_switch(b, y, kp_create_block(b), NULL, NULL, 0));
    BUILD(KP_ERROR_INVALID, "key 3 occurs twice",
        (blocks[0] = kp_create_block(b), blocks[1] = blocks[0], kp_ins_switch(b, x, blocks[0], keys, blocks, 2)));
    BUILD(KP_ERROR_INVALID, "address of type f64",
        (signature = kp_import_signature(b, "()"), kp_ins_call_indirect(b, signature, y, NULL, 0)));

    /* Lists. */
    BUILD(KP_ERROR_INVALID, "0 results, expected 1", kp_ins_return(b, NULL, 0));
    BUILD(KP_ERROR_INVALID, "has type f64, expected i64", kp_ins_return(b, &y, 1));
    BUILD(KP_ERROR_INVALID, "1 arguments, expected 2",
        (import = kp_import_function(b, callee), kp_ins_call(b, import, &x, 1)));
    BUILD(KP_ERROR_INVALID, "number 1 of the arguments has type i64, expected f64",
        (import = kp_import_function(b, callee), two[0] = x, two[1] = x, kp_ins_call(b, import, two, 2)));
    BUILD(KP_ERROR_ARGUMENT, "`arguments` is a null pointer",
        (import = kp_import_function(b, callee), kp_ins_call(b, import, NULL, 2)));

    /* Blocks and variables. */
    BUILD(KP_ERROR_INVALID, "ends in a terminator already", (kp_ins_return(b, &x, 1), kp_ins_iconst(b, KP_I64, 1)));
    BUILD(KP_ERROR_INVALID, "is sealed", (block = kp_create_block(b), kp_seal_block(b, block), kp_ins_jump(b, block, NULL, 0)));
    BUILD(KP_ERROR_INVALID, "sealed already", (kp_seal_block(b, entry), kp_seal_block(b, entry)));
    BUILD(KP_ERROR_INVALID, "first block", kp_ins_jump(b, entry, NULL, 0));
    BUILD(KP_ERROR_INVALID, "cannot hold", (variable = kp_declare_variable(b, KP_I64), kp_define_variable(b, variable, y)));
    BUILD(KP_ERROR_ARGUMENT, "is no type", kp_declare_variable(b, KP_INFER));
    BUILD(KP_ERROR_INVALID, "has a value already",
        (variable = kp_declare_variable(b, KP_I64), kp_define_variable(b, variable, x), kp_set_variable_name(b, variable, "n")));
    BUILD(KP_ERROR_INVALID, "has a value already",
        (variable = kp_declare_variable(b, KP_I64), kp_use_variable(b, variable), kp_variable_needs_stack_map(b, variable)));
    BUILD(KP_ERROR_INVALID, "16 bytes", kp_variable_needs_stack_map(b, kp_declare_variable(b, KP_I8X16 + 16)));
    BUILD(KP_ERROR_HANDLE, "variable does not belong", kp_set_variable_name(b, foreign_variable, "n"));
    BUILD(KP_ERROR_HANDLE, "variable does not belong", kp_variable_needs_stack_map(b, foreign_variable));
    BUILD(KP_ERROR_ARGUMENT, "`name` is empty", kp_set_variable_name(b, kp_declare_variable(b, KP_I64), ""));
    BUILD(KP_ERROR_ARGUMENT, "`name` is a null pointer", kp_set_variable_name(b, kp_declare_variable(b, KP_I64), NULL));
    BUILD(KP_ERROR_ARGUMENT, "`name` is a null pointer", kp_set_value_name(b, x, NULL));
    BUILD(KP_ERROR_ARGUMENT, "`name` is empty", kp_set_value_name(b, x, ""));
    BUILD(KP_ERROR_HANDLE, "value is null", kp_set_value_name(b, no_value, "n"));
    BUILD(KP_ERROR_HANDLE, "value does not belong", kp_value_needs_stack_map(b, foreign));
    BUILD(KP_ERROR_INVALID, "is no call", kp_add_stack_map(b, kp_create_stack_slot(b, 8, 8), 0, KP_I64));
    BUILD(KP_ERROR_INVALID, "key 3 occurs twice",
        (blocks[0] = kp_create_block(b), blocks[1] = blocks[0], kp_ins_switch(b, x, blocks[0], keys, blocks, 2),
         kp_ins_return(b, NULL, 0)));
    start();
    value = kp_ins_binary(b, KP_OP_IADD, x, y);
    WANT(KP_ERROR_INVALID, "kp_ins_binary: operand", kp_builder_error(b, &error));
    if (value.bits != 0) {
        printf("a failed instruction has a value\n");
        wrong++;
    }
    kp_ins_return(b, &value, 1);
    WANT(KP_ERROR_INVALID, "kp_ins_binary: operand", kp_builder_finish(b, &error));

    /* The end. */
    start();
    WANT(KP_ERROR_INVALID, "not filled", kp_builder_finish(b, &error));
    WANT(KP_ERROR_HANDLE, "stale", kp_builder_finish(b, &error));
    WANT(KP_ERROR_HANDLE, "stale", kp_builder_free(b, &error));
    start();
    block = kp_create_block(b);
    kp_ins_jump(b, block, NULL, 0);
    kp_seal_all_blocks(b);
    WANT(KP_ERROR_INVALID, "block1 is not filled", kp_builder_finish(b, &error));
    start();
    kp_ins_return(b, &x, 1);
    WANT(KP_ERROR_INVALID, "not sealed", kp_builder_finish(b, &error));
    start();
    block = kp_create_block(b);
    kp_append_block_param(b, block, KP_I64);
    kp_ins_jump(b, block, NULL, 0);
    kp_switch_to_block(b, block);
    kp_ins_return(b, &x, 1);
    kp_seal_all_blocks(b);
    WANT(KP_ERROR_INVALID, "", kp_builder_finish(b, &error));
    start();
    b = no_builder;
    MUST(kp_builder_new(jit, callee, &b, &error));
    entry = kp_create_block(b);
    kp_ins_iconst(b, KP_I64, 1);
    WANT(KP_ERROR_INVALID, "no block was switched to", kp_builder_finish(b, &error));
    MUST(kp_builder_new(jit, callee, &b, &error));
    entry = kp_create_block(b);
    kp_append_function_params(b, entry);
    kp_switch_to_block(b, entry);
    x = kp_block_param(b, entry, 0);
    kp_ins_return(b, &x, 1);
    kp_seal_all_blocks(b);
    WANT(KP_ERROR_MODULE, "imported", kp_builder_finish(b, &error));
    {
        kp_module module;
        MUST(kp_module_new_jit(config, &module, &error));
        MUST(kp_module_declare_function(module, "f", KP_EXPORT, "()", &function, &error));
        MUST(kp_builder_new(module, function, &stale, &error));
        MUST(kp_module_free(module, &error));
        entry = kp_create_block(stale);
        kp_switch_to_block(stale, entry);
        kp_ins_return(stale, NULL, 0);
        kp_seal_all_blocks(stale);
        WANT(KP_ERROR_HANDLE, "module is stale", kp_builder_finish(stale, &error));
    }
    MUST(kp_builder_free(other, &error));
}

/* Allocators that do what they should not. */
static int32_t gives_up(void *user, const char *problem, size_t length, kp_buffer answer) {
    (void)user, (void)problem, (void)length;
    kp_buffer_append(answer, (const uint8_t *)"too hard", 8, NULL);
    return 7;
}

static int32_t answers_nonsense(void *user, const char *problem, size_t length, kp_buffer answer) {
    (void)user, (void)problem, (void)length;
    kp_buffer_append(answer, (const uint8_t *)"r0 is free\n", 11, NULL);
    return 0;
}

static int32_t answers_nothing(void *user, const char *problem, size_t length, kp_buffer answer) {
    (void)user, (void)problem, (void)length, (void)answer;
    return 0;
}

static int32_t frees_the_answer(void *user, const char *problem, size_t length, kp_buffer answer) {
    (void)user, (void)problem, (void)length;
    return kp_buffer_free(answer, NULL);
}

static kp_status inside;

static int32_t uses_its_module(void *user, const char *problem, size_t length, kp_buffer answer) {
    (void)problem, (void)length, (void)answer;
    inside = kp_module_load(*(kp_module *)user, &error);
    return 1;
}

static void try_allocator(int line, kp_allocate allocate, const char *message) {
    kp_config own;
    kp_module module;
    MUST(kp_config_new(&own, &error));
    MUST(kp_config_set_allocator(own, allocate, &module, &error));
    MUST(kp_module_new_jit(own, &module, &error));
    want_at(line, add(module, "function %f(i64) -> i64 { block0(v0: i64): v1 = imul v0, v0 return v1 }"), KP_ERROR_ALLOCATION, message);
    MUST(kp_module_free(module, &error));
    MUST(kp_config_free(own, &error));
}

static void callbacks(void) {
    kp_buffer buffer;
    static const char bad[] = "problem %f { oops }";
    try_allocator(__LINE__, gives_up, "gave up with 7: too hard");
    try_allocator(__LINE__, answers_nonsense, "cannot be read");
    try_allocator(__LINE__, answers_nothing, "no allocation");
    try_allocator(__LINE__, frees_the_answer, "was freed");
    try_allocator(__LINE__, uses_its_module, "gave up with 1");
    misuses++;
    if (inside != KP_ERROR_BUSY) {
        printf("a module was used while it was in use: status %d\n", inside);
        wrong++;
    }
    WANT(KP_ERROR_TEXT, "", kp_allocate_text(config, (const uint8_t *)bad, strlen(bad), &buffer, &error));
    WANT(KP_ERROR_TEXT, "", kp_check_text(config, (const uint8_t *)bad, strlen(bad), NULL, &buffer, &error));
}

static void tables(void) {
    kp_config none = {0};
    kp_buffer buffer;
    static const uint8_t ra[] = "problem %f { oops }";
    static const uint8_t head[] = "function %f(";
    static const uint8_t wrong_type[] = "function %f(i64) -> i32 { block0(v0: i64): return v0 }";
    static const uint8_t latin[] = {'f', 0xfc, 'r'};
    size_t findings = 0;
    WANT(KP_ERROR_ARGUMENT, "`names` is a null pointer", kp_allocators(NULL, &error));
    WANT(KP_ERROR_HANDLE, "null", kp_verify_text(none, head, 12, NULL, &buffer, &error));
    WANT(KP_ERROR_TEXT, "", kp_verify_text(config, head, 12, NULL, &buffer, &error));
    WANT(KP_ERROR_ARGUMENT, "`report` is a null pointer", kp_verify_text(config, head, 12, NULL, NULL, &error));
    WANT(KP_ERROR_ARGUMENT, "not UTF-8", kp_verify_text(config, latin, 3, NULL, &buffer, &error));
    MUST(kp_verify_text(config, wrong_type, sizeof wrong_type - 1, &findings, &buffer, &error));
    MUST(kp_buffer_free(buffer, &error));
    wrong += findings != 1;
    WANT(KP_ERROR_HANDLE, "null", kp_allocation_table(none, ra, 19, &buffer, &error));
    WANT(KP_ERROR_TEXT, "", kp_allocation_table(config, ra, 19, &buffer, &error));
    WANT(KP_ERROR_TEXT, "", kp_allocation_table(config, head, 12, &buffer, &error));
    WANT(KP_ERROR_INVALID, "", kp_allocation_table(config, wrong_type, sizeof wrong_type - 1, &buffer, &error));
    WANT(KP_ERROR_ARGUMENT, "`table` is a null pointer", kp_allocation_table(config, ra, 19, NULL, &error));
    WANT(KP_ERROR_ARGUMENT, "", kp_allocation_table(config, NULL, 1, &buffer, &error));
    WANT(KP_ERROR_TEXT, "", kp_explain_text(config, head, 12, &buffer, &error));
    WANT(KP_ERROR_INVALID, "", kp_explain_text(config, wrong_type, sizeof wrong_type - 1, &buffer, &error));
    WANT(KP_ERROR_ARGUMENT, "`explanation` is a null pointer", kp_explain_text(config, head, 12, NULL, &error));
}

/* One object in two threads: each call works or is an error. */
static void *compile(void *user) {
    kp_module module = *(kp_module *)user;
    kp_error own;
    int i, strange = 0;
    for (i = 0; i < 300; i++) {
        const void *address;
        kp_status status = kp_module_address(module, "none", &address, &own);
        strange += status != KP_ERROR_NAME && status != KP_ERROR_BUSY;
    }
    return strange == 0 ? user : NULL;
}

static void threads(void) {
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, compile, &jit);
    if (compile(&jit) == NULL) {
        wrong++;
    }
    pthread_join(thread, &result);
    misuses++;
    wrong += result == NULL;
}

int main(void) {
    MUST(kp_config_new(&config, &error));
    MUST(kp_module_new_jit(config, &jit, &error));
    MUST(kp_module_declare_function(jit, "callee", KP_IMPORT, "(i64, f64) -> i64", &callee, &error));
    configurations();
    texts();
    declarations();
    building();
    callbacks();
    tables();
    threads();
    MUST(kp_module_free(jit, &error));
    MUST(kp_config_free(config, &error));
    printf("%d misuses, %d wrong\n", misuses, wrong);
    return wrong != 0;
}
