"""Check a choral release without trusting choral.

    python verifier.py release.choral                   what is claimed, then whether it holds; exit status 0 only if it does
    python verifier.py release.choral --privacy         privacy alone: not how much is told, nor that it is the most
    python verifier.py release.choral --json            the same for programs
    python verifier.py release.choral --budget STEPS    take longer than the default allows; a step is about 0.1 microseconds

This file needs Python 3.11 or newer and its standard library, nothing else: not numpy, not choral. It shares no
code and no constant with the solvers. It reads the law and the channel as integers and recomputes every claim:

1. the file is whole: its digest fits its content;
2. the law: non-negative integer weights over named columns;
3. the channel: non-negative integers, and for every state s the masses p(s, y) sum to its prior;
4. privacy: for every protected group Z, p(z, y) = p(z) · p(y) for every value z and every code y, in integers; or, where
   the file gives a group a budget instead, that the budget is kept: ratios in integers, bits in interval arithmetic;
   and the same under every further law that the file lists; for every promise given V, p(z, v, y) · p(v) = p(z, v) · p(v, y);
5. the information I(W;Y), in interval arithmetic, is what is stated;
6. the upper bound, recomputed from what proves it, is what is stated;
7. where the file names a utility (right decisions, a loss, squared error): the value of the code, and that no private code is
   worth more than stated, both in integers.

The first claim that fails is named, and the exit status is 1. Work is priced before it begins: a file that would take more
than the budget of steps fails the claim "budget", which says nothing about its other claims.

Note what is *not* claimed: a group that is not listed is not protected, so read the list; and the law is the one in the
file, so compare it with the one you care about. Names that are not ASCII are printed with their code points; two that differ
by letters and digits that look alike (1, l and I; 0 and O; rn and m) are remarked on.

The format is described in docs/release-format.md.
"""

from __future__ import annotations

import gc
import json
import sys

from choral.verifier.claims import ClaimFailed, brief, need
from choral.verifier.conditions import check_conditions
from choral.verifier.core import Channel
from choral.verifier.information import compare_bound, compare_information, information, leakages_of
from choral.verifier.laws import claims_of
from choral.verifier.names import alike_in_ascii, shown_group, shown_name
from choral.verifier.privacy import check_further, check_groups, words_for
from choral.verifier.proof_decision import check_value_bound
from choral.verifier.proof_determined import bound_when_determined
from choral.verifier.proof_extreme_points import bound_from_extreme_points
from choral.verifier.proof_group import bound_from_group
from choral.verifier.proof_lines import bound_from_lines
from choral.verifier.proof_rank import bound_from_rank
from choral.verifier.reading import read
from choral.verifier.steps import METER, Meter, default_budget
from choral.verifier.utility import check_value, stated_values, utility_of, words_of, written

MOST_BUDGET_DIGITS = 30  # of a budget that is given on the command line


def describe(law, used, target, groups, budgets, conditions, stated_information, stated_bound, until):
    """Lines that say what is claimed, and of that what will not be checked."""
    unchecked = ["" if until != "privacy" else " (not checked)", "" if until == "bound" else " (not checked)"]
    rivals = "channel within these budgets" if any(budgets) else "private channel"
    named = [shown_group(g) + (f" ({words_for(b)})" if b else "") for g, b in zip(groups, budgets)]
    promises = [f"promises     {condition.words()}" for condition in conditions]
    return [
        "law          " + "\n             ".join(law.describe()),
        f"reveals      {shown_group(target)}",
        f"looks at     {', '.join(map(shown_name, used))}",
        f"protects     {', '.join(named) if named else 'no column from somebody who knows nothing'}"
        f"   ({len(groups)} group{'s' if len(groups) != 1 else ''}; nothing else is protected)",
        *promises,
        f"information  {stated_information:f} bits are disclosed{unchecked[0]}",
        f"bound        {stated_bound:f} bits: no {rivals} can do better{unchecked[1]}",
    ]


