"""What results on a device are held against: NumPy's, in kind, shape, type and values."""

import numpy as np

import gred

X = np.arange(1, 61, dtype=np.float32).reshape(3, 4, 5) % 23


def host(array) -> np.ndarray:
    """Bring a result to the host."""
    return array.to_numpy() if isinstance(array, gred.DeviceArray) else array.get()


def check(result, expected):
    """Hold a result on the device against NumPy's: kind, shape, type and values."""
    assert isinstance(result, gred.DeviceArray)
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(host(result), expected)
