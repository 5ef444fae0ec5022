"""Names of months in several languages, and abbreviations of time zones."""

from __future__ import annotations

import unicodedata

_MONTH_NAMES = (
    "jan january januar janner janvier janv enero ene gennaio gen janeiro januari",
    "feb february februar fevrier fev fevr febrero febbraio fevereiro februari",
    "mar march marz mrz mars marzo marco maart mrt",
    "apr april avril avr abril abr aprile",
    "may mai mayo maggio mag maio mei",
    "jun june juni juin junio giugno giu junho",
    "jul july juli juillet juil julio luglio lug julho",
    "aug august aout agosto ago augustus",
    "sep sept september septembre septiembre settembre set setembro",
    "oct october oktober okt octobre octubre ottobre ott outubro out",
    "nov november novembre noviembre novembro",
    "dec december dezember dez decembre diciembre dic dicembre dezembro",
)
_MONTH_NUMBERS = {name: month for month, names in enumerate(_MONTH_NAMES, start=1) for name in names.split()}
#: Hours to the east of Greenwich.
_ZONE_HOURS = {
    "z": 0.0,
    "utc": 0.0,
    "gmt": 0.0,
    "wet": 0.0,
    "bst": 1.0,
    "cet": 1.0,
    "cest": 2.0,
    "eet": 2.0,
} | {
    "eest": 3.0,
    "msk": 3.0,
    "ist": 5.5,
    "sgt": 8.0,
    "hkt": 8.0,
    "jst": 9.0,
    "kst": 9.0,
    "aest": 10.0,
    "aedt": 11.0,
    "est": -5.0,
    "edt": -4.0,
    "cst": -6.0,
    "cdt": -5.0,
    "mst": -7.0,
    "mdt": -6.0,
    "pst": -8.0,
    "pdt": -7.0,
}
#: A pattern of the names of time zones.
ZONE_NAMES = "|".join(sorted(_ZONE_HOURS, key=len, reverse=True))


def month_number(name: str) -> int | None:
    """The number of a month from its name or abbreviation; None for another word."""
    letters = unicodedata.normalize("NFKD", name.lower())
    return _MONTH_NUMBERS.get("".join(each for each in letters if each.isalpha()))


def zone_seconds(zone: str) -> float:
    """The seconds by which a zone such as CET or +02:00 is ahead of UTC."""
    if zone[:1] not in ("+", "-"):
        return 3600.0 * _ZONE_HOURS.get(zone.lower(), 0.0)
    digits = zone[1:].replace(":", "").ljust(4, "0")
    return (-1.0 if zone[0] == "-" else 1.0) * (int(digits[:2]) * 3600.0 + int(digits[2:]) * 60.0)
