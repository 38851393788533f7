"""Plots as SVG, written by hand: bars (beside or on top of each other) and small tables shaded by value."""
import math
from xml.sax.saxutils import escape

FONT = 'font-family="Helvetica, Arial, sans-serif"'


def text(x, y, what, anchor="middle", size=12, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" {FONT} {more}>{escape(what)}</text>'


def rect(x, y, width, height, fill, more=""):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}" {more}/>'


def page(width, height, title, parts):
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}">'
    return "\n".join([head, rect(0, 0, width, height, "white"), text(width / 2, 22, title, size=15)] + parts + ["</svg>", ""])


def ticks(top):
    step = 10 ** math.floor(math.log10(top / 4))
    step = next(step * f for f in (1, 2, 5, 10) if top / (step * f) <= 6)
    return [i * step for i in range(math.ceil(top / step - 1e-9) + 1)]


def bars(title, unit, groups, legend):
    """groups: [(name, [(label, [(legend index, value), ...])])]: bars of a group side by side, the parts of a bar stacked. legend: [(name, color)]"""
    bar, gap, left, top, height = 26, 26, 70, 76, 300
    most = max(sum(value for _, value in parts) for _, each in groups for _, parts in each)
    marks = ticks(most)
    width = left + gap + sum(len(each) * bar + gap for _, each in groups) + 10
    width = max(width, 480)
    out = []

    def height_of(value):
        return value / marks[-1] * height

    x = left
    for name, color in legend:
        out += [rect(x, 38, 12, 12, color), text(x + 17, 48, name, "start")]
        x += 30 + 6.8 * len(name)
    width = max(width, x)
    for mark in marks:
        y = top + height - height_of(mark)
        out += [f'<line x1="{left}" x2="{width - 10:.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>', text(left - 6, y + 4, f"{mark:g}", "end", 11)]
    out.append(text(18, top + height / 2, unit, more=f'transform="rotate(-90 18 {top + height / 2:.1f})"'))
    x = left + gap
    for name, each in groups:
        start = x
        for label, parts in each:
            low = 0
            for index, value in parts:
                out.append(rect(x + 1, top + height - height_of(low + value), bar - 2, height_of(value), legend[index][1]))
                low += value
            out += [text(x + bar / 2, top + height - height_of(low) - 4, f"{low:.2f}", size=9), text(x + bar / 2, top + height + 14, label, size=10)]
            x += bar
        out.append(text((start + x) / 2, top + height + 34, name))
        x += gap
    out.append(f'<line x1="{left}" x2="{width - 10:.1f}" y1="{top + height}" y2="{top + height}" stroke="black"/>')
    return page(width, top + height + 50, title, out)


def grids(title, rows):
    """rows: [(row title, [(name, labels down, labels across, values)])]; labels of both axes in GB/s, values: [down][across]."""
    cell, left, top, gap = 44, 60, 64, 66
    columns = max(len(row) for _, row in rows)
    width, out = left + columns * (3 * cell + gap) - gap + 16, []
    for r, (row_title, row) in enumerate(rows):
        y0 = top + r * (3 * cell + 92)
        out.append(text(10, y0 - 10, row_title, "start", 13, 'font-weight="bold"'))
        for c, (name, down, across, values) in enumerate(row):
            x0 = left + c * (3 * cell + gap)
            out.append(text(x0 + 1.5 * cell, y0 + 10, name))
            for i, line in enumerate(values):
                y = y0 + 18 + i * cell
                out.append(text(x0 - 5, y + cell / 2 + 4, f"{down[i]:g}", "end", 11))
                for j, value in enumerate(line):
                    shade = 255 - round(150 * min(1.0, max(0.0, 1 - value)))
                    out += [rect(x0 + j * cell, y, cell, cell, f"rgb({shade},{(shade + 255) // 2},255)", 'stroke="white"'),
                            text(x0 + (j + 0.5) * cell, y + cell / 2 + 4, f"{value:.3f}", size=11)]
            for j, label in enumerate(across):
                out.append(text(x0 + (j + 0.5) * cell, y0 + 18 + 3 * cell + 14, f"{label:g}", size=11))
            out.append(text(x0 + 1.5 * cell, y0 + 18 + 3 * cell + 30, "dimension 2, GB/s", size=10))
            x, y = x0 - 40, y0 + 18 + 1.5 * cell
            out.append(text(x, y, "dimension 1, GB/s", size=10, more=f'transform="rotate(-90 {x:.1f} {y:.1f})"'))
    return page(width, top + len(rows) * (3 * cell + 92) - 24, title, out)
