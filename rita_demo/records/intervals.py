"""Wilson's confidence interval of a measured share."""

import math

Z95 = 1.959963984540054  # 97.5 % quantile of the normal distribution


def wilson(right: float, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share ``right / n``, both ends in [0, 1] (Wilson 1927).

    ``(p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n)``; n >= 1. ``right`` may be a fraction: with several
    seeds a picture counts as the fraction of them that were right."""
    share, z2 = right / n, Z95 * Z95
    middle = share + z2 / (2 * n)
    half = Z95 * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    low, high = ((middle + sign * half) / (1 + z2 / n) for sign in (-1, 1))
    return max(low, 0.0), min(high, 1.0)
