"""Claims judged by made-up evidence."""

import json

from mural.study.claims import CLAIMS, Evidence, Verdict
from mural.study.runs import COMPARISON, Where
from tests.study.made_up import seeds, write

HOLDS, PART, FAILS, OPEN = Verdict.HOLDS, Verdict.PART, Verdict.FAILS, Verdict.OPEN
UNDECIDED = Verdict.UNDECIDED
BY_NAME = {claim.name: claim for claim in CLAIMS}
GOOD, BAD = (1.0, 0.95, 1.0), (0.0, 0.05, 0.0)


class World:
    """Puts made-up runs and measurements in their places, and judges."""

    def __init__(self, folder):
        self.folder = folder

    def runs(self, study, *results):
        write(self.folder / "results" / study, *results)
        return self

    def rows(self, name, *rows):
        (self.folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return self

    def figure(self, name, **data):
        (self.folder / f"{name}.json").write_text(json.dumps({"data": data}))
        return self

    def __call__(self, name):
        evidence = Evidence(Where(self.folder / "results"), self.folder, self.folder)
        return BY_NAME[name].judge(evidence)


def verdicts(world, *names):
    return [world(name).verdict for name in names]


def everywhere(world, *methods, **more):
    """Runs on all tasks of the comparison; `more` are those of single methods."""
    for group in COMPARISON:
        if group.method in methods:
            world.runs(group.study, *seeds(group.task, group.method, variant=group.variant, **more))
