"""Prompts: read from small files that nobody trusts, rendered plainly or as a chat, identified by a digest."""

from __future__ import annotations

from pathlib import Path

import pytest

from babelscope.systems.prompting.prompts import LARGEST, find_prompt, read_prompt, shipped_names
from babelscope.systems.registry import open_system
from babelscope.util.errors import BabelscopeError
from tests.support.models import SOURCES, TARGETS, build_causal
from tests.support.serving import Server

LANGUAGES = {"source": "English", "target": "German"}


def write(folder: Path, text: str, examples: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "pairs.tsv").write_text(examples, encoding="utf-8")
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


FEW = 'template = "{source}: {text}\\n{target}:"\nsystem = "From {source}."\nexamples = "pairs.tsv"\n'


def test_a_plain_prompt_shows_its_examples_before_the_source(tmp_path):
    prompt = read_prompt(write(tmp_path, FEW, "one\teins\ntwo\tzwei\n")).filled(LANGUAGES, "x")
    assert prompt.name == "mine"
    assert prompt.text("a {target}") == (
        "From English.\nEnglish: one\nGerman: eins\nEnglish: two\nGerman: zwei\nEnglish: a {target}\nGerman:"
    )


def test_a_chat_shows_them_as_turns(tmp_path):
    prompt = read_prompt(write(tmp_path, FEW + 'kind = "chat"\n', "one\teins\n")).filled(LANGUAGES, "x")
    assert [(each["role"], each["content"]) for each in prompt.messages("two")] == [
        ("system", "From English."),
        ("user", "English: one\nGerman:"),
        ("assistant", "eins"),
        ("user", "English: two\nGerman:"),
    ]


