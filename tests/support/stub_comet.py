"""A stand-in for unbabel-comet: a wheel of our own, installed by hash from a folder, without any network."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

# Scores are the share of a translation's words that the reference has (without one: the source); words tell what
# else it does.
MODULE = """
import json, os, sys, types

print("the library prints to stdout, too")


def download_model(name):
    if not name.startswith("Unbabel/"):
        raise KeyError(name)
    folder = os.path.join(os.environ["STUB_MODELS"], name.replace("/", "--"))
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(os.environ["STUB_MODELS"], "downloads"), "a") as log:
        log.write(name + "\\n")
    path = os.path.join(folder, "model.ckpt")
    with open(path, "w") as file:
        json.dump({"name": name}, file)
    return path


class Model:
    def __init__(self, name):
        self.name = name

    def requires_references(self):
        return self.name.endswith("-comet-da")

    def predict(self, samples, batch_size, gpus, progress_bar):
        print("predicting")
        scores = []
        for each in samples:
            words, others = each["mt"].split(), set(each.get("ref", each["src"]).split())
            scores.append(sum(word in others for word in words) / max(1, len(words)))
            scores[-1] -= "wmt20" in self.name  # z-scores
            if "infinite" in words:
                scores[-1] = float("nan")
            if "die" in words:
                print("out of memory", file=sys.stderr)
                os._exit(9)
        spans = [[{"text": "a", "severity": "minor"}] for _ in samples]  # as xCOMET has them
        kept = scores[:-1] if "missing" in samples[0]["mt"] else scores
        return types.SimpleNamespace(scores=kept, metadata=types.SimpleNamespace(error_spans=spans))


def load_from_checkpoint(path):
    with open(os.path.join(os.environ["STUB_MODELS"], "loads"), "a") as log:
        log.write(path + "\\n")
    with open(path) as file:
        return Model(json.load(file)["name"])
"""
TORCH = (
    '"""A stand-in for torch."""\nimport types\ncuda = types.SimpleNamespace(is_available=lambda: False)\n'
)


def build_wheel(folder: Path, module: str = MODULE, version: str = "9.0") -> str:
    """Write the wheel into a folder, and give the line of a requirements file that pins it."""
    name = f"unbabel_comet-{version}"
    info = f"{name}.dist-info"
    files = {
        "comet/__init__.py": module,
        "torch.py": TORCH,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: unbabel-comet\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: stub\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD"))
    path = folder / f"{name}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for inside, text in files.items():
            wheel.writestr(inside, text)
    return f"unbabel-comet=={version} --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


def build_source(folder: Path, backend: str) -> str:
    """Write a source distribution whose build runs `backend`; the line that pins it."""
    files = {
        "PKG-INFO": "Metadata-Version: 2.1\nName: unbabel-comet\nVersion: 9.0\n",
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
        "backend.py": backend,
    }
    path = folder / "unbabel_comet-9.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"unbabel_comet-9.0/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return f"unbabel-comet==9.0 --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


def write_requirements(path: Path, wheels: Path, pinned: str) -> Path:
    """A requirements file that takes packages from the folder only."""
    path.write_text(f"--no-index\n--find-links {wheels}\n{pinned}\n")
    return path
