"""What `python -m gred` is made of: `command` is where a call comes in, and a module is a job."""
