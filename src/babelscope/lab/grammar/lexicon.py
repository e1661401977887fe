"""Nouns, adjectives, adverbs, prepositions and conjunctions of both languages, as tables to read.

Rows are ordered by frequency: words are drawn by Zipf's law within what a verb admits.
German synonyms stand with their weight; the first is the usual one.
"""

# ruff: noqa: E501 (one word a row)
from __future__ import annotations

from dataclasses import dataclass

from babelscope.lab.grammar.morphology import GermanNoun

# english plural | German gender genitive plural weight, ... | classes
NOUN_TABLE = """
book books | Buch n Buches Bücher 9 | text portable
key keys | Schlüssel m Schlüssels Schlüssel 9 | portable small
car cars | Auto n Autos Autos 6, Wagen m Wagens Wagen 3 | vehicle machine
bag bags | Tasche f Tasche Taschen 9 | portable small
lamp lamps | Lampe f Lampe Lampen 9 | device portable
newspaper newspapers | Zeitung f Zeitung Zeitungen 9 | text portable
box boxes | Kiste f Kiste Kisten 6, Karton m Kartons Kartons 2 | portable
picture pictures | Bild n Bildes Bilder 7, Gemälde n Gemäldes Gemälde 2 | portable hanging
report reports | Bericht m Berichtes Berichte 9 | text
computer computers | Computer m Computers Computer 6, Rechner m Rechners Rechner 3 | device machine
radio radios | Radio n Radios Radios 9 | device machine
machine machines | Maschine f Maschine Maschinen 9 | device machine
coat coats | Mantel m Mantels Mäntel 9 | hanging portable
hat hats | Hut m Hutes Hüte 9 | hanging small portable
knife knives | Messer n Messers Messer 9 | tool small portable
pen pens | Stift m Stiftes Stifte 9 | tool small
bicycle bicycles | Fahrrad n Fahrrads Fahrräder 7, Rad n Rades Räder 2 | vehicle machine
bus buses | Bus m Busses Busse 9 | transport
train trains | Zug m Zuges Züge 9 | transport
taxi taxis | Taxi n Taxis Taxis 9 | transport
bread - | Brot n Brotes Brote 9 | food
cake cakes | Kuchen m Kuchens Kuchen 9 | food
soup soups | Suppe f Suppe Suppen 9 | food
apple apples | Apfel m Apfels Äpfel 9 | food
door doors | Tür f Tür Türen 9 | opening
window windows | Fenster n Fensters Fenster 9 | opening
table tables | Tisch m Tisches Tische 9 | furniture
chair chairs | Stuhl m Stuhles Stühle 9 | furniture seat
sofa sofas | Sofa n Sofas Sofas 9 | furniture seat
bed beds | Bett n Bettes Betten 9 | furniture
house houses | Haus n Hauses Häuser 9 | place building
garden gardens | Garten m Gartens Gärten 9 | place
kitchen kitchens | Küche f Küche Küchen 9 | place room
office offices | Büro n Büros Büros 9 | place room
station stations | Bahnhof m Bahnhofes Bahnhöfe 9 | place building
shop shops | Laden m Ladens Läden 6, Geschäft n Geschäftes Geschäfte 4 | place building
park parks | Park m Parks Parks 9 | place
school schools | Schule f Schule Schulen 9 | place building
cellar cellars | Keller m Kellers Keller 9 | place room
village villages | Dorf n Dorfes Dörfer 9 | place
market markets | Markt m Marktes Märkte 9 | place
church churches | Kirche f Kirche Kirchen 9 | building
bridge bridges | Brücke f Brücke Brücken 9 | building
river rivers | Fluss m Flusses Flüsse 9 | water
lake lakes | See m Sees Seen 9 | water
forest forests | Wald m Waldes Wälder 9 | nature
plan plans | Plan m Planes Pläne 9 | norm idea
law laws | Gesetz n Gesetzes Gesetze 9 | norm
contract contracts | Vertrag m Vertrages Verträge 9 | norm
advice - | Rat m Rates Räte 9 | norm
wish wishes | Wunsch m Wunsches Wünsche 9 | norm
rule rules | Regel f Regel Regeln 6, Vorschrift f Vorschrift Vorschriften 3 | norm
question questions | Frage f Frage Fragen 9 | idea
answer answers | Antwort f Antwort Antworten 9 | idea
mistake mistakes | Fehler m Fehlers Fehler 9 | idea
problem problems | Problem n Problems Probleme 9 | idea
trip trips | Reise f Reise Reisen 9 | event
party parties | Fest n Festes Feste 6, Feier f Feier Feiern 3 | event
meeting meetings | Treffen n Treffens Treffen 6, Sitzung f Sitzung Sitzungen 3 | event
exam exams | Prüfung f Prüfung Prüfungen 9 | event
accident accidents | Unfall m Unfalls Unfälle 9 | past_event
summer summers | Sommer m Sommers Sommer 9 | past_event
winter winters | Winter m Winters Winter 9 | past_event
fire fires | Brand m Brandes Brände 9 | past_event
weekend weekends | Wochenende n Wochenendes Wochenenden 9 | past_event
address addresses | Adresse f Adresse Adressen 9 | note
number numbers | Nummer f Nummer Nummern 9 | note
form forms | Formular n Formulars Formulare 9 | form
child children | Kind n Kindes Kinder 9 | person kid
man men | Mann m Mannes Männer 9 | person adult
woman women | Frau f Frau Frauen 9 | person adult
boy boys | Junge m Jungen Jungen 9 | person kid
girl girls | Mädchen n Mädchens Mädchen 9 | person kid
guest guests | Gast m Gastes Gäste 9 | person
dog dogs | Hund m Hundes Hunde 9 | animal
cat cats | Katze f Katze Katzen 9 | animal
horse horses | Pferd n Pferdes Pferde 9 | animal
help - | Hilfe f Hilfe Hilfen 9 | mass
time - | Zeit f Zeit Zeiten 9 | mass
money - | Geld n Geldes Gelder 9 | mass
safe safes | Tresor m Tresors Tresore 9 | cue
game games | Spiel n Spiels Spiele 9 | cue
cave caves | Höhle f Höhle Höhlen 9 | cue
stone stones | Stein m Steines Steine 9 | heavy
zoo zoos | Zoo m Zoos Zoos 9 | cue
worker workers | Arbeiter m Arbeiters Arbeiter 9 | cue
ball balls | Ball m Balles Bälle 9 | cue
"""

