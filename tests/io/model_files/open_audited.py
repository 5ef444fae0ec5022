"""Open model files under an audit hook: a program that the test of hostile files runs.

Arguments: a file that opens, then the files to try. Prints one JSON object per file: the error's class and
text, the seconds taken, and every audited event that opening a model file must not cause. The first object
has the events of opening a file directly.
"""

import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

import capo

MAX_SECONDS, MAX_EXTRA_BYTES = 20, 2**30
LIBRARIES = tuple({sys.prefix, sys.base_prefix, *(path for path in sys.path if path)})
FORBIDDEN = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "subprocess.",
    "socket.",
    "pickle.",
    "shutil.",
)
events, allowed = None, None


def is_library(path):
    return isinstance(path, str) and path.endswith((".py", ".pyc", ".so")) and path.startswith(LIBRARIES)


def hook(event, args):
    if events is None:
        return
    if event == "open":
        is_handle = isinstance(args[0], int)
        is_allowed = bool(allowed) and str(args[0]).startswith(allowed)
        bad = not (is_handle or is_allowed or is_library(args[0]))
    elif event == "compile":  # ast.parse, for headers of arrays and formulas, names no file
        bad = args[1] not in ("<unknown>", b"<unknown>") and not is_library(args[1])
    elif event == "exec":
        args = (args[0].co_filename, args[0].co_name)
        bad = not is_library(args[0])
    elif event == "import":
        bad = args[0].partition(".")[0] not in sys.modules
    else:
        bad = event.startswith(FORBIDDEN)
    if bad:
        events.append(f"{event} {str(args)[:80]}")


def stop(*_):
    raise SystemExit("timeout")


def try_to_open(path, load=capo.load):
    global events, allowed
    start, events, allowed = time.perf_counter(), [], path
    signal.alarm(MAX_SECONDS)
    try:
        load(path)
        kind, text = "opened", ""
    except BaseException as error:
        kind, text = type(error).__name__, str(error)
    signal.alarm(0)
    caught, events = events, None
    return {"kind": kind, "text": text, "seconds": time.perf_counter() - start, "events": caught}


def main(good, *paths):
    capo.load(good)  # imports what opening needs
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MAX_EXTRA_BYTES,) * 2)
    signal.signal(signal.SIGALRM, stop)
    sys.addaudithook(hook)
    print(json.dumps(try_to_open("", lambda _: Path(os.devnull).read_bytes())))
    for path in paths:
        print(json.dumps(try_to_open(path)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
