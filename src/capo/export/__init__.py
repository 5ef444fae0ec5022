"""Export of fitted models to other formats."""
# Imports from `baselines` and the layers below.

from .onnx import onnx_inputs, to_onnx

__all__ = ["onnx_inputs", "to_onnx"]
