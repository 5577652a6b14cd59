"""Take the pictures of this folder from a running Mitsumori: ``python docs/make_pictures.py http://127.0.0.1:8000``.

Needs Chromium and the test requirements. Every picture is the real page on the catalog of that server.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
WORKBENCH = (
    "/workbench/?model=meta-llama/Llama-3.3-70B-Instruct&weights=fp8&users=12&users_peak=48&complete=1"
)
PICTURES = (
    ("workbench.png", WORKBENCH, 1440, 900, "light", "en-GB"),
    ("workbench-dark-ja.png", WORKBENCH, 1440, 900, "dark", "ja-JP"),
    ("workbench-narrow.png", WORKBENCH, 390, 844, "light", "en-GB"),
)


def main(address: str) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no Chromium: sudo apt-get install -y chromium fonts-noto-cjk")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for name, path, width, height, theme, language in PICTURES:
            context = browser.new_context(
                base_url=address, viewport={"width": width, "height": height}, locale=language,
                color_scheme="dark" if theme == "dark" else "light",
            )  # fmt: skip
            page = context.new_page()
            page.goto(path)
            page.wait_for_load_state("networkidle")
            page.screenshot(path=HERE / name)
            context.close()
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000")
