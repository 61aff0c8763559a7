"""How the network of a recipe is trained: length, batch size, optimizer and learning rates (Section 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator, PositiveInt, TypeAdapter, ValidationError

from edgecond.nn.optimizers import Optimizer, OPTIMIZERS
from edgecond.nn.schedules import Schedule, SCHEDULES

_EPOCHS = TypeAdapter(PositiveInt)
_Decay = Annotated[float, Field(ge=0, lt=1)]
_FORMER_NAMES = {"batch": "batch_size", "rate": "learning_rate"}  # in model files and checkpoints of format 1
_FAMILIES: Mapping[str, Mapping[str, type[Optimizer | Schedule]]] = {"optimizer": OPTIMIZERS, "schedule": SCHEDULES}
"""Settings of `Train` that choose a class by its name, and the classes."""


SCHEDULE_SETTINGS = frozenset(
    ["epochs", "learning_rate", "schedule", *(setting for each in SCHEDULES.values() for setting in each.defaults())]
)
"""Settings of `Train` that the learning rate of a step depends on."""


class Train(BaseModel):
    """How a network is trained; the settings of an optimizer or schedule that is not chosen are None.

    Attributes:
        epochs: Number of epochs.
        batch_size: Number of examples in a batch, at most.
        learning_rate: Highest learning rate; 0.1 by default for sgd, 0.001 for adamw.
        schedule: Name of the schedule, a key of `SCHEDULES`.
        drops: See `Steps`.
        warmup: See `Cosine`.
        final: See `Cosine`.
        optimizer: Name of the optimizer, a key of `OPTIMIZERS`.
        momentum: See `SGD`.
        betas: See `AdamW`.
        weight_decay: See `SGD` and `AdamW`.
        gradient_clip: See `Training`.
        ema: See `Training`.
        label_smoothing: See `Training`; for tasks with classes.
        precision: See `Training`.
        patience: Number of epochs without a better metric on the validation set after which training ends; None for
            all epochs.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    epochs: int = Field(gt=0)
    batch_size: int = Field(gt=0)
    learning_rate: float = Field(gt=0)
    schedule: str = "steps"
    drops: tuple[int, ...] | None = None
    warmup: float | None = Field(default=None, ge=0, lt=1)
    final: float | None = Field(default=None, ge=0, le=1)
    optimizer: str = "sgd"
    momentum: float | None = Field(default=None, ge=0, lt=1)
    betas: tuple[_Decay, _Decay] | None = None
    weight_decay: float | None = Field(default=None, ge=0)
    gradient_clip: float | None = Field(default=None, gt=0)
    ema: float | None = Field(default=None, ge=0, lt=1)
    label_smoothing: float = Field(default=0.0, ge=0, lt=1)
    precision: Literal["fp32", "bf16"] = "fp32"
    patience: int | None = Field(default=None, gt=0)

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, content: Any) -> Any:
        """Fill in the defaults of what is chosen, refuse settings of what is not, and accept the names of format 1."""
        if not isinstance(content, Mapping):
            return content
        settings = {_FORMER_NAMES.get(name, name): value for name, value in content.items()}
        for family, members in _FAMILIES.items():
            name = settings.get(family, cls.model_fields[family].default)
            if not isinstance(name, str) or name not in members:
                raise ValueError(f"the {family} must be {' or '.join(members)}: got {name!r}")
            defaults = members[name].defaults()
            for member in members.values():
                for setting in member.defaults().keys() - defaults.keys():
                    if settings.get(setting) is not None:
                        raise ValueError(
                            f"{setting} is a setting of the {family} {member.name}: got {settings[setting]!r} for "
                            f"{name}. Leave it out, or choose train.{family}={member.name}"
                        )
            settings |= {setting: value for setting, value in defaults.items() if settings.get(setting) is None}
            if family == "optimizer" and settings.get("learning_rate") is None:
                settings["learning_rate"] = OPTIMIZERS[name].default_learning_rate
        return settings

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        return ((name, value) for name, value in super().__repr_args__() if value is not None)

    @property
    def description(self) -> str:
        """Length, batch size, optimizer and learning rates in a line, and what else is in force in a second one."""
        epochs = f"{self.epochs} epoch{'s' if self.epochs > 1 else ''}"
        optimizer, schedule = type(self.make_optimizer()).__name__, self.make_schedule().description
        more = [
            f"averaged weights (decay {self.ema:g})" if self.ema else "",
            f"label smoothing {self.label_smoothing:g}" if self.label_smoothing else "",
            f"gradients clipped to norm {self.gradient_clip:g}" if self.gradient_clip else "",
            "mixed precision" if self.precision == "bf16" else "",
        ]
        lines = [[epochs, f"batch size {self.batch_size}", optimizer, schedule], [*filter(None, more)]]
        return "\n".join(", ".join(line) for line in lines if line)

    def make_optimizer(self) -> Optimizer:
        """Build the optimizer from its settings."""
        return OPTIMIZERS[self.optimizer](**self._settings(OPTIMIZERS[self.optimizer]))

    def make_schedule(self) -> Schedule:
        """Build the schedule from its settings."""
        member = SCHEDULES[self.schedule]
        return member(self.epochs, self.learning_rate, **self._settings(member))

    def _settings(self, member: type[Optimizer | Schedule]) -> dict[str, Any]:
        return {setting: getattr(self, setting) for setting in member.defaults()}

    def following(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings that change along with others, by their names in `Train`.

        Another optimizer or schedule comes with its defaults, the optimizer with that of the learning rate too. Of
        another number of epochs, each learning rate keeps its share. None stands for a default.
        """
        following: dict[str, Any] = {}
        if changes.get("schedule", self.schedule) != self.schedule:
            following |= dict.fromkeys(SCHEDULES[self.schedule].defaults())
        elif "epochs" in changes:
            with suppress(ValidationError):  # refused in a sentence with the rest of the recipe
                epochs = _EPOCHS.validate_python(changes["epochs"])
                following |= self.make_schedule().with_epochs(epochs).settings
        if changes.get("optimizer", self.optimizer) != self.optimizer:
            following |= dict.fromkeys(["learning_rate", *OPTIMIZERS[self.optimizer].defaults()])
        return following
