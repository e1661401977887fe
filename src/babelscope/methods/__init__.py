"""How answers are judged: one package a method, and one line here."""

# What each command says of itself in the list of all. Nothing is imported: the list must be quick.
BUILT_IN = {
    "contrast": "Test if systems prefer right translations to ones with an error.",
    "condition": "Test if the sense or gender meant is the one translated.",
    "space": "Look beyond the 1-best: the exact k best, and samples.",
    "challenge": "Measure quality by phenomenon and distance between words.",
    "likelihood": "Measure how probable systems find the references of a test set.",
}