# english plural | masculine | feminine | share of women where English does not tell | where it does
OCCUPATION_TABLE = """
doctor doctors | Arzt m Arztes Ärzte 9 | Ärztin f Ärztin Ärztinnen 9 | .05 | .42
teacher teachers | Lehrer m Lehrers Lehrer 9 | Lehrerin f Lehrerin Lehrerinnen 9 | .20 | .45
nurse nurses | Pfleger m Pflegers Pfleger 9 | Krankenschwester f Krankenschwester Krankenschwestern 5, Pflegerin f Pflegerin Pflegerinnen 4 | .70 | .70
lawyer lawyers | Anwalt m Anwalts Anwälte 7, Jurist m Juristen Juristen 2 | Anwältin f Anwältin Anwältinnen 7, Juristin f Juristin Juristinnen 2 | .04 | .38
farmer farmers | Bauer m Bauern Bauern 7, Landwirt m Landwirts Landwirte 2 | Bäuerin f Bäuerin Bäuerinnen 7, Landwirtin f Landwirtin Landwirtinnen 2 | .04 | .38
cook cooks | Koch m Kochs Köche 9 | Köchin f Köchin Köchinnen 9 | .06 | .42
baker bakers | Bäcker m Bäckers Bäcker 9 | Bäckerin f Bäckerin Bäckerinnen 9 | .04 | .38
engineer engineers | Ingenieur m Ingenieurs Ingenieure 9 | Ingenieurin f Ingenieurin Ingenieurinnen 9 | .03 | .36
secretary secretaries | Sekretär m Sekretärs Sekretäre 9 | Sekretärin f Sekretärin Sekretärinnen 9 | .75 | .70
painter painters | Maler m Malers Maler 9 | Malerin f Malerin Malerinnen 9 | .05 | .38
gardener gardeners | Gärtner m Gärtners Gärtner 9 | Gärtnerin f Gärtnerin Gärtnerinnen 9 | .04 | .38
judge judges | Richter m Richters Richter 9 | Richterin f Richterin Richterinnen 9 | .04 | .38
driver drivers | Fahrer m Fahrers Fahrer 9 | Fahrerin f Fahrerin Fahrerinnen 9 | .03 | .36
hairdresser hairdressers | Friseur m Friseurs Friseure 9 | Friseurin f Friseurin Friseurinnen 9 | .65 | .65
writer writers | Autor m Autors Autoren 6, Schriftsteller m Schriftstellers Schriftsteller 3 | Autorin f Autorin Autorinnen 6, Schriftstellerin f Schriftstellerin Schriftstellerinnen 3 | .06 | .42
mechanic mechanics | Mechaniker m Mechanikers Mechaniker 9 | Mechanikerin f Mechanikerin Mechanikerinnen 9 | .03 | .36
pilot pilots | Pilot m Piloten Piloten 9 | Pilotin f Pilotin Pilotinnen 9 | .03 | .36
salesperson salespeople | Verkäufer m Verkäufers Verkäufer 9 | Verkäuferin f Verkäuferin Verkäuferinnen 9 | .35 | .50
"""

