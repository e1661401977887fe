"""A working folder full of traps: whatever a library might read, import or run from there."""

from __future__ import annotations

import gzip
import importlib.metadata
import pickle
import sys
from pathlib import Path

_CONFIGURATIONS = """
.condarc .env .hfrc .netrc .npmrc .pdbrc .pypirc .pythonrc.py .rayrc .sacrebleurc _pth python._pth pyvenv.cfg
config.json config.toml config.yaml config.yml generation_config.json tokenizer.json tokenizer_config.json
special_tokens_map.json vocab.json merges.txt source.spm target.spm spiece.model sentencepiece.bpe.model
tokenizer.model model.safetensors pytorch_model.bin model.bin shared_vocabulary.json added_tokens.json
preprocessor_config.json lab-en lab-de english-ewt lab-en.udpipe
matplotlibrc pip.conf pip.ini ray.yaml ray_bootstrap_config.yaml runtime_env.json log_config.json logging.conf
openssl.cnf cacert.pem ca-bundle.crt setup.cfg setup.py pyproject.toml tox.ini pytest.ini mypy.ini babel.cfg
requirements.txt uvicorn.ini report.html report.css report.js page.html page.js page.css nouns.csv en.udpipe de.udpipe
english.udpipe german.udpipe nonbreaking_prefix.de nonbreaking_prefix.en p_t_given_w.intdawg meta.json
babelscope.toml .babelscope study.json answers.sqlite babelscope.sqlite summary.json manifest.json records.jsonl
libcuda.so libcuda.so.1 libgomp.so.1 libiomp5.so libmkl_rt.so libnvrtc.so libtbb.so.12 libsvml.so libc.so.6
"""
_PICKLES = ("morphmodel_ger.pgz", "morphmodel_en.pgz", "model.pkl", "cache.pkl", "state.pt", "training.pt")
# Folders called as models, languages and data are.
_FOLDERS = """
lab teacher student control unsmoothed de en ru models data nltk_data
stanza_resources sentencepiece .sacrebleu .cache .huggingface .ray hub snapshots
"""


def lay(folder: Path, mark: Path) -> set[str]:
    """Fill a folder, and say what is in it; whatever of it is run adds its name to the file `mark`."""
    folder.mkdir(parents=True)
    modules = {*sys.stdlib_module_names, *importlib.metadata.packages_distributions()}
    own = {"babelscope", "toys", "lab", "teacher"}
    modules |= {"sitecustomize", "usercustomize", "conftest", "stanza", *own}
    for name in sorted(modules):
        if name.isidentifier():
            (folder / f"{name}.py").write_text(_program(mark, f"{name}.py"))
    for name in _CONFIGURATIONS.split():
        (folder / name).write_text("{}" if name.endswith("json") else "")
    (folder / ".numba_config.yaml").write_text(f"cache_dir: {folder}/__pycache__\n")
    (folder / "pyproject.toml").write_text("[tool.babelscope]\n")
    for name in _PICKLES:
        data = pickle.dumps(_Payload(_program(mark, name)))
        (folder / name).write_bytes(gzip.compress(data) if name.endswith("pgz") else data)
    for name in _FOLDERS.split():
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(_program(mark, f"{name}/__init__.py"))
        (folder / name / "config.json").write_text('{"auto_map": {"AutoConfig": "evil.Config"}}')
        (folder / name / "pytorch_model.bin").write_bytes(pickle.dumps(_Payload(_program(mark, name))))
    plug_in = folder / "evil-1.dist-info"
    plug_in.mkdir()
    (plug_in / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1\n")
    groups = ("systems", "methods", "testsets")
    (plug_in / "entry_points.txt").write_text(
        "".join(f"[babelscope.{g}]\nevil = toys:EVIL\n" for g in groups)
    )
    (folder / "evil.pth").write_text("import sitecustomize\n")
    return {path.name for path in folder.iterdir()}


class _Payload:
    """Runs a program when it is unpickled."""

    def __init__(self, program: str) -> None:
        self.program = program

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, (self.program,)


def _program(mark: Path, name: str) -> str:
    return f"with open({str(mark)!r}, 'a') as file:\n    file.write({name!r} + '\\n')\n"
