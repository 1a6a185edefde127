"""A rule file as a user would write one."""

from __future__ import annotations

#: A rule of the user's own: in-place array mathematics under another name.
OWN_RULE = """\
id: ACME001
name: no-in-place-anything
family: contract
severity: error
confidence: high
warp: ">=1.0"
select:
  fact: array-augmented-assignment
message: "`{target}` is changed in place, which we never do"
why: House rule.
fix: { kind: manual, safety: display, recipe: second-array, help: Use a second array. }
probe: {none: it is a matter of style}
references: [House rules]
examples:
  - bad: |
      a[i] *= b
  - good: |
      c[i] = a[i] * b
"""
