"""The page about static findings in AITER's code objects: each kind with why it is believed, and what the notes say."""

from __future__ import annotations

from collections import Counter
from typing import Any

from bench.foreign.static_checks import family
from bench.foreign.static_reasons import REASONS, Reason, reason
from bench.foreign.wheel import REQUIREMENT

_Row = dict[str, Any]
_TITLES = {
    "wait": "Waits for registers", "wait-states": "Wait states", "lds": "LDS", "undefined": "Registers",
}  # fmt: skip
_NOTES = {
    "wait-loose": "waits that could be looser, with the looser value",
    "wait-war": "a scalar register overwritten that a scalar store may still send; LLVM waits for nothing there",
    "wait-states-disputed": (
        "too little for one source and enough for another: M0 written right before a copy to LDS, a mask of `v_cmp` "
        "read without LLVM's two states, an SGPR that the SALU has read in between"
    ),
    "lds-order": "an access to LDS too early after another one of its wave, on some of the ways between the two alone",
    "lds-race": "the same between two waves",
    "lds-not-proved": "LDS addresses that the code alone does not tell",
    "agpr-alias": "a VGPR at or beyond `accum_offset`, which is an AGPR",
    "not-followed": "jumps that were not followed",
}


def unexplained(found: _Row) -> list[str]:
    """Kinds of findings that no reason fits, with the first of each."""
    missing = {}
    for name, each in found["found"].items():
        for kind in each["kinds"]:
            if reason(kind, family(name)) is None:
                missing.setdefault(f"{family(name)} {kind}", f"{name} {each['first'][kind]}")
    return [f"{kind}: {example}" for kind, example in sorted(missing.items())]


def passed(found: _Row) -> bool:
    """Whether the check broke on nothing and every finding has a reason."""
    return not (found["failed"] or unexplained(found) or any(c["unclean"] for c in found["compiled"].values()))


def summary(found: _Row) -> str:
    """One line for the terminal and the page, more if something is wrong."""
    slowest = found["slowest"]
    words = (
        f"{found['files']:,} files checked statically ({found['distinct']:,} with distinct code and descriptor, "
        f"{found['instructions']:,} instructions) in {found['seconds']:.0f} s with {found['jobs']} processes "
        f"({found['processor_seconds']:.0f} s of processor time): {found['clean']:,} distinct ones are clean, "
        f"{len(found['incomplete'])} could not be followed; the longest took {slowest['seconds']:.1f} s of processor "
        f"time ({slowest['name']}, {slowest['instructions']:,} instructions)"
    )
    for group, each in found["compiled"].items():
        clean = each["distinct"] - len(each["unclean"])
        words += f". Of {each['distinct']} code objects of the {group} cases {clean} are clean"
    wrong = [f"the check failed: {each}" for each in found["failed"]]
    wrong += [f"not clean: {each}" for compiled in found["compiled"].values() for each in compiled["unclean"]]
    wrong += [f"no reason is given for {each}" for each in unexplained(found)]
    return "\n".join([words, *wrong])


def document(found: _Row) -> str:
    """The page. Seconds are measured, on the machine that made it."""
    parts = [
        "# Static findings in other people's code",
        f"Made by `make foreign` (`python -m bench.foreign.run static` alone): every code object of `{REQUIREMENT}` is "
        "checked on all paths, without running it. Files with the same code and descriptor are checked once; the "
        "tables count such distinct ones, and one with several kinds of findings counts in each.",
        f"{summary(found)}. The time by the clock holds whatever else the machine had to do.",
        "A finding is no proof that a kernel goes wrong: what follows is often kept apart by time alone. Branches are "
        "decided where constants, the number of the wave or an earlier branch tell; other ways may be such that no "
        "host's arguments lead there, and a reason says so where we know.",
    ]
    for prefix, title in _TITLES.items():
        parts.append(f"## {title}\n\n{_table(found, prefix)}")
    parts.append(f"## Notes\n\nThey leave a file clean.\n\n{_notes(found)}")
    return "\n\n".join(parts) + "\n"


def _section(code: str) -> str:
    """The key in `_TITLES` of a finding's code."""
    return max((prefix for prefix in _TITLES if code.startswith(prefix)), key=len)


def _table(found: _Row, section: str) -> str:
    objects: Counter[Reason] = Counter()
    findings: Counter[Reason] = Counter()
    kinds: dict[Reason, Counter[str]] = {}
    families: dict[Reason, set[str]] = {}
    for name, each in found["found"].items():
        here = set()
        for kind, count in each["kinds"].items():
            why = reason(kind, family(name))
            if why is None or _section(kind.split(":")[0]) != section:
                continue
            here.add(why)
            findings[why] += count
            kinds.setdefault(why, Counter())[kind] += count
            families.setdefault(why, set()).add(family(name))
        objects.update(here)
    lines = [
        "| what | code objects | findings | where | the most frequent kind | why we believe it |",
        "|---|---:|---:|---|---|---|",
    ]
    for why in REASONS:
        if why in objects:
            ((most, _),) = kinds[why].most_common(1)
            where = ", ".join(sorted(families[why]))
            lines.append(f"| {why.what} | {objects[why]:,} | {findings[why]:,} | {where} | `{most}` | {why.why} |")
    return "\n".join(lines) if len(lines) > 2 else "None."


def _notes(found: _Row) -> str:
    lines = ["| code | code objects | notes | what |", "|---|---:|---:|---|"]
    for code, (objects, count) in found["notes"].items():
        lines.append(f"| {code} | {objects:,} | {count:,} | {_NOTES.get(code, '')} |")
    return "\n".join(lines)
