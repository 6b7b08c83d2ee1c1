"""What is stored with a consent, and who may withdraw it in the end."""

from __future__ import annotations

from heartfelt.collect.assign.model import Rater
from heartfelt.collect.messages import commands, errors
from heartfelt.collect.session.progress.transaction import Transaction, clean, plain_json
from heartfelt.errors import InputError, suggestion
from heartfelt.study import Study
from heartfelt.study.model import say
from heartfelt.study.parts.consent import document_file, document_hash


def required_boxes(study: Study) -> tuple[str, ...]:
    """The boxes that must be ticked to agree."""
    return () if study.consent is None else tuple(box.id for box in study.consent.boxes if box.required)


def consent_details(work: Transaction, rater: Rater, command: commands.GiveConsent) -> dict[str, object]:
    """The boxes that were ticked and the hash of the document, as they are stored; a required box must be ticked."""
    form = work.study.consent
    assert form is not None, "nobody consents where no consent is asked for"
    boxes = {box.id: box for box in form.boxes}
    for name in command.ticked:
        if name not in boxes:
            raise errors.InvalidAnswer(
                f"No box of the consent is called '{clean(str(name), 100)}'.", suggestion(name, boxes, "Boxes")
            )
    open_boxes = [box for box in boxes.values() if box.required and box.id not in command.ticked]
    language = command.language or work.context.languages.get(rater.id, "en")
    if command.agreed and open_boxes:
        raise errors.MissingAnswer(
            f"Not ticked: {say(open_boxes[0].text, language)}", "Tick every required box, or decline."
        )
    document = None
    if form.document is not None:
        document = document_hash(document_file(work.material.opened.folder, form.document, language))
    ticked = {name: name in command.ticked for name in boxes}
    return {"ticked": plain_json(ticked) if boxes else None, "document": document}


def check_withdrawal(study: Study, page: commands.SessionEnd) -> None:
    """Refuse to withdraw where the study does not offer it."""
    debriefing = study.debriefing
    if debriefing is None or not debriefing.withdraw or not debriefing.is_shown_after(page.ending):
        raise InputError(
            "This study does not offer to withdraw here.", "Write to the researcher, whose address is in the consent."
        )
