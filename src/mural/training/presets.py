"""Presets: settings per task and method as data, each with where it comes from.

Rules are applied from top to bottom; each one that matches overrides those above it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal

from mural import tasks
from mural.rewards import find_method
from mural.training.config import RunConfig, from_dict, merge

Preset = Literal["fast", "paper"]


@dataclass(frozen=True)
class Rule:
    """Settings for the tasks and methods whose names match."""

    values: Mapping[str, Any]
    source: str
    task: str = "*"
    method: str = "*"
    preset: str = "*"
    optional: tuple[str, ...] = field(default=())

    def applies(self, task: str, method: str, preset: str) -> bool:
        """Whether this rule is for them."""
        return (
            any(fnmatchcase(task, one) for one in self.task.split("|"))
            and any(fnmatchcase(method, one) for one in self.method.split("|"))
            and fnmatchcase(preset, self.preset)
        )


RULES: tuple[Rule, ...] = (
    Rule({"sac.hidden": [512, 512], "sac.batch_size": 1024}, "paper, general table", preset="paper"),
    Rule(
        {"sac.target_entropy": 0.5},
        "first tries: at −2 the temperature collapses before the frontier is crossed",
        task="*-maze",
        preset="fast",
    ),
)


def matching(task: str, method: str, preset: str) -> list[Rule]:
    """The rules for a task (short name or id), a method and a preset, in the order in which they apply."""
    short = {spec.id: spec.name for spec in tasks.TASKS.values()}
    return [rule for rule in RULES if rule.applies(short.get(task, task), method, preset)]


def resolve(
    task: str, method: str = "mural", preset: str = "fast", overrides: Mapping[str, Any] | None = None
) -> RunConfig:
    """Defaults, then the preset, then what the user asks for."""
    find_method(method)
    values: dict[str, Any] = {"task": task, "method": method, "preset": preset}
    for rule in matching(task, method, preset):
        values = merge_dotted(values, rule.values)
    return from_dict(merge_dotted(values, overrides or {}))


def merge_dotted(base: dict[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`merge`, making room for dotted names that `base` has nothing of yet."""
    for name in over:
        head = name.partition(".")[0]
        if head != name:
            base = {**base, head: base.get(head, {})}
            rest = name.partition(".")[2]
            base[head] = merge_dotted(dict(base[head]), {rest: over[name]})
        else:
            base = merge(base, {name: over[name]})
    return base
