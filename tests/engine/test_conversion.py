"""Records of tensors become records of arrays."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from rita_demo.engine import conversion
from rita_demo.engine.conversion import to_numpy
from rita_demo.process.gpu import array_like, copy_together, on_host


def tensors() -> list[torch.Tensor]:
    """Of every type in a trace: whole ones, parts that are not contiguous, a number, nothing at all, one that is part of a
    graph."""
    generator = torch.Generator().manual_seed(0)
    floats = torch.randn(4, 5, 6, generator=generator)
    whole = torch.randint(0, 100, (3, 4), generator=generator)
    kinds = [
        floats,
        floats[:, :, :3],
        floats[0, 0, 0],
        floats[:0],
        floats.requires_grad_() * 2,
        floats.detach().double(),
    ]
    return [*kinds, whole, whole.T, whole > 50, whole.to(torch.uint8)[:, 1:]]


def test_tensors_that_are_copied_together_have_the_numbers_of_single_copies() -> None:
    given = tensors()
    empty = [array_like(one) for one in given]
    copy_together(list(zip(empty, given, strict=True)))
    for own, source in zip(empty, given, strict=True):
        np.testing.assert_array_equal(own, conversion.tensor_to_numpy(source))
        assert own.dtype == conversion.tensor_to_numpy(source).dtype
    copy_together([])
    assert all(own.data_ptr() == source.data_ptr() for own, source in zip(on_host(given), given, strict=True))


@dataclass(frozen=True)
class Record:
    """What :func:`to_numpy` gets."""

    one: torch.Tensor
    parts: tuple[torch.Tensor, dict[str, torch.Tensor], str]


def test_a_record_of_another_device_has_one_copy_of_each_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors without numbers stand for those of a GPU: what is copied is looked at."""
    copied: list[tuple[np.ndarray, torch.Tensor]] = []
    monkeypatch.setattr(conversion, "copy_together", copied.extend)
    far, near = torch.empty(2, 3, device="meta"), torch.ones(2)
    found = to_numpy((Record(far, (near, {"again": far}, "text")), Record(near, (far[0], {}, ""))))
    first, second = found
    assert [source.shape for _, source in copied] == [(2, 3), (3,)]
    assert np.shares_memory(first.one, first.parts[1]["again"])
    assert np.shares_memory(first.one, copied[0][0])
    assert np.shares_memory(second.parts[0], copied[1][0])
    assert (first.parts[0].tolist(), first.parts[2], second.one.tolist()) == ([1, 1], "text", [1, 1])
