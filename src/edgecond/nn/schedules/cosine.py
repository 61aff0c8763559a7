"""Half a cosine after a linear warm-up (Loshchilov & Hutter, ICLR 2017, without restarts)."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi

from edgecond.nn.schedules.base import Schedule


@dataclass(frozen=True)
class Cosine(Schedule):
    r"""A learning rate that changes with every step $t = 0, ..., T - 1$.

    It rises linearly over the first $w$ steps, $\eta\,(t + 1) / w$, and then falls to a fraction $f$ of its maximum:

    $$\eta_t = \eta \Big[ f + (1 - f)\, \tfrac{1}{2} \Big(1 + \cos \pi \frac{t - w}{T - w}\Big) \Big].$$

    Attributes:
        warmup: Share of the epochs that is warm-up, $w / T$.
        final: Final learning rate as a fraction of the highest, $f$.
    """

    name = "cosine"

    warmup: float = 0.05
    final: float = 0.0

    @property
    def description(self) -> str:
        decay = f"learning rate {self.learning_rate:g}, cosine decay to {self.final * self.learning_rate:g}"
        if not self.warmup:
            return decay
        epochs = round(self.warmup * self.epochs, 2)
        return f"{decay} after {epochs:g} epoch{'s' if epochs != 1 else ''} of warm-up"

    def learning_rate_at(self, epoch: int, batch: int, batches: int) -> float:
        step, steps = epoch * batches + batch, self.epochs * batches
        warmup = self.warmup * steps
        if step < warmup:
            return self.learning_rate * min(1.0, (step + 1) / warmup)
        fall = (1 + cos(pi * (step - warmup) / (steps - warmup))) / 2
        return self.learning_rate * (self.final + (1 - self.final) * fall)
