/* A calculator with functions. It compiles each line of standard input into memory, and prints the values of
 * expressions:
 *
 *     fact(n) = n < 2 ? 1 : n * fact(n - 1)
 *     fact(20)
 */
#include <ctype.h>
#include <kingpost.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX 16 /* parameters and arguments */
#define NAME 32 /* characters of a name, with a zero byte */

static kp_module module;
static kp_error error;
static int line_number;

/* The function that is being built, and the text of its line. */
static kp_builder b;
static const char *at;
static char parameter[MAX][NAME];
static kp_value parameter_value[MAX];
static int parameters;

static kp_value expression(void);

static void fail(const char *message) {
    fprintf(stderr, "line %d: %s\n", line_number, message);
    exit(1);
}

/* Ends the program if a call failed. */
static void must(kp_status status) {
    if (status != KP_OK) {
        fail(error.message);
    }
}

/* Skips blanks, and the given text if it is next. Returns whether it was. */
static int eat(const char *text) {
    while (*at == ' ' || *at == '\t' || *at == '\n') {
        at++;
    }
    if (strncmp(at, text, strlen(text)) != 0) {
        return 0;
    }
    at += strlen(text);
    return 1;
}

static void expect(const char *text) {
    char message[64];
    if (!eat(text)) {
        sprintf(message, "expected `%.8s`", text);
        fail(message);
    }
}

/* Reads a name if there is one. */
static int name(char *out) {
    int length = 0;
    eat("");
    if (!isalpha((unsigned char)*at)) {
        return 0;
    }
    while (isalnum((unsigned char)*at) && length < NAME - 1) {
        out[length++] = *at++;
    }
    out[length] = 0;
    return 1;
}

/* Declares a function with a number of parameters. All are integers of 64 bits. */
static kp_function declare(const char *function, int count) {
    char signature[8 * MAX + 16] = "(";
    kp_function result;
    int i;
    for (i = 0; i < count; i++) {
        strcat(signature, i == 0 ? "i64" : ", i64");
    }
    strcat(signature, ") -> i64");
    must(kp_module_declare_function(module, function, KP_EXPORT, signature, &result, &error));
    return result;
}

static kp_value call(const char *function) {
    kp_value arguments[MAX];
    int count = 0;
    if (!eat(")")) {
        do {
            if (count == MAX) {
                fail("too many arguments");
            }
            arguments[count++] = expression();
        } while (eat(","));
        expect(")");
    }
    return kp_ins_call(b, kp_import_function(b, declare(function, count)), arguments, (size_t)count);
}

static kp_value primary(void) {
    char word[NAME];
    kp_value value = {0};
    int i;
    if (eat("(")) {
        value = expression();
        expect(")");
        return value;
    }
    if (name(word)) {
        if (eat("(")) {
            return call(word);
        }
        for (i = 0; i < parameters; i++) {
            if (strcmp(parameter[i], word) == 0) {
                return parameter_value[i];
            }
        }
        fail("unknown name");
    }
    if (!isdigit((unsigned char)*at)) {
        fail("expected a number, a name or `(`");
    }
    return kp_ins_iconst(b, KP_I64, strtoll(at, (char **)&at, 10));
}

static kp_value unary(void) {
    return eat("-") ? kp_ins_unary(b, KP_OP_INEG, KP_INFER, unary()) : primary();
}

static kp_value term(void) {
    kp_value value = unary();
    for (;;) {
        if (eat("*")) {
            value = kp_ins_binary(b, KP_OP_IMUL, value, unary());
        } else if (eat("/")) {
            value = kp_ins_binary(b, KP_OP_SDIV, value, unary());
        } else if (eat("%")) {
            value = kp_ins_binary(b, KP_OP_SREM, value, unary());
        } else {
            return value;
        }
    }
}

static kp_value sum(void) {
    kp_value value = term();
    for (;;) {
        if (eat("+")) {
            value = kp_ins_binary(b, KP_OP_IADD, value, term());
        } else if (eat("-")) {
            value = kp_ins_binary(b, KP_OP_ISUB, value, term());
        } else {
            return value;
        }
    }
}

static kp_value comparison(void) {
    kp_value left = sum();
    uint32_t condition;
    if (eat("<")) {
        condition = KP_INT_SLT;
    } else if (eat(">")) {
        condition = KP_INT_SGT;
    } else if (eat("==")) {
        condition = KP_INT_EQ;
    } else {
        return left;
    }
    return kp_ins_unary(b, KP_OP_UEXTEND, KP_I64, kp_ins_icmp(b, condition, left, sum()));
}

/* `condition ? value : value` goes through one of two blocks to a third one, whose parameter is the value. */
static kp_value expression(void) {
    kp_value condition = comparison(), value;
    kp_block yes, no, after;
    if (!eat("?")) {
        return condition;
    }
    yes = kp_create_block(b);
    no = kp_create_block(b);
    after = kp_create_block(b);
    kp_append_block_param(b, after, KP_I64);
    kp_ins_brif(b, condition, yes, NULL, 0, no, NULL, 0);
    kp_switch_to_block(b, yes);
    value = expression();
    kp_ins_jump(b, after, &value, 1);
    expect(":");
    kp_switch_to_block(b, no);
    value = expression();
    kp_ins_jump(b, after, &value, 1);
    kp_switch_to_block(b, after);
    return kp_block_param(b, after, 0);
}

/* Defines a function as the expression that is next. */
static void define(const char *function) {
    kp_block entry;
    kp_value value;
    int i;
    must(kp_builder_new(module, declare(function, parameters), &b, &error));
    entry = kp_create_block(b);
    kp_append_function_params(b, entry);
    kp_switch_to_block(b, entry);
    for (i = 0; i < parameters; i++) {
        parameter_value[i] = kp_block_param(b, entry, (uint32_t)i);
    }
    value = expression();
    kp_ins_return(b, &value, 1);
    kp_seal_all_blocks(b);
    eat("");
    if (*at != 0) {
        fail("expected the end of the line");
    }
    must(kp_builder_finish(b, &error));
}

/* Reads `name(parameters) =`. Returns 0 if the line is an expression. */
static int head(char *function) {
    if (!name(function) || !eat("(")) {
        return 0;
    }
    for (parameters = 0; parameters < MAX && name(parameter[parameters]); ) {
        parameters++;
        if (!eat(",")) {
            break;
        }
    }
    return eat(")") && eat("=") && *at != '=';
}

int main(void) {
    char text[1024], function[NAME];
    kp_config config;
    const void *address;
    int64_t (*compiled)(void);

    must(kp_config_new(&config, &error));
    must(kp_config_set_target(config, "native", &error));
    must(kp_module_new_jit(config, &module, &error));
    while (fgets(text, sizeof text, stdin) != NULL) {
        line_number++;
        at = text;
        if (eat("") && *at == 0) {
            continue;
        }
        at = text;
        if (head(function)) {
            define(function);
            continue;
        }
        at = text;
        parameters = 0;
        sprintf(function, "line %d", line_number);
        define(function);
        must(kp_module_load(module, &error));
        must(kp_module_address(module, function, &address, &error));
        memcpy(&compiled, &address, sizeof compiled);
        printf("%lld\n", (long long)compiled());
    }
    must(kp_module_free(module, &error));
    must(kp_config_free(config, &error));
    return 0;
}
