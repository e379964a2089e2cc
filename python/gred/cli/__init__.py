"""What `python -m gred` is made of. One noun a module; `command` is where a call comes in.

Nothing here is imported by `import gred`, and rich and matplotlib are only imported when used.
"""
