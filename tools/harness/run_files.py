"""Reads the files of a run directory, also while they are written."""
import json
import os
import pathlib


def read_lines(path):
    """The complete lines of a .jsonl file; none where there is no file."""
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in text.split("\n")[:-1]]


def read_json(path):
    """A JSON file that is replaced atomically; None where there is none."""
    try:
        return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


class Tail:
    """The complete lines of a .jsonl file that still grows. Where the file was
    cut meanwhile, as an undo does, it is read from its beginning again."""

    def __init__(self, path):
        self.path = path
        self.forget()

    def forget(self):
        self.lines = []
        self._file, self._offset, self._torn = None, 0, b""

    def poll(self):
        """Reads on; the lines that are new."""
        try:
            with open(self.path, "rb") as file:
                about = os.fstat(file.fileno())
                if self._file not in (None, about.st_ino) or \
                        about.st_size < self._offset:
                    self.forget()
                self._file = about.st_ino
                file.seek(self._offset)
                more = file.read()
        except FileNotFoundError:
            return []
        self._offset += len(more)
        *whole, self._torn = (self._torn + more).split(b"\n")
        try:
            new = [json.loads(line) for line in whole]
        except ValueError:  # cut, and longer again by now
            self.forget()
            return []
        self.lines += new
        return new
