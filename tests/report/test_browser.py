"""The HTML report in a real browser: whole, at rest, and fit for a phone, a desk and the night."""

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image

from charlm import paths
from tests.browser import Browser, Page

REPORT = Path(__file__).resolve().parent.parent.parent / paths.HTML_REPORT
PageOf = Callable[[str], Page]
WIDTHS, SCHEMES = (360, 1280), ("light", "dark")

# For each element with text of its own: the contrast (WCAG 2) of that text and the nearest background behind it.
CONTRASTS = """
(() => {
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  const luminance = colour => colour.slice(0, 3).map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = element => {
    for (; element; element = element.parentElement) {
      const style = getComputedStyle(element);
      if (style.backgroundImage.startsWith('linear-gradient')) return rgb(style.backgroundImage);
      const colour = rgb(style.backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  return [...document.body.querySelectorAll('*')]
    .filter(element => [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim()))
    .map(element => {
      const [ink, paper] = [luminance(rgb(getComputedStyle(element).color)), luminance(behind(element))];
      return [element.textContent.slice(0, 40), (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05)];
    });
})()
"""
# For each picture: pixels of the file, pixels on the page, and what it shows.
PICTURES = "[...document.images].map(image => [image.naturalWidth, image.getBoundingClientRect().width, image.alt])"
OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"
# Elements that stick out of the window and lie in no box that scrolls.
STICKING_OUT = """
[...document.body.querySelectorAll('*')].filter(element => !element.closest('.wide') &&
  element.getBoundingClientRect().right > window.innerWidth + 0.5).map(element => element.outerHTML.slice(0, 80))
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as browser:
        yield browser


@pytest.fixture
def page_of(tmp_path: Path, browser: Browser) -> PageOf:
    """Return a function that opens some HTML."""

    def open_html(html: str) -> Page:
        file = tmp_path / "page.html"
        file.write_text(html, encoding="utf-8")
        return browser.open(file, width=360)

    return open_html


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
class TestTheReport:
    def test_asks_for_nothing_and_complains_of_nothing(self, browser: Browser, width: int, scheme: str) -> None:
        page = browser.open(REPORT, width=width, scheme=scheme)
        assert page.complaints == []
        assert page.requests[0] == REPORT.as_uri()
        assert [address[:60] for address in page.requests[1:] if not address.startswith("data:image/png;base64,")] == []

    def test_fits_the_window(self, browser: Browser, width: int, scheme: str) -> None:
        browser.open(REPORT, width=width, scheme=scheme)
        assert browser.run(OVERFLOW) == 0
        assert browser.run(STICKING_OUT) == []

    def test_shows_every_picture(self, browser: Browser, width: int, scheme: str) -> None:
        browser.open(REPORT, width=width, scheme=scheme)
        pictures = browser.run(PICTURES)
        assert len(pictures) == len(re.findall("<img ", REPORT.read_text(encoding="utf-8"))) == 6
        for natural_width, shown_width, alternative in pictures:
            assert natural_width >= 2 * shown_width > 0, "two pixels of the file for each of the page"
            assert shown_width > 0.9 * min(width, 500)
            assert alternative

    def test_can_be_read(self, browser: Browser, width: int, scheme: str) -> None:
        browser.open(REPORT, width=width, scheme=scheme)
        contrasts = browser.run(CONTRASTS)
        assert len(contrasts) > 100
        assert [(text, round(contrast, 1)) for text, contrast in contrasts if contrast < 4.5] == []

    def test_begins_with_question_answer_and_picture(self, browser: Browser, width: int, scheme: str) -> None:
        browser.open(REPORT, width=width, scheme=scheme)
        tops = "['h1', '.answer', '.picture', 'h2'].map(one => document.querySelector(one).getBoundingClientRect().top)"
        question, answer, picture, results = browser.run(tops)
        assert question < answer < results
        assert picture < 800, "it begins on the first screen"
        assert picture < results < 800 or width < 1280, "on a desk it ends there"


def test_dark_is_dark_and_so_are_the_pictures(browser: Browser) -> None:
    for scheme, grey in (("light", 0xFF), ("dark", 0x12)):
        browser.open(REPORT, width=1280, scheme=scheme)
        screen = Image.open(io.BytesIO(browser.screenshot())).convert("RGB")
        left, top = browser.run("(r => [r.left, r.top])(document.querySelector('.picture').getBoundingClientRect())")
        for place in ((2, 2), (int(left) + 3, int(top) + 3)):
            assert screen.getpixel(place) == (grey, grey, grey), (scheme, place)


class TestTheTestItself:
    """Each check fails where there is something to find."""

    def test_sees_requests_and_complaints(self, page_of: PageOf) -> None:
        page = page_of('<img src="http://127.0.0.1:9/x.png"><script>console.error("no")</script>')
        assert "http://127.0.0.1:9/x.png" in page.requests
        assert any('"no"' in complaint for complaint in page.complaints)

    def test_sees_an_exception_and_a_broken_policy(self, page_of: PageOf) -> None:
        assert page_of("<script>throw new Error('thrown')</script>").complaints
        policy = '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'">'
        assert page_of(f"{policy}<img src='http://127.0.0.1:9/x.png'>").complaints

    def test_sees_what_is_too_wide(self, browser: Browser, page_of: PageOf) -> None:
        page_of("<p style='width: 400px'>wide</p>")
        assert browser.run(OVERFLOW) > 0
        assert browser.run(STICKING_OUT)

    def test_sees_a_picture_that_did_not_load(self, browser: Browser, page_of: PageOf) -> None:
        page_of("<img alt='x' src='data:image/png;base64,AAAA'>")
        assert browser.run(PICTURES)[0][0] == 0

    def test_sees_pale_text(self, browser: Browser, page_of: PageOf) -> None:
        page_of("<body style='background: #fff'><p style='color: #999'>pale</p><p style='color: #666'>well</p>")
        assert [contrast < 4.5 for _, contrast in browser.run(CONTRASTS)] == [True, False]
