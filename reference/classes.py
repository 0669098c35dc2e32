"""The C++ header as data: its classes, what is public in them, and the comments beside it.

As headers.py, it knows the forms that redlock.hpp has, and refuses others.

    read(path) -> (comment, [Class])     the last one, without a name, has what stands alone
"""

import re
from dataclasses import dataclass, field

from headers import Unknown, uncomment


@dataclass
class Member:
    name: str  # "": a comment that stands alone
    text: str  # as it is declared, without its body
    comment: str
    calls: list  # the functions of the C headers that its body calls
    is_own: bool  # not a copy, a move or a destructor that every class has


@dataclass
class Class:
    name: str
    text: str
    comment: str
    members: list = field(default_factory=list)


def depth_of(text):
    code = re.sub(r'"([^"\\]|\\.)*"|\'([^\'\\]|\\.)*\'|//.*', "", text)
    return code.count("{") + code.count("(") - code.count("}") - code.count(")")


def whole(lines, i, indent):
    """The last line of the declaration that begins at i."""
    depth = 0
    for j in range(i, len(lines)):
        depth += depth_of(lines[j])
        end = re.sub(r"\s*//.*", "", lines[j]).rstrip()
        if depth == 0 and (end.endswith(";") or end == indent + "}" or end.endswith("{}")):
            return j
    raise Unknown(f"no end of {lines[i]}")


def signature(text):
    """Without the body and the initializers of a constructor."""
    text = re.sub(r"\s*//.*", "", text)
    depth = 0
    for k, c in enumerate(text):
        if c in "({<":
            if c == "{" and depth == 0 and not re.search(r"\w$", text[:k]):
                text = text[:k]
                break
            depth += c != "<"
        elif c in ")}":
            depth -= 1
        elif c == ":" and depth == 0 and text[k - 1 : k + 2] == " : ":
            text = text[:k]
            break
    return re.sub(r"\s+", " ", text).strip().rstrip(";").strip()


def member_of(text, comment, place):
    says = signature(text)
    if " operator=" in says or says.startswith("~") or re.search(r"\(const \w+ &\) = ", says):
        name, is_own = says, False
    elif re.search(r"\((\w+) &&( ?other)?\) noexcept", says):
        name, is_own = says, False
    else:
        is_own = True
        found = re.match(r"using (\w+) =", says) or re.search(
            r"(operator bool|[a-z]\w*)\("
            if re.search(r"\)( const)?( noexcept)?( override)?$", says)
            else r"(\w+)(?:\{.*\}| = .*)?$",
            says,
        )
        if not found:
            raise Unknown(f"{place}: {says}")
        name = found.group(1)
    calls = re.findall(r"\b(redlock_\w+)\(", text)
    return Member(name, says, comment, sorted(set(calls), key=calls.index), is_own)


def members_of(lines, place):
    members, comment, said = [], "", ""
    is_public = not lines[0].lstrip().startswith("class")
    i = 1
    while i < len(lines):
        line = lines[i]
        if not line.strip():
            if comment and comment != said:
                members.append(Member("", "", comment, [], False))  # about those that follow
            comment = ""
            i += 1
        elif re.match(r"\s+(public|protected|private):$", line):
            is_public = "public" in line
            i += 1
        elif line.strip().startswith("//"):
            j = i
            while lines[j].strip().startswith("//"):
                j += 1
            comment = uncomment(lines[i:j])
            if comment.startswith("-- "):
                comment = ""
            i = j
        elif line == "};":
            i += 1
        else:
            end = whole(lines, i, "    ")
            text = "\n".join(lines[i : end + 1])
            behind = re.search(r";\s*// (.*)$", text)
            said = comment
            if is_public:
                beside = behind.group(1) if behind else comment
                members.append(member_of(text, beside, f"{place}: {i}"))
            i = end + 1
    return members


def read(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    first = re.match(r"(//.*\n)+", text)
    if not first:
        raise Unknown(f"{path}: it does not begin with a comment")
    body = text[text.index("namespace redlock {\n") : text.index("}  // namespace redlock\n")]
    body = re.sub(r"\nnamespace detail \{\n.*?\n\}  // namespace detail\n", "\n", body, flags=re.S)
    lines = body.split("\n")
    classes, alone, comment = [], Class("", "", ""), ""
    i = 1
    while i < len(lines):
        line = lines[i]
        if not line.strip():
            comment = ""
            i += 1
        elif line.startswith("template") and lines[i + 1].startswith("class "):
            i += 1
        elif line.startswith("//"):
            j = i
            while lines[j].startswith("//"):
                j += 1
            comment = uncomment(lines[i:j])
            i = j
        else:
            end = i
            if re.match(r"(class|struct) \w+[^;]*\{$", line):
                while lines[end] != "};":
                    end += 1
                name = re.match(r"\w+ (\w+)", line).group(1)
                one = Class(name, line.rstrip(" {"), comment)
                one.members = members_of(lines[i : end + 1], f"{path}: {name}")
                classes.append(one)
            else:
                end = whole(lines, i, "")
                text = "\n".join(lines[i : end + 1])
                alone.members.append(member_of(text, comment, f"{path}: {line}"))
            i = end + 1
    return uncomment(first.group(0).rstrip("\n").split("\n")), classes + [alone]
