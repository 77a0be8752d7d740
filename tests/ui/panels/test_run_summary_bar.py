"""The bar on top of the Lab's tabs: small pictures of the run."""

import base64
import io
import re

import numpy as np
from PIL import Image

from rita_demo.ui.panels.run_summary_bar import summary_bar
from rita_demo.ui.session.session import Session
from tests.toy_model import ToyEngine
from tests.ui.conftest import completed_run


def box(changed: np.ndarray) -> np.ndarray:
    """(H, W) bool -> first and last changed row and column, as shares of the edge."""
    rows, columns = np.nonzero(changed)
    return np.array([rows.min(), rows.max() + 1, columns.min(), columns.max() + 1]) / len(changed)


def test_the_small_perturbation_shows_a_patch_where_it_lies() -> None:
    run = completed_run(ToyEngine(spread=0.2), attack="patch", views=8)
    found = re.search(r"class='added'><img src='data:image/jpeg;base64,([^']+)'", summary_bar(Session(run=run)))
    assert found is not None
    shown = np.asarray(Image.open(io.BytesIO(base64.b64decode(found[1]))), int)
    clean, attacked = run.clean.picture.pixels, run.attacked.picture.pixels
    assert np.allclose(box((abs(shown - 128) > 40).any(-1)), box((clean != attacked).any(-1)), atol=0.06)
