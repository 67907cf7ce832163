"""Saving and loading: whole or not at all, and only what is verified."""

from __future__ import annotations

import contextlib
import json
import os
import random
import stat
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction as F

import pytest
from hypothesis import given, settings
from laws import joints
from typer.testing import CliRunner

import choral as ch
from choral.auditing.audit import audit
from choral.errors import ChoralError, FileInTheWayError, ReleaseFileError, VerificationError
from choral.exact.certificate import document_to_text, sealed
from choral.release.card import card_of
from choral.release.file import load_release
from choral.release.fit import fit
from choral.release.second import fit_after
from choral.show.cli import app
from choral.show.report import render
from choral.verifier.reading import VERSIONS


@pytest.fixture
def saved(tmp_path):
    return ch.disclose(ch.examples.clinic(), "diagnosis").save(tmp_path / "release.choral")


def test_what_is_saved_is_what_is_loaded(saved):
    d, again = ch.disclose(ch.examples.clinic(), "diagnosis"), ch.load(saved)
    assert again.exact == d.exact
    assert again.states == d.states
    assert again.law == d.law
    assert (again.information, again.upper_bound, again.how) == (d.information, d.upper_bound, d.how)
    assert stat.S_IMODE(os.stat(saved).st_mode) == 0o600


@settings(deadline=None, max_examples=20)
@given(joints(most_states=6))
def test_every_law_survives_the_file(tmp_path_factory, law):
    file = tmp_path_factory.mktemp("r") / "r.choral"
    d = ch.disclose(law)
    d.save(file)
    assert ch.load(file).exact == d.exact


def test_values_of_every_kind_survive_the_file(tmp_path):
    law = ch.Joint.from_counts(
        {
            (w, x, y): 1 + i
            for i, (w, x, y) in enumerate(
                [(None, "a", 1.5), (F(1, 3), "b", 2.5), ((1, "x"), "a", 2.5), (None, "b", 1.5)]
            )
        },
        names=["W", "X1", "X2"],
    )
    file = ch.disclose(law).save(tmp_path / "r.choral")
    assert ch.load(file).law == law


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"bytes", "The value b'bytes' of type bytes cannot be written"),
        ((1, frozenset()), "of type frozenset cannot be written"),
        ("\ud800", "is not valid text"),
        (10**1000, "An integer of 1000 digits or more cannot be a value. Write it as text"),
        (-(10**1000), "An integer of 1000 digits or more"),
    ],
)
def test_what_no_file_can_hold_is_refused_before_it_is_saved(value, reason):
    """A value of what is looked at, protected or told; of a column that plays no part it does not matter."""
    counts = {(0, 0, value): 3, (1, 0, 1): 2, (0, 1, 1): 2, (1, 1, value): 5}
    columns = ["W", "X", "Y"]
    for names in (columns, ["W", "Y", "X"], ["Y", "X", "W"]):
        law = ch.Joint.from_counts(counts, names=names)
        with pytest.raises(ReleaseFileError, match=reason):
            ch.disclose(law, "W")
        with pytest.raises(ReleaseFileError, match=reason):
            ch.disclose(law, "W", leakage={"X": "0.01"})
    apart = ch.Joint.from_counts(counts, names=["W", "X", "Z"])
    assert ch.disclose(apart, "W", ["X"], ["X"]).verify()["verified"]


def test_the_longest_integer_that_a_file_holds_comes_back(tmp_path):
    law = ch.Joint.from_counts({(0, 10**999 - 1): 1, (1, 1 - 10**999): 2, (1, 5): 1}, names=["W", "X"])
    d = ch.disclose(law)
    assert ch.load(d.save(tmp_path / "a.choral")).law == law


def test_self_disclosure_and_groups_survive_the_file(tmp_path):
    d = ch.self_disclose(ch.examples.bernoulli(F(1, 3), 3))
    assert ch.load(d.save(tmp_path / "a.choral")).exact == d.exact
    d = ch.disclose(ch.examples.noisy_copies(3), protect=[("X1", "X2"), "X3"], use=["W", "X1", "X2"])
    assert ch.load(d.save(tmp_path / "b.choral")).exact == d.exact


