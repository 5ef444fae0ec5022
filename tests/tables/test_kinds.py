"""Column kinds: recognition, parsing, and what is in doubt."""

import json
import re
from datetime import date, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capo.exceptions import InvalidInputError
from capo.tables.kinds import ColumnValues, ParsedKind, find_yes_label
from capo.tables.schema import KINDS, impose_kind, kind_from_dict, recognize

EPOCH = datetime(1970, 1, 1)


def values(*texts, **options):
    return ColumnValues.count("c", texts, **options)


def kind_of(*texts, **options):
    return recognize(values(*texts, **options)).kind


def parsed(*texts, **options):
    kind = kind_of(*texts, **options)
    return kind.name, [kind.parse_or_missing(text) for text in texts]


@pytest.mark.parametrize(
    ("texts", "name", "numbers"),
    [
        (("$1,200.50", "$3", "-$7.25"), "money", [1200.5, 3, -7.25]),
        (("1.200,50 EUR", "3,00 EUR", "(7,5 EUR)"), "money", [1200.5, 3, -7.5]),
        (("CHF 1'200", "CHF 35.50"), "money", [1200, 35.5]),
        (("1.200 €", "13.500 €"), "money", [1200, 13500]),
        (("12%", "3.5 %", "-1%"), "percentage", [12, 3.5, -1]),
        (("12,5%", "3%"), "percentage", [12.5, 3]),
        (("1,234", "2,345,678.5", "12"), "number", [1234, 2345678.5, 12]),
        (("1 234,5", "12"), "number", [1234.5, 12]),
        (("1\u202f234", "5\u00a0678"), "number", [1234, 5678]),
        (("1e3", "-2.5E-2", ".5"), "number", [1000, -0.025, 0.5]),
        (("5 kg", "3.2 kg"), "quantity", [5, 3.2]),
        (("5 kg", "300 g"), "quantity", [5, 0.3]),
        (("90 min", "2 h"), "duration", [5400, 7200]),
        (("1.5k", "3M", "200"), "quantity", [1500, 3e6, 200]),
        (("70 °C", "-3 °C"), "quantity", [70, -3]),
        (("Yes", "no", "TRUE", "0"), "boolean", [1, 0, 1, 0]),
        (("ja", "Nein"), "boolean", [1, 0]),
        (("1", "0", "1"), "number", [1, 0, 1]),
        (("$(1,200.50)", "$3"), "money", [-1200.5, 3]),
        (("1200.50-", "3"), "number", [-1200.5, 3]),
        (("CHF 20.-", "CHF 1'300.--", "CHF 7.50"), "money", [20, 1300, 7.5]),
        (("20,- €", "1.300,\u2013 €"), "money", [20, 1300]),
        (("₹1,23,456.50", "₹12,34,567", "₹999"), "money", [123456.5, 1234567, 999]),
        (("$1.5k", "$2M", "$300"), "money", [1500, 2e6, 300]),
        (("2,5 Mio. €", "1,5 Mrd. €"), "money", [2.5e6, 1.5e9]),
        (("$20/month", "$5/month"), "money", [20, 5]),
        (("<5", "7", "90+", "~3"), "number", [5, 7, 90, 3]),
        (("(1.5)", "2.5", "\u22123"), "number", [-1.5, 2.5, -3]),
        (("8,5e2", "1,25e-1"), "number", [850, 0.125]),
        (("866 sq ft", "1,200 sq ft"), "quantity", [866, 1200]),
        (("3 out of 5", "4 out of 5"), "quantity", [3, 4]),
        (("31.2‰", "4‰"), "quantity", [31.2, 4]),
        (("1 room", "2 rooms"), "quantity", [1, 2]),
        (("#DIV/0!", "5", "7", "n.d."), "number", [np.nan, 5, 7, np.nan]),
        (("1h 20m", "54m", "2 h"), "duration", [4800, 3240, 7200]),
        (("1yrs 11mon", "0yrs 5mon"), "duration", [31557600 + 11 * 2629800, 5 * 2629800]),
        (("1:02:03", "48:03"), "duration", [3723, 2883]),
        (("17:24", "08:05"), "duration", [62640, 29100]),
        (("03:00:00", "04:00:00"), "duration", [10800, 14400]),
        (("5:24 PM", "12:05 a.m."), "duration", [62640, 300]),
        (("PT1H20M", "P1DT5S"), "duration", [4800, 86405]),
        (("2 days 01:00:00", "-1 days 00:30:00"), "duration", [176400, -88200]),
    ],
)
def test_spellings_of_numbers(texts, name, numbers):
    found, values = parsed(*texts)
    assert found == name
    np.testing.assert_allclose(values, numbers, rtol=1e-15)


