"""What other tests take for granted of the toy model."""

from rita_demo.records import Run
from tests.toy_model import ToyEngine
from tests.ui.conftest import completed_run


def labels(run: Run) -> list[int]:
    """Plain CLIP's and RITA's answers to the clean picture, then to the attacked one."""
    return [side.verdicts[name].label for side in (run.clean, run.attacked) for name in ("clip", "rita")]


def test_it_is_right_and_an_attack_fools_it_and_the_crops_decide_whether_the_defence_works(
    example_run: Run, failed_run: Run
) -> None:
    assert labels(example_run) == [0, 0, 1, 0]
    assert labels(failed_run) == [0, 0, 1, 1]
    assert labels(completed_run(ToyEngine(), attack="noise")) == [0, 0, 0, 0]
