"""The array type of records: numpy above the engine, torch below it."""

from typing import Any

Array = Any  # numpy.ndarray above the engine, torch.Tensor below it
