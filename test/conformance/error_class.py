"""The one place that maps frazil's errors (code, Spark condition) to the error classes of README.md."""
import re

from run_spark import CLASS_BY_CONDITION

# Conditions that only frazil raises while it names Spark's, or that Spark classes by its message text.
OWN_CONDITIONS = [
    (r"^NON_LAST_|^DUPLICATE_CLAUSES$|^INVALID_SET_SYNTAX$|^FAILED_TO_PARSE_TOO_COMPLEX$|^INVALID_(TYPED_LITERAL|INTERVAL_FORMAT|ESCAPE_CHAR)$",
     "SYNTAX"),
    (r"^DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION$|^UNEXPECTED_POSITIONAL_ARGUMENT$", "INVALID"),
    (r"^INVALID_INLINE_TABLE", "INVALID"),
]

CLASS_BY_CODE = {
    "INVALID_ARG": "INVALID",
    "NOT_FOUND": "NOT_FOUND",
    "EXISTS": "EXISTS",
    "UNSUPPORTED": "UNSUPPORTED",
    "SCHEMA_MISMATCH": "TYPE",
    "CARDINALITY": "CARDINALITY",
    "CONSTRAINT": "CONSTRAINT",
    "SQL_SYNTAX": "SYNTAX",
    "CONFLICT": "CONFLICT",
    "LIMIT": "INVALID",
}


def error_class(code, condition):
    """Spark's condition decides where it has one; legacy conditions say nothing, there the code does.

    Codes that no statement of the corpus should cause (ENGINE, BUG, IO, …) stay as they are and so match no class."""
    condition = condition or ""
    if code in CLASS_BY_CODE and condition:
        for pattern, name in OWN_CONDITIONS + CLASS_BY_CONDITION:
            if re.search(pattern, condition):
                return name
        if code == "INVALID_ARG":
            return "INVALID"
    return CLASS_BY_CODE.get(code, code)
