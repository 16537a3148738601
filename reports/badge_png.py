"""The badges as PNG, for places that refuse SVG; drawn by Pillow with the font it brings along."""

import io
from typing import Final

from PIL import Image, ImageDraw, ImageFont
from PIL.PngImagePlugin import PngInfo

from conformance.reports.badge import LABEL_COLOUR, Badge, colour

_SCALE: Final = 2
"""Pixels for each point, so that the picture is sharp on today's screens."""
_HEIGHT: Final = 20 * _SCALE
_PADDING: Final = 7 * _SCALE
_RADIUS: Final = 3 * _SCALE
_FONT_SIZE: Final = 11.5 * _SCALE
_WHITE: Final = "#ffffff"


def png(badge: Badge) -> bytes:
    """Draw the badge at twice the size of the SVG. The same version of Pillow draws the same pixels."""
    font = ImageFont.load_default(size=_FONT_SIZE)
    left, right = (_plain(text) for text in (badge.label, badge.message))
    middle = round(font.getlength(left)) + 2 * _PADDING
    width = middle + round(font.getlength(right)) + 2 * _PADDING
    picture = Image.new("RGBA", (width, _HEIGHT), (0, 0, 0, 0))
    draw = ImageDraw.Draw(picture)
    draw.rounded_rectangle((0, 0, width - 1, _HEIGHT - 1), _RADIUS, fill=colour(badge.verdict))
    corners = (True, False, False, True)
    draw.rounded_rectangle((0, 0, middle - 1, _HEIGHT - 1), _RADIUS, fill=LABEL_COLOUR, corners=corners)
    draw.text((_PADDING, _HEIGHT / 2), left, fill=_WHITE, font=font, anchor="lm")
    draw.text((middle + _PADDING, _HEIGHT / 2), right, fill=_WHITE, font=font, anchor="lm")
    about = PngInfo()
    about.add_itxt("Title", f"{badge.label}: {badge.message}")
    data = io.BytesIO()
    picture.save(data, "PNG", pnginfo=about, optimize=True)
    return data.getvalue()


def _plain(text: str) -> str:
    # The font knows little more than ASCII, and a box says less than a question mark.
    return text.encode("ascii", "replace").decode()
