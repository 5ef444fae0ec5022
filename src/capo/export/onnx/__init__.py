"""Export of fitted models to ONNX."""

from ._graph import onnx_inputs
from ._to_onnx import to_onnx

__all__ = ["onnx_inputs", "to_onnx"]
