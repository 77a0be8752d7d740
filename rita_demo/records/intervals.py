"""Wilson's confidence interval of a measured share, and McNemar's test of two on the same pictures."""

import math

Z95 = 1.959963984540054  # 97.5 % quantile of the normal distribution


def wilson(right: float, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share ``right / n``, both ends in [0, 1] (Wilson 1927).

    ``(p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n)``; n >= 1. ``right``: 0 to n. It may be a fraction: with
    several seeds a picture counts as the fraction of them that were right. The lower end of 0 and the upper end of n
    are exactly 0 and 1."""
    return _lower_end(right / n, n), 1.0 - _lower_end((n - right) / n, n)


def mcnemar(gained: int, lost: int) -> float:
    """Two-sided exact p-value (McNemar 1947) of pictures that only one of two methods has right: the chance that as few
    or fewer of ``gained + lost`` fall on one side, were both sides as likely. 1 where there are none."""
    n, fewer = gained + lost, min(gained, lost)
    return min(1.0, 2 * sum(math.comb(n, k) for k in range(fewer + 1)) / 2**n)


def _lower_end(share: float, n: int) -> float:
    """The lower end, as ``p^2`` over the sum that gives the upper end: the product of the two ends is ``p^2 / (1 +
    z^2/n)``. Their difference would leave a rounding error where the end is 0."""
    z2 = Z95 * Z95
    return share * share / (share + z2 / (2 * n) + Z95 * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)))
