"""Estimators of scikit-learn and of users, as skops writes them, with what capo writes itself left out.

A pipeline may hold transformers of capo's, boosters or trees, which are in the list "objects" of the state.
In the skops member each of them is replaced by a `Placeholder` with its number; reading the member puts the
object in its place.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Collection
from contextvars import ContextVar
from types import ModuleType
from typing import Any

from ...exceptions import MissingExtraError
from ._skops_audit import ALLOWED_TYPES, PLACEHOLDER_TYPE, audit_member

_find_object: ContextVar[Callable[[Any], Any]] = ContextVar("find_object")


class Placeholder:
    """Stands for an entry of "objects"; calling the class with a number returns that object."""

    number: int

    def __new__(cls, number: Any) -> Any:
        return _find_object.get()(number)

    @classmethod
    def make(cls, number: int) -> Placeholder:
        """A placeholder to be written."""
        placeholder: Placeholder = object.__new__(cls)
        placeholder.number = number
        return placeholder

    def __reduce__(self) -> tuple[type[Placeholder], tuple[int]]:
        return Placeholder, (self.number,)


#: The file holds this name, whatever the module is called; `audit_member` replaces it by the present one.
_PRESENT_MODULE = Placeholder.__module__
Placeholder.__module__ = PLACEHOLDER_TYPE.rpartition(".")[0]


def dump_member(value: Any, is_own: Callable[[Any], bool], share: Callable[[Any], int]) -> bytes:
    """A skops document of the value, in which `is_own` objects are replaced by their numbers."""
    document = _skops().dumps(_with_placeholders(value, is_own, share))
    return audit_member(document, PLACEHOLDER_TYPE.rpartition(".")[0], ())[0]


def load_member(data: bytes, find_object: Callable[[Any], Any], trusted: Collection[str]) -> Any:
    """The value of a skops document; `data` must come from `check_member`."""
    token = _find_object.set(find_object)
    try:
        return _skops().loads(data, trusted=[*ALLOWED_TYPES, f"{_PRESENT_MODULE}.Placeholder", *trusted])
    finally:
        _find_object.reset(token)


def check_member(data: bytes, trusted: Collection[str]) -> tuple[bytes, set[str]]:
    """The document as it may be passed to `load_member`, and the types in it that are not trusted."""
    document, refused = audit_member(data, _PRESENT_MODULE, trusted)
    unknown = set(_skops().get_untrusted_types(data=document))
    known = {*ALLOWED_TYPES, f"{_PRESENT_MODULE}.Placeholder", *trusted}
    return document, refused | (unknown - known)


def _with_placeholders(value: Any, is_own: Callable[[Any], bool], share: Callable[[Any], int]) -> Any:
    """A copy of the value; pickle, in memory only, is what finds every object in any graph."""
    file = io.BytesIO()
    pickler = _Pickler(file, protocol=pickle.HIGHEST_PROTOCOL)
    pickler.is_own, pickler.share = is_own, share
    pickler.dump(value)
    file.seek(0)
    return _Unpickler(file).load()


class _Pickler(pickle.Pickler):
    is_own: Callable[[Any], bool]
    share: Callable[[Any], int]

    def persistent_id(self, obj: Any) -> int | None:
        return self.share(obj) if self.is_own(obj) else None


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, pid: int) -> Placeholder:
        return Placeholder.make(pid)


def _skops() -> ModuleType:
    try:
        import skops.io  # noqa: PLC0415 (an extra)
    except ImportError as error:
        raise MissingExtraError("model files need skops: pip install 'capo-learn[files]'.") from error
    return skops.io
