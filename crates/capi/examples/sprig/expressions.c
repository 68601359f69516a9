/* Compiles expressions: the builder gets instructions, and the value of the last one is returned. */
#include "compile.h"
#include <string.h>

/* ---- Variables and values ---- */

/* Returns the value. If it is a reference, the builder keeps it where a collector can find and update it. */
static typed keep(const type *ty, kp_value value) {
    typed kept = {ty, value};
    if (is_reference(ty)) {
        kp_value_needs_stack_map(b, value);
    }
    return kept;
}

void declare(const char *name, const type *ty, kp_value value) {
    local *declared = allocate(sizeof *declared);
    declared->name = name;
    declared->ty = ty;
    declared->variable = kp_declare_variable(b, KP_I64);
    declared->outer = locals;
    locals = declared;
    kp_set_variable_name(b, declared->variable, name);
    if (is_reference(ty)) {
        kp_variable_needs_stack_map(b, declared->variable);
    }
    kp_define_variable(b, declared->variable, value);
}

static const local *find_local(const char *name) {
    const local *known = locals;
    while (known != NULL && strcmp(known->name, name) != 0) {
        known = known->outer;
    }
    return known;
}

const local *known_local(const char *name, unsigned line) {
    const local *known = find_local(name);
    if (known == NULL) {
        fail(line, "no variable `%s`", name);
    }
    return known;
}

kp_value compile_typed(const expression *e, const type *expected) {
    char want[200], have[200];
    typed found = compile_expression(e);
    if (!same_type(found.ty, expected)) {
        print_type(expected, want, sizeof want);
        print_type(found.ty, have, sizeof have);
        fail(e->line, "expected `%s`, found `%s`", want, have);
    }
    return found.value;
}

/* ---- Objects ---- */

/* Calls a function of the runtime. The result is null if it has none. */
static kp_value call_runtime(const char *name, const kp_value *arguments, size_t count) {
    kp_function function;
    must(kp_module_find_function(module, name, &function, &failure));
    return kp_ins_call(b, kp_import_function(b, function), arguments, count);
}

/* Allocates an object and fills its fields. `references` has one bit for each field that is a reference. */
static kp_value new_object(const kp_value *fields, size_t count, uint64_t references, unsigned line) {
    kp_value arguments[3], object;
    size_t i;
    if (count > 31) {
        fail(line, "an object has at most 31 fields");
    }
    arguments[0] = kp_ins_nullary(b, KP_OP_GET_STACK_POINTER, KP_I64);
    arguments[1] = kp_ins_nullary(b, KP_OP_GET_FRAME_POINTER, KP_I64);
    arguments[2] = kp_ins_iconst(b, KP_I64, (int64_t)(references << 32 | count << 1 | 1));
    object = call_runtime("sprig_allocate", arguments, 3);
    for (i = 0; i < count; i++) {
        kp_ins_store(b, KP_OP_STORE, TRUSTED, fields[i], object, field_offset(i));
    }
    kp_value_needs_stack_map(b, object);
    return object;
}

/* Returns the address of a string: its length in eight bytes, then its bytes. */
static kp_value compile_text(const char *text) {
    uint64_t length = strlen(text);
    uint8_t *bytes = allocate(8 + (size_t)length);
    kp_data data;
    size_t i;
    for (i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(length >> 8 * i);
    }
    memcpy(bytes + 8, text, (size_t)length);
    must(kp_module_declare_anonymous_data(module, KP_DATA_READ_ONLY, &data, &failure));
    must(kp_module_define_data(module, data, bytes, 8 + length, 8 + length, 16, NULL, 0, &failure));
    return kp_ins_data_address(b, KP_I64, data);
}

static typed compile_new(const expression *e) {
    const structure *of = find_structure(e->text);
    const field *field;
    const expression *value;
    kp_value *fields;
    typed result;
    uint64_t references = 0;
    size_t count = 0, given = 0;
    type *ty = allocate(sizeof *ty);
    if (of == NULL) {
        fail(e->line, "no struct `%s`", e->text);
    }
    for (value = e->list; value != NULL; value = value->next) {
        given++;
    }
    if (count_fields(of->fields) != given) {
        fail(e->line, "`%s` has %zu fields", e->text, count_fields(of->fields));
    }
    fields = allocate((given + 1) * sizeof *fields);
    for (field = of->fields, value = e->list; field != NULL; field = field->next, value = value->next) {
        references |= (uint64_t)is_reference(field->ty) << (count & 31);
        fields[count++] = compile_typed(value, field->ty);
    }
    ty->kind = TYPE_STRUCT;
    ty->name = of->name;
    result.ty = ty;
    result.value = new_object(fields, count, references, e->line);
    return result;
}

/* ---- Closures ---- */

