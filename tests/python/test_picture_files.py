#!/usr/bin/env python3
"""Pictures by the ending of their names: SVG, and PNG and PDF made of it.

usage: test_picture_files.py MESHSIM [unittest arguments]
"""

import re
import struct

import programs
from programs import ROOT


class PictureFiles(programs.ProgramTest):
    def draw(self, name, **how):
        return self.meshsim("schedule", "1f1b", "-p4", "-m8", "--gantt", name, **how).stderr

    def test_png_has_two_pixels_for_each_unit(self):
        self.draw("order.svg")
        self.draw("order.png")
        svg = (self.folder / "order.svg").read_text(encoding="utf-8")
        size = [float(re.search(rf'<svg[^>]* {name}="([0-9.]+)"', svg).group(1)) for name in ("width", "height")]
        png = (self.folder / "order.png").read_bytes()
        self.assertEqual(png[:8], b"\x89PNG\r\n\x1a\n")
        for drawn, wanted in zip(struct.unpack(">II", png[16:24]), size):
            self.assertLessEqual(abs(drawn - 2 * wanted), 1)

    def test_pdf(self):
        self.draw("order.pdf")
        pdf = (self.folder / "order.pdf").read_bytes()
        self.assertEqual(pdf[:5], b"%PDF-")
        self.assertIn(b"%%EOF", pdf[-16:])

    def test_pictures_of_traces_and_platforms(self):
        self.meshsim("run", str(ROOT / "workloads/tiny.yaml"), "-o", "t.h5")
        self.meshsim("report", "t.h5", "-o", "t.png")
        self.meshsim("platform", "dgx-a100", "--set", "platform.nodes=2", "--svg", "p.pdf")
        self.assertEqual((self.folder / "t.png").read_bytes()[:4], b"\x89PNG")
        self.assertEqual((self.folder / "p.pdf").read_bytes()[:5], b"%PDF-")

    def test_what_cannot_be_drawn_leaves_the_older_one(self):
        (self.folder / "order.png").write_text("older", encoding="utf-8")
        self.assertIn("there is no program rsvg-convert (Debian's librsvg2-bin)", self.draw("order.png", code=4, PATH=str(self.folder)))
        program = self.folder / "rsvg-convert"
        program.write_text("#!/bin/sh\necho too large >&2\nexit 1\n", encoding="utf-8")
        program.chmod(0o755)
        self.assertIn("cannot draw 'order.png': rsvg-convert failed: too large", self.draw("order.png", code=4, PATH=f"{self.folder}:/usr/bin:/bin"))
        self.assertEqual((self.folder / "order.png").read_text(encoding="utf-8"), "older")

    def test_other_endings_are_refused(self):
        self.assertIn("a picture as JPEG, which no command writes", self.draw("order.jpg", code=2))
        tiny, platform = str(ROOT / "workloads/tiny.yaml"), "dgx-a100"
        calls = (("schedule", "1f1b", "-p4", "-m8", "--gantt"), ("check", tiny, "--svg"), ("collective", "all_reduce", "--platform", platform, "-n8", "--plot"),
                 ("sweep", str(ROOT / "workloads/studies/tiny-links.yaml"), "--plot"), ("platform", platform, "--svg"), ("search", tiny, "--pareto"),
                 ("plot", "t.json", "-o"), ("report", "t.h5", "-o"))
        for words in calls:
            for name in ("x.gif", "x.webp", "x.eps", "x.bmp", "x.tiff", "x", "a.svg/x"):
                said = self.meshsim(*words, name, code=2).stderr
                self.assertIn(f"'{name}' must end in ", said)
        self.assertEqual(list(self.folder.iterdir()), [])
        self.meshsim("check", tiny, "--svg", "x.SVG")
        self.meshsim("check", tiny, "--svg", "x.PNG")
        self.assertIn(b"<svg", (self.folder / "x.SVG").read_bytes())
        self.assertEqual((self.folder / "x.PNG").read_bytes()[1:4], b"PNG")
        drawn = self.meshsim("check", tiny, "--json").stdout
        (self.folder / "t.json").write_text(drawn, encoding="utf-8")
        self.meshsim("plot", "t.json", "--format", "svg", "-o", "x")  # --format names what the ending does not
        self.assertIn(b"<svg", (self.folder / "x").read_bytes())


if __name__ == "__main__":
    programs.main(__doc__)
