"""What the engine computes after the answer, as one JSON value: noise of the same size, the law of wrong crops, whether
the change survives, how far the picture drifts from its crops."""

from typing import Any

from rita_demo.ui.session.session import Session


def story_checks(session: Session) -> dict[str, Any] | None:
    """The checks of the run on screen; None until they are computed."""
    return None