def spell(number, thousands, decimal):
    return f"{number:,.2f}".replace(",", "\0").replace(".", decimal).replace("\0", thousands)


@given(
    numbers=st.lists(st.integers(-(10**9), 10**9).map(lambda cents: cents / 100), min_size=1, max_size=8),
    style=st.sampled_from([("", "."), (",", "."), (".", ","), (" ", ","), ("'", "."), ("", ",")]),
    pattern=st.sampled_from(["{}", "${}", "{} EUR", "{}%", "{} kg"]),
)
def test_numbers_are_parsed_as_they_were_written(numbers, style, pattern):
    texts = [pattern.format(spell(number, *style)) for number in numbers]
    kind = kind_of(*texts)
    assert isinstance(kind, ParsedKind)
    assert [kind.parse(text) for text in texts] == pytest.approx(numbers, rel=1e-15)


@pytest.mark.parametrize(
    "layout",
    [
        *("%a %b %d %H:%M:%S %Y", "%d/%b/%Y:%H:%M:%S", "%Y%m%dT%H%M%S", "%Y%m%d%H%M%S", "%Y %m %d"),
        *("%b-%Y", "%b%Y", "%m/%Y", "%Y-%m", "%A, %d. %B %Y", "%Y年%m月%d日", "%d.%m.%Y %H:%M Uhr"),
        *("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d %b %Y", "%B %d, %Y", "%Y%m%d", "%d-%b-%y"),
        *(
            "%Y-%m-%dT%H:%M:%S",
            "%Y/%m/%d %H:%M",
            "%d.%m.%Y %H:%M:%S",
            "%m/%d/%Y %I:%M %p",
            "%Y-%m-%d %H:%M:%S.%f",
        ),
    ],
)
def test_dates_are_parsed_as_they_were_written(layout):
    rng = np.random.default_rng(0)
    moments = [datetime(1995, 1, 1) + timedelta(minutes=int(k)) for k in rng.integers(0, 20_000_000, 60)]
    texts = [moment.strftime(layout) for moment in moments]
    name, found = parsed(*texts)
    assert name == "date"
    assert found == [(datetime.strptime(text, layout) - EPOCH).total_seconds() for text in texts]


def test_dates_in_several_formats():
    moments = [datetime(2023, 1, 1) + timedelta(days=17 * k) for k in range(40)]
    layouts = ("%Y-%m-%d", "%d.%m.%Y", "%b %d, %Y")
    texts = [moment.strftime(layouts[k % 3]) for k, moment in enumerate(moments)]
    found = recognize(values(*texts))
    assert found.kind.layouts == ["year-month-day", "day-month-year", "name-of-month day year"]
    assert found.doubt == "its dates are written in 3 ways"
    assert [found.kind.parse(text) for text in texts] == [(each - EPOCH).total_seconds() for each in moments]
    assert kind_from_dict(found.kind.to_dict()) == found.kind


def test_a_mixture_of_formats_leaves_the_order_of_day_and_month_open():
    texts = ("2024-02-03", "3 Feb 2024", "04/05/2024", "11/12/2024")
    found = recognize(values(*texts))
    assert "month-day-year" in found.kind.layouts
    assert "the first number is read as the month" in found.doubt
    assert "day-month-year" in recognize(values(*texts, "25/12/2024")).kind.layouts
    assert recognize(values("2024-02-03", "3 Feb 2024", "red", "blue")).kind.name == "category"
    assert recognize(values("2024-02-03", "20240203", "20240204", "1")).kind.name != "date"


