"""Predictors that measure sound and images, with or without pretrained networks."""
