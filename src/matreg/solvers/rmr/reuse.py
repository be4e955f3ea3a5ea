"""How the steps with one linearisation shrink, and when it takes another one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# The second step with a linearisation is expected to be that many times the square of the first,
# with lengths relative to beta: later ones are known to shrink by their ratio.
FIRST_RATE = 3.0
# A first step with the linearisation of the last problem is expected to leave this much of its
# length to the next.
INHERITED_RATE = 0.2
# A linearisation is used again if steps at least halve, and would be short enough after so many
# more of them: a new one takes the time of about as many. But not more often than the last number.
GOOD, SOON, OFTEN = 0.5, 4, 8
# Steps, relative to beta, that are that long and so many times longer than the last lead away.
FAR, LONGER = 0.3, 10.0


@dataclass(frozen=True)
class ReusePolicy:
    """Lengths of the steps.

    Attributes
    ----------
    length : float
        Length of the last step, relative to beta.
    rate : float
        Expected ratio of the length of the next step to it.
    used : int
        Number of steps with this linearisation.
    inherited : bool
        Whether the linearisation is that of the last problem.

    Examples
    --------
    >>> pace = ReusePolicy().after(0.01).after(0.001)
    >>> pace.rate, pace.promises(1e-6), pace.allows(0.0009)
    (0.1, True, False)
    """

    length: float = np.inf
    rate: float = np.inf
    used: int = 0
    inherited: bool = False

    @classmethod
    def inheriting(cls) -> ReusePolicy:
        """ReusePolicy of a linearisation that is worth a try."""
        return cls(FAR, 0.0, inherited=True)

    @property
    def fresh(self) -> bool:
        """Whether the next step is at the very point that was linearised."""
        return self.used == 0 and not self.inherited

    def promises(self, tol: float) -> bool:
        """Whether a bound, which is off by the square of a step, would be accurate soon."""
        soon = self.rate <= GOOD and (self.length * self.rate ** (SOON + 1)) ** 2 <= tol
        return soon and self.used < OFTEN

    def allows(self, length: float) -> bool:
        """Whether the linearisation still holds for a step of this length."""
        return self.fresh or length <= GOOD * self.length

    def leads_away(self, length: float) -> bool:
        """Whether a step of this length is no step to a solution nearby."""
        return length > max(FAR, LONGER * self.length)

    def after(self, length: float) -> ReusePolicy:
        """ReusePolicy after a step of this length."""
        if self.used > 0:
            rate = length / self.length if self.length > 0.0 else 0.0
        else:
            rate = INHERITED_RATE if self.inherited else min(1.0, FIRST_RATE * length)
        return ReusePolicy(length, rate, self.used + 1, self.inherited)
