"""What takes each of the sixteen mends of `tests/test_mends.py` back, one at a time, in the code as it is now.

A mend is taken back where it was made: the check, the rounding or the lock that came with it does nothing any more. The test
of the mend must then fail; a mend that nothing holds would be lost some day without a word.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import replace

import choral.sklearn as estimators
from choral import files
from choral.draw import asked, engine
from choral.ledger import book, cards
from choral.ledger import file as ledger_file
from choral.release import card
from choral.release import file as release_file
from choral.release import fit as fitting
from choral.release.rounding import Rounded
from choral.show.studio import tables, workspace
from choral.tables import forms
from choral.verifier import core, laws, numbers, table, values


def order(patch):
    """1: codes in the order of the table."""
    patch.setattr(asked, "check_arrangement", lambda *_: "table")


def studio_ledger(patch):
    """2: the ledger of a studio ends with it."""
    begun = workspace.Workspace.__init__

    def own(self, session, *more):
        begun(self, session, *more)
        self.book = session / "choral.ledger"

    patch.setattr(workspace.Workspace, "__init__", own)


def cards_of_one_file(patch):
    """3: nobody compares the people behind two cards."""
    patch.setattr(cards.Groups, "record", lambda *_: None)


def rounding(patch):
    """4: a card has the counts themselves, and names every value."""

    def plain(joint, rows, least):
        return Rounded(1, tuple(range(len(joint[0]))), False, tuple(tuple(rows * p for p in row) for row in joint))

    patch.setattr(card, "rounded", plain)


def strict_fields(patch):
    """5: a field is whatever the engine can make of it."""
    patch.setattr(forms.Form, "value_sql", lambda self, text: f"TRY_CAST(TRY_CAST({text} AS DOUBLE) AS {self.type})")


def empty_ledgers(patch):
    """6: an empty ledger is taken for a new one."""
    opening = ledger_file.open_file

    @contextmanager
    def forgiving(path):
        if path.exists() and not path.stat().st_size:
            path.unlink()
        with opening(path) as found:
            yield found

    patch.setattr(book, "open_file", forgiving)


def names(patch):
    """7: a column may have any name."""
    patch.setattr(table, "why_unreadable", lambda name: "")


def spellings(patch):
    """8: a value is what is written."""
    patch.setattr(table, "symbol", lambda value: json.dumps(value))


def prices(patch):
    """9: work costs nothing, and a law is recomputed whatever the channel lists."""
    for module in (laws, numbers, core, table):
        patch.setattr(module, "spend", lambda *_: None)
    patch.setattr(laws, "hold", lambda *_: None)
    patch.setattr(laws, "lists_enough", lambda *_: None)


def named_claims(patch):
    """10: what is no value is an error of Python's."""

    def careless(value):
        return values.symbol(value) if not isinstance(value, dict) else float(value["fraction"])

    patch.setattr(table, "symbol", careless)


def one_at_a_time(patch):
    """11: nobody takes care that two tables do not get one number."""

    def hurried(self, name, path, origin):
        number = len(self.tables) + 1
        found = workspace.open_facts(name, path, origin)
        self.tables[number] = opened = replace(found, number=number)
        return opened

    patch.setattr(workspace.Workspace, "add", hurried)


def short_answers(patch):
    """11: what a cell holds is answered as it is."""
    patch.setattr(tables, "LONGEST_CELL", 10**9)
    patch.setattr(tables.shown, "__defaults__", (10**9,))


def twins(patch):
    """12: a person is known by the spelling alone."""
    patch.setattr(engine, "normal_blocks", lambda column, blocks: blocks)


def docstrings(patch):
    """13: the transformer says nothing of ledgers."""
    for kind in estimators.Disclosure.__mro__[:2]:
        patch.setattr(kind, "__doc__", (kind.__doc__ or "").replace("ledger", "list"))


def what_use_leaves_out(patch):
    """14: a second release looks at what the first does, whatever `use` says."""
    checked = fitting.united

    def silent(table, roles, earlier):
        return checked(table, replace(roles, use=tuple(dict.fromkeys([*roles.use, *earlier.use]))), earlier)

    patch.setattr(fitting, "united", silent)


def what_is_read(patch):
    """15: what is forced is replaced, whatever it is."""
    for module, name in ((files, "keep_apart"), (release_file, "keep_apart"), (release_file, "check_replaceable")):
        patch.setattr(module, name, lambda *_, **__: None)
    patch.setattr(files, "kind_of", lambda path: None)


def keys_in_disclosures(patch):
    """16: a disclosure holds whatever the file did that it was loaded from."""
    loaded = release_file.of_document

    def whole(document, place):
        found = loaded(document, place)
        vars(found)["document"] = document
        return found

    patch.setattr(release_file, "of_document", whole)


REVERTS = {
    order: ["test_1_the_order_of_codes_tells_no_protected_value"],
    studio_ledger: ["test_2_a_later_studio_does_not_draw_again_for_the_same_people"],
    cards_of_one_file: ["test_3_two_cards_of_one_file_do_not_differ_by_a_person"],
    rounding: ["test_4_a_card_names_nobody_and_counts_nobody"],
    strict_fields: ["test_5_a_field_that_is_no_whole_number_is_refused_with_its_row"],
    empty_ledgers: ["test_6_a_ledger_that_lost_its_content_is_not_taken_for_a_new_one"],
    names: ["test_7_a_name_that_does_not_print_as_what_it_is_does_not_verify"],
    spellings: ["test_8_one_value_in_two_spellings_is_not_a_bit"],
    prices: ["test_9_a_tiny_file_does_not_stall_the_verifier"],
    named_claims: ["test_10_what_is_no_value_gives_a_named_claim_as_json"],
    one_at_a_time: ["test_11_tables_that_are_uploaded_at_once_have_numbers_of_their_own"],
    short_answers: ["test_11_a_small_file_with_a_huge_cell_has_a_small_answer"],
    twins: ["test_12_one_person_in_two_spellings_is_not_drawn_for_twice"],
    docstrings: ["test_13_the_transformer_says_that_it_has_no_ledger"],
    what_use_leaves_out: ["test_14_a_second_release_does_not_look_at_what_use_leaves_out"],
    what_is_read: [
        "test_15_a_table_is_not_overwritten_by_force",
        "test_15_a_release_whose_codes_were_given_out_is_not_replaced_by_force",
    ],
    keys_in_disclosures: ["test_16_a_disclosure_from_a_release_saves_no_key"],
}
"""Each with the tests that fail without it."""
