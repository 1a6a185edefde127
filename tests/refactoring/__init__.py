"""Behaviour-preserving refactorings of host code: what warplint finds in a program, it finds in the rewritten one.

Each module of refactorings registers functions that rewrite the text of one program. ``survival.py`` applies them, alone
and composed by seed, to programs with known findings and to their repaired twins, and counts which findings survive.
``python -m tests.refactoring`` runs all of it.
"""