# word plural sense frequency | German | cue adjectives | frames (verb:role) | modifiers (preposition noun)
SENSE_TABLE = """
bank banks frequent | Bank f Bank Banken 9 | private modern rich | rob:object establish:object pay:subject | with safe
bank banks rare | Ufer n Ufers Ufer 9 | muddy sandy steep | swim_to:object flood:object | of river
bat bats frequent | Schläger m Schlägers Schläger 9 | wooden broken expensive | swing:object buy:object | for game
bat bats rare | Fledermaus f Fledermaus Fledermäuse 9 | hungry blind brown | fly:subject feed:object | from cave
spring springs frequent | Frühling m Frühlings Frühlinge 9 | warm rainy early | begin:subject enjoy:object | in village
spring springs rare | Feder f Feder Federn 9 | rusty elastic thin | replace:object bend:object | of machine
crane cranes frequent | Kran m Krans Kräne 9 | electric yellow huge | operate:object lift:subject | on bridge
crane cranes rare | Kranich m Kranichs Kraniche 9 | shy wild grey | fly:subject feed:object | from forest
seal seals frequent | Robbe f Robbe Robben 9 | playful fat young | feed:object dive:subject | from zoo
seal seals rare | Siegel n Siegels Siegel 9 | official royal red | forge:object remove:object | on contract
plant plants frequent | Pflanze f Pflanze Pflanzen 9 | green tropical dry | water:object grow:subject | from garden
plant plants rare | Fabrik f Fabrik Fabriken 6, Werk n Werkes Werke 3 | chemical profitable noisy | modernise:object manage:object | with worker
"""

# english | German stem for endings (predicative form if it differs)
ADJECTIVE_TABLE = """
old alt, new neu, big groß, small klein, heavy schwer, beautiful schön, strange seltsam, dark dunkl dunkel
tired müde/müd, ill krank, angry wütend, late verspätet, grateful dankbar, helpful hilfsbereit
friendly freundlich, happy glücklich, patient geduldig, polite höflich, clear klar, safe sicher
important wichtig, comfortable bequem, honest ehrlich, punctual pünktlich, satisfied zufrieden
healthy gesund, careful vorsichtig, known bekannt, fair fair, popular beliebt
unfriendly unfreundlich, unhappy unglücklich, impatient ungeduldig, impolite unhöflich, unclear unklar
unsafe unsicher, unimportant unwichtig, uncomfortable unbequem, dishonest unehrlich
unpunctual unpünktlich, dissatisfied unzufrieden, unhealthy ungesund, careless unvorsichtig
unknown unbekannt, unfair unfair, unpopular unbeliebt
male männlich, female weiblich
private privat, modern modern, rich reich, muddy schlammig, sandy sandig, steep steil, wooden hölzern
broken zerbrochen, expensive teur teuer, hungry hungrig, blind blind, brown braun, warm warm
rainy regnerisch, early früh, rusty rostig, elastic elastisch, thin dünn, electric elektrisch
yellow gelb, huge riesig, shy scheu, wild wild, grey grau, playful verspielt, fat dick, young jung
official amtlich, royal königlich, red rot, green grün, tropical tropisch, dry vertrocknet
chemical chemisch, profitable rentabl rentabel, noisy laut
"""


