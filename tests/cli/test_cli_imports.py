"""What the command line imports, and when."""

from __future__ import annotations

import subprocess
import sys


def run_python(code: str, *argv: object) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, argv)], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_the_options_of_commands_need_no_library():
    """It is imported when a command runs, and not for --help."""
    code = """
import sys
from covshift.cli.commands import COMMANDS, command
for name in COMMANDS:
    command(name)
print({"numpy", "sklearn", "pyarrow"} & {*sys.modules})
"""
    assert run_python(code) == ["set()"]


def test_without_click_the_command_line_says_what_to_install():
    code = """
import sys
sys.modules["click"] = None
sys.stderr = sys.stdout
import covshift, covshift.cli
print(covshift.cli.main(["demo"]))
"""
    told, code_of_exit = run_python(code)
    assert 'pip install "covshift[cli]"' in told
    assert code_of_exit == "1"