def check_privacy(document):
    """Check the channel of a document and its privacy, and nothing else, however long it takes."""
    law, used, _, groups, budgets, conditions, _, _ = claims_of(document)
    prior = law.weights(used)
    channel = Channel(document, prior)
    check_groups(law, used, groups, budgets, channel, prior, None, lambda line: None)
    kept = check_conditions(used, conditions, channel, prior, lambda line: None)
    check_further(document, law, used, groups, conditions, kept, channel, lambda line: None)


def verify(text, say=lambda line: None, budget=None, until="bound"):
    """Check the text of a release file. Returns what was found; raises `ClaimFailed` at the first false claim.

    `until` says what is checked last: "privacy", "information" or "bound", which is everything. `budget` is in steps; without
    one, it is that of a file of this length.
    """
    return examined(text, say, budget, until)[1]


def examined(text, say, budget, until):
    """The document in the text of a release file, and what `verify` finds in it."""

    def check():
        document = read(text)
        return document, verified(document, say, until)

    return within(default_budget(len(text)) if budget is None else budget, check)


def within(steps, check):
    """What a check finds within a budget of steps; raises `ClaimFailed` where it cannot end."""
    token = METER.set(Meter(steps))
    try:
        return check()
    except RecursionError:
        raise ClaimFailed("file", "it is nested too deep") from None
    except (ArithmeticError, MemoryError):
        raise ClaimFailed("arithmetic", "its numbers are too large") from None
    finally:
        METER.reset(token)


def verified(document, say, until):
    """What was found in a document whose digest is right."""
    law, used, target, groups, budgets, conditions, stated_information, stated_bound = claims_of(document)
    for line in describe(law, used, target, groups, budgets, conditions, stated_information, stated_bound, until):
        say(line)
    remarks = alike_in_ascii(law.columns)
    for remark in remarks:
        say(f"remark       {remark}")
    utility = utility_of(document, law, target)
    value, value_bound = stated_values(document) if utility else (None, None)
    if utility:
        unchecked = ["" if until != "privacy" else " (not checked)", "" if until == "bound" else " (not checked)"]
        for line in words_of(utility, target, value, value_bound, unchecked):
            say(line)
    beside = [key for key in ("recipe", "key", "salt") if key in document]
    if beside:
        say(f"not checked  {', '.join(beside)}: how records become states, and are drawn for, is the curator's word")
    prior = law.weights(used)
    channel = Channel(document, prior)
    say("holds        every weight is a non-negative integer, and the codes of each state sum to its prior")
    stated_leakage = leakages_of(document, budgets)
    check_groups(law, used, groups, budgets, channel, prior, stated_leakage, say)
    kept = check_conditions(used, conditions, channel, prior, say)
    further = check_further(document, law, used, groups, conditions, kept, channel, say)
    found = {
        "verified": False,
        "checked": until,
        "reveal": target,
        "use": used,
        "protect": groups,
        "given": [condition.name for condition in conditions],
        "budgets": [None if b is None else {b[0]: str(b[1])} for b in budgets],
        "leakage": [None if x is None else f"{x:f}" for x in stated_leakage],
        "further_laws": len(further),
        "information": f"{stated_information:f}",
        "upper_bound": f"{stated_bound:f}",
        "utility": utility.kind if utility else "bits",
        "value": written(value) if utility else f"{stated_information:f}",
        "value_bound": written(value_bound) if utility else f"{stated_bound:f}",
        "codes": channel.codes,
        "states": len(prior),
        "digest": document["digest"],
        "remarks": remarks,
    }
    if until == "privacy":
        return found
    compare_information(information(law, used, target, channel, prior), stated_information)
    say("holds        the information, in interval arithmetic")
    if utility:
        check_value(law, used, target, utility, channel, prior, value)
        say(f"holds        what the code is worth: {utility.unit}")
    if until == "information":
        return found
    bound, how = bound_of(document, law, used, target, groups, budgets, conditions, further, prior)
    compare_bound(bound, stated_bound)
    need(stated_bound >= stated_information, "upper bound", "it is below the information that is disclosed")
    say(f"holds        the upper bound, {how}")
    if utility:
        arguments = (law, used, target, groups, conditions, further, utility, prior, document, value, value_bound)
        say(f"holds        that no private code is worth more than stated, {check_value_bound(*arguments)}")
    return {**found, "verified": True, "bound_checked": how}


