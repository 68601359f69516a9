/* Types of the language, and what the compiler asks about them. */
#include "compile.h"
#include <stdio.h>
#include <string.h>

const type INT_TYPE = {TYPE_INT, NULL, NULL, NULL, NULL};
const type STR_TYPE = {TYPE_STR, NULL, NULL, NULL, NULL};

bool is_reference(const type *ty) {
    return ty->kind == TYPE_STRUCT || ty->kind == TYPE_FN;
}

bool same_type(const type *one, const type *other) {
    const type *x = one->params, *y = other->params;
    if (one->kind != other->kind) {
        return false;
    }
    if (one->kind == TYPE_STRUCT) {
        return strcmp(one->name, other->name) == 0;
    }
    for (; x != NULL && y != NULL && same_type(x, y); x = x->next, y = y->next) {
    }
    return x == NULL && y == NULL && (one->kind != TYPE_FN || same_type(one->result, other->result));
}

void print_type(const type *ty, char *text, size_t size) {
    static const char *const names[] = {"int", "str"};
    const type *param;
    size_t used;
    if (ty->kind != TYPE_FN) {
        snprintf(text, size, "%s", ty->kind == TYPE_STRUCT ? ty->name : names[ty->kind]);
        return;
    }
    snprintf(text, size, "fn(");
    for (param = ty->params; param != NULL; param = param->next) {
        used = strlen(text);
        print_type(param, text + used, size - used);
        used = strlen(text);
        snprintf(text + used, size - used, "%s", param->next != NULL ? ", " : "");
    }
    used = strlen(text);
    snprintf(text + used, size - used, ") ");
    used = strlen(text);
    print_type(ty->result, text + used, size - used);
}

int32_t field_offset(size_t index) {
    return 8 * ((int32_t)index + 1);
}


const structure *find_structure(const char *name) {
    const structure *of = tree->structures;
    while (of != NULL && strcmp(of->name, name) != 0) {
        of = of->next;
    }
    return of;
}

const field *find_field(const type *ty, const char *name, unsigned line, int32_t *offset) {
    const structure *of = ty->kind == TYPE_STRUCT ? find_structure(ty->name) : NULL;
    const field *found = of != NULL ? of->fields : NULL;
    size_t index;
    for (index = 0; found != NULL && strcmp(found->name, name) != 0; index++) {
        found = found->next;
    }
    if (found == NULL) {
        fail(line, "no field `%s`", name);
    }
    *offset = field_offset(index);
    return found;
}

size_t count_fields(const field *list) {
    size_t count = 0;
    for (; list != NULL; list = list->next) {
        count++;
    }
    return count;
}

const char *signature(size_t params, bool has_result) {
    char *text = allocate(5 * params + 16);
    size_t i;
    strcpy(text, "(");
    for (i = 0; i < params; i++) {
        strcat(text, i == 0 ? "i64" : ", i64");
    }
    return strcat(text, has_result ? ") -> i64" : ")");
}

const type *type_of(const function *function) {
    type *ty = allocate(sizeof *ty), *params = NULL, **end = &params;
    const field *param;
    for (param = function->params; param != NULL; param = param->next) {
        *end = allocate(sizeof **end);
        **end = *param->ty;
        (*end)->next = NULL;
        end = &(*end)->next;
    }
    ty->kind = TYPE_FN;
    ty->params = params;
    ty->result = function->result;
    return ty;
}
