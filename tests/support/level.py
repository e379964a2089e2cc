"""Calls that leave references and memory as they were."""


def fails(function, *arguments, **options) -> None:
    """Call what is to be refused, and keep nothing of the exception."""
    try:
        function(*arguments, **options)
    except Exception as error:
        error.__traceback__ = None
    else:
        raise AssertionError(f"{arguments} with {options} are accepted")
