"""The routes of the studio. What they do is elsewhere; errors of choral become answers with their words."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeVar

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, FileSystemLoader
from pydantic import BaseModel, ConfigDict
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from choral.errors import ChoralError, ColumnError, LedgerError
from choral.show.studio import handing, question, result
from choral.show.studio.estimate import Turns, estimate
from choral.show.studio.game import Game
from choral.show.studio.jobs import BusyError, Jobs
from choral.show.studio.question import Choices
from choral.show.studio.samples import SAMPLES, sample
from choral.show.studio.security import RELEASE, UPLOAD, Door, Guard, size_in_words
from choral.show.studio.tables import LONGEST_WORDS, Opened, shown, with_source
from choral.show.studio.workspace import Workspace
from choral.show.style import TOKENS
from choral.version import __version__

T = TypeVar("T")
HERE = Path(__file__).parent
STYLE = TOKENS.parent
DOWNLOADS = (result.RELEASE, handing.CARD, handing.REPORT, "codes.csv", "codes.parquet")


class Asked(BaseModel):
    """A question about an opened table."""

    model_config = ConfigDict(extra="forbid")

    table: int
    question: Choices


class Guess(BaseModel):
    """A guess at a value of a record: the position of the value in the list."""

    model_config = ConfigDict(extra="forbid")

    about: str
    record: int = 1
    guess: int = 0


class Codes(BaseModel):
    """How the disclosed codes are wanted."""

    model_config = ConfigDict(extra="forbid")

    ending: Literal[".csv", ".parquet"] = ".csv"
    id: str | None = None
    draw: Literal["lots", "quota"] = "lots"
    quota_noise: float | None = None
    nothing_was_given_away: bool = False


def create_app(door: Door, workspace: Workspace) -> FastAPI:
    """The studio behind its door, on these folders."""
    jobs = Jobs(ended=lambda job: workspace.sweep())

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        jobs.prepare()
        yield
        jobs.close()

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.add_middleware(Guard, door=door)
    app.mount("/static", StaticFiles(directory=HERE / "static"))
    app.mount("/style", StaticFiles(directory=STYLE))
    templates = Environment(loader=FileSystemLoader(HERE / "templates"), autoescape=True)
    page = templates.get_template("studio.html")
    _say_errors(app)

    @app.get("/")
    async def index() -> HTMLResponse:
        limit = size_in_words(door.upload_bytes)
        return HTMLResponse(
            page.render(version=__version__, samples=SAMPLES.values(), limit=limit, limit_bytes=door.upload_bytes)
        )

    @app.get("/api/state")
    def state() -> dict[str, Any]:
        return {
            "files": None if workspace.folder is None else workspace.files(),
            "tables": [_table(opened) for opened in workspace.opened()],
            "job": jobs.last and jobs.last.to_json(),
            "results": [_listed(workspace.view(name)) for name in workspace.results()],
            "kept": None if workspace.keep is None else str(workspace.keep),
            "ledger": str(workspace.book),
        }

    for routes in (_tables(workspace, jobs), _solving(workspace, jobs), _results(workspace), _game(workspace)):
        app.include_router(routes)
    return app


def _say_errors(app: FastAPI) -> None:
    """Errors as answers, in their words."""

    @app.exception_handler(ChoralError)
    async def in_words(request: Request, error: ChoralError) -> JSONResponse:
        statuses = ((BusyError, 409), (LedgerError, 409), (ColumnError, 404))
        status = next((status for kind, status in statuses if isinstance(error, kind)), 422)
        return JSONResponse(
            {"error": shown(error.what, LONGEST_WORDS), "remedy": shown(error.remedy, LONGEST_WORDS)}, status
        )

    @app.exception_handler(RequestValidationError)
    async def not_understood(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:])
        what = shown(f"The request was not understood: {where}: {first['msg']}.", LONGEST_WORDS)
        return JSONResponse({"error": what, "remedy": ""}, 422)

    @app.exception_handler(HTTPException)
    async def plain(request: Request, error: HTTPException) -> JSONResponse:
        return JSONResponse({"error": str(error.detail), "remedy": ""}, error.status_code, error.headers)


def _tables(workspace: Workspace, jobs: Jobs) -> APIRouter:
    """Where tables and releases come in."""
    routes = APIRouter()

    @routes.post(UPLOAD)
    async def upload(request: Request, name: str) -> dict[str, Any]:
        path = workspace.new_upload(name)
        needed = "A table needs a header and at least one row."
        return _table(await _receive(request, path, lambda: workspace.add(name, path, "upload"), needed))

    @routes.post(RELEASE)
    async def open_release(request: Request, name: str) -> dict[str, Any]:
        path = workspace.new_file(".choral")
        task = {"path": str(path), "folder": str(workspace.new_result()), "name": shown(name)}
        needed = "Choose the file release.choral that was downloaded."
        return (await _receive(request, path, lambda: jobs.start("open", {}, task), needed)).to_json()

    @routes.get("/examples/{name}.csv")
    def example_file(name: str) -> Response:
        path = sample(name).write(workspace.session / "examples")
        return FileResponse(path, media_type="application/octet-stream", filename=path.name)

    @routes.post("/api/example/{name}")
    def open_example(name: str) -> dict[str, Any]:
        return _table(workspace.add_example(name))

    @routes.post("/api/file")
    def open_file(name: str) -> dict[str, Any]:
        return _table(workspace.add_file(name))

    return routes


async def _receive(request: Request, path: Path, use: Callable[[], T], nothing: str) -> T:
    """Write what is uploaded to a file and use it; the file is removed if that fails."""
    try:
        with path.open("wb") as file:
            async for part in request.stream():
                await run_in_threadpool(file.write, part)
        if not path.stat().st_size:
            raise ChoralError("The file is empty.", nothing)
        return await run_in_threadpool(use)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise ChoralError(f"The upload cannot be kept: {error.strerror}.", "Free some space, and try again.") from None
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _solving(workspace: Workspace, jobs: Jobs) -> APIRouter:
    """Questions, and the jobs that answer them."""
    routes, one_look, turns = APIRouter(), Lock(), Turns()

    def table_for(asked: Asked) -> Opened:
        """The table that a question is about, once both make sense together."""
        opened = workspace.table(asked.table)
        opened.check_usable(asked.question.roles)
        asked.question.question()
        return opened

    @routes.post("/api/outlook")
    def outlook(asked: Asked) -> dict[str, Any]:
        with one_look:
            return with_source(table_for(asked), lambda source: question.outlook(asked.question, source))

    @routes.post("/api/solve")
    def solve(asked: Asked) -> dict[str, Any]:
        opened = table_for(asked)
        folder = workspace.new_result()
        task = {"path": str(opened.path), "folder": str(folder), "question": asked.question.model_dump()}
        table = {fact: getattr(opened, fact) for fact in ("number", "name", "rows", "origin", "digest")}
        return jobs.start("fit", asked.model_dump(), {**task, "table": table}).to_json()

    @routes.post("/api/estimate")
    def quick_answer(asked: Asked) -> dict[str, Any]:
        opened, mine = table_for(asked), turns.take()
        work = lambda: with_source(opened, lambda source: estimate(asked.question, source))  # noqa: E731
        return turns.run(mine, work) or {"superseded": True}

    @routes.post("/api/results/{name}/curve")
    def curve(name: str) -> dict[str, Any]:
        folder = workspace.result(name)
        return jobs.start("curve", {"result": name}, {"folder": str(folder)}).to_json()

    @routes.post("/api/stop")
    def stop(keep: bool) -> dict[str, Any]:
        jobs.stop(keep)
        return {"job": jobs.last and jobs.last.to_json()}

    return routes


def _results(workspace: Workspace) -> APIRouter:
    """What was found: the view of it, its pictures, and the files to give away."""
    routes = APIRouter()

    @routes.get("/api/results/{name}")
    def view(name: str) -> dict[str, Any]:
        found, folder = workspace.view(name), workspace.result(name)
        curve, findings = result.read(folder, result.CURVE, []), result.read(folder, result.FINDINGS, None)
        return {**found, "ledger": str(workspace.ledger(found)), "curve": curve, "findings": findings}

    @routes.get("/results/{name}/{picture}.svg")
    def picture(name: str, picture: str) -> Response:
        path = workspace.result(name) / f"{picture}.svg"
        if picture == result.NARROW_SIGNATURE:
            picture, path = "signature", path if path.is_file() else path.with_name("signature.svg")
        if picture not in result.PICTURES or not path.is_file():
            raise HTTPException(404, "There is no such picture.")
        return FileResponse(path, media_type="image/svg+xml")

    @routes.get("/results/{name}/{file}")
    def download(name: str, file: str) -> Response:
        path = workspace.result(name) / file
        if file not in DOWNLOADS or not path.is_file():
            raise HTTPException(404, "There is no such file.")
        return FileResponse(path, media_type="application/octet-stream", filename=f"{name}-{file}")

    @routes.post("/api/results/{name}/card")
    def card(name: str, wanted: Codes) -> dict[str, str]:
        opened = workspace.table_of(name)
        ledger = workspace.ledger(workspace.view(name))
        if wanted.nothing_was_given_away:
            handing.start_ledger_anew(ledger)
        return _link(name, handing.write_card(workspace.result(name), opened, ledger))

    @routes.post("/api/results/{name}/codes")
    def codes(name: str, wanted: Codes) -> dict[str, str]:
        opened = workspace.table_of(name)
        opened.check_usable([] if wanted.id is None else [wanted.id])
        ledger = workspace.ledger(workspace.view(name))
        if wanted.nothing_was_given_away:
            handing.start_ledger_anew(ledger)
        try:
            how = {"draw": wanted.draw, "quota_noise": wanted.quota_noise}
            path = handing.write_codes(workspace.result(name), opened, ledger, wanted.ending, wanted.id, **how)
        except LedgerError:
            raise
        except ChoralError as error:
            raise opened.in_words(error) from None
        return _link(name, path)

    @routes.get("/api/results/{name}/quota")
    def quota(name: str, noise: float | None = None) -> dict[str, Any]:
        return handing.quota(workspace.result(name), noise)

    @routes.post("/api/results/{name}/report")
    def report(name: str) -> dict[str, str]:
        return _link(name, handing.write_report(workspace.result(name)))

    return routes


def _game(workspace: Workspace) -> APIRouter:
    """Guessing against the code."""
    routes, one_game = APIRouter(), Lock()
    games: dict[str, Game] = {}

    def game_of(name: str) -> Game:
        with one_game:
            if name not in games:
                games[name] = Game.of(workspace.result(name), workspace.view(name))
            return games[name]

    @routes.get("/api/results/{name}/game")
    def scores(name: str) -> dict[str, Any]:
        game = game_of(name)
        return {"records": len(game.records), "scores": {about: game.score(about) for about in game.subjects}}

    @routes.post("/api/results/{name}/before")
    def guess_before(name: str, guess: Guess) -> dict[str, Any]:
        return game_of(name).guess_before(guess.about, guess.record, guess.guess)

    @routes.post("/api/results/{name}/after")
    def guess_after(name: str, guess: Guess) -> dict[str, Any]:
        return game_of(name).guess_after(guess.about, guess.record, guess.guess)

    @routes.post("/api/results/{name}/best")
    def best_adversary(name: str, guess: Guess) -> dict[str, Any]:
        return game_of(name).best_adversary(guess.about)

    return routes


def _table(opened: Opened) -> dict[str, Any]:
    """An opened table as the page sees it, with what to try first where it is invented."""
    sample = SAMPLES.get(opened.name) if opened.origin == "example" else None
    return {
        "number": opened.number,
        "name": opened.name,
        "origin": opened.origin,
        "rows": opened.rows,
        "digest": opened.digest,
        "columns": [{**asdict(column), "bins": column.bins} for column in opened.columns],
        "try": None if sample is None else {"reveal": [sample.reveal], "protect": sample.protect, "use": sample.use},
    }


def _listed(view: dict[str, Any]) -> dict[str, Any]:
    facts = ("name", "said", "reveal", "information", "table", "private", "pictures")
    return {name: view[name] for name in facts}


def _link(name: str, path: Path) -> dict[str, str]:
    return {"href": f"/results/{name}/{path.name}", "name": path.name}
