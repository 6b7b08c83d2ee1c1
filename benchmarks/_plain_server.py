"""What one would write in an afternoon: FastAPI, SQLAlchemy, one transaction a request. The peer of the collection."""

from __future__ import annotations

import os
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from sqlalchemy import Engine, Float, ForeignKey, Integer, String, create_engine, event, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

ITEMS = 10_000


class Base(DeclarativeBase):
    pass


class Item(Base):
    __tablename__ = "items"
    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    ratings: Mapped[int] = mapped_column(Integer, index=True, default=0)


class Rating(Base):
    __tablename__ = "ratings"
    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    item: Mapped[int] = mapped_column(ForeignKey("items.id"))
    rater: Mapped[str] = mapped_column(String)
    value: Mapped[float] = mapped_column(Float)


class Answer(BaseModel):
    rater: str
    item: int | None = None
    value: float


def make_engine(url: str) -> Engine:
    if url.startswith("sqlite"):
        engine = create_engine(url, connect_args={"timeout": 30})

        @event.listens_for(engine, "connect")
        def prepare(raw: Any, _: object) -> None:
            raw.isolation_level = None
            raw.execute("PRAGMA journal_mode=WAL")
            raw.execute("PRAGMA synchronous=FULL")

        @event.listens_for(engine, "begin")
        def begin(connection: Any) -> None:
            connection.exec_driver_sql("BEGIN IMMEDIATE")

        return engine
    return create_engine(url.replace("postgresql://", "postgresql+psycopg://"), pool_size=20, max_overflow=30)


def app() -> FastAPI:
    engine = make_engine(os.environ["PLAIN_DATABASE"])
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    with Session(engine) as session, session.begin():
        session.add_all([Item(id=number, ratings=0) for number in range(ITEMS)])
    application = FastAPI()

    @application.post("/answer")
    def answer(given: Answer) -> dict[str, int]:
        with Session(engine) as session, session.begin():
            if given.item is not None:
                session.add(Rating(item=given.item, rater=given.rater, value=given.value))
            item = session.scalars(select(Item).order_by(Item.ratings).limit(1).with_for_update()).one()
            item.ratings += 1
            return {"item": item.id}

    return application
