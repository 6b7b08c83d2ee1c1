"""The rating pages: from the link to the code at the end.

The page comes from a template with all texts in the rater's language; native modules in ``static`` show one step at a time
and talk to the JSON routes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heartfelt.web.security.direct import StudyApp

__all__ = ["add_to"]


def add_to(app: StudyApp) -> None:
    """Give the application the rater pages; it finds collection, options and signer in ``app.state``."""
    from heartfelt.web.rater import arrival, documents, pages, presentation, refusals, routes

    app.state.blinding = presentation.Blinding(app.state.options.secret, app.state.collection.study)
    app.state.rater_pages = pages.Pages(app.state.collection.study, app.state.collection.folder)
    app.state.localize_refusal = refusals.rater_refusal
    app.add_exception_handler(pages.Notice, app.state.rater_pages.notice)
    steps = routes.routes()
    app.direct = {
        (method, route.path): route.endpoint
        for route in steps
        for method in route.methods or ()
        if "{" not in route.path
    }
    app.router.routes.extend([*steps, *arrival.routes(), *pages.routes(), *documents.routes()])
