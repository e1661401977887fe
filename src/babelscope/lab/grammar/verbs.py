"""The verbs of both languages: forms, government, and what they admit as participants."""

# ruff: noqa: E501 (one verb a row)
from __future__ import annotations

from dataclasses import dataclass

from babelscope.lab.grammar.morphology import GermanVerb, english_verb

# name | English forms +particle @preposition | German verbs | participants and flags
# German: [prefix+]infinitive present preterite participle [sein] [=government] [sich] weight
# Participants: classes of lexicon.NOUNS; subjects are persons if nothing is said.
# Flags: self "washed himself"; mine "bought a book for himself"; still: no manner, no place;
# state: may last "since the accident"; stays: English leaves the particle before its object.
VERB_TABLE = """
open | open | öffnen öffnet öffnete geöffnet 6; auf+machen macht machte gemacht 3 | object=opening
close | close | schließen schließt schloss geschlossen 6; zu+machen macht machte gemacht 3 | object=opening
see | see sees saw seen | sehen sieht sah gesehen 1 | object=person,occupation,animal,vehicle,building quick
find | find finds found found | finden findet fand gefunden 1 | object=portable,small,animal quick
read | read reads read read | lesen liest las gelesen 1 | object=text
buy | buy buys bought bought | kaufen kauft kaufte gekauft 1 | object=portable,vehicle,food,furniture mine
order | order | bestellen bestellt bestellte bestellt 1 | object=food,hanging,furniture,text mine
sell | sell sells sold sold | verkaufen verkauft verkaufte verkauft 1 | object=portable,vehicle,furniture
repair | repair | reparieren repariert reparierte repariert 1 | object=machine
clean | clean | putzen putzt putzte geputzt 5; reinigen reinigt reinigte gereinigt 3 | object=opening,machine,furniture
forget | forget forgets forgot forgotten | vergessen vergisst vergaß vergessen 1 | object=small,note,text still
lose | lose loses lost lost | verlieren verliert verlor verloren 1 | object=small,portable quick
need | need | brauchen braucht brauchte gebraucht 5; benötigen benötigt benötigte benötigt 2 | object=tool,small,portable,vehicle still
describe | describe | beschreiben beschreibt beschrieb beschrieben 1 | object=idea,building,accident
eat | eat eats ate eaten | essen isst aß gegessen 1 | object=food
cook | cook | kochen kocht kochte gekocht 1 | object=soup mine
draw | draw draws drew drawn | zeichnen zeichnet zeichnete gezeichnet 1 | object=building,animal,portable mine
write | write writes wrote written | schreiben schreibt schrieb geschrieben 1 | object=text
visit | visit | besuchen besucht besuchte besucht 1 | object=person,occupation quick
praise | praise | loben lobt lobte gelobt 1 | object=person,occupation quick
call | call | an+rufen ruft rief gerufen 1 | object=person,occupation quick
invite | invite | ein+laden lädt lud geladen 1 | object=person,occupation quick
dismiss | dismiss | entlassen entlässt entließ entlassen 1 | object=occupation subject=occupation,adult quick
pay | pay pays paid paid | bezahlen bezahlt bezahlte bezahlt 1 | object=occupation,worker subject=occupation,adult quick
help | help | helfen hilft half geholfen =Dat 1 | object=person,occupation
thank | thank | danken dankt dankte gedankt =Dat 6; sich bedanken bedankt bedankte bedankt =bei_Dat 2 | object=person,occupation quick
trust | trust | vertrauen vertraut vertraute vertraut =Dat 1 | object=person,occupation still
follow | follow | folgen folgt folgte gefolgt sein =Dat 1 | object=person,occupation,animal
wait | wait @for | warten wartet wartete gewartet =auf_Acc 1 | object=transport,occupation,person
wait_idle | wait | warten wartet wartete gewartet 1 | state
talk | talk @with | sprechen spricht sprach gesprochen =mit_Dat 6; reden redet redete geredet =mit_Dat 3 | object=person,occupation
talk_about | talk @about | sprechen spricht sprach gesprochen =über_Acc 6; reden redet redete geredet =über_Acc 3 | object=idea,event,building
think_about | think thinks thought thought @about | nach+denken denkt dachte gedacht =über_Acc 5; denken denkt dachte gedacht =an_Acc 4 | object=idea,event
listen | listen @to | zu+hören hört hörte gehört =Dat 1 | object=person,occupation
look_at | look @at | an+sehen sieht sah gesehen 5; betrachten betrachtet betrachtete betrachtet 3 | object=hanging,building,animal
sit | sit sits sat sat @on | sitzen sitzt saß gesessen =auf_Dat 1 | object=seat still
sleep_in | sleep sleeps slept slept @in | schlafen schläft schlief geschlafen =in_Dat 1 | object=bed,car,kitchen,garden still
work_in | work @in | arbeiten arbeitet arbeitete gearbeitet =in_Dat 1 | object=garden,kitchen,office,shop,school still
sleep | sleep sleeps slept slept | schlafen schläft schlief geschlafen 1 | subject=person,occupation,animal state
work | work | arbeiten arbeitet arbeitete gearbeitet 1 | state
laugh | laugh | lachen lacht lachte gelacht 1 |
arrive | arrive | an+kommen kommt kam gekommen sein 1 | subject=transport,occupation,person still
return | return | zurück+kommen kommt kam gekommen sein 6; zurück+kehren kehrt kehrte gekehrt sein 3 | still
leave | leave leaves left left | ab+fahren fährt fuhr gefahren sein 1 | subject=transport still
get_up | get gets got got +up | auf+stehen steht stand gestanden sein 1 | still
begin_event | begin begins began begun | an+fangen fängt fing gefangen 5; beginnen beginnt begann begonnen 4 | subject=event still
take_place | take takes took taken -place | statt+finden findet fand gefunden 1 | subject=party,meeting,exam where
turn_off | turn +off | aus+schalten schaltet schaltete geschaltet 6; ab+schalten schaltet schaltete geschaltet 3 | object=device
turn_on | turn +on | ein+schalten schaltet schaltete geschaltet 6; an+machen macht machte gemacht 3 | object=device
pick_up | pick +up | auf+heben hebt hob gehoben 1 | object=small,portable
collect | pick +up | ab+holen holt holte geholt 1 | object=person,kid where
bring_back | bring brings brought brought +back | zurück+bringen bringt brachte gebracht 1 | object=portable,text quick
throw_away | throw throws threw thrown +away | weg+werfen wirft warf geworfen 1 | object=portable,food,text quick
put_away | put puts put put +away | weg+räumen räumt räumte geräumt 5; auf+räumen räumt räumte geräumt 2 | object=portable,tool
take_along | take takes took taken +along | mit+nehmen nimmt nahm genommen 1 | object=portable,text,kid quick
hang_up | hang hangs hung hung +up | auf+hängen hängt hängte gehängt 1 | object=hanging
fill_out | fill +out | aus+füllen füllt füllte gefüllt 1 | object=form
write_down | write writes wrote written +down | auf+schreiben schreibt schrieb geschrieben 6; notieren notiert notierte notiert 3 | object=note,idea
call_back | call +back | zurück+rufen ruft rief gerufen 1 | object=person,occupation quick shift
prepare | prepare | vor+bereiten bereitet bereitete bereitet 1 | object=event
remember | remember | sich erinnern erinnert erinnerte erinnert =an_Acc 1 | object=event,person,occupation,past_event still
look_forward | look -forward @to | sich freuen freut freute gefreut =auf_Acc 1 | object=event,summer,winter,weekend still
complain | complain @about | sich beschweren beschwert beschwerte beschwert =über_Acc 6; sich beklagen beklagt beklagte beklagt =über_Acc 3 | object=soup,animal,accident,problem,device where
apologise | apologise @to | sich entschuldigen entschuldigt entschuldigte entschuldigt =bei_Dat 1 | object=occupation,person quick
care_for | care @for | sich kümmern kümmert kümmerte gekümmert =um_Acc 1 | object=animal,person,garden
concentrate | concentrate @on | sich konzentrieren konzentriert konzentrierte konzentriert =auf_Acc 1 | object=idea,text where
come_late | come comes came come -late | sich verspäten verspätet verspätete verspätet 1 | still
hurry | hurry | sich beeilen beeilt beeilte beeilt 1 | still
rest | rest | sich aus+ruhen ruht ruhte geruht 6; sich erholen erholt erholte erholt 2 | where
sit_down | sit sits sat sat +down | sich hin+setzen setzt setzte gesetzt 6; sich setzen setzt setzte gesetzt 3 |
wash | wash | sich waschen wäscht wusch gewaschen 1 | self
hurt | hurt hurts hurt hurt | sich verletzen verletzt verletzte verletzt 1 | self where
hide | hide hides hid hidden | sich verstecken versteckt versteckte versteckt 1 | self where
introduce | introduce @to | sich vor+stellen stellt stellte gestellt =Dat 1 | object=occupation,person self where
defend | defend @against | sich verteidigen verteidigt verteidigte verteidigt =gegen_Acc 1 | object=animal self where
give | give gives gave given | geben gibt gab gegeben 1 | object=small,text,food,portable recipient=person,occupation still
show | show shows showed shown | zeigen zeigt zeigte gezeigt 1 | object=text,hanging,machine,note recipient=person,occupation still
lend | lend lends lent lent | leihen leiht lieh geliehen 1 | object=vehicle,tool,text recipient=person,occupation still
give_back | give gives gave given -back | zurück+geben gibt gab gegeben 1 | object=small,text,portable recipient=person,occupation still
know | know knows knew known | wissen weiß wusste gewusst 1 | that
say | say says said said | sagen sagt sagte gesagt 1 | that
believe | believe | glauben glaubt glaubte geglaubt 6; denken denkt dachte gedacht 2 | that
notice | notice | bemerken bemerkt bemerkte bemerkt 5; merken merkt merkte gemerkt 3 | that
hope | hope | hoffen hofft hoffte gehofft 1 | that
ask | ask | bitten bittet bat gebeten 1 | to
ask_whether | ask | fragen fragt fragte gefragt 1 | to
promise | promise | versprechen verspricht versprach versprochen =Dat 1 | to
confess | confess @to | gestehen gesteht gestand gestanden =Dat 1 | to
be | be is was been | sein ist war gewesen sein 1 | copula
have | have has had had | haben hat hatte gehabt 1 | plain
make | make makes made made | machen macht machte gemacht 1 | plain
rob | rob robs robbed robbed | aus+rauben raubt raubte geraubt 5; überfallen überfällt überfiel überfallen 3 | sense still
establish | establish | gründen gründet gründete gegründet 1 | sense still
swim_to | swim swims swam swum @to | schwimmen schwimmt schwamm geschwommen sein =zu_Dat 1 | sense still
flood | flood | überfluten überflutet überflutete überflutet 1 | sense subject=river,lake still
swing | swing swings swung swung | schwingen schwingt schwang geschwungen 1 | sense
fly | fly flies flew flown | fliegen fliegt flog geflogen sein 1 | sense still
feed | feed feeds fed fed | füttern füttert fütterte gefüttert 1 | sense
begin | begin begins began begun | an+fangen fängt fing gefangen 5; beginnen beginnt begann begonnen 4 | sense still
enjoy | enjoy | genießen genießt genoss genossen 1 | sense still
replace | replace | aus+tauschen tauscht tauschte getauscht 5; ersetzen ersetzt ersetzte ersetzt 4 | sense
bend | bend bends bent bent | verbiegen verbiegt verbog verbogen 1 | sense
operate | operate | bedienen bedient bediente bedient 1 | sense
lift | lift | hoch+heben hebt hob gehoben 1 | sense object=heavy,box,car
dive | dive | tauchen taucht tauchte getaucht sein 1 | sense still
forge | forge | fälschen fälscht fälschte gefälscht 1 | sense
remove | remove | entfernen entfernt entfernte entfernt 1 | sense
water | water | gießen gießt goss gegossen 1 | sense
grow | grow grows grew grown | wachsen wächst wuchs gewachsen sein 1 | sense
modernise | modernise | modernisieren modernisiert modernisierte modernisiert 1 | sense still
manage | manage | leiten leitet leitete geleitet 1 | sense still
photograph | photograph | fotografieren fotografiert fotografierte fotografiert 1 | neutral object=building,animal,person
dream_of | dream @of | träumen träumt träumte geträumt =von_Dat 1 | neutral object=event,summer,house
point_at | point @at | zeigen zeigt zeigte gezeigt =auf_Acc 1 | neutral object=building,hanging,animal
"""


