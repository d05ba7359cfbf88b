"""Pages made of results: they say what the files say, and what is not there; those committed are up to date."""

import json
import shutil
from pathlib import Path

import pytest

from mural import cli, zoo
from mural.study import pages
from mural.study.claims import Evidence, judge
from mural.study.figures import learning
from mural.study.figures.picture import Ask, tidy
from mural.study.pages import films, front, results, strip
from mural.study.runs import COMPARISON, Where, available
from mural.study.zoo import everything
from tests.study.made_up import seeds, write

ROOT = Path(__file__).parents[2]


@pytest.fixture
def checkout(tmp_path):
    """A repository with studies and no results."""
    shutil.copytree(ROOT / "studies", tmp_path / "studies")
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(f"# Title\n\n{pages.BEGIN}\nold\n{pages.END}\n\nrest\n")
    return tmp_path


def page(root):
    where = Where(root / "results")
    return results.results_page(root, where, list(judge(Evidence(where, root, root))))


def section(text, title):
    """What stands under a heading."""
    return text.partition(f"{title}\n")[2].partition("\n#")[0]


def table(root):
    """The first table of the README, by task."""
    made = front.rows(available(COMPARISON, Where(root / "results")))
    return {row["task"].partition("]")[0][1:]: row for row in made}


def test_without_results_it_says_so(checkout):
    text = page(checkout)
    assert "| mazes | 0 of 84 runs | all | `mural sweep studies/mazes.toml` |" in text
    assert "Not yet run: anything" in section(text, "### [ant-maze](tasks/ant-maze.md)")
    assert "No curves" in text
    assert "does not hold" not in text
    assert {row["MURAL"] for row in table(checkout).values()} == {"not yet run"}
    assert len(table(checkout)) == 7


def test_the_page_says_what_the_files_say(checkout):
    place = checkout / "results"
    write(place / "mazes", *seeds("zigzag-maze", "mural"), *seeds("zigzag-maze", "vice", success=(0.0, 0.1, 0.0)))
    write(place / "ablations", *seeds("zigzag-maze", "mural", variant="no-counts", success=(0.5, 0.5, 0.5)))
    text = page(checkout)
    rows = section(text, "### [zigzag-maze](tasks/zigzag-maze.md)").splitlines()
    mural, vice = (next(row for row in rows if row.startswith(f"| {name} ")) for name in ("mural", "vice"))
    assert "| 1.00 [1.00, 1.00] | 3 of 3 | 20 [20, 20] | 2.0 [2.0, 2.0] |" in mural
    assert "| 10, 11, 12 | 0000000 |" in mural
    assert "| 0.03 [0.00, 0.10] | 0 of 3 | never [never, never]" in vice
    assert "| mazes | 6 of 84 runs |" in text
    assert "Not yet run: cnml, vice-count" in "\n".join(rows)
    assert "| zigzag-maze | mural (no-counts) | 50 | 0.50 [0.50, 0.50]" in section(text, "### ablations")


def test_what_did_not_hold_stands_there_with_its_reason(checkout):
    place = checkout / "results" / "mazes"
    write(place, *seeds("zigzag-maze", "sac-sparse"), *seeds("spiral-maze", "sac-sparse"))
    claim = next(claim for claim in results.CLAIMS if claim.words.startswith("SAC with sparse rewards fails"))
    judged = list(judge(Evidence(Where(place.parent), checkout, checkout), [claim]))

    def told():
        return "\n".join(results.failures(checkout, judged))

    assert claim.words in told()
    assert results.UNKNOWN in told()
    (checkout / results.REASONS).write_text(f'{claim.name} = "the noise is correlated"\n')
    assert "the noise is correlated" in told()
    (checkout / results.REASONS).write_text(f'{claim.name}x = "a slip"\n')
    with pytest.raises(results.ReasonsError, match=f"did you mean '{claim.name}'"):
        told()


def test_the_first_table_of_the_readme(checkout):
    place = checkout / "results" / "mazes"
    write(
        place, *seeds("zigzag-maze", "mural"), *seeds("zigzag-maze", "cnml"), *seeds("zigzag-maze", "vice", success=[0])
    )
    write(place, *seeds("zigzag-maze", "ddl", success=(0.2, 0.2, 0.2)))
    row = table(checkout)["zigzag-maze"]
    assert row["MURAL"] == "1.00 [1.00, 1.00]"
    assert row["VICE"] == "0.00 (1 seed)"
    assert row["best other"] == "0.20 [0.20, 0.20] ddl"
    assert row["MURAL's first 0.9"] == "20k steps, 2.0 min"
    write(place, *seeds("zigzag-maze", "sac-distance", success=(0.4, 0.4, 0.4)))
    assert table(checkout)["zigzag-maze"]["best other"].endswith("sac-distance, which is told the reward")


