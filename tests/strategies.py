"""Files as they come out of broken programs, transfers and editors."""

from hypothesis import strategies as st

PIECES = [
    *(b",", b";", b"\n", b"\r", b'"', b"'", b"\t", b"|", b" ", b"#", b":", b"=1+1"),
    *(b"yes", b"no", b"NA", b"1e999", b"-0", b"inf", b"nan", b"id", b"x", b"1" * 400),
    *(
        b"\0",
        b"\xff",
        b"\xe9",
        b"\xc3\x28",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\x1f\x8b",
        b"PAR1",
        b"PK\x03\x04",
    ),
]


@st.composite
def mutated(draw, good):
    """A good file with some bytes cut out, put in, doubled or moved."""
    data = bytearray(good[: draw(st.sampled_from([len(good), 600, 200, 60]))])
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(["cut", "put", "put", "double", "flip"]))
        start = draw(st.integers(0, len(data)))
        length = draw(st.integers(1, 40))
        if kind == "cut":
            del data[start : start + length]
        elif kind == "put":
            data[start:start] = draw(st.sampled_from(PIECES))
        elif kind == "double":
            data[start:start] = data[start : start + length]
        elif data:
            data[start % len(data)] = draw(st.integers(0, 255))
    return bytes(data)
