"""unittest with TAP output."""
import sys
import unittest


class Result(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.number = 0

    def line(self, word, test, more=""):
        self.number += 1
        print(f"{word} {self.number} - {test.id().split('.', 1)[-1]}{more}", flush=True)

    def addSuccess(self, test):
        self.line("ok", test)

    def addSkip(self, test, reason):
        self.line("ok", test, f" # SKIP {reason}")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.told(test, self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self.told(test, self.errors[-1][1])

    def told(self, test, text):
        self.line("not ok", test)
        for line in text.splitlines():
            print(f"# {line}")


def main(module="__main__"):
    result = Result()
    unittest.defaultTestLoader.loadTestsFromModule(sys.modules[module]).run(result)
    print(f"1..{result.number}")
    sys.exit(0 if result.wasSuccessful() and result.number else 1)
