"""Fitted models as ONNX graphs."""

from ._convert import to_onnx
from ._inputs import onnx_inputs

__all__ = ["onnx_inputs", "to_onnx"]
