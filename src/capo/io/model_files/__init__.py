"""Model files: a fitted model with all that is needed to use it, safe to open and never half-written."""

from ._manifest import Manifest
from ._persistence import ModelFile, load, open_model, read_manifest, save

__all__ = ["Manifest", "ModelFile", "load", "open_model", "read_manifest", "save"]
