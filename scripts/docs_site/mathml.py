"""LaTeX formulas as MathML, which browsers draw themselves: no script, no font and no picture is needed.

It knows the part of LaTeX that the methods pages use. A command it does not know is an error, so that no formula is shown wrongly.
"""

from __future__ import annotations

import re
from html import escape

LETTERS = """
alpha beta gamma delta varepsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho varsigma sigma tau upsilon varphi chi
psi omega
"""
GREEK = {name: chr(0x3B1 + place) for place, name in enumerate(LETTERS.split())} | {
    "epsilon": "ϵ",
    "phi": "ϕ",
    "ell": "ℓ",
}
CAPITALS = {"Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω"}
OPERATORS = {
    "cdot": "⋅", "times": "×", "pm": "±", "le": "≤", "ge": "≥", "ne": "≠", "approx": "≈", "sim": "∼", "in": "∈", "notin": "∉",
    "to": "→", "infty": "∞", "ldots": "…", "dots": "…", "cdots": "⋯", "cap": "∩", "cup": "∪", "subset": "⊂", "mid": "∣",
    "propto": "∝", "ll": "≪", "gg": "≫", "lvert": "|", "rvert": "|", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉",
    "prime": "′", "top": "⊤", "{": "{", "}": "}", "|": "‖", "lVert": "‖", "rVert": "‖", "#": "#",
}  # fmt: skip
LARGE = {"sum": "∑", "prod": "∏", "int": "∫"}
WORDS = {"log", "ln", "exp", "min", "max", "arg", "sin", "cos", "tanh", "operatorname*", "Pr", "var", "cov"}
ACCENTS = {"bar": "¯", "hat": "^", "tilde": "~", "overline": "¯", "dot": "˙"}
SPACES = {",": ".17em", ";": ".28em", "quad": "1em", "qquad": "2em", " ": ".25em", "!": "0em", ":": ".22em"}
TOKEN = re.compile(r"\\(?:[A-Za-z]+\*?|.)|[0-9]*\.?[0-9]+|[A-Za-z]|\s+|.")


