"""Numbers over arrays: agreement, reliability, aggregation, inference. Knows nothing of studies."""