def test_the_digest_is_of_what_is_said_not_of_its_name_or_place(tmp_path):
    first = read_prompt(write(tmp_path / "a", FEW, "one\teins\n"))
    renamed = read_prompt(write(tmp_path / "b", FEW + 'name = "other"\n', "one\teins\n"))
    assert renamed.name == "other" != first.name
    assert renamed.digest == first.digest
    others = [
        read_prompt(write(tmp_path / "c", FEW, "one\tein\n")),
        read_prompt(write(tmp_path / "d", FEW + 'between = "\\n\\n"\n', "one\teins\n")),
        read_prompt(write(tmp_path / "e", FEW + 'kind = "chat"\n', "one\teins\n")),
        read_prompt(write(tmp_path / "f", FEW.replace("From", "To"), "one\teins\n")),
    ]
    assert len({first.digest, *(each.digest for each in others)}) == 5


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('name = "a"\ntemplat = "{text}"', r"mine.toml:2: .*did you mean template\?"),
        ('name = "a"\n\ntemplate = "hello"', r"mine.toml:3: .*needs a template with \{text\}"),
        ('template = "{text}"\nkind = "chatty"', r"mine.toml:2: .*one of auto, plain, chat"),
        ('template = "{text} {sorce}"', r"mine.toml:1: .*\{sorce\}.*did you mean source\?"),
        ('template = "{text}"\nsystem = "{text}"', r"mine.toml:2: the system has \{text\}"),
        ('template = "{text}"\nsystem = 3', r"mine.toml:2: system must be a text, not '3'"),
        ('template = "{text}"\nexamples = "../x.tsv"', r"mine.toml:2: .*own folder"),
        ('template = "{text}"\nexamples = "pairs.tsv"', r"pairs.tsv:2: an example is a source, a tab"),
        ('template = "{text}"\nbetween = ""', r"mine.toml:2: between stands after"),
        ('template = "{text}"\nname = "a/b"', r"mine.toml:2: a name is"),
        ('template = "{text}\\u0000"', r"mine.toml:1: template has a NUL"),
        ("template = x\n", r"mine.toml: not TOML: .*line 1"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(tmp_path, text, told):
    with pytest.raises(BabelscopeError, match=told):
        read_prompt(write(tmp_path, text, "a\tb\nno tab\n"))


def test_sizes_are_bounded_and_links_out_of_the_folder_refused(tmp_path):
    with pytest.raises(BabelscopeError, match=r"mine\.toml"):
        read_prompt(write(tmp_path, f'template = "{{text}}{"a" * LARGEST}"'))
    path = write(tmp_path, 'template = "{text}"\nexamples = "pairs.tsv"', "a\tb\n" * LARGEST)
    with pytest.raises(BabelscopeError, match=r"pairs\.tsv"):
        read_prompt(path)
    (tmp_path.parent / "secret.tsv").write_text("a\tb\n")
    (tmp_path / "pairs.tsv").unlink()
    (tmp_path / "pairs.tsv").symlink_to(tmp_path.parent / "secret.tsv")
    with pytest.raises(BabelscopeError, match="own folder"):
        read_prompt(path)


def test_three_prompts_are_shipped_and_found_by_name():
    prompts = [find_prompt(name) for name in shipped_names()]
    assert [each.name for each in prompts] == shipped_names() == ["instruction", "lines", "question"]
    for each in prompts:
        assert "Hallo" in each.filled(LANGUAGES, "x").text("Hallo")
    with pytest.raises(BabelscopeError, match=r"did you mean lines\?"):
        find_prompt("line")


def test_a_template_in_the_spec_and_in_a_file_are_one_system(tmp_path):
    folder = build_causal(tmp_path / "m", chat=False)
    spec = f"llm:{folder}?source=English&target=German&max_length=60"
    file = write(tmp_path, 'template = "Now {text} in {target}:"')
    by_file, by_text = (open_system(f"{spec}&prompt={each}") for each in (file, "Now {text} in {target}:"))
    assert by_file.fingerprint == by_text.fingerprint
    assert open_system(f"{spec}&prompt=lines").fingerprint == open_system(spec).fingerprint
    assert by_file.fingerprint != open_system(spec).fingerprint


def test_a_few_shot_prompt_is_what_the_model_reads(tmp_path):
    """Scores are those of the same text given as one template."""
    folder = build_causal(tmp_path / "m", chat=False)
    spec = f"llm:{folder}?source=English&target=German&max_length=40"
    file = write(tmp_path, FEW.replace("From {source}.", "Now:"), "one\teins\n")
    shots = open_system(f"{spec}&prompt={file}")
    written = open_system(
        f"{spec}&prompt=Now:%0AEnglish: one%0AGerman: eins%0A{{source}}: {{text}}%0A{{target}}:"
    )
    pairs = [(SOURCES[0][:20], TARGETS[0][:20])]
    assert shots.score(pairs)[0].logprobs == written.score(pairs)[0].logprobs
    assert shots.fingerprint != written.fingerprint


def test_kinds_that_contradict_the_spec_or_the_model_are_refused(tmp_path):
    plain, chat = build_causal(tmp_path / "p", chat=False), build_causal(tmp_path / "c", chat=True)
    languages = "source=English&target=German&max_length=60"
    file = write(tmp_path, 'template = "{text}"\nkind = "chat"')
    with pytest.raises(BabelscopeError, match="no chat template"):
        open_system(f"llm:{plain}?{languages}&prompt={file}")
    with pytest.raises(BabelscopeError, match="is of the kind chat; leave chat=no out"):
        open_system(f"llm:{chat}?{languages}&prompt={file}&chat=no")
    with pytest.raises(BabelscopeError, match="set target=LANGUAGE"):
        open_system(f"llm:{plain}?source=English&prompt=lines")
    file = write(tmp_path, 'template = "{text}"\nkind = "plain"')
    system = open_system(f"llm:{chat}?{languages}&prompt={file}")
    [ids] = system._prompts(["a b"])
    assert "assistant" not in system.tokens.tokenizer.decode(ids)


def test_a_system_message_that_the_chat_template_drops_is_refused(tmp_path):
    folder = build_causal(tmp_path / "m", chat=True)
    file = write(tmp_path, 'template = "{text}"\nsystem = "Be brief."')
    system = open_system(f"llm:{folder}?source=English&target=German&max_length=60&prompt={file}")
    system.tokens.tokenizer.chat_template = "{{ messages[-1]['content'] }}"
    with pytest.raises(BabelscopeError, match="drops the system message"):
        system.score([("a", "b")])


def test_a_server_is_sent_the_same_prompt(tmp_path):
    server = Server(lambda _: {"choices": [{"message": {"content": "zwei"}, "finish_reason": "stop"}]})
    spec = f"openai:{server.url}/v1#m?source=English&target=German&retries=0"
    file = write(tmp_path, FEW + 'kind = "chat"\n', "one\teins\n")
    open_system(f"{spec}&prompt={file}").translate(["two"])
    prompt = read_prompt(file)
    assert server.seen[-1].body["messages"] == prompt.filled(LANGUAGES, "x").messages("two")
    file = write(tmp_path, FEW + 'kind = "plain"\n', "one\teins\n")
    plain = open_system(f"{spec}&prompt={file}")
    plain.translate(["two"])
    text = read_prompt(file).filled(LANGUAGES, "x").text("two")
    assert server.seen[-1].body["messages"] == [{"role": "user", "content": text}]
    assert plain.fingerprint.settings["prompt"]["digest"] == read_prompt(file).digest
    server.shutdown()
