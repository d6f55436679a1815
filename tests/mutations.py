"""What a mutant is: one small change to the source of a module, found by its syntax tree, made in its text.

`Finder(module, source).found` holds all mutants of a module; `tests/mutants.py` runs them.
"""

import ast
import re
from collections import Counter
from dataclasses import dataclass

SYMBOLS = {
    ast.Lt: ("lt", "<"), ast.LtE: ("le", "<="), ast.Gt: ("gt", ">"), ast.GtE: ("ge", ">="), ast.Eq: ("eq", "=="),
    ast.NotEq: ("ne", "!="), ast.Is: ("is", "is"), ast.IsNot: ("isnot", "is not"), ast.In: ("in", "in"),
    ast.NotIn: ("notin", "not in"), ast.Add: ("add", "+"), ast.Sub: ("sub", "-"), ast.Mult: ("mul", "*"),
    ast.Div: ("div", "/"), ast.FloorDiv: ("floordiv", "//"), ast.Mod: ("mod", "%"), ast.BitAnd: ("bitand", "&"),
    ast.BitOr: ("bitor", "|"), ast.And: ("and", "and"), ast.Or: ("or", "or"),
}  # fmt: skip
BOTH_WAYS = [
    (ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn),
    (ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.And, ast.Or),
]  # fmt: skip
# One way: `|` also joins types.
OPERATORS = {ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr}
OPERATORS |= dict(BOTH_WAYS) | {new: old for old, new in BOTH_WAYS}
EXTREMES = {"min": "max", "minimum": "maximum", "argmin": "argmax", "fmin": "fmax", "nanmin": "nanmax"}
EXTREMES |= {new: old for old, new in EXTREMES.items()}
UNARY = {ast.Not: ("not", "not"), ast.USub: ("minus", "-"), ast.Invert: ("invert", "~")}
SILENT = re.compile(
    r".*Error|warn|warning|debug|info|exception|critical|print|getLogger|progress|report|n?jit|dataclass|lru_cache"
)


@dataclass(frozen=True)
class Mutant:
    """One change: the bytes from start to end of a module become others."""

    module: str
    line: int
    column: int
    kind: str
    start: int
    end: int
    text: bytes
    inside: bool  # of a function, so that no constant of the module changes

    @property
    def id(self):
        return f"{self.module}:{self.line}:{self.column}:{self.kind}"

    def apply(self, source):
        return source[: self.start] + self.text + source[self.end :]

    def change(self, source):
        """The line before and after, as in a diff; a statement of several lines on one."""
        begin, end = source.rfind(b"\n", 0, self.start) + 1, source.find(b"\n", self.end)
        end = len(source) if end < 0 else end
        before, after = source[begin:end], source[begin : self.start] + self.text + source[self.end : end]
        return tuple(" ".join(text.decode().split()) for text in (before, after))


