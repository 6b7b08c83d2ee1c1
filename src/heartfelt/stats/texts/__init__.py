"""Words of texts: segmentation, closeness of captions to what raters wrote, and diversity."""
