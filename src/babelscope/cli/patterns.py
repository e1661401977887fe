"""`babelscope patterns`: what pattern matching says of translations, WinoMT's and MuCoW's way."""

from __future__ import annotations

from babelscope.cli.flow import flow
from babelscope.cli.judging import function_of
from babelscope.cli.shell import ShellGroup
from babelscope.methods.patterns.mucow.command import COMMAND as MUCOW
from babelscope.methods.patterns.winomt.command import COMMAND as WINOMT

app = ShellGroup("Judge given translations by known words and word forms. The baselines of `condition`.")
app.command("winomt")(function_of(WINOMT))
app.command("mucow")(function_of(MUCOW))
app.command("flow")(flow)
