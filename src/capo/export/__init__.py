"""Export of fitted models to other formats."""

from .onnx import onnx_inputs, to_onnx

__all__ = ["onnx_inputs", "to_onnx"]
