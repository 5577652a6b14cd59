"""Makes the fonts of the paper from the released ones: ``python reports/fonts/make.py FOLDER``.

FOLDER holds the unpacked npm packages ``@expo-google-fonts/noto-sans-jp`` 0.4.3 and
``@expo-google-fonts/inter`` 0.4.2 (both SIL Open Font License 1.1). Static weights are cut down to what
Windows-31J, JIS X 0213 plane 1 and European Latin need, without hints; ``coverage.txt`` lists, as
hexadecimal ranges, the characters that the paper can show.
"""

from __future__ import annotations

import codecs
import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

HERE = Path(__file__).resolve().parent
SOURCES = {
    "NotoSansJP-Regular.ttf": "NotoSansJP_400Regular.ttf",
    "NotoSansJP-SemiBold.ttf": "NotoSansJP_600SemiBold.ttf",
    "Inter-Regular.ttf": "Inter_400Regular.ttf",
    "Inter-SemiBold.ttf": "Inter_600SemiBold.ttf",
}
LATIN_RANGES = ((0x20, 0x7F), (0xA0, 0x250), (0x2000, 0x2120), (0x2190, 0x2300))
LATIN = {point for start, end in LATIN_RANGES for point in range(start, end)}
FEATURES = ["kern", "liga", "calt", "ccmp", "locl", "mark", "mkmk", "tnum", "vert"]


def japanese() -> set[int]:
    """The characters of Windows-31J and of plane 1 of JIS X 0213 (two bytes in EUC)."""
    found = {0x20BB7}  # the other way to write the family name Yoshida
    for point in range(0xA0, 0x2FFFF):
        if 0xD800 <= point < 0xF900:
            continue
        for name, longest in (("cp932", 2), ("euc_jis_2004", 2)):
            try:
                if len(codecs.encode(chr(point), name)) <= longest:
                    found.add(point)
                    break
            except UnicodeEncodeError:
                continue
    return found


def ranges(points: set[int]) -> str:
    rows: list[list[int]] = []
    for point in sorted(points):
        if rows and point == rows[-1][1] + 1:
            rows[-1][1] = point
        else:
            rows.append([point, point])
    return "".join(f"{first:x}-{last:x}\n" for first, last in rows)


def main(folder: Path) -> None:
    covered: set[int] = set()
    for target, source in SOURCES.items():
        path = next(folder.rglob(source))
        wanted = LATIN | japanese() if target.startswith("Noto") else LATIN
        options = subset.Options(
            layout_features=FEATURES,
            hinting=False,
            notdef_outline=True,
            name_IDs=["*"],
            recalc_timestamp=False,
        )
        font = subset.load_font(str(path), options)
        cutter = subset.Subsetter(options)
        cutter.populate(unicodes=sorted(wanted))
        cutter.subset(font)
        subset.save_font(font, str(HERE / target), options)
        points = set(TTFont(HERE / target).getBestCmap())
        covered = points if target == "NotoSansJP-Regular.ttf" else covered | points
        sys.stdout.write(f"{target}: {len(points)} characters, {(HERE / target).stat().st_size:,} bytes\n")
    (HERE / "coverage.txt").write_text(ranges(covered), encoding="ascii")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
