"""Formulas as MathML, which browsers draw by themselves: no script, no font, nothing from elsewhere."""

from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util.math import get_node_equation_number


def _inline(translator, node):
    translator.body.append(tex2mathml(node.astext()))
    raise _skip()


def _block(translator, node):
    number = get_node_equation_number(translator, node) if node.get("number") else None
    translator.body.append(translator.starttag(node, "div", CLASS="formula"))
    if number:
        translator.body.append(f'<span class="eqno">({number})</span>')
    translator.body.append(tex2mathml(node.astext(), as_block=True) + "</div>\n")
    raise _skip()


def _skip():
    from docutils.nodes import SkipNode

    return SkipNode()


def setup(app):
    """Sphinx calls this."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
