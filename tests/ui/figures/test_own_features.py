"""A person's own features as the cloud of *Figures of the paper*."""

import base64
import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gradio.utils import get_upload_folder

from rita_demo.evaluation.page import DataFolders
from rita_demo.records.errors import DataError
from rita_demo.ui.figures import feature_cloud
from rita_demo.ui.figures.tab import FiguresTab
from tests.toy_model import ToyEngine
from tests.ui.conftest import build_tab
from tests.ui.figures.test_figures_tab import FiguresClient, InstantUmap, event, mark

NAMES = ("striped", "<b>dotted</b>", "zigzagged")


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FiguresClient:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    Path(get_upload_folder()).mkdir(parents=True)
    tab = build_tab(FiguresTab, ToyEngine(spread=0.2))
    tab.jobs.worker = InstantUmap()
    monkeypatch.setattr(tab, "folders", DataFolders(tmp_path / "data", tmp_path / "runs"))
    return FiguresClient(tab)


def upload(client: FiguresClient, **arrays: Any) -> list[dict]:
    path = Path(get_upload_folder()) / "mine.npz"
    np.savez(path, **arrays)
    return list(client.tab.jobs.show_file(client.name, str(path)))


def features() -> tuple[np.ndarray, np.ndarray]:
    """Ten rows of each of two of three classes, which lie far apart."""
    rng, labels = np.random.default_rng(0), np.repeat([2, 1], 10)
    return np.eye(3, 6)[labels] + 0.05 * rng.normal(size=(20, 6)), labels


def test_a_file_takes_the_place_of_the_cloud_with_its_classes_by_name(client: FiguresClient) -> None:
    rows, labels = features()
    *_, end = upload(client, features=rows, labels=labels, names=NAMES)
    *_, placed = client.tab.jobs.run_umap_for_new(client.name, 7)
    for said in (end[client.context.status], feature_cloud.says(client.session)):
        assert "20 features of 6 numbers from mine.npz, 3 classes" in said
    figure = placed[client.tab.parts["cloud"]]
    (trace,) = figure.data
    assert len(trace.x) == 20
    assert figure.layout.annotations[1].text.startswith("UMAP, 7 neighbours, cosine distance")
    chips = feature_cloud.class_chips(client.session)
    assert "zigzagged" in chips
    assert "&lt;b&gt;dotted" in chips
    assert "striped" not in chips, "no feature has this class"
    assert "100 % of a feature’s nearest 5 have its class" in feature_cloud.says(client.session)
    assert "of the 5 nearest points, the same class" in feature_cloud.separability_table(client.session)
    assert "no prompts and no memory" in feature_cloud.draw_kl_to_one_hot(client.session).meta["alt"]
    assert feature_cloud.kl_text(client.session) == ""
    client.tab.on_chip(client.name, event(k=1))
    (trace,) = feature_cloud.draw_cloud(client.session).data
    assert len(set(trace.marker.color[:10])) == 1, "the other class is grey"
    assert trace.marker.color[0] != trace.marker.color[10]


def test_a_feature_can_be_pointed_at_and_lassoed_and_has_no_picture(client: FiguresClient) -> None:
    rows, labels = features()
    upload(client, features=rows, labels=labels, names=NAMES)
    assert "row 3 of the file" in feature_cloud.point_html(client.session, 3)
    client.tab.on_point(client.name, mark(3))
    assert client.session.figures.k == 2
    updates = client.tab.on_lasso(client.name, event(points=[1, 4]))
    said = feature_cloud.lasso_table(client.session)
    assert client.tab.parts["lassoed"] in updates
    assert "Selected: 2 features" in said
    assert "row 4" in said
    assert "<button" not in said
    assert not feature_cloud.is_chosen(client.session)
    buttons = client.tab.parts["lasso_buttons"]
    drawn = buttons.draw(client.session)
    shown = [drawn[one]["visible"] for one in (buttons.table, buttons.folder, buttons.measure, buttons.stream)]
    assert shown == [True, False, False, False], "rows of a file are listed, and are no pictures"
    made = buttons.save_table(client.name)
    assert "evaluate" not in made[client.context.status]
    data = base64.b64decode(json.loads(made[buttons.table])["address"].partition("base64,")[2]).decode()
    listed = [(row["file"], row["true_class"]) for row in csv.DictReader(io.StringIO(data))]
    assert listed == [("row 1", "zigzagged"), ("row 4", "zigzagged")]
    with pytest.raises(DataError, match="no pictures"):
        feature_cloud.chosen_pictures(client.session)
    assert list(client.tab.open_picture(client.name, event(picture=1))) == []
    assert feature_cloud.picture_switch(client.session)["interactive"] is False
    client.tab.on_lasso(client.name, event(points=[]))
    with pytest.raises(DataError, match="No points are selected"):
        buttons.save_table(client.name)


def test_without_labels_it_is_one_class_and_nothing_is_measured(client: FiguresClient) -> None:
    *_, end = upload(client, features=features()[0])
    assert "no labels" in end[client.context.status]
    assert feature_cloud.NO_LABELS in feature_cloud.says(client.session)
    assert feature_cloud.separability_table(client.session) == ""


def test_a_wrong_file_is_a_sentence_and_the_earlier_cloud_stays(client: FiguresClient, tmp_path: Path) -> None:
    client.collected()
    before = client.session.figures
    with pytest.raises(DataError, match=r"Expected an array called features; mine\.npz has: x\. Save it with"):
        upload(client, x=np.zeros(3))
    np.savez(tmp_path / "outside.npz", features=features()[0])
    for path in (str(tmp_path / "outside.npz"), None, 3):
        with pytest.raises(DataError, match="No file arrived"):
            list(client.tab.jobs.show_file(client.name, path))
    assert client.session.figures is before
