"""How groups of points and tables of categories differ: distances, ellipses, classification, homogeneity."""