def bound_of(document, law, used, target, groups, budgets, conditions, further, prior):
    """The upper bound that the proof in the file gives, and what gives it, in words."""
    proof = document.get("bound")
    need(isinstance(proof, dict), "upper bound", "no proof is given")
    kind = proof.get("kind")
    if kind == "group":
        bound = bound_from_group(law, used, target, groups, budgets, prior, proof)
        return bound, "from the law alone (the group bound)"
    if kind == "determined":
        bound = bound_when_determined(law, used, target, groups, budgets, conditions, prior, proof)
        return bound, "since the protected values determine all that could be told"
    if kind in ("lines", "tree"):
        need(kind == "lines" or document["version"] > 1, "upper bound", "a tree belongs to files of version 2")
        bound = bound_from_lines(law, used, target, groups, budgets, conditions, further, prior, proof)
        return bound, "from its lines and multipliers"
    if kind == "rank":
        plain = document["version"] > 1 and not any(budgets) and not further
        bound = bound_from_rank(law, used, target, groups, conditions, plain, prior)
        return bound, "from the rank within the group, laid out again"
    need(kind == "extreme points", "upper bound", f"its kind {brief(kind)} is unknown")
    need(not any(budgets), "upper bound", "extreme points prove nothing where a group has a budget")
    states = [tuple(state) for state in document["channel"]["states"]]
    bound = bound_from_extreme_points(law, used, target, groups, conditions, prior, proof, states)
    return bound, "by enumerating all extreme points again"


USAGE = "usage: python verifier.py RELEASE [--privacy] [--json] [--budget STEPS]"
NOT_CHECKED = "how much is told, and that no private channel can tell more"


def options_of(arguments):
    """The file, whether privacy is all that matters, whether programs read it, and the budget; None if that is not so."""
    files, given, budget = [], set(), None
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        if word == "--budget" or word.startswith("--budget="):
            number = word.partition("=")[2] if "=" in word else (waiting.pop(0) if waiting else "")
            if not (number.isascii() and number.isdecimal() and len(number) <= MOST_BUDGET_DIGITS):
                return None
            budget = int(number)
        elif word in ("--privacy", "--json"):
            given.add(word)
        elif word.startswith("-"):
            return None
        else:
            files.append(word)
    return (files[0], "--privacy" in given, "--json" in given, budget) if len(files) == 1 else None


def main(arguments, then=lambda document: None):
    """The command line: returns the exit status. A document that holds is given to `then`."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if set(arguments) & {"-h", "--help"}:
        print(__doc__)
        return 0
    options = options_of(arguments)
    if options is None:
        print(USAGE, file=sys.stderr)
        return 2
    path, privacy_alone, as_json, budget = options
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        print(f"{path} cannot be opened: {error.strerror or error}. Check the path.", file=sys.stderr)
        return 2
    except UnicodeDecodeError:
        text = None
    try:
        need(text is not None, "file", "it is not text in UTF-8")
        say = (lambda line: None) if as_json else print
        document, found = examined(text, say, budget, "privacy" if privacy_alone else "bound")
    except ClaimFailed as failed:
        if as_json:
            print(json.dumps({"verified": False, "claim": failed.claim, "reason": failed.reason}))
        else:
            print(f"FAILED       {failed.claim}: {failed.reason}")
        return 1
    then(document)
    if as_json:
        print(json.dumps({**found, "not_checked": NOT_CHECKED} if privacy_alone else found))
    elif privacy_alone:
        print(f"not checked  {NOT_CHECKED}")
        print("PRIVATE      every line above that holds was checked, and nothing else")
    else:
        print("VERIFIED     every claim above holds")
    return 0


def run():
    """The command line of a process: exits with its status."""
    gc.disable()  # nothing here refers to itself, and to look for that among millions of numbers takes time
    try:
        status = main(sys.argv[1:])
        if sys.stdout is not None:  # whoever closed it asks for the status alone
            sys.stdout.flush()
    except BrokenPipeError:
        status = 1
        sys.stderr.close()
    except KeyboardInterrupt:
        status = 130
        print("Interrupted: what was not checked yet is not said to hold.", file=sys.stderr)
    sys.exit(status)
