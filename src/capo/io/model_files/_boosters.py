"""Boosters of LightGBM and XGBoost as text in their own formats.

Both classes take the name of a file in their constructors. A model file holds the text of the booster, which
is passed to the function that parses text; nothing from the file is ever passed as a file name.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any

#: The booster's class in each package, and the ending of the member that holds its text.
BOOSTER_CLASSES = {"lightgbm": "Booster", "xgboost": "Booster"}
ENDINGS = {"lightgbm": "txt", "xgboost": "json"}
#: Attributes of a LightGBM booster that are not in its text.
_LIGHTGBM_ATTRIBUTES = ("best_iteration", "best_score", "params")


def booster_package(value: Any) -> str | None:
    """The package of a booster; None for anything else."""
    package = type(value).__module__.partition(".")[0]
    kind = BOOSTER_CLASSES.get(package)
    return package if kind and type(value) is getattr(sys.modules[package], kind, None) else None


def dump_booster(booster: Any, package: str) -> tuple[bytes, dict[str, Any]]:
    """The booster's text, and its further attributes."""
    if package == "xgboost":
        return bytes(booster.save_raw(raw_format="json")), {}
    attributes = {name: getattr(booster, name) for name in _LIGHTGBM_ATTRIBUTES}
    return booster.model_to_string(num_iteration=-1).encode(), attributes


def load_booster(text: bytes, package: str, attributes: dict[str, Any]) -> Any:
    """A booster from its text."""
    return _LOADERS[package](text, attributes)


def _load_lightgbm(text: bytes, attributes: dict[str, Any]) -> Any:
    if set(attributes) != set(_LIGHTGBM_ATTRIBUTES):
        raise ValueError("a LightGBM booster has unexpected attributes")
    booster = import_module("lightgbm").Booster(model_str=text.decode())
    for name, value in attributes.items():
        setattr(booster, name, value)
    return booster


def _load_xgboost(text: bytes, attributes: dict[str, Any]) -> Any:
    if attributes:
        raise ValueError("an XGBoost booster has unexpected attributes")
    json.loads(text)  # XGBoost's own parser overflows the stack on deep nesting
    booster = import_module("xgboost").Booster()
    booster.load_model(bytearray(text))
    return booster


_LOADERS = {"lightgbm": _load_lightgbm, "xgboost": _load_xgboost}
