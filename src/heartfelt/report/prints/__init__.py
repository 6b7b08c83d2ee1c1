"""Charts drawn with Matplotlib for print: one module per type of chart."""