def test_the_command_writes_once(checkout, capsys):
    write(checkout / "results" / "mazes", *seeds("zigzag-maze", "mural"))
    cli.main(["results", "--root", str(checkout)])
    assert capsys.readouterr().out.split() == ["docs/results.md", "docs/claims.md", "README.md"]
    readme = (checkout / "README.md").read_text()
    assert readme.startswith(f"# Title\n\n{pages.BEGIN}\n\n| task |")
    assert readme.endswith(f"{pages.END}\n\nrest\n")
    assert "\nold\n" not in readme
    assert "![Success over steps" in (checkout / "docs" / "results.md").read_text()
    cli.main(["results", "--root", str(checkout)])
    assert "nothing has changed" in capsys.readouterr().out
    (checkout / "README.md").write_text("no marks")
    with pytest.raises(SystemExit):
        cli.main(["results", "--root", str(checkout), "--no-pictures"])
    assert pages.BEGIN in capsys.readouterr().err


def test_frames_are_early_and_end_with_the_last():
    chosen = [step for step, _ in strip.early([(step, None) for step in range(0, 101, 8)], 7)]
    assert (chosen[0], chosen[-1]) == (0, 96)
    assert chosen[1] - chosen[0] < chosen[-1] - chosen[-2]
    assert strip.early([(0, None), (5, None)], 7) == [(0, None), (5, None)]


@pytest.mark.parametrize(
    ("name", "title"),
    [("ant-maze", "ant\nmaze"), ("ant-maze-cnml-xy", "ant\nmaze\n(cnml-xy)"), ("walker", "ant\nmaze\n(walker)")],
)
def test_names_at_the_side_of_the_strip(name, title):
    assert strip.titled(name, "ant-maze") == title


def test_a_strip_of_mazes(tmp_path):
    """Only those that need no robots."""
    animals = [animal for animal in everything(ROOT / zoo.PLACE) if "maze" in animal.card["task"]][:1]
    picture = strip.draw(animals, tmp_path / "p.png")
    assert strip.shown(picture) == strip.fingerprints(animals)
    with strip_image(picture) as image:
        assert image.height == strip.HIGH + strip.GAP
        assert image.width > strip.LABEL + strip.FRAMES * strip.HIGH // 2
        assert len(image.convert("RGB").getcolors(1 << 20)) > 10


def test_a_film_of_a_maze(tmp_path):
    (animal,) = [animal for animal in everything(ROOT / zoo.PLACE) if animal.name == "zigzag-maze"]
    made = films.make(animal, tmp_path / "f.gif")
    assert films.shown(made) == strip.fingerprint(animal)
    assert films.shown(tmp_path / "none.gif") == ""
    with strip_image(made) as film:
        assert film.height == films.HIGH
        assert strip.FRAMES < film.n_frames <= films.FRAMES
        first = film.convert("RGB").tobytes()
        film.seek(film.n_frames - 1)
        assert film.convert("RGB").tobytes() != first


def strip_image(path):
    from PIL import Image

    return Image.open(path)


HOW = "run `mural results`, and commit what it writes"


def test_the_committed_pages_are_up_to_date(monkeypatch):
    monkeypatch.chdir(ROOT)
    made = pages.texts(Path())
    assert list(made) == [pages.PAGE, pages.LEDGER, pages.README]
    for place, text in made.items():
        assert (ROOT / place).read_text() == text, HOW


def test_the_committed_pictures_are_up_to_date():
    animals = everything(ROOT / zoo.PLACE)
    assert strip.shown(ROOT / strip.PICTURE) == strip.fingerprints(animals), HOW
    assert (ROOT / strip.PICTURE).stat().st_size <= strip.LARGEST
    for animal in animals:
        film = ROOT / films.film_of(animal.name)
        assert films.shown(film) == strip.fingerprint(animal), HOW
        assert film.stat().st_size <= films.LARGEST
    drawn = learning.comparisons(Ask(Where(ROOT / "results"), partial=True))
    kept = json.loads((ROOT / "docs" / "figures" / f"{results.CURVES}.json").read_text())
    assert kept["data"] == json.loads(json.dumps(tidy(drawn.data))), HOW
