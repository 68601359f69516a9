/* Uses of the interface that the examples do not have. Prints what they give. */
#include <kingpost.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kp_error error;

/* Ends the program if a call failed. */
static void must_at(int line, kp_status status) {
    if (status != KP_OK) {
        printf("uses.c:%d: status %d: %s\n", line, status, error.message);
        exit(1);
    }
}

#define MUST(call) must_at(__LINE__, call)

static kp_config config;
static kp_module module;

/* Returns the address of a function. */
static const void *address_of(const char *name) {
    const void *address;
    MUST(kp_module_load(module, &error));
    MUST(kp_module_address(module, name, &address, &error));
    return address;
}

static kp_builder begin(const char *name, const char *signature, kp_block *entry) {
    kp_function function;
    kp_builder b;
    MUST(kp_module_declare_function(module, name, KP_EXPORT, signature, &function, &error));
    MUST(kp_builder_new(module, function, &b, &error));
    *entry = kp_create_block(b);
    kp_append_function_params(b, *entry);
    kp_switch_to_block(b, *entry);
    return b;
}

/* sum(n) = 1 + 2 + … + n, with variables. */
static void variables(void) {
    kp_block entry, head, body, end;
    kp_builder b = begin("sum", "(i64) -> i64", &entry);
    kp_variable n = kp_declare_variable(b, KP_I64), sum = kp_declare_variable(b, KP_I64);
    kp_value result;
    kp_buffer text;
    const char *bytes;
    int64_t (*compiled)(int64_t);
    const void *address;

    head = kp_create_block(b);
    body = kp_create_block(b);
    end = kp_create_block(b);
    kp_define_variable(b, n, kp_block_param(b, entry, 0));
    kp_ins_jump(b, head, NULL, 0);
    kp_switch_to_block(b, head);
    kp_ins_brif(b, kp_use_variable(b, n), body, NULL, 0, end, NULL, 0);
    kp_switch_to_block(b, body);
    kp_seal_block(b, body);
    kp_define_variable(b, sum, kp_ins_binary(b, KP_OP_IADD, kp_use_variable(b, sum), kp_use_variable(b, n)));
    kp_define_variable(b, n, kp_ins_binary_imm(b, KP_OP_IADD, kp_use_variable(b, n), -1));
    kp_ins_jump(b, head, NULL, 0);
    kp_seal_all_blocks(b);
    kp_switch_to_block(b, end);
    result = kp_use_variable(b, sum);
    kp_ins_return(b, &result, 1);
    MUST(kp_builder_text(b, &text, &error));
    MUST(kp_buffer_bytes(text, &bytes, NULL, &error));
    printf("%s", strstr(bytes, "iadd") != NULL ? "" : "the text has no addition\n");
    MUST(kp_buffer_free(text, &error));
    MUST(kp_builder_finish(b, &error));
    address = address_of("sum");
    memcpy(&compiled, &address, sizeof compiled);
    printf("sum(100) = %lld\n", (long long)compiled(100));
}

static int64_t plus(int64_t x) {
    return x + 1000;
}

static const void *find(void *user, const char *name) {
    int64_t (*function)(int64_t) = plus;
    const void *address = NULL;
    if (strcmp(name, "plus") == 0) {
        ++*(int *)user;
        memcpy(&address, &function, sizeof address);
    }
    return address;
}

/* A table of two functions, of which one is imported: dispatch(i, x) calls number i. */
static void data_and_calls(void) {
    static int lookups;
    kp_block entry;
    kp_builder b = begin("twice", "(i64) -> i64", &entry);
    kp_value x = kp_block_param(b, entry, 0), address, index;
    kp_function own, imported;
    kp_data table;
    kp_pointer pointers[2];
    kp_data none = {0};
    int64_t (*compiled)(int64_t, int64_t);
    const void *code;

    x = kp_ins_binary(b, KP_OP_IADD, x, x);
    kp_ins_return(b, &x, 1);
    kp_seal_all_blocks(b);
    MUST(kp_builder_finish(b, &error));
    MUST(kp_module_find_function(module, "twice", &own, &error));
    MUST(kp_module_declare_function(module, "plus", KP_IMPORT, "(i64) -> i64", &imported, &error));
    MUST(kp_module_add_lookup(module, find, &lookups, &error));
    MUST(kp_module_declare_data(module, "table", KP_LOCAL, KP_DATA_READ_ONLY, &table, &error));
    memset(pointers, 0, sizeof pointers);
    pointers[0].function = own;
    pointers[1].function = imported;
    pointers[1].offset = 8;
    pointers[0].data = pointers[1].data = none;
    MUST(kp_module_define_data(module, table, NULL, 0, 16, 8, pointers, 2, &error));

    b = begin("dispatch", "(i64, i64) -> i64", &entry);
    index = kp_ins_binary_imm(b, KP_OP_IMUL, kp_block_param(b, entry, 0), 8);
    x = kp_block_param(b, entry, 1);
    address = kp_ins_binary(b, KP_OP_IADD, kp_ins_data_address(b, KP_I64, table), index);
    address = kp_ins_load(b, KP_OP_LOAD, KP_I64, KP_MEM_NOTRAP | KP_MEM_ALIGNED, address, 0);
    x = kp_ins_call_indirect(b, kp_import_signature(b, "(i64) -> i64"), address, &x, 1);
    kp_ins_return(b, &x, 1);
    kp_seal_all_blocks(b);
    MUST(kp_builder_finish(b, &error));
    code = address_of("dispatch");
    memcpy(&compiled, &code, sizeof compiled);
    printf("dispatch: %lld %lld, %d lookup\n", (long long)compiled(0, 21), (long long)compiled(1, 21), lookups);

    MUST(kp_module_declare_function(module, "doubled", KP_LINK_ONCE, "(i64) -> i64", &imported, &error));
    MUST(kp_module_define_function_alias(module, imported, own, &error));
    printf("alias: %d\n", address_of("doubled") == address_of("twice"));
}

