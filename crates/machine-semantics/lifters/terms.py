"""Terms of booleans, bit-vectors and memories, and their SMT-LIB text.

Each term exists once, so that equal terms are one object. Constructors fold constants, take parts of concatenations, which
registers consist of, and give equal operations on floats one spelling.
"""

BOOL = 0
MEMORY = -1
SORTS = {BOOL: "Bool", MEMORY: "(Array (_ BitVec 64) (_ BitVec 8))"}


class Term:
    """An operation on terms. `width` is in bits, or `BOOL` or `MEMORY`."""

    __slots__ = ("op", "args", "width", "value", "number")
    known = {}

    def __init__(self, op, args, width, value):
        self.op, self.args, self.width, self.value = op, args, width, value
        # Terms that are made later have greater numbers.
        self.number = len(Term.known)


def term(op, args, width, value=None):
    """Returns the term of an operation. `value` is a constant, a name, or the lowest bit of an extraction."""
    key = (op, args, width, value)
    if key not in Term.known:
        Term.known[key] = Term(*key)
    return Term.known[key]


def const(value, width):
    """Returns a number modulo 2^`width`."""
    return term("const", (), width, value % (1 << width))


def boolean(value):
    return term("const", (), BOOL, bool(value))


def var(name, width):
    return term("var", (), width, name)


def ones(width):
    return const(-1, width)


TRUE, FALSE = boolean(True), boolean(False)


def forget():
    """Forgets all terms but `TRUE` and `FALSE`, so that those of many forms do not pile up."""
    Term.known = {("const", (), BOOL, known.value): known for known in (TRUE, FALSE)}


def signed(value, width):
    return value - (1 << width) if value >> (width - 1) else value


def shifted_right(value, by, width):
    return signed(value, width) >> min(by, width)


# Values of operations on constants of equal width, which return a number or a boolean.
FOLDS = {
    "bvadd": lambda a, b, w: a + b,
    "bvsub": lambda a, b, w: a - b,
    "bvmul": lambda a, b, w: a * b,
    "bvand": lambda a, b, w: a & b,
    "bvor": lambda a, b, w: a | b,
    "bvxor": lambda a, b, w: a ^ b,
    "bvshl": lambda a, b, w: a << min(b, w),
    "bvlshr": lambda a, b, w: a >> min(b, w),
    "bvashr": shifted_right,
    "bvult": lambda a, b, w: a < b,
    "bvule": lambda a, b, w: a <= b,
    "bvslt": lambda a, b, w: signed(a, w) < signed(b, w),
    "bvsle": lambda a, b, w: signed(a, w) <= signed(b, w),
}
RELATIONS = ("bvult", "bvule", "bvslt", "bvsle")


def binary(op, a, b):
    """Returns a binary operation of SMT-LIB on bit-vectors of equal width."""
    assert a.width == b.width > 0, (op, a.width, b.width)
    width = BOOL if op in RELATIONS else a.width
    if op in FOLDS and a.op == b.op == "const":
        value = FOLDS[op](a.value, b.value, a.width)
        return boolean(value) if width == BOOL else const(value, width)
    return term(op, (a, b), width)


def unary(op, a):
    """Returns `bvnot` or `bvneg`."""
    if a.op == "const":
        return const(-a.value if op == "bvneg" else ~a.value, a.width)
    return term(op, (a,), a.width)


def eq(a, b):
    assert a.width == b.width, (a.width, b.width)
    if a is b:
        return TRUE
    if a.op == b.op == "const":
        return boolean(a.value == b.value)
    if a.op == "ite" and a.args[1].op == a.args[2].op == b.op == "const":
        condition, then, otherwise = a.args
        return ite(condition, boolean(then is b), boolean(otherwise is b))
    return term("=", (a, b), BOOL)


def no(a):
    if a.op == "const":
        return boolean(not a.value)
    return a.args[0] if a.op == "not" else term("not", (a,), BOOL)


