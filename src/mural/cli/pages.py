"""`mural results`: docs/results.md, docs/claims.md and the beginning of README.md, from the results in a checkout."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from mural.errors import MuralError


class NoCheckoutError(MuralError, ValueError):
    """The command writes pages of the repository, and was called elsewhere."""


@dataclass
class Results:
    """Write docs/results.md, docs/claims.md and the beginning of README.md from all results. Run it in a checkout."""

    root: Path = Path()
    """The checkout."""
    pictures: bool = True
    """Draw the curves anew, and the strip and the films of the zoo's policies that have changed."""

    def run(self) -> None:
        """Draw, then write."""
        from mural.study.pages import README, write

        if not (self.root / README).is_file() or not (self.root / "studies").is_dir():
            raise NoCheckoutError(
                f"{self.root.resolve()} is no checkout of the repository: call this in one, or --root"
            )
        if self.pictures:
            self._draw()
        changed = write(self.root)
        print("\n".join(map(str, changed)) if changed else "nothing has changed")

    def _draw(self) -> None:
        from mural import zoo
        from mural.show.video import VideoError
        from mural.study.figures import make
        from mural.study.figures.picture import Ask
        from mural.study.pages import films
        from mural.study.pages.results import CURVES
        from mural.study.pages.strip import PICTURE, draw, fingerprint, fingerprints, shown
        from mural.study.runs import MissingRunsError, Where
        from mural.study.zoo import everything

        console = Console(stderr=True)
        with console.status("curves …") as status:
            try:
                make(CURVES, Ask(Where(self.root / "results"), partial=True), self.root / "docs" / "figures")
            except MissingRunsError:
                console.print("no runs of the comparison yet: no curves")
            animals = everything(self.root / zoo.PLACE)
            picture = self.root / PICTURE
            try:
                if animals and shown(picture) != fingerprints(animals):
                    draw(animals, picture, lambda name: status.update(f"an episode of {name} …"))
                    print(PICTURE)
                for animal in animals:
                    film = films.film_of(animal.name)
                    if films.shown(self.root / film) != fingerprint(animal):
                        status.update(f"a film of {animal.name} …")
                        films.make(animal, self.root / film)
                        print(film)
            except (VideoError, ImportError) as error:  # robots need MuJoCo, and something to draw with
                console.print(f"the strip and the films of policies stay as they were: {error}")
