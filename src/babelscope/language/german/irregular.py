"""Principal parts of the irregular German verbs: infinitive, third person singular present, preterite."""

from __future__ import annotations

# A subjunctive that the preterite's umlaut does not give stands after the preterite.
_PARTS = """
backen bäckt backte; befehlen befiehlt befahl; beginnen beginnt begann; beißen beißt biss; bergen birgt barg
bersten birst barst; biegen biegt bog; bieten bietet bot; binden bindet band; bitten bittet bat
blasen bläst blies; bleiben bleibt blieb; braten brät briet; brechen bricht brach
brennen brennt brannte brennte; bringen bringt brachte brächte; denken denkt dachte dächte
dreschen drischt drosch; dringen dringt drang; empfehlen empfiehlt empfahl; erlöschen erlischt erlosch
erschrecken erschrickt erschrak; essen isst aß; fahren fährt fuhr; fallen fällt fiel; fangen fängt fing
fechten ficht focht; finden findet fand; flechten flicht flocht; fliegen fliegt flog; fliehen flieht floh
fließen fließt floss; fressen frisst fraß; frieren friert fror; gären gärt gor; gebären gebärt gebar
geben gibt gab; gedeihen gedeiht gedieh; gehen geht ging; gelingen gelingt gelang; gelten gilt galt
genesen genest genas; genießen genießt genoss; geschehen geschieht geschah; gewinnen gewinnt gewann
gießen gießt goss; gleichen gleicht glich; gleiten gleitet glitt; graben gräbt grub; greifen greift griff
halten hält hielt; hängen hängt hing; hauen haut hieb; heben hebt hob; heißen heißt hieß
helfen hilft half hülfe; kennen kennt kannte kennte; klingen klingt klang; kneifen kneift kniff
kommen kommt kam; kriechen kriecht kroch; laden lädt lud; lassen lässt ließ; laufen läuft lief
leiden leidet litt; leihen leiht lieh; lesen liest las; liegen liegt lag; lügen lügt log; meiden meidet mied
melken melkt molk; messen misst maß; misslingen misslingt misslang; nehmen nimmt nahm
nennen nennt nannte nennte; pfeifen pfeift pfiff; preisen preist pries; quellen quillt quoll; raten rät riet
reiben reibt rieb; reißen reißt riss; reiten reitet ritt; rennen rennt rannte rennte; riechen riecht roch
ringen ringt rang; rinnen rinnt rann; rufen ruft rief; saufen säuft soff; schaffen schafft schuf
scheiden scheidet schied; scheinen scheint schien; schelten schilt schalt; scheren schert schor
schieben schiebt schob; schießen schießt schoss; schlafen schläft schlief; schlagen schlägt schlug
schleichen schleicht schlich; schleifen schleift schliff; schließen schließt schloss
schlingen schlingt schlang; schmeißen schmeißt schmiss; schmelzen schmilzt schmolz
schneiden schneidet schnitt; schreiben schreibt schrieb; schreien schreit schrie
schreiten schreitet schritt; schweigen schweigt schwieg; schwellen schwillt schwoll
schwimmen schwimmt schwamm; schwinden schwindet schwand; schwingen schwingt schwang; schwören schwört schwor
sehen sieht sah; senden sendet sandte sendete; singen singt sang; sinken sinkt sank; sinnen sinnt sann
sitzen sitzt saß; speien speit spie; spinnen spinnt spann; sprechen spricht sprach; sprießen sprießt spross
springen springt sprang; stechen sticht stach; stecken steckt stak; stehen steht stand stünde
stehlen stiehlt stahl; steigen steigt stieg; sterben stirbt starb stürbe; stinken stinkt stank
stoßen stößt stieß; streichen streicht strich; streiten streitet stritt; tragen trägt trug
treffen trifft traf; treiben treibt trieb; treten tritt trat; trinken trinkt trank; trügen trügt trog
tun tut tat; verderben verdirbt verdarb verdürbe; verdrießen verdrießt verdross; vergessen vergisst vergaß
verlieren verliert verlor; wachsen wächst wuchs; wägen wägt wog; waschen wäscht wusch; weben webt wob
weichen weicht wich; weisen weist wies; wenden wendet wandte wendete; werben wirbt warb würbe
werfen wirft warf würfe; wiegen wiegt wog; winden windet wand; wringen wringt wrang; ziehen zieht zog
zwingen zwingt zwang; löschen löscht losch; schrecken schrickt schrak; bewegen bewegt bewog
pflegen pflegt pflog; saugen saugt sog; schnauben schnaubt schnob; sieden siedet sott
"""
# Verbs whose present looks like a past, and the auxiliaries.
# Each tense as first and third person singular and plural: present, preterite, subjunctive I and II.
_AUXILIARIES = """
sein: bin ist sind, war war waren, sei sei seien, wäre wäre wären
haben: habe hat haben, hatte hatte hatten, habe habe haben, hätte hätte hätten
werden: werde wird werden, wurde wurde wurden, werde werde werden, würde würde würden
können: kann kann können, konnte konnte konnten, könne könne können, könnte könnte könnten
müssen: muss muss müssen, musste musste mussten, müsse müsse müssen, müsste müsste müssten
dürfen: darf darf dürfen, durfte durfte durften, dürfe dürfe dürfen, dürfte dürfte dürften
mögen: mag mag mögen, mochte mochte mochten, möge möge mögen, möchte möchte möchten
sollen: soll soll sollen, sollte sollte sollten, solle solle sollen, sollte sollte sollten
wollen: will will wollen, wollte wollte wollten, wolle wolle wollen, wollte wollte wollten
wissen: weiß weiß wissen, wusste wusste wussten, wisse wisse wissen, wüsste wüsste wüssten
"""
Tense = tuple[str, str, str]


def _auxiliaries() -> dict[str, tuple[Tense, ...]]:
    found = {}
    for line in _AUXILIARIES.strip().split("\n"):
        infinitive, tenses = line.split(": ")
        rows = (tense.split() for tense in tenses.split(", "))
        found[infinitive] = tuple((first, third, plural) for first, third, plural in rows)
    return found


AUXILIARIES = _auxiliaries()


def principal_parts() -> dict[str, tuple[str, str, str]]:
    """Infinitive: third person singular present, preterite, subjunctive II (with its -e)."""
    found = {}
    for entry in _PARTS.replace("\n", ";").split(";"):
        if not entry.strip():
            continue
        infinitive, present, preterite, *subjunctive = entry.split()
        found[infinitive] = (present, preterite, subjunctive[0] if subjunctive else _umlauted(preterite))
    return found


def _umlauted(preterite: str) -> str:
    """kam: käme; ging: ginge; schuf: schüfe."""
    stem = preterite.removesuffix("e")
    for place in range(len(stem) - 1, -1, -1):
        letter = stem[place]
        if letter in "aou":
            return stem[:place] + "äöü"["aou".index(letter)] + stem[place + 1 :] + "e"
        if letter in "eiäöü":
            break
    return stem + "e"