def both(a, b):
    if FALSE in (a, b):
        return FALSE
    if TRUE in (a, b) or a is b:
        return b if a is TRUE else a
    return term("and", (a, b), BOOL)


def either(a, b):
    return no(both(no(a), no(b)))


def ite(condition, then, otherwise):
    assert then.width == otherwise.width, (then.width, otherwise.width)
    if then is otherwise or condition is TRUE:
        return then
    if condition is FALSE:
        return otherwise
    if (then, otherwise) == (TRUE, FALSE):
        return condition
    if (then, otherwise) == (FALSE, TRUE):
        return no(condition)
    return term("ite", (condition, then, otherwise), then.width)


def extract(a, low, width):
    """Returns `width` bits from bit `low` on."""
    assert 0 <= low and low + width <= a.width, (a.width, low, width)
    if width == a.width:
        return a
    if a.op == "const":
        return const(a.value >> low, width)
    if a.op == "extract":
        return extract(a.args[0], a.value + low, width)
    if a.op == "concat":
        high, rest = a.args
        if low >= rest.width:
            return extract(high, low - rest.width, width)
        if low + width <= rest.width:
            return extract(rest, low, width)
        return concat(extract(high, 0, low + width - rest.width), extract(rest, low, rest.width - low))
    return term("extract", (a,), width, low)


def concat(high, low):
    if high.op == low.op == "const":
        return const(high.value << low.width | low.value, high.width + low.width)
    are_parts = high.op == low.op == "extract" and high.args == low.args
    if are_parts and high.value == low.value + low.width:
        return extract(high.args[0], low.value, high.width + low.width)
    return term("concat", (high, low), high.width + low.width)


def zext(a, width):
    return a if a.width == width else concat(const(0, width - a.width), a)


def sext(a, width):
    if a.width == width:
        return a
    if a.op == "const":
        return const(signed(a.value, a.width), width)
    if a.op == "sign_extend":
        return sext(a.args[0], width)
    return term("sign_extend", (a,), width)


def resized(a, width):
    """Returns the low bits, or the number with zeros above."""
    return extract(a, 0, width) if a.width >= width else zext(a, width)


def bit(a, number):
    """Returns a bit as a boolean."""
    return eq(extract(a, number, 1), const(1, 1))


def number(condition, width):
    """Returns 1 or 0."""
    return ite(condition, const(1, width), const(0, width))


def population(a, width):
    """Returns the number of bits that are set."""
    total = const(0, width)
    for at in range(a.width):
        total = binary("bvadd", total, number(bit(a, at), width))
    return total


def leading_zeros(a, width):
    """Returns the number of zeros above the highest bit that is set; the width if there is none."""
    count = const(a.width, width)
    for at in range(a.width):
        count = ite(bit(a, at), const(a.width - 1 - at, width), count)
    return count


def trailing_zeros(a, width):
    count = const(a.width, width)
    for at in reversed(range(a.width)):
        count = ite(bit(a, at), const(at, width), count)
    return count


def floats(name, args, width):
    """Returns an operation on floats: a function without a meaning, in one spelling of several that are equal."""
    if name.startswith("From"):
        return of_integer(name, args[0], width)
    if name == "Convert" and args[0].op == "call" and args[0].args[0].width == 32 and "From" in args[0].value:
        # Integers of 32 bits are exact in 64: only the second rounding rounds.
        return of_integer(args[0].value.split(".")[1], args[0].args[0], width)
    if name == "Fma":
        args = fma_operands(args)
    if name in ("Add", "Mul", "Fma"):
        args = sorted(args[:2], key=lambda arg: arg.number) + list(args[2:])
    return call(name, args, width)


def call(name, args, width):
    return term("call", tuple(args), width, f"fp.{name}.{args[0].width}.{width}")


def of_integer(name, integer, width):
    """Returns an integer as a float. An extended integer is the integer."""
    if integer is const(0, integer.width):
        return const(0, width)
    if integer.op == "concat" and integer.args[0] is const(0, integer.args[0].width):
        return of_integer("FromUnsigned", integer.args[1], width)
    if name == "FromSigned" and integer.op == "sign_extend":
        return of_integer(name, integer.args[0], width)
    return call(name, [integer], width)


