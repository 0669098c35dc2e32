#!/usr/bin/env python3
"""Everything public is in the reference, with a text; each status has a cause and a remedy; the manual
pages and the site are well formed; and the code in the headers compiles. TAP.

    reference_test.py SOURCE_ROOT CC CXX SITE     CXX: "-", no C++. SITE: yes, Sphinx and the theme are there

Copies of the headers, each with something left out, show that omissions are found.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT, CC, CXX, SITE = sys.argv[1:]
del sys.argv[1:]
sys.path[:0] = [os.path.join(ROOT, "reference"), os.path.join(ROOT, "test", "chaos")]

import headers  # noqa: E402
import pages  # noqa: E402
import tap  # noqa: E402
from library import Library  # noqa: E402
from manual import Manual  # noqa: E402

INCLUDE = os.path.join(ROOT, "include", "redlock")
WITHOUT_DEFAULT = {"size", "nodes", "n_nodes", "resources", "n_resources", "name", "name_length"}


def missing(folder):
    """Public names without a page or a text, one line for each."""
    try:
        library = Library(folder)
        manual = Manual(library)
    except headers.Unknown as unknown:
        return [str(unknown)]
    reference = pages.Reference(library)
    site = "\n".join(
        [reference.header_page(header) for header in library.headers]
        + [reference.status_page(), reference.class_page()]
    )
    lines = []
    with open(os.path.join(ROOT, "lib", "redlock.map"), encoding="utf-8") as file:
        exported = re.findall(r"^ *(redlock_\w+);$", file.read(), re.M)
    for name in exported + sorted(library.types):
        if name not in manual.pages:
            lines.append(f"{name}: no manual page")
        if not re.search(rf"^ *\.\. c:\S+:: .*\b{name}\b|^``enum {name}``$|^ +\S.*\b{name}\(", site, re.M):
            lines.append(f"{name}: not on the site")
    for header in library.headers:
        initializers = {
            (library.initializer(header, entry) or entry).name
            for entry in header.entries
            if entry.kind == "struct"
        }
        for entry in header.entries:
            if not entry.comment.strip() and entry.name not in initializers:
                lines.append(f"{header.name}: {entry.name}: no text")
            for field in entry.fields:
                text = headers.join(field.before, field.behind)
                if not text and (entry.kind == "enum" or entry.name.endswith("_options")):
                    lines.append(f"{header.name}: {entry.name}.{field.name}: no text")
                elif entry.name.endswith("_options") and field.name not in WITHOUT_DEFAULT:
                    if "Default" not in text and not has_error(field.name):
                        lines.append(f"{header.name}: {entry.name}.{field.name}: no default")
    for status in library.statuses:
        if not (status.text and status.cause and status.remedy):
            lines.append(f"{status.name}: no cause and remedy")
        if f"REDLOCK_{status.name}\\fP" not in manual.pages["redlock_status"]:
            lines.append(f"{status.name}: not in redlock_status(3)")
    for one in library.classes:
        named = set()
        for member in one.members:
            said = member.comment or member.calls or member.name in named or "options" in one.name
            if member.is_own and not said:
                lines.append(f"redlock.hpp: {one.name}::{member.name}: no text")
            named.add(member.name)
        if not one.comment and one.name:
            lines.append(f"redlock.hpp: {one.name}: no text")
    return lines


def has_error(name):
    """Where an error text goes: it has its default beside its other half."""
    return name.startswith("error")


class Everything(unittest.TestCase):
    def test_public_names_have_a_page_and_a_text(self):
        self.assertEqual(missing(INCLUDE), [])

    def test_statuses_are_all_there(self):
        with open(os.path.join(INCLUDE, "status.h"), encoding="utf-8") as file:
            counted = len(re.findall(r"^ +X\(", file.read(), re.M))
        self.assertEqual(len(Library(INCLUDE).statuses), counted)

    def found(self, name, pattern, instead, says):
        """A copy of the headers in which the pattern is replaced must be rejected."""
        with tempfile.TemporaryDirectory() as scratch:
            folder = os.path.join(scratch, "redlock")
            shutil.copytree(INCLUDE, folder)
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            changed = re.sub(pattern, instead, text, count=1, flags=re.S)
            self.assertNotEqual(changed, text)
            with open(path, "w", encoding="utf-8") as file:
                file.write(changed)
            lines = missing(folder)
            self.assertTrue(any(says in line for line in lines), f"{says}: {lines}")

    def test_a_function_without_text_is_found(self):
        self.found("lock.h", r"/\* The client of a lock\..*?\*/\n", "", "redlock_lock_client: no text")

    def test_a_function_without_a_page_is_found(self):
        self.found("token.h", r"REDLOCK_API int redlock_disown\(", "int own(", "own(")

    def test_an_option_without_text_is_found(self):
        self.found("redlock.h", r" +/\* what `trace` is given.*?\*/", "", "trace_data: no text")

    def test_an_option_without_a_default_is_found(self):
        self.found("redlock.h", r" Default 250\.", "", "node_timeout_ms: no default")

    def test_a_status_without_a_remedy_is_found(self):
        self.found("status.h", r" \*         remedy: wait for longer.*?(?= \*     R)", "", "ERR_HELD")

    def test_a_new_status_without_a_cause_is_found(self):
        new = r"    X(ERR_NEW, -30, \"new\")  \\\n"
        self.found("status.h", r"(?=    /\* why a node's vote failed)", new, "ERR_NEW")

    def test_a_member_without_text_is_found(self):
        self.found("redlock.hpp", r"    // REDLOCK_ERR_\.\.\.\n(?=    int status)", "", "error::status")

    def test_a_form_that_is_not_known_is_refused(self):
        self.found("guard.h", r"(?=enum redlock_guard)", "union odd { int a; };\n", "union odd")


class ManualPages(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = os.path.join(self.scratch.name, "man3")
        program = os.path.join(ROOT, "reference", "manual.py")
        subprocess.run([sys.executable, "-B", program, INCLUDE, self.folder], check=True)

    def files(self):
        return [os.path.join(self.folder, name) for name in sorted(os.listdir(self.folder))]

    def written(self):
        """Pages that are not links to others."""
        paths = []
        for path in self.files():
            with open(path, encoding="utf-8") as file:
                if not file.read().startswith(".so"):
                    paths.append(path)
        return paths

    def test_links_lead_to_pages(self):
        for path in self.files():
            with open(path, encoding="utf-8") as file:
                found = re.match(r"\.so man3/(\S+)$", file.readline())
            if found:
                self.assertTrue(os.path.exists(os.path.join(self.folder, found.group(1))), path)

    @unittest.skipUnless(shutil.which("man"), "man is not installed")
    def test_man_has_no_warnings(self):
        everything = os.path.join(self.scratch.name, "all")
        with open(everything, "w", encoding="utf-8") as out:
            for path in self.written():
                with open(path, encoding="utf-8") as file:
                    out.write(file.read())
        command = ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", everything]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        self.assertEqual((done.returncode, done.stderr.decode()), (0, ""))

    @unittest.skipUnless(shutil.which("mandoc"), "mandoc is not installed")
    def test_mandoc_has_none_either(self):
        done = subprocess.run(
            ["mandoc", "-Tlint", "-Wwarning", *self.written()], stdout=subprocess.PIPE, check=False
        )
        lines = [line for line in done.stdout.decode().splitlines() if "missing date" not in line]
        self.assertEqual(lines, [])

    @unittest.skipUnless(shutil.which("man"), "man is not installed")
    def test_man_finds_a_function(self):
        command = ["man", "-M", self.scratch.name, "3", "redlock_semaphore_fence"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertIn("redlock_semaphore_token(", done.stdout.decode())


# The program around a comment's code, which declares its names.
C_AROUND = '#include <stdio.h>\n%s\nvoid example(redlock_lock *lock);\nvoid example(redlock_lock *lock) {\n%s\n}\n'
CPP_AROUND = """#include <mutex>
#include <shared_mutex>
#include "redlock/redlock.hpp"
bool work_is_left();
void do_one_step();
void read();
void write();
void send(int slot);
void example(%s) {
%s
}
"""


class Examples(unittest.TestCase):
    def code(self, comments):
        blocks = [block for text in comments for block in headers.paragraphs(text)]
        return [block.text for block in blocks if block.kind == "code"]

    def compile(self, compiler, source, suffix):
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "example" + suffix)
            with open(path, "w", encoding="utf-8") as file:
                file.write(source)
            command = shlex.split(compiler) + ["-Wall", "-Werror", "-fsyntax-only"]
            done = subprocess.run(
                [*command, "-I", os.path.dirname(INCLUDE), path], stderr=subprocess.PIPE, check=False
            )
            self.assertEqual((done.returncode, done.stderr.decode()), (0, ""))

    def test_c(self):
        library = Library(INCLUDE)
        examples = self.code(
            [header.comment for header in library.headers]
            + [entry.comment for header in library.headers for entry in header.entries]
        )
        self.assertTrue(examples)
        includes = "".join(f'#include "{header.name}"\n' for header in library.headers)
        for example in examples:
            self.compile(CC, C_AROUND % (includes, example), ".c")

    @unittest.skipIf(CXX == "-", "no C++ compiler")
    def test_cpp(self):
        library = Library(INCLUDE)
        examples = self.code([library.hpp_comment] + [one.comment for one in library.classes])
        self.assertEqual(len(examples), 3)
        source = ""
        for number, example in enumerate(examples):
            client = "" if "redlock::client client(" in example else "redlock::client &client"
            around = CPP_AROUND.replace("example(", f"example{number}(")
            source += around % (client, example)
        self.compile(CXX + " -std=c++17", source, ".cpp")


class Site(unittest.TestCase):
    @unittest.skipUnless(SITE == "yes", "Sphinx, furo or myst-parser is not installed")
    def test_sphinx_makes_it_without_a_warning(self):
        with tempfile.TemporaryDirectory() as scratch:
            program = os.path.join(ROOT, "reference", "pages.py")
            done = subprocess.run(
                [sys.executable, "-B", program, ROOT, scratch],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                check=False,
            )
            self.assertEqual((done.returncode, done.stderr.decode()), (0, ""))
            with open(os.path.join(scratch, "html", "reference", "lock.html"), encoding="utf-8") as file:
                self.assertIn('id="c.redlock_acquire"', file.read())


if __name__ == "__main__":
    tap.main()