def test_time_zones_are_converted_to_utc():
    assert (
        parsed("2024-05-01T12:00:00+02:00", "2024-05-01T10:00:00Z", "2024-05-01 05:00-0500")[1]
        == [(datetime(2024, 5, 1, 10) - EPOCH).total_seconds()] * 3
    )


def test_named_time_zones():
    texts = ("2024-05-01 12:00 CEST", "2024-05-01 10:00 UTC", "2024-05-01T11:00:00+01:00[Europe/London]")
    assert parsed(*texts)[1] == [(datetime(2024, 5, 1, 10) - EPOCH).total_seconds()] * 3


def seconds(*date_parts):
    return (datetime(*date_parts) - EPOCH).total_seconds()


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("29. März 2023", "1. Dez. 2024"), [(2023, 3, 29), (2024, 12, 1)]),
        (("3 août 2021", "14 févr. 2022"), [(2021, 8, 3), (2022, 2, 14)]),
        (("5 de enero de 2020", "6 de octubre de 2020"), [(2020, 1, 5), (2020, 10, 6)]),
        (("2023-Q1", "2023Q4"), [(2023, 1, 1), (2023, 10, 1)]),
        (("Q2 2022", "Q3 2022"), [(2022, 4, 1), (2022, 7, 1)]),
        (("2021-W01", "2020-W53"), [(2021, 1, 4), (2020, 12, 28)]),
    ],
)
def test_months_in_other_languages_quarters_and_weeks(texts, expected):
    assert parsed(*texts) == ("date", [seconds(*each) for each in expected])


@pytest.mark.parametrize("per_second", [1, 1000, 10**6])
def test_counts_of_time_are_dates_if_the_name_of_the_column_says_so(per_second):
    moments = [seconds(2023, 1, 1) + 86461 * k for k in range(20)]
    texts = [str(int(moment) * per_second) for moment in moments]
    found = recognize(ColumnValues.count("created_at", texts)).kind
    assert found.name == "date"
    assert [found.parse(text) for text in texts] == moments
    assert recognize(ColumnValues.count("balance", texts)).kind.name == "number"
    assert KINDS["date"].impose(ColumnValues.count("balance", texts)).parse(texts[0]) == moments[0]
    assert recognize(ColumnValues.count("time", [str(k) for k in range(50)])).kind.name == "number"


def test_dates_that_stand_for_none_are_missing():
    found = recognize(values("2024-01-31", "0000-00-00", "2024-02-15", "9999-12-31 00:00:00"))
    assert found.kind.name == "date"
    assert np.isnan([found.kind.parse("0000-00-00"), found.kind.parse("9999-12-31 00:00:00")]).all()
    assert found.doubt == "'0000-00-00', '9999-12-31 00:00:00' count as missing"


def test_typed_dates_are_understood_whatever_the_layout():
    kind = kind_of("31.12.2024", "1.1.2025")
    assert kind.parse("2024-12-31 00:00:00.000000") == kind.parse("31.12.2024")
    assert kind.parse("2024-12-41") is None


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        (["01067", "80331", "unknown"], "code"),
        (["Yes", "no", "n.a."], "boolean"),
        (["0", "10", "7"], "number"),
        (["red", "blue"], "category"),
        (["5 kg", "3 cm"], "category"),
        (["20240131", "20240132", "20240101"], "number"),
        ([f"user{i}" for i in range(40)], "identifier"),
        ([f"the order number {i} came late" for i in range(40)], "text"),
        (["a|b", "b|c", "c", "a|c", "a|b|c"] * 10, "tags"),
        (["New York, NY", "Boston, MA"] * 20, "category"),
        (["<=50K", ">50K"], "category"),
        (["2021-W01", "2021-W53"], "category"),  # 2021 had 52 weeks
        (["NO", "<30", ">30"], "category"),
        (["Set 10", "Set 20"], "category"),
        (["$5/month", "$60/year"], "category"),
        (["12 Main Street", "5 Oak Lane"], "category"),
        (["['a', 'b']", "['b', 'c']", "['c']", "['a', 'c']", "['a']"] * 10, "tags"),
        ([], "category"),
    ],
)
def test_other_kinds(texts, name):
    assert kind_of(*texts).name == name