static bool mentions(const function *function, const char *name) {
    size_t i;
    for (i = 0; i < function->mentions; i++) {
        if (strcmp(function->mentioned[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Returns the variables that a closure captures, in the order of the object's fields: the innermost first. */
static field *captured_by(const function *function) {
    field *list = NULL, **end = &list;
    const local *known;
    for (known = locals; known != NULL; known = known->outer) {
        /* An inner variable hides outer ones with its name. */
        if (mentions(function, known->name) && find_local(known->name) == known) {
            *end = allocate(sizeof **end);
            (*end)->name = known->name;
            (*end)->ty = known->ty;
            end = &(*end)->next;
        }
    }
    return list;
}

/* Creates a closure: an object with the address of its function and copies of the captured variables. */
static typed compile_closure(const function *function) {
    pending *closure = allocate(sizeof *closure);
    const field *captured;
    kp_value *fields;
    typed result;
    uint64_t references = 0;
    size_t count = 1;
    closure->function = function;
    closure->captured = captured_by(function);
    closure->next = closures;
    closures = closure;
    must(kp_module_declare_anonymous_function(
        module, signature(count_fields(function->params) + 1, true), &closure->id, &failure));
    fields = allocate((count_fields(closure->captured) + 1) * sizeof *fields);
    fields[0] = kp_ins_function_address(b, KP_I64, kp_import_function(b, closure->id));
    for (captured = closure->captured; captured != NULL; captured = captured->next) {
        references |= (uint64_t)is_reference(captured->ty) << (count & 31);
        fields[count++] = kp_use_variable(b, find_local(captured->name)->variable);
    }
    result.ty = type_of(function);
    result.value = new_object(fields, count, references, function->line);
    return result;
}

/* ---- Calls ---- */

static const function *find_function(const char *name) {
    const function *known, *found = NULL;
    for (known = tree->functions; known != NULL; known = known->next) {
        found = strcmp(known->name, name) == 0 ? known : found;
    }
    return found;
}

static typed compile_print(const expression *e) {
    typed argument = compile_expression(e->list), result = {&INT_TYPE, {0}};
    if (is_reference(argument.ty)) {
        fail(e->line, "only numbers and strings are printed");
    }
    call_runtime(argument.ty->kind == TYPE_STR ? "sprig_print_text" : "sprig_print_number", &argument.value, 1);
    result.value = kp_ins_iconst(b, KP_I64, 0);
    return result;
}

static typed compile_call(const expression *e) {
    const char *name = e->left->kind == NAME ? e->left->text : "";
    bool is_variable = find_local(name) != NULL;
    const function *direct = is_variable ? NULL : find_function(name);
    const expression *argument;
    const type *ty, *param;
    typed closure = {NULL, {0}};
    kp_value *values, address, result;
    size_t count = 0, given = 0, params = 0;

    for (argument = e->list; argument != NULL; argument = argument->next) {
        given++;
    }
    if (strcmp(name, "print") == 0 && !is_variable && given == 1) {
        return compile_print(e);
    }
    values = allocate((given + 1) * sizeof *values);
    if (direct == NULL) {
        closure = compile_expression(e->left);
        if (closure.ty->kind != TYPE_FN) {
            fail(e->line, "this is no function");
        }
        values[count++] = closure.value;
    }
    ty = direct != NULL ? type_of(direct) : closure.ty;
    for (param = ty->params; param != NULL; param = param->next) {
        params++;
    }
    if (params != given) {
        fail(e->line, "%zu arguments, expected %zu", given, params);
    }
    for (param = ty->params, argument = e->list; param != NULL; param = param->next, argument = argument->next) {
        values[count++] = compile_typed(argument, param);
    }
    kp_set_source_location(b, e->line);
    if (direct != NULL) {
        result = kp_ins_call(b, kp_import_function(b, direct->id), values, count);
    } else {
        kp_signature indirect = kp_import_signature(b, signature(count, true));
        address = kp_ins_load(b, KP_OP_LOAD, KP_I64, TRUSTED, values[0], field_offset(0));
        result = kp_ins_call_indirect(b, indirect, address, values, count);
    }
    return keep(ty->result, result);
}

/* ---- Expressions ---- */

static kp_value compile_binary(const expression *e) {
    kp_value left = compile_typed(e->left, &INT_TYPE), right = compile_typed(e->right, &INT_TYPE);
    switch (e->operator) {
    case '+':
        return kp_ins_binary(b, KP_OP_IADD, left, right);
    case '-':
        return kp_ins_binary(b, KP_OP_ISUB, left, right);
    case '*':
        return kp_ins_binary(b, KP_OP_IMUL, left, right);
    case '/':
        return kp_ins_binary(b, KP_OP_SDIV, left, right);
    default:
        left = kp_ins_icmp(b, e->operator == '<' ? KP_INT_SLT : KP_INT_EQ, left, right);
        return kp_ins_unary(b, KP_OP_UEXTEND, KP_I64, left);
    }
}

static typed compile_field(const expression *e) {
    typed object = compile_expression(e->left);
    int32_t offset;
    const field *found = find_field(object.ty, e->text, e->line, &offset);
    return keep(found->ty, kp_ins_load(b, KP_OP_LOAD, KP_I64, TRUSTED, object.value, offset));
}

typed compile_expression(const expression *e) {
    typed result = {&INT_TYPE, {0}};
    kp_set_source_location(b, e->line);
    switch (e->kind) {
    case INT:
        result.value = kp_ins_iconst(b, KP_I64, e->number);
        return result;
    case STR:
        result.ty = &STR_TYPE;
        result.value = compile_text(e->text);
        return result;
    case NAME:
        result.ty = known_local(e->text, e->line)->ty;
        result.value = kp_use_variable(b, find_local(e->text)->variable);
        return result;
    case BINARY:
        result.value = compile_binary(e);
        return result;
    case FIELD:
        return compile_field(e);
    case NEW:
        return compile_new(e);
    case CLOSURE:
        return compile_closure(e->closure);
    default:
        return compile_call(e);
    }
}
