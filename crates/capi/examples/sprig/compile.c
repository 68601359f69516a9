/* Compiles a syntax tree into functions of a module.
 *
 * A value of any type has 64 bits. Structures and closures are objects of the heap. References to them need stack
 * maps, which the builder makes, so that a collector may move the objects during any call.
 */
#include "compile.h"
#include <string.h>

const program *tree;
kp_module module;
pending *closures;

kp_builder b;
const function *compiled;
local *locals;

static void compile_statements(const statement *list);

/* ---- Statements ---- */

static void compile_assignment(const statement *s) {
    const local *variable;
    const field *to;
    kp_value value;
    typed object;
    int32_t offset;
    kp_set_source_location(b, s->line);
    switch (s->to->kind) {
    case NAME:
        variable = known_local(s->to->text, s->line);
        value = compile_typed(s->value, variable->ty);
        kp_define_variable(b, variable->variable, value);
        break;
    case FIELD:
        object = compile_expression(s->to->left);
        to = find_field(object.ty, s->to->text, s->line, &offset);
        value = compile_typed(s->value, to->ty);
        kp_ins_store(b, KP_OP_STORE, TRUSTED, value, object.value, offset);
        break;
    default:
        fail(s->line, "only variables and fields are assigned");
    }
}

static void compile_while(const statement *s) {
    kp_block head = kp_create_block(b), inside = kp_create_block(b), after = kp_create_block(b);
    kp_value condition;
    kp_ins_jump(b, head, NULL, 0);
    kp_switch_to_block(b, head);
    kp_set_source_location(b, s->line);
    condition = compile_typed(s->value, &INT_TYPE);
    kp_ins_brif(b, condition, inside, NULL, 0, after, NULL, 0);
    kp_switch_to_block(b, inside);
    compile_statements(s->body);
    kp_ins_jump(b, head, NULL, 0);
    kp_switch_to_block(b, after);
}

static void compile_if(const statement *s) {
    kp_block yes, no, after;
    kp_value condition;
    kp_set_source_location(b, s->line);
    condition = compile_typed(s->value, &INT_TYPE);
    yes = kp_create_block(b);
    no = kp_create_block(b);
    after = kp_create_block(b);
    kp_ins_brif(b, condition, yes, NULL, 0, no, NULL, 0);
    kp_switch_to_block(b, yes);
    compile_statements(s->body);
    kp_ins_jump(b, after, NULL, 0);
    kp_switch_to_block(b, no);
    compile_statements(s->otherwise);
    kp_ins_jump(b, after, NULL, 0);
    kp_switch_to_block(b, after);
}

static void compile_statement(const statement *s) {
    typed found;
    kp_value value;
    switch (s->kind) {
    case LET:
        kp_set_source_location(b, s->line);
        found = compile_expression(s->value);
        declare(s->name, found.ty, found.value);
        break;
    case ASSIGN:
        compile_assignment(s);
        break;
    case WHILE:
        compile_while(s);
        break;
    case IF:
        compile_if(s);
        break;
    case RETURN:
        kp_set_source_location(b, s->line);
        value = compile_typed(s->value, compiled->result);
        kp_ins_return(b, &value, 1);
        /* Statements after `return` are in an unreachable block. */
        kp_switch_to_block(b, kp_create_block(b));
        break;
    case EXPRESSION:
        compile_expression(s->value);
    }
}

static void compile_statements(const statement *list) {
    local *outer = locals;
    for (; list != NULL; list = list->next) {
        compile_statement(list);
    }
    locals = outer;
}

/* ---- Functions ---- */

/* Compiles the definition of `id`. The function of a closure has the closure itself as its first argument. */
static void compile_function(kp_function id, const function *function, bool is_closure, const field *captured) {
    kp_block entry;
    kp_value closure = {0};
    const field *param;
    uint32_t index = 0;
    must(kp_builder_new(module, id, &b, &failure));
    compiled = function;
    locals = NULL;
    entry = kp_create_block(b);
    kp_append_function_params(b, entry);
    kp_switch_to_block(b, entry);
    kp_set_source_location(b, function->line);
    if (is_closure) {
        closure = kp_block_param(b, entry, index++);
        kp_value_needs_stack_map(b, closure);
    }
    for (; captured != NULL; captured = captured->next) {
        /* Field 0 of a closure is the address of its function. */
        declare(captured->name, captured->ty,
            kp_ins_load(b, KP_OP_LOAD, KP_I64, TRUSTED, closure, field_offset(index++)));
    }
    index = is_closure;
    for (param = function->params; param != NULL; param = param->next) {
        declare(param->name, param->ty, kp_block_param(b, entry, index++));
    }
    compile_statements(function->body);
    /* A function that ends without `return` traps. */
    kp_ins_trap(b, 1);
    kp_seal_all_blocks(b);
    if (kp_builder_finish(b, &failure) != KP_OK) {
        fail(0, "%s: %s", function->name, failure.message);
    }
}

void compile(const program *program, kp_module into) {
    static const struct {
        const char *name;
        size_t params;
        bool has_result;
    } runtime[] = {{"sprig_allocate", 3, true}, {"sprig_print_text", 1, false}, {"sprig_print_number", 1, false}};
    function *function;
    pending *closure;
    size_t i;
    tree = program;
    module = into;
    for (i = 0; i < sizeof runtime / sizeof *runtime; i++) {
        const char *text = signature(runtime[i].params, runtime[i].has_result);
        must(kp_module_declare_function(module, runtime[i].name, KP_IMPORT, text, NULL, &failure));
    }
    for (function = program->functions; function != NULL; function = function->next) {
        char *name = allocate(strlen(function->name) + 7);
        strcat(strcpy(name, "sprig_"), function->name);
        if (kp_module_declare_function(module, name, KP_EXPORT, signature(count_fields(function->params), true),
                &function->id, &failure) != KP_OK) {
            fail(function->line, "%s", failure.message);
        }
    }
    for (function = program->functions; function != NULL; function = function->next) {
        compile_function(function->id, function, false, NULL);
    }
    /* A closure may contain closures, which are added to the list while it is compiled. */
    while ((closure = closures) != NULL) {
        closures = closure->next;
        compile_function(closure->id, closure->function, true, closure->captured);
    }
}
