"""Request templates: services asked in their published formats, over loopback; what a template may not do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from babelscope.systems.registry import open_system
from babelscope.systems.servers.rest import AwsSignature
from babelscope.util.errors import BabelscopeError, SystemFailure
from tests.support.serving import App, Request, Server

KEY = "k-very-secret-0815"
Serve = Callable[[App], Server]

DEEPL = """
url = "{url}/v2/translate"
batch = 50
answers = "translations.*.text"
[headers]
Authorization = "DeepL-Auth-Key {token}"
[body]
text = ["{text}"]
source_lang = "{source}"
target_lang = "{target}"
"""
GOOGLE = """
url = "{url}/language/translate/v2"
batch = 128
answers = "data.translations.*.translatedText"
[headers]
X-Goog-Api-Key = "{token}"
[body]
q = ["{text}"]
source = "{source}"
target = "{target}"
format = "text"
"""
AZURE = """
url = "{url}/translate"
batch = 100
answers = "*.translations.0.text"
body = [{Text = "{text}"}]
[headers]
Ocp-Apim-Subscription-Key = "{token}"
Ocp-Apim-Subscription-Region = "westeurope"
[query]
api-version = "3.0"
from = "{source}"
to = "{target}"
"""
GATEWAY = """
url = "{url}/prod/translate"
answers = "TranslatedText"
[headers]
x-api-key = "{token}"
[body]
Text = "{text}"
SourceLanguageCode = "{source}"
TargetLanguageCode = "{target}"
"""


AMAZON = """
url = "{url}/"
answers = "TranslatedText"
aws = {service = "translate", region = "eu-central-1"}
[headers]
Content-Type = "application/x-amz-json-1.1"
X-Amz-Target = "AWSShineFrontendService_20170701.TranslateText"
[body]
Text = "{text}"
SourceLanguageCode = "{source}"
TargetLanguageCode = "{target}"
"""


def asked(request: Request) -> dict[str, Any]:
    """What a stub checks: path, query, body and where the key is."""
    parts = urlsplit(request.path)
    keys = [name for name, value in request.headers.items() if KEY in value]
    return {"path": parts.path, "query": parse_qs(parts.query), "body": request.body, "keys": keys}


def deepl(request: Request) -> Any:
    assert request.headers["Authorization"] == f"DeepL-Auth-Key {KEY}"
    assert (request.body["source_lang"], request.body["target_lang"]) == ("en", "de")
    found = [{"detected_source_language": "EN", "text": each.upper()} for each in request.body["text"]]
    return {"translations": found}


def google(request: Request) -> Any:
    assert request.headers["X-Goog-Api-Key"] == KEY
    assert request.body.items() >= {"source": "en", "target": "de", "format": "text"}.items()
    return {"data": {"translations": [{"translatedText": each.upper()} for each in request.body["q"]]}}


def azure(request: Request) -> Any:
    assert asked(request)["query"] == {"api-version": ["3.0"], "from": ["en"], "to": ["de"]}
    assert request.headers["Ocp-Apim-Subscription-Region"] == "westeurope"
    return [{"translations": [{"text": each["Text"].upper(), "to": "de"}]} for each in request.body]


def gateway(request: Request) -> Any:
    assert request.body.items() >= {"SourceLanguageCode": "en", "TargetLanguageCode": "de"}.items()
    return {"TranslatedText": request.body["Text"].upper(), "SourceLanguageCode": "en"}


def spec(folder: Path, template: str, server: Server | None, options: str = "source=en&target=de") -> str:
    (folder / "t.toml").write_text(template.replace("{url}", server.url if server else "http://host"))
    return f"rest:{folder / 't.toml'}?{options}"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MT_KEY", KEY)


@pytest.mark.parametrize(
    ("template", "app", "requests"),
    [(DEEPL, deepl, 1), (GOOGLE, google, 1), (AZURE, azure, 1), (GATEWAY, gateway, 3)],
    ids=["deepl", "google", "azure", "gateway"],
)
def test_services_are_asked_in_their_formats(serve, tmp_path, template, app, requests):
    server = serve(app)
    name = spec(tmp_path, template, server, "source=en&target=de&token_env=MT_KEY&concurrency=1")
    system = open_system(name)
    # Braces of a source are no places: no key is put into a text.
    sources = ["a {token} {target}", "süß", '"quoted"']
    assert [each.text for (each,) in system.translate(sources)] == [each.upper() for each in sources]
    assert len(server.seen) == requests
    assert all(len(asked(each)["keys"]) == 1 for each in server.seen)
    assert KEY not in json.dumps([system.name, system.fingerprint.as_json()])
    with pytest.raises(BabelscopeError, match="gives one translation, but n_best=2"):
        system.translate(["a"], n_best=2)


def test_requests_are_signed_as_aws_documents():
    """The example of AWS's documentation of Signature Version 4, key and all."""
    key = "AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
    url = "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08"
    kind = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
    request = httpx.Request("GET", url, headers=kind)
    AwsSignature(key, "iam", "us-east-1").sign(request, "20150830T123600Z")
    assert request.headers["Authorization"] == (
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, "
        "SignedHeaders=content-type;host;x-amz-date, "
        "Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
    )


