"""Laws from counts, networks and files: exact, as their formulas say, and refused in words when they are no law."""

from __future__ import annotations

import gzip
import json
import math
from collections import Counter
from fractions import Fraction as F
from importlib.resources import files
from itertools import product

import pytest

import choral as ch
from choral.errors import ChoralError, ColumnError, LawError, TooLargeError
from choral.laws import networks
from choral.laws.choice import IMAGINARY, KINDS, LawSource, law_for
from choral.laws.networks import Network, Node, from_bif, learned
from choral.release.file import load_release
from choral.release.fit import fit

COUNTS = {("f", 0, True): 5, ("f", 1, False): 2, ("m", 0, False): 4, ("m", 1, True): 1, ("m", 2, True): 8}
NAMES = ["sex", "grade", "ill"]


@pytest.fixture(autouse=True, scope="module")
def grammar():
    """pgmpy builds its grammar anew for every file, which takes most of a second: here it is built once."""
    from pgmpy.readwrite import BIFReader

    with pytest.MonkeyPatch.context() as patch:
        for name in ("get_variable_grammar", "get_probability_grammar"):
            built = getattr(BIFReader, name)(object.__new__(BIFReader))
            patch.setattr(BIFReader, name, lambda _, built=built: built)
        yield


def example(name, folder):
    """A network that pgmpy carries, unpacked."""
    path = folder / f"{name}.bif"
    path.write_bytes(gzip.decompress((files("pgmpy") / "utils" / "example_models" / f"{name}.bif.gz").read_bytes()))
    return path


def brute_force(network, names):
    """The joint law as the sum over all states of the product of the tables."""
    order = [node.name for node in network.nodes]
    sums = dict.fromkeys(product(*(network.values_of(name) for name in names)), F(0))
    for state in product(*(range(len(node.values)) for node in network.nodes)):
        at = dict(zip(order, state, strict=True))
        mass = math.prod(
            (node.table[tuple(at[p] for p in node.parents)][at[node.name]] for node in network.nodes), start=F(1)
        )
        sums[tuple(network.values_of(name)[at[name]] for name in names)] += mass
    assert sum(sums.values()) == 1
    return {cell: mass for cell, mass in sums.items() if mass}


# ---- from the table -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", KINDS)
def test_every_law_of_the_table_sums_to_one_and_says_what_it_is_about(law):
    joint, source = law_for(law, COUNTS, NAMES)
    assert joint.names == tuple(NAMES)
    assert sum(p for _, p in joint.items()) == 1
    assert "20 records" in source.about
    assert ("to come" in source.about) == (law != "frequencies")
    assert source.outside == 0
    again = LawSource.from_document(json.loads(json.dumps(source.to_document())))
    assert again.to_document() == source.to_document()


def test_frequencies_are_counts_over_records():
    joint, _ = law_for("frequencies", COUNTS, NAMES)
    assert dict(joint.items()) == {cell: F(n, 20) for cell, n in COUNTS.items()}


@pytest.mark.parametrize("imaginary", [None, "1/3", 12])
def test_dirichlet_is_the_posterior_mean(imaginary):
    joint, source = law_for("dirichlet", COUNTS, NAMES, imaginary=imaginary)
    amount = IMAGINARY if imaginary is None else F(imaginary)
    alpha = amount / 12
    assert F(source.parameters["alpha"]) == alpha
    for cell in product("fm", range(3), (False, True)):
        assert joint.probability(**dict(zip(NAMES, cell, strict=True))) == (COUNTS.get(cell, 0) + alpha) / (20 + amount)


def test_dirichlet_covers_values_that_did_not_occur():
    joint, _ = law_for("dirichlet", {("a",): 1}, ["X"], [["a", "b", "c"]])
    assert [p for _, p in joint.items()] == [F(2, 3), F(1, 6), F(1, 6)]


@pytest.mark.parametrize("law", ["dirichlet", "network"])
def test_too_many_cells_are_refused_before_they_are_made(law):
    alphabets = [range(10**6), range(40)]
    with pytest.raises(TooLargeError, match=r"40000000 cells.*Bin 'a' \(1000000 values\)"):
        law_for(law, {(0, 0): 1}, ["a", "b"], alphabets)


