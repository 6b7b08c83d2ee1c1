"""What a predictor is: cases in, predictions out; how one is named, and one made of a Python function."""
