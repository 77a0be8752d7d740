"""A GPU: work that it repeats is recorded, products are fast or exact, and tensors come to the host together.

A small step of the method is hundreds of kernels of a few microseconds each, and starting one from Python takes longer
than it runs. Work that is recorded once as a CUDA graph starts as one piece. On other devices the same functions are simply
called."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor

from rita_demo.process import logging as process_logging

Function = Callable[..., Sequence[Tensor]]
TOLERANCE = 0.03
LIMIT = 24  # recorded functions of one owner; the least recently used one is forgotten


@dataclass
class _Recorded:
    """``inputs`` and ``outputs``: the tensors that every start reads and writes. ``graph``: None where the function cannot
    be recorded, which is tried once. ``function``: it holds the other tensors that the graph reads."""

    graph: "torch.cuda.CUDAGraph | None"
    inputs: Sequence[Tensor] = ()
    outputs: Sequence[Tensor] = ()
    function: Function | None = None


class CudaGraphs:
    """Recorded functions by key, of one owner. Thread-safe. ``enabled``: False calls every function as it is."""

    def __init__(self, enabled: bool = False) -> None:
        self.enabled = enabled
        self._lock = threading.Lock()
        self._recorded: OrderedDict[Hashable, _Recorded | None] = OrderedDict()

    def run(self, key: Hashable, function: Function, *inputs: Tensor) -> tuple[Tensor, ...]:
        """``function(*inputs)``, as new tensors without gradients.

        ``function`` does the same kernels at every call with this key and these shapes: it reads no number back to the
        host, copies nothing from it, and what it uses beside its inputs stays where it is. The first call runs it as it
        is, the second one records it and compares the recording's result with the function's own: a recording that
        differs is not used. ``key``: everything but the tensors that the result depends on."""
        device = inputs[0].device
        if not self.enabled or device.type != "cuda" or is_recording(device):  # then it is a part of a larger recording
            return tuple(function(*inputs))
        shapes = tuple((tuple(x.shape), x.dtype) for x in inputs)
        key = key, shapes, torch.is_grad_enabled(), torch.backends.cuda.matmul.allow_tf32
        with self._lock:
            if key not in self._recorded:  # a key that is used once is not worth a recording
                self._put(key, None)
            else:
                recorded = self._recorded[key] or _record(function, inputs)
                self._put(key, recorded)
                if recorded.graph is not None:
                    for place, x in zip(recorded.inputs, inputs, strict=True):
                        place.copy_(x)
                    recorded.graph.replay()
                    return tuple(output.clone() for output in recorded.outputs)
        return _detached(function(*inputs))

    def __deepcopy__(self, memo: dict[int, object]) -> "CudaGraphs":
        return CudaGraphs(self.enabled)  # a recording reads the tensors of its own model

    def clear(self) -> None:
        """Forget all recordings and free their memory."""
        with self._lock:
            self._recorded.clear()

    def _put(self, key: Hashable, recorded: _Recorded | None) -> None:
        self._recorded[key] = recorded
        self._recorded.move_to_end(key)
        while len(self._recorded) > LIMIT:
            self._recorded.popitem(last=False)


def _record(function: Function, inputs: Sequence[Tensor]) -> _Recorded:
    expected = _detached(function(*inputs))
    with torch.inference_mode(False), torch.no_grad():
        places = [x.detach().clone() for x in inputs]
    graph = torch.cuda.CUDAGraph()
    try:
        # other threads may use the card meanwhile
        with torch.cuda.graph(graph, stream=_recording_stream(), capture_error_mode="thread_local"):
            outputs = _detached(function(*places))
        graph.replay()
        if same_numbers(outputs, expected):
            return _Recorded(graph, places, outputs, function)
        process_logging.log_event("a recording for the GPU gives other numbers and is not used")
    except RuntimeError as error:  # also when the card has no memory left for it
        process_logging.log_error("a step cannot be recorded for the GPU and runs without it", error)
    return _Recorded(None)


@cache
def _recording_stream() -> "torch.cuda.Stream":
    return torch.cuda.Stream()


@contextmanager
def on_recording_stream(device: torch.device) -> Iterator[None]:
    """What is done inside the block can be differentiated in a recording: a gradient runs where its forward pass ran."""
    if device.type != "cuda":
        yield
        return
    stream = _recording_stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        yield
    torch.cuda.current_stream().wait_stream(stream)


def same_numbers(tensors: Sequence[Tensor], expected: Sequence[Tensor]) -> bool:
    """Whether tensors agree to :data:`TOLERANCE` of the largest number of each; NaN equals NaN. A prompt update moves a
    context by a sign, which another order of additions can turn where the gradient is nearly zero."""

    def agree(x: Tensor, y: Tensor) -> bool:
        limit = 1e-4 + TOLERANCE * float(y.nan_to_num().abs().max()) if y.numel() else 0.0
        return torch.allclose(x, y, rtol=0, atol=limit, equal_nan=True)

    return len(tensors) == len(expected) and all(map(agree, tensors, expected))


def _detached(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return tuple(x.detach() for x in tensors)


def is_recording(device: torch.device) -> bool:
    """Whether what is asked of the device now is recorded, not done."""
    return device.type == "cuda" and torch.cuda.is_current_stream_capturing()


def fast_products(device: torch.device) -> AbstractContextManager[None]:
    """Inside the block a GPU rounds the factors of float32 products to 10 bits (TF32)."""
    return _tensor_float(True) if device.type == "cuda" else nullcontext()


def exact_products(device: torch.device) -> AbstractContextManager[None]:
    """Inside the block a GPU multiplies in float32."""
    return _tensor_float(False) if device.type == "cuda" else nullcontext()


@contextmanager
def _tensor_float(allowed: bool) -> Iterator[None]:
    # Torch knows the choice for the whole process only: it is made for the block, and for what is recorded in it.
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before = matmul.allow_tf32, cudnn.allow_tf32
    matmul.allow_tf32 = cudnn.allow_tf32 = allowed
    try:
        yield
    finally:
        matmul.allow_tf32, cudnn.allow_tf32 = before


def on_host(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The tensors on the CPU, without gradients; those that are there stay. The device is waited for once."""
    far = [x for x in tensors if x.device.type != "cpu"]
    arrays = [array_like(x) for x in far]
    copy_together(list(zip(arrays, far)))
    arrived = iter(arrays)
    return [x.detach() if x.device.type == "cpu" else torch.from_numpy(next(arrived)) for x in tensors]


