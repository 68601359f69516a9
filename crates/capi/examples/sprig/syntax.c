/* Parses text into a syntax tree. The grammar is in `syntax.rs` of the front end in Rust. */
#include "sprig.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Maximum nesting of expressions and blocks, because the parser and the compiler recurse on it. */
enum { MAX_DEPTH = 100 };

/* A word. A string keeps its opening quotation mark. */
typedef struct {
    const char *text;
    unsigned line;
} word;

static word *words;
static size_t count, at;
static int depth;
/* Names that functions mention, in the order of the text. The names of one function are neighbors. */
static const char **mentioned;
static size_t mentions;

static expression *parse_expression(void);
static statement *parse_block(void);
static type *parse_type(void);

/* ---- Words ---- */

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

static const char *copy(const char *text, size_t length) {
    char *copied = allocate(length + 1);
    return memcpy(copied, text, length);
}

/* Returns the number of bytes of the word at `text`, in a line that ends at `end`. */
static size_t length_of_word(const char *text, const char *end, unsigned line) {
    const char *last = text + 1;
    if (*text == '"') {
        last = memchr(text + 1, '"', (size_t)(end - text - 1));
        if (last == NULL) {
            fail(line, "no closing `\"`");
        }
    } else if (is_word(*text)) {
        while (last < end && is_word(*last)) {
            last++;
        }
    } else if (*text == '=' && last < end && *last == '=') {
        last++;
    } else {
        /* The bytes of a character beyond ASCII. */
        while (last < end && ((unsigned char)*last & 0xc0) == 0x80) {
            last++;
        }
    }
    return (size_t)(last - text);
}

static void add_words(const char *text, const char *end, unsigned line) {
    const char *p = text;
    size_t length;
    while (p + 1 < end && !(p[0] == '/' && p[1] == '/')) {
        p++;
    }
    end = p + 1 < end ? p : end;
    for (p = text; p < end; p += length) {
        length = 1;
        if (isspace((unsigned char)*p)) {
            continue;
        }
        length = length_of_word(p, end, line);
        words[count].text = copy(p, length);
        words[count++].line = line;
        length += *p == '"';
    }
}

static void split(const char *text) {
    unsigned line;
    /* A word has at least one character. */
    words = allocate((strlen(text) + 1) * sizeof *words);
    mentioned = allocate((strlen(text) + 1) * sizeof *mentioned);
    for (line = 1; *text != 0; line++) {
        size_t length = strcspn(text, "\n");
        add_words(text, text + length, line);
        text += length + (text[length] != 0);
    }
}

/* ---- The next word ---- */

static const char *peek(void) {
    return at < count ? words[at].text : "";
}

static unsigned line_of_next(void) {
    return at < count ? words[at].line : count > 0 ? words[count - 1].line : 1;
}

static const char *next(void) {
    const char *word = peek();
    at++;
    return word;
}

static bool take(const char *word) {
    bool is_next = strcmp(peek(), word) == 0;
    at += is_next;
    return is_next;
}

static void unexpected(const char *expected) {
    fail(line_of_next(), "expected %s, found `%s`", expected, peek());
}

static void expect(const char *word) {
    char quoted[16] = "`";
    if (!take(word)) {
        strcat(strcat(quoted, word), "`");
        unexpected(quoted);
    }
}

/* Parses a name whose first letter is upper-case or lower-case. */
static const char *parse_name(bool upper) {
    unsigned char first = (unsigned char)*peek();
    if (!(upper ? isupper(first) : islower(first))) {
        unexpected("a name");
    }
    return next();
}

static void deeper(void) {
    if (depth == MAX_DEPTH) {
        unexpected("less nesting");
    }
    depth++;
}

/* Returns whether an element of a list is next; `first` is the first word after the opening one. */
static bool more(const char *close, size_t first) {
    if (take(close)) {
        return false;
    }
    if (at != first) {
        expect(",");
    }
    return true;
}

/* ---- Types and functions ---- */

static field *parse_fields(const char *open, const char *close) {
    field *list = NULL, **end = &list;
    size_t first;
    expect(open);
    for (first = at; more(close, first); end = &(*end)->next) {
        *end = allocate(sizeof **end);
        (*end)->name = parse_name(false);
        expect(":");
        (*end)->ty = parse_type();
    }
    return list;
}

static type *parse_type(void) {
    type *ty = allocate(sizeof *ty), *list = NULL, **end = &list;
    size_t first;
    deeper();
    if (take("int")) {
        ty->kind = TYPE_INT;
    } else if (take("str")) {
        ty->kind = TYPE_STR;
    } else if (take("fn")) {
        ty->kind = TYPE_FN;
        expect("(");
        for (first = at; more(")", first); end = &(*end)->next) {
            *end = parse_type();
        }
        ty->params = list;
        ty->result = parse_type();
    } else {
        ty->kind = TYPE_STRUCT;
        ty->name = parse_name(true);
    }
    depth--;
    return ty;
}

/* Parses a function after its name. */
static function *parse_function(unsigned line, const char *name) {
    function *parsed = allocate(sizeof *parsed);
    parsed->line = line;
    parsed->name = name;
    parsed->mentioned = mentioned + mentions;
    parsed->params = parse_fields("(", ")");
    parsed->result = parse_type();
    parsed->body = parse_block();
    parsed->mentions = (size_t)(mentioned + mentions - parsed->mentioned);
    return parsed;
}

