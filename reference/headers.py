"""The public headers as data: what they declare, and the plain comments beside it.

The headers are laid out by clang-format and checked by test/headers, so few forms have to be known. A
form that is not known is an error with its place: nothing that is public is passed over in silence.

    read(path) -> Header
    paragraphs(text) -> [Block]     a comment, or a part of it: text, list, table, code, plain

A comment is prose. What is indented by four is one of
    table   terms, and beside each, or deeper in the lines below it, what it means
    code    C, with a semicolon or a brace at the end of a line
    plain   anything else: a chain of calls
and lines that begin with "  - " are a list.
"""

import re
from dataclasses import dataclass, field


class Unknown(Exception):
    """A form that this file does not know."""


@dataclass
class Field:
    name: str
    text: str  # as it is declared
    before: str  # the comment above it, which those that follow without a blank line share
    behind: str  # the one beside it


@dataclass
class Entry:
    kind: str  # function, callback, struct, opaque, enum, macro
    name: str
    text: str  # as it is declared
    comment: str
    line: int
    section: str
    fields: list = field(default_factory=list)  # of a struct, or the values of an enum
    group: list = field(default_factory=list)  # the names that share the comment, the own one first


@dataclass
class Status:
    name: str  # ERR_HELD
    value: int
    text: str
    cause: str = ""
    remedy: str = ""


@dataclass
class Header:
    name: str  # redlock/lock.h
    comment: str
    entries: list
    statuses: list = field(default_factory=list)  # of status.h


@dataclass
class Block:
    kind: str  # text, list, table, code, plain
    text: str = ""
    rows: list = field(default_factory=list)  # of a table: (terms, meaning); of a list: texts


def uncomment(lines):
    """The text of a /* */ or // comment, without its marks and its common indent."""
    text = "\n".join(lines)
    if text.lstrip().startswith("//"):
        return "\n".join(re.sub(r"^\s*// ?", "", line).rstrip() for line in lines)
    text = re.sub(r"^\s*/\* ?", "", text)
    text = re.sub(r"\s*\*/\s*$", "", text)
    return "\n".join(re.sub(r"^\s*\* ?", "", line).rstrip() for line in text.split("\n")).strip("\n")


# -- what a comment says ---------------------------------------------------------------------------


def kind_of(lines):
    if re.match(r"\S+(?: \S+)*  +\S", lines[0]) or re.fullmatch(r"\S+(?:, \S+)*,?", lines[0]):
        return "table"
    if any(re.search(r"[;{}]\s*(//.*)?$", line) for line in lines):
        return "code"
    return "plain"


def rows_of(lines):
    """A term, or several with commas, then two spaces or more and the meaning; it may go on below."""
    rows = []
    for line in lines:
        if not line.strip():
            continue
        if line[0] != " ":
            term, _, meaning = re.match(r"(\S+(?: \S+)*)(  +|$)(.*)", line).groups()
            if rows and not rows[-1][1] and rows[-1][0].endswith(","):
                rows[-1] = (rows[-1][0] + " " + term, meaning)
            else:
                rows.append((term, meaning))
        elif rows:
            rows[-1] = (rows[-1][0], (rows[-1][1] + " " + line.strip()).strip())
        else:
            raise Unknown("a table that begins in its second column: " + line)
    return rows


def paragraphs(text):
    blocks = []
    lines = text.split("\n")
    i = 0
    while i < len(lines):
        line = lines[i]
        if not line.strip():
            i += 1
        elif line.startswith("    "):
            j = i
            while j < len(lines) and (lines[j].startswith("    ") or not lines[j].strip()):
                j += 1
            body = [one[4:] for one in lines[i:j]]
            while not body[-1].strip():
                body.pop()
            kind = kind_of([one for one in body if one.strip()])
            block = Block(kind, "\n".join(body))
            if kind == "table":
                block.rows = rows_of(body)
            blocks.append(block)
            i = j
        elif line.startswith("  - "):
            rows = []
            while i < len(lines) and lines[i].startswith("  ") and lines[i].strip():
                if lines[i].startswith("  - "):
                    rows.append(lines[i][4:])
                else:
                    rows[-1] += " " + lines[i].strip()
                i += 1
            blocks.append(Block("list", rows=rows))
        else:
            j = i
            while j < len(lines) and lines[j].strip() and not lines[j].startswith("  "):
                j += 1
            blocks.append(Block("text", " ".join(one.strip() for one in lines[i:j])))
            i = j
    return blocks


# -- what a header declares ------------------------------------------------------------------------


def c_comment_end(lines, i):
    while "*/" not in lines[i]:
        i += 1
    return i


def strip_trailing(text):
    """A declaration of one line, and the comment behind it."""
    found = re.match(r"(.*?)\s*/\*\s*(.*?)\s*\*/\s*$", text, re.S)
    return (found.group(1), found.group(2)) if found else (text.rstrip(), "")


