"""The records that cross a folder border: what each step did, as one frozen value.

Axes: **N** views, **K** classes, **M** prompts per class, **J** cache slots per class, **D** embedding width, **S**
attack steps, **H x W** the square in pixels.

A record holds torch tensors below the engine and numpy arrays above it, with the same shapes (``engine.conversion``).
Features are L2-normalised, probabilities sum to 1, entropies are in nats, costs and distances are cosine distances in
[0, 2].
"""

from rita_demo.records.decision import (
    Alignment,
    Array,
    CacheEvent,
    CacheState,
    CacheUpdate,
    ClassPrompts,
    Confidence,
    DefenceFault,
    Exclusions,
    SamePrompt,
    TheoremBounds,
    Trace,
    Transport,
    Tuning,
    Verdict,
    same_prompts_warning,
)
from rita_demo.records.measurement import MeasuredCell, SampleOutcome
from rita_demo.records.run import (
    AttackStepResult,
    AttackTrace,
    BackboneInfo,
    CheckedAnswer,
    CheckedAnswers,
    EncodedViews,
    ImageResult,
    Passes,
    Picture,
    PictureChange,
    Run,
    StoryChecks,
    ThreatModel,
    ViewSet,
)