@pytest.mark.parametrize(
    ("law", "imaginary", "says"),
    [
        ("dirichlet", 0, "smooth nothing"),
        ("dirichlet", -1, "negative"),
        ("frequencies", 1, "Only dirichlet"),
        ("dirichelt", None, "Did you mean 'dirichlet'"),
        ("nowhere.bif", None, "cannot be read"),
        ("nowhere.csv", None, "cannot be read"),
    ],
)
def test_a_law_that_cannot_be_made_is_refused(law, imaginary, says):
    with pytest.raises(LawError, match=says):
        law_for(law, COUNTS, NAMES, imaginary=imaginary)


# ---- networks learned from counts -----------------------------------------------------------------------------------

HALF = F(1, 2)
TREE = Network(
    (
        Node("a", (0, 1), (), {(): (F(1, 3), F(2, 3))}),
        Node("b", (0, 1, 2), ("a",), {(0,): (F(1, 2), F(1, 4), F(1, 4)), (1,): (F(1, 6), F(1, 6), F(2, 3))}),
        Node("c", ("x", "y"), ("b",), {(0,): (F(1, 5), F(4, 5)), (1,): (HALF, HALF), (2,): (F(9, 10), F(1, 10))}),
        Node("d", (0, 1), ("b",), {(0,): (F(1), F(0)), (1,): (HALF, HALF), (2,): (F(1, 8), F(7, 8))}),
        Node("e", (0, 1), (), {(): (F(2, 5), F(3, 5))}),
    )
)


def exact_counts(joint):
    """Counts whose frequencies are the law."""
    return {joint.values_of(cell): weight for cell, weight in joint.cells.items()}


@pytest.mark.parametrize("names", [["a", "b", "c", "d", "e"], ["e", "d", "c", "b", "a"], ["c", "e", "a", "b", "d"]])
def test_chow_liu_gives_a_tree_law_back_exactly(names):
    law = TREE.joint(names)
    found = learned(exact_counts(law), law.names, law.alphabets, "tree", F(0))
    assert found.joint(names) == law  # the same rationals: the divergence is zero
    assert {frozenset(edge) for edge in found.edges} >= {frozenset("ab"), frozenset("bc"), frozenset("bd")}


def test_hill_climbing_gives_a_collider_back_that_no_tree_can():
    noisy = {(a, b): (F(9, 10), F(1, 10)) if a == b else (F(1, 10), F(9, 10)) for a in (0, 1) for b in (0, 1)}
    xor = Network(
        (
            Node("a", (0, 1), (), {(): (F(2, 5), F(3, 5))}),
            Node("b", (0, 1), (), {(): (F(1, 4), F(3, 4))}),
            Node("c", (0, 1), ("a", "b"), noisy),
        )
    )
    law = xor.joint(["a", "b", "c"])
    counts = {cell: 50 * n for cell, n in exact_counts(law).items()}
    assert learned(counts, law.names, law.alphabets, "bic", F(0)).joint(law.names) == law
    assert learned(counts, law.names, law.alphabets, "tree", F(0)).joint(law.names) != law


def test_a_tree_does_not_see_what_only_three_columns_say_together():
    """As docs/laws.md says: an exclusive or of fair bits is disclosed whole under dirichlet, and not at all under a tree."""
    counts = {(a ^ b, a, b): 1000 for a in (0, 1) for b in (0, 1)}
    tree, smooth = (ch.disclose(law_for(law, counts, ["W", "a", "b"])[0]) for law in ("network", "dirichlet"))
    assert tree.information == 0
    assert smooth.information > 0.99


def test_smoothing_does_not_depend_on_the_root_of_the_tree():
    counts = {(0, 0, 0): 9, (1, 1, 0): 5, (1, 1, 1): 7, (0, 0, 1): 1, (1, 0, 1): 2}
    laws = []
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        names = ["abc"[i] for i in order]
        shuffled = {tuple(cell[i] for i in order): n for cell, n in counts.items()}
        joint, source = law_for("network", shuffled, names, [(0, 1)] * 3, imaginary="5/2")
        assert source.parameters["edges"][0][0] == names[0]
        laws.append(joint.marginal("a, b, c"))
    assert laws[0] == laws[1] == laws[2]
    edge = laws[0].marginal("a, b")
    n = {(0, 0): 10, (1, 1): 12, (1, 0): 2, (0, 1): 0}
    assert all(edge.probability(a=a, b=b) == (n[a, b] + F(5, 8)) / (24 + F(5, 2)) for a, b in n)