def test_an_existing_file_is_kept(saved):
    before = saved.read_bytes()
    d = ch.disclose(ch.examples.xor())
    with pytest.raises(FileInTheWayError, match="force"):
        d.save(saved)
    assert saved.read_bytes() == before
    d.save(saved, force=True)
    assert ch.load(saved).law == ch.examples.xor()
    assert [p.name for p in saved.parent.iterdir()] == ["release.choral"]


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(ReleaseFileError, match="no folder"):
        ch.disclose(ch.examples.xor()).save(tmp_path / "no" / "r.choral")
    with pytest.raises(ReleaseFileError, match="no file"):
        ch.load(tmp_path / "r.choral")


@pytest.mark.parametrize("keep", [0, 1, 100, -1, -3])
def test_a_truncated_file_is_refused(saved, keep):
    text = saved.read_text(encoding="utf-8")
    saved.write_text(text[:keep] if keep >= 0 else text[: len(text) + keep], encoding="utf-8")
    if keep == -1:  # only the last line break is gone: still whole
        ch.load(saved)
        return
    with pytest.raises(ReleaseFileError, match=r"cut off|JSON"):
        ch.load(saved)


def test_an_altered_file_is_refused(saved):
    text = saved.read_text(encoding="utf-8")
    saved.write_text(text.replace('"ill"', '"sick"', 1), encoding="utf-8")
    with pytest.raises(ReleaseFileError, match="digest"):
        ch.load(saved)


def test_a_newer_version_is_refused_with_the_remedy(saved):
    document = {**ch.disclose(ch.examples.xor()).document, "version": VERSIONS[-1] + 1}
    saved.write_text(document_to_text(sealed(document)), encoding="utf-8")
    with pytest.raises(ReleaseFileError, match=r"newer.*upgrade"):
        ch.load(saved)


def test_a_forged_file_is_not_loaded_and_a_forged_result_is_not_saved(saved, tmp_path):
    d = ch.disclose(ch.examples.xor())
    document = dict(d.document)
    document["claims"] = {"information": "1.000000000000000", "upper_bound": "0.900000000000000"}
    saved.write_text(document_to_text(sealed(document)), encoding="utf-8")
    with pytest.raises(VerificationError, match="upper bound"):
        ch.load(saved)
    false = replace(d, claims=replace(d.claims, upper_bound=Decimal("0.9")))
    with pytest.raises(VerificationError):
        false.save(tmp_path / "false.choral")
    assert not (tmp_path / "false.choral").exists()


# ---------------------------------------------------------------------- releases of tables, altered and sealed again


def people(n=400, seed=1):
    """W is mostly the parity of a and b; `c` is rare in one value, so that with min_count states are merged."""
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        a, b, c = rng.randrange(2), rng.choice("xy"), rng.choices(["k", "l", "m"], [9, 9, 1])[0]
        w = a ^ (b == "x") if rng.random() < 0.85 else rng.randrange(2)
        rows.append({"W": w, "a": a, "b": b, "c": c, "age": rng.randrange(20, 80), "V": rng.randrange(2) ^ (c == "k")})
    return rows


ASKED = {"reveal": "W", "protect": ["a", "b"], "use": ["a", "b", "c"]}


@pytest.fixture(scope="module")
def of_table(tmp_path_factory):
    """Three releases of one table: nothing merged, rare states merged, and with bins."""
    folder = tmp_path_factory.mktemp("releases")
    fit(people(), **ASKED, min_count=1).save(folder / "plain")
    fit(people(), **ASKED, min_count=25).save(folder / "merged")
    binned = {**ASKED, "protect": ["a", "age"], "use": ["a", "b", "age"]}
    fit(people(), **binned, bins={"age": [40, 60]}, min_count=1).save(folder / "binned")
    assert load_release(folder / "merged").recipe.merged
    assert not load_release(folder / "plain").recipe.merged
    return folder


def column(recipe, name):
    return next(column for column in recipe["columns"] if column["name"] == name)


def turned(listed):
    return [*listed[1:], listed[0]]


