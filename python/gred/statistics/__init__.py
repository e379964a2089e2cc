"""What is made of the core's reductions: summaries, quantiles, weights, dot products, no NaN."""
