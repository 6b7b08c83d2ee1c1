"""Asking predictors: batches, retries, repeats, budgets, the store of answers, and where the work is done."""
