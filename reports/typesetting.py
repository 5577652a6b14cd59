"""Sets one paper: data in on standard input, the PDF out on standard output; a program of its own.

The typesetter keeps what it has once set, some 50 MB for each new paper, and gives nothing back. Run for one paper
at a time, the process that prints is gone with all of it, and the one that asked stays as small as it was.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TEMPLATE = HERE / "paper" / "plan.typ"
FONTS = HERE / "fonts"
SET_S = 60.0
"""So long a paper may take; one of 200 candidates takes about half a second of processor time."""


class NotSetError(RuntimeError):
    """The typesetter did not take the data; why, in its own words."""


class TooSlowError(NotSetError):
    """It did not end in time; on a machine with less to do it may."""


def compose(data: dict[str, Any], made_at_s: int) -> bytes:
    """The PDF (PDF/UA-1) of the data, stamped with a moment; the same bytes for the same data. Raises `NotSetError`."""
    order = json.dumps({"data": json.dumps(data, ensure_ascii=False), "timestamp": made_at_s})
    try:
        # Isolated: it reads neither the environment nor the folder it was started in.
        done = subprocess.run(
            [sys.executable, "-I", str(Path(__file__).resolve())],
            input=order.encode("ascii"),
            capture_output=True,
            timeout=SET_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TooSlowError("the typesetter did not end in time") from None
    if done.returncode:
        raise NotSetError(done.stderr.decode("utf-8", "replace")[-2000:])
    return done.stdout


def main() -> None:
    import typst  # only here: whoever asks for a paper does not load the typesetter

    order = json.load(sys.stdin.buffer)
    document = typst.compile(
        str(TEMPLATE),
        root=str(TEMPLATE.parent),
        font_paths=[str(FONTS)],
        ignore_system_fonts=True,
        format="pdf",
        pdf_standards=["ua-1"],
        sys_inputs={"data": order["data"]},
        timestamp=order["timestamp"],
    )
    sys.stdout.buffer.write(document)


if __name__ == "__main__":
    main()