/* A division that traps, and a call with a live reference, found by address. */
static void tables(void) {
    kp_block entry;
    kp_builder b = begin("tables", "(i64, i64) -> i64", &entry);
    kp_value x = kp_block_param(b, entry, 0), y = kp_block_param(b, entry, 1), address;
    kp_slot slot = kp_create_stack_slot(b, 8, 8);
    kp_function callee;
    kp_reference reference = {0, 0};
    kp_buffer name;
    const char *code, *bytes;
    uint32_t trap, traps = 0, body_offset, type = 0;
    size_t count, maps = 0, offset, at, found = 0;

    MUST(kp_module_find_function(module, "plus", &callee, &error));
    address = kp_ins_stack_address(b, KP_I64, slot, 0);
    kp_ins_store(b, KP_OP_STORE, KP_MEM_NOTRAP, x, address, 0);
    y = kp_ins_call(b, kp_import_function(b, callee), &y, 1);
    kp_add_stack_map(b, slot, 0, KP_I64);
    x = kp_ins_load(b, KP_OP_LOAD, KP_I64, KP_MEM_NOTRAP, address, 0);
    x = kp_ins_binary(b, KP_OP_UDIV, x, y);
    kp_ins_return(b, &x, 1);
    kp_seal_all_blocks(b);
    MUST(kp_builder_finish(b, &error));
    code = address_of("tables");
    for (at = 0; at < 4096; at++) {
        if (kp_module_function_at(module, code + at, &name, &offset, NULL) != KP_OK) {
            break;
        }
        MUST(kp_buffer_bytes(name, &bytes, NULL, &error));
        found += strcmp(bytes, "tables") == 0 && offset == at;
        MUST(kp_buffer_free(name, &error));
        MUST(kp_module_trap_at(module, code + at, &trap, &error));
        traps += trap == KP_TRAP_INT_DIVZ;
        MUST(kp_module_stack_map_at(module, code + at, &reference, 1, &count, &body_offset, &error));
        maps += count;
        type = count > 0 ? reference.ty : type;
    }
    printf("tables: %s, %s, %d stack map of type %s\n", found == at && at > 10 ? "named" : "unnamed",
        traps > 0 ? "a trap" : "no trap", (int)maps, type == KP_I64 ? "i64" : "?");
}

/* Names of a variable and of values, which the debug information of an object has. */
static void names(void) {
    kp_config own;
    kp_module outer = module;
    kp_block entry;
    kp_builder b;
    kp_value x;
    kp_variable count;
    kp_buffer object;
    const char *bytes;
    size_t length, at, found = 0;

    MUST(kp_config_new(&own, &error));
    MUST(kp_config_set(own, "debug_values", "true", &error));
    MUST(kp_module_new_object(own, &module, &error));
    b = begin("named", "(i64) -> i64", &entry);
    x = kp_block_param(b, entry, 0);
    kp_set_value_name(b, x, "given");
    count = kp_declare_variable(b, KP_I64);
    kp_set_variable_name(b, count, "squared");
    kp_define_variable(b, count, kp_ins_binary(b, KP_OP_IMUL, x, x));
    x = kp_ins_binary_imm(b, KP_OP_IADD, kp_use_variable(b, count), 1);
    kp_set_value_name(b, x, "given");
    kp_ins_return(b, &x, 1);
    kp_seal_all_blocks(b);
    MUST(kp_builder_finish(b, &error));
    MUST(kp_module_object(module, &object, &error));
    MUST(kp_buffer_bytes(object, &bytes, &length, &error));
    for (at = 0; at + 8 < length; at++) {
        found += memcmp(bytes + at, "given", 6) == 0 || memcmp(bytes + at, "squared", 8) == 0;
    }
    printf("names: %d\n", (int)found);
    MUST(kp_buffer_free(object, &error));
    MUST(kp_module_free(module, &error));
    MUST(kp_config_free(own, &error));
    module = outer;
}

