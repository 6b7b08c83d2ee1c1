"""What scoring returns: metrics, scores, what lies behind them, and agreement by part."""
