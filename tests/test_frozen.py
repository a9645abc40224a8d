import copy
import dataclasses
import inspect
import pickle

import pytest

from aeron_core.frozen import frozen


def declared_by(decorator, **options):
    """Return a base class and a derived one, declared with a decorator."""

    @decorator(**options)
    class Base:
        number: int
        text: str = "none"
        created: list[int] = dataclasses.field(default_factory=list)
        note: str = dataclasses.field(default="", compare=False, repr=False)

    @decorator(**options)
    class Derived(Base):
        other: int = 5

        def __post_init__(self):
            if self.number < 0:
                raise ValueError(self.number)

    return Base, Derived


def by_dataclass(**options):
    return dataclasses.dataclass(frozen=True, **options)


OPTIONS = [{}, {"slots": True}, {"kw_only": True}, {"slots": True, "kw_only": True}]


@pytest.mark.parametrize("options", OPTIONS)
def test_a_class_behaves_as_a_frozen_dataclass(options):
    observed = []
    for decorator in (frozen, by_dataclass):
        base, derived = declared_by(decorator, **options)
        one, same, other = base(number=1), base(number=1, note="differs"), derived(number=1, text="two")
        observed.append(
            [
                repr(one),
                repr(other),
                one == same,
                one == other,
                one != base(number=2),
                one == "text",
                one.created is not same.created,
                dataclasses.asdict(other),
                dataclasses.replace(other, number=7, created=[1]),
                [field.name for field in dataclasses.fields(other)],
                derived.__match_args__,
                hasattr(one, "__dict__"),
                copy.copy(other) == other,
                str(inspect.signature(derived.__init__)).replace("'", ""),
            ]
        )

    assert [repr(value) for value in observed[0]] == [repr(value) for value in observed[1]]


@pytest.mark.parametrize("options", OPTIONS)
def test_faults_are_those_of_a_frozen_dataclass(options):
    for decorator in (frozen, by_dataclass):
        base, derived = declared_by(decorator, **options)
        one = base(number=1)

        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'number'"):
            one.number = 2
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'number'"):
            del one.number
        with pytest.raises(TypeError, match=r"Base.__init__\(\) missing 1 required .* 'number'"):
            base()
        with pytest.raises(TypeError, match=r"Derived.__init__\(\) got an unexpected keyword argument 'odd'"):
            derived(number=1, odd=2)
        with pytest.raises(ValueError, match="-1"):
            derived(number=-1)


def test_equal_objects_have_equal_hashes():
    @frozen(slots=True)
    class Point:
        x: int
        y: int

    assert {Point(1, 2), Point(1, 2), Point(2, 1)} == {Point(1, 2), Point(2, 1)}


def test_methods_of_the_class_body_are_kept():
    @frozen()
    class Loud:
        word: str

        def __repr__(self):
            return self.word.upper()

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 7

    @frozen(eq=False)
    class Same:
        word: str

    assert repr(Loud("hi")) == "HI"
    assert Loud("hi") == 5
    assert hash(Loud("hi")) == 7
    assert Same("a") != Same("a")


@frozen(slots=True)
class Sent:
    first: int
    second: str = "b"


def test_an_object_with_slots_can_be_pickled():
    assert pickle.loads(pickle.dumps(Sent(1, "c"))) == Sent(1, "c")


def test_a_field_that_is_no_argument_is_refused():
    @frozen()
    class Derived:
        number: int = dataclasses.field(default=0, init=False)

    with pytest.raises(
        TypeError, match=r"field 'number' of .*Derived: init=False is not supported by @frozen"
    ):
        Derived()


def test_initialization_is_compiled_with_the_first_object():
    @frozen()
    class Late:
        number: int

    before = Late.__init__

    assert Late(3).number == 3
    assert Late.__init__ is not before
    assert Late.__init__.__qualname__.endswith("Late.__init__")
