"""Drawings in SVG that are readable on light and dark backgrounds. tools/figures.py uses it.

A drawing has its own background, so it is readable where a page and the system differ in their scheme. Widths of text are those of
DejaVu Sans, the widest of the usual fonts: text that fits with it fits with the others.
"""
import html

# name: (fill, line) on a light background, (fill, line) on a dark one.
COLOURS = {
    "grey": (("#eaedf1", "#59636e"), ("#2b323b", "#9da7b3")),
    "blue": (("#d3e5ff", "#0b5cad"), ("#1b3a61", "#79b8ff")),
    "orange": (("#ffe2bf", "#b35900"), ("#633d0e", "#ffb366")),
    "green": (("#cfedd3", "#1a7f37"), ("#1c4a29", "#5fd77a")),
    "red": (("#ffd6d3", "#cf222e"), ("#6b2320", "#ff8a80")),
    "purple": (("#e5dafb", "#7a43c9"), ("#432f68", "#c9a4ff")),
    "teal": (("#c6ece9", "#0a7d78"), ("#144b48", "#53d6ca")),
    "yellow": (("#fbf1b8", "#8a6d00"), ("#54460c", "#e6c94a")),
    "pink": (("#fbd7ea", "#bf3989"), ("#5e2347", "#ff93cc")),
}
# background, text, secondary text, lines of a grid
INK = (("#ffffff", "#1f2328", "#57606a", "#d0d7de"), ("#0d1117", "#e6edf3", "#a8b2bd", "#343b44"))


def style():
    """The classes: f-NAME a filled shape, l-NAME a line, d-NAME a solid mark, t-NAME text of that colour."""
    def rules(dark):
        back, text, second, grid = INK[dark]
        made = [f".back{{fill:{back}}}", f"text{{fill:{text}}}", f".second{{fill:{second}}}", f".grid{{stroke:{grid};fill:none}}"]
        for name, schemes in COLOURS.items():
            fill, line = schemes[dark]
            made.append(f".f-{name}{{fill:{fill};stroke:{line}}}.l-{name}{{fill:none;stroke:{line}}}"
                        f".d-{name}{{fill:{line};stroke:none}}.t-{name}{{fill:{line}}}")
        return "".join(made)
    return f"<style>{rules(0)}\n@media (prefers-color-scheme: dark){{{rules(1)}}}</style>"


def width_of(text, size=12, bold=False):
    narrow = sum(c in "iljtfrI.,:;'|()[] " for c in text)
    wide = sum(c in "mwMW@%" for c in text)
    return size * ((len(text) - narrow - wide) * 0.62 + narrow * 0.38 + wide * 0.95) * (1.1 if bold else 1)


class Drawing:
    def __init__(self, width, height, title):
        self.width, self.height, self.title, self.items, self.heads = width, height, title, [], set()

    def add(self, item):
        self.items.append(item)

    def text(self, x, y, text, anchor="start", size=12, kind="", bold=False, mono=False):
        """`kind`: "second", or t-COLOUR. Text between backquotes is not treated; give mono for code."""
        extra = (f' class="{kind}"' if kind else "") + (' font-weight="bold"' if bold else "") + (' font-family="monospace"' if mono else "")
        place = f' text-anchor="{anchor}"' if anchor != "start" else ""
        self.add(f'<text x="{x:g}" y="{y:g}" font-size="{size}"{place}{extra}>{html.escape(text, quote=False)}</text>')

    def rect(self, x, y, width, height, kind, radius=0, extra=""):
        round_ = f' rx="{radius}"' if radius else ""
        self.add(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" class="{kind}"{round_}{extra}/>')

    def box(self, x, y, width, height, lines, colour="grey", size=12, radius=5, dashed=False):
        """A box with lines of text in its middle, the first one bold if there are several."""
        lines = [lines] if isinstance(lines, str) else lines
        self.rect(x, y, width, height, f"f-{colour}", radius, ' stroke-dasharray="4 3"' if dashed else "")
        for place, line in enumerate(lines):
            bold = place == 0 and len(lines) > 1
            if width_of(line, size, bold) > width:
                raise ValueError(f"{self.title}: '{line}' needs {width_of(line, size, bold):.0f} of {width}")
            self.text(x + width / 2, y + height / 2 + size * 0.36 + (place - (len(lines) - 1) / 2) * size * 1.3, line, "middle", size, bold=bold)

    def line(self, x1, y1, x2, y2, kind="grid", width=1, extra=""):
        self.add(f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" class="{kind}" stroke-width="{width:g}"{extra}/>')

    def path(self, d, colour="grey", width=1.6, arrow=True, dashed=False):
        if arrow:
            self.heads.add(colour)
        self.add(f'<path d="{d}" class="l-{colour}" stroke-width="{width:g}"' + (' stroke-dasharray="5 3"' if dashed else "") +
                 (f' marker-end="url(#h-{colour})"' if arrow else "") + "/>")

    def arrow(self, x1, y1, x2, y2, colour="grey", **more):
        self.path(f"M{x1:g} {y1:g}L{x2:g} {y2:g}", colour, **more)

    def curve(self, x1, y1, x2, y2, colour="grey", bend=0.5, **more):
        """From one row to another: leaves and arrives vertically."""
        dy = (y2 - y1) * bend
        self.path(f"M{x1:g} {y1:g}C{x1:g} {y1 + dy:g} {x2:g} {y2 - dy:g} {x2:g} {y2:g}", colour, **more)

    def badge(self, x, y, text, colour="grey"):
        self.add(f'<circle cx="{x:g}" cy="{y:g}" r="9" class="d-{colour}"/>')
        self.add(f'<text x="{x:g}" y="{y + 4:g}" font-size="11" font-weight="bold" text-anchor="middle" class="on">{html.escape(text)}</text>')

    def svg(self):
        heads = "".join(f'<marker id="h-{c}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" '
                        f'orient="auto"><path d="M0 0.8L10 5L0 9.2z" class="d-{c}"/></marker>' for c in sorted(self.heads))
        on = f"<style>text.on{{fill:{INK[0][0]}}}@media (prefers-color-scheme: dark){{text.on{{fill:{INK[1][0]}}}}}</style>"
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}" '
                f'role="img" font-family="Helvetica, Arial, DejaVu Sans, sans-serif">\n<title>{html.escape(self.title)}</title>\n{style()}{on}\n'
                f'<defs>{heads}</defs>\n<rect width="{self.width}" height="{self.height}" class="back"/>\n' + "\n".join(self.items) + "\n</svg>\n")
