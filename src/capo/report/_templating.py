"""The templates, and names and numbers as they appear on the page.

Jinja2 escapes every value in a template unless it is `Markup`. Functions that return `str` return plain text;
those that return `Markup` have escaped their arguments.
"""

import base64
import hashlib
import itertools
import math
import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from ..decisions import format_money
from ..exceptions import MissingExtraError

try:
    import markupsafe
    from jinja2 import Environment, PackageLoader, StrictUndefined
except ImportError as error:
    raise MissingExtraError("reports need Jinja2: pip install 'capo-learn[report]'.") from error

Markup = markupsafe.Markup
#: Longer names are cut in the middle.
MAX_NAME_LENGTH = 64
#: Longer words are broken where they do not fit.
MAX_WORD_LENGTH = 24
#: Places inside a name where a word ends: after "_" and the like, before "(", and before a capital letter.
BETWEEN_WORDS = re.compile(r"(?<=[_/\\:;@&|])(?=\w)|(?<=\.)(?=[^\W\d])|(?<=\w)(?=\()|(?<=[a-z0-9])(?=[A-Z])")
#: A part of a word that is too long for a line.
LONG_PIECE = re.compile(rf"\S{{{MAX_WORD_LENGTH}}}(?=\S)")
#: Numbers from this size on are written in scientific notation.
MIN_SCIENTIFIC = 1e9
NOT_AVAILABLE = "n/a"


def clean_name(value: object) -> str:
    """Write a name in one line, without control characters, and shortened if it is long."""
    line = " ".join(clean_text(value, ("Cc", "Cs", "Zl", "Zp")).split())
    half = (MAX_NAME_LENGTH - 1) // 2
    return line if len(line) <= MAX_NAME_LENGTH else f"{line[:half]}…{line[-half:]}"


def clean_text(value: object, removed: tuple[str, ...] = ("Cc", "Cs")) -> str:
    """Write a sentence without characters of some Unicode categories, by default control characters."""
    return "".join(" " if unicodedata.category(each) in removed else each for each in str(value))


def isolate_name(value: object) -> Markup:
    """Write a user's name so that text running from right to left does not affect what is around it."""
    return Markup("<bdi>{}</bdi>").format(allow_breaks(clean_name(value)))


def allow_breaks(text: str) -> Markup:
    """Allow line breaks between the words of a name, and inside a word only if it is very long."""
    pieces = [LONG_PIECE.sub("\\g<0>\0", word).split("\0") for word in BETWEEN_WORDS.split(text)]
    return Markup("<wbr>").join(itertools.chain.from_iterable(pieces))


def quote_label(label: Any) -> str:
    """Write a class label, with quotation marks if it is text."""
    return f"“{clean_name(label)}”" if isinstance(label, str) else clean_name(label)


def isolate_label(label: Any) -> Markup:
    """Write a class label inside a sentence."""
    return Markup("<bdi>{}</bdi>").format(quote_label(label))


def format_number(value: float, digits: int = 3, sign: str = "") -> str:
    """Write a number with fewer decimals the larger it is; `sign` is "+" to write that of positive ones."""
    if not math.isfinite(value):
        return NOT_AVAILABLE
    size = abs(value)
    if size >= MIN_SCIENTIFIC:
        return use_minus_sign(f"{value:{sign}.4g}").replace("e+", "e")
    decimals = 0 if size >= 1000 else 1 if size >= 10 else digits
    return use_minus_sign(f"{value:{sign},.{decimals}f}")


def format_significant(value: float, digits: int = 6) -> str:
    """Write a number with some significant digits."""
    return use_minus_sign(f"{value:.{digits}g}")


def use_minus_sign(text: str) -> str:
    """Replace hyphens by minus signs, and remove the sign of zero."""
    if text.startswith("-") and not text.strip("-0.,"):
        text = text[1:]
    return text.replace("-", "\N{MINUS SIGN}")


def decimals_of_counts(total: float, integers: bool) -> int:
    """Number of decimals for weighted counts: none for integers, more the smaller the total is."""
    return 0 if integers or total >= 10_000 else 1 if total >= 100 else 3


def format_count(count: float, decimals: int = 0) -> str:
    """Write a count."""
    return f"{count:,.{decimals}f}"


def format_rate(part: float, whole: float) -> str:
    """Write a share as a number from 0 to 1."""
    return f"{part / whole:.3f}" if whole > 0 else NOT_AVAILABLE


def format_percent(part: float, whole: float) -> str:
    """Write a share in percent."""
    return f"{part / whole:.1%}" if whole > 0 else NOT_AVAILABLE


def format_threshold(value: float) -> str:
    """Write a probability, with enough digits to differ from 0 and 1."""
    edge = min(value, 1.0 - value)
    digits = 3 if edge >= 0.1 else 12 if edge <= 1e-10 else 2 + math.ceil(-math.log10(edge))
    text = f"{value:.{digits}f}"
    return text if digits == 3 else text.rstrip("0").rstrip(".")


def format_seconds(seconds: float) -> str:
    """Write a duration in seconds or minutes."""
    if seconds >= 90:
        return f"{seconds / 60:.1f} min"
    return f"{seconds:.1f} s" if seconds >= 0.05 else "under 0.1 s"


def pluralize(number: float, noun: str) -> str:
    """Write a number with its noun."""
    return f"{number:,.0f} {noun if number == 1 else noun + 's'}"


def join_words(parts: Iterable[str]) -> str:
    """Join words as a list: a, b and c."""
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last


#: The filters of the templates, by the names of the functions without "format_".
NAME_FILTERS = (allow_breaks, clean_name, clean_text, isolate_label, isolate_name, pluralize, quote_label)
NUMBER_FILTERS = (format_count, format_money, format_number, format_percent, format_rate, format_seconds)
THRESHOLD_FILTERS = (format_significant, format_threshold)
FILTERS = {
    each.__name__.removeprefix("format_"): each
    for each in (*NAME_FILTERS, *NUMBER_FILTERS, *THRESHOLD_FILTERS)
}


@cache
def load_environment() -> Environment:
    """The templates of this package, with the filters that format names and numbers."""
    environment = Environment(
        loader=PackageLoader(__package__ or "capo.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return environment


def read_asset(name: str) -> str:
    """The text of a file among the templates, without escaping."""
    return (files(__package__) / "templates" / name).read_text("utf-8").strip()


def content_security_policy(style: str, script: str) -> str:
    """Allow the style and the script of the page, and nothing else."""
    hashes = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in (style, script)]
    sources = [f"style-src 'sha256-{hashes[0]}'", f"script-src 'sha256-{hashes[1]}'"]
    others = ["base-uri 'none'", "form-action 'none'"]
    return "; ".join(["default-src 'none'", "img-src data:", *sources, *others])