def fields_of(body, place):
    """The fields of a struct, or the values of an enum: each with its comment, before or behind it."""
    fields = []
    comment = ""
    lines = body.split("\n")
    i = 0
    while i < len(lines):
        line = lines[i].strip()
        if not line:
            comment = ""
            i += 1
        elif line.startswith("/*"):
            end = c_comment_end(lines, i)
            comment = uncomment(lines[i : end + 1])
            i = end + 1
        else:
            end = i
            while not re.search(r"[;,]\s*(/\*|$)", lines[end]) and not (
                end + 1 >= len(lines) or not lines[end + 1].strip()
            ):
                if re.search(r"/\*", lines[end]):
                    break
                end += 1
            if "/*" in lines[end]:
                end = c_comment_end(lines, end)
            text = "\n".join(one.strip() for one in lines[i : end + 1])
            declared, behind = strip_trailing(text)
            behind = re.sub(r"\s*\n\s*\*?\s*", " ", behind)
            named = re.search(r"\(\*(\w+)\)", declared) or re.search(
                r"(\w+)(?:\[\w+\])?\s*(?:=[^,;]*)?[;,]?$", declared
            )
            if not named:
                raise Unknown(f"{place}: a field: {declared}")
            fields.append(Field(named.group(1), declared.rstrip(";,"), comment, behind))
            i = end + 1
    return fields


def join(before, behind):
    return "\n\n".join(one for one in (before, behind) if one)


FUNCTION = re.compile(r"^REDLOCK_API\s.*?[ *](redlock_\w+)\((.*)\);$", re.S)
CALLBACK = re.compile(r"^typedef .*\(\*(\w+)\)\(.*\);$", re.S)
OPAQUE = re.compile(r"^typedef (?:struct|enum) (\w+) (\w+);$")
STRUCT = re.compile(r"^typedef struct (\w+) \{\n(.*)\n\} (\w+);$", re.S)
ENUM = re.compile(r"^enum (\w+) \{\n(.*)\n\};$", re.S)
MACRO = re.compile(r"^#define (\w+)")
PASSED_OVER = re.compile(r'^(#(if|else|elif|endif|include|undef)|extern "C" \{|struct \w+;|\}$)')


def declaration(lines, i):
    """The lines of the declaration that begins at i."""
    if lines[i].startswith("#"):
        j = i
        while lines[j].endswith("\\"):
            j += 1
        if "/*" in lines[j] and not lines[i].startswith(STATUS_MAP):
            j = c_comment_end(lines, j)
        return j
    j, depth = i, 0
    while True:
        code = re.sub(r"/\*.*?(\*/|$)", "", lines[j])
        depth += code.count("{") - code.count("}")
        if depth == 0 and code.rstrip().endswith(";"):
            return c_comment_end(lines, j) if "/*" in lines[j] else j
        j += 1


STATUS = re.compile(r'X\((\w+), (-?\d+),[\s\\]*"([^"]*)"\)')
STATUS_MAP = "#define REDLOCK_STATUS_MAP"


def explain(statuses, comment):
    """Gives each status its cause and its remedy, out of the comment that has them all."""
    known = {"REDLOCK_" + status.name: status for status in statuses}
    for block in paragraphs(comment):
        for name, meaning in block.rows if block.kind == "table" else []:
            found = re.fullmatch(r"cause: (.*) remedy: (.*)", meaning)
            if name not in known or not found:
                raise Unknown(f"no status with a cause and a remedy: {name}: {meaning}")
            known[name].cause, known[name].remedy = found.groups()


def entry_of(text, comment, line, section, place):
    if text.startswith("#define"):
        code, behind = strip_trailing(text)
        behind = re.sub(r"\s*\n\s*\*?\s*", " ", behind)
        return Entry("macro", MACRO.match(code).group(1), code, join(comment, behind), line, section)
    declared, behind = text, ""
    if not text.rstrip().endswith((";", "}")):
        declared, behind = strip_trailing(text)
        behind = re.sub(r"\s*\n\s*\*?\s*", " ", behind)
    for kind, pattern in (("function", FUNCTION), ("callback", CALLBACK), ("opaque", OPAQUE)):
        found = pattern.match(declared)
        if found:
            return Entry(kind, found.group(1), declared, join(comment, behind), line, section)
    for kind, pattern in (("struct", STRUCT), ("enum", ENUM)):
        found = pattern.match(declared)
        if found:
            entry = Entry(kind, found.group(1), declared, comment, line, section)
            if "MAP(" not in found.group(2):
                entry.fields = fields_of(found.group(2), place)
            return entry
    raise Unknown(f"{place}: {declared}")


def read(path, name):
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    header = Header(name, "", [])
    comment, section, group = "", "", []
    i = 0
    if not lines[0].startswith("/*"):
        raise Unknown(f"{path}: it does not begin with a comment")
    end = c_comment_end(lines, 0)
    header.comment = uncomment(lines[: end + 1])
    i = end + 1
    while i < len(lines):
        line = lines[i]
        if not line.strip():
            comment, group = "", []
            i += 1
        elif line.startswith("/*"):
            end = c_comment_end(lines, i)
            comment, group = uncomment(lines[i : end + 1]), []
            if comment.startswith("What causes each status"):
                explain(header.statuses, comment)
            title = re.match(r"-- (.*) --$", comment)
            if title:
                section, comment = title.group(1), ""
            i = end + 1
        elif PASSED_OVER.match(line):
            i += 1
        else:
            end = declaration(lines, i)
            text = "\n".join(lines[i : end + 1])
            i_line = i + 1
            i = end + 1
            if re.match(r"#define (REDLOCK_\w*(_H|_)\b|REDLOCK_API)", text):
                continue
            if text.startswith("enum redlock_status {"):
                continue
            if text.startswith(STATUS_MAP):
                header.statuses = [
                    Status(name, int(value), says) for name, value, says in STATUS.findall(text)
                ]
                text = STATUS_MAP + "(X)"
            entry = entry_of(text, comment, i_line, section, f"{path}:{i_line}")
            group.append(entry.name)
            entry.group = group
            header.entries.append(entry)
    return header
