"""The command `python -m gred`: `command` is its entry point; most other modules are jobs."""
