"""Jinja2 with autoescaping: every value in a template is escaped unless it is `Markup`."""

from __future__ import annotations

import base64
import hashlib
from functools import cache

from ..exceptions import MissingExtraError

try:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup
except ImportError as error:
    raise MissingExtraError("reports need Jinja2: pip install 'capo-learn[report]'.") from error

__all__ = ["Markup", "content_security_policy", "load_environment", "read_asset"]


@cache
def load_environment() -> Environment:
    """The templates of this package, with the filters that format names and numbers."""
    from ._formatting import FILTERS  # noqa: PLC0415 (it imports Markup from here)

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
    environment = load_environment()
    assert environment.loader is not None
    source, _, _ = environment.loader.get_source(environment, name)
    return str(source).strip()


def content_security_policy(style: str, script: str) -> str:
    """Allow the style and the script of the page, and nothing else."""
    sources = [f"style-src 'sha256-{_sha256(style)}'", f"script-src 'sha256-{_sha256(script)}'"]
    return "; ".join(
        ["default-src 'none'", "img-src data:", *sources, "base-uri 'none'", "form-action 'none'"]
    )


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
