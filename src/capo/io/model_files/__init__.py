"""Model files: a fitted model with all that is needed to use it, safe to open and never half-written."""

from ._container import ModelFile, load, open_model, read_manifest, save
from ._manifest import Manifest

__all__ = ["Manifest", "ModelFile", "load", "open_model", "read_manifest", "save"]
