"""Fitted models as files for other systems."""

from .onnx import onnx_inputs, to_onnx

__all__ = ["onnx_inputs", "to_onnx"]