def test_one_column_is_a_network_too():
    joint, _ = law_for("network", {(0,): 3, (1,): 1}, ["X"])
    assert [p for _, p in joint.items()] == [F(7, 10), F(3, 10)]


def test_a_disclosure_under_a_learned_law_verifies():
    joint, _ = law_for("network", COUNTS, NAMES)
    found = ch.disclose(joint, reveal="ill", protect=["sex", "grade"], use=["sex", "grade"])
    assert len(found.states) == 6  # also the state that the table lacks
    assert found.verify()["verified"]


# ---- networks in files ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["asia", "cancer"])
def test_a_network_of_known_law_equals_the_product_of_its_tables(name, tmp_path):
    network = from_bif(example(name, tmp_path))
    every = [node.name for node in network.nodes]
    for names in (every, every[-2:], [every[3], every[0]]):
        assert dict(network.joint(names).items()) == brute_force(network, names)


def test_the_decimals_of_asia_are_as_written(tmp_path):
    joint = from_bif(example("asia", tmp_path)).joint(["smoke", "lung", "asia", "tub"])
    assert joint.probability(smoke="yes", lung="yes") == F(1, 20)
    assert joint.probability(asia="yes", tub="yes") == F(5, 10_000)
    assert joint.independent("smoke, lung", "asia, tub")


def test_summing_out_agrees_with_pgmpy_on_a_network_too_large_to_multiply_out(tmp_path):
    from pgmpy.inference import VariableElimination
    from pgmpy.readwrite import BIFReader

    path = example("child", tmp_path)
    joint = from_bif(path).joint(["Age", "XrayReport"])
    theirs = VariableElimination(BIFReader(str(path)).get_model()).query(["Age", "XrayReport"], show_progress=False)
    for (age, report), p in joint.items():
        assert float(p) == pytest.approx(theirs.get_value(Age=age, XrayReport=report), rel=1e-9)


def test_a_disclosure_under_a_network_file_verifies(tmp_path):
    path = example("asia", tmp_path)
    counts = {("yes", "no", "yes"): 3, ("no", "yes", "no"): 4}
    joint, source = law_for(str(path), counts, ["lung", "xray", "smoke"])
    assert source.kind == "network file"
    assert source.parameters["file"] == "asia.bif"
    assert str(tmp_path) not in json.dumps(source.to_document())
    found = ch.disclose(joint, reveal="lung", protect=["smoke"], use=["smoke", "xray"])
    assert found.information > 0
    assert found.verify()["verified"]


BIF = """network small {
}
variable A {
  type discrete [ 2 ] { 0, 1 };
}
variable B {
  type discrete [ 2 ] { true, false };
}
probability ( A ) {
  table 0.25, 0.75;
}
probability ( B | A ) {
  (0) 0.5, 0.5;
  (1) 0.0, 1.0;
}
"""


def small(tmp_path, old="", new=""):
    path = tmp_path / "small.bif"
    assert old in BIF
    path.write_text(BIF.replace(old, new) if old else BIF)
    return str(path)


def test_states_of_a_file_become_the_values_of_the_table_and_impossible_records_are_counted(tmp_path):
    joint, source = law_for(small(tmp_path), {(True, 1): 3, (False, 0): 2, (True, 0): 1}, ["B", "A"])
    assert dict(joint.items()) == {(True, 0): F(1, 8), (False, 0): F(1, 8), (False, 1): F(3, 4)}
    assert source.outside == 3


def test_line_ends_of_another_system_do_not_matter(tmp_path):
    path = tmp_path / "small.bif"
    path.write_bytes(BIF.replace("\n", " \r\n").rstrip().encode())
    assert from_bif(path).joint(["A"]).probability(A="1") == F(3, 4)


