"""The paper's method: pure functions on feature tensors, independent of the model. Start with ``rita.py``."""

from rita_demo.method.cache import apply_to_cache, apply_to_views, cache_atoms, empty, remove, resize, update
from rita_demo.method.confidence import agreement_weight, area_based_weight, assess, entropy_of, step_back, view_weight
from rita_demo.method.cost import cosine_cost, text_mean, unit, view_log_probability
from rita_demo.method.procrustes import align
from rita_demo.method.rita import Views, decide, decide_in_turn, decision_logits
from rita_demo.method.sinkhorn import differentiable_distance, entropic_value, transport, transport_options
from rita_demo.method.theorem import kl_to_one_hot, theorem_bounds
from rita_demo.method.tuning import Prompts, entropy_of_mean, most_confident, optimise_contexts, tune