def test_amazon_translate(serve, tmp_path, monkeypatch):
    monkeypatch.setenv("MT_KEY", f"AKID:{KEY}")
    server = serve(gateway)
    system = open_system(spec(tmp_path, AMAZON, server, "source=en&target=de&token_env=MT_KEY"))
    assert [each.text for (each,) in system.translate(["a", "ü"])] == ["A", "Ü"]
    for request in server.seen:
        again = httpx.Request(
            "POST",
            server.url,
            headers=dict(request.headers),
            content=json.dumps(request.body, ensure_ascii=False, separators=(",", ":")),
        )
        AwsSignature(f"AKID:{KEY}", "translate", "eu-central-1").sign(again, request.headers["X-Amz-Date"])
        assert again.headers["Authorization"] == request.headers["Authorization"]
        assert "x-amz-target" in request.headers["Authorization"]
        assert request.headers["Content-Type"] == "application/x-amz-json-1.1"
        assert asked(request)["keys"] == []
    with pytest.raises(BabelscopeError, match="set token_env=NAME"):
        open_system(spec(tmp_path, AMAZON, server))


def test_the_template_is_part_of_the_fingerprint(tmp_path):
    def fingerprint(template: str, options: str = "source=en&target=de&token_env=MT_KEY") -> Any:
        return open_system(spec(tmp_path, template, None, options)).fingerprint

    same = fingerprint(DEEPL)
    assert same == fingerprint(f"# a comment\n{DEEPL}")
    assert same != fingerprint(DEEPL + 'formality = "more"\n')
    assert same != fingerprint(DEEPL, "source=en&target=fr&token_env=MT_KEY")


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ({"message": "quota"}, r"answered without 'translations\.\*\.text': .*quota"),
        ({"translations": {"text": "a"}}, r"answered without"),
        ({"translations": [{"text": "a"}]}, r"was asked 2 sources but gave translations of 1"),
        ({"translations": [{"text": ["a"]}, {"text": "b"}]}, r"gave of 'x' is not a text"),
        ("text", "answered JSON that is not an object"),
    ],
)
def test_answers_of_another_shape_are_refused(serve, tmp_path, answer, fault):
    server = serve(lambda _: answer)
    system = open_system(spec(tmp_path, DEEPL, server, "source=en&target=de&token_env=MT_KEY"))
    with pytest.raises(SystemFailure, match=fault):
        system.translate(["x", "y"])


@pytest.mark.parametrize(
    ("template", "options", "fault"),
    [
        (DEEPL, "source=en&target=de", "set token_env=NAME, the environment variable"),
        (DEEPL, "target=de&token_env=MT_KEY", "set source=LANGUAGE, which the template needs"),
        (DEEPL.replace("DeepL-Auth-Key {token}", "x"), "source=en&target=de&token_env=MT_KEY", "has no {token}"),
        (DEEPL.replace("{token}", "{AWS_SECRET_KEY}"), "source=en&target=de", "AWS_SECRET_KEY. is not filled in"),
        (DEEPL.replace("{token}", "{home}"), "source=en&target=de", r"\{home\} is not filled in there"),
        (AZURE.replace('"3.0"', '"{token}"'), "source=en&target=de", r"\{token\} is not filled in there"),
        (DEEPL.replace("/v2", "/v2?key=1"), "source=en&target=de&token_env=MT_KEY", "must hold no secret"),
        (DEEPL.replace("{url}", "http://me:pw@host"), "source=en&target=de&token_env=MT_KEY", "must hold no secret"),
        (DEEPL.replace("{url}", "file:///etc"), "source=en&target=de&token_env=MT_KEY", "is not a URL such as"),
        (DEEPL.replace('["{text}"]', '"{text}"'), "source=en&target=de", "put it into a list of its own"),
        (DEEPL.replace('["{text}"]', '"x"'), "source=en&target=de", r"neither body nor query has \{text\}"),
        (DEEPL.replace("translations.*.text", "text"), "source=en&target=de", r"answers needs a \*"),
        (DEEPL.replace("DeepL-Auth-Key ", "a\\nX-Evil: "), "source=en&target=de", "headers must be printable ASCII"),
        (DEEPL.replace("batch", "bach"), "source=en&target=de", "bach: Extra inputs"),
        (DEEPL.replace("50", "0"), "source=en&target=de", "batch: Input should be greater"),
        (DEEPL + "when = 2020-01-01\n", "source=en&target=de", "not JSON serializable"),
        ("answers = [", "source=en", "not TOML"),
        ("# " + "x" * 70_000, "source=en", "more than"),
    ],
)  # fmt: skip
def test_templates_that_are_refused(tmp_path, template, options, fault):
    template = template.replace("{url}", "http://host")
    with pytest.raises(BabelscopeError, match=fault) as raised:
        open_system(spec(tmp_path, template, None, options))
    assert KEY not in str(raised.value)


def test_no_key_is_stored_or_shown(serve, tmp_path, babelscope):
    server = serve(deepl)
    name = spec(tmp_path, DEEPL, server, "source=en&target=de&token_env=MT_KEY")
    (tmp_path / "in").write_text("a\nb\n")
    ran = babelscope("translate", "--system", name, "in", "--cache")
    assert (ran.code, ran.out) == (0, "A\nB\n")
    server.app = lambda request: (403, {}, str(request.headers).encode())
    failed = babelscope("translate", "--system", name, "in", "--no-cache")
    assert failed.code == 1
    assert KEY not in ran.err + failed.err
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(KEY.encode() in path.read_bytes() for path in files)


def test_a_study_s_template_is_asked_about_by_its_server(tmp_path, babelscope, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.tsv").write_text("a\tA\n")
    (tmp_path / "study.toml").write_text(
        '[[systems]]\nspec = "rest:t.toml?source=en&target=de&token_env=MT_KEY"\n[[tests]]\nspec = "a.tsv"\n'
        '[[methods]]\nname = "quality"\n'
    )
    (tmp_path / "t.toml").write_text(DEEPL.replace("{url}", "https://mt.example:99"))
    ran = babelscope("run", "study.toml")
    assert ran.code == 2
    assert "sends texts of its test sets to: mt.example:99" in ran.err
    assert "sends the environment variable 'MT_KEY'" in ran.err