@pytest.mark.parametrize(
    ("texts", "doubt"),
    [
        (["1,234", "5,678"], "',' is read as a separator of thousands"),
        (["01/02/2024", "03/04/2024"], "the first number is read as the month"),
        (["01.02.2024", "03.04.2024"], "the second number is read as the month"),
        (["$5", "7 EUR"], "amounts in 2 currencies are not converted"),
        ([*map(str, range(60)), "oops"], "'oops' counts as missing"),
        (["5 kg", "3 cm"], "most values begin with a digit, but some, such as '5 kg', are not numbers"),
        (["1", "2", "unknown"], ""),
        (["<5", "7"], "'<' beside numbers is ignored"),
        (["Jan-23", "Feb-23"], "the number after the month is read as the year"),
        (["1:02:03", "48:03"], "times such as 48:03 are read as minutes and seconds"),
        (
            [*map(str, range(30)), *["refused"] * 10],
            "75% of the values are numbers, but others, such as 'refused', are not",
        ),
        ([f"{k}.{k + 1}.{k + 2} {k} {k} {k} x" for k in range(30)], "most of its characters are digits"),
        (["1.234", "5.678"], ""),
        (["31/12/2024", "01/02/2024"], ""),
        (["2024-01-02", "2024-03-04"], ""),
    ],
)
def test_doubts(texts, doubt):
    assert recognize(values(*texts)).doubt == doubt


def test_a_decimal_comma_depends_on_the_delimiter():
    assert parsed("1,234", "5,678", decimal_comma=True) == ("number", [1.234, 5.678])
    assert parsed("1,234", "5,678") == ("number", [1234, 5678])


def test_markers_of_missing_values():
    kind = kind_of("$5", "-", "$7", "n.a.", "?")
    assert np.isnan([kind.parse_or_missing(text) for text in ("-", "n.a.", "Unknown", None)]).all()
    assert kind.parse_or_missing("five") is None


def test_points_between_thousands_are_told_from_decimal_points():
    whole = ["56", "999", "1.234", "2.345", "3.456", "4.567", "15.678"]
    assert parsed(*whole)[1] == [56, 999, 1234, 2345, 3456, 4567, 15678]
    assert recognize(values(*whole)).doubt == "'.' is read as a separator of thousands"
    for other in ("0.5", "1000", "2.5", "0.123"):
        assert parsed(*whole, other)[1][:3] == [56, 999, 1.234]
    assert parsed("5", "4.333", "3.667", "2.333", "1.667")[1] == [5, 4.333, 3.667, 2.333, 1.667]
    assert parsed("0", "1.234", "2.345", "3.456", "4.567", "15.678")[1][1] == 1.234


def test_tags_in_brackets_have_neither_brackets_nor_quotes():
    kind = kind_of(*["['a', 'b']", '["b", "c"]', "['c']", "['a', 'c']", "['a']"] * 10)
    assert kind.split("['new york', \"c\"]") == ["new york", "c"]


@pytest.mark.parametrize(
    "texts",
    [
        ("01/02/2024", "03/04/2024"),
        ("1.200 €", "13.500 €"),
        ("1,234", "5,678"),
        ("a;b", "b;c", "c", "a;c", "b;c") * 10,
        ("5 kg", "300 g"),
        ("1:02:03", "48:03"),
    ],
)
def test_a_demanded_kind_that_fits_is_read_as_if_it_were_recognized(texts):
    found = recognize(values(*texts)).kind
    assert type(found).impose(values(*texts)) == found


