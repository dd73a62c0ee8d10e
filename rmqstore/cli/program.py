"""The program: its commands, each imported when it is used, its exit codes, and errors in one line."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

import click

from rmqstore.cli.spoken import in_words, language_option, listed, speak, spoken
from rmqstore.cli.stderr import note
from rmqstore.text import LANGUAGES

CLEAN, FOUND, USAGE, UNREADABLE, INTERRUPTED = 0, 1, 2, 3, 130

COMMANDS = {
    "doctor": "Is this a store, what is in it, is it in use, what is odd?",
    "ls": "List stores, topics or queues.",
    "stat": "What fills the disk: by topic, tag, hour, producer, kind or size.",
    "find": "Find messages by key, id, offset or condition; index hits first.",
    "cat": "Print messages.",
    "tail": "Print the newest messages, and new ones as they arrive.",
    "tables": "Print any other table: damage, segments, queues, consumer_offsets …",
    "sql": "Run an SQL query of DuckDB on messages and the other tables.",
    "explain": "Show what a read would look at, and why.",
    "summarize": "Write a summary of a store, so that later reads find their messages without a scan.",
    "lag": "Which consumer groups are behind, since when, and what have they lost?",
    "dlq": "Which messages did consumer groups give up, from which topics, since when?",
    "export": "Write messages to Parquet, Arrow, JSON lines or CSV.",
    "rescue": "Save what can be read of a broken store, with a page about what was lost.",
    "lost": "What did each team lose? A folder with a file and a text to send for each topic.",
    "repair": "Write a new store on which a broker runs, with every message that survived.",
    "extract": "Write a new store with the messages of some topics, for a broker elsewhere.",
    "diff": "Compare two stores: what has a slave, a copy or an old master that the other lacks?",
    "verify": "Check that log, queues, index and configuration agree.",
    "report": "Write a page about one store or several, to look at and to send on.",
}
"""The commands, with what `--help` says about them. The command of a name is in the module of that name."""
_UNEXPECTED = re.compile(r"Got unexpected extra arguments? \((.*)\)")
_OF_PATH = re.compile(r"(?:File|Path) ['\"](.*)['\"] is (a directory|not readable)\.")
_MISSING, _UNWANTED = "Missing command.", "does not take a value."
_OTHER_WORDS = {"index": "summarize"}
"""What a user may call a command, whose name it does not resemble."""

HELP = """Read the files of an Apache RocketMQ broker, without the broker. Nothing in a store is changed.

STORE is a broker's storePathRootDir, a commitlog directory, one segment, a directory of stores, or a copy of one of these.
"""
EPILOG = """\b
Exit codes:
  0    clean
  1    nothing was found: by find, or of a topic that the store does not have;
       or damage was skipped, data is lost, or a check found something
  2    wrong arguments
  3    the store cannot be read, or the output cannot be written
  130  interrupted

\b
Examples:
  rmqstore doctor /data/store
  rmqstore stat /data/store --by topic
  rmqstore find /data/store --key ORDER-1
  rmqstore cat /data/store --topic orders --since '2026-01-31 12:00:00Z' --json | jq .body

\b
Completion in bash; docs/cli.md has zsh and fish:
  eval "$(_RMQSTORE_COMPLETE=bash_source rmqstore)"
"""


class SpokenContext(click.Context):
    """Writes the help and the usage of a command in the language that is spoken."""

    def make_formatter(self) -> click.HelpFormatter:
        if spoken() == LANGUAGES[0]:
            return super().make_formatter()
        from rmqstore.cli.chinese_help import ChineseFormatter

        return ChineseFormatter(width=self.terminal_width, max_width=self.max_content_width)


class Program(click.Group):
    """Imports a command only when it runs, and ends with the exit code that the command returns."""

    context_class = SpokenContext

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = getattr(import_module(f"rmqstore.cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        command.context_class = SpokenContext
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = _OTHER_WORDS.get(args[0]) or next(iter(get_close_matches(args[0], COMMANDS, n=1)), None)
            kind, hint = ("no command near", near) if near else ("no command", listed(COMMANDS))
            ctx.fail(in_words(kind, command=args[0], hint=hint))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        from rmqstore.cli.asked import note_letters

        note_letters(ctx.args)
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            from native_reader.sentences import Said

            note(Said("interrupted"))
            return INTERRUPTED

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> NoReturn:
        """Run, and exit. click's own exit codes are others, so errors are handled here."""
        speak(sys.argv[1:] if args is None else args)
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # a host whose locale is not UTF-8
        code = _flushed(self._code(args, prog_name or "rmqstore", complete_var, extra))
        # Python remembers an interruption inside exec, as when a dataclass is made, although it was caught,
        # and would end `python -m rmqstore` by signal 2 instead of with this code. Another exec makes it forget.
        exec("")
        sys.exit(code)

    def _code(self, args: Sequence[str] | None, prog_name: str, complete_var: str | None, extra: dict[str, Any]) -> int:
        try:
            code = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except click.ClickException as error:
            _show(error)
            return error.exit_code
        except click.Abort:  # interrupted before the command began
            return INTERRUPTED
        except ModuleNotFoundError as error:
            if error.name != "rich":
                raise
            note(in_words("error", what=in_words("error no rich")))
            return USAGE
        except Exception as error:
            if (code_of_error := code_of(error)) is None:
                raise
            note(in_words("error", what=text_of(error)))
            return code_of_error
        return code if isinstance(code, int) else CLEAN


