"""Three ways from many crops to one answer, on the same crops: average, balanced transport, RITA."""

from dataclasses import dataclass

import numpy as np

from rita_demo.records import Array, ImageResult, Run, Trace, Transport
from rita_demo.views.boxes import area_fractions


@dataclass(frozen=True)
class Rule:
    """One rule's answer."""

    name: str  # average, balanced or rita
    label: int
    runner_up: int
    values: Array  # (K,) in ``unit``: a probability is best where it is high, a cost where it is low
    unit: str  # "probability" or "cosine distance"
    weight: Array  # (N,) each crop's share in the answer, sums to 1
    plans: Array  # (K, N, M) the mass that each class moves from crop to prompt; of the average (K, N, 1): the weights

    @property
    def lead(self) -> float:
        """By how much the answer is ahead of the runner-up, in ``unit``; 0 with one class."""
        return abs(float(self.values[self.label] - self.values[self.runner_up]))


@dataclass(frozen=True)
class Rules:
    """The three answers on one picture."""

    average: Rule
    balanced: Rule
    rita: Rule
    plan_effect: float  # what the plan lowers the cost of RITA's answer by, beside ``rita.lead``; at least 0


def rules(run: Run, side: ImageResult) -> Rules:
    """The three rules on ``side`` of the run.

    ``average`` is the answer of Ensemble, ``rita`` that of RITA. ``balanced`` moves all mass and has no choice of
    prompts: the weighted mean of the cosine costs, which RITA's total with rho = 1 approaches as lambda grows (with the
    run's memory, if it has one)."""
    trace = side.trace
    probability, even = np.asarray(side.verdicts["ensemble"].probability), _average_weight(run, side)
    plans, spread = np.asarray(trace.prompt_transport.plan), _product_plans(trace.prompt_transport)
    moved, mean = plans[trace.verdict.label].sum(1), _mean_cost(trace.prompt_transport)
    same = np.broadcast_to(even[:, None], (len(mean), len(even), 1))  # whatever the class
    if trace.cache_transport is not None:
        mean = mean + run.settings.cache_weight * _mean_cost(trace.cache_transport)
    return Rules(
        average=_rule("average", probability, "probability", even, same),
        balanced=_rule("balanced", mean, "cosine distance", np.asarray(trace.view_weight), spread),
        rita=_rule("rita", np.asarray(trace.total), "cosine distance", moved / moved.sum(), plans),
        plan_effect=_plan_effect(trace),
    )


def _rule(name: str, values: np.ndarray, unit: str, weight: np.ndarray, plans: np.ndarray) -> Rule:
    order = np.argsort(-values if unit == "probability" else values, kind="stable")
    return Rule(name, int(order[0]), int(order[min(1, len(order) - 1)]), values, unit, weight, plans)


def _average_weight(run: Run, side: ImageResult) -> np.ndarray:
    """(N,) how much each crop counts in Ensemble: as its own setting of the weights says."""
    area, kind = area_fractions(np.asarray(side.encoded_views.views.boxes)).astype(float), run.settings.ensemble_weight
    counts = {"uniform": np.ones(len(area)), "area": np.maximum(1 - area, 1e-3), "shown": area}[kind]
    return counts / counts.sum()


def _product_plans(moved: Transport) -> np.ndarray:
    """(K, N, M) the plan that spreads all mass of each crop over the prompts by their weights: ``a_n w_m``, 0 for a class
    without mass."""
    rows, columns = (np.asarray(part, float) for part in (moved.row_weight, moved.column_weight))
    whole = columns.sum(1, keepdims=True)
    share = np.divide(columns, whole, out=np.zeros_like(columns), where=whole > 0)
    return np.einsum("kn,km->knm", rows, share)


def _mean_cost(moved: Transport) -> np.ndarray:
    """(K,) the cost of the product plan."""
    return np.einsum("knm,knm->k", _product_plans(moved), np.asarray(moved.cost, float))


def _plan_effect(trace: Trace) -> float:
    """For the class of RITA's answer: the cost, when each crop that the plan moves is moved to all prompts by their
    weights, minus the cost of the plan."""
    moved, k = trace.prompt_transport, trace.verdict.label
    plan, cost = np.asarray(moved.plan, float)[k], np.asarray(moved.cost, float)[k]
    flat = np.outer(plan.sum(1), np.asarray(trace.prompt_weight, float)[k])
    return float(((flat - plan) * cost).sum() / plan.sum())
