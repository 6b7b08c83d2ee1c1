"""How to cite a release: CITATION.cff (version 1.2), BibTeX, and a line of text."""

from __future__ import annotations

from heartfelt.publishing.papers.facts import licence_of, slug, title_of
from heartfelt.publishing.release.release import Release
from heartfelt.publishing.statements.details import Author, Details
from heartfelt.publishing.statements.licences import LICENCES
from heartfelt.report.layout.markup import latex, one_line, yaml_text

NO_AUTHORS = "Authors not stated"


def year_of(details: Details) -> str | None:
    """The year of publication, where the authors state the day."""
    return details.released[:4] if details.released else None


def citation_line(release: Release) -> str:
    """The citation: the authors' own, or one put together from what they state."""
    details = release.details
    if details.citation:
        return one_line(details.citation, 2000)
    authors = ", ".join(map(str, details.authors)) or NO_AUTHORS
    year = f" ({year_of(details)})" if details.released else ""
    version = f", version {details.version}" if details.version else ""
    where = f" https://doi.org/{details.doi}" if details.doi else f" {details.url}" if details.url else ""
    return one_line(f"{authors}{year}. {title_of(release)}{version} [dataset].{where}", 2000)


def bibtex(release: Release) -> str:
    details = release.details
    authors = " and ".join(_bibtex_name(author) for author in details.authors) or f"{{{latex(NO_AUTHORS)}}}"
    stated = {
        "title": f"{{{latex(title_of(release))}}}",
        "author": authors,
        "year": year_of(details),
        "version": latex(details.version or ""),
        "doi": details.doi,
        "url": details.url,
        "note": f"Dataset; snapshot {release.snapshot.hash[:12]}",
    }
    first = details.authors[0] if details.authors else None
    family = (first.parts[0] if first.parts else first.name) if first else release.snapshot.study.name
    key = slug(f"{family} {year_of(details) or ''}")
    body = "".join(f"  {name} = {{{value}}},\n" for name, value in stated.items() if value)
    return f"@misc{{{key},\n{body}}}\n"


def _bibtex_name(author: Author) -> str:
    return f"{latex(author.parts[0])}, {latex(author.parts[1])}" if author.parts else f"{{{latex(author.name)}}}"


def citation_file(release: Release) -> str:
    details, terms = release.details, licence_of(release)
    snapshot_hash = {
        "type": "other",
        "value": f"sha256:{release.snapshot.hash}",
        "description": "Hash of the published snapshot",
    }
    stated: dict[str, object] = {
        "cff-version": "1.2.0",
        "message": "If you use this dataset, please cite it as below.",
        "type": "dataset",
        "title": one_line(title_of(release)),
        "authors": [_cff_author(author) for author in details.authors] or [{"name": NO_AUTHORS}],
        "version": one_line(details.version or ""),
        "date-released": details.released,
        "doi": details.doi,
        "url": details.url,
        "license": terms.spdx if terms is not None and terms.spdx in LICENCES else None,
        "abstract": one_line(details.purpose or "", 5000),
        "keywords": list(dict.fromkeys(filter(None, map(one_line, details.keywords)))),
        "identifiers": [snapshot_hash],
    }
    return yaml_text({name: value for name, value in stated.items() if value})


def _cff_author(author: Author) -> dict[str, str]:
    if author.parts is None:
        out = {"name": one_line(author.name)}
    else:
        out = {"family-names": one_line(author.parts[0]), "given-names": one_line(author.parts[1])}
    if author.affiliation and author.parts is not None:
        out["affiliation"] = one_line(author.affiliation)
    if author.orcid:
        out["orcid"] = f"https://orcid.org/{author.orcid}"
    return out
