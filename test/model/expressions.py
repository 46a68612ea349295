"""Expressions over rows: each knows its type, its SQL text and its value (three-valued logic, ANSI arithmetic).

`env` maps a relation alias ("t", "s") to a dict of column name to value.
"""
import re

from values import (BIGINT, BOOLEAN, DATE, DECIMALS, DOUBLE, FLOATS, INT, INTEGERS, LIMITS, STRING, SqlError, can_store, ddl, fits, is_nested, literal,
                    order_key, random_value)


def quoted(name):
    return name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) and name not in ("from", "to", "order", "group", "where", "select", "table") else "`" + name.replace("`", "``") + "`"


class Literal:
    def __init__(self, value, type_):
        self.value, self.type = value, type_

    def sql(self):
        return literal(self.value, self.type)

    def eval(self, env):
        return self.value


class Column:
    def __init__(self, alias, name, type_):
        self.alias, self.name, self.type = alias, name, type_

    def sql(self):
        return f"{self.alias}.{quoted(self.name)}"

    def eval(self, env):
        return env[self.alias][self.name]


class Field:
    """A field of a struct."""

    def __init__(self, base, index):
        self.base, self.index = base, index
        self.name, self.type = base.type[1][index]

    def sql(self):
        return f"{self.base.sql()}.{quoted(self.name)}"

    def eval(self, env):
        v = self.base.eval(env)
        return None if v is None else v[self.index]


class Call:
    """Anything with a template and a function over the argument values."""

    def __init__(self, type_, template, args, function, strict=True):
        self.type, self.template, self.args, self.function, self.strict = type_, template, args, function, strict

    def sql(self):
        return self.template.format(*[a.sql() for a in self.args])

    def eval(self, env):
        values = [a.eval(env) for a in self.args]
        if self.strict and any(v is None for v in values):
            return None
        return self.function(*values)


class Lazy:
    """CASE-like: only the branch that is taken is evaluated."""

    def __init__(self, type_, condition, yes, no):
        self.type, self.condition, self.yes, self.no = type_, condition, yes, no

    def sql(self):
        return f"if({self.condition.sql()}, {self.yes.sql()}, {self.no.sql()})"

    def eval(self, env):
        return (self.yes if self.condition.eval(env) else self.no).eval(env)


class Logic:
    def __init__(self, word, args):
        self.word, self.args, self.type = word, args, BOOLEAN

    def sql(self):
        return "(NOT " + self.args[0].sql() + ")" if self.word == "NOT" else "(" + f" {self.word} ".join(a.sql() for a in self.args) + ")"

    def eval(self, env):
        values = [a.eval(env) for a in self.args]
        if self.word == "NOT":
            return None if values[0] is None else not values[0]
        decisive = self.word == "OR"
        return decisive if decisive in values else None if None in values else not decisive


COMPARE = {
    "=": lambda a, b: a == b, "<>": lambda a, b: a != b, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}


def compare(op, a, b):
    if op == "<=>":
        return Call(BOOLEAN, "({0} <=> {1})", [a, b], lambda x, y: order_key(x) == order_key(y), strict=False)
    return Call(BOOLEAN, "({0} " + op + " {1})", [a, b], lambda x, y: COMPARE[op](order_key(x), order_key(y)))


def is_null(a, negated=False):
    return Call(BOOLEAN, "({0} IS " + ("NOT " if negated else "") + "NULL)", [a], lambda x: (x is None) != negated, strict=False)


def in_list(a, items, negated=False):
    def function(x, *values):
        if x is None:
            return None
        hit = any(v is not None and order_key(v) == order_key(x) for v in values)
        out = True if hit else None if None in values else False
        return out if out is None else out != negated
    holes = ", ".join("{%d}" % (i + 1) for i in range(len(items)))
    return Call(BOOLEAN, "({0} " + ("NOT " if negated else "") + "IN (" + holes + "))", [a] + items, function, strict=False)


def cast_text(text, type_):
    """CAST(text AS INT or BIGINT), for the texts of this model: plain digits or nothing like it."""
    try:
        return fits(int(text), type_)
    except ValueError:
        raise SqlError("VALUE")


def is_float(t):
    return t in FLOATS


