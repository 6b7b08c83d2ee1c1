"""Answer sequences made comparable between raters, and their alignment."""
