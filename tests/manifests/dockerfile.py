"""Reads a Dockerfile as far as ours goes: one instruction a line, continued by a backslash."""

from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Instruction(NamedTuple):
    name: str
    words: str


def instructions(path: Path = ROOT / "Dockerfile") -> list[Instruction]:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ").splitlines()
    return [Instruction(*line.split(maxsplit=1)) for line in joined]


def words_of(name: str) -> list[str]:
    """What follows each instruction of this name, in order."""
    return [found.words for found in instructions() if found.name == name]