def _flushed(code: int) -> int:
    """The exit code once everything is written. Python itself would end with a traceback and code 120, for example on a full disk."""
    try:
        sys.stdout.flush()
    except OSError as error:
        if code != UNREADABLE:  # else it was said already
            from native_reader.sentences import words_of

            note(in_words("error", what=in_words("error of output", why=words_of(error))))
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes again when it ends
        return UNREADABLE
    return code


def _show(error: click.ClickException) -> None:
    """A wrong argument, with how the command is used; without any argument, the help."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        for line in error.format_message().splitlines():
            note(line)
        return
    if isinstance(error, click.NoSuchOption) and error.option_name == "-n":
        error = click.UsageError(in_words("no server"), error.ctx)
    if isinstance(error, click.UsageError) and error.ctx is not None:
        for line in error.ctx.get_usage().splitlines():
            note(line)
        note(in_words("try help", command=error.ctx.command_path))
    from native_reader.errors import without_secrets

    note(in_words("error", what=without_secrets(_text_of_click(error))))


def _text_of_click(error: click.ClickException) -> str:
    """What click itself says, in the language of this command."""
    text = error.format_message()
    if spoken() == LANGUAGES[0]:
        return text
    if isinstance(error, click.NoSuchOption):
        if not error.possibilities:
            return in_words("no option", option=error.option_name)
        return in_words("no option near", option=error.option_name, near=listed(error.possibilities))
    if isinstance(error, click.MissingParameter):
        return in_words("missing parameter", name=_name_of(error))
    if isinstance(error, click.BadParameter):
        return in_words("wrong value", name=_name_of(error), why=_values_of_choice(error) or _fault_of_path(error) or error.message)
    if isinstance(error, click.BadOptionUsage):
        return in_words("unwanted value" if text.endswith(_UNWANTED) else "missing value", option=error.option_name)
    if text == _MISSING:
        return in_words("missing command")
    if (more := _UNEXPECTED.fullmatch(text)) is not None:
        return in_words("extra argument", argument=more[1])
    return text


def _name_of(error: click.BadParameter) -> str:
    """The option or argument, without quotation marks."""
    hint = error.param_hint if isinstance(error.param_hint, str) else error.param.get_error_hint(error.ctx) if error.param else ""
    return hint.replace("'", "")


def _values_of_choice(error: click.BadParameter) -> str | None:
    if error.param is not None and isinstance(error.param.type, click.Choice):
        return in_words("not a choice", choices=listed(map(str, error.param.type.choices)))
    return None


def _fault_of_path(error: click.BadParameter) -> str | None:
    """What click says of a file that cannot be written."""
    if (found := _OF_PATH.fullmatch(error.message)) is None:
        return None
    return in_words("a directory" if found[2] == "a directory" else "not readable", path=found[1])


def code_of(error: Exception) -> int | None:
    """The exit code for an error of the engine or the file system; None for a fault of this program."""
    if not isinstance(error, OSError | ValueError | LookupError | TypeError | RuntimeError):
        return None
    from native_reader import DataLoss, OptionError, SchemaError, SplitError, StoreDamaged, StoreError, UseError

    if isinstance(error, OptionError | SchemaError | UseError):
        return USAGE
    if isinstance(error, StoreDamaged | DataLoss | SplitError):
        return FOUND
    return UNREADABLE if isinstance(error, StoreError | OSError) else None


def text_of(error: Exception) -> str:
    """What the error says in the language of this command, with options as they are written here."""
    from native_reader import StoreError
    from native_reader.errors import Sentence, text_in
    from rmqstore.cli.asked import spelled

    if isinstance(error, StoreError) and isinstance(error.said, Sentence):
        text = text_in(error.said, spoken(), spelled)
    else:
        from native_reader.sentences import told

        text = str(error.spelled(spelled)) if isinstance(error, StoreError) else told(error).text(spoken())
    return " ".join(text.replace(in_words("skip damage"), in_words("not strict")).splitlines())


def _print_version(context: click.Context, parameter: click.Parameter, is_wanted: bool) -> None:
    if is_wanted and not context.resilient_parsing:
        from importlib.metadata import PackageNotFoundError, version

        try:  # as native_reader.export.manifest, whose package takes long to import
            click.echo(version("rmqstore-spark"))
        except PackageNotFoundError:
            click.echo("unknown: the package is used from its sources")
        context.exit()


@click.group(
    "rmqstore", cls=Program, help=HELP, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version, and exit.")
@language_option(expose_value=False)
def program() -> None:
    pass