ALTERED = {
    "states turned": ("plain", lambda r: r.update(combinations=turned(r["combinations"]))),
    "states of merged turned": ("merged", lambda r: r.update(combinations=turned(r["combinations"]))),
    "values turned": ("plain", lambda r: column(r, "c").update(values=turned(column(r, "c")["values"]))),
    "values of merged turned": ("merged", lambda r: column(r, "c").update(values=turned(column(r, "c")["values"]))),
    "values of a bin turned": ("binned", lambda r: column(r, "age").update(values=turned(column(r, "age")["values"]))),
    "edges moved": ("binned", lambda r: column(r, "age").update(edges=[41.0, 60.0])),
    "a value twice": ("plain", lambda r: column(r, "a").update(values=[0, 0])),
    "a value of another kind": ("plain", lambda r: column(r, "a").update(values=[False, True])),
    "another type": ("plain", lambda r: column(r, "a").update(type="VARCHAR")),
    "no type": ("plain", lambda r: column(r, "a").update(type="NONSENSE(")),
    "a group more": ("plain", lambda r: r["protect"].append(["a", "b"])),
    "a group less": ("merged", lambda r: r["protect"].pop()),
    "another target": (
        "plain",
        lambda r: r.update(reveal=["c"], columns=[x for x in r["columns"] if x["name"] != "W"]),
    ),
    "used columns turned": ("plain", lambda r: r.update(use=turned(r["use"]))),
    "used columns of merged turned": ("merged", lambda r: r.update(use=turned(r["use"]))),
    "out of range": ("plain", lambda r: r["combinations"].__setitem__(0, [9, 9, 9])),
    "a combination twice": ("plain", lambda r: r["combinations"].__setitem__(0, r["combinations"][1])),
    "merged by a trick": ("plain", lambda r: r.update(merged=[-1, 1])),
    "another one merged": ("merged", lambda r: r.update(kept=r["kept"] - 1, merged=[r["merged"][0] + 1])),
    "not so rare": ("plain", lambda r: r.update(min_count=10**6)),
    "about all people": ("plain", lambda r: r["law"].update(about="all people")),
    "more rows": ("plain", lambda r: r["table"].update(rows=401)),
    "after without codes": ("plain", lambda r: r.update(after={"digest": "ab" * 32, "first": [0]})),
    "after no digest": ("plain", lambda r: r.update(after={"digest": "zz", "first": [0] * 8})),
    "after a gap": ("plain", lambda r: r.update(after={"digest": "ab" * 32, "first": [7]})),
}


@pytest.mark.parametrize("name", ALTERED)
def test_a_recipe_that_does_not_fit_its_certificate_is_refused(of_table, tmp_path, name):
    """Sealed again, so the digest is right, and the stand-alone verifier, which knows no recipes, accepts the file."""
    which, alter = ALTERED[name]
    document = json.loads((of_table / which).read_text(encoding="utf-8"))
    before = json.dumps(document["recipe"])
    alter(document["recipe"])
    assert json.dumps(document["recipe"]) != before
    forged = tmp_path / "forged.choral"
    forged.write_text(document_to_text(sealed(document)), encoding="utf-8")
    with pytest.raises((VerificationError, ReleaseFileError), match=r"recipe"):
        load_release(forged)
    ended = CliRunner().invoke(app, ["verify", str(forged)])
    assert ended.exit_code == 1
    assert "FAILED       recipe" in ended.output
    told = json.loads(CliRunner().invoke(app, ["verify", str(forged), "--json"]).output)
    assert (told["verified"], told["claim"]) == (False, "recipe")


@pytest.mark.parametrize("which", ["plain", "merged", "binned"])
def test_verify_says_that_the_recipe_fits(of_table, which):
    load_release(of_table / which)
    ended = CliRunner().invoke(app, ["verify", str(of_table / which)])
    assert (ended.exit_code, "holds        the recipe leads to" in ended.output) == (0, True)
    assert "recipe" in json.loads(CliRunner().invoke(app, ["verify", str(of_table / which), "--json"]).output)


def test_the_recipe_of_a_second_release_fits(tmp_path):
    first = fit(people(), **ASKED, min_count=20)
    second = fit_after(first, people(), "V", ["a", "b"], ["a", "b", "c", "W"], min_count=20)
    second.save(tmp_path / "second")
    assert load_release(tmp_path / "second").recipe == second.recipe


def test_a_card_promises_what_was_proved(of_table):
    """In memory nothing stops anybody from changing a recipe; the guarantee is of the certificate's groups all the same."""
    release = load_release(of_table / "plain")
    forged = replace(release, recipe=replace(release.recipe, protect=(("a",), ("b",), ("a", "b"))))
    card = card_of(forged).document
    assert [group["columns"] for group in card["protect"]] == [["a"], ["b"]]
    assert not any("together" in line for line in card["guarantee"][1:])


# ---------------------------------------------------------------------- a disclosure knows no key, however it was come by


@pytest.fixture
def four_ways(tmp_path):
    """One release as fitted, loaded from one file, and loaded from a file whose key lives apart, with and without it."""
    release = fit(people(), **ASKED, min_count=1)
    release.save(tmp_path / "whole")
    release.save(tmp_path / "apart", tmp_path / "key")
    loaded = load_release(tmp_path / "whole"), load_release(tmp_path / "apart", tmp_path / "key")
    return [release, *loaded, load_release(tmp_path / "apart")]


