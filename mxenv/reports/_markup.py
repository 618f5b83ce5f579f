"""One HTML file that needs nothing else: its style, and text that cannot become markup."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from mxenv.reports._page import harmless

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

STYLE = """\
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --line: #c8c8c8; --soft: #f3f3f3;
  --bad: #a3001b; --unsure: #7a4b00; --good: #14602b; --waived: #0b5a6b; --link: #0b4fa8; }
@media (prefers-color-scheme: dark) { :root { --ink: #ececec; --paper: #161616; --line: #4a4a4a;
  --soft: #242424; --bad: #ff8f9c; --unsure: #f0c060; --good: #7fd598; --waived: #7fd0e0;
  --link: #8fc0ff; } }
body { color: var(--ink); background: var(--paper); font: 1rem/1.45 system-ui, sans-serif;
  margin: 0 auto; max-width: 110rem; padding: 1rem; }
a { color: var(--link); overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: 0 0 2rem; font-size: .9rem; }
caption { text-align: left; font-weight: 600; padding: .5rem 0; }
th, td { border: 1px solid var(--line); padding: .35rem .5rem; text-align: left;
  vertical-align: top; overflow-wrap: anywhere; min-width: 5rem; }
thead th { background: var(--soft); }
tbody th { font-weight: 600; }
ul { margin: 0; padding-left: 1.1rem; }
code { font-family: ui-monospace, monospace; font-size: .95em; }
.incompatible { color: var(--bad); font-weight: 700; }
.unknown { color: var(--unsure); font-weight: 700; }
.compatible { color: var(--good); font-weight: 700; }
.waived, .advice { color: var(--waived); font-weight: 700; }
.incompatible, .unknown, .compatible { white-space: nowrap; }
tbody th, td:nth-child(5) { min-width: 12rem; }
@media print { :root { --ink: #000; --paper: #fff; --line: #888; --soft: #eee; --bad: #000;
  --unsure: #000; --good: #000; --waived: #000; --link: #000; }
  body { max-width: none; padding: 0; font-size: 9pt; } table { font-size: 8pt; }
  .scroll { overflow: visible; } thead { display: table-header-group; }
  tr { break-inside: avoid; } th, td, tbody th, td:nth-child(5) { min-width: 0; } }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Whatever a node has put into a name, a browser fetches and runs nothing for it."""
LINKED = ("https://", "http://")


def text(said: str) -> str:
    """Return ``said`` as text of a document."""
    return html.escape(harmless(said))


def link(address: str) -> str:
    """Return a link where the address is one of the web, and the words of it otherwise."""
    shown = text(address)
    if not address.startswith(LINKED):
        return shown
    return f'<a href="{shown}" rel="noopener noreferrer">{shown}</a>'


def marked(word: str, shown: str = "") -> str:
    """Return the word of an outcome; its colour says nothing that the word does not."""
    return f'<span class="{word}">{text(shown or word)}</span>'


def listed(parts: Sequence[str]) -> str:
    """Return markup as a list, or alone where it is one."""
    if len(parts) < 2:  # noqa: PLR2004 - one is no list
        return "".join(parts)
    return "<ul>" + "".join(f"<li>{part}</li>" for part in parts) + "</ul>"


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of markup; what a row is about stands in its first cell."""
    columns = "".join(f'<th scope="col">{text(name)}</th>' for name in head)
    body = "\n".join(
        f'<tr><th scope="row">{first}</th>' + "".join(f"<td>{cell}</td>" for cell in rest) + "</tr>"
        for first, *rest in rows
    )
    return (
        f'<div class="scroll" role="region" aria-label="{text(caption)}" tabindex="0">\n<table>\n'
        f"<caption>{text(caption)}</caption>\n<thead><tr>{columns}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody>\n</table>\n</div>\n"
    )


def document(title: str, body: str) -> str:
    """Return a whole file."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{text(title)}</title>\n<style>\n{STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n<h1>{text(title)}</h1>\n{body}</main>\n</body>\n</html>\n"
    )
