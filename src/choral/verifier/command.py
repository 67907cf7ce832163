"""Check a choral release without trusting choral.

    python verifier.py release.choral            what is claimed, then whether it holds; exit status 0 only if it does
    python verifier.py release.choral --json     the same for programs

This file needs Python 3.11 or newer and its standard library, nothing else: not numpy, not choral. It shares no
code and no constant with the solvers. It reads the law and the channel as integers and recomputes every claim:

1. the file is whole: its digest fits its content;
2. the law: non-negative integer weights over named columns;
3. the channel: non-negative integers, and for every state s the masses p(s, y) sum to its prior;
4. privacy: for every protected group Z, p(z, y) = p(z) · p(y) for every value z and every code y, in integers; or, where
   the file gives a group a budget instead, that the budget is kept: ratios in integers, bits in interval arithmetic;
   and the same under every further law that the file lists;
5. the information I(W;Y), in interval arithmetic, is what is stated;
6. the upper bound, recomputed from what proves it, is what is stated.

The first claim that fails is named. Note what is *not* claimed: a group that is not listed is not protected, so read
the list; and the law is the one in the file, so compare it with the one you care about.

The format is described in docs/release-format.md.
"""

from __future__ import annotations

import json
import sys

from choral.verifier.claims import ClaimFailed, need
from choral.verifier.core import Channel
from choral.verifier.information import compare_bound, compare_information, information, leakages_of
from choral.verifier.laws import claims_of
from choral.verifier.privacy import check_further, check_groups, words_for
from choral.verifier.proof_determined import bound_when_determined
from choral.verifier.proof_extreme_points import bound_from_extreme_points
from choral.verifier.proof_group import bound_from_group
from choral.verifier.proof_lines import bound_from_lines
from choral.verifier.reading import read


def describe(law, used, target, groups, budgets, stated_information, stated_bound):
    """Lines that say what is claimed."""
    rivals = "channel within these budgets" if any(budgets) else "private channel"
    named = ["+".join(g) + (f" ({words_for(b)})" if b else "") for g, b in zip(groups, budgets)]
    return [
        "law          " + "\n             ".join(law.describe()),
        f"reveals      {'+'.join(target)}",
        f"looks at     {', '.join(used)}",
        f"protects     {', '.join(named)}"
        f"   ({len(groups)} group{'s' if len(groups) > 1 else ''}; nothing else is protected)",
        f"information  {stated_information:f} bits are disclosed",
        f"bound        {stated_bound:f} bits: no {rivals} can do better",
    ]


def check_privacy(document):
    """Check the channel of a document and its privacy, and nothing else."""
    law, used, _, groups, budgets, _, _ = claims_of(document)
    prior = law.weights(used)
    channel = Channel(document, prior)
    check_groups(law, used, groups, budgets, channel, prior, None, lambda line: None)
    check_further(document, law, used, groups, channel, lambda line: None)


def verify(text, say=lambda line: None):
    """Check the text of a release file. Returns what was found; raises `ClaimFailed` at the first false claim."""
    document = read(text)
    law, used, target, groups, budgets, stated_information, stated_bound = claims_of(document)
    for line in describe(law, used, target, groups, budgets, stated_information, stated_bound):
        say(line)
    beside = [key for key in ("recipe", "key", "salt") if key in document]
    if beside:
        say(f"not checked  {', '.join(beside)}: how records become states, and are drawn for, is the curator's word")
    prior = law.weights(used)
    channel = Channel(document, prior)
    say("holds        every weight is a non-negative integer, and the codes of each state sum to its prior")
    stated_leakage = leakages_of(document, budgets)
    check_groups(law, used, groups, budgets, channel, prior, stated_leakage, say)
    further = check_further(document, law, used, groups, channel, say)
    found = information(law, used, target, channel, prior)
    compare_information(found, stated_information)
    say("holds        the information, in interval arithmetic")
    proof = document.get("bound")
    need(isinstance(proof, dict), "upper bound", "no proof is given")
    kind = proof.get("kind")
    if kind == "group":
        bound = bound_from_group(law, used, target, groups, budgets, prior, proof)
        how = "from the law alone (the group bound)"
    elif kind == "determined":
        bound = bound_when_determined(law, used, target, groups, budgets, prior, proof)
        how = "since the protected values determine all that could be told"
    elif kind == "lines":
        bound = bound_from_lines(law, used, target, groups, budgets, further, prior, proof)
        how = "from its lines and multipliers"
    elif kind == "extreme points":
        need(not any(budgets), "upper bound", "extreme points prove nothing where a group has a budget")
        states = [tuple(state) for state in document["channel"]["states"]]
        bound = bound_from_extreme_points(law, used, target, groups, prior, proof, states)
        how = "by enumerating all extreme points again"
    else:
        raise ClaimFailed("upper bound", f"its kind {kind!r} is unknown")
    compare_bound(bound, stated_bound)
    need(stated_bound >= stated_information, "upper bound", "it is below the information that is disclosed")
    say(f"holds        the upper bound, {how}")
    return {
        "verified": True,
        "reveal": target,
        "use": used,
        "protect": groups,
        "budgets": [None if b is None else {b[0]: str(b[1])} for b in budgets],
        "leakage": [None if x is None else f"{x:f}" for x in stated_leakage],
        "further_laws": len(further),
        "information": f"{stated_information:f}",
        "upper_bound": f"{stated_bound:f}",
        "codes": channel.codes,
        "states": len(prior),
        "bound_checked": how,
        "digest": document["digest"],
    }


def main(arguments):
    """The command line: returns the exit status."""
    files = [a for a in arguments if not a.startswith("-")]
    as_json = "--json" in arguments
    if len(files) != 1 or set(arguments) - set(files) - {"--json"}:
        wanted = set(arguments) & {"-h", "--help"}
        print(
            __doc__ if wanted else "usage: python verifier.py RELEASE [--json]",
            file=sys.stdout if wanted else sys.stderr,
        )
        return 0 if wanted else 2
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        with open(files[0], encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        print(f"{files[0]} cannot be opened: {error.strerror or error}. Check the path.", file=sys.stderr)
        return 2
    except UnicodeDecodeError:
        text = None
    try:
        need(text is not None, "file", "it is not text in UTF-8")
        found = verify(text, say=(lambda line: None) if as_json else print)
        print(json.dumps(found) if as_json else "VERIFIED     every claim above holds")
        return 0
    except ClaimFailed as error:
        failed = error
    if as_json:
        print(json.dumps({"verified": False, "claim": failed.claim, "reason": failed.reason}))
    else:
        print(f"FAILED       {failed.claim}: {failed.reason}")
    return 1


def run():
    """The command line of a process: exits with its status."""
    try:
        status = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        status = 1
        sys.stderr.close()
    sys.exit(status)
