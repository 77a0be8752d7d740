"""The endpoints for programs, called as programs call them: gradio_client, and HTTP."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from gradio_client import Client, handle_file
from gradio_client.exceptions import AppError
from PIL import Image

from rita_demo.attacks.registry import ATTACKS
from rita_demo.data.pictures import open_picture
from rita_demo.defences.registry import DEFENCES
from rita_demo.pipeline.export import to_json
from rita_demo.pipeline.run import run_picture
from rita_demo.server.events import NO_UPLOAD
from rita_demo.settings import RECOMMENDED, SETTINGS
from tests.live_server import wait_until
from tests.toy_model import ToyEngine
from tests.ui.http_client import ENGINE, build_toy_page, launch_page

pytestmark = pytest.mark.slow
METHODS = ["mta", "tpt"]  # the toy engine has no pixels for others
NAMES = ["motorbike", "crab", "camera"]
ACCOUNT = ("me", "one:two")


@contextmanager
def served_client(account: tuple[str, str] | None = None) -> Iterator[Client]:
    """The client of a page of its own, which may want a password."""
    page = build_toy_page()
    address = launch_page(page, (account,) if account else ())
    yield Client(address, auth=account, verbose=False)
    page.close(verbose=False)


@pytest.fixture(scope="module")
def open_client() -> Iterator[Client]:
    with served_client() as client:
        yield client


@pytest.fixture(scope="module")
def locked_client() -> Iterator[Client]:
    with served_client(ACCOUNT) as client:
        yield client


@pytest.fixture(params=["open_client", "locked_client"])
def client(request: pytest.FixtureRequest) -> Client:
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def picture(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("api") / "picture.png"
    pixels = np.random.default_rng(0).integers(0, 256, (40, 50, 3), np.uint8)
    Image.fromarray(pixels).save(path)
    return str(path)


def local_run(picture: str, **changes: Any) -> Any:
    settings = RECOMMENDED.replace(**changes)
    square = open_picture(picture, square=settings.square, side=ENGINE.info.side)
    return run_picture(ToyEngine(spread=0.2), square, NAMES, settings, label=0, methods=METHODS)


def without_times(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in json.loads(json.dumps(answer)).items() if name != "timings"}


def test_explain_returns_the_json_and_the_picture_of_a_run_twice_the_same(client: Client, picture: str) -> None:
    run = local_run(picture, attack="pgd", budget=7, attack_seed=5, view_seed=5, views=16)
    asked = {"label": "motorbike", "attack": "pgd", "budget": 7, "seed": 5, "settings": {"views": 16}}
    asked |= {"methods": METHODS}
    for classes in (NAMES, ", ".join(NAMES)):
        answer, png = client.predict(handle_file(picture), classes, **asked, api_name="/explain")
        assert without_times(answer) == without_times(to_json(run))
        assert (np.asarray(Image.open(png)) == run.attacked.picture.pixels).all()


def test_defend_returns_the_clean_part_and_attack_the_picture_with_its_norms(open_client: Client, picture: str) -> None:
    whole = without_times(to_json(local_run(picture, attack="pgd", budget=8)))
    asked = {"label": "motorbike", "methods": "mta,tpt", "api_name": "/defend"}
    assert open_client.predict(handle_file(picture), NAMES, **asked) == whole["clean"]
    png, about = open_client.predict(handle_file(picture), NAMES, label="motorbike", budget=8, api_name="/attack")
    change = np.asarray(Image.open(png), int) - np.asarray(local_run(picture).clean.picture.pixels, int)
    assert np.abs(change).max() == about["linf"] == whole["attacked"]["linf"]
    assert about["fooled"] is whole["attacked"]["fooled"]
    assert about["threat_model"] == whole["threat_model"]


def test_the_lists_name_every_defence_attack_setting_and_endpoint(client: Client) -> None:
    for endpoint, known in (("/defences", DEFENCES), ("/attacks", ATTACKS), ("/settings", SETTINGS)):
        records = client.predict(api_name=endpoint)
        assert [record["name"] for record in records] == list(known)
        assert all(len(record) >= 8 for record in records)
    info, six = (
        client.view_api(print_info=False, return_format="dict"),
        "explain defend attack defences attacks settings",
    )
    assert set(info["named_endpoints"]) == {f"/{name}" for name in six.split()}
    assert not info["unnamed_endpoints"]


#: What the endpoints read themselves; tests/pipeline/test_run_request.py has what every request refuses.
BAD_INPUTS = [
    ({"label": "dog"}, "There is no class 'dog'"),
    ({"attack": "mine.py:ATTACK"}, "attack is one of"),
    ({"settings": {"descriptions": "/etc/passwd"}}, "descriptions is one of"),
    ({"settings": [1]}, "settings is an object"),
    ({"classes": ["one", 2]}, "classes is a list of names"),
    ({"backbone": "ViT-B-32:openai"}, "is not loaded here"),
    ({"image": "/etc/passwd"}, "The picture is an uploaded file"),
]


@pytest.mark.parametrize(("changes", "sentence"), BAD_INPUTS)
def test_bad_input_is_one_sentence(open_client: Client, picture: str, changes: dict[str, Any], sentence: str) -> None:
    given = {"image": handle_file(picture), "classes": NAMES} | changes
    with pytest.raises(AppError, match=sentence):
        open_client.predict(**given, api_name="/explain")


def test_a_file_of_the_server_is_not_opened(client: Client) -> None:
    """The client would upload its own; by HTTP the path arrives as it is."""
    secret = {"path": str(Path(__file__)), "meta": {"_type": "gradio.FileData"}}
    http = httpx.Client(base_url=client.src, headers=client.headers, cookies=client.cookies, timeout=60)
    answer = http.post("gradio_api/call/v2/defend", json={"image": secret, "classes": "cup, crab"})
    assert (answer.status_code, answer.json()) == (400, {"detail": NO_UPLOAD})


def test_without_the_password_there_is_no_answer(open_client: Client, locked_client: Client) -> None:
    for client, status in ((open_client, 200), (locked_client, 401)):
        assert httpx.get(f"{client.src}gradio_api/info").status_code == status
        assert httpx.post(f"{client.src}gradio_api/call/v2/settings", json={}).status_code == status


def test_a_cancelled_call_ends_and_shows_its_progress_before(picture: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with served_client() as client:
        monkeypatch.setattr(ENGINE, "step_seconds", 0.5)
        job = client.submit(handle_file(picture), NAMES, settings={"steps": 100}, methods=[], api_name="/explain")
        assert wait_until(lambda: any("step 3" in record["doing"] for record, _ in job.outputs()), 60)
        job.cancel()
        begin = time.monotonic()
        client.predict(handle_file(picture), NAMES, methods=[], api_name="/defend")  # waits for its turn in the queue
        assert time.monotonic() - begin < 25
