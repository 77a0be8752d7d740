"""The paper on feature tensors: pure functions, no model in sight.  Start with ``rita.py``."""

from rita_demo.method.cache import cache_transport, emptied, empty, resize, update, without
from rita_demo.method.confidence import agreement_weight, assess, view_log_probability, view_weight
from rita_demo.method.cost import cosine_cost, text_mean
from rita_demo.method.gradient import decision_logits
from rita_demo.method.kl import kl_to_one_hot
from rita_demo.method.left_out import left_in, remembered
from rita_demo.method.precision import unit
from rita_demo.method.procrustes import align
from rita_demo.method.rita import Prompts, decide
from rita_demo.method.sinkhorn import descent, entropic_value, linear_value, options_of, transport
from rita_demo.method.step_back import step_back
from rita_demo.method.theorem import Bracket, bracket
from rita_demo.method.tuning import descend, tune

__all__ = [
    "Bracket",
    "Prompts",
    "agreement_weight",
    "align",
    "assess",
    "bracket",
    "cache_transport",
    "cosine_cost",
    "decide",
    "decision_logits",
    "descend",
    "descent",
    "emptied",
    "empty",
    "entropic_value",
    "kl_to_one_hot",
    "left_in",
    "linear_value",
    "options_of",
    "remembered",
    "resize",
    "step_back",
    "text_mean",
    "transport",
    "tune",
    "unit",
    "update",
    "view_log_probability",
    "view_weight",
    "without",
]
