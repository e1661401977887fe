"""Run by the interpreter of unbabel-comet's environment, never by ours: JSON lines in, JSON lines out.

`fetch MODEL` downloads a checkpoint and writes where it is. `score CHECKPOINT` loads it, writes whether it needs
references, then reads a list of segments per line and writes a list of scores per line.
"""

import importlib
import json
import os
import sys


def main() -> None:
    """Do the task that the command line names."""
    # The libraries print to stdout, too; what they print goes to stderr.
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    task, what = sys.argv[1:3]
    comet = importlib.import_module("comet")
    if task == "fetch":
        found = comet.download_model(what)
        answers.write(json.dumps({"checkpoint": os.path.abspath(found)}) + "\n")
        return
    model = comet.load_from_checkpoint(what)
    gpus = 1 if importlib.import_module("torch").cuda.is_available() else 0
    answers.write(json.dumps({"references": bool(model.requires_references())}) + "\n")
    answers.flush()
    for line in sys.stdin:
        scores = model.predict(json.loads(line), batch_size=16, gpus=gpus, progress_bar=False).scores
        answers.write(json.dumps([float(score) for score in scores]) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
