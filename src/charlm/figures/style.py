"""What all pictures share: size, fonts, and freedom from a user's settings."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from PIL import Image

INK = "#222222"
QUIET = "#595959"

# Points. A figure of 6.4 inches shown 360 pixels wide has 56 pixels per inch: 10 points are 8 pixels there.
LARGE, MEDIUM, SMALL = 13, 11, 10

_FONT = "DejaVu Sans"  # comes with matplotlib
APART = ["DejaVu Sans Mono", _FONT]  # in which I, l and 1 differ, for single characters


@dataclass(frozen=True)
class Size:
    """How large a picture is, in inches, and how many pixels an inch has."""

    width: float
    height: float
    dpi: int

    def figure(self, *, height: float | None = None) -> Figure:
        """Return an empty picture of this width, and this height unless another is given."""
        return Figure(figsize=(self.width, height or self.height), dpi=self.dpi)


@contextmanager
def own_style() -> Iterator[None]:
    """Set matplotlib's own defaults, and with them the font it ships, whatever a user's matplotlibrc says."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"font.family": [_FONT], "text.color": INK, "axes.edgecolor": QUIET})
        yield


@own_style()
def png(figure: Figure) -> bytes:
    """Return the picture as a PNG file of 256 colours, which are enough for it and need a third of the space."""
    canvas, packed = FigureCanvasAgg(figure), io.BytesIO()
    canvas.draw()  # type: ignore[no-untyped-call]  # once; savefig would draw into nothing before
    pixels = canvas.buffer_rgba()  # type: ignore[no-untyped-call]
    image = Image.frombytes("RGBA", canvas.get_width_height(), bytes(pixels)).convert("RGB")
    image.quantize(256, dither=Image.Dither.NONE).save(packed, "png", optimize=True, dpi=(figure.dpi, figure.dpi))
    return packed.getvalue()


def drawable(text: str) -> str:
    """Return the text with a box for each character that the font lacks."""
    font = get_font(findfont(FontProperties(family=_FONT)))
    return "".join(c if font.get_char_index(ord(c)) else "□" for c in text)
