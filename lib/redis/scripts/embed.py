"""The scripts beside this file as a C header: the bytes that go on the wire, and their SHA-1.

    embed.py OUTPUT SCRIPT...

release.lua becomes

    #define RL_SCRIPT_RELEASE_TEXT "..."
    #define RL_SCRIPT_RELEASE_SHA1 "40 hex digits"

RL_SCRIPT_LENGTH_MAX is the length of the longest, and RL_SCRIPTS(X) is X("release", SHA1, TEXT) for
each of them, one behind the other. What goes on the wire is the file without its
comments, indentation and empty lines: a node that has forgotten a script is sent it whole. What
could not be left out by looking at one line at a time is refused, so that the bytes are the same
whoever builds: comments have lines of their own, and no string goes on in the next line.

A line "-- include: part_x.lua" stands for the lines of that file, which is beside the script.
"""

import hashlib
import pathlib
import re
import sys

INCLUDE = re.compile(r"-- include: (part_\w+\.lua)")


def wire_of(path):
    """The lines of a script that go on the wire."""
    lines = []
    for number, line in enumerate(path.read_text(encoding="ascii").splitlines(), 1):
        line = line.strip()
        include = INCLUDE.fullmatch(line)
        if include:
            lines += wire_of(path.parent / include[1])
            continue
        if line == "" or (line.startswith("--") and not line.startswith("--[")):
            continue
        for sign, why in (
            ("--", "a comment has a line of its own, and is no --[[ block ]]"),
            ("[[", "a string is written with quotes"),
            ("\\", "no backslashes"),
        ):
            if sign in line:
                sys.exit(f"{path.name}:{number}: {why}")
        lines.append(line)
    if not lines:
        sys.exit(f"{path.name}: there is no script in it")
    return lines


def main(output, *scripts):
    parts = ["/* Made by embed.py out of lib/redis/scripts/. */"]
    longest = 0
    rows = []
    for path in map(pathlib.Path, scripts):
        lines = wire_of(path)
        text = "\n".join(lines)
        longest = max(longest, len(text))
        sha1 = hashlib.sha1(text.encode("ascii")).hexdigest()
        quoted = '\\n" \\\n    "'.join(line.replace('"', '\\"') for line in lines)
        name = "RL_SCRIPT_" + path.stem.upper()
        rows.append(f'X("{path.stem}", {name}_SHA1, {name}_TEXT)')
        parts.append(f'#define {name}_TEXT \\\n    "{quoted}"\n#define {name}_SHA1 "{sha1}"')
    parts.append(f"#define RL_SCRIPT_LENGTH_MAX {longest}")
    parts.append("#define RL_SCRIPTS(X) \\\n    " + " \\\n    ".join(rows))
    pathlib.Path(output).write_text("\n\n".join(parts) + "\n", encoding="ascii")


main(*sys.argv[1:])
