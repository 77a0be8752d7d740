"""The samples are in the pinned packages, and their labels in their vocabularies."""

from dataclasses import replace

import pytest

from rita_demo.data.samples import SAMPLES, available, sample
from rita_demo.records.errors import PictureError


@pytest.mark.parametrize("key", SAMPLES)
def test_a_sample_opens_and_its_label_is_one_of_its_names(key: str) -> None:
    one = sample(key)
    assert available()[key] == one, "it is in the pinned packages"
    assert one.label in one.names
    assert one.credit
    picture = one.load()
    assert picture.pixels.shape[0] == picture.pixels.shape[1] <= 448
    assert one.load(square="model", side=112).pixels.shape == (112, 112, 3)


def test_a_missing_package_or_an_unknown_key_gives_an_error_message() -> None:
    gone = replace(sample("coffee"), place=("no_such_package", "data"))
    with pytest.raises(PictureError, match="comes with the package no_such_package"):
        gone.load()
    with pytest.raises(PictureError, match="comes with this program, which is missing or incomplete"):
        replace(sample("knitted"), file="nothing.png").load()
    with pytest.raises(PictureError, match=r"The sample is one of motorcycle, .*; got 'tea'"):
        sample("tea")
