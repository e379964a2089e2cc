"""The exception that `gred._core` raises for CUDA's errors."""


class CudaError(RuntimeError):
    """An error reported by CUDA.

    Attributes
    ----------
    call : str
        The CUDA function that failed.
    name : str
        The error's name, such as 'cudaErrorInvalidValue'.
    text : str
        CUDA's description of the error.
    """

    def __init__(self, message: str) -> None:  # of the form "call: text (name)"
        super().__init__(message)
        self.call, _, rest = message.partition(": ")
        self.text, _, name = rest.rpartition(" (")
        self.name = name.removesuffix(")")


CudaError.__module__ = "gred"
