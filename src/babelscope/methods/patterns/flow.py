"""How senses or genders shift from data to distilled data to student (conditioning paper, figure 4)."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from babelscope.core.registry import Registry
from babelscope.core.results import Estimate, Row
from babelscope.core.tokenisers import require_spaces
from babelscope.making.occupations import Flow, Forms, Occurrence, flows_of, occurrences
from babelscope.stats.intervals import clustered_proportion, mean_and_sd, odds
from babelscope.stats.paired import paired_difference
from babelscope.util.errors import BabelscopeError
from babelscope.util.json_lines import parse_json
from babelscope.util.text import read_bytes, read_lines, require_equal_counts

STAGES = ("data", "distilled", "student")
QUERIES: Registry[Callable[[str], dict[str, Forms]]] = Registry(
    "set of queries", "collections.abc:Callable", "babelscope.queries", {}
)
_WORD = re.compile(r"\w+")


def read_queries(spec: str) -> dict[str, Forms]:
    """Words to look for: a file of queries (`{word: {src_forms, tgt_forms_CLASS...}}`), or those of a plug-in.

    A plug-in's are `NAME:REST`; its entry point NAME in `babelscope.queries` is a function that is given REST.
    """
    name, colon, rest = spec.partition(":")
    if colon and name in QUERIES.names():
        return QUERIES.find(name)(rest)
    found = parse_json(read_bytes(spec), spec)
    if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
        raise BabelscopeError(f"{spec} must be an object of queries, one a word")
    queries = {}
    for word, record in found.items():
        try:
            queries[word] = Forms.from_json(record)
        except BabelscopeError as error:
            raise BabelscopeError(f"{spec}: {word}: {error}") from None
    return queries


def find_occurrences(
    source: str | Path, stages: Mapping[str, str | Path], queries: Mapping[str, Forms]
) -> list[Occurrence]:
    """Every occurrence of the queried words in line-parallel files: a source, and a translation at each stage."""
    files = {"source": source, **stages}
    lines = {name: read_lines(path, keep_separators=True) for name, path in files.items()}
    require_equal_counts({str(files[name]): len(own) for name, own in lines.items()})
    for name, own in lines.items():
        require_spaces(own, what=f"the lines of {files[name]}")
    split = ([_WORD.findall(text) for text in texts] for texts in zip(*lines.values(), strict=True))
    found = list(occurrences(((first, rest) for first, *rest in split), queries))
    if not found:
        raise BabelscopeError(
            f"{source} has none of the words looked for ({', '.join(list(queries)[:5])}, ...)"
        )
    return found


def mean_flows(models: Sequence[Sequence[Occurrence]], stages: Sequence[str] = STAGES) -> list[Flow]:
    """Flows averaged over models, as in the released counts."""
    total: Counter[tuple[str, str]] = Counter()
    for found in models:
        for start, end, count in flows_of(found, stages):
            total[start, end] += count  # type: ignore[assignment]
    return [(start, end, count / len(models)) for (start, end), count in total.items()]


def with_other(flows: Iterable[Flow]) -> list[Flow]:
    """Flows in which forms that are not identified are `other`; the released counts call them neutral."""
    flows = list(flows)
    if any(end.endswith("_other") for _, end, _ in flows):  # neutral is then a class of its own
        return flows
    return [(_as_other(start), _as_other(end), count) for start, end, count in flows]


def _as_other(node: str) -> str:
    return f"{node.removesuffix('_neutral')}_other" if node.endswith("_neutral") else node


def merge_words(flows: Iterable[Flow], stages: Sequence[str] = STAGES) -> list[Flow]:
    """Flows summed over words: `data_male` for `doctor_data_male`; flows from the bare word are left out."""
    total: Counter[tuple[str, str]] = Counter()
    for start, end, count in flows:
        ends = [_stage_and_class(node, stages) for node in (start, end)]
        if None not in ends:
            total[str(ends[0]), str(ends[1])] += count  # type: ignore[assignment]
    return [(start, end, count) for (start, end), count in sorted(total.items())]


def _stage_and_class(node: str, stages: Sequence[str]) -> str | None:
    parts = node.rsplit("_", 2)
    return f"{parts[1]}_{parts[2]}" if len(parts) == 3 and parts[1] in stages else None


def shift_rows(models: Sequence[Sequence[Occurrence]], stages: Sequence[str] = STAGES) -> list[Row]:
    """The share of each class at every stage, and by how much it changes from one stage to the next.

    Over several models (each with the stages of its own) shares and changes are means. Their intervals are always
    over sentences: what other sentences would show of these models. What other models would show is in rows of its
    own: `change over models` (Student's t), and the standard deviations that the paper reports.
    """
    first = models[0]
    clusters = [str(each.line) if each.line else f"occurrence {place}" for place, each in enumerate(first)]
    classes = sorted({name for found in models for each in found for name in each.classes})
    rows = []
    for place, stage in enumerate(stages):
        shares = {}
        for name in classes:
            held = [[float(each.classes[place] == name) for each in found] for found in models]
            shares[name] = _means(held)
            count = {"count": round(math.fsum(shares[name]))}
            labels: dict[str, str | int] = {"stage": stage, "class": name}
            rows.append(Row("share", clustered_proportion(shares[name], clusters), labels, count))
            if len(models) > 1 and place:  # the data are the same for all models
                rows.append(Row("share sd", _over_models(held)[1], labels))
        if {"male", "female"} <= set(classes):
            rows.append(_ratio_row(shares["male"], shares["female"], clusters, stage))
    for place, (before, after) in enumerate(itertools.pairwise(stages)):
        for name in classes:
            moved = [
                [float((each.classes[place + 1] == name) - (each.classes[place] == name)) for each in found]
                for found in models
            ]
            labels = {"from": before, "to": after, "class": name}
            rows.append(Row("change", paired_difference(_means(moved), clusters, verdicts=True)[0], labels))
            if len(models) > 1:
                mean, sd = _over_models(moved)
                rows += [Row("change over models", mean, labels), Row("change sd", sd, labels)]
    return rows


def _means(of_models: Sequence[Sequence[float]]) -> list[float]:
    """The mean over models of each occurrence."""
    return [math.fsum(own) / len(own) for own in zip(*of_models, strict=True)]


def _over_models(of_models: Sequence[Sequence[float]]) -> tuple[Estimate, Estimate]:
    """Mean and standard deviation of the models' own means."""
    return mean_and_sd([math.fsum(own) / len(own) for own in of_models], "models")


def _ratio_row(male: Sequence[float], female: Sequence[float], clusters: Sequence[str], stage: str) -> Row:
    """How many male forms there are for a female one (M:F, Saunders and Byrne 2020)."""
    gendered = [one + other for one, other in zip(male, female, strict=True)]
    shares = [one / both if both else 0.0 for one, both in zip(male, gendered, strict=True)]
    counts = {"male": round(math.fsum(male)), "female": round(math.fsum(female))}
    return Row(
        "male_to_female", odds(clustered_proportion(shares, clusters, gendered)), {"stage": stage}, counts
    )
