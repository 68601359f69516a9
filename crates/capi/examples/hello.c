/* Writes an object file with a `main` that prints a greeting: hello FILE.o, then cc FILE.o. */
#include <kingpost.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] =
    "; data: %greeting ro = x\"68656c6c6f2c20776f726c6400\"\n"
    "function %main() -> i32 {\n"
    "    gv0 = symbol %greeting\n"
    "    fn0 = %puts(i64) -> i32\n"
    "block0:\n"
    "    v0 = symbol_value.i64 gv0\n"
    "    v1 = call fn0(v0)\n"
    "    v2 = iconst.i32 0\n"
    "    return v2\n"
    "}\n";

static kp_error error;

/* Ends the program if a call failed. */
static void must(kp_status status) {
    if (status != KP_OK) {
        fprintf(stderr, "%u:%u: %s\n", error.line, error.column, error.message);
        exit(1);
    }
}

int main(int count, char **arguments) {
    kp_config config;
    kp_module module;
    kp_buffer object;

    if (count < 2) {
        fprintf(stderr, "usage: hello FILE.o [TARGET]\n");
        return 2;
    }
    must(kp_config_new(&config, &error));
    if (count > 2) {
        must(kp_config_set_target(config, arguments[2], &error));
    }
    must(kp_module_new_object(config, &module, &error));
    must(kp_module_add_text(module, (const uint8_t *)text, strlen(text), &error));
    must(kp_module_object(module, &object, &error));
    must(kp_buffer_write(object, arguments[1], &error));
    must(kp_buffer_free(object, &error));
    must(kp_module_free(module, &error));
    must(kp_config_free(config, &error));
    return 0;
}