def fma_operands(args):
    """Returns the operands of a product and sum, with the sign of the product at the first factor."""
    sign = const(1 << (args[0].width - 1), args[0].width)
    plain, is_negated = [], False
    for factor in args[:2]:
        if factor.op == "bvxor" and sign in factor.args:
            factor = factor.args[0] if factor.args[1] is sign else factor.args[1]
            is_negated = not is_negated
        plain.append(factor)
    plain.sort(key=lambda factor: factor.number)
    if is_negated:
        plain[0] = binary("bvxor", plain[0], sign)
    return [*plain, args[2]]


def is_widened(a):
    """Returns whether a float is another one in more bits, which is the same number."""
    return a.op == "call" and a.value == "fp.Convert.32.64"


def float_relation(op, a, b):
    """Returns `fp.lt`, `fp.leq` or `fp.eq` of the floats with these bits."""
    if is_widened(a) and is_widened(b):
        return float_relation(op, a.args[0], b.args[0])
    return term("float_relation", (a, b), BOOL, op)


def is_nan(a):
    return no(float_relation("fp.eq", a, a))


def rebuilt(root, values):
    """Returns a term with variables replaced by `values`."""
    done = {}
    for node in below([root]):
        args = tuple(done[arg] for arg in node.args)
        if node.op == "var":
            done[node] = values.get(node.value, node)
        elif all(new is old for new, old in zip(args, node.args)):
            done[node] = node
        else:
            done[node] = again(node, args)
    return done[root]


def again(node, args):
    """Returns the operation of a term on other operands."""
    fold = {"=": eq, "not": no, "and": both, "ite": ite, "concat": concat, "sign_extend": lambda a: sext(a, node.width)}
    if node.op in fold:
        return fold[node.op](*args)
    if node.op == "extract":
        return extract(args[0], node.value, node.width)
    return term(node.op, args, node.width, node.value)


def below(roots):
    """Returns all terms below `roots`, operands first."""
    order, seen, work = [], set(), [(root, False) for root in reversed(roots)]
    while work:
        node, is_ready = work.pop()
        if is_ready:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            work.append((node, True))
            work.extend((arg, False) for arg in node.args if arg not in seen)
    return order


def sort(width):
    return SORTS.get(width) or f"(_ BitVec {width})"


FORMATS = {16: "5 11", 32: "8 24", 64: "11 53"}


def text(node, names):
    """Returns the SMT-LIB text of an operation on named terms."""
    args = " ".join(names[arg] for arg in node.args)
    if node.op == "extract":
        return f"((_ extract {node.value + node.width - 1} {node.value}) {args})"
    if node.op == "sign_extend":
        return f"((_ sign_extend {node.width - node.args[0].width}) {args})"
    if node.op == "call":
        return f"({node.value} {args})"
    if node.op == "float_relation":
        parts = [f"((_ to_fp {FORMATS[arg.width]}) {names[arg]})" for arg in node.args]
        return f"({node.value} {' '.join(parts)})"
    return f"({node.op} {args})"


def script(roots):
    """Returns the declarations and definitions of all terms below `roots`, and the names of the roots."""
    names, lines, functions = {}, [], set()
    for index, node in enumerate(below(roots)):
        if node.op == "const":
            names[node] = str(node.value).lower() if node.width == BOOL else f"(_ bv{node.value} {node.width})"
            continue
        names[node] = node.value if node.op == "var" else f"n{index}"
        if node.op == "call" and node.value not in functions:
            functions.add(node.value)
            operands = " ".join(sort(arg.width) for arg in node.args)
            lines.append(f"(declare-fun {node.value} ({operands}) {sort(node.width)})")
        head = f"{names[node]} () {sort(node.width)}"
        lines.append(f"(declare-fun {head})" if node.op == "var" else f"(define-fun {head} {text(node, names)})")
    return lines, [names[root] for root in roots]
