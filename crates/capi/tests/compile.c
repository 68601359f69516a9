/* Compiles a file of CLIF text into an object for this machine: compile FILE.clif FILE.o. */
#include <kingpost.h>
#include <stdio.h>
#include <stdlib.h>

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
    FILE *file;
    uint8_t *text;
    long length;

    if (count < 3 || (file = fopen(arguments[1], "rb")) == NULL) {
        fprintf(stderr, "usage: compile FILE.clif FILE.o\n");
        return 2;
    }
    fseek(file, 0, SEEK_END);
    length = ftell(file);
    rewind(file);
    text = malloc((size_t)length + 1);
    if (text == NULL || fread(text, 1, (size_t)length, file) != (size_t)length) {
        fprintf(stderr, "%s cannot be read\n", arguments[1]);
        return 1;
    }
    must(kp_config_new(&config, &error));
    must(kp_module_new_object(config, &module, &error));
    must(kp_module_add_text(module, text, (size_t)length, &error));
    must(kp_module_object(module, &object, &error));
    must(kp_buffer_write(object, arguments[2], &error));
    must(kp_buffer_free(object, &error));
    must(kp_module_free(module, &error));
    must(kp_config_free(config, &error));
    free(text);
    fclose(file);
    return 0;
}