/* ---- Statements ---- */

static statement *parse_statement(void) {
    statement *parsed = allocate(sizeof *parsed);
    parsed->line = line_of_next();
    if (take("while")) {
        parsed->kind = WHILE;
        parsed->value = parse_expression();
        parsed->body = parse_block();
        return parsed;
    }
    if (take("if")) {
        parsed->kind = IF;
        parsed->value = parse_expression();
        parsed->body = parse_block();
        parsed->otherwise = take("else") ? parse_block() : NULL;
        return parsed;
    }
    if (take("let")) {
        parsed->kind = LET;
        parsed->name = parse_name(false);
        expect("=");
        parsed->value = parse_expression();
    } else if (take("return")) {
        parsed->kind = RETURN;
        parsed->value = parse_expression();
    } else {
        parsed->kind = EXPRESSION;
        parsed->value = parse_expression();
        if (take("=")) {
            parsed->kind = ASSIGN;
            parsed->to = parsed->value;
            parsed->value = parse_expression();
        }
    }
    expect(";");
    return parsed;
}

static statement *parse_block(void) {
    statement *list = NULL, **end = &list;
    deeper();
    expect("{");
    for (; !take("}"); end = &(*end)->next) {
        *end = parse_statement();
    }
    depth--;
    return list;
}

/* ---- Expressions ---- */

static expression *new_expression(expression_kind kind, unsigned line) {
    expression *created = allocate(sizeof *created);
    created->kind = kind;
    created->line = line;
    return created;
}

static expression *parse_list(const char *open, const char *close) {
    expression *list = NULL, **end = &list;
    size_t first;
    expect(open);
    for (first = at; more(close, first); end = &(*end)->next) {
        *end = parse_expression();
    }
    return list;
}

static expression *parse_number(unsigned line) {
    expression *number = new_expression(INT, line);
    const char *digits = next();
    char *end;
    errno = 0;
    number->number = strtoll(digits, &end, 10);
    if (*end != 0 || errno != 0) {
        unexpected("a number below 2^63");
    }
    return number;
}

static expression *parse_atom(void) {
    unsigned line = line_of_next();
    unsigned char first = (unsigned char)*peek();
    expression *atom;
    if (take("(")) {
        atom = parse_expression();
        expect(")");
    } else if (first == '"') {
        atom = new_expression(STR, line);
        atom->text = next() + 1;
    } else if (isdigit(first)) {
        atom = parse_number(line);
    } else if (isupper(first)) {
        atom = new_expression(NEW, line);
        atom->text = parse_name(true);
        atom->list = parse_list("{", "}");
    } else if (take("fn")) {
        atom = new_expression(CLOSURE, line);
        atom->closure = parse_function(line, "closure");
    } else {
        atom = new_expression(NAME, line);
        atom->text = parse_name(false);
        mentioned[mentions++] = atom->text;
    }
    return atom;
}

static expression *parse_postfix(void) {
    expression *left = parse_atom();
    for (;;) {
        expression *around = new_expression(FIELD, line_of_next());
        around->left = left;
        if (take(".")) {
            around->text = parse_name(false);
        } else if (strcmp(peek(), "(") == 0) {
            around->kind = CALL;
            around->list = parse_list("(", ")");
        } else {
            return left;
        }
        left = around;
    }
}

/* Returns the first character of an operator if one of the two is next, otherwise 0. */
static char take_operator(const char *one, const char *other) {
    return take(one) ? *one : take(other) ? *other : 0;
}

static expression *binary(char operator, expression *left, expression *right) {
    expression *created = new_expression(BINARY, left->line);
    created->operator = operator;
    created->left = left;
    created->right = right;
    return created;
}

static expression *parse_product(void) {
    expression *left = parse_postfix();
    char operator;
    while ((operator = take_operator("*", "/")) != 0) {
        left = binary(operator, left, parse_postfix());
    }
    return left;
}

static expression *parse_sum(void) {
    expression *left = parse_product();
    char operator;
    while ((operator = take_operator("+", "-")) != 0) {
        left = binary(operator, left, parse_product());
    }
    return left;
}

static expression *parse_expression(void) {
    expression *left;
    char operator;
    deeper();
    left = parse_sum();
    operator = take_operator("<", "==");
    if (operator != 0) {
        left = binary(operator, left, parse_sum());
    }
    depth--;
    return left;
}

/* ---- The program ---- */

program parse(const char *text) {
    program parsed = {NULL, NULL};
    structure **structures = &parsed.structures;
    function **functions = &parsed.functions;
    split(text);
    while (at < count) {
        if (take("struct")) {
            *structures = allocate(sizeof **structures);
            (*structures)->name = parse_name(true);
            (*structures)->fields = parse_fields("{", "}");
            structures = &(*structures)->next;
        } else {
            unsigned line = line_of_next();
            expect("fn");
            *functions = parse_function(line, parse_name(false));
            functions = &(*functions)->next;
        }
    }
    return parsed;
}