def test_a_row_that_was_rounded_is_divided_by_its_sum(tmp_path):
    joint, _ = law_for(small(tmp_path, "0.25, 0.75", "0.3333333, 0.6666666"), {(0,): 1, (1,): 1}, ["A"])
    assert [p for _, p in joint.items()] == [F(3333333, 9999999), F(6666666, 9999999)]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("0.25, 0.75", "0.25, 0.70", "'A' sum to 0.95"),
        ("(1) 0.0, 1.0", "(1) 0.4, 1.0", "'B' given A=1 sum to 1.4"),
        ("(1) 0.0, 1.0", "(1) -0.5, 1.5", "finite and ≥ 0"),
        ("  (1) 0.0, 1.0;\n", "", "'B' given A=1 sum to 0"),
        ("(1) 0.0", "(2) 0.0", "not a network"),
        ("( B | A )", "( B | C )", "small.bif"),
        ("probability ( A ) {\n  table 0.25, 0.75;\n}", "", "no probabilities for 'A'"),
        ("probability ( A ) {\n  table", "probability ( A | B ) {\n  (true) 0.5, 0.5;\n  (false)", "cycle among A, B"),
        (
            "probability ( A ) {",
            "probability ( A ) {\n  table 0.5, 0.5;\n}\nprobability ( A ) {",
            "3 blocks 'probability'",
        ),
        ("  (1) 0.0, 1.0;", "  default 0.0, 1.0;", "a row 'default'"),
        (BIF, "once upon a time", "declares no variable"),
        (BIF, "", "no variable|not a network"),
        (BIF, "variable A {\n}\n", "not a network"),
    ],
)
def test_a_file_that_is_no_network_is_refused(old, new, says, tmp_path):
    with pytest.raises(LawError, match=says):
        law_for(small(tmp_path, old, new), {(0, True): 1}, ["A", "B"])


def test_columns_and_values_that_do_not_fit_the_file_are_refused(tmp_path):
    path = small(tmp_path)
    with pytest.raises(ColumnError, match=r"no variable 'b'.*Did you mean 'B'"):
        law_for(path, {(0, True): 1}, ["A", "b"])
    with pytest.raises(LawError, match="table has A=2"):
        law_for(path, {(0,): 1, (1,): 1, (2,): 1}, ["A"])
    with pytest.raises(LawError, match="has A=1, and the table has not"):
        law_for(path, {(0,): 1}, ["A"])
    binary = tmp_path / "binary.bif"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(LawError, match="cannot be read"):
        law_for(str(binary), {(0,): 1}, ["A"])


def test_a_table_on_the_way_that_is_too_large_is_refused(monkeypatch):
    parents = tuple(Node(f"p{i}", (0, 1), (), {(): (HALF, HALF)}) for i in range(4))
    table = dict.fromkeys(product((0, 1), repeat=4), (HALF, HALF))
    network = Network((*parents, Node("child", (0, 1), tuple(node.name for node in parents), table)))
    assert network.joint(["child"]).total == 2
    monkeypatch.setattr(networks, "MOST_CELLS", 16)
    with pytest.raises(TooLargeError, match="on the way"):
        network.joint(["child"])


# ---- declared -------------------------------------------------------------------------------------------------------


def test_a_declared_law_is_what_is_written(tmp_path):
    path = tmp_path / "law.csv"
    path.write_text("X,W,other,probability\n0,no,a,1/3\n0,no,b,1/6\n1,yes,a,0.25\n1,,a,2.5e-1\n")
    joint, source = law_for(str(path), {("no", 0): 2, ("yes", 1): 1, (None, 1): 1, ("yes", 0): 7}, ["W", "X"])
    assert dict(joint.items()) == {("no", 0): F(1, 2), ("yes", 1): F(1, 4), (None, 1): F(1, 4)}
    assert (source.kind, source.outside) == ("declared", 7)
    typed = tmp_path / "law.json"
    rows = '[{"W": "no", "X": 0, "count": 0.1}, {"W": "yes", "X": 1, "count": 0.3}]'
    typed.write_text(rows)
    joint, _ = law_for(str(typed), {("no", 0): 2, ("yes", 1): 1}, ["W", "X"])
    assert dict(joint.items()) == {("no", 0): F(1, 4), ("yes", 1): F(3, 4)}  # decimals, not floats


