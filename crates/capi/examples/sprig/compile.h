/* What the files of the compiler share: its state, and their functions. */
#ifndef SPRIG_COMPILE_H
#define SPRIG_COMPILE_H

#include "sprig.h"

/* Accesses that do not trap and are aligned. */
enum { TRUSTED = KP_MEM_NOTRAP | KP_MEM_ALIGNED };

/* A variable of the function that is compiled. */
typedef struct local {
    const char *name;
    const type *ty;
    kp_variable variable;
    struct local *outer;
} local;

/* The function of a closure that is declared and not compiled yet. */
typedef struct pending {
    kp_function id;
    const function *function;
    field *captured;
    struct pending *next;
} pending;

/* A value and its type. */
typedef struct {
    const type *ty;
    kp_value value;
} typed;

/* ---- compile.c ---- */

extern const program *tree;
extern kp_module module;
extern pending *closures;

/* State of the compiled function. */
extern kp_builder b;
extern const function *compiled;
extern local *locals;

/* ---- types.c ---- */

extern const type INT_TYPE, STR_TYPE;

/* Returns whether values of the type are references to objects of the heap. */
bool is_reference(const type *ty);

bool same_type(const type *one, const type *other);

/* Writes a type into a text of this size, as the language spells it. */
void print_type(const type *ty, char *text, size_t size);

/* Returns the type of a function. */
const type *type_of(const function *function);

/* Returns the offset of a field in an object, in bytes. The object begins with a header of one word. */
int32_t field_offset(size_t index);

const structure *find_structure(const char *name);

/* Returns a field of a structure, and stores its offset. */
const field *find_field(const type *ty, const char *name, unsigned line, int32_t *offset);

size_t count_fields(const field *list);

/* Returns a signature of C in text form. All parameters and the result have 64 bits. */
const char *signature(size_t params, bool has_result);

/* ---- expressions.c ---- */

typed compile_expression(const expression *e);

/* Compiles an expression that must have the type `expected`. */
kp_value compile_typed(const expression *e, const type *expected);

/* Declares a variable of the compiled function, and assigns its first value. */
void declare(const char *name, const type *ty, kp_value value);

/* Returns the variable with this name, which must be there. */
const local *known_local(const char *name, unsigned line);

#endif
