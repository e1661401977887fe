"""The site that `make docs` builds: strict, and whole without a network, search included."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.browser import NewPage

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, built anew."""
    pytest.importorskip("mkdocs")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder)))
    return folder


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    loads = re.compile(r'<(?:script|img|iframe)[^>]+src="?https?:|<link(?![^>]+canonical)[^>]+href="?https?:')
    assert not [page.name for page in site.rglob("*.html") if loads.search(page.read_text("utf-8"))]
    styles = re.compile(r"(?:@import|url\()\s*[\"']?https?:")
    assert not [each.name for each in site.rglob("*.css") if styles.search(each.read_text("utf-8"))]


def test_search_works_from_the_file_system(site: Path, new_page: NewPage) -> None:
    page = new_page(offline=True)
    page.goto((site / "index.html").as_uri())
    page.locator(".md-search__input").click()
    page.locator(".md-search__input").press_sequentially("discrepancy")
    found = page.locator(".md-search-result__link").first
    found.wait_for()
    assert "discrepancy" in page.locator(".md-search-result__list").inner_text().lower()
