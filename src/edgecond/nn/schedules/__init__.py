"""Learning-rate schedules by name; a recipe's `train.schedule` chooses one."""

from edgecond.nn.schedules.base import Schedule
from edgecond.nn.schedules.cosine import Cosine
from edgecond.nn.schedules.steps import Steps

__all__ = ["SCHEDULES", "Cosine", "Schedule", "Steps"]

SCHEDULES: dict[str, type[Schedule]] = {schedule.name: schedule for schedule in (Steps, Cosine)}
