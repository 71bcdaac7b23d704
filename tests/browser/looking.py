"""Looking at a screen as people do: on a desk, in the dark, on a phone, and with an aid to reading."""

from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

SCREENS = Path(__file__).parents[2] / "docs" / "screens"
DESK = {"width": 1280, "height": 900}
PHONE = {"width": 375, "height": 812}
TALLEST = 1500  # pixels of a phone's picture
GRAVE = ("serious", "critical")


class Looks:
    """`keep` says whether what is seen is kept in docs/screens/."""

    def __init__(self, page: Page, keep: bool) -> None:
        self._page = page
        self._keep = keep

    def good(self, name: str) -> None:
        """The screen is legible in all lights and on a phone, and says to a screen reader what it shows."""
        for theme in ("light", "dark"):
            self._page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
            self._page.evaluate(THEME, theme)
            self._is_accessible(name, theme)
            self._picture(name if theme == "light" else f"{name}-{theme}")
        self._page.evaluate(THEME, "light")
        self._page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        assert self._page.evaluate(OVERHANG) <= 0, f"{name} is wider than a phone"
        self._is_accessible(name, "on a phone")
        height = max(PHONE["height"], min(self._page.evaluate(LENGTH), TALLEST))
        self._page.set_viewport_size({"width": PHONE["width"], "height": height})
        self._picture(f"{name}-phone")
        self._page.set_viewport_size(DESK)  # type: ignore[arg-type]

    def _is_accessible(self, name: str, how: str) -> None:
        found = Axe().run(self._page, context=".screen").response["violations"]
        grave = [
            f"{one['id']}: {one['help']}: {node['html'][:300]} {node.get('failureSummary', '')[:300]}"
            for one in found
            if one["impact"] in GRAVE
            for node in one["nodes"]
        ]
        assert not grave, f"{name}, {how}:\n" + "\n".join(grave)

    def _picture(self, name: str) -> None:
        if self._keep:
            self._page.screenshot(path=SCREENS / f"{name}.png", animations="disabled")


THEME = "theme => document.documentElement.classList.toggle('dark', theme === 'dark')"
LENGTH = "document.documentElement.scrollHeight"
OVERHANG = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
