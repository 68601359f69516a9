/* Compiles a function from text into memory, and calls it. */
#include <kingpost.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] =
    "function %fib(i64) -> i64 {\n"
    "block0(v0: i64):\n"
    "    v1 = iconst.i64 0\n"
    "    v2 = iconst.i64 1\n"
    "    jump block1(v0, v1, v2)\n"
    "block1(v3: i64, v4: i64, v5: i64):\n"
    "    brif v3, block2, block3\n"
    "block2:\n"
    "    v6 = iadd v4, v5\n"
    "    v7 = iconst.i64 1\n"
    "    v8 = isub v3, v7\n"
    "    jump block1(v8, v5, v6)\n"
    "block3:\n"
    "    return v4\n"
    "}\n";

static kp_error error;

/* Ends the program if a call failed. */
static void must(kp_status status) {
    if (status != KP_OK) {
        fprintf(stderr, "%u:%u: %s\n", error.line, error.column, error.message);
        exit(1);
    }
}

int main(void) {
    kp_config config;
    kp_module module;
    const void *address;
    int64_t (*fib)(int64_t);

    must(kp_config_new(&config, &error));
    must(kp_config_set_target(config, "native", &error));
    must(kp_config_set(config, "opt_level", "speed", &error));
    must(kp_module_new_jit(config, &module, &error));
    must(kp_module_add_text(module, (const uint8_t *)text, strlen(text), &error));
    must(kp_module_load(module, &error));
    must(kp_module_address(module, "fib", &address, &error));
    memcpy(&fib, &address, sizeof fib);
    printf("fib(50) = %lld\n", (long long)fib(50));
    must(kp_module_free(module, &error));
    must(kp_config_free(config, &error));
    return 0;
}
