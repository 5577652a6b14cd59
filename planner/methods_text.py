"""The documents of the methods as HTML: headings, paragraphs, lists, tables, formulas; all else is text.

Only what these documents use is read, and every text is escaped before anything is made of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import escape

Lines = list[str]

HEADING = re.compile(r"(#{1,4}) +(.+)")
ITEM = re.compile(r"(?:[-*]|\d+\.) +(.+)")
TABLE_RULE = re.compile(r"\|?(?:\s*:?-+:?\s*\|)+\s*(?::?-+:?)?\s*")
INLINE = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^)\s]+)\)")
NUMBER_CELL = re.compile(r"[−+\-~≈<>≤≥]?\s?[\d.,]+(?:\s?(?:%|×|x|s|ms|h|GiB|GB|MB|B))?")


def html(document: str, link: Callable[[str], str | None]) -> str:
    """The document's HTML. ``link`` gives the address of a file that is linked to, None where it has no page here."""
    return "".join(_blocks(document.replace("\r\n", "\n").split("\n"), link))


def _blocks(lines: Lines, link: Callable[[str], str | None]) -> Iterator[str]:
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
        elif line.startswith("```"):
            end = next((n for n in range(at + 1, len(lines)) if lines[n].startswith("```")), len(lines))
            yield _formula(lines[at + 1 : end])
            at = end + 1
        elif line.startswith("    "):
            end = _end(lines, at, lambda each: each.startswith("    ") or not each.strip())
            yield _formula([each[4:] for each in lines[at:end]])
            at = end
        elif heading := HEADING.fullmatch(line):
            level = min(len(heading[1]) + 1, 5)
            yield f"<h{level}>{_inline(heading[2], link)}</h{level}>"
            at += 1
        elif line.startswith("|") and at + 1 < len(lines) and TABLE_RULE.fullmatch(lines[at + 1].strip()):
            end = _end(lines, at, lambda each: each.startswith("|"))
            yield _table(lines[at:end], link)
            at = end
        elif ITEM.fullmatch(line):
            end = _end(lines, at, lambda each: bool(ITEM.fullmatch(each)) or each.startswith("  "))
            yield _list(lines[at:end], link)
            at = end
        else:
            end = _end(lines, at, _goes_on)
            yield f"<p>{_inline(' '.join(each.strip() for each in lines[at:end]), link)}</p>"
            at = end


def _end(lines: Lines, start: int, belongs: Callable[[str], bool]) -> int:
    """Where the lines from ``start`` no longer belong together; the first always does."""
    return next((n for n in range(start + 1, len(lines)) if not belongs(lines[n])), len(lines))


def _goes_on(line: str) -> bool:
    return bool(line.strip()) and not (
        line.startswith(("```", "    ", "|")) or HEADING.fullmatch(line) or ITEM.fullmatch(line)
    )


def _formula(lines: Lines) -> str:
    text = "\n".join(lines).strip("\n")
    return f'<div class="scroll" tabindex="0"><pre class="formula-text">{escape(text)}</pre></div>'


def _list(lines: Lines, link: Callable[[str], str | None]) -> str:
    items: Lines = []
    for line in lines:
        if found := ITEM.fullmatch(line):
            items.append(found[1])
        else:
            items[-1] += f" {line.strip()}"
    kind = "ol" if lines[0][:1].isdigit() else "ul"
    return f"<{kind}>{''.join(f'<li>{_inline(item, link)}</li>' for item in items)}</{kind}>"


def _table(lines: Lines, link: Callable[[str], str | None]) -> str:
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    heads, body = rows[0], rows[2:]
    of_numbers = [
        bool(cells := [row[n] for row in body if n < len(row) and row[n]])
        and all(NUMBER_CELL.fullmatch(cell) for cell in cells)
        for n in range(len(heads))
    ]
    kinds = [' class="num"' if is_number else "" for is_number in of_numbers]
    head = "".join(
        f'<th scope="col"{kind}>{_inline(cell, link)}</th>' for cell, kind in zip(heads, kinds, strict=True)
    )
    written = "".join(
        f"<tr>{''.join(f'<td{kind}>{_inline(cell, link)}</td>' for cell, kind in zip(row, kinds, strict=False))}</tr>"
        for row in body
    )
    table = f'<table class="ruled"><thead><tr>{head}</tr></thead><tbody>{written}</tbody></table>'
    return f'<div class="scroll" tabindex="0">{table}</div>'


def _inline(text: str, link: Callable[[str], str | None]) -> str:
    parts, at = [], 0
    for found in INLINE.finditer(text):
        parts.append(escape(text[at : found.start()]))
        code, bold, label, target = found.groups()
        if code is not None:
            parts.append(f"<code>{escape(code)}</code>")
        elif bold is not None:
            parts.append(f"<b>{escape(bold)}</b>")
        else:
            address = link(target)
            written = escape(label)
            parts.append(f'<a href="{escape(address)}">{written}</a>' if address else written)
        at = found.end()
    return "".join([*parts, escape(text[at:])])
