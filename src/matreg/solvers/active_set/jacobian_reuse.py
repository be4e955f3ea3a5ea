"""When to reuse the Jacobian of the thresholding, and when to recompute it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np


@dataclass(frozen=True)
class ReuseSettings:
    """When a linearisation serves more than one step.

    Attributes
    ----------
    first_rate : float
        The second step with a linearisation is expected to be that many times the square of the
        first, with lengths relative to beta: later ones are known to shrink by their ratio.
    inherited_rate : float
        A first step with the linearisation of the last problem is expected to leave this much of
        its length to the next.
    good, soon, often : float, int, int
        A linearisation is used again if steps shrink by `good`, and would be short enough after
        `soon` more of them: a new one takes the time of about as many. But at most `often`.
    far, longer : float
        Steps, relative to beta, that are that long and so many times longer than the last lead
        away.
    """

    first_rate: float = 3.0
    inherited_rate: float = 0.2
    good: float = 0.5
    soon: int = 4
    often: int = 8
    far: float = 0.3
    longer: float = 10.0


@dataclass(frozen=True)
class ReusePolicy:
    """Lengths of the steps, and what follows from them.

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
    settings : ReuseSettings
        Numbers of the policy.

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
    settings: ReuseSettings = field(default_factory=ReuseSettings)

    @classmethod
    def inheriting(cls, settings: ReuseSettings) -> ReusePolicy:
        """Policy of the linearisation of the last problem, which is worth a try."""
        return cls(settings.far, 0.0, inherited=True, settings=settings)

    def renewed(self) -> ReusePolicy:
        """Policy of a new linearisation."""
        return ReusePolicy(self.length, settings=self.settings)

    @property
    def fresh(self) -> bool:
        """Whether the next step is at the very point that was linearised."""
        return self.used == 0 and not self.inherited

    def promises(self, tol: float) -> bool:
        """Whether a bound, which is off by the square of a step, would be accurate soon."""
        ours = self.settings
        soon = (self.length * self.rate ** (ours.soon + 1)) ** 2 <= tol
        return self.rate <= ours.good and soon and self.used < ours.often

    def allows(self, length: float) -> bool:
        """Whether the linearisation still holds for a step of this length."""
        return self.fresh or length <= self.settings.good * self.length

    def leads_away(self, length: float) -> bool:
        """Whether a step of this length is no step to a solution nearby."""
        return length > max(self.settings.far, self.settings.longer * self.length)

    def after(self, length: float) -> ReusePolicy:
        """Policy after a step of this length."""
        if self.used > 0:
            rate = length / self.length if self.length > 0.0 else 0.0
        else:
            expected = min(1.0, self.settings.first_rate * length)
            rate = self.settings.inherited_rate if self.inherited else expected
        return replace(self, length=length, rate=rate, used=self.used + 1)
