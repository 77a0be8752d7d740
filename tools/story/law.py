"""Print the curves of "How many crops may be wrong?" for the worked example: ``python -m tools.story.law``, no model needed."""

from rita_demo.analysis.crop_law import law_curves, stored_bank
from rita_demo.pipeline import example

RULES = ("average", "balanced", "nearest_35", "nearest_10")


def main() -> None:
    """Percent right at every tenth of the crops, the law's terms, and what it says."""
    found = law_curves(example.stored()[1], stored_bank())
    assert found is not None
    if own := found.attack:
        about = f"{100 * own.share:.0f} % of the weights, drop {own.drop:.2f}, rise {own.rise:.2f}"
        print(f"the run's own attack turns {own.turned.sum()} crops with {about}")
    print("| replaced | " + " | ".join((*RULES, "drop", "rise", "the law: leave out")) + " |")
    for kind, curve in (("clutter", found.clutter), ("impostor", found.impostor)):
        for at in range(2, len(found.shares) - 1, 2):
            right = [f"{getattr(curve, rule)[at]:.0f}" for rule in RULES]
            terms = [f"{curve.drop[at]:.2f}", f"{curve.rise[at]:.2f}", "yes" if curve.partial_helps[at] else "no"]
            print(f"| {kind} {found.shares[at]} % | " + " | ".join([*right, *terms]) + " |")


if __name__ == "__main__":
    main()
