"""Facts about raters, coarsened until nobody stands out."""
