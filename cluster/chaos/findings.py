"""A finding: one kind of defect, how often it was found, and examples."""

EXAMPLES_MAX = 12

# What a finding means for the verdict.
VIOLATION = "violation"  # the lock broke its guarantee
EXPLAINED = "explained"  # it did so while a precondition of the guarantee was broken
APART = "apart"  # no lock can prevent it, only the resource (a fencing token)
NOTE = "note"

# The findings that reveal a wrong lock.
SAFETY = ("overlap", "permits", "slots", "late-act", "validity", "token", "lost-update")
CAUGHT = SAFETY + ("overtaken",)


class Finding:
    def __init__(self, kind, weight, title, text=""):
        self.kind = kind
        self.weight = weight
        self.title = title  # "Two clients held one lock at once"
        self.text = text  # its meaning, or the limit
        self.skipped = ""  # why it was not checked, if it was not
        self.count = 0
        self.examples = []
        self.marks = []  # (t_ns, client or node, until_ns): where it is in the report

    def add(self, example, t_ns=None, who=None, until_ns=None):
        self.count += 1
        if len(self.examples) < EXAMPLES_MAX:
            self.examples.append(example)
        if t_ns is not None and len(self.marks) < 500:
            self.marks.append((t_ns, who, until_ns))

    def as_dict(self):
        return {"kind": self.kind, "weight": self.weight, "title": self.title, "text": self.text,
                "skipped": self.skipped, "count": self.count, "examples": self.examples,
                "marks": self.marks}
