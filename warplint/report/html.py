"""One HTML page that needs nothing else: summary, findings with their source, evidence as a small plot.

Nothing in it is loaded from anywhere, no script runs, and everything that comes from the linted files is escaped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from html import escape

from warplint.ir.facts import Finding
from warplint.ir.spans import displayed
from warplint.report.model import Report, evidence_line, problem_line
from warplint.report.plots import gradient_plot, life_line
from warplint.report.snippets import snippet
from warplint.report.style import Style
from warplint.report.summary import count, linted_for, summary

_STYLE = """
:root { --text: #1b1f24; --faint: #59636e; --paper: #fff; --box: #f6f8fa; --line: #d1d9e0; --red: #b3261e;
  --amber: #8a5a00; --blue: #0a58b8; --green: #1a7f37; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --faint: #9198a1; --paper: #0d1117; --box: #161b22;
  --line: #3d444d; --red: #ff7b72; --amber: #e3b341; --blue: #79c0ff; --green: #56d364; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 2rem 1.25rem; background: var(--paper); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 0; }
a { color: var(--blue); } code, pre { font-family: ui-monospace, monospace; font-size: .86rem; }
pre { background: var(--box); border: 1px solid var(--line); border-radius: 6px; padding: .75rem; overflow-x: auto;
  line-height: 1.4; }
.faint { color: var(--faint); } .cards { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1rem 0; padding: 0; }
.cards li { list-style: none; border: 1px solid var(--line); border-radius: 6px; padding: .5rem 1rem; min-width: 7rem; }
.cards b { display: block; font-size: 1.5rem; line-height: 1.2; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; padding: .3rem .6rem .3rem 0;
  border-bottom: 1px solid var(--line); vertical-align: top; }
section { border-top: 2px solid var(--line); margin-top: 2rem; padding-top: 1rem; break-inside: avoid; }
.tag { display: inline-block; border: 1px solid currentColor; border-radius: 1rem; padding: 0 .6rem; font-size: .8rem; }
.error, .confirmed, .r { color: var(--red); } .warning, .inconclusive, .y { color: var(--amber); }
.info, .b, .c { color: var(--blue); } .refuted, .g { color: var(--green); } .unprobed, .d { color: var(--faint); }
.b0 { font-weight: 600; } svg { max-width: 100%; height: auto; font: 12px system-ui, sans-serif; }
svg .frame { fill: none; stroke: var(--line); } svg .tick { fill: var(--faint); font-size: 11px; }
svg .band { fill: var(--blue); opacity: .18; } svg line.difference { stroke: var(--blue); stroke-dasharray: 5 3; }
svg line.tape { stroke: var(--red); stroke-width: 2; } svg .steps { fill: none; stroke: var(--blue); }
svg .step { fill: var(--blue); } svg text.difference { fill: var(--blue); } svg text.tape { fill: var(--red); }
svg .life { stroke: var(--line); stroke-width: 3; } svg .event { fill: var(--blue); } svg .what { fill: var(--text); }
svg .code { font-family: ui-monospace, monospace; }
svg .number { fill: var(--paper); font-size: 9px; font-weight: 700; }
"""

# What `Style` puts around text for a terminal, and the classes that stand for it here.
_CLASSES = {"1": "b0", "2": "d", "1;31": "r b0", "32": "g", "1;33": "y b0", "1;34": "b", "1;36": "c b0"}
_COLOR = re.compile("\x1b\\[([\\d;]*)m")


def render(report: Report) -> Iterator[str]:
    """The lines of the page."""
    yield "<!doctype html>"
    yield '<html lang="en">'
    yield '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>warplint: {escape(count(len(report.standing), 'finding'))}</title><style>{_STYLE}</style></head>"
    yield "<body>"
    yield from _head(report)
    for number, finding in enumerate(report.findings, 1):
        yield from _section(number, finding, report)
    if report.problems:
        yield "<section><h2>What could not be done</h2><ul>"
        for problem in report.problems:
            yield f"<li>{_text(problem_line(problem))}</li>"
        yield "</ul></section>"
    yield "</body></html>"


def _head(report: Report) -> Iterator[str]:
    made = f"warplint {report.version}"
    made += f", {linted_for(report)}" if report.warp_version else ""
    made += f", probed on {report.device}" if report.device else ""
    yield f'<h1>warplint report</h1><p class="faint">{_text(made)}</p><p>{_text(summary(report))}.</p>'
    counts = report.counts()
    yield '<ul class="cards">'
    for key in ("findings", "confirmed", "inconclusive", "unprobed", "refuted", "suppressed", "files"):
        if counts[key] or key in ("findings", "files"):
            noun = key.removesuffix("s") if counts[key] == 1 else key
            yield f'<li><b class="{key}">{counts[key]}</b>{noun}</li>'
    yield "</ul>"
    if not report.findings:
        return
    rules = Counter(finding.rule for finding in report.findings)
    yield "<table><tr><th>rule</th><th>what</th><th>findings</th></tr>"
    for code, number in sorted(rules.items()):
        rule = report.rules.get(code)
        yield f"<tr><td>{_text(code)}</td><td>{_text(rule.name if rule else '')}</td><td>{number}</td></tr>"
    yield "</table><ol>"
    for number, finding in enumerate(report.findings, 1):
        yield f'<li><a href="#f{number}">{_text(_place(finding))}</a> {_message(finding.message)}</li>'
    yield "</ol>"


def _section(number: int, finding: Finding, report: Report) -> Iterator[str]:
    verdict = finding.evidence.verdict
    yield f'<section id="f{number}"><h2>{number}. {_message(finding.message)}</h2>'
    where = f"{_place(finding)}, {finding.confidence} confidence, {finding.fact.reach}"
    yield (
        f'<p><span class="tag {finding.severity}">{finding.severity}</span> '
        f'<span class="tag {verdict}">{verdict}</span> {_text(finding.rule)} {_text(finding.name)} '
        f'<span class="faint">{_text(where)}</span></p>'
    )
    lines = snippet(finding.location, finding.severity, finding.fact.labels, report.lines, Style(True))
    source = "\n".join(_colored(line) for line in lines)
    yield f"<pre>{source}</pre>"
    yield f'<p class="{verdict}">{_message(evidence_line(finding))}</p>'
    plot = gradient_plot(finding.evidence.numbers)
    if plot is not None:
        yield f"<figure>{plot}</figure>"
    places = [f"{displayed(label.location.path)}:{label.location.span.line}" for label in finding.fact.labels]
    line = life_line(finding.fact.labels, places)
    if line is not None:
        yield f"<figure>{line}</figure>"
    rule = report.rules.get(finding.rule)
    if rule is not None:
        yield f"<p><b>What to do.</b> {_message(rule.fix.help)}</p>"
        yield f"<details><summary>Why</summary>{''.join(f'<p>{_message(part)}</p>' for part in _paragraphs(rule.why))}"
        yield "</details>"
    yield "</section>"


def _paragraphs(text: str) -> list[str]:
    return [part for part in text.split("\n") if part.strip()]


def _place(finding: Finding) -> str:
    span = finding.location.span
    return f"{displayed(finding.location.path)}:{span.line}:{span.column}"


def _text(text: str) -> str:
    # What a file name holds that is no text must not end the writing of the page.
    return escape(text.encode("utf-8", "backslashreplace").decode())


def _message(text: str) -> str:
    """Text with its `code` as such."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", _text(text))


def _colored(line: str) -> str:
    """A line with colours for a terminal as HTML."""
    parts = _COLOR.split(line)
    found = [_text(parts[0])]
    for code, text in zip(parts[1::2], parts[2::2], strict=True):
        known = _CLASSES.get(code)
        found.append(f'<span class="{known}">{_text(text)}</span>' if known else _text(text))
    return "".join(found)