class Finder(ast.NodeVisitor):
    """All mutants of one module."""

    def __init__(self, module, source):
        self.module, self.source, self.found = module, source, []
        self.lines = [0, *(match.end() for match in re.finditer(rb"\n", source))]
        self.bound = []  # of every function that we are in: how often each name is bound
        self.visit(ast.parse(source))
        self.found.sort(key=lambda mutant: (mutant.start, mutant.kind))

    def at(self, node, end=False):
        """Offset of a node's first byte, or of the one after its last."""
        line, column = (node.end_lineno, node.end_col_offset) if end else (node.lineno, node.col_offset)
        return self.lines[line - 1] + column

    def add(self, kind, start, end, text):
        line = self.source.count(b"\n", 0, start)
        column = start - self.lines[line] + 1
        self.found.append(Mutant(self.module, line + 1, column, kind, start, end, text.encode(), bool(self.bound)))

    def add_operator(self, op, left, right, suffix=""):
        """Swap the operator that stands between two operands."""
        if type(op) not in OPERATORS:
            return
        (old, symbol), (new, text) = SYMBOLS[type(op)], SYMBOLS[OPERATORS[type(op)]]
        begin = self.at(left, end=True)
        between = re.sub(rb"#[^\n]*", lambda comment: b" " * len(comment[0]), self.source[begin : self.at(right)])
        match = re.search(re.escape(symbol + suffix).replace(r"\ ", r"\s+").encode(), between)
        self.add(f"{old}->{new}", begin + match.start(), begin + match.end(), text + suffix)

    def visit_all(self, nodes):
        for node in nodes:
            if node is not None:
                self.visit(node)

    def visit_JoinedStr(self, node): ...
    def visit_Raise(self, node): ...

    def visit_Assert(self, node):
        self.visit(node.test)

    def visit_If(self, node):
        if ast.unparse(node.test) not in ("TYPE_CHECKING", "__name__ == '__main__'"):
            self.generic_visit(node)

    def visit_ClassDef(self, node):
        self.visit_all(node.body)

    def visit_FunctionDef(self, node):
        if node.name in ("__repr__", "__str__"):
            return
        self.visit_all([*node.args.defaults, *node.args.kw_defaults])
        names = [part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]
        names += [part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)]
        self.bound.append(Counter(names))
        self.visit_all(node.body)
        self.bound.pop()

    def visit_AnnAssign(self, node):
        self.visit_all([node.target, node.value])

    def visit_Assign(self, node):
        if not self.bound and any(isinstance(t, ast.Name) and t.id.endswith("AT_ONCE") for t in node.targets):
            return
        targets = [part for target in node.targets for part in getattr(target, "elts", [target])]
        # Without the first binding of a name any test fails: not worth a run.
        if self.bound and all(self.bound[-1][t.id] > 1 for t in targets if isinstance(t, ast.Name)):
            self.drop(node)
        self.generic_visit(node)

    def visit_AugAssign(self, node):
        if self.bound:
            self.drop(node)
        self.add_operator(node.op, node.target, node.value, "=")
        self.generic_visit(node)

    def visit_Expr(self, node):
        if self.bound and isinstance(node.value, ast.Call) and not _silent(node.value):
            self.drop(node)
        self.generic_visit(node)

    def drop(self, node):
        self.add("drop-statement", self.at(node), self.at(node, end=True), "pass")

    def visit_Call(self, node):
        if _silent(node):
            return
        name = _name(node.func)
        if name in EXTREMES:
            end = self.at(node.func, end=True)
            self.add(f"{name}->{EXTREMES[name]}", end - len(name), end, EXTREMES[name])
        free = [a for a in node.args if name == "reshape" and ast.unparse(a) == "-1"]  # any negative size is worked out
        words = [k.value for k in node.keywords if k.arg not in ("indent", "strict")]
        self.visit_all([node.func, *(a for a in node.args if a not in free), *words])
        for minus in free:
            self.add("drop-minus", self.at(minus), self.at(minus) + 1, "")

    def visit_Compare(self, node):
        operands = [node.left, *node.comparators]
        for op, left, right in zip(node.ops, operands, operands[1:], strict=False):
            self.add_operator(op, left, right)
        self.generic_visit(node)

    def visit_BoolOp(self, node):
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.add_operator(node.op, left, right)
        self.generic_visit(node)

    def visit_BinOp(self, node):
        # Text and sequences know + and * only: any other operator is an error, whatever the tests.
        if not any(_sequence(side) for side in (node.left, node.right)):
            self.add_operator(node.op, node.left, node.right)
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        if type(node.op) in UNARY:
            name, symbol = UNARY[type(node.op)]
            self.add(f"drop-{name}", self.at(node), self.at(node) + len(symbol), "")
        self.generic_visit(node)

    def visit_Constant(self, node):
        if type(node.value) is bool:
            new = not node.value
        elif type(node.value) is int:
            new = node.value + 1
        elif type(node.value) is float:
            new = float(f"{1.1 * node.value:.6g}") if node.value else 1.0
        else:
            return
        self.add(f"{node.value}->{new}", self.at(node), self.at(node, end=True), repr(new))


def _name(function):
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _silent(call):
    """Whether a call reports, compiles, caches or builds an error: what it is given is not behaviour."""
    return SILENT.fullmatch(_name(call.func)) is not None


def _sequence(node):
    text = isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    return text or isinstance(node, ast.JoinedStr | ast.List | ast.ListComp | ast.Tuple)
