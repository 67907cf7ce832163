"""Mathematics in pages: $…$ within a line and $$…$$ on lines of its own, as MathML that browsers draw without scripts."""

from __future__ import annotations

import re

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

INLINE = re.compile(r"\$(?![\s$])((?:[^$\\\n]|\\.|\n(?!\n))+?)(?<!\s)\$(?!\d)")
"""As where the pages are read as Markdown: no blank inside the dollars, no digit behind them."""


def with_mathematics(reader: MarkdownIt) -> MarkdownIt:
    """The reader, which now knows formulas.

    >>> reader = with_mathematics(MarkdownIt("commonmark"))
    >>> "<msub><mi>X</mi><mi>i</mi></msub>" in reader.render("Each $X_i$ costs $ 5 and `$HOME`.")
    True
    >>> "<mo" in reader.render(r"of $\\{t \\ge 0\\}$ alone")
    True
    >>> reader.render("costs $ 5 and `$HOME$`")
    '<p>costs $ 5 and <code>$HOME$</code></p>\\n'
    """
    reader.inline.ruler.before("escape", "formula", _inline)
    reader.block.ruler.before("fence", "formulas", _block, {"alt": ["paragraph"]})
    reader.add_render_rule("formula", _drawn("inline"))
    reader.add_render_rule("formulas", _drawn("block"))
    return reader


def _inline(state: StateInline, silent: bool) -> bool:
    found = INLINE.match(state.src, state.pos)
    if not found:
        return False
    if not silent:
        state.push("formula", "", 0).content = found[1]
    state.pos = found.end()
    return True


def _block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    def line(number: int) -> str:
        return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]

    if line(first).strip() != "$$":
        return False
    end = next((number for number in range(first + 1, last) if line(number).strip() == "$$"), None)
    if end is None:
        return False
    if not silent:
        state.push("formulas", "", 0).content = "\n".join(map(line, range(first + 1, end)))
        state.line = end + 1
    return True


def _drawn(display: str):
    def rule(_: RendererProtocol, tokens, place, options, env) -> str:
        formula = convert(tokens[place].content, display=display)
        return f'<div class="formula" tabindex="0">{formula}</div>\n' if display == "block" else formula

    return rule
