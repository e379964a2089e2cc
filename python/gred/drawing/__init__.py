"""Pictures of rungs, drawn from their recorded accesses."""
