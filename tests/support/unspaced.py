"""Lines of our own in languages without spaces between words: English, a reference, and what a system may say."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

Lines = Sequence[tuple[str, str, str]]

CHINESE: Lines = (
    ("He bought three books in the old town.", "他在老城买了三本书。", "他在旧城里买了三本书。"),
    ("The soup is cold, bring another.", "汤凉了,请再拿一碗来。", "汤是冷的,请再拿一碗。"),
    ("Tomorrow we take the train to the sea.", "明天我们坐火车去海边。", "我们明天坐火车去海边。"),
    ("My sister teaches music at a school.", "我妹妹在一所学校教音乐。", "我姐姐在学校里教音乐。"),
    ("Nobody knew why the door was open.", "没有人知道门为什么开着。", "没人知道为什么门是开着的。"),
    ("Please call me up before noon.", "请在中午以前给我打电话。", "请你中午之前给我打电话。"),
)
JAPANESE: Lines = (
    (
        "He bought three books in the old town.",
        "彼は旧市街で本を三冊買いました。",
        "彼は古い町で本を三冊買った。",
    ),
    (
        "The soup is cold, bring another.",
        "スープが冷めました。別のをください。",
        "スープは冷たい。別のをください。",
    ),
    (
        "Tomorrow we take the train to the sea.",
        "明日は電車で海へ行きます。",
        "私たちは明日電車で海に行きます。",
    ),
    (
        "My sister teaches music at a school.",
        "妹は学校で音楽を教えています。",
        "姉は学校で音楽を教えている。",
    ),
    (
        "Nobody knew why the door was open.",
        "なぜ戸が開いていたか誰も知らない。",
        "戸がなぜ開いていたか誰も知りません。",
    ),
    ("Please call me up before noon.", "お昼までに電話をください。", "正午までに私に電話してください。"),
)
THAI: Lines = (
    ("He bought three books in the old town.", "เขาซื้อหนังสือสามเล่มในเมืองเก่า", "เขาซื้อหนังสือสามเล่มที่เมืองเก่า"),
    ("The soup is cold, bring another.", "ซุปเย็นแล้ว ช่วยเอามาอีกชาม", "ซุปเย็น กรุณานำมาอีกชาม"),
    ("Tomorrow we take the train to the sea.", "พรุ่งนี้เราจะนั่งรถไฟไปทะเล", "เราจะนั่งรถไฟไปทะเลพรุ่งนี้"),
    ("My sister teaches music at a school.", "น้องสาวของฉันสอนดนตรีที่โรงเรียน", "พี่สาวฉันสอนดนตรีในโรงเรียน"),
    ("Nobody knew why the door was open.", "ไม่มีใครรู้ว่าทำไมประตูถึงเปิดอยู่", "ไม่มีใครรู้ว่าประตูเปิดอยู่ทำไม"),
    ("Please call me up before noon.", "กรุณาโทรหาฉันก่อนเที่ยง", "โปรดโทรหาฉันก่อนเที่ยงวัน"),
)
BY_LANGUAGE: Mapping[str, Lines] = {"zh": CHINESE, "ja": JAPANESE, "th": THAI}


def references(lines: Lines) -> list[str]:
    """The references."""
    return [reference for _, reference, _ in lines]


def outputs(lines: Lines) -> list[str]:
    """What the system says."""
    return [said for _, _, said in lines]


def write_lines(path: Path, lines: Sequence[str]) -> Path:
    """A file of these lines."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def write_tests(path: Path, lines: Lines, *, language: str = "", reverse: bool = False) -> Path:
    """A challenge set of these lines, of which half have a dependency; `reverse` translates into English."""
    rows = []
    for number, (english, reference, _) in enumerate(lines, 1):
        source, target = (reference, english) if reverse else (english, reference)
        found = [{"phenomenon": "particle", "side": "source", "distance": number % 3}] if number % 2 else []
        stated = {"source_language" if reverse else "target_language": language} if language else {}
        rows.append(
            {"id": str(number), "source": source, "reference": target, "dependencies": found, **stated}
        )
    return write_lines(path, [json.dumps(row, ensure_ascii=False) for row in rows])


def train_pieces(path: Path, lines: Sequence[str]) -> Path:
    """A small sentencepiece model of these lines."""
    import io

    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        vocab_size=150,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    path.write_bytes(model.getvalue())
    return path
