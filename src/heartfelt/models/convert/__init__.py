"""Weights as published, made into ONNX graphs: one file per architecture."""
