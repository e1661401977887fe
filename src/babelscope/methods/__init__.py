"""How answers are judged: one package per method, and one line here."""

# One line of help for each command. Nothing is imported here: `babelscope --help` must be fast.
BUILT_IN = {
    "contrast": "Test if systems prefer right translations to ones with an error.",
    "errors": "Find errors in what systems write themselves.",
    "condition": "Test if the sense or gender meant is the one translated.",
    "space": "Look beyond the 1-best: the exact k best, and samples.",
    "challenge": "Measure quality by phenomenon and distance between words.",
    "quality": "Measure translations of any system by BLEU, chrF or other metrics.",
    "likelihood": "Measure how probable systems find the references of a test set.",
}
