"""Saving and loading: whole or not at all, and only what is verified."""

from __future__ import annotations

import os
import stat
from fractions import Fraction as F

import pytest
from hypothesis import given, settings
from laws import joints

import choral as ch
from choral.errors import FileInTheWayError, ReleaseFileError, VerificationError
from choral.exact.certificate import document_to_text, sealed


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
    odd = ch.Joint.from_counts({(0, b"bytes"): 1, (1, b"b"): 1}, names=["W", "X"])
    with pytest.raises(ReleaseFileError, match="bytes"):
        ch.disclose(odd)


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
    document = {**ch.disclose(ch.examples.xor()).document, "version": 2}
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
    false = ch.Disclosure(d.law, d.problem, d.exact_channel, sealed(document))
    with pytest.raises(VerificationError):
        false.save(tmp_path / "false.choral")
    assert not (tmp_path / "false.choral").exists()
