"""What an error says of a compiler that was ended by a signal: whose fault it is, and what to send us."""

from __future__ import annotations

import re
import shlex
import signal
from collections.abc import Sequence

from epl import dump

_CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT}
# What epl-compile says of itself (tools/epl-compile/CrashReport.cpp); the notes say what to send.
_REPORT = re.compile(r'^error: epl-compile was ended by \w+ in phase "(?P<phase>.*)": .*\n', re.M)


def describe(number: int, diagnostics: str, name: str, text: str, command: Sequence[str]) -> str:
    """The message of the error.

    Args:
      number: of the signal.
      diagnostics: what the compiler wrote to standard error.
      name: of the step.
      text: the step, which is kept as a file if the compiler has not done so.
      command: the compiler and its arguments; the plan it writes is in a folder that goes.
    """
    ended = signal.Signals(number)
    begin = f'epl-compile was ended by {ended.name} on step "{name}"'
    if ended not in _CRASHES:
        killer = (
            "as the system does where memory runs out" if ended == signal.SIGKILL else "by another program"
        )
        return "\n".join(filter(None, [f"{begin}, {killer}", dump.note(text, name)]))
    report = _REPORT.search(diagnostics)
    notes = diagnostics[report.end() :] if report else diagnostics + _keep(text, command)
    phase = f' in phase "{report["phase"]}"' if report else ""
    return f"{begin}{phase}: this is a bug of EPL\n{_name_plan(notes, command)}".rstrip()


def _keep(text: str, command: Sequence[str]) -> str:
    """The step as a file, and what to send."""
    try:
        path = str(dump.write(text, "epl-crash"))
    except OSError as error:
        return f"note: the step could not be kept: {error}\n"
    again = shlex.join([path if argument == "-" else argument for argument in command])
    return (
        "note: please send us the step, these lines and what epl-compile --version prints; "
        f"the command that shows it: {again}\n"
    )


def _name_plan(notes: str, command: Sequence[str]) -> str:
    """The plan in the folder where the user is."""
    plan = command[command.index("-o") + 1] if "-o" in command else None
    return notes.replace(plan, "step.eplan") if plan else notes