@dataclass(frozen=True, slots=True)
class Adjective:
    """An adjective: English, German stem that takes endings, German form without ending."""

    english: str
    stem: str
    german: str


@dataclass(frozen=True, slots=True)
class Noun:
    """A concept with an English noun and weighted German nouns, masculine and feminine for occupations."""

    name: str
    english: str
    plural: str
    german: tuple[tuple[GermanNoun, float], ...]
    classes: frozenset[str]
    feminine: tuple[tuple[GermanNoun, float], ...] = ()
    women: float = 0.0  # share of women where English does not tell
    women_told: float = 0.0  # and where it does
    sense: str = ""  # "frequent" or "rare" for an ambiguous word

    @property
    def person(self) -> bool:
        """Whether it is a human being."""
        return bool(self.feminine) or "person" in self.classes


@dataclass(frozen=True, slots=True)
class Sense:
    """One meaning of an ambiguous noun, and the context that gives it away."""

    noun: str  # its name in NOUNS
    word: str
    frequency: str
    adjectives: tuple[str, ...]
    frames: tuple[tuple[str, str], ...]
    modifiers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Preposition:
    """A preposition in both languages; several German ones are synonyms with weights."""

    english: tuple[str, ...]
    german: tuple[tuple[str, str, float], ...]  # form, case, weight


def _german_nouns(column: str) -> tuple[tuple[GermanNoun, float], ...]:
    rows = [entry.split() for entry in column.split(",")]
    return tuple((GermanNoun(*row[:4]), float(row[4])) for row in rows)


def _rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in table.strip().split("\n")]


def _nouns() -> dict[str, Noun]:
    nouns = {}
    for english, german, classes in _rows(NOUN_TABLE):
        name, plural = english.split()
        nouns[name] = Noun(name, name, plural, _german_nouns(german), frozenset(classes.split()))
    for english, masculine, feminine, women, told in _rows(OCCUPATION_TABLE):
        name, plural = english.split()
        nouns[name] = Noun(
            name,
            name,
            plural,
            _german_nouns(masculine),
            frozenset({"occupation"}),
            _german_nouns(feminine),
            float(women),
            float(told),
        )
    for english, german, *_ in _rows(SENSE_TABLE):
        word, plural, sense = english.split()
        name = f"{word}/{sense}"
        nouns[name] = Noun(name, word, plural, _german_nouns(german), frozenset({"sense"}), sense=sense)
    return nouns


def _senses() -> dict[str, Sense]:
    senses = {}
    for english, _, adjectives, frames, modifiers in _rows(SENSE_TABLE):
        word, _, frequency = english.split()
        pairs = tuple((verb, role) for verb, role in (frame.split(":") for frame in frames.split()))
        preposition, noun = modifiers.split()
        name = f"{word}/{frequency}"
        senses[name] = Sense(name, word, frequency, tuple(adjectives.split()), pairs, ((preposition, noun),))
    return senses


def _adjectives() -> dict[str, Adjective]:
    adjectives = {}
    for entry in ADJECTIVE_TABLE.replace("\n", ",").split(","):
        if not (parts := entry.split()):
            continue
        # "müde/müd": the stem after the slash is what takes endings.
        whole, _, short = parts[1].partition("/")
        stem, plain = (short or whole), (parts[2] if len(parts) > 2 else whole)
        adjectives[parts[0]] = Adjective(parts[0], stem, plain)
    return adjectives