def test_text_that_looks_like_numbers_is_not_read_as_one_value(tmp_path):
    path = tmp_path / "law.csv"
    path.write_text("X,count\n007,1\n7,2\n7.0,5\n")
    joint, _ = law_for(str(path), {("007",): 1, ("7",): 1}, ["X"])
    assert dict(joint.items()) == {("007",): F(1, 8), ("7",): F(1, 4), ("7.0",): F(5, 8)}
    with pytest.raises(LawError, match="X=7 in two ways"):
        law_for(str(path), {(7,): 1}, ["X"])


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.csv", "X,probability\n0,1/2\n1,1/3\n", "sum to 0.833"),
        ("a.csv", "X,probability\n0,0.3333333333\n1,0.6666666666\n", "sum to 0.9999999999,"),
        ("a.csv", "X,probability,count\n0,1,1\n1,0,1\n", "both"),
        ("a.csv", "X,weight\n0,1\n1,0\n", "no column 'probability' or 'count'"),
        ("a.csv", "Z,count\n0,1\n1,0\n", "no column 'X'"),
        ("a.csv", "X,count\n0,1\n0,1\n", "twice"),
        ("a.csv", "X,X,count\n0,0,1\n", "once each"),
        ("a.csv", "X,count\n0,1\n1\n", "Line 3"),
        ("a.csv", "X,count\n", "no cells"),
        ("a.csv", "", "no cells"),
        ("a.csv", "X,count\n0,many\n1,1\n", "not a number"),
        ("a.csv", "X,count\n0,-1\n1,1\n", "negative"),
        ("a.csv", "X,count\n0,nan\n1,1\n", "not a number"),
        ("a.csv", "X,count\n0,0\n1,0\n", "zero"),
        ("a.json", "{", "not JSON"),
        ("a.json", '{"X": 0}', "list of records"),
        ("a.json", '[{"X": 0, "count": 1}, {"Y": 1, "count": 1}]', "same columns"),
        ("a.json", '[{"X": [0], "count": 1}]', "holds a list"),
        ("a.json", '[{"X": 0, "count": null}]', "not a number"),
    ],
)
def test_a_file_that_declares_no_law_is_refused(name, text, says, tmp_path):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ChoralError, match=says):
        law_for(str(path), {(0,): 1, (1,): 2}, ["X"])


def test_a_value_that_is_not_missing_is_never_read_as_missing(tmp_path):
    path = tmp_path / "law.csv"
    path.write_text("X,count\n1,1\n,1\nwhat,1\n")
    with pytest.raises(LawError, match="has X=what, and the table has not"):
        law_for(str(path), {(1,): 1, (None,): 1}, ["X"])


# ---- releases -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows():
    """Records in the variables of the network "cancer", of another law than it has."""
    return [
        {"Smoker": smoker, "Pollution": pollution, "Cancer": (i % 7 == 0) ^ (smoker and i % 3 == 0)}
        for i in range(60)
        for smoker in (True, False)
        for pollution in ("low", "high")[: 1 + (i % 4 == 0)]
    ]


@pytest.mark.parametrize("law", [*KINDS, "cancer.bif"])
def test_a_release_records_its_law_and_verifies(law, rows, tmp_path):
    path = str(example("cancer", tmp_path)) if law.endswith(".bif") else law
    release = fit(rows, "Cancer", law=path)
    assert release.disclosure.verify()["verified"]
    release.save(tmp_path / "release.choral")
    recorded = load_release(tmp_path / "release.choral").recipe.law
    assert recorded["kind"] == {"network:bic": "network", "cancer.bif": "network file"}.get(law, law)
    assert ("to come" in recorded["about"]) == (law != "frequencies")
    joint = law_for(path, *counts_of(rows))[0]
    for name in ("Smoker", "Pollution"):
        assert release.disclosure.law.marginal(name) == joint.marginal(name)


def counts_of(rows):
    names = list(rows[0])
    return Counter(tuple(row[name] for name in names) for row in rows), names


def test_a_declared_law_speaks_of_bins_by_their_names_and_leaves_out_what_it_excludes(tmp_path):
    table = {"W": [0, 1, 1, 0] * 8, "age": [30, 50, 30, 50] * 8, "sex": ["f", "f", "m", "m"] * 8}
    law = tmp_path / "law.csv"
    cells = [("≥ 40", "f", 1), ("< 40", "f", 0), ("< 40", "m", 1)]
    law.write_text("age,sex,W,probability\n" + "".join(f"{age},{sex},{w},1/3\n" for age, sex, w in cells))
    release = fit(table, "W", protect=["sex"], bins={"age": [40]}, law=str(law))
    assert release.recipe.column("age").values == ("< 40", "≥ 40")
    assert release.recipe.law["outside"] == 8
    assert release.recipe.state_of({"age": 50, "sex": "m"}) == -1
    assert release.disclosure.verify()["verified"]
