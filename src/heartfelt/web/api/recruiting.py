"""How the study takes raters: open or closed, cap, codes, personal links."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request

from heartfelt.collect.commands import Change, Invite
from heartfelt.web.api.access import Collected, Optioned, address_of
from heartfelt.web.api.models import (
    InvitationInfo,
    InvitationsInfo,
    InvitationsWanted,
    SettingsChange,
    SettingsInfo,
)
from heartfelt.web.security.cookies import INVITE_SECONDS, Signer

router = APIRouter(tags=["recruiting"])


@router.get("/settings", response_model=SettingsInfo)
def settings(collection: Collected) -> dict[str, Any]:
    """How the study takes raters now."""
    return asdict(collection.settings)


@router.patch("/settings", response_model=SettingsInfo)
def change(body: SettingsChange, collection: Collected) -> dict[str, Any]:
    """Change settings; those left out stay as they are."""
    wanted = {name: getattr(body, name) for name in body.model_fields_set}
    return asdict(collection.do(Change(wanted)))


@router.get("/invitations", response_model=InvitationsInfo)
def invitations(request: Request, collection: Collected, options: Optioned) -> InvitationsInfo:
    """Every personal link that was made, with who came by it."""
    signer, address = request.app.state.signer, address_of(request, options)
    rows = collection.invitations().to_dicts()
    return InvitationsInfo(invitations=[_link(signer, address, **row) for row in rows])


@router.post("/invitations", response_model=InvitationsInfo, status_code=201)
def invite(
    body: InvitationsWanted, request: Request, collection: Collected, options: Optioned
) -> InvitationsInfo:
    """Make personal links: each opens the study for one person."""
    signer, address = request.app.state.signer, address_of(request, options)
    made = collection.do(Invite(body.count, body.note))
    return InvitationsInfo(
        invitations=[_link(signer, address, invitation=one, note=body.note) for one in made]
    )


def _link(
    signer: Signer, address: str, invitation: str, note: str | None = None, **more: Any
) -> InvitationInfo:
    link = f"{address}/i/{signer.sign('invite', invitation, INVITE_SECONDS)}"
    return InvitationInfo(
        invitation=invitation, link=link, note=note, at=more.get("at"), rater=more.get("rater")
    )
