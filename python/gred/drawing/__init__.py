"""Pictures of what a rung does, drawn from its recorded accesses."""
