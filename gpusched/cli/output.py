"""Writes results: JSON and YAML for programs, and any text to a stream that may be closed or know few characters."""

import os
from typing import TextIO

import msgspec
import yaml

from gpusched.cli.yaml_scalars import plain

try:
    from yaml import CSafeDumper as SafeDumper
except ImportError:  # PyYAML without libyaml
    from yaml import SafeDumper  # type: ignore[assignment]  # the same class without libyaml


class _Dumper(SafeDumper):
    """Writes no anchors, and quotes what Kubernetes would not read back as text (`1e3`, `08`, `y`)."""

    def ignore_aliases(self, _data: object) -> bool:
        return True

    def represent_text(self, text: str) -> yaml.ScalarNode:
        quoted = plain(text) != text
        return self.represent_scalar("tag:yaml.org,2002:str", text, style="'" if quoted else None)


_Dumper.add_representer(str, _Dumper.represent_text)


def as_json(value: object) -> str:
    """Structs and builtins as JSON text, keys in the order given, ended by a line break."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def as_yaml(value: object) -> str:
    """The same as YAML text."""
    tree = msgspec.to_builtins(value)
    return str(yaml.dump(tree, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100))


def write(text: str, stream: TextIO) -> bool:
    """Write all of the text; false when nobody reads it any more, as behind `| head`, and no later write fails.

    Characters that the stream's encoding lacks become question marks.

    Raises:
        OSError: the stream takes no more, such as a file on a full disk.

    """
    try:
        try:
            stream.write(text)
        except UnicodeEncodeError:
            encoding = stream.encoding or "ascii"
            stream.write(text.encode(encoding, "replace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        _abandon(stream)
        return False
    except OSError:
        _abandon(stream)
        raise
    return True


def _abandon(stream: TextIO) -> None:
    # The interpreter flushes once more when it ends; what is left then goes nowhere.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
