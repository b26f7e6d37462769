"""Errors that a user can act on: one line that names the thing and the fix."""

import re


class UserError(Exception):
    """Bad input. The message is one line: what is wrong, and what to do about it."""


class DataMissing(UserError):
    """A dataset is absent and cannot be fetched. The message says which file to put where."""


class DataCorrupt(UserError):
    """A dataset file does not hold what was published (checksum of the unpacked content)."""


class Diverged(UserError):
    """Training left the finite numbers. The message says at which step, and what was not finite."""


def innermost(error: BaseException) -> BaseException:
    """The first cause behind what libraries wrapped around it."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return error


def printable(text: str) -> str:
    """One line that any terminal shows as it is: control characters are written out."""
    text = " ".join(text.split()).encode("utf-8", "backslashreplace").decode()
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda c: c[0].encode("unicode_escape").decode(), text)