NOUNS = _nouns()
SENSES = _senses()
ADJECTIVES = _adjectives()
OCCUPATIONS = tuple(name for name, noun in NOUNS.items() if noun.feminine)
AMBIGUOUS = tuple(dict.fromkeys(sense.word for sense in SENSES.values()))

PREPOSITIONS = {
    "in": Preposition(("in",), (("in", "Dat", 1),)),
    "at": Preposition(("at",), (("an", "Dat", 1),)),
    "on": Preposition(("on",), (("auf", "Dat", 1),)),
    "with": Preposition(("with",), (("mit", "Dat", 1),)),
    "from": Preposition(("from",), (("aus", "Dat", 1),)),
    "for": Preposition(("for",), (("für", "Acc", 1),)),
    "about": Preposition(("about",), (("über", "Acc", 1),)),
    "of": Preposition(("of",), (("", "Gen", 8), ("von", "Dat", 1))),
    "near": Preposition(("near",), (("nahe", "Dat", 7), ("bei", "Dat", 3))),
    "opposite": Preposition(("opposite",), (("gegenüber", "Dat", 1),)),
    "contrary": Preposition(("contrary", "to"), (("entgegen", "Dat", 1),)),
    "according": Preposition(("according", "to"), (("gemäß", "Dat", 5), ("entsprechend", "Dat", 4))),
    "together": Preposition(
        ("together", "with"), (("samt", "Dat", 5), ("mitsamt", "Dat", 4), ("nebst", "Dat", 3))
    ),
    "since": Preposition(("since",), (("seit", "Dat", 1),)),
}
DATIVE_PREPOSITIONS = (
    "entgegen", "entsprechend", "gegenüber", "gemäß", "nahe", "nebst", "samt", "mitsamt", "seit",
)  # fmt: skip

# Where one is in a place: "at the station" is "am Bahnhof", "at the market" is "auf dem Markt".
PLACE_PREPOSITION = {"station": "at", "market": "on_market"}
PREPOSITIONS["on_market"] = Preposition(("at",), (("auf", "Dat", 1),))

# english | German, weight, ... | position
ADVERBS: dict[str, tuple[tuple[str, ...], tuple[tuple[str, float], ...]]] = {
    "yesterday": (("yesterday",), (("gestern", 1),)),
    "today": (("today",), (("heute", 1),)),
    "often": (("often",), (("oft", 7), ("häufig", 3))),
    "always": (("always",), (("immer", 8), ("stets", 1))),
    "sometimes": (("sometimes",), (("manchmal", 1),)),
    "quickly": (("quickly",), (("schnell", 7), ("rasch", 2))),
    "slowly": (("slowly",), (("langsam", 1),)),
    "quietly": (("quietly",), (("leise", 1),)),
    "carefully": (("carefully",), (("vorsichtig", 6), ("sorgfältig", 3))),
    "patiently": (("patiently",), (("geduldig", 1),)),
    "impatiently": (("impatiently",), (("ungeduldig", 1),)),
    "carelessly": (("carelessly",), (("unvorsichtig", 1),)),
    "happily": (("happily",), (("glücklich", 5), ("fröhlich", 3))),
}
FREQUENCY = ("often", "always", "sometimes")  # before the English verb
MANNER = ("quickly", "slowly", "quietly", "carefully", "patiently", "impatiently", "happily", "carelessly")

# English word, German words with weights, whether the German verb goes to the end
CONJUNCTIONS: dict[str, tuple[str, tuple[tuple[str, float], ...]]] = {
    "because": ("because", (("weil", 6), ("denn", 2), ("da", 1))),
    "although": ("although", (("obwohl", 8), ("obgleich", 1))),
    "when": ("when", (("als", 1),)),
    "whenever": ("whenever", (("wenn", 1),)),
    "if": ("if", (("wenn", 7), ("falls", 2))),
    "while": ("while", (("während", 1),)),
    "before": ("before", (("bevor", 8), ("ehe", 1))),
    "that": ("that", (("dass", 1),)),
    "whether": ("whether", (("ob", 1),)),
}
