"""A Spark session to work in, and what Spark has to say in plain words."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from choral import errors
from choral.errors import ChoralError, LawError

MASTER = "CHORAL_SPARK_MASTER"
"""The environment variable that says where Spark runs, unless told."""
HERE = "local[*]"
LOOPBACK = "127.0.0.1"
LEAST_JAVA = 17
"""The oldest Java that Spark 4 runs on."""
PATIENCE = 5.0
"""Seconds to wait for a master to answer."""
ROWS_AT_ONCE = 1 << 16
"""Records that travel between Spark and Python at once."""
MARK = "choral says: "


@contextmanager
def started(master: str | None = None) -> Iterator[Any]:
    """The Spark session that is active, or one that is started on `master` and stopped at the end.

    Without `master` it runs where the variable CHORAL_SPARK_MASTER says, or on all cores of this machine. On this
    machine it listens on the loopback alone.
    """
    sql = _pyspark()
    active = sql.SparkSession.getActiveSession()
    where = master or os.environ.get(MASTER)
    if active is not None:
        here = active.sparkContext.master
        if master is not None and here != master:
            raise ChoralError(
                f"Spark already runs on {here}, not on {master}.", "Stop it first, or leave out --master."
            )
        yield active
        return
    session = _start(sql, where or HERE)
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def in_plain_words(what: str) -> Iterator[None]:
    """Errors of Spark while it works on `what`; those that workers raised on purpose come out as they are."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        with warnings.catch_warnings():
            # No data passes through pandas here, whichever version is installed.
            warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
            yield
    except (PySparkException, Py4JError) as error:
        text = str(error)
        if "No space left on device" in text:
            raise LawError(f"Spark could not finish with {what}: the disk is full.", "Check free space.") from None
        said = re.search(re.escape(MARK) + r"(\[.*\])", text)
        if said:
            kind, problem, remedy = json.loads(said.group(1))
            raise getattr(errors, kind)(problem, remedy) from None
        causes = re.findall(r"Caused by: [\w.$]+: (.+)", text) or [text.strip()]
        raise LawError(
            f"Spark could not finish with {what}: {causes[-1].splitlines()[0].rstrip('.')}.",
            "Check that it is whole, of the kind that its name says, and where all workers can read it.",
        ) from None


@contextmanager
def heard_by_driver() -> Iterator[None]:
    """On a worker: errors that are meant for the user reach the driver, which `in_plain_words` understands."""
    try:
        yield
    except ChoralError as error:
        raise RuntimeError(MARK + json.dumps([type(error).__name__, error.what, error.remedy])) from None


def _pyspark() -> Any:
    try:
        from pyspark import sql
    except ImportError:
        raise ChoralError(
            "Spark needs pyspark, which is not installed.", "pip install 'choral[spark,tables]'"
        ) from None
    return sql


def _start(sql: Any, master: str) -> Any:
    _check_java()
    _check_answers(master)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.app.name": "choral",
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower(),
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS_AT_ONCE),
        "spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[3]),
    }
    if master.startswith("local") or LOOPBACK in master:
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
        settings |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    builder = sql.SparkSession.builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        return builder.getOrCreate()
    except (PySparkException, Py4JError) as error:
        raise ChoralError(
            f"Spark did not start on {master}: {str(error).splitlines()[0]}.",
            "Check --master: local[*], local[2], or spark://host:7077 of a cluster that runs.",
        ) from None


def _check_java() -> None:
    """Raise unless there is a Java that Spark runs on."""
    remedy = f"Install Java {LEAST_JAVA} or newer (openjdk-{LEAST_JAVA}-jre-headless), or point JAVA_HOME to it."
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).is_file():
        raise ChoralError(f"Spark needs Java, which is not {f'in {home}' if home else 'installed'}.", remedy)
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    version = re.search(r'version "(\d+)', said.stderr + said.stdout)
    if version is None or int(version.group(1)) < LEAST_JAVA:
        found = version.group(1) if version else "of no known version"
        raise ChoralError(f"Spark needs Java {LEAST_JAVA}, and {java} is {found}.", remedy)


def _check_answers(master: str) -> None:
    """Raise at once, not after Spark's minute, if nobody answers at spark://host:port."""
    if not master.startswith("spark://"):
        return
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        try:
            socket.create_connection((host, int(port)), PATIENCE).close()
            return
        except (OSError, ValueError, OverflowError):
            continue
    raise ChoralError(f"No Spark master answers at {master}.", "Start it, or check --master: spark://host:7077.")
