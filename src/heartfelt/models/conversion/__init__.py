"""Published weights to ONNX. Imported only while a model is pulled or verified; nothing here is needed to predict.

Each module but ``graph`` and ``readers`` is one network, with ``convert`` (members of the package's archive to the files that are
stored) and ``answers`` (what the stored model answers to the fixed inputs of its reference).
"""
