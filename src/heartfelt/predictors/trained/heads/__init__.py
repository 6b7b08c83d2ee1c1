"""Heads on a frozen embedding: in memory, as ONNX graphs, and as earlier versions stored them."""
