"""Fitted models as files for other systems."""

from .convert import to_onnx
from .inputs import onnx_inputs

__all__ = ["onnx_inputs", "to_onnx"]
