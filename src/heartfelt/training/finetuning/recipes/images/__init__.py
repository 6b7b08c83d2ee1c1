"""Images: architectures, preprocessing and the recipes ``image-emotion`` and ``attributes``."""
