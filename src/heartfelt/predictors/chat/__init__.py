"""``chat``: a vision or audio language model behind an OpenAI-compatible server."""

from heartfelt.predictors.chat.chat import Chat

__all__ = ["Chat"]
