"""The pages of the site, for Sphinx: the book as it is in docs/, and the reference from the headers.

    pages.py SOURCE_ROOT FOLDER      writes them into FOLDER/source, and has Sphinx make FOLDER/html of them

The reference is reStructuredText, with the declarations in Sphinx's domains for C and C++, so that every
name is a link to where it is declared, and in the index.
"""

import os
import re
import shutil
import subprocess
import sys

import headers
from library import Library, groups, parts, shared

# In reading order; others follow.
BOOK = """start guide recipes fencing guarantees waiting faq python node compare speed reference nodes monitoring troubleshooting
    protocol internals proof testing""".split()
# Beside the book: the site opens with what libredlock is.
PAGES = {
    "README.md": "index.md",
    "docs/README.md": "book.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "HACKING.md": "HACKING.md",
    "SECURITY.md": "SECURITY.md",
}
CHAPTERS = {"start": "Using it", "nodes": "Running the nodes", "protocol": "What is inside"}


def escape(text):
    return re.sub(r"([\\*`|_<>])", r"\\\1", text)


def indent(lines, by="   "):
    return [by + line if line else "" for line in lines]


class Reference:
    def __init__(self, library):
        self.library = library
        self.files = {header.name for header in library.headers} | {"redlock/redlock.hpp"}
        self.names = library.types | library.macros | library.values | library.functions
        self.names |= {"REDLOCK_" + status.name for status in library.statuses}
        self.fields = {
            f"{entry.name}.{field.name}"
            for header in library.headers
            for entry in header.entries
            if entry.kind == "struct"
            for field in entry.fields
        }

    # -- text --

    def piece(self, kind, text):
        if kind == "function" and text in self.library.functions:
            return f":c:func:`{text}`"
        if kind == "name" and text in self.fields:
            return f":c:member:`{text}`"
        if kind == "name" and text in self.names:
            return f":c:macro:`{text}`" if text.isupper() else f":c:type:`{text}`"
        if kind == "status" and "REDLOCK_" + text in self.names:
            return f":c:macro:`{text} <REDLOCK_{text}>`"
        if kind == "header" and "redlock/" + text.replace("redlock/", "") in self.files:
            page = text.replace("redlock/", "").replace(".hpp", "_cpp").replace(".h", "")
            page = page.replace("redlock_cpp", "cpp")
            return f":doc:`{text} </reference/{page}>`"
        if kind == "document":
            return f":doc:`/{text[5:-3]}`"
        return f"``{text}()``" if kind == "function" else f"``{text}``"

    def inline(self, text):
        out = ""
        for kind, piece in parts(text):
            said = escape(piece) if kind == "text" else self.piece(kind, piece)
            if kind == "text" and out and out[-1] == "`" and piece[0] not in " .,:;!?)]}'\"-/>":
                out += "\\ "
            if kind != "text" and out and out[-1] not in " ([{<'\"-/:":
                out += "\\ "
            out += said
        return out

    def blocks(self, said):
        out = []
        for block in said:
            if block.kind == "text":
                out += [self.inline(block.text)]
            elif block.kind == "list":
                for row in block.rows:
                    out += ["- " + self.inline(row)]
            elif block.kind == "table":
                for terms, meaning in block.rows:
                    out += [self.inline(terms).replace(" : ", " \\: ")]
                    out += indent([self.inline(meaning) if meaning else ".."])
            else:
                out += [".. code-block:: " + ("c" if block.kind == "code" else "none"), ""]
                out += indent(block.text.split("\n"))
            out += [""]
        return out

    def text(self, comment):
        return self.blocks(headers.paragraphs(comment))

    # -- C --

    def directive(self, kind, signatures, lines):
        signatures = [re.sub(r"\s+", " ", one).strip() for one in signatures]
        first, *others = signatures
        out = [f".. {kind}:: {first}"] + [" " * len(f".. {kind}:: ") + one for one in others]
        return out + [""] + indent(lines) + [""]

    def field_lines(self, struct):
        out, above = [], ""
        for group in shared(struct.fields):
            field = group[0]
            if field.behind and field.before and field.before != above:
                out += self.text(field.before)
            above = field.before
            out += self.directive(
                "c:member", [one.text for one in group], self.text(field.behind or field.before)
            )
        return out

    def value_lines(self, enum):
        out = []
        for value in enum.fields:
            said = self.text(headers.join(value.before, value.behind))
            out += self.directive("c:enumerator", [value.name], said)
        return out

    def entry(self, header, group):
        first = group[0]
        text = self.text(first.comment)
        if first.kind == "function":
            signatures = [
                re.sub(r"^REDLOCK_API ", "", one.text).rstrip(";").replace("struct uv_loop_s", "uv_loop_t")
                for one in group
            ]
            return self.directive("c:function", signatures, text)
        if first.kind == "callback":
            return self.directive("c:type", [first.text[len("typedef ") :].rstrip(";")], text)
        if first.kind == "opaque":
            return self.directive("c:struct", [first.name], text)
        if first.kind == "struct":
            lines = self.directive("c:struct", [first.name], text + self.field_lines(first))
            init = self.library.initializer(header, first)
            if init:
                lines += self.directive("c:macro", [init.name], ["The defaults, to begin with.", ""])
            return lines
        if first.kind == "enum":
            if first.name in self.library.functions:  # Sphinx has one name for both
                title = [f"``enum {first.name}``", ""]
                return title + text + self.value_lines(first)
            return self.directive("c:enum", [first.name], text + self.value_lines(first))
        value = re.match(r"#define \w+\s+(\S+)$", first.text)
        said = [f"``{value.group(1)}``", ""] if value else []
        return self.directive("c:macro", [first.name], text + said) if first.comment else []

    def heading(self, group, line):
        """The names, for the eye and for the contents of the page; of constants the comment is enough."""
        if group[0].kind == "macro":
            return []
        title = ", ".join(entry.name + ("()" if entry.kind == "function" else "") for entry in group)
        return ["", escape(title), line * len(escape(title)), ""]

    def header_page(self, header):
        out = [header.name, "=" * len(header.name), ""] + self.text(header.comment)
        section = ""
        initializers = [self.library.initializer(header, entry) for entry in header.entries]
        for group in groups(header):
            if group[0].section != section:
                section = group[0].section
                out += [section, "-" * len(section), ""]
            if group[0] not in initializers:
                out += self.heading(group, "^" if section else "-") + self.entry(header, group)
        if header.statuses:
            out += ["What each status means is a page of its own: :doc:`statuses`.", ""]
        return "\n".join(out)

    def status_page(self):
        out = ["Statuses", "========", ""]
        out += self.text(
            "Functions return a status, and callbacks are given one: 0, or a negative number. Beside each stand"
            " the text of redlock_strerror(), what causes it, and what to do about it. A status that begins"
            " with ERR_NODE_ is the reason why one node has no vote; it is in messages, in redlock_node_outcome"
            " and in redlock_node_info."
        )
        out += self.directive("c:enum", ["redlock_status"], [])
        for status in self.library.statuses:
            said = [f"{status.value}: *{escape(status.text)}*", ""]
            said += ["**Cause:** " + self.inline(status.cause), ""]
            said += ["**Remedy:** " + self.inline(status.remedy), ""]
            title = escape(status.name)
            out += [title, "-" * len(title), ""]
            out += self.directive("c:enumerator", ["REDLOCK_" + status.name], said)
        return "\n".join(out)

    # -- C++ --

    def member(self, member):
        text = self.text(member.comment)
        if not text and member.calls:
            text = ["As " + ", ".join(f":c:func:`{name}`" for name in member.calls) + ".", ""]
        says = member.text
        if says.startswith("using "):
            return self.directive("cpp:type", [says[len("using ") :]], text)
        kind = "cpp:function" if re.search(r"\)[^)]*$", says) and "std::function<" not in says else "cpp:member"
        return self.directive(kind, [says], text)

    def class_page(self):
        title = "redlock/redlock.hpp"
        out = [title, "=" * len(title), ""] + self.text(self.library.hpp_comment)
        out += [".. cpp:namespace:: redlock", ""]
        for one in self.library.classes:
            name = one.name or "Functions"
            out += [name, "-" * len(name), ""]
            lines = self.text(one.comment)
            for member in one.members:
                lines += self.member(member) if member.name else self.text(member.comment)
            if one.name:
                kind, rest = one.text.split(" ", 1)
                lines = self.directive("cpp:" + kind, [rest], lines)
            out += lines
        return "\n".join(out)


