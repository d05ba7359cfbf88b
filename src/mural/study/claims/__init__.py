"""The ledger: each claim of the paper with what was measured and a verdict computed from it; ours beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from mural.study.claims.base import Claim, Finding, Verdict
from mural.study.claims.base import Evidence as Evidence
from mural.study.claims.classifier import CLASSIFIER
from mural.study.claims.learning import LEARNING
from mural.study.claims.maps import MAPS
from mural.study.claims.ours import OURS
from mural.study.runs import ONE_ROLLOUT

CLAIMS: tuple[Claim, ...] = (*CLASSIFIER, *MAPS, *LEARNING, *OURS)
Judged = tuple[Claim, Finding]

HEAD = f"""# The ledger: what of the paper holds here

Each claim in our words, where the paper makes it, what was measured here, and a verdict. `mural claims` wrote this
page from the result files, benchmarks and figures of the repository; it computes the verdicts from them, and nobody
types one. Success of a run is the mean of its last ten evaluations; numbers are interquartile means over seeds with
95 % intervals of a stratified bootstrap. Whether a number is above another is judged by its whole interval; one that
has both sides inside is *undecided*, and a gain in success that is surely less than 0.1 counts as none. A claim of
several parts *holds* if all do, and *in part* if some do. Less than three runs conclude nothing: *not yet run*. Mind
that {ONE_ROLLOUT}. Claims from one figure or benchmark are of one seed unless they say more.
"""


def judge(evidence: Evidence, claims: Iterable[Claim] = CLAIMS) -> Iterator[Judged]:
    """Each claim with its finding."""
    for claim in claims:
        yield claim, claim.judge(evidence)


def page(judged: Iterable[Judged]) -> str:
    """docs/claims.md."""
    found = list(judged)
    tally = Counter(finding.verdict for claim, finding in found if not claim.ours)
    counts = ", ".join(f"{tally[verdict]} {verdict}" for verdict in Verdict if tally[verdict])
    lines = [HEAD, f"Of {sum(tally.values())} claims of the paper: {counts}.", ""]
    for title, ours in (("## The paper's", False), ("## Ours", True)):
        lines += [title, "", "| claim | where | measured | verdict | command |", "|---|---|---|---|---|"]
        lines += [row(claim, finding) for claim, finding in found if claim.ours == ours]
        lines.append("")
    return "\n".join(lines)


def row(claim: Claim, finding: Finding) -> str:
    """A line of the table."""
    cells = [claim.words, claim.place, finding.measured, f"**{finding.verdict}**", f"`{claim.command}`"]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
