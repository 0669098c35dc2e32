"""The manual pages of section 3, from the headers.

    manual.py INCLUDE_REDLOCK FOLDER          writes them; where meson installs, below its prefix and DESTDIR

A page for each function and type (for functions that share a comment, one page and links to it), one for
each header, as redlock_lock.h(3), with its constants and a list of its functions, and redlock_status(3)
with the cause and remedy of each status.
"""

import os
import re
import sys

import headers
from library import Library, groups, parts, shared, summary


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def prose(text):
    """Text of a sentence; hyphens may be broken at."""
    text = text.replace("\\", "\\e").replace("--", "\\-\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def inline(text):
    out = ""
    for kind, piece in parts(text):
        if kind == "text":
            out += piece.replace("\\", "\\e").replace("--", "\\-\\-")
        elif kind == "function":
            out += f"\\fB{piece}\\fP()"
        elif kind == "header":
            out += f"\\fI{piece}\\fP"
        else:
            out += "\\fB" + piece.replace("\\", "\\e").replace("-", "\\-") + "\\fP"
    return "\\&" + out if out[:1] in (".", "'") else out


def literal(text, first=".PP"):
    return ([first] if first else []) + [".in +4n", ".nf"] + [escape(line) for line in text.split("\n")] + [".fi", ".in"]


def blocks(comment, first=".PP"):
    out = []
    for block in headers.paragraphs(comment):
        if block.kind == "text":
            out += [first, inline(block.text)] if first else [inline(block.text)]
        elif block.kind == "list":
            for row in block.rows:
                out += [".IP \\(bu 2", inline(row)]
        elif block.kind == "table":
            for term, meaning in block.rows:
                out += [".TP", inline(term), inline(meaning) if meaning else "\\&"]
        else:
            out += literal(block.text, first)
        first = ".PP"
    return out


def description(comment):
    """The comment, with what it returns in a section of its own."""
    lines, returned = [], False
    for paragraph in split_returns(comment):
        if paragraph.startswith("Returns") and not returned:
            lines += ['.SH "RETURN VALUE"'] + blocks(paragraph, first="")
            returned = True
        else:
            lines += blocks(paragraph, first=".PP" if lines else "")
    return lines


def split_returns(comment):
    """Before, and from the paragraph on that begins with Returns."""
    found = re.search(r"(^|\n\n)(?=Returns[ :])", comment)
    if not found or found.start() == 0:
        return [comment]
    return [comment[: found.start()], comment[found.end() :]]


def wrapped(text):
    """A declaration in lines that fit into 80 columns, whose parameters are below each other."""
    text = re.sub(r"\s+", " ", text)
    lines = [""]
    for word in re.split(r"(?<=, )|(?<=\()(?!\*)", text):
        if lines[-1].strip() and len(lines[-1] + word.rstrip()) > 70:
            lines.append("    ")
        lines[-1] += word
    return [line.rstrip() for line in lines]


class Manual:
    def __init__(self, library):
        self.library = library
        self.pages = {}
        for header in self.library.headers:
            self.header(header)
            for group in groups(header):
                self.entry(header, group)
        self.status()
        self.classes()

    def put(self, name, title, lines):
        begin = [f'.TH {name} 3 "" "libredlock {self.library.version()}" "libredlock"', ".nh", ".ad l"]
        begin += [".SH NAME", f"{escape(name)} \\- {prose(title)}"]
        self.pages[name] = "\n".join(begin + lines + [""])

    def link(self, name, to):
        self.pages[name] = f".so man3/{to}.3\n"

    def page_of(self, header):
        return header.name.replace("/", "_")

    def synopsis(self, header, text):
        text = re.sub(r"^REDLOCK_API ", "", text, flags=re.M)
        lines = []
        for one in text.split("\n\n"):
            lines += [".PP"] + [escape(line) for line in wrapped(one)]
        return [".SH SYNOPSIS", ".nf", f"\\fB#include <{self.library.include(header)}>\\fP"] + lines + [".fi"]

    def see_also(self, header, *more):
        pages = [self.page_of(header), *more, "redlock_status"]
        pages = list(dict.fromkeys(pages))
        return ['.SH "SEE ALSO"'] + [
            f".BR {page} (3)" + ("," if page != pages[-1] else "") for page in pages
        ]

    def title(self, comment, otherwise):
        text = summary(comment) or otherwise
        return text if text[1:2].isupper() else text[:1].lower() + text[1:]

    def entry(self, header, group):
        first = group[0]
        initializers = [
            self.library.initializer(header, entry)
            for entry in header.entries
            if entry.kind == "struct"
        ]
        if first.kind == "function" or first.kind == "callback":
            text = "\n\n".join(one.text for one in group)
            lines = self.synopsis(header, text) + [".SH DESCRIPTION"] + description(first.comment)
            for enum in header.entries:
                if enum.kind == "enum" and enum.name == first.name:
                    lines += [".SH VALUES"] + self.values(enum)
            self.put(first.name, self.title(first.comment, first.name), lines + self.see_also(header))
            for other in group[1:]:
                self.link(other.name, first.name)
        elif first.kind == "struct":
            self.struct(header, first)
        elif first.kind == "enum":
            lines = self.synopsis(header, f"enum {first.name};") + [".SH DESCRIPTION"]
            lines += self.values(first)
            self.put(first.name, self.title(first.comment, ""), lines + self.see_also(header))
        elif first.kind == "opaque":
            self.link(first.name, self.page_of(header))
        elif first not in initializers and first.kind != "macro":
            raise headers.Unknown(f"{header.name}: {first.kind} {first.name}")

    def values(self, enum):
        lines = blocks(enum.comment, first="")
        for value in enum.fields:
            text = headers.join(value.before, value.behind)
            lines += [".TP", f"\\fB{value.name}\\fP"]
            lines += blocks(text, first="") if text else ["\\&"]
        return lines

    def struct(self, header, struct):
        lines = []
        init = self.library.initializer(header, struct)
        text = f"typedef struct {struct.name} {struct.name};"
        if init:
            text += f"\n\n{struct.name} x = {init.name};"
            self.link(init.name, struct.name)
        lines += self.synopsis(header, text) + [".SH DESCRIPTION"]
        lines += blocks(struct.comment, first="")
        above = ""
        for group in shared(struct.fields):
            field = group[0]
            if field.behind and field.before and field.before != above:
                lines += [".PP"] + blocks(field.before, first="")
            above = field.before
            lines += [".TP", ", ".join(f"\\fB{escape(one.text)}\\fP" for one in group)]
            own = field.behind or field.before
            said = headers.paragraphs(own)
            lines += [inline(said[0].text) if said and said[0].kind == "text" else "\\&"]
            if len(said) > 1:
                lines += [".RS"] + self.rest(said[1:]) + [".RE"]
        self.put(struct.name, self.title(struct.comment, "a struct"), lines + self.see_also(header))

    def rest(self, said):
        out = []
        for block in said:
            if block.kind == "table":
                for term, meaning in block.rows:
                    out += [".TP", inline(term), inline(meaning) if meaning else "\\&"]
            elif block.kind == "text":
                out += [".PP", inline(block.text)]
            else:
                out += literal(block.text)
        return out

    def header(self, header):
        lines = [".SH SYNOPSIS", ".nf", f"\\fB#include <{self.library.include(header)}>\\fP", ".fi"]
        lines += [".SH DESCRIPTION"] + blocks(header.comment, first="")
        lists = {"FUNCTIONS": [], "TYPES": [], "CONSTANTS": []}
        for group in groups(header):
            for entry in group:
                if entry.kind == "macro":
                    if entry.comment:
                        lists["CONSTANTS"] += [".TP", inline(entry.name)]
                        lists["CONSTANTS"] += blocks(entry.comment, first="")
                    continue
                kind = "FUNCTIONS" if entry.kind == "function" else "TYPES"
                name = f"\\fB{entry.name}\\fP" + ("(3)" if entry.kind != "opaque" else "")
                lists[kind] += [".TP", name, inline(summary(entry.comment))]
        for name, entries in lists.items():
            if entries:
                lines += [f".SH {name}"] + entries
        name = self.page_of(header)
        self.put(name, self.title(header.comment, header.name), lines + self.ends(header))
        if header.name == "redlock/redlock.h":
            self.link("libredlock", name)

    def ends(self, header):
        others = [self.page_of(one) for one in self.library.headers if one is not header]
        return ['.SH "SEE ALSO"', ".BR redlock (1),"] + [
            f".BR {page} (3)" + ("," if page != others[-1] else "") for page in others
        ]

    def status(self):
        header = next(one for one in self.library.headers if one.statuses)
        lines = self.synopsis(header, "enum redlock_status;") + [".SH DESCRIPTION"]
        lines += [
            "What functions return and callbacks are given: 0, or a negative number. Beside each stand its",
            "number, the text of \\fBredlock_strerror\\fP(), what causes it, and what to do about it.",
        ]
        for status in self.library.statuses:
            lines += [".TP", f"\\fBREDLOCK_{status.name}\\fP ({escape(str(status.value))})"]
            lines += [f"\\(dq{prose(status.text)}\\(dq", ".RS", ".PP", inline("Cause: " + status.cause)]
            lines += [".PP", inline("Remedy: " + status.remedy), ".RE"]
        lines += ['.SH "SEE ALSO"', ".BR redlock_strerror (3),", ".BR redlock_is_retryable (3)"]
        self.put("redlock_status", "the statuses of libredlock, with cause and remedy", lines)

    def classes(self):
        lines = [".SH SYNOPSIS", ".nf", "\\fB#include <redlock/redlock.hpp>\\fP", ".fi"]
        lines += [".SH DESCRIPTION"] + blocks(self.library.hpp_comment, first="")
        for one in self.library.classes:
            lines += [f'.SH "{escape(one.text or "Functions")}"'] + blocks(one.comment, first="")
            for member in one.members:
                if not member.name:
                    lines += blocks(member.comment)
                    continue
                lines += [".TP", f"\\fB{escape(member.text)}\\fP"]
                said = member.comment or ", ".join(f"{name}()" for name in member.calls)
                said = said if member.comment or not said else "As " + said + "."
                lines += blocks(said, first="") if said else ["\\&"]
        lines += ['.SH "SEE ALSO"'] + [".BR redlock_blocking.h (3),", ".BR redlock_status (3)"]
        self.put("redlock_redlock.hpp", "libredlock for C++17", lines)
        self.link("redlock.hpp", "redlock_redlock.hpp")


def main(include, folder):
    if os.path.isabs(folder):
        folder = os.environ.get("DESTDIR", "") + folder
    else:
        folder = os.path.join(os.environ.get("MESON_INSTALL_DESTDIR_PREFIX", ""), folder)
    os.makedirs(folder, exist_ok=True)
    for name, text in Manual(Library(include)).pages.items():
        with open(os.path.join(folder, name + ".3"), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