def random_comparison(rng, columns, pushed):
    """One atom over the columns. `pushed`: it may become a filter of the scan, where Iceberg itself loses -0.0 = 0.0 and NaN > x."""
    a = rng.choice(columns)
    if a.type[0] == "struct" and rng.random() < 0.5:
        a = Field(a, rng.randrange(len(a.type[1])))
    if is_nested(a.type) or rng.random() < 0.15:
        return is_null(a, rng.random() < 0.5)
    if a.type == BOOLEAN and rng.random() < 0.4:
        return a
    make = lambda nulls=0.03: Literal(random_value(rng, a.type, nulls), a.type)
    if is_float(a.type) and pushed:
        value = rng.choice([1.5, -2.25, 3.0, 7.0])
        return compare(rng.choice(["=", "<", "<="]), a, Literal(value, a.type))
    same = [c for c in columns if c.type == a.type and c is not a]
    r = rng.random()
    if same and r < 0.15:
        return compare(rng.choice(["=", "<>", "<", "<=", ">", ">=", "<=>"]), a, rng.choice(same))
    if r < 0.3:
        return in_list(a, [make(0.1) for _ in range(rng.randint(1, 4))], rng.random() < 0.3)
    if r < 0.38 and a.type == STRING:
        prefix = rng.choice(["a", "a common", "ä", "z", "漢", "\U0010ffff"])
        return Call(BOOLEAN, "({0} LIKE '" + prefix + "%')", [a], lambda x: x.startswith(prefix))
    if r < 0.42:
        low, high = sorted((random_value(rng, a.type, 0) for _ in range(2)), key=order_key)
        return Logic("AND", [compare(">=", a, Literal(low, a.type)), compare("<=", a, Literal(high, a.type))])
    return compare(rng.choice(["=", "=", "<>", "<", "<=", ">", ">=", "<=>"]), a, make())


def random_predicate(rng, columns, pushed=False, depth=2):
    r = rng.random()
    if depth > 0 and r < 0.35:
        return Logic(rng.choice(["AND", "OR"]), [random_predicate(rng, columns, pushed, depth - 1) for _ in range(2)])
    if depth > 0 and r < 0.45:
        inner = random_predicate(rng, columns, pushed, depth - 1)
        has_float = any(is_float(c.type) for c in columns)
        return inner if pushed and has_float else Logic("NOT", [inner])
    if r < 0.48:
        return Literal(rng.choice([True, False]), BOOLEAN)
    return random_comparison(rng, columns, pushed)


def failing_condition(rng, columns):
    """CAST(text AS BIGINT) > 5, which fails for some rows. Only as a whole condition: inside AND and OR the order of evaluation is free."""
    texts = [c for c in columns if c.type == STRING]
    return compare(">", Call(BIGINT, "CAST({0} AS BIGINT)", [rng.choice(texts)], lambda x: cast_text(x, BIGINT)), Literal(5, BIGINT)) if texts else None


def add(a, n):
    """a + n of an integer or decimal column."""
    if a.type in INTEGERS:
        return Call(a.type, "({0} + {1})", [a, Literal(n, INT)], lambda x, y: fits(x + y, a.type))
    _, p, s = a.type
    wide = ("decimal", min(38, max(p - s, 10) + s + 1), s)
    return Call(wide, "({0} + {1})", [a, Literal(n, INT)], lambda x, y: x + y)


def random_expression(rng, columns, type_, depth=1):
    """A value that can be stored in a column of the type; columns of any type that fits."""
    r = rng.random()
    same = [c for c in columns if c.type == type_]
    fitting = [c for c in columns if can_store(c.type, type_) and not (type_ == STRING and (c.type in FLOATS or c.type[0] == "binary"))]
    if depth > 0 and r < 0.12 and columns:
        return Lazy(type_, random_predicate(rng, columns, depth=1), *[exact(rng, columns, type_) for _ in range(2)])
    if r < 0.2 and same and not is_nested(type_):
        return Call(type_, "coalesce({0}, {1})", [rng.choice(same), exact(rng, columns, type_)], lambda x, y: y if x is None else x, strict=False)
    if r < 0.35 and same and (type_ in INTEGERS or type_[0] == "decimal" and type_[1] <= 20):
        return add(rng.choice(same), rng.randint(0, 3))
    if r < 0.35 and same and type_ == STRING:
        suffix = rng.choice(["!", "é", ""])
        return Call(STRING, "concat({0}, '" + suffix + "')", [rng.choice(same)], lambda x: x + suffix)
    if r < 0.7 and fitting:
        return rng.choice(fitting)
    return exact(rng, columns, type_)


def exact(rng, columns, type_):
    same = [c for c in columns if c.type == type_]
    if same and rng.random() < 0.5:
        return rng.choice(same)
    return Literal(random_value(rng, type_), type_)
