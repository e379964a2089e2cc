"""What is made of the core's reductions: summaries, quantiles, weights, and what is not NaN."""