@dataclass(frozen=True, slots=True)
class Verb:
    """A concept with an English verb and weighted German verbs."""

    name: str
    forms: tuple[str, str, str, str]  # base, third person, past, participle
    particle: str
    adverb: str  # a fixed word that is no particle: "forward"
    preposition: str
    german: tuple[tuple[GermanVerb, float], ...]
    admits: dict[str, tuple[str, ...]]
    flags: frozenset[str]

    @property
    def separable(self) -> bool:
        """Whether its usual German verb has a separable prefix."""
        return bool(self.german[0][0].prefix)

    @property
    def reflexive(self) -> bool:
        """Whether its usual German verb is reflexive."""
        return bool(self.german[0][0].reflexive)


def _german(entry: str) -> tuple[GermanVerb, float]:
    *parts, weight = entry.split()
    reflexive = "Acc" if parts[0] == "sich" else ""
    prefix, _, infinitive = parts[1 if reflexive else 0].rpartition("+")
    _, present, preterite, participle, *rest = parts[1:] if reflexive else parts
    auxiliary, government = "haben", "Acc"
    for item in rest:
        if item == "sein":
            auxiliary = "sein"
        else:
            government = item[1:].replace("_", " ")
    return GermanVerb(
        prefix, infinitive, present, preterite, participle, auxiliary, government, reflexive
    ), float(weight)


def _verbs() -> dict[str, Verb]:
    verbs = {}
    for line in VERB_TABLE.strip().split("\n"):
        name, english, german, rest = (cell.strip() for cell in line.split("|"))
        marks = {part[0]: part[1:] for part in english.split() if part[0] in "+-@"}
        forms = english_verb(" ".join(part for part in english.split() if part[0] not in "+-@"))
        admits = dict(part.split("=") for part in rest.split() if "=" in part)
        admits.setdefault("subject", "person,occupation")
        verbs[name] = Verb(
            name,
            forms,
            marks.get("+", ""),
            marks.get("-", ""),
            marks.get("@", ""),
            tuple(_german(entry) for entry in german.split(";")),
            {role: tuple(classes.split(",")) for role, classes in admits.items()},
            frozenset(part for part in rest.split() if "=" not in part),
        )
    return verbs


VERBS = _verbs()
