"""The Story without a server: ``python -m tools.story.site`` (``make site``) runs six samples with the embedded model and
writes ``site/``, a page for each and what they share. They open from a folder, a memory stick or any web space. It stands with the
tools, as a teacher who makes a site has a checkout; the installed program has ``explain --html``."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from rita_demo.data.samples import sample
from rita_demo.engine.engine import Engine
from rita_demo.pipeline import story
from rita_demo.pipeline.attack_steps import attack_step_results
from rita_demo.pipeline.run import run_picture
from rita_demo.process.generators import run_to_end
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.header.standalone_page import script, story_page, style_sheet
from rita_demo.ui.widgets.data_uri import jpeg_uri

#: RITA holds; only the average holds; wrong without an attack, and RITA with it; all fall; CLIP is wrong without an attack;
#: a drawn texture. The first one is the index.
PICTURES = ("motorcycle", "coffee", "palace", "flower", "clock", "honeycombed")
HEAD = Markup("<link rel='stylesheet' href='style.css'><script src='story.js'></script>")
THUMBNAIL = 112  # pixels: 56 on the page, on a screen with twice as many


def write_site(engine: Engine, folder: Path, keys: Sequence[str] = PICTURES) -> None:
    """Run the samples, each with an empty memory, and write their pages. Raises PictureError: a file is missing."""
    rows, settings = [sample(key) for key in keys], RECOMMENDED
    pictures = [row.load(square=settings.square, side=engine.info.side) for row in rows]
    addresses = ["index.html", *(f"{key}.html" for key in keys[1:])]
    thumbnails = [jpeg_uri(picture.pixels, THUMBNAIL) for picture in pictures]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "style.css").write_text(style_sheet(), encoding="utf-8")
    (folder / "story.js").write_text(script(), encoding="utf-8")
    for row, picture, address in zip(rows, pictures, addresses, strict=True):
        print(f"{row.title}: {address}", flush=True)
        run = run_picture(engine, picture, row.names, settings, label=row.names.index(row.label))
        sides = {"clean": run.clean, "attacked": run.attacked}
        page = story_page(
            run,
            {name: engine.view_pixels(side.picture, settings) for name, side in sides.items()},
            tuple(attack_step_results(engine, run)),
            run_to_end(story.story_steps(engine, run)),
            HEAD,
            pictures=[(to, image, one.title, to == address) for to, image, one in zip(addresses, thumbnails, rows)],
        )
        (folder / address).write_text(page, encoding="utf-8")


def main(args: Sequence[str] | None = None) -> None:
    """Write the site."""
    parser = argparse.ArgumentParser(prog="python -m tools.story.site", description=__doc__)
    parser.add_argument("--out", metavar="DIR", type=Path, default=Path("site"), help="default: site")
    folder = parser.parse_args(args).out
    write_site(Engine("embedded"), folder)
    size = sum(file.stat().st_size for file in folder.iterdir())
    print(f"Written: {folder / 'index.html'} and the rest, {size / 1e6:.1f} MB.")


if __name__ == "__main__":
    main()
