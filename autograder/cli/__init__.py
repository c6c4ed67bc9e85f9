"""The ``autograder`` command. Imports a command's module when it is called; nothing imports this one.

Exit codes: 0 done (whatever the score), 1 the audit or the build check found something, 2 bad input, 3 the grader
itself failed, 130 interrupted.
"""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import click

from .. import __version__
from ..feedback.errors import GraderError, InputError
from .auditing import audit
from .authoring import new, quiz
from .building import build, simulate
from .common import BAD_INPUT, GRADER_FAILED, INTERRUPTED, legal
from .comparing import similar
from .documenting import docs
from .exporting import changes, export
from .grading import debug, grade
from .previewing import preview
from .regrading import regrade
from .reporting import report
from .simulating_class import simulate_a_class
from .slots import slots


class _Commands(click.Group):
    """Maps our errors to one line and an exit code: the only place that does."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except InputError as error:
            click.echo(f"autograder: {legal(error)}", err=True)
            ctx.exit(BAD_INPUT)
        except GraderError as error:
            click.echo(f"autograder: the grader failed: {legal(error)}", err=True)
            ctx.exit(GRADER_FAILED)
        except KeyboardInterrupt:
            click.echo("autograder: interrupted", err=True)
            ctx.exit(INTERRUPTED)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):  # click knows what to do
            raise
        except Exception as error:  # ours, whatever it is: never the exit code of "the audit found something"
            click.echo(traceback.format_exc(), err=True)
            click.echo(f"autograder: the grader failed: {type(error).__name__}: {legal(error)}", err=True)
            ctx.exit(GRADER_FAILED)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
@click.option(
    "--home",
    type=click.Path(path_type=Path),
    default=None,
    help="The repository, or an unpacked autograder zip. Default: the nearest folder above with an assignment.toml.",
)
@click.pass_context
def main(context: click.Context, home: Path | None) -> None:
    """Builds, grades and proves an assignment.

    \b
    Example:
      autograder grade submission.zip --results results.json
    """
    context.obj = home


for command in (grade, debug, build, simulate, audit, new, quiz, docs, preview):
    main.add_command(command)
for command in (regrade, changes, export, slots, report, similar, simulate_a_class):
    main.add_command(command)
