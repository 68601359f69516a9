/* The syntax tree of Sprig, and what the files of the front end offer each other.
 *
 * | file | holds |
 * |---|---|
 * | syntax.c | words and the parser |
 * | compile.c | from the syntax tree to functions of a module: functions and statements |
 * | expressions.c | instructions for expressions |
 * | types.c | types of the language |
 * | compile.h | what these three share |
 * | runtime.c | functions that programs call, and the collector |
 * | main.c | the command, memory of the compiler, and errors |
 *
 * Lists are linked by `next`. The whole tree lives until `free_all`.
 */
#ifndef SPRIG_H
#define SPRIG_H

#include <kingpost.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- Types of the language ---- */

typedef enum { TYPE_INT, TYPE_STR, TYPE_STRUCT, TYPE_FN } type_kind;

typedef struct type {
    type_kind kind;
    const char *name;           /* of a structure */
    const struct type *params;  /* of a function */
    const struct type *result;
    struct type *next;          /* in a list of parameters */
} type;

/* A field of a structure, a parameter of a function, or a captured variable. */
typedef struct field {
    const char *name;
    const type *ty;
    struct field *next;
} field;

/* ---- The tree ---- */

typedef struct expression expression;
typedef struct statement statement;

/* A function, or the function of a closure. */
typedef struct function {
    unsigned line;
    const char *name;
    field *params;
    type *result;
    statement *body;
    const char **mentioned;     /* names in the body: a closure captures those that are variables where it is created */
    size_t mentions;
    kp_function id;             /* set by the compiler */
    struct function *next;
} function;

typedef enum { INT, STR, NAME, BINARY, CALL, FIELD, NEW, CLOSURE } expression_kind;

/* An expression and the line on which it begins. */
struct expression {
    expression_kind kind;
    unsigned line;
    int64_t number;             /* INT */
    const char *text;           /* STR, NAME, and the name of FIELD and NEW */
    char operator;              /* BINARY: + - * / < = */
    expression *left, *right;   /* BINARY; `left` is also the callee of CALL and the object of FIELD */
    expression *list;           /* CALL, NEW */
    function *closure;
    expression *next;           /* in a list of arguments */
};

typedef enum { LET, ASSIGN, WHILE, IF, RETURN, EXPRESSION } statement_kind;

struct statement {
    statement_kind kind;
    unsigned line;
    const char *name;           /* LET */
    expression *to, *value;     /* ASSIGN has both; `value` is also the condition of WHILE and IF */
    statement *body, *otherwise;
    statement *next;
};

typedef struct structure {
    const char *name;
    field *fields;
    struct structure *next;
} structure;

typedef struct program {
    structure *structures;
    function *functions;
} program;

/* ---- What the files offer ---- */

/* syntax.c: parses a text that ends in a zero byte. */
program parse(const char *text);

/* compile.c: compiles a program into a module: a function `sprig_NAME` for each function `NAME`. */
void compile(const program *program, kp_module module);

/* runtime.c: gives a module the addresses of the functions that programs call. */
void add_runtime(kp_module module);

/* runtime.c: calls the function `main` of a program with an empty heap. */
int64_t run_program(kp_module module, int64_t (*start)(int64_t), int64_t number, bool collects_always);

/* runtime.c: number of collections of the last run. */
extern unsigned collections;

/* main.c: memory that is zero, and lives until `free_all`. */
void *allocate(size_t size);
void free_all(void);

/* main.c: ends the program with a message on standard error, which begins with the line unless it is 0. */
#if defined(__GNUC__)
__attribute__((noreturn, format(printf, 2, 3)))
#endif
void fail(unsigned line, const char *format, ...);

/* main.c: ends the program if a call of the library failed, with the message of the error. */
extern kp_error failure;
void must(kp_status status);

#endif