/* A branch by keys, and a text that is added to what was built. */
static void switches(void) {
    static const char text[] = "function %choose10(i64) -> i64 { fn0 = %choose(i64) -> i64\n"
                               "block0(v0: i64): v1 = iconst.i64 10 v2 = call fn0(v1) v3 = iadd v2, v0 return v3 }";
    kp_block entry, otherwise, blocks[3];
    kp_builder b = begin("choose", "(i64) -> i64", &entry);
    const uint64_t keys[3] = {1, 10, 1u << 30};
    const uint32_t weights[2] = {1, 9};
    kp_value value;
    int64_t (*compiled)(int64_t);
    const void *code;
    int i;

    otherwise = kp_create_block(b);
    for (i = 0; i < 3; i++) {
        blocks[i] = kp_create_block(b);
    }
    kp_ins_switch(b, kp_block_param(b, entry, 0), otherwise, keys, blocks, 3);
    kp_switch_to_block(b, otherwise);
    kp_set_cold_block(b, otherwise);
    kp_set_block_frequency(b, blocks[0], 0.25);
    kp_ins_trap(b, 7);
    for (i = 0; i < 3; i++) {
        kp_switch_to_block(b, blocks[i]);
        value = kp_ins_iconst(b, KP_I64, 100 * i);
        if (i == 2) {
            kp_ins_brif(b, value, otherwise, NULL, 0, blocks[1], NULL, 0);
            kp_set_branch_weights(b, weights, 2);
        } else {
            kp_ins_return(b, &value, 1);
        }
    }
    kp_seal_all_blocks(b);
    MUST(kp_builder_finish(b, &error));
    MUST(kp_module_add_text(module, (const uint8_t *)text, strlen(text), &error));
    code = address_of("choose10");
    memcpy(&compiled, &code, sizeof compiled);
    printf("choose: %lld\n", (long long)compiled(5));
}

/* An allocator that asks another one, and the checker as a function. */
static int32_t asks(void *user, const char *problem, size_t length, kp_buffer answer) {
    kp_buffer solved;
    const char *bytes;
    size_t size;
    ++*(int *)user;
    if (kp_allocate_text(config, (const uint8_t *)problem, length, &solved, NULL) != KP_OK) {
        return 1;
    }
    kp_buffer_bytes(solved, &bytes, &size, NULL);
    kp_buffer_append(answer, (const uint8_t *)bytes, size, NULL);
    return kp_buffer_free(solved, NULL);
}

static void allocators(void) {
    static const char text[] = "function %gcd(i64, i64) -> i64 {\n"
                               "block0(v0: i64, v1: i64): brif v1, block1, block2\n"
                               "block1: v2 = urem v0, v1 jump block3(v1, v2)\n"
                               "block3(v3: i64, v4: i64): brif v4, block4, block5\n"
                               "block4: v5 = urem v3, v4 jump block3(v4, v5)\n"
                               "block5: return v3\n"
                               "block2: return v0 }";
    static const char problem[] = "env { int r0, r1 }\nproblem %p {\n  v0, v1: int 8\n  b0:\n"
                                  "    i0: def v0, def v1\n    i1: branch use v0, use v1\n}\n";
    kp_config own;
    kp_buffer solved, report;
    const char *bytes;
    char *broken;
    size_t length, findings;
    const void *code;
    uint64_t (*gcd)(uint64_t, uint64_t);
    kp_module outer = module;
    int calls = 0;

    MUST(kp_config_new(&own, &error));
    MUST(kp_config_set_allocator(own, asks, &calls, &error));
    MUST(kp_module_new_jit(own, &module, &error));
    MUST(kp_module_add_text(module, (const uint8_t *)text, strlen(text), &error));
    code = address_of("gcd");
    memcpy(&gcd, &code, sizeof gcd);
    printf("gcd(48, 36) = %d, %d call of the allocator\n", (int)gcd(48, 36), calls);
    MUST(kp_module_free(module, &error));
    MUST(kp_config_free(own, &error));
    module = outer;

    MUST(kp_allocate_text(config, (const uint8_t *)problem, strlen(problem), &solved, &error));
    MUST(kp_buffer_bytes(solved, &bytes, &length, &error));
    MUST(kp_check_text(config, (const uint8_t *)bytes, length, &findings, &report, &error));
    printf("%d findings", (int)findings);
    MUST(kp_buffer_free(report, &error));
    broken = malloc(length + 1);
    memcpy(broken, bytes, length + 1);
    memcpy(strstr(broken, "i1: r"), "i1: r1, r1", 10);
    MUST(kp_check_text(config, (const uint8_t *)broken, length, &findings, &report, &error));
    printf(", then %s\n", findings > 0 ? "some" : "none");
    free(broken);
    MUST(kp_buffer_free(report, &error));
    MUST(kp_buffer_free(solved, &error));
}