def array_like(tensor: Tensor) -> np.ndarray:
    """An array of the tensor's shape and type, not filled."""
    return np.empty(tensor.shape, torch.empty(0, dtype=tensor.dtype, device="cpu").numpy().dtype)


def copy_together(copies: Sequence[tuple[np.ndarray, Tensor]]) -> None:
    """Fill arrays with tensors of one device, of the same shapes and types: (to, from). All of one type are joined on the
    device and copied once: starting a copy takes longer than copying a small tensor."""
    arrived = []
    for dtype in {source.dtype for _, source in copies}:
        some = [(array, source) for array, source in copies if source.dtype == dtype]
        joined = torch.cat([source.detach().reshape(-1) for _, source in some])
        staged = torch.empty(joined.shape, dtype=dtype, device="cpu", pin_memory=joined.is_cuda)
        staged.copy_(joined, non_blocking=joined.is_cuda)
        arrived.append(([array for array, _ in some], staged))
    if copies and copies[0][1].is_cuda:
        torch.cuda.current_stream().synchronize()
    for arrays, staged in arrived:  # pinned memory is not for keeping
        ends = np.cumsum([array.size for array in arrays])
        for array, part in zip(arrays, np.split(staged.numpy(), ends[:-1]), strict=True):
            np.copyto(array, part.reshape(array.shape))
