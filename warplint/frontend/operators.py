"""How operators are written, by the names that ``ast`` and LibCST have for them."""

from __future__ import annotations

BINARY = {
    "Add": "+",
    "Subtract": "-",
    "Multiply": "*",
    "Divide": "/",
    "FloorDivide": "//",
    "Modulo": "%",
    "Power": "**",
    "MatrixMultiply": "@",
    "LeftShift": "<<",
    "RightShift": ">>",
    "BitOr": "|",
    "BitAnd": "&",
    "BitXor": "^",
}

AUGMENTED = {f"{name}Assign": operator for name, operator in BINARY.items()}

UNARY = {"Minus": "-", "Plus": "+", "BitInvert": "~", "Not": "not"}

COMPARISON = {
    "Equal": "==",
    "NotEqual": "!=",
    "LessThan": "<",
    "LessThanEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanEqual": ">=",
    "Is": "is",
    "IsNot": "is not",
    "In": "in",
    "NotIn": "not in",
}