# -- the book --


def page_of(name):
    return name.replace(".hpp", "_cpp").replace("redlock_cpp", "cpp").replace(".h", "")


def title_of(path):
    with open(path, encoding="utf-8") as file:
        return file.readline().lstrip("# ").strip() if path.endswith(".md") else None


def rewritten(text, root, is_top):
    """Links as they are on the site: to headers the reference, to pages by their titles, and of other files
    the name alone."""

    def link(found):
        words, target = found.group(1), found.group(2)
        if ":" in target or target.startswith("#"):
            return found.group(0)
        path, _, anchor = target.partition("#")
        path = os.path.normpath(path if is_top else os.path.join("docs", path))
        anchor = "#" + anchor if anchor else ""
        header = re.fullmatch(r"include/redlock/(\w+\.hp?p?)", path)
        if header:
            return f"[{words}](reference/{page_of(header.group(1))}.rst)"
        if os.path.basename(path) == words:
            words = title_of(os.path.join(root, path)) or words
        if path in PAGES or path.startswith("docs/"):
            return f"[{words}]({PAGES.get(path, os.path.basename(path))}{anchor})"
        return words if os.path.exists(os.path.join(root, path)) else found.group(0)

    out = []
    for block in re.split(r"(^```[^\n]*\n.*?^```$)", text, flags=re.S | re.M):
        out.append(block if block.startswith("```") else re.sub(r"\[([^]]*)\]\(([^)\s]+)\)", link, block))
    return "".join(out)


