"""Statistics on top of the core: summaries, quantiles, weights, dot products, masks of NaN."""
