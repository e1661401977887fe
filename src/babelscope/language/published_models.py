"""UDPipe models by name, with their license and checksums."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from babelscope.util.digests import digest_open
from babelscope.util.published import NamedSet, Project, PublishedFile, SetPart

# UDPipe 1 models of Universal Dependencies 2.5 (http://hdl.handle.net/11234/1-3131), at a mirror of them. A full
# commit id, so that the file behind a URL cannot change; their sizes are not known to us.
_UDPIPE_AT = (
    "jwijffels/udpipe.models.ud.2.5/17d6bbfb7f138f9ba2cf04692f15d892becf0246/inst/udpipe-ud-2.5-191206"
)


def _udpipe_model(treebank: str, language: str, git_blob: str) -> NamedSet:
    project = Project(
        "jwijffels/udpipe.models.ud.2.5",
        (language, ""),
        "CC BY-NC-SA 4.0",
        "Milan Straka and Jana Straková. 2017. Tokenizing, POS Tagging, Lemmatizing and Parsing UD 2.0 with "
        "UDPipe. CoNLL Shared Task. Models: http://hdl.handle.net/11234/1-3131",
    )
    name = f"{treebank}-ud-2.5-191206.udpipe"
    file = PublishedFile(f"udpipe/{name}", f"{_UDPIPE_AT}/{name}", git_blob=git_blob)
    part = SetPart(f"udpipe/{treebank}", "udpipe", file.local, 0, (file,))
    return NamedSet(part.name, f"a parser, used as --parser udpipe:{treebank}", project, (part,))


_LINES = (files("babelscope.language") / "udpipe_models.txt").read_text("utf-8").splitlines()
MODELS: Mapping[str, NamedSet] = {
    made.name: made for made in (_udpipe_model(*line.split()) for line in _LINES if line[0] != "#")
}


def find_model(path: Path) -> NamedSet | None:
    """The published model that a file is, whatever it is called; None if it is none of them, or no file."""
    if not path.is_file():
        return None
    with open(path, "rb") as file:
        digest = digest_open(file, "git_blob")
    return next((model for model in MODELS.values() if model.files[0].git_blob == digest), None)