def toctree(names, caption=None):
    lines = ["", "```{toctree}", ":hidden:"] + ([f":caption: {caption}"] if caption else []) + [""]
    return "\n".join(lines + names + ["```", ""])


def write(root, out):
    reference = Reference(Library(os.path.join(root, "include", "redlock")))
    pages = {}
    order = [header.name[len("redlock/") : -2] for header in reference.library.headers]
    for header, name in zip(reference.library.headers, order):
        pages[f"reference/{name}.rst"] = reference.header_page(header)
    pages["reference/statuses.rst"] = reference.status_page()
    pages["reference/cpp.rst"] = reference.class_page()

    docs = os.path.join(root, "docs")
    book = [name for name in BOOK if os.path.exists(os.path.join(docs, name + ".md"))]
    others = {name[:-3] for name in os.listdir(docs) if name.endswith(".md")} - {"README"}
    book += sorted(others - set(BOOK))
    sources = {f"docs/{name}.md": f"{name}.md" for name in book} | PAGES
    for path, name in sources.items():
        with open(os.path.join(root, path), encoding="utf-8") as file:
            pages[name] = rewritten(file.read(), root, not path.startswith("docs/"))
    tree, chapter, caption = "", [], None
    for name in book + [None]:
        if name is None or name in CHAPTERS:
            tree += toctree(chapter, caption) if chapter else ""
            chapter, caption = [], CHAPTERS.get(name)
        chapter.append(name)
    pages["index.md"] += tree + toctree([name[:-3] for name in PAGES.values() if name != "index.md"], "The project")
    pages["reference.md"] += toctree([f"reference/{name}" for name in order + ["cpp", "statuses"]])

    here = os.path.dirname(os.path.abspath(__file__))
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(os.path.join(out, "reference"))
    for name, text in pages.items():
        with open(os.path.join(out, name), "w", encoding="utf-8") as file:
            file.write(text)
    for name in os.listdir(docs):
        if name.endswith(".svg"):
            shutil.copy(os.path.join(docs, name), out)
    with open(os.path.join(here, "conf.py"), encoding="utf-8") as file:
        text = file.read().replace("@VERSION@", reference.library.version())
    with open(os.path.join(out, "conf.py"), "w", encoding="utf-8") as file:
        file.write(text)
    os.makedirs(os.path.join(out, "static"))
    shutil.copy(os.path.join(here, "site.css"), os.path.join(out, "static"))


def main(root, out):
    source, html = os.path.join(out, "source"), os.path.join(out, "html")
    write(root, source)
    sphinx = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    made = subprocess.run([*sphinx, "-d", os.path.join(out, "doctrees"), source, html], check=False)
    if made.returncode == 0:
        print(f"the book and the reference: {os.path.join(html, 'index.html')}")
    return made.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
