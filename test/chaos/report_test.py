#!/usr/bin/env python3
"""The report: one self-contained page, for runs of any length and content."""
import re
import sys
import unittest
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "cluster" / "chaos")]

import checker  # noqa: E402
import report  # noqa: E402
import spans  # noqa: E402
import svg  # noqa: E402
import tap  # noqa: E402
from made_run import Run  # noqa: E402


class Tags(HTMLParser):
    """Checks that every tag is closed, and keeps the text."""
    def __init__(self):
        super().__init__()
        self.open, self.said, self.attributes, self.names = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.attributes += attrs
        if tag != "meta":  # the only tag that is not closed
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.names.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> in {self.open}"
        self.open.pop()

    def handle_data(self, data):
        self.said.append(data)


class Case(unittest.TestCase):
    def draw(self, run):
        folder = run.write()
        checker.check(str(folder))
        path = report.write(str(folder))
        self.html = Path(path).read_text(encoding="utf-8")
        self.tags = Tags()
        self.tags.feed(self.html)
        self.assertEqual(self.tags.open, [])
        self.text = " ".join(self.tags.said)
        for picture in re.findall(r"<svg.*?</svg>", self.html, re.S):
            ElementTree.fromstring(picture)
        return self.html


def busy(seconds=10, processes=3, clients=4, every_ms=50, **run):
    made = Run(seconds=seconds, **run)
    names = [f"c{p}.{k}" for k in range(1, clients + 1) for p in range(1, processes + 1)]
    made.usual(end_ms=seconds * 1000, every_ms=every_ms, clients=names)
    return made


class Page(Case):
    def test_needs_nothing_else(self):
        self.draw(busy())
        for name in ("script", "link", "img", "iframe", "image", "use", "object"):
            self.assertNotIn(name, self.tags.names)
        self.assertNotRegex(self.html, r"(?i)https?:|url\(|@import|src=|href=")

    def test_shows_all_of_it(self):
        run = busy()
        run.state(3000, "n2", "down")
        run.state(4000, "n2", "up")
        run.fault("sigkill", 3000, 4000, node="n2")
        run.fault("client-kill", 5000, client="c3")
        run.fault("client-stop", 2000, 6000, client="c2")
        self.draw(run)
        for word in ("n1", "n5", "c1.1", "c3.4", "The lock held.", "sigkill", "down", "killed",
                     "stopped", "GRANTS PER SECOND", "WAIT FOR A LOCK", "median"):
            self.assertIn(word, self.text)

    def test_violation_is_seen_from_near(self):
        run = busy(seconds=5)
        run.hold("c1.1", 5000, 5100)
        run.hold("c2.1", 5050, 5200)
        run.run["ended_ns"] += 10**9
        self.draw(run)
        self.assertIn("DID NOT HOLD", self.text)
        self.assertIn("From near", self.text)
        self.assertIn("two at once: 50.0 ms", self.text)
        self.assertIn('class="violation"', self.html)

    def test_without_violation_nothing_is_near(self):
        self.draw(busy())
        self.assertNotIn("From near", self.text)
        self.assertNotIn('class="violation"', self.html)

    def test_text_of_others_is_escaped(self):
        run = busy(scenario="<script>alert(1)</script>", backend="\"><b>")
        run.fault("<i>", 1000, 2000, node="n1", detail="</svg><script>")
        run.event(500, "error", detail="</p><script>")
        self.draw(run)
        self.assertNotIn("script", self.tags.names)
        self.assertIn("<script>alert(1)</script>", self.text)

    def test_runs_that_cannot_be_judged(self):
        run = Run()
        self.draw(run)
        self.assertIn("CANNOT BE JUDGED", self.text)
        run.write()
        (run.folder / "run.json").write_text("{")
        (run.folder / "verdict.json").unlink()
        report.write(str(run.folder))
        self.assertIn("CANNOT BE JUDGED", (run.folder / "report.html").read_text())


class Size(Case):
    def test_half_an_hour(self):
        run = busy(seconds=1800, processes=8, clients=5, every_ms=100)
        for second in range(2, 1790, 6):
            node = f"n{second % 5 + 1}"
            run.state(second * 1000, node, ("down", "paused", "cut")[second % 3])
            run.state(second * 1000 + 3000, node, "up")
            run.fault("sigkill", second * 1000, second * 1000 + 3000, node=node)
        self.draw(run)
        self.assertLess(len(self.html.encode()), 2_000_000)
        self.assertIn("c8.5", self.text)

    def test_who_takes_a_place_takes_its_lanes(self):
        """An hour of killed processes needs only as many lanes as there are clients at a time."""
        def height(html):
            return float(re.search(r'viewBox="0 0 [\d.]+ ([\d.]+)"[^>]*aria-label="Timeline',
                                   html).group(1))

        plain = busy(seconds=10)
        before = height(self.draw(plain))
        run = busy(seconds=10, processes=2)
        for i in range(3, 100):
            begin = (i - 3) * 100
            for k in range(1, 5):
                at = begin + 20 + k * 9
                run.hold(f"c{i}.{k}", at, at + 6, resource=f"chaos-{k}{i}")
            run.fault("client-kill", begin + 80, client=f"c{i}")
        self.assertEqual(height(self.draw(run)), before)
        self.assertIn("c3.4: holding", self.html)
        self.assertIn("c99.4: holding", self.html)
        self.assertNotIn("not drawn", self.text)

    def test_too_many_clients_for_one_picture(self):
        run = busy(seconds=20, processes=10, clients=10, every_ms=30)
        run.hold("c10.10", 19_980, 19_995)
        run.hold("c1.1", 19_990, 19_996)
        self.draw(run)
        self.assertIn("52 more clients not drawn", self.text)
        self.assertLess(len(self.html.encode()), 2_000_000)


class Spans(unittest.TestCase):
    def test_union(self):
        self.assertEqual(spans.union([(5, 6), (1, 3), (2, 4), (4, 5), (7, 7)]), [(1, 6)])

    def test_blocks_keep_the_filled_share(self):
        """Thinned out or not, the same area is filled."""
        told = [(i * 10, i * 10 + 4) for i in range(10_000)]
        path = svg.blocks(told, svg.Scale(0, 100_000, 0, 1000), 0, 10)
        tops = [float(top) for top in re.findall(r"V([\d.]+)h", path)]
        self.assertGreater(len(tops), 900)
        self.assertLess(len(path), 20_000)
        self.assertAlmostEqual(sum(10 - top for top in tops) / len(tops), 4, delta=0.1)


if __name__ == "__main__":
    tap.main()
