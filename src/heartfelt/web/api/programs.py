"""Tokens for programs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Path

from heartfelt.web.api.access import Collected
from heartfelt.web.api.models import TokenInfo, TokenMade, TokensInfo, TokenWanted
from heartfelt.web.security.tokens import Token, Tokens

router = APIRouter(tags=["tokens"])


@router.get("/tokens", response_model=TokensInfo)
def tokens(collection: Collected) -> TokensInfo:
    """Every token that works; their texts are not kept."""
    return TokensInfo(tokens=[_info(one) for one in Tokens(collection).all()])


@router.post("/tokens", response_model=TokenMade, status_code=201)
def make(body: TokenWanted, collection: Collected) -> TokenMade:
    """Make a token; this is the only time its text is shown."""
    made = Tokens(collection).make(body.name)
    return TokenMade(**_info(made.kept).model_dump(), token=made.token)


@router.delete("/tokens/{id}", status_code=204)
def revoke(id: Annotated[str, Path(min_length=1, max_length=40)], collection: Collected) -> None:
    """Make a token worthless."""
    Tokens(collection).revoke(id)


def _info(token: Token) -> TokenInfo:
    made, expires = (datetime.fromtimestamp(at, UTC) for at in (token.made, token.expires))
    return TokenInfo(id=token.id, name=token.name, made=made, expires=expires)
