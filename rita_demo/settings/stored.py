"""Settings in stored files and hashes: a file may be older than a setting."""

from collections.abc import Iterable, Mapping

from rita_demo.records.json_value import JsonValue
from rita_demo.settings import SETTINGS, Settings

_FIRST = """
attack budget steps attack_seed attack_views adversarial_roundtrip square hand_prompt views view_seed view_scale
views_augmix prompts context_init context_seed descriptions max_entropy entropy_unit slots cache_weight empty_class
completion order cache_text views_per_image protocol entropy_weight objective transported_mass view_weight step_back
sinkhorn_tolerance sinkhorn_iterations tuning_steps tuning_rate tuning_loss subset_size autoattack ensemble_average
ensemble_weight ensemble_step_back ensemble_text ctpt_weight patch.area patch.steps typographic.word adaptive.against
adaptive.steps adaptive.restarts adaptive.search adaptive.queries clipure.step clipure.steps ttc.budget ttc.step
ttc.steps ttc.beta ttc.threshold csr.budget csr.step csr.steps csr.radius csr.threshold dbd.surest dbd.threshold
dbd.far sstpt.views
"""
#: The settings that are in every stored file and hash, whatever their value. It never grows: a later setting is hashed
#: only where its value is not ``Setting.before``, so that what was stored without it is found.
FIRST = frozenset(_FIRST.split())


def is_complete(values: Mapping[str, JsonValue]) -> bool:
    """Whether these are all settings of a run, as any version stored them, rather than some."""
    return {name for name in FIRST if "." not in name} <= values.keys()


def with_missing(values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The settings of a stored run by name. One that the file lacks was not there yet: it is what stood for it before."""
    return {name: setting.before for name, setting in SETTINGS.items()} | dict(values)


def settings_of(values: Mapping[str, JsonValue]) -> Settings:
    """The :class:`Settings` of a stored run. Raises SettingError: an unknown name, or a value outside its range."""
    return Settings(**with_missing(values))


def hashed(settings: Settings, names: Iterable[str], always: Iterable[str] = FIRST) -> dict[str, JsonValue]:
    """``{name: value}`` of the names as a hash holds them: the settings ``always`` there, and others where their value is
    not what stood for them before."""
    values = {name: getattr(settings, name) for name in names}
    return {name: value for name, value in values.items() if name in always or value != SETTINGS[name].before}
