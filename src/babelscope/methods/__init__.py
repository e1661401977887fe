"""How answers are judged: one package a method, and one line here."""

# One line of help for each command. Nothing is imported here: `babelscope --help` must be fast.
BUILT_IN = {
    "contrast": "Contrastive evaluation on minimal pairs, by systems or from stored scores.",
    "condition": "Tell by contrastive conditioning how often the sense or gender meant is the one translated.",
    "space": "The exact k best translations and samples of models: empty modes, kRG and kQRG",
    "challenge": "BLEU, chrF and RIBES by phenomenon and distance, against the whole",
    "likelihood": "Log-probability a token, and perplexity, of the references of a test set.",
}
