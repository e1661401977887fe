"""Ukrainian: gender of occupations and lemmas, by pymorphy3."""

from babelscope.language.slavic import slavic_language

LANGUAGE = slavic_language("uk", "Ukrainian")
