"""The attacker who knows a defence: stronger than attackers who do not, and a sentence where there is none."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from rita_demo.data.samples import SAMPLES
from rita_demo.defences import registry
from rita_demo.defences.contract import Defence, DefenceInput, verdict_of
from rita_demo.engine.engine import Engine
from rita_demo.pipeline.run import run_picture
from rita_demo.process.plugin_file import PluginError
from rita_demo.records import Verdict
from rita_demo.settings import RECOMMENDED, register_choices
from tests.toy_model import ToyEngine

QUICK = RECOMMENDED.replace(square="model", views=16, attack_views=8, protocol="off", attack="adaptive")
LESS = {"adaptive.steps": 10, "adaptive.restarts": 1}


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine()


@pytest.fixture(scope="module")
def toy() -> ToyEngine:
    return ToyEngine()


@pytest.mark.slow
@pytest.mark.parametrize("against", ["ensemble", pytest.param("rita", marks=pytest.mark.nightly)])
def test_every_defence_falls_to_the_attacker_who_knows_it(engine: Engine, against: str) -> None:
    one = SAMPLES["motorcycle"]
    less = LESS if against == "ensemble" else {"adaptive.steps": 30, "attack_views": 16}
    settings = QUICK.replace(**{"adaptive.against": against} | less)
    label = one.names.index(one.label)
    run = run_picture(engine, one.load(), one.names, settings, label=label, methods=(against,))
    assert run.attack is not None
    assert run.clean.verdicts[against].label == label
    assert run.attacked.verdicts[against].label != label, "views that the attack has not seen"
    assert run.attack.linf <= 4
    assert run.attack.gradient is not None
    assert run.attack.gradient > 0
    title = registry.DEFENCES[against].title
    assert any(f"The attacker knows {title}. Its gradient is exact." in s for s in run.threat_model.sentences)


@pytest.fixture
def plugin(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a defence that states no gradient, with the answer of the test's parameter."""
    registry.DEFENCES["plain"] = Defence(name="plain", title="Plain", sentence="An average.", answer=request.param)
    register_choices("adaptive.against", ("each", *registry.DEFENCES))
    yield "plain"
    del registry.DEFENCES["plain"]
    register_choices("adaptive.against", ("each", *registry.DEFENCES))


def mean(inputs: DefenceInput) -> Verdict:
    return verdict_of((inputs.views @ inputs.template_features.T / inputs.temperature).softmax(-1).mean(0))


def rounded(inputs: DefenceInput) -> Verdict:
    return mean(replace(inputs, views=(100 * inputs.views).round().detach() / 100))


@pytest.mark.parametrize("plugin", [rounded], indirect=True)
def test_a_defence_without_a_gradient_is_a_sentence(toy: ToyEngine, plugin: str) -> None:
    settings = QUICK.replace(**{"adaptive.against": plugin, "adaptive.steps": 2})
    with pytest.raises(PluginError, match="Plain gives an attacker who knows it no gradient") as refused:
        run_picture(toy, SAMPLES["motorcycle"].load(), ("cup", "crab"), settings, label=0)
    assert "straight_through" in refused.value.hint
    queried = settings.replace(**{"adaptive.search": "square", "adaptive.queries": 20})
    names = ("cup", "crab", "dog", "cat")
    assert run_picture(toy, SAMPLES["motorcycle"].load(), names, queried, label=0).attack is not None
