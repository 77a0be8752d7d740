"""What Python has as a picture is taken, and gives the same pixels as the file; anything else gives a sentence."""

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from rita_demo.data import picture_sources
from rita_demo.data.pictures import open_picture, png_bytes, whole_pixels
from rita_demo.data.vocabularies import label_index
from rita_demo.records.errors import PictureError, SettingError, VocabularyError
from tests.data.hostile import encoded, photo, rotated_jpeg

PIXELS = photo(64, 64)
TENSOR = torch.from_numpy(PIXELS)
FLOATS = TENSOR.permute(2, 0, 1) / 255

ARRAYS: dict[str, Any] = {
    "colours last": TENSOR,
    "colours first": TENSOR.permute(2, 0, 1),
    "floats, colours first": FLOATS,
    "floats, colours last": TENSOR / 255,
    "double": FLOATS.double(),
    "half": FLOATS.half(),
    "a batch of one": FLOATS[None],
    "a batch of one, colours last": TENSOR[None],
    "with a gradient": FLOATS.clone().requires_grad_(),
    "of a computation": FLOATS.clone().requires_grad_() * 1.0,
    "a view": torch.from_numpy(photo(128, 128))[::2, ::2].clone(),
    "array, colours first": np.moveaxis(PIXELS, 2, 0),
    "array, a batch of one": PIXELS[None],
    "array of floats": np.moveaxis(PIXELS, 2, 0).astype(np.float32) / 255,
    "array, columns first": np.asfortranarray(PIXELS),
    "array, turned": photo()[::-1, ::-1][::-1, ::-1],
    "array of half floats": (PIXELS / 255).astype(np.float16),
    "array, read only": np.frombuffer(PIXELS.tobytes(), np.uint8).reshape(PIXELS.shape),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_a_tensor_or_array_of_any_layout_is_the_same_picture(name: str) -> None:
    wanted = photo(128, 128)[::2, ::2] if name == "a view" else PIXELS
    assert np.array_equal(open_picture(ARRAYS[name]).pixels, wanted)


class OnADevice:
    """A tensor of another device: numpy reads it only after it was moved."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("can't convert a tensor of another device to numpy; use Tensor.cpu()")

    def detach(self) -> "OnADevice":
        return self

    def cpu(self) -> torch.Tensor:
        return self.tensor


def test_a_tensor_of_another_device_is_moved_and_bfloat16_is_read_as_far_as_its_numbers_reach() -> None:
    assert np.array_equal(open_picture(OnADevice(FLOATS)).pixels, PIXELS)
    assert np.abs(open_picture(FLOATS.bfloat16()).pixels.astype(int) - PIXELS).max() <= 1


def test_grey_opacity_and_yes_or_no_are_taken_in_every_layout() -> None:
    grey, alpha = PIXELS[:, :, 0], np.full((64, 64), 255, np.uint8)
    for one in (grey, grey[None], grey[:, :, None], torch.from_numpy(grey)[None, None], np.dstack([grey, alpha])):
        assert np.array_equal(open_picture(one).pixels, np.stack([grey] * 3, 2))
    clear = np.dstack([PIXELS, alpha * 0])
    for one in (clear, torch.from_numpy(clear).permute(2, 0, 1), clear / 255, clear.astype(np.uint16) * 257):
        assert open_picture(one).pixels.min() == 255
    mask = torch.from_numpy(grey > 99)
    assert np.array_equal(open_picture(mask).pixels[:, :, 0], mask.numpy() * np.uint8(255))


def test_an_array_of_16_bits_opens_as_a_file_does() -> None:
    camera = PIXELS.astype(np.uint16) * 16
    found = open_picture(camera)
    assert np.abs(found.pixels.astype(int) - PIXELS).max() <= 1
    assert any("from 12 bit" in note for note in found.notes)
    opaque = np.dstack([camera, np.full((64, 64), 65535, np.uint16)])
    assert np.array_equal(open_picture(opaque).pixels, found.pixels)


def test_open_files_and_bytes_are_the_same_picture(tmp_path: Path) -> None:
    data = png_bytes(PIXELS)
    (tmp_path / "a.png").write_bytes(data)
    buffer = io.BytesIO()
    Image.fromarray(PIXELS).save(buffer, "PNG")  # stands at its end
    pipe = SimpleNamespace(seekable=lambda: False, read=lambda count: data)  # cannot go back
    with (tmp_path / "a.png").open("rb") as file:
        for one in (file, pipe, buffer, io.BytesIO(data), bytearray(data), memoryview(data), tmp_path / "a.png"):
            for _ in range(2):
                assert np.array_equal(open_picture(one).pixels, PIXELS)


_MODES = "1 L P RGB RGBA CMYK YCbCr LAB HSV LA PA RGBX RGBa La I F I;16 I;16B I;16L"


@pytest.mark.parametrize("mode", _MODES.split())
def test_a_pil_picture_of_every_mode_opens(mode: str) -> None:
    assert open_picture(Image.new(mode, (64, 64))).pixels.shape == (64, 64, 3)


WRONG: dict[str, tuple[Any, str]] = {
    "a list": ([[1, 2], [3, 4]], "Expected a path, an open file, .* or a tensor; got list"),
    "nothing": (None, "got NoneType"),
    "a number": (7, "got int"),
    "a batch": (torch.zeros(2, 3, 8, 8), r"one picture .* got 2 x 3 x 8 x 8"),
    "five channels": (torch.zeros(5, 8, 8), "got 5 x 8 x 8"),
    "a vector": (torch.zeros(9), "got 9"),
    "no rows": (np.zeros((0, 5, 3), np.uint8), "0 x 5 x 3"),
    "one number": (np.zeros((), np.uint8), "a single number"),
    "not a number": (np.full((40, 40), np.nan), "from 0 to 1"),
    "text in an array": (np.array([["a"]]), "got <U1"),
    "normalised": (torch.randn(3, 64, 64), "from 0 to 1 .*take a normalisation back"),
    "whole numbers of 64 bits": (TENSOR.long(), "got int64. Convert it to uint8"),
    "complex": (FLOATS.to(torch.complex64), "got complex64"),
    "without numbers": (torch.zeros(3, 8, 8, device="meta"), "numbers of the Tensor cannot be read"),
    "sparse": (FLOATS.to_sparse(), "numbers of the Tensor cannot be read"),
    "text": (io.StringIO("hello"), "open as text.*'rb'"),
    "a stream of text": (type("Text", (), {"read": lambda self, n: "x"})(), "gives bytes; it gave str"),
    "an empty stream": (io.BytesIO(), "the file is empty"),
}


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_picture_gets_a_sentence_and_is_never_called_damaged(name: str) -> None:
    source, said = WRONG[name]
    with pytest.raises(PictureError, match=said) as caught:
        open_picture(source)
    assert "damaged" not in str(caught.value)


def test_closed_files_and_pictures_are_called_closed(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png_bytes(PIXELS))
    with (tmp_path / "a.png").open("rb") as file:
        pass
    with pytest.raises(PictureError, match="it is closed, or not open for reading"):
        open_picture(file)
    with (tmp_path / "b.png").open("wb") as writing, pytest.raises(PictureError, match="not open for reading"):
        open_picture(writing)
    with Image.open(tmp_path / "a.png") as image:
        pass
    with pytest.raises(PictureError, match="The PIL picture cannot be read: it is closed, or"):
        open_picture(image)


def test_a_stream_has_the_limit_of_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture_sources, "LARGEST_FILE", 1000)
    with pytest.raises(PictureError, match="at most 0 MB, but it is larger"):
        open_picture(io.BytesIO(bytes(1001)))


@pytest.mark.parametrize("side", [32, 48, 224])
def test_the_whole_picture_gives_the_squares_of_the_file(side: int) -> None:
    sources = [encoded(photo(97, 60, 4)), rotated_jpeg(6, 90, 50), encoded(Image.fromarray(photo(61, 98)).quantize(9))]
    for source in sources:
        whole = whole_pixels(source)
        direct = open_picture(source, square="model", side=side)
        assert np.array_equal(open_picture(whole, square="model", side=side).pixels, direct.pixels)
        assert whole.shape[1::-1] == direct.source_size


NAMES = ("cup", "fly agaric", "7")


@pytest.mark.parametrize(
    ("label", "index"), [(1, 1), (np.int64(2), 2), (np.uint8(0), 0), (torch.tensor(1), 1), ("Fly_Agaric", 1), ("7", 2)]
)
def test_a_label_is_a_name_or_an_index(label: Any, index: int) -> None:
    assert label_index(NAMES, label) == index


@pytest.mark.parametrize("label", [3, -1, True, np.True_, torch.tensor(True), 1.0, np.float32(1), [1], None, 10**30])
def test_any_other_label_gets_a_sentence(label: Any) -> None:
    with pytest.raises(SettingError, match=r"The target is a class name, or a whole number from 0 to 2; got "):
        label_index(NAMES, label, "target")
    with pytest.raises(VocabularyError, match="Closest: 'cup'"):
        label_index(NAMES, "cap")