class Formula:
    """One formula, read token by token."""

    def __init__(self, latex: str) -> None:
        self.latex = latex
        self.tokens: list[str] = [token for token in TOKEN.findall(latex) if not token.isspace()]
        self.place = 0

    def peek(self) -> str:
        """The next token, empty at the end."""
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self) -> str:
        """The next token, taken off."""
        if self.place >= len(self.tokens):
            raise ValueError(f"The formula ends too early: {self.latex}")
        self.place += 1
        return self.tokens[self.place - 1]

    def row(self, *ends: str) -> str:
        """Everything up to one of ``ends``, which stays."""
        parts = []
        while self.peek() and self.peek() not in ends:
            parts.append(self.scripted())
        return f"<mrow>{''.join(parts)}</mrow>"

    def group(self) -> str:
        """A group in braces, or a single atom."""
        if self.peek() != "{":
            return self.atom()
        self.take()
        inner = self.row("}")
        self.take()
        return inner

    def raw(self) -> str:
        """The text of a group in braces, spaces included."""
        start = self.latex.index("{", self._offset())
        end = self.latex.index("}", start)
        while self.take() != "}":
            pass
        return self.latex[start + 1 : end]

    def _offset(self) -> int:
        """Where in the source the next token begins."""
        seen = 0
        for match in TOKEN.finditer(self.latex):
            if match[0].isspace():
                continue
            if seen == self.place:
                return match.start()
            seen += 1
        return len(self.latex)

    def scripted(self) -> str:
        """An atom with what stands below and above it."""
        base, under = self.atom_and_limits()
        below = above = ""
        while self.peek() in ("_", "^"):
            if self.take() == "_":
                below = self.group()
            else:
                above = self.group()
        kind = "under over" if under else "sub sup"
        low, high = kind.split()
        if below and above:
            return f"<m{low}{high}>{base}{below}{above}</m{low}{high}>"
        if below or above:
            tag = low if below else high
            return f"<m{tag}>{base}{below or above}</m{tag}>"
        return base

    def atom_and_limits(self) -> tuple[str, bool]:
        """An atom, and whether its scripts stand below and above it."""
        token = self.peek()
        base = self.atom()
        return base, token in {r"\sum", r"\prod", r"\max", r"\min"}

    def atom(self) -> str:
        """One symbol, fraction, root, accent, text, matrix or pair of brackets."""
        token = self.take()
        if token == "{":
            self.place -= 1
            return self.group()
        if not token.startswith("\\"):
            return _plain(token)
        name = token[1:]
        if name in ("frac", "tfrac", "dfrac"):
            return f"<mfrac>{self.group()}{self.group()}</mfrac>"
        if name == "binom":
            top, bottom = self.group(), self.group()
            return f'<mrow><mo>(</mo><mfrac linethickness="0">{top}{bottom}</mfrac><mo>)</mo></mrow>'
        if name == "sqrt":
            return f"<msqrt>{self.group()}</msqrt>"
        if name in ("text", "mathrm", "operatorname"):
            words = escape(self.raw()).replace(" ", " ")
            return f"<mtext>{words}</mtext>" if name == "text" else self.word(words)
        if name in ACCENTS:
            return f'<mover accent="true">{self.group()}<mo stretchy="false">{ACCENTS[name]}</mo></mover>'
        if name == "left":
            return self.brackets()
        if name == "begin":
            return self.cases()
        if name in SPACES:
            return f'<mspace width="{SPACES[name]}"></mspace>'
        if name in LARGE:
            return f'<mo largeop="true">{LARGE[name]}</mo>'
        if name in WORDS:
            return self.word(name)
        if name in GREEK:
            return f"<mi>{GREEK[name]}</mi>"
        if name in CAPITALS:
            return f'<mi mathvariant="normal">{CAPITALS[name]}</mi>'
        if name in OPERATORS:
            return f'<mo stretchy="false">{escape(OPERATORS[name])}</mo>'
        raise ValueError(f"unknown command '{token}' in the formula {self.latex}")

    def word(self, name: str) -> str:
        """The name of a function, with a small space before what it is applied to."""
        element = f'<mi mathvariant="normal">{name}</mi>'
        if self.peek() in ("", "(", ")", "_", "^", "[", r"\left", r"\,"):
            return element
        return f'<mrow>{element}<mspace width=".17em"></mspace></mrow>'

    def brackets(self) -> str:
        """What stands between a left and a right bracket, which grow with it."""
        left = self._bracket()
        inner = self.row(r"\right")
        self.take()
        return f"<mrow>{left}{inner}{self._bracket()}</mrow>"

    def _bracket(self) -> str:
        token = self.take()
        sign = "" if token == "." else OPERATORS.get(token.lstrip("\\"), token)
        return f'<mo stretchy="true">{escape(sign)}</mo>' if sign else ""

    def cases(self) -> str:
        """Rows of alternatives behind a brace."""
        kind = self.raw()
        rows, cells = [], []
        while True:
            cells.append(f"<mtd>{self.row('&', chr(92) * 2, chr(92) + 'end')}</mtd>")
            end = self.take()
            if end == "&":
                continue
            rows.append(f"<mtr>{''.join(cells)}</mtr>")
            cells = []
            if end == r"\end":
                self.raw()
                break
        brace = '<mo stretchy="true">{</mo>' if kind == "cases" else ""
        style = ' class="left"' if kind == "cases" else ""
        return f"<mrow>{brace}<mtable{style}>{''.join(rows)}</mtable></mrow>"


def _plain(token: str) -> str:
    if token[0].isdigit() or (token[0] == "." and len(token) > 1):
        return f"<mn>{token}</mn>"
    if token.isalpha():
        return f"<mi>{token}</mi>"
    if token == "'":
        return "<mo>′</mo>"
    sign = {"-": "−", "*": "∗"}.get(token, token)
    stretch = ' stretchy="false"' if sign in "()[]|" else ""
    return f"<mo{stretch}>{escape(sign)}</mo>"


def mathml(latex: str, block: bool = False) -> str:
    """A LaTeX formula as a ``math`` element, with the source as its annotation."""
    source = " ".join(latex.split())
    formula = Formula(source)
    inner = formula.row()
    display = ' display="block"' if block else ""
    note = f'<annotation encoding="application/x-tex">{escape(source)}</annotation>'
    return f"<math{display}><semantics>{inner}{note}</semantics></math>"
