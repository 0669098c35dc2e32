"""All public headers together, and what is the same for the manual and for the site.

    Library(folder)      .headers in reading order, .pages: a page's name and what is on it
    summary(text)        the first sentence of a comment, for lists
    parts(text)          a text in pieces, each with its kind: text, code, function, name, status, header,
                         document, call (of a function that is not ours)

A page has one paragraph of a header: the functions that share a comment, or a type. The constants, and
what a header says of itself, are on the page of the header.
"""

import os
import re

import classes
import headers

# In reading order; others follow.
ORDER = (
    "redlock lock outcome status guard stats metrics trace credentials token semaphore election blocking "
    "rwlock semaphore_blocking version"
).split()


class Library:
    def __init__(self, folder):
        known = {name[:-2] for name in os.listdir(folder) if name.endswith(".h")}
        order = [name for name in ORDER if name in known] + sorted(known - set(ORDER))
        self.headers = [
            headers.read(os.path.join(folder, name + ".h"), f"redlock/{name}.h") for name in order
        ]
        with open(os.path.join(folder, "redlock.h"), encoding="utf-8") as file:
            self.included = re.findall(r'^#include "(redlock/\w+\.h)"', file.read(), re.M)
        self.hpp_comment, self.classes = classes.read(os.path.join(folder, "redlock.hpp"))
        self.statuses = next(header.statuses for header in self.headers if header.statuses)
        self.functions = set()
        self.types = {"redlock_status"}
        self.macros = set()
        for header in self.headers:
            for entry in header.entries:
                kinds = {"function": self.functions, "macro": self.macros}
                kinds.get(entry.kind, self.types).add(entry.name)
        self.values = {
            value.name
            for header in self.headers
            for entry in header.entries
            if entry.kind == "enum"
            for value in entry.fields
        }

    def initializer(self, header, struct):
        """The macro that a struct begins with, and None if there is none."""
        name = "REDLOCK_" + struct.name[len("redlock_") :].upper() + "_INIT"
        return next((entry for entry in header.entries if entry.name == name), None)

    def include(self, header):
        """What a program includes for it."""
        return "redlock/redlock.h" if header.name in self.included else header.name

    def version(self):
        header = next(one for one in self.headers if one.name == "redlock/version.h")
        said = {entry.name: entry.text.split()[-1] for entry in header.entries}
        return ".".join(said["REDLOCK_VERSION_" + part] for part in ("MAJOR", "MINOR", "PATCH"))


def groups(header):
    """The entries of a header, those together that share a comment and are functions."""
    seen = []
    for entry in header.entries:
        if seen and entry.kind == "function" and seen[-1][0].group is entry.group:
            seen[-1].append(entry)
        else:
            seen.append([entry])
    return seen


def shared(fields):
    """Fields that follow each other under one comment and have none of their own, together."""
    seen = []
    for field in fields:
        last = seen[-1][-1] if seen else None
        if last and field.before and field.before == last.before and not field.behind + last.behind:
            seen[-1].append(field)
        else:
            seen.append([field])
    return seen


def summary(comment):
    blocks = headers.paragraphs(comment)
    text = blocks[0].text if blocks else ""
    text = re.sub(r"^libredlock: ", "", text)
    text = re.split(r"(?<![.\s]\w)(?<=[\w)\]\"'`])[.:;?](?= |$)", text)[0]
    while len(text) > 90 and re.search(r"[,(] ?", text):
        text = text[: max(text.rfind(","), text.rfind(" ("))]
    return text


PIECE = re.compile(
    r"(?P<code>`[^`]+`)"
    r"|(?P<function>\bredlock_\w+(?=\(\)))\(\)"
    r"|(?P<name>\b(?:REDLOCK|redlock)_\w+(?:\.\w+)?(?:\.\.\.)?)"
    r"|(?P<status>\bERR_[A-Z_]+\b)"
    r"|(?P<document>\bdocs/\w+\.md\b)"
    r"|(?P<header>\b(?:redlock/)?[a-z_]+\.h\b|\bredlock/redlock\.hpp\b|\bredlock\.hpp\b)"
    r"|(?P<call>\b(?!redlock_)[a-z_]+(?:::[a-z_]+)?\(\))"
)


def parts(text):
    at = 0
    for found in PIECE.finditer(text):
        if found.start() > at:
            yield "text", text[at : found.start()]
        piece = found.group(found.lastgroup)
        yield (found.lastgroup, piece.strip("`"))
        at = found.end()
    if at < len(text):
        yield "text", text[at:]