/* A limit of the work of a function refuses it, and leaves the module usable. */
static void budgets(void) {
    const char *text = "function %limited(i64) -> i64 { block0(v0: i64): v1 = iadd v0, v0 return v1 }";
    kp_module limited;
    MUST(kp_config_set_limit(config, "work", 10, &error));
    MUST(kp_module_new_jit(config, &limited, &error));
    kp_status status = kp_module_add_text(limited, (const uint8_t *)text, strlen(text), &error);
    if (status != KP_ERROR_LIMIT || strstr(error.message, "more than 10 work units") == NULL) {
        printf("a limit of 10 work units: status %d\n", (int)status);
    }
    MUST(kp_module_free(limited, &error));
    MUST(kp_config_set_limit(config, "work", UINT64_MAX, &error));
}

/* Solves a problem with another allocator. Its code subtracts a number from itself: `i1: r7, r7, r6` becomes
 * `i1: r7, r7, r7`. */
static int32_t confuses(void *user, const char *problem, size_t length, kp_buffer answer) {
    kp_buffer solved;
    const char *bytes;
    char *copy, *line;
    size_t size;
    (void)user;
    if (kp_allocate_text(config, (const uint8_t *)problem, length, &solved, NULL) != KP_OK) {
        return 1;
    }
    kp_buffer_bytes(solved, &bytes, &size, NULL);
    copy = malloc(size + 1);
    memcpy(copy, bytes, size + 1);
    line = strstr(strstr(copy, "allocation"), "  i1: r");
    if (line != NULL) {
        memcpy(line + 14, line + 6, 2);
    }
    kp_buffer_append(answer, (const uint8_t *)copy, size, NULL);
    free(copy);
    return kp_buffer_free(solved, NULL);
}

/* Proofs of the emitted code, of right code and of wrong code. */
static void proofs(void) {
    static const char text[] = "function %difference(i64, i64) -> i64 {\n"
                               "block0(v0: i64, v1: i64): v2 = isub v0, v1 return v2 }";
    static const char *const policies[] = {"refuse", "recompile", "report"};
    static const char *const names[] = {"proved", "refuted", "recompiled"};
    uint64_t counts[3];
    int i, n;
    for (i = -1; i < 3; i++) {
        kp_config own;
        kp_module checked;
        kp_status status;
        MUST(kp_config_new(&own, &error));
        MUST(kp_config_set(own, "validate_code", "terms", &error));
        if (i >= 0) {
            MUST(kp_config_set_allocator(own, confuses, NULL, &error));
            MUST(kp_config_set(own, "regalloc_checker", "false", &error));
            MUST(kp_config_set(own, "validate_failure", policies[i], &error));
        }
        MUST(kp_module_new_object(own, &checked, &error));
        status = kp_module_add_text(checked, (const uint8_t *)text, strlen(text), &error);
        printf("%s: %s", i < 0 ? "right" : policies[i], status == KP_OK ? "compiled" : "not compiled");
        if (status != KP_OK && status != KP_ERROR_UNPROVED) {
            printf(", status %d: %s", (int)status, error.message);
        }
        for (n = 0; n < 3; n++) {
            MUST(kp_module_count(checked, names[n], &counts[n], &error));
            printf(", %d %s", (int)counts[n], names[n]);
        }
        printf("\n");
        MUST(kp_module_free(checked, &error));
        MUST(kp_config_free(own, &error));
    }
}

int main(void) {
    if (kp_version() != KINGPOST_VERSION) {
        printf("the version of the library is %u\n", kp_version());
    }
    MUST(kp_config_new(&config, &error));
    MUST(kp_config_set(config, "regalloc_checker", "true", &error));
    MUST(kp_module_new_jit(config, &module, &error));
    variables();
    data_and_calls();
    tables();
    names();
    switches();
    allocators();
    budgets();
    proofs();
    MUST(kp_module_free(module, &error));
    MUST(kp_config_free(config, &error));
    return 0;
}
