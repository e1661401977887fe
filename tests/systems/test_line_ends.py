"""`llm:` with `end=newline` where tokens have a line break beside other characters, against all texts listed."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import torch

from babelscope.core.system import Scored
from babelscope.systems.registry import open_system
from babelscope.util.errors import BabelscopeError

LONGEST = 4
SOURCE = "ab ba"
CORPUS = ["ab.\n", "ba.\n\n", "a\n\n", "b\n\nab.\n\n", "ba ab.\n"] * 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("merged"))


def build(folder: Path) -> Path:
    """A tiny Llama; its tokenizer was trained on lines with nothing to keep line breaks apart."""
    import transformers as t
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=14, special_tokens=["</s>"], show_progress=False, max_token_length=5
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    fast = t.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>")
    fast.save_pretrained(folder)
    torch.manual_seed(5)
    config = t.LlamaConfig(
        vocab_size=len(fast), hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=64, bos_token_id=None, eos_token_id=0, pad_token_id=None,
    )  # fmt: skip
    model = t.LlamaForCausalLM(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.3)
    model.save_pretrained(folder)
    return folder


def opened(folder: Path, forward: str = "lean", longest: int = LONGEST) -> Any:
    return open_system(f"llm:{folder}?prompt={{text}}b&end=newline&max_length={longest}&forward={forward}")


def listed(system: Any) -> dict[str, float]:
    """Probability of every text whose tokens have no line break and number fewer than `LONGEST`, from the network
    alone: whatever token first has a line break, or is the end of the text, ends the answer before it."""
    tokenizer, [prompt] = system.tokens.tokenizer, system._prompts([SOURCE])
    texts = [tokenizer.decode([number]) for number in range(len(tokenizer))]
    going = [number for number, text in enumerate(texts) if "\n" not in text and number]
    found: dict[str, float] = defaultdict(float)
    prefixes: list[tuple[list[int], float]] = [([], 1.0)]
    for length in range(LONGEST):
        ids = torch.tensor([[*prompt, *prefix] for prefix, _ in prefixes])
        with torch.inference_mode():
            probabilities = system.network(input_ids=ids).logits[:, -1].double().softmax(-1).tolist()
        grown = []
        for (prefix, so_far), row in zip(prefixes, probabilities, strict=True):
            written = "".join(texts[number] for number in prefix)
            for number, share in enumerate(row):
                if number in going:
                    grown.append(([*prefix, number], so_far * share))
                elif number == 0 or not texts[number].split("\n")[0].strip():
                    found[repr((prefix, written.strip()))] += so_far * share
                elif length < LONGEST - 1:  # what follows it is the end, which is a token too
                    text = (written + texts[number].split("\n")[0]).strip()
                    found[repr((prefix, text))] += so_far * share
        prefixes = grown
    return dict(found)


def key(system: Any, scored: Scored) -> str:
    """A hypothesis as `listed` names it: the tokens without a line break, and the text."""
    ids = system.tokens.ids_of(scored)[:-1]
    kept = [number for number in ids if "\n" not in system.tokens.tokenizer.decode([number])]
    return repr((kept, scored.text))


def test_the_tokenizer_has_such_tokens(folder):
    system = opened(folder)
    names = set(system.tokens.tokenizer.get_vocab())
    assert {"Ċ", ".Ċ", "ĊĊ", ".ĊĊ"} <= names
    assert [len(group) for group in system._lines.closing if len(group) > 1]
    assert len(system._ends) >= 2


@pytest.mark.parametrize("forward", ["lean", "transformers"])
def test_exact_search_finds_what_is_most_probable(folder, forward):
    system = opened(folder, forward)
    expected = listed(system)
    best = sorted(expected.values(), reverse=True)[:30]
    [answer] = system.top_k([SOURCE], k=30)
    assert answer.exact
    assert [math.exp(each.total) for each in answer.found] == pytest.approx(best, rel=1e-3)
    for each in answer.found:
        assert math.exp(each.total) == pytest.approx(expected[key(system, each)], rel=1e-3)
        assert "\n" not in each.text


@pytest.mark.parametrize("forward", ["lean", "transformers"])
def test_beam_samples_and_scores_have_the_same_probabilities(folder, forward):
    system = opened(folder, forward)
    expected = listed(system)
    beam = system.translate([SOURCE], beam=200, n_best=100, length_penalty=0.0)[0]
    drawn = system.sample([SOURCE], n=400, seed=1)[0]
    distinct = system.sample_distinct([SOURCE], n=100, seed=1)[0][0]
    closed = 0
    for group in (beam, drawn, distinct):
        ended = [each for each in group if "unfinished" not in each.notes]
        assert ended
        for each in ended:
            assert math.exp(each.total) == pytest.approx(expected[key(system, each)], rel=1e-3)
        closed += sum("Ċ" in "".join(each.tokens[:-1]) for each in ended)
        again = system.score([(SOURCE, each) for each in ended])
        assert [each.total for each in again] == pytest.approx([each.total for each in ended], abs=1e-3)
    assert closed
    best = max(expected.values())
    assert math.exp(beam[0].total) == pytest.approx(best, rel=1e-3)


def test_a_text_is_scored_by_the_tokens_of_its_line(folder):
    system = opened(folder, longest=12)
    plain, dotted, none = system.score([(SOURCE, text) for text in ("ab", "ab.", "")])
    assert "Ċ" in dotted.tokens[-2]
    assert dotted.logprobs[-1] == 0
    assert len(none.tokens) == 1
    for scored in (plain, dotted):
        assert scored.notes == ()
        [prompt] = system._prompts([SOURCE])
        ids = system.tokens.ids_of(scored)
        with torch.inference_mode():
            logs = system.network(input_ids=torch.tensor([prompt + ids])).logits[0].double().log_softmax(-1)
        last = len(prompt) + len(ids) - 2 - (scored is dotted)
        own = next((g for g in system._lines.closing if ids[-2] in g), None) if scored is dotted else None
        ends = own or [system._end_id, *system._ends]
        assert scored.logprobs[-2 if scored is dotted else -1] == pytest.approx(
            float(logs[last, list(ends)].logsumexp(-1)), abs=1e-4
        )


def test_a_tokenizer_without_line_breaks_is_refused(folder, tmp_path):
    import shutil

    import transformers as t
    from tokenizers import Tokenizer, models, pre_tokenizers

    other = shutil.copytree(folder, tmp_path / "words")
    names = ["</s>", "ab", "ba", "<unk>", *(f"w{number}" for number in range(10))]
    words = Tokenizer(
        models.WordLevel({name: number for number, name in enumerate(names)}, unk_token="<unk>")
    )
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    t.PreTrainedTokenizerFast(tokenizer_object=words, eos_token="</s>").save_pretrained(other)
    with pytest.raises(BabelscopeError, match=r"no token for a line break.*set end=eos"):
        opened(other)
    assert open_system(f"llm:{other}?prompt={{text}} ba&end=eos&max_length=4").translate(["ab"])