def test_recipe_salt_and_key_are_the_release_s_alone(four_ways, tmp_path):
    secret = four_ways[0].key.hex(), four_ways[0].salt.hex(), "recipe"
    for i, release in enumerate(four_ways):
        for d in (release.disclosure, ch.load(tmp_path / "whole").disclosure, ch.load(tmp_path / "apart").disclosure):
            written = d.save(tmp_path / f"inner {i}", force=True).read_text(encoding="utf-8")
            for text in (written, document_to_text(d.document), repr(d)):
                assert not [word for word in secret if word in text]
            assert "key" not in json.loads(written)


def test_what_is_loaded_equals_what_was_saved(four_ways, tmp_path):
    first = four_ways[0].disclosure
    assert all(release.disclosure == first for release in four_ways)
    assert ch.load(tmp_path / "whole").disclosure == first
    assert ch.load(first.save(tmp_path / "inner")) == first
    assert len({release.disclosure for release in four_ways}) == 1


def test_one_release_has_one_digest(four_ways):
    digests = {release.digest for release in four_ways}
    assert {audit(release).digest for release in four_ways} == digests
    assert len(digests) == 1
    render(four_ways[1], audit(four_ways[0]))  # an audit made before saving is of the release that was loaded


def test_the_proof_is_kept_on_the_disclosure_and_comes_back(four_ways, tmp_path):
    for make in (
        lambda: ch.disclose(ch.examples.clinic(), "diagnosis"),
        lambda: ch.disclose(ch.examples.clinic(), "diagnosis", solver="sandwich", tol=1e-3),
        lambda: ch.disclose(ch.examples.bsc_and_bec(), protect=[("X1", "X2")]),
        lambda: ch.disclose(ch.examples.clinic(), "diagnosis", time_limit=0),
        lambda: ch.disclose(ch.examples.noisy_copies(2), leakage={"X1": F(1, 20)}, tol=1e-3),
    ):
        d = make()
        again = ch.load(d.save(tmp_path / "d", force=True))
        assert type(again.solution.bound) is type(d.solution.bound)
        assert (again.claims, again.how, again.leakage) == (d.claims, d.how, d.leakage)
        assert again.document == d.document


def test_a_file_that_choral_would_write_otherwise_is_verified_but_not_loaded(saved):
    """What is loaded is what was verified: the same law, listed in another order, has another digest."""
    document = json.loads(saved.read_text(encoding="utf-8"))
    document["law"]["cells"].reverse()
    saved.write_text(document_to_text(sealed(document)), encoding="utf-8")
    assert CliRunner().invoke(app, ["verify", str(saved)]).exit_code == 0
    with pytest.raises(ReleaseFileError, match="its law in another way"):
        ch.load(saved)


def leaves(value, place=()):
    """The places of all values inside a document that hold no others."""
    if isinstance(value, dict | list) and value:
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        return [found for key, part in parts for found in leaves(part, (*place, key))]
    return [place]


SHAPES = (7, "7", -1, None, "1/0", [], {}, [[1]], {"fraction": 1})
EXAMPLES = {
    "determined": lambda: ch.disclose(ch.examples.xor()),
    "lines": lambda: ch.disclose(ch.examples.bsc_and_bec(), solver="sandwich", tol=1e-2),
    "purpose": lambda: ch.disclose(ch.examples.bsc_and_bec(), utility="accuracy"),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_whatever_has_another_shape_is_refused_in_words(name, tmp_path):
    """Sealed again; every leaf of the proof, the claims and the notes, once as each of several things that it is not."""
    document = dict(EXAMPLES[name]().document)
    text, forged = document_to_text(document), tmp_path / "forged.choral"
    parts = [part for part in ("bound", "best", "claims", "notes", "utility") if part in document]
    places = random.Random(1).sample(
        found := [p for part in parts for p in leaves(document[part], (part,))], min(30, len(found))
    )
    for place in places:
        for shape in SHAPES:
            changed = json.loads(text)
            inside = changed
            for key in place[:-1]:
                inside = inside[key]
            inside[place[-1]] = shape
            forged.write_text(document_to_text(sealed(changed)), encoding="utf-8")
            with contextlib.suppress(ChoralError):  # and nothing else: some are notes, which may say anything
                ch.load(forged)
