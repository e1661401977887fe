"""The public parser models: where each is published."""

from __future__ import annotations

from collections.abc import Mapping

from babelscope.util.published import NamedSet, Project, PublishedFile, SetPart

# UDPipe 1 models of Universal Dependencies 2.5 (http://hdl.handle.net/11234/1-3131), at a mirror of them.
_UDPIPE_AT = (
    "jwijffels/udpipe.models.ud.2.5/17d6bbfb7f138f9ba2cf04692f15d892becf0246/inst/udpipe-ud-2.5-191206"
)


def _udpipe_model(treebank: str, language: str) -> NamedSet:
    project = Project(
        "jwijffels/udpipe.models.ud.2.5",
        (language, ""),
        "CC BY-NC-SA 4.0",
        "Milan Straka and Jana Straková. 2017. Tokenizing, POS Tagging, Lemmatizing and Parsing UD 2.0 with "
        "UDPipe. CoNLL Shared Task. Models: http://hdl.handle.net/11234/1-3131",
    )
    name = f"{treebank}-ud-2.5-191206.udpipe"
    file = PublishedFile(f"udpipe/{name}", f"{_UDPIPE_AT}/{name}")
    part = SetPart(f"udpipe/{treebank}", "udpipe", file.local, 0, (file,))
    return NamedSet(part.name, f"a parser, used as --parser udpipe:{treebank}", project, (part,))


MODELS: Mapping[str, NamedSet] = {
    made.name: made
    for made in (
        _udpipe_model("czech-pdt", "cs"),
        _udpipe_model("dutch-alpino", "nl"),
        _udpipe_model("english-ewt", "en"),
        _udpipe_model("english-gum", "en"),
        _udpipe_model("finnish-tdt", "fi"),
        _udpipe_model("french-gsd", "fr"),
        _udpipe_model("german-gsd", "de"),
        _udpipe_model("german-hdt", "de"),
    )
}
