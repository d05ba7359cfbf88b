"""The page in a browser: sliders move, phones and desktops can read it, and nothing goes in or out."""

import json
import shutil

import pytest

from mural.study.report.page import write
from tests.study.report.folders import run_folder, with_maps, with_pictures
from tests.study.report.test_page import EVIL

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here; Debian's package chromium brings one")
SCREENS = {"phone": (360, 740), "tablet": (768, 1024), "desktop": (1440, 900)}


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    """A page of a run with maps, one with pictures alone, and a stranger's."""
    home = tmp_path_factory.mktemp("page")
    with_maps(run_folder(home / "runs" / "a-maps"))
    with_pictures(run_folder(home / "runs" / "b-pictures", method="vice"))
    evil = run_folder(home / "runs" / EVIL.replace("/", "∕"), task=EVIL, method=f"{EVIL} <b>", seed=EVIL)
    (evil / "versions.json").write_text(json.dumps({EVIL: EVIL, "style": "</style><style>body{display:none}"}))
    out = home / "report.html"
    write([home / "runs"], out, strips=False)
    return out


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        # Without a sandbox, as root in containers has none; what is opened is our own file.
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


@pytest.fixture
def heard():
    """What pages asked for, said, and tried."""
    return {"requests": [], "messages": []}


@pytest.fixture
def opened(browser, html, heard):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.on("request", lambda request: heard["requests"].append(request.url))
    page.on("console", lambda message: heard["messages"].append(message.text))
    page.on("pageerror", lambda error: heard["messages"].append(str(error)))
    page.on("dialog", lambda dialog: (heard["messages"].append("dialog"), dialog.dismiss()))
    page.goto(html.as_uri())
    yield page
    page.close()


def state(page, card):
    """What a card shows."""
    return {
        "output": card.locator("output").inner_text(),
        "told": card.locator(".told").inner_text(),
        "shown": card.locator("[data-show]").evaluate_all(
            "parts => parts.map(p => p.getAttribute('href') || p.getAttribute('src') || p.getAttribute('points') || '')"
        ),
    }


def card_of(page, name):
    return page.locator("article", has=page.locator("h3", has_text=name))


def test_the_slider_moves_maps_numbers_and_reliability(opened):
    card = card_of(opened, "a-maps")
    slider = card.locator("input[type=range]")
    last = state(opened, card)
    assert last["output"] == "step 3,000, epoch 3"
    assert "success 100%" in last["told"]
    assert card.locator("circle.point").count() == 3
    slider.focus()
    opened.keyboard.press("Home")
    first = state(opened, card)
    assert first["output"] == "step 1,000, epoch 1"
    assert "success 0%" in first["told"]
    reward, visits, under, path, *_ = zip(first["shown"], last["shown"], strict=True)
    assert reward[0].startswith("data:image/png")
    assert visits[0] != visits[1]
    assert under == path
    assert path == ("0,50 25,25", "0,50 75,25")
    assert slider.get_attribute("aria-valuetext") == first["output"]


def test_pictures_move_too_and_other_cards_stay(opened):
    moved, still = card_of(opened, "b-pictures"), card_of(opened, "a-maps")
    before, other = state(opened, moved), state(opened, still)
    moved.locator("input[type=range]").click(position={"x": 3, "y": 17})
    after = state(opened, moved)
    assert (before["output"], after["output"]) == ("step 2,000, epoch 2", "step 1,000, epoch 1")
    assert before["shown"] != after["shown"]
    assert state(opened, still) == other
    assert moved.locator("img[data-show]").evaluate("image => image.complete && image.naturalWidth") == 90


def test_it_plays_to_the_end_and_stops(opened):
    card = card_of(opened, "a-maps")
    button = card.locator("button")
    button.click()
    assert card.locator("output").inner_text() == "step 1,000, epoch 1"
    assert button.get_attribute("aria-label") == "Pause"
    card.locator("button[aria-label='Play over time']").wait_for(timeout=10_000)
    assert card.locator("output").inner_text() == "step 3,000, epoch 3"


@pytest.mark.parametrize("screen", SCREENS)
def test_it_fits_the_screen(opened, screen):
    width, height = SCREENS[screen]
    opened.set_viewport_size({"width": width, "height": height})
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    outside = opened.evaluate(
        """() => [...document.querySelectorAll('main *')].filter(e => !e.closest('.wide, svg, details:not([open])')
           && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"""
    )
    assert outside == []
    smallest = opened.evaluate(
        "Math.min(...[...document.querySelectorAll('p, td, th, figcaption, li')].map(e => "
        "parseFloat(getComputedStyle(e).fontSize)))"
    )
    assert smallest >= 12
    slider = card_of(opened, "a-maps").locator("input[type=range]").bounding_box()
    assert slider["width"] >= 150
    assert slider["height"] >= 30  # a finger
    maps = [found.bounding_box()["width"] for found in card_of(opened, "a-maps").locator("svg.map").all()]
    assert min(maps) >= 180


def test_curves_use_the_width_and_tables_that_do_not_fit_say_so(opened):
    def ends():
        return opened.evaluate(
            """() => [...document.querySelectorAll('.panels')].map(p =>
               p.getBoundingClientRect().right - p.lastElementChild.getBoundingClientRect().right)"""
        )

    assert ends() == pytest.approx([0.0] * len(ends()), abs=2)
    assert ends()
    opened.set_viewport_size({"width": SCREENS["phone"][0], "height": 800})
    table = opened.locator(".wide", has=opened.locator(".runs"))
    assert table.evaluate("e => e.scrollWidth > e.clientWidth")
    assert "gradient" in table.evaluate("e => getComputedStyle(e).backgroundImage")  # the shadow at its edge
    steps = opened.locator(".runs thead th", has_text="steps").bounding_box()
    assert steps["x"] + steps["width"] <= SCREENS["phone"][0]  # what matters is seen without scrolling


def test_nothing_leaves_the_page_and_nothing_strange_runs(opened, html, heard):
    opened.mouse.wheel(0, 20_000)
    for summary in opened.locator("summary").all():
        summary.click()
    for slider in opened.locator("input[type=range]").all():
        slider.focus()
        opened.keyboard.press("Home")
    opened.wait_for_timeout(200)
    assert [url for url in heard["requests"] if not url.startswith("data:image/")] == [html.as_uri()]
    assert heard["messages"] == []
    assert EVIL in opened.locator("#settings").inner_text()
    assert opened.locator("main").is_visible()


def test_the_policy_of_the_page_stops_what_would_slip_in(opened, heard):
    """Even if something were to get in: no script of others runs, and no request leaves."""
    opened.evaluate(
        """() => { const box = document.createElement('div');
           box.innerHTML = '<img src="http://127.0.0.1:9/x.png" onerror="alert(1)">'; document.body.append(box);
           const script = document.createElement('script'); script.textContent = 'alert(2)';
           document.body.append(script); }"""
    )
    opened.wait_for_timeout(200)
    assert "dialog" not in heard["messages"]
    assert len([text for text in heard["messages"] if "Content Security Policy" in text]) >= 2