def test_how_values_are_written_can_be_demanded():
    column = values("01/02/2024", "03/04/2024", "x")
    demanded = impose_kind(column, {"kind": "date", "layout": "day-month-year"}).kind
    assert demanded.parse("01/02/2024") == seconds(2024, 2, 1)
    assert demanded.missing == ("x",)
    number = {"kind": "number", "thousands": ".", "decimal": ","}
    assert impose_kind(values("1.234", "5.678"), number).kind.parse("1.234") == 1234
    for wrong, message in (
        (
            {"kind": "number", "layout": "x"},
            "the kind 'number' has no field 'layout', its fields are: missing, th",
        ),
        ({"kind": "number", "decimal": ";"}, "numbers have no separators"),
        ({"kind": "number", "decimal": 3}, "are not valid"),
        ({"layout": "x"}, "unknown kind None"),
    ):
        with pytest.raises(InvalidInputError, match=re.escape(message)):
            impose_kind(column, wrong)


@pytest.mark.parametrize("name", KINDS)
def test_kinds_survive_json_and_can_be_imposed(name):
    texts = ("[1, 2]",) if name == "vector" else ("12", "x", "2024-01-31", "$5")
    kind = KINDS[name].impose(values(*texts))
    assert kind_from_dict(json.loads(json.dumps(kind.to_dict()))) == kind
    if isinstance(kind, ParsedKind):
        assert all(kind.parse_or_missing(text) is not None for text in ("12", "x", "2024-01-31", "$5"))


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"kind": "spell"},
        {"kind": "money"},
        {"kind": "category", "x": 1},
        {"kind": "tags", "separator": 5},
        {"kind": "date", "missing": "x", "layout": "typed"},
        {"kind": "number", "missing": [], "thousands": "", "decimal": ""},
    ],
)
def test_invalid_kinds_are_rejected(state):
    with pytest.raises(ValueError, match=r"column kind|numbers have no separators"):
        kind_from_dict(state)


def test_day_of_two_digit_years():
    found = parsed("31.12.49", "01.01.51")[1]
    assert found == [
        (date(year, month, day) - date(1970, 1, 1)).days * 86400
        for year, month, day in ((2049, 12, 31), (1951, 1, 1))
    ]


def test_numbers_and_their_texts_are_the_same_booleans():
    """A reader that infers types turns 01 into 1: both must mean the same."""
    kind = kind_of("yes", "no", "yes")
    texts, numbers = ["1", "01", "1.0", "+1", "0", "-0", "0.0", "7", "0.5"], [1, 1, 1, 1, 0, 0, 0, 7, 0.5]
    expected = kind.convert_numbers(np.array(numbers, dtype=np.float64))
    np.testing.assert_array_equal([kind.parse(text) for text in texts], expected)
    np.testing.assert_array_equal(expected, [1, 1, 1, 1, 0, 0, 0, np.nan, np.nan])
    assert np.isnan(kind.parse("0_1"))


@pytest.mark.parametrize(
    ("texts", "start"),
    [
        (("1", "2.5", "about 5", *map(str, range(6, 200))), "196 of 197 different values are numbers"),
        (("2024-01-05", "soon", *(f"2024-03-{day:02}" for day in range(1, 32))), "32 of 33 .* are dates"),
        (("12", "3", "unknown", "7"), "all 3 different values are numbers"),
        (("1", "2.5"), "all 2 different values are numbers"),
    ],
)
def test_the_reason_counts_what_was_parsed(texts, start):
    found = recognize(values(*texts * 3))
    assert re.match(start, found.reason)
    assert ("as missing" in found.doubt) == ("about 5" in texts or "soon" in texts)


@pytest.mark.parametrize(
    ("labels", "yes"),
    [
        *((["ja", "nein"], "ja"), (["No", "yes"], "yes"), (["J", "N"], "J"), (["non", "oui"], "oui")),
        *((["no", "maybe"], None), ([0, 1], None), (["yes", "ja"], None), (["a", "b"], None)),
    ],
)
def test_the_label_that_means_yes(labels, yes):
    assert find_yes_label(labels) == yes
