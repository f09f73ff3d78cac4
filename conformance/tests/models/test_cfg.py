"""Reading TLC's configuration files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.models.cfg import CfgError, parse_cfg

FULL = r"""
SPECIFICATION Spec  \* with fairness (* not the start of a comment
(* CONSTANT Hidden = 1
   (* nested *) INVARIANT Hidden *)
CONSTANTS
  Procs = {p1, p2}  Nested = {{a}, {}}
  Owner <- Self
  MaxMsgs = 2
  Name = "a b"
  Depth <-[Other] Deep
CONSTANT Offset = -1
INVARIANTS TypeOK
  I3_OneActiveRun
INVARIANT Last
SYMMETRY Sym
PROPERTIES RunsInTurn
PROPERTY AskedIsTaken
CONSTRAINT Small
CHECK_DEADLOCK FALSE
"""


def test_every_section_is_read() -> None:
    """Sections in the singular and the plural are one, and comments, nested ones too, are passed over."""
    config = parse_cfg(FULL)
    assert config.invariants == ("TypeOK", "I3_OneActiveRun", "Last")
    assert config.properties == ("RunsInTurn", "AskedIsTaken")
    assert config.checked == (*config.invariants, *config.properties)
    assert config.sections["SPECIFICATION"] == ("Spec",)
    assert config.sections["SYMMETRY"] == ("Sym",)
    assert config.sections["CONSTRAINT"] == ("Small",)
    assert config.sections["CHECK_DEADLOCK"] == ("FALSE",)
    assert "VIEW" not in config.sections


def test_values_and_replacements_are_told_apart() -> None:
    """What `=` gives a value and what `<-` replaces are two tables."""
    config = parse_cfg(FULL)
    assert config.replaces == {"Owner": "Self", "Depth": "Deep"}
    assert config.values == {
        "Procs": "{ p1 , p2 }",
        "Nested": "{ { a } , { } }",
        "MaxMsgs": "2",
        "Name": '"a b"',
        "Offset": "-1",
    }


def test_a_section_may_be_empty() -> None:
    """A keyword without names is a section that lists nothing."""
    assert parse_cfg("INVARIANTS PROPERTIES P").sections == {"INVARIANT": (), "PROPERTY": ("P",)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Spec SPECIFICATION Spec", "`Spec` stands before the first keyword"),
        ("INVARIANT (* open", r"not closed by `\*\)`"),
        ("INVARIANT A = 3", "INVARIANT lists `=`"),
        ("CONSTANT A", "The constant `A` has neither"),
        ("CONSTANT A <-", "The constant `A` has neither"),
        ("CONSTANT A B = 2", "The constant `A` has neither"),
        ("CONSTANT A = {1, 2", "The set that the constant `A` is given is not closed"),
        ("INVARIANT A; B", "`;` means nothing in a cfg"),
    ],
)
def test_what_is_no_cfg_is_refused(text: str, message: str) -> None:
    """The error says what stands where it should not."""
    with pytest.raises(CfgError, match=message):
        parse_cfg(text)


NAMES = st.lists(st.from_regex(r"[A-Z][a-z0-9_]{0,8}", fullmatch=True), unique=True, max_size=6)


@given(invariants=NAMES, properties=NAMES, replaced=NAMES)
def test_what_is_printed_is_read_back(
    invariants: list[str], properties: list[str], replaced: list[str]
) -> None:
    """Any names, in any number, come back from a cfg that lists them."""
    text = "\n".join(
        [
            "CONSTANTS",
            *(f"{name} <- Other" for name in replaced),
            "INVARIANT",
            *invariants,
            "PROPERTY",
            *properties,
        ]
    )
    config = parse_cfg(text)
    assert config.invariants == tuple(invariants)
    assert config.properties == tuple(properties)
    assert list(config.replaces) == replaced
